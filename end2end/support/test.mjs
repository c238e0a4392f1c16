// The fixtures: one server for a file's tests, people in browsers of their own, and a check at each test's end
// that nothing went wrong behind the pictures.
import { test as base, expect } from '@playwright/test';
import { Demo } from './demo.mjs';
import { Person } from './person.mjs';

export { expect };

export const test = base.extend({
  /** A running server. Tests share it, so each uses objects of its own (see objects.mjs). */
  demo: [
    async ({}, use) => {
      const demo = await Demo.start();
      await use(demo);
      await demo.stop();
    },
    { scope: 'worker', timeout: 90_000 },
  ],

  /** A server of this test alone, to be killed. */
  ownDemo: [
    async ({}, use) => {
      const demo = await Demo.start();
      await use(demo);
      await demo.stop();
    },
    { timeout: 90_000 },
  ],

  /** `people(user, options?)` signs a user in; at the end every page must have been free of problems. */
  people: async ({ browser, demo }, use, info) => {
    const present = [];
    await use(async (user, options = {}) => {
      const { server = demo, ...context } = options;
      const person = await Person.signedIn(browser, server.url, user, context);
      present.push(person);
      return person;
    });
    for (const { user, page, context, problems } of present) {
      if (info.status !== info.expectedStatus && !page.isClosed()) {
        const picture = info.outputPath(`${user}.png`);
        await page.screenshot({ path: picture }).then(
          () => info.attach(user, { path: picture, contentType: 'image/png' }),
          error => info.annotations.push({ type: 'no picture', description: `${user}: ${error.message}` }),
        );
      }
      await context.close();
      expect.soft(problems, `problems in the page of ${user}`).toEqual([]);
    }
  },
});
