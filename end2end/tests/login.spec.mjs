// Signing in and out over OIDC.
import { expect, test } from '../support/test.mjs';
import { userButton } from '../support/person.mjs';

test('who is not signed in is sent to the identity provider, and back after signing in', async ({ people, demo }) => {
  const person = await people('einkauf');
  await expect(person.page).toHaveURL(new RegExp(`^${demo.url}/`));
  await expect(person.page.getByTestId('user-name')).not.toBeEmpty();
});

test('a deep link survives the sign-in', async ({ browser, demo }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${demo.url}/aufgaben?ansicht=erledigt`);
  await userButton(page, 'buchhaltung').click();
  await expect(page).toHaveURL(`${demo.url}/aufgaben?ansicht=erledigt`);
  await context.close();
});

test('after signing out nothing can be read any more', async ({ people, demo }) => {
  const person = await people('einkauf');
  const before = await person.call('listTasks', { filter: { mine: false, done: false } });
  expect(before.status).toBe(200);

  await person.page.getByTestId('logout').click();
  await expect(person.page).not.toHaveURL(new RegExp(`^${demo.url}/aufgaben`));
  const after = await person.call('listTasks', { filter: { mine: false, done: false } });
  expect(after.status).not.toBe(200);
  expect(JSON.stringify(after.body)).toContain('signed-out');

  // The session is gone at the server, not only in this browser: the address leads to the identity provider.
  await person.page.goto(`${demo.url}/aufgaben`);
  await expect(userButton(person.page, 'einkauf')).toBeVisible();
});

test('without a session the server functions refuse', async ({ request, demo }) => {
  for (const endpoint of ['listTasks', 'getTaskMetadata', 'getExecutionLog', 'claimTask', 'decideTask', 'me']) {
    const response = await request.post(`${demo.url}/api/fn/${endpoint}`, { data: {}, headers: { origin: demo.url } });
    expect(response.status(), endpoint).toBeGreaterThanOrEqual(400);
    expect(await response.text(), endpoint).not.toContain('rows');
  }
});
