// Accessibility, checked by axe on the three screens, in light and dark, wide and narrow.
import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from '../support/test.mjs';
import { OBJECTS } from '../support/objects.mjs';
import { logPath, openAndClaim, receiptInk, row } from '../support/pages.mjs';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

async function check(person, screen) {
  // axe puts a style sheet of its own into the page, which the page's policy rightly refuses: that is no fault of the page.
  const before = person.problems.length;
  // The text layer lies transparent over the drawn page; its contrast means nothing.
  const { violations } = await new AxeBuilder({ page: person.page }).withTags(RULES).exclude('.textLayer').analyze();
  person.problems.push(...person.problems.splice(before).filter(problem => !/style-src/.test(problem)));
  const serious = violations
    .filter(violation => ['serious', 'critical'].includes(violation.impact))
    .map(violation => `${violation.id}: ${violation.nodes.map(node => node.target.join(' ')).join(' | ')}`);
  expect.soft(serious, screen).toEqual([]);
}

test('inbox, task and log have no serious fault', async ({ people, demo }) => {
  const object = OBJECTS.look;
  const person = await people('einkauf');
  expect((await demo.trigger(...object)).status).toBe(202);
  await row(person, object).waitFor();
  for (const colorScheme of ['light', 'dark']) {
    await person.page.emulateMedia({ colorScheme });
    await check(person, `inbox, ${colorScheme}`);
  }
  await openAndClaim(person, object);
  await receiptInk(person);
  for (const colorScheme of ['light', 'dark']) {
    await person.page.emulateMedia({ colorScheme });
    await check(person, `task, ${colorScheme}`);
  }
  await person.page.setViewportSize({ width: 390, height: 844 });
  await check(person, 'task, phone');
  await person.page.setViewportSize({ width: 1440, height: 900 });
  await person.open(await logPath(person));
  for (const colorScheme of ['light', 'dark']) {
    await person.page.emulateMedia({ colorScheme });
    await check(person, `log, ${colorScheme}`);
  }
});
