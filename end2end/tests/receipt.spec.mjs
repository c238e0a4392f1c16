// Receipts that can't be shown: the page says why, and never shows another receipt instead.
import { expect, test } from '../support/test.mjs';
import { OBJECTS } from '../support/objects.mjs';
import { openAndClaim, row } from '../support/pages.mjs';

const CASES = [
  ['missing', OBJECTS.missingReceipt, 'Der Beleg ist nicht im Archiv abgelegt.'],
  ['not a PDF', OBJECTS.htmlReceipt, 'liegt keine PDF-Datei'],
  ['broken', OBJECTS.brokenReceipt, 'Die PDF-Datei ist beschädigt'],
];

for (const [what, object, text] of CASES) {
  test(`a receipt that is ${what}`, async ({ people, demo }) => {
    const person = await people('einkauf');
    expect((await demo.trigger(...object)).status).toBe(202);
    await row(person, object).waitFor();
    await openAndClaim(person, object);
    await expect(person.page.getByText(text, { exact: false }).first()).toBeVisible({ timeout: 20_000 });
    await expect(person.page.getByTestId('receipt').locator('canvas:visible')).toHaveCount(0);
    // Approving waits until the person says that they decide without seeing it.
    const approve = person.page.getByTestId('task-approve');
    await expect(approve).toBeDisabled();
    await person.page.getByTestId('receipt-acknowledge').click();
    await expect(approve).toBeEnabled();
  });
}
