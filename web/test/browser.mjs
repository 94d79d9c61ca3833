// The browser the tests use: Debian's Chromium, quiet and offline.
export function launchOptions() {
  return {
    executablePath: process.env.STROBE_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--allow-file-access-from-files'],
  };
}
