// The browser the tests use: Debian's Chromium, quiet and offline.
// Playwright's list, which this one replaces, and the address bar's own pages: they take a second of a core while the
// page under test opens.
const WITHOUT = ['AvoidUnnecessaryBeforeUnloadCheckSync', 'BoundaryEventDispatchTracksNodeRemoval', 'DestroyProfileOnBrowserClose', 'DialMediaRouteProvider', 'GlobalMediaControls', 'HttpsUpgrades', 'LensOverlay', 'MediaRouter', 'PaintHolding', 'ThirdPartyStoragePartitioning', 'Translate', 'RenderDocument', 'OptimizationHints', 'WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'];

export function launchOptions() {
  return {
    executablePath: process.env.STROBE_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--allow-file-access-from-files', `--disable-features=${WITHOUT.join(',')}`],
  };
}
