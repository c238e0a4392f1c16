// The screens as a person uses them: how to find a row, take a task, decide.
import { expect } from '@playwright/test';

/** The values and inputs of a form; the ERP's names begin with `fld`. */
const FIELDS = '[data-testid^="field-fld"]';

/** The inbox row of an object `[customer, tenant, number]`; the number alone may exist in several tenants. */
export function row(person, [customer, tenant, number]) {
  return person.page
    .locator(`[data-testid="task-row"][data-object="${number}"]`)
    .filter({ hasText: `${customer} / ${tenant}` });
}

/** Goes to the inbox by the navigation, as a person would. */
export async function toInbox(person) {
  await person.open('/');
  await expect(person.page.getByTestId('task-row').or(person.page.getByTestId('empty-state')).first()).toBeVisible();
}

/** Takes the object's task over in the list. */
export async function claimInList(person, object) {
  await row(person, object).getByTestId('row-claim').click();
  await expect(row(person, object).getByTestId('row-claim')).toHaveCount(0);
}

/** Opens the object's task from the list and waits for its form. */
export async function openTask(person, object) {
  await row(person, object).getByRole('link').first().click();
  await expect(person.page).toHaveURL(/\/aufgaben\/.+/);
  await expect(person.page.getByTestId('task-object')).toHaveText(object[2]);
  await expect(person.page.locator(FIELDS).first()).toBeVisible();
}

/** Opens the object's task and takes it over there, if it isn't taken already. */
export async function openAndClaim(person, object) {
  await openTask(person, object);
  const claim = person.page.getByTestId('task-claim');
  if (await claim.isVisible()) await claim.click();
  await expect(person.page.getByTestId('task-unclaim')).toBeVisible();
}

/** Approves: possible only once the receipt is shown. */
export async function approve(person) {
  await expect(person.page.getByTestId('task-approve')).toBeEnabled({ timeout: 20_000 });
  await person.page.getByTestId('task-approve').click();
  await expect(person.page.getByTestId('notice')).toBeVisible();
}

/** Rejects with this reason. */
export async function reject(person, reason) {
  await person.page.getByTestId('task-reject').click();
  await person.page.getByTestId('task-comment').fill(reason);
  await person.page.getByTestId('task-confirm-reject').click();
  await expect(person.page.getByTestId('notice')).toBeVisible();
}

/** The names of the fields on screen, in their order. */
export async function fieldNames(person) {
  const ids = await person.page
    .locator(FIELDS)
    .evaluateAll(elements => elements.map(element => element.dataset.testid));
  return ids.map(id => id.slice('field-'.length));
}

/** The input of an editable field; none where the field is read-only. */
export function input(person, field) {
  return person.page.getByTestId(`field-${field}`).and(person.page.locator('input, select, textarea'));
}

/** Address of the run's log, from the page of its task. */
export function logPath(person) {
  return person.page.getByTestId('full-log').getAttribute('href');
}

/** The kinds of a run's log entries, oldest first, from the page that is open. */
export async function logKinds(person) {
  return person.page.getByTestId('log-entry').evaluateAll(entries => entries.map(entry => entry.dataset.kind));
}

/** How many pixels of the receipt's first page are neither white nor transparent, and how many there are. */
export async function receiptInk(person) {
  const canvas = person.page.getByTestId('receipt').locator('canvas').first();
  await expect(canvas).toBeVisible({ timeout: 20_000 });
  return canvas.evaluate(source => {
    // A copy can be read whatever context the viewer draws with.
    const copy = document.createElement('canvas');
    copy.width = source.width;
    copy.height = source.height;
    const context = copy.getContext('2d');
    context.drawImage(source, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    let inked = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] > 0 && data[at] + data[at + 1] + data[at + 2] < 600) inked += 1;
    }
    return { inked, pixels: copy.width * copy.height };
  });
}
