// The browser tests: real Chromium against the real binary. They run one after the other, and nothing is retried:
// a test that passes at the second try has found a mistake.
import { defineConfig } from '@playwright/test';
import { LAUNCH, SCREEN } from './support/browser.mjs';

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  workers: 1,
  retries: 0,
  forbidOnly: Boolean(process.env.CI),
  // The machine that runs them may have two busy cores.
  timeout: 90_000,
  expect: { timeout: 10_000 },
  reporter: [['list']],
  globalTeardown: './support/teardown.mjs',
  use: {
    browserName: 'chromium',
    launchOptions: LAUNCH,
    ...SCREEN,
    // The cost of a trace is only paid where it helps.
    trace: 'off',
    screenshot: 'off',
  },
});
