// A person at a browser of their own: signs in, and what must not happen in their page is remembered.
import { SCREEN } from './browser.mjs';

/** Signs in at the demo's identity provider, where every user is a button. */
export async function signIn(page, appUrl, user) {
  await page.goto(`${appUrl}/`);
  await userButton(page, user).click();
  await page.getByTestId('user-name').waitFor();
}

/** The user's button at the identity provider. */
export function userButton(page, user) {
  return page.getByRole('button', { name: user, exact: true });
}

/** One person, one browser context, one page. */
export class Person {
  /** What went wrong so far: uncaught errors, panics, policy violations, mistakes of hydration. */
  problems = [];
  #live = false;

  /** Opens a browser in which `user` is signed in. */
  static async signedIn(browser, appUrl, user, options = {}) {
    const person = new Person();
    person.user = user;
    person.appUrl = appUrl;
    person.context = await browser.newContext({ ...SCREEN, ...options });
    person.page = await person.context.newPage();
    await person.#watch();
    await signIn(person.page, appUrl, user);
    await person.ready();
    return person;
  }

  /** Opens a page of the app and waits until it listens. */
  async open(path) {
    await this.page.goto(new URL(path, this.appUrl).href);
    await this.ready();
  }

  /**
   * Waits until the page is hydrated: the socket is opened by the running app, and its first message has come.
   * A click before that would be lost.
   */
  async ready() {
    const until = Date.now() + 30_000;
    while (!this.#live) {
      if (Date.now() > until) throw new Error(`${this.user}: the page opened no socket\n${this.problems.join('\n')}`);
      await new Promise(done => setTimeout(done, 20));
    }
  }

  /** Calls a server function as this person's page would; the answer is `{ status, body }`. */
  async call(endpoint, body) {
    const response = await this.context.request.post(`${this.appUrl}/api/fn/${endpoint}`, {
      data: body,
      headers: { origin: this.appUrl, accept: 'application/json' },
    });
    const text = await response.text();
    try {
      return { status: response.status(), body: JSON.parse(text) };
    } catch {
      return { status: response.status(), body: text };
    }
  }

  async #watch() {
    const { page, problems } = this;
    page.on('request', request => {
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) this.#live = false;
    });
    page.on('websocket', socket => {
      socket.on('framereceived', () => {
        this.#live = true;
      });
    });
    page.on('pageerror', error => problems.push(`uncaught: ${error.message}`));
    page.on('console', message => {
      const text = message.text();
      if (/Content Security Policy|panicked|hydration|unreachable|CSP violation/i.test(text)) {
        problems.push(`${message.type()}: ${text}`);
      }
    });
    await this.context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', event => {
        const { effectiveDirective, blockedURI, sourceFile, lineNumber } = event;
        console.error(`CSP violation: ${effectiveDirective} ${blockedURI} at ${sourceFile}:${lineNumber}`);
      });
    });
  }
}
