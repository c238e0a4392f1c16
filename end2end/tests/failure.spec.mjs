// When something fails: the ERP is down, the server is killed.
import { expect, test } from '../support/test.mjs';
import { OBJECTS } from '../support/objects.mjs';
import { approve, claimInList, logKinds, logPath, openAndClaim, receiptInk, row, toInbox } from '../support/pages.mjs';

test('an ERP that is down costs time, never a decision', async ({ people, demo }) => {
  test.setTimeout(240_000);
  const object = OBJECTS.erpDown;
  const [customer, tenant] = object;
  const person = await people('einkauf');
  const second = await people('buchhaltung');

  await test.step('a trigger is asked to come again', async () => {
    await demo.setErpDown(customer, tenant, true);
    const answer = await demo.trigger(...object);
    expect(answer.status, JSON.stringify(answer.body)).toBe(503);
    await demo.setErpDown(customer, tenant, false);
    expect((await demo.trigger(...object)).status).toBe(202);
  });

  await test.step('a decision that the ERP did not take stays visible and is tried again', async () => {
    await openAndClaim(person, object);
    await receiptInk(person);
    await approve(person);
    await openAndClaim(second, object);
    await receiptInk(second);
    const log = await logPath(second);
    await demo.setErpDown(customer, tenant, true);
    await second.page.getByTestId('task-approve').click();
    // Deciding compares the values that were shown with the ERP's, so nothing is decided now.
    await expect(second.page.getByText('Das ERP antwortet gerade nicht', { exact: false }).first()).toBeVisible();
    await demo.setErpDown(customer, tenant, false);
    await approve(second);
    await expect.poll(async () => (await demo.object(...object)).state).toBe('freigegeben');
    await second.open(log);
    expect((await logKinds(second)).filter(kind => kind === 'ended')).toHaveLength(1);
  });
});

test('after kill -9 and a restart everything is as it was', async ({ people, ownDemo }) => {
  test.setTimeout(180_000);
  const object = OBJECTS.journey;
  const other = OBJECTS.reject;
  const person = await people('einkauf', { server: ownDemo });
  const colleague = await people('einkauf2', { server: ownDemo });
  const name = await person.page.getByTestId('user-name').innerText();
  expect((await ownDemo.trigger(...object)).status).toBe(202);
  expect((await ownDemo.trigger(...other)).status).toBe(202);
  await row(person, other).waitFor();
  await claimInList(person, object);
  await expect(row(colleague, object).getByTestId('row-state')).toContainText(name);
  const hashes = person =>
    person.page.locator('[data-testid="log-entry"] .log-hash code').evaluateAll(codes => codes.map(code => code.title));

  await openAndClaim(person, object);
  const log = await logPath(person);
  await person.open(log);
  const before = { kinds: await logKinds(person), hashes: await hashes(person) };
  expect(before.kinds.filter(kind => kind === 'claimed')).toHaveLength(1);

  await ownDemo.kill();
  // Without a server the page says so, and keeps what it shows.
  await expect(colleague.page.getByTestId('conn-banner')).toBeVisible({ timeout: 30_000 });
  await expect(row(colleague, object)).toBeVisible();
  await ownDemo.startAgain();
  await expect(colleague.page.getByTestId('conn-banner')).toHaveCount(0, { timeout: 40_000 });

  const again = await people('einkauf', { server: ownDemo });
  await expect(row(again, object).getByTestId('row-unclaim')).toBeVisible();
  await expect(row(again, other).getByTestId('row-state')).toContainText('Offen');
  await toInbox(colleague);
  await expect(row(colleague, object).getByTestId('row-state')).toContainText(name);
  await again.open(log);
  expect({ kinds: await logKinds(again), hashes: await hashes(again) }).toEqual(before);
  await expect(again.page.getByTestId('log-chain')).toHaveAttribute('data-intact', 'true');

  // And work goes on where it was.
  await toInbox(again);
  await openAndClaim(again, object);
  await receiptInk(again);
  await approve(again);
  await expect(row(colleague, object)).toHaveCount(0);
});
