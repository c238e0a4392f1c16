// What makes a day of approving shorter: drafts that follow the person, the next task by itself, the other language.
import { expect, test } from '../support/test.mjs';
import { OBJECTS } from '../support/objects.mjs';
import { approve, input, openAndClaim, openTask, receiptInk, row, toInbox } from '../support/pages.mjs';

test('what was typed is there in another browser, and gone after the decision', async ({ people, demo }) => {
  const object = OBJECTS.draft;
  const person = await people('einkauf');
  expect((await demo.trigger(...object)).status).toBe(202);
  await openAndClaim(person, object);
  await input(person, 'fldVerwendung').fill('Server für Halle 2');
  await expect(person.page.getByTestId('draft-note')).toContainText(/Entwurf gespeichert \d\d:\d\d/, { timeout: 15_000 });

  const elsewhere = await people('einkauf');
  await openTask(elsewhere, object);
  await expect(input(elsewhere, 'fldVerwendung')).toHaveValue('Server für Halle 2');
  const colleague = await people('einkauf2');
  await openTask(colleague, object);
  await expect(colleague.page.getByTestId('task')).not.toContainText('Server für Halle 2');

  await receiptInk(elsewhere);
  await approve(elsewhere);
  await expect.poll(async () => (await demo.object(...object)).fields.fldVerwendung).toBe('Server für Halle 2');
});

test('a decision leads to the next task, or to the list where the person wants that', async ({ people, demo }) => {
  const [first, second] = OBJECTS.next;
  const person = await people('einkauf');
  for (const object of [first, second]) {
    expect((await demo.trigger(...object)).status).toBe(202);
    await row(person, object).waitFor();
  }
  await openAndClaim(person, first);
  await receiptInk(person);
  const decided = person.page.url();
  await approve(person);
  await expect(person.page).toHaveURL(/\/aufgaben\/.+/);
  await expect(person.page).not.toHaveURL(decided);
  await expect(person.page.getByTestId('notice')).toContainText(first[2]);
  await expect(person.page.getByTestId('task')).toBeVisible();

  await toInbox(person);
  await person.page.keyboard.press('?');
  await person.page.getByTestId('auto-next').uncheck();
  await person.page.keyboard.press('Escape');
  await openAndClaim(person, second);
  await receiptInk(person);
  await approve(person);
  await expect(person.page).toHaveURL(/\/aufgaben(\?.*)?$/);
});

test('the language is switched where one is, and remembered', async ({ people, demo }) => {
  const object = OBJECTS.language;
  const person = await people('einkauf');
  expect((await demo.trigger(...object)).status).toBe(202);
  await openAndClaim(person, object);
  await input(person, 'fldVerwendung').fill('Fensterfront');
  const address = person.page.url();
  await person.page.getByTestId('language-switch').click();
  await expect(person.page.locator('html')).toHaveAttribute('lang', 'en');
  await person.ready();
  expect(person.page.url()).toBe(address);
  await expect(person.page.getByTestId('task-unclaim')).toHaveText('Return');
  await expect(input(person, 'fldVerwendung')).toHaveValue('Fensterfront');

  // The first paint, without any script, is English as well.
  const html = await (await person.context.request.get(`${demo.url}/aufgaben`, { headers: { accept: 'text/html' } })).text();
  expect(html).toContain('<html lang="en"');
  await person.page.getByTestId('language-switch').click();
  await expect(person.page.locator('html')).toHaveAttribute('lang', 'de');
});
