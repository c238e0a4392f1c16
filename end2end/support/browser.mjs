// How Chromium is started, for the tests and the screenshots alike.

/** The system's Chromium: Playwright's own is a download that not every machine can make. */
const executablePath = process.env.CHROMIUM || '/usr/bin/chromium';

export const LAUNCH = {
  executablePath,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
};

/** A clerk's screen, in German. */
export const SCREEN = {
  viewport: { width: 1440, height: 900 },
  locale: 'de-DE',
  timezoneId: 'Europe/Berlin',
  colorScheme: 'light',
};
