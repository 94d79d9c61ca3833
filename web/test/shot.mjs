// Looks at a page: node test/shot.mjs PAGE.html OUT.png [dark] [full] [WIDTHxHEIGHT]
import { chromium } from 'playwright-core';
import { launchOptions } from './browser.mjs';

const [page_, out, ...flags] = process.argv.slice(2);
const size = flags.find((f) => /^\d+x\d+$/.test(f))?.split('x').map(Number) ?? [1440, 900];
const browser = await chromium.launch(launchOptions());
const page = await browser.newPage({ viewport: { width: size[0], height: size[1] }, colorScheme: flags.includes('dark') ? 'dark' : 'light' });
page.on('console', (m) => console.log(m.type(), m.text()));
page.on('pageerror', (e) => console.log('error', e.message));
await page.goto(page_.includes('://') ? page_ : `file://${page_}`);
await page.waitForTimeout(800);
await page.screenshot({ path: out, fullPage: flags.includes('full') });
await browser.close();
