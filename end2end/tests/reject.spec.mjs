// Rejecting: never without a reason, neither on screen nor at the server; with one the run ends "abgelehnt".
import { expect, test } from '../support/test.mjs';
import { OBJECTS } from '../support/objects.mjs';
import { logKinds, logPath, openAndClaim, receiptInk, reject, row } from '../support/pages.mjs';

test('a rejection needs a reason and ends the run', async ({ people, demo }) => {
  const object = OBJECTS.reject;
  const person = await people('einkauf');
  expect((await demo.trigger(...object)).status).toBe(202);
  await openAndClaim(person, object);
  await receiptInk(person);
  const log = await logPath(person);

  await test.step('the server refuses one without a reason', async () => {
    const task = decodeURIComponent(new URL(person.page.url()).pathname.split('/').pop());
    const detail = await person.call('getTaskMetadata', { task_id: task });
    expect(detail.status, JSON.stringify(detail.body)).toBe(200);
    const { row: listed, visit, claim_id, fields } = detail.body;
    for (const comment of [null, '', '  \n ']) {
      const answer = await person.call('decideTask', {
        request: {
          task_id: task,
          operation: crypto.randomUUID(),
          decision: 'reject',
          revision: listed.revision,
          visit,
          claim_id,
          shown: Object.fromEntries(fields.map(field => [field.name, field.value])),
          changes: {},
          comment,
        },
      });
      expect(answer.status, JSON.stringify(answer.body)).toBe(422);
      expect(JSON.stringify(answer.body)).toContain('comment');
    }
    expect((await demo.object(...object)).state).toBe('in Freigabe');
  });

  await test.step('the screen asks for it', async () => {
    await person.page.getByTestId('task-reject').click();
    await person.page.getByTestId('task-confirm-reject').click();
    await expect(person.page.getByText('Bitte begründen Sie die Ablehnung.')).toBeVisible();
    expect((await demo.object(...object)).state).toBe('in Freigabe');
    await person.page.keyboard.press('Escape');
  });

  await test.step('with a reason the object is rejected and released', async () => {
    await reject(person, 'Doppelt berechnet, siehe ER-1001.');
    await expect.poll(async () => (await demo.object(...object)).state).toBe('abgelehnt');
    expect((await demo.object(...object)).external).toBe(false);
  });

  await test.step('the reason stands in the log', async () => {
    await person.open(log);
    await expect(person.page.getByTestId('run-status')).toContainText('Abgelehnt');
    const rejected = person.page.locator('[data-testid="log-entry"][data-kind="rejected"]');
    await expect(rejected).toContainText('Doppelt berechnet, siehe ER-1001.');
    expect((await logKinds(person)).at(-1)).toBe('ended');
    await expect(row(person, object)).toHaveCount(0);
  });
});
