// Pictures of the screens for human eyes: inbox, task, log; light and dark; desk and phone.
// Usage: node scripts/screenshots.mjs [FOLDER]   (default: screenshots in cargo's target folder)
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from '@playwright/test';
import { LAUNCH } from '../support/browser.mjs';
import { Demo } from '../support/demo.mjs';
import { OBJECTS } from '../support/objects.mjs';
import { logPath, openAndClaim, receiptInk, row, toInbox } from '../support/pages.mjs';
import { Person } from '../support/person.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const folder = resolve(process.argv[2] ?? join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'screenshots'));
const SIZES = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

mkdirSync(folder, { recursive: true });
const demo = await Demo.start();
const browser = await chromium.launch(LAUNCH);
try {
  const person = await Person.signedIn(browser, demo.url, 'einkauf');
  const { page } = person;

  async function picture(screen) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport);
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        // The receipt is drawn anew for its new width.
        await page.waitForTimeout(700);
        await page.screenshot({ path: join(folder, `${screen}-${size}-${colorScheme}.png`) });
      }
    }
    await page.setViewportSize(SIZES.desk);
    await page.emulateMedia({ colorScheme: 'light' });
  }

  await picture('inbox-empty');
  for (const object of Object.values(OBJECTS)) {
    const answer = await demo.trigger(...object);
    if (answer.status >= 300) console.error(`trigger ${object.join('/')}: ${answer.status}`);
  }
  const object = OBJECTS.look;
  await row(person, object).waitFor();
  await picture('inbox');
  await openAndClaim(person, object);
  await receiptInk(person);
  await picture('task');
  const log = await logPath(person);
  await person.open(log);
  await picture('log');
  const broken = OBJECTS.missingReceipt;
  await toInbox(person);
  await openAndClaim(person, broken);
  await picture('task-no-receipt');
  if (person.problems.length > 0) console.error(person.problems.join('\n'));
} finally {
  await browser.close();
  await demo.stop();
}
console.log(folder);
