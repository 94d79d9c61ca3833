// Who reads it another way: by keyboard, in the dark, on paper.
import { assert, open, ready, settled, test, writePage } from './harness.mjs';
import { basePath } from './base.mjs';
import { fixture } from './fixture.mjs';
import { benchPage, diffPage, jobPage } from './kinds.mjs';

test('the theme follows the system and the button', async (browser) => {
  const { page, close } = await open(browser, basePath, { colorScheme: 'dark' });
  const theme = () => page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
  const [name, back] = await theme();
  assert.equal(name, 'dark');
  await page.locator('.theme').click();
  const [other, otherBack] = await theme();
  assert.equal(other, 'light');
  assert.notEqual(back, otherBack);
  await close();
});

test('every control can be reached by keyboard', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  const reached = new Set();
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement?.tagName + '.' + (document.activeElement?.className ?? '')));
  }
  for (const wanted of ['A.skip', 'SELECT.', 'BUTTON.theme', 'BUTTON.link', 'CANVAS.']) assert.ok(reached.has(wanted), `${wanted} not in ${[...reached].join(' ')}`);
  await close();
});

test('print keeps the tables and drops the controls', async (browser) => {
  const { page, close } = await open(browser, basePath, { colorScheme: 'dark' });
  await ready(page);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('.contents').isVisible(), false);
  assert.equal(await page.locator('#stages table').isVisible(), true);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()), '#2762c4');
  const corner = () => page.locator('.timeline canvas').first().evaluate((c) => c.getContext('2d').getImageData(2, 2, 1, 1).data[0]);
  await page.waitForTimeout(300);
  assert.ok((await corner()) > 200, 'the timeline is drawn for paper');
  await page.emulateMedia({ media: 'screen', colorScheme: 'dark' });
  await page.waitForTimeout(300);
  assert.ok((await corner()) < 100, 'and for the screen again');
  await close();
});

test('paper cuts nothing off: tables and pictures that were as wide as the screen', async (browser) => {
  for (const path of [basePath, benchPage('paper-bench'), diffPage('paper-diff'), jobPage('paper-job')]) {
    const { page, close } = await open(browser, path, { viewport: { width: 1920, height: 1080 }, wait: 'main' });
    await settled(page);
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 720, height: 1000 }); // A4
    await settled(page);
    const seen = await page.evaluate(() => ({
      needed: document.documentElement.scrollWidth, // a browser makes all of it a little smaller
      cut: [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible').map((e) => e.innerText.slice(0, 40)),
      wide: [...document.querySelectorAll('canvas')].filter((e) => e.getBoundingClientRect().right > 721).length,
    }));
    assert.deepEqual(seen.cut, [], path);
    assert.equal(seen.wide, 0, `${path}: pictures wider than the paper`);
    assert.ok(seen.needed <= 720 * 1.25, `${path}: ${seen.needed} px for 720`);
    await close();
  }
});

test('paper shows pictures that were never scrolled to', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  assert.equal(await page.locator('#calls .icicle *').count(), 0, 'not counted before it is seen');
  const drawn = await page.evaluate(async () => {
    dispatchEvent(new Event('beforeprint'));
    await Promise.resolve();
    const canvases = [...document.querySelectorAll('.part .chart canvas')].filter((c) => c.width && c.height);
    const blank = (c) => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(Boolean);
    return { charts: canvases.length, blank: canvases.filter(blank).length };
  });
  assert.ok(drawn.charts > 3);
  assert.equal(drawn.blank, 0);
  await page.waitForFunction(() => document.querySelectorAll('#calls .icicle *').length > 3);
  await close();
});

test('a run that was killed says so, and how', async (browser) => {
  const killed = fixture();
  killed.report.recording = { ...killed.report.recording, complete: false, dropped_count: 0 };
  killed.report.session_info = { ...killed.report.session_info, outcome: 'killed by SIGKILL (out of memory)' };
  const { page, close } = await open(browser, writePage('killed', killed));
  await ready(page);
  assert.equal(await page.locator('header .run-state.killed').innerText(), 'killed by SIGKILL (out of memory)');
  await close();
  const fine = await open(browser, basePath);
  await ready(fine.page);
  assert.equal(await fine.page.locator('header .run-state').count(), 0, 'one that ended well says nothing');
  await fine.close();
});
