// What a reader keeps: the view in the address, tables and pictures as files; and the page for keys and fingers alone.
import { readFileSync } from 'node:fs';
import { assert, open, range, ready, settled, test, writePage } from './harness.mjs';
import { fixture } from './fixture.mjs';
import { videosPage } from './kinds.mjs';

const base = writePage('keep', fixture());
const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');

async function opened(browser, path = base, options) {
  const { page, seen, close } = await open(browser, path, options);
  await ready(page);
  return { page, seen, close };
}

const seenIn = async (page) => ({
  range: await range(page),
  selection: plain(await page.locator('.selection').innerText()),
  search: await page.locator('input.search').first().inputValue(),
  theme: await page.evaluate(() => document.documentElement.dataset.theme),
  lanes: await page.locator('.lanes-list li > span:first-child').allInnerTexts(),
});

async function arrange(page) {
  await page.locator('.theme').click();
  await page.keyboard.press('w');
  await page.keyboard.press('d');
  await page.fill('input.search', 'block');
  await page.press('input.search', 'Enter');
  await page.locator('.dock button', { hasText: 'Lanes' }).click();
  await page.locator('[aria-label="pin loader"]').click();
  await page.locator('[aria-label="only one row of main"]').click();
  await page.waitForFunction(() => /search=block/.test(location.hash) && /pinned=/.test(location.hash) && /folded=/.test(location.hash) && /theme=/.test(location.hash));
}

test('a reload and a copied link give the same view', async (browser) => {
  const { page, seen, close } = await opened(browser);
  await arrange(page);
  const before = await seenIn(page);
  assert.equal(before.lanes[0], 'loader');
  const link = page.url();
  await page.reload();
  await ready(page);
  assert.deepEqual(await seenIn(page), before);
  assert.deepEqual(seen.problems, []);
  await close();
  const other = await open(browser, base, { colorScheme: 'light' });
  await other.page.goto('about:blank');
  await other.page.goto(link);
  await ready(other.page);
  assert.deepEqual(await seenIn(other.page), before);
  await other.close();
});

test('Back undoes a selection and stays on the page', async (browser) => {
  const { page, close } = await opened(browser);
  await page.locator('.card.table tr', { hasText: 'load_model' }).click();
  await page.waitForFunction(() => /load_model/.test(location.hash));
  await page.locator('.card.table tr', { hasText: 'vae_decode' }).click();
  await page.waitForFunction(() => /vae_decode/.test(location.hash));
  await page.goBack();
  await page.waitForFunction(() => /load_model/.test(document.querySelector('.selection').textContent));
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('.selection'));
  await page.locator('.contents a[href="#stages"]').click();
  assert.doesNotMatch(page.url(), /#stages/, 'a link inside the page takes the address');
  await close();
});

test('an address that makes no sense is left alone', async (browser) => {
  const { page, seen, close } = await open(browser, base);
  for (const bad of ['#view=9_1', '#at=x&entry=9.9.9&label=%00', '#at=1_2&entry=99.1.5&stage=-4&gap=x&order=1.x.9999&generation=77', '#%E0%A4%A', '#stages']) {
    await page.goto('about:blank');
    await page.goto(`file://${base}${bad}`);
    await ready(page);
    await settled(page);
    assert.match(await page.locator('main').innerText(), /wan_t2v/);
  }
  assert.deepEqual(seen.problems, []);
  await close();
});

test('tables are copied as text and saved as CSV, pictures as PNG', async (browser) => {
  const { page, seen, close } = await opened(browser, base, { acceptDownloads: true });
  const saved = async (act) => {
    const [download] = await Promise.all([page.waitForEvent('download'), act()]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  };
  const csv = await saved(() => page.locator('#stages [aria-label$="as CSV"]').click());
  assert.equal(csv.name, 'stage-tree.csv');
  const lines = csv.bytes.toString().trim().split('\r\n');
  assert.match(lines[0], /^name,count,total_s,self_s,wall_ratio/);
  assert.equal(lines.length, 12);
  assert.match(lines[8], /^load_model,1,21\.3,21\.3,/);
  const tables = await page.locator('main table').count();
  assert.equal(await page.locator('main caption [aria-label$="as CSV"]').count(), tables, 'every table has one');
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => void (window.copied = text);
  });
  await page.locator('#stages [aria-label^="copy the table"]').click();
  assert.match(plain(await page.evaluate(() => window.copied)), /^stage\tcalls\tinclusive[\s\S]*load_model\t1\t21\.30 s/);
  const png = await saved(() => page.locator('.dock button', { hasText: 'PNG' }).click());
  assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
  await page.locator('.card.right .chart').first().hover();
  const chart = await saved(() => page.locator('.card.right .chart .png').first().click());
  assert.equal(chart.bytes.subarray(1, 4).toString(), 'PNG');
  assert.ok(chart.bytes.length > 1000);
  await page.locator('.card.table tr', { hasText: 'load_model' }).click();
  await page.locator('.selection button', { hasText: 'Link' }).click();
  assert.match(await page.evaluate(() => window.copied), /#.*load_model/);
  const details = await saved(() => page.locator('.selection button', { hasText: 'CSV' }).click());
  assert.equal(details.name, 'load-model.csv');
  assert.match(details.bytes.toString(), /^load_model,1 ×,21\.30 s\r$/m);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('sorting the tree keeps the tree', async (browser) => {
  const { page, close } = await opened(browser);
  const rows = () => page.locator('#stages tbody tr').evaluateAll((all) => all.map((tr) => [tr.querySelector('.stage span[dir=auto]').title, parseInt(tr.querySelector('.stage').style.paddingLeft, 10) / 14]));
  await page.locator('#stages th button', { hasText: 'inclusive' }).click();
  await page.locator('#stages th button', { hasText: 'inclusive' }).click();
  const shown = await rows();
  const names = shown.map((r) => r[0]);
  const after = (name) => names.slice(names.indexOf(name) + 1);
  assert.ok(names.indexOf('export') < names.indexOf('generate'), 'the smallest first');
  assert.deepEqual(after('generate').slice(0, 6), ['text_encode', 'offload:text_encoder', 'vae_decode', 'denoise', 'step', 'block']);
  assert.deepEqual(shown.filter((r) => r[0] === 'block' || r[0] === 'step').map((r) => r[1]), [2, 3]);
  await close();
});

test('five tabs lead to the timeline, arrows walk inside, rows take Enter and Space', async (browser) => {
  const { page, close } = await opened(browser);
  let stops = 0;
  do {
    await page.keyboard.press('Tab');
    stops++;
  } while (stops < 12 && !(await page.evaluate(() => document.activeElement?.closest('#timeline-first') !== null)));
  assert.ok(stops <= 5, `${stops} stops`);
  await page.keyboard.press('ArrowDown');
  const label = async () => page.locator('.selection header b').innerText();
  assert.equal(await label(), 'a cat surfing');
  await page.keyboard.press('ArrowDown');
  assert.equal(await label(), 'step');
  const start = async () => Number(/start\s+([\d.]+)/.exec(plain(await page.locator('.detail').innerText()))[1]);
  const first = await start();
  await page.keyboard.press('ArrowRight');
  assert.ok((await start()) > first);
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowDown');
  assert.match(await page.locator('.detail').innerText(), /This (kernel|zone)/);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('.selection').count(), 0);
  const row = page.locator('.card.table tbody tr').first();
  await row.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  assert.equal(await label(), 'denoise');
  await page.keyboard.press('Space');
  assert.equal(await page.locator('.selection').count(), 0);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await label(), 'step');
  await close();
});

test('on a phone: no sideways scroll, two fingers zoom, a selection can be cleared', async (browser) => {
  const { page, close } = await opened(browser, base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok((await wide()) <= 0, `${await wide()} px too wide`);
  const cut = await page.locator('.figure .value').evaluateAll((all) => all.filter((v) => v.scrollWidth > v.clientWidth).map((v) => v.textContent));
  assert.deepEqual(cut, [], 'figures are whole');
  await page.locator('.card.table tr', { hasText: 'denoise' }).tap();
  assert.ok((await wide()) <= 0);
  await page.locator('.selection button', { hasText: 'Clear' }).tap();
  assert.equal(await page.locator('.selection').count(), 0);
  const canvas = page.locator('#timeline-first canvas');
  await canvas.scrollIntoViewIfNeeded();
  const b = await canvas.boundingBox();
  const all = await range(page);
  const cdp = await page.context().newCDPSession(page);
  const fingers = (type, ...xs) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints: xs.map((x, id) => ({ x: b.x + x, y: b.y + 60, id })) });
  await fingers('touchStart', 200);
  await fingers('touchStart', 200, 240);
  for (let i = 1; i <= 8; i++) await fingers('touchMove', 200 - i * 8, 240 + i * 8);
  await fingers('touchEnd');
  await settled(page);
  const near = await range(page);
  assert.ok(near.to - near.from < (all.to - all.from) * 0.5, `two fingers do not zoom: ${near.to - near.from} of ${all.to - all.from}`);
  await fingers('touchStart', 300);
  for (let i = 1; i <= 5; i++) await fingers('touchMove', 300 - i * 20);
  await fingers('touchEnd');
  await settled(page);
  assert.ok((await range(page)).from > near.from, 'one finger does not move');
  await close();
});

// Movements that nobody asked for, as the browser itself counts them.
const watchShifts = (page) =>
  page.addInitScript(() => {
    window.shifted = [];
    const of = (s) => `${s.node?.id || s.node?.className || s.node?.nodeName} ${Math.round(s.previousRect.y)} to ${Math.round(s.currentRect.y)}`;
    new PerformanceObserver((list) => list.getEntries().forEach((e) => window.shifted.push(...e.sources.map(of)))).observe({ type: 'layout-shift', buffered: true });
  });

test('nothing moves while the page opens, however late the timeline comes', async (browser) => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await watchShifts(page);
  await page.addInitScript(() => {
    const Real = DecompressionStream;
    window.release = null;
    window.DecompressionStream = class {
      constructor(kind) {
        const inner = new Real(kind);
        const gate = new TransformStream({ transform: (chunk, out) => new Promise((done) => (window.release = () => {
          window.release = null;
          out.enqueue(chunk);
          done();
        })) });
        void inner.readable.pipeTo(gate.writable);
        this.writable = inner.writable;
        this.readable = gate.readable;
      }
    };
  });
  await page.goto(`file://${base}`);
  await page.waitForFunction(() => window.release !== null);
  await settled(page);
  assert.equal(await page.locator('tr, button').count(), 0, 'what can be clicked is there before its place is known');
  await page.evaluate(async () => {
    while (!document.querySelector('.figures')) {
      window.release?.();
      await new Promise((done) => setTimeout(done));
    }
  });
  await ready(page);
  await settled(page);
  assert.deepEqual(await page.evaluate(() => window.shifted), []);
  await context.close();
});

test('a row stays under the pointer when a click changes the panels above it', async (browser) => {
  const { page, close } = await opened(browser);
  const row = page.locator('#stages tr', { hasText: 'vae_decode' });
  await row.scrollIntoViewIfNeeded();
  await row.hover();
  const before = await row.boundingBox();
  await page.mouse.down();
  await page.mouse.up();
  await page.waitForFunction(() => /^Selected/.test(document.querySelector('#range-statistics h3').textContent));
  await settled(page);
  assert.ok(Math.abs((await row.boundingBox()).y - before.y) <= 1, `the row went from ${before.y} to ${(await row.boundingBox()).y}`);
  assert.match(await page.locator('.selection').innerText(), /vae_decode/);
  await page.mouse.down();
  await page.mouse.up();
  await page.waitForFunction(() => /^Visible/.test(document.querySelector('#range-statistics h3').textContent));
  await settled(page);
  assert.ok(Math.abs((await row.boundingBox()).y - before.y) <= 1, `and back to ${(await row.boundingBox()).y}`);
  assert.equal(await page.locator('.selection').count(), 0, 'the second click met the same row');
  await close();
});

test('every picture that is made of elements can be saved as PNG, too, and is not empty', async (browser) => {
  const { page, seen, close } = await opened(browser, base, { acceptDownloads: true });
  const colours = (bytes) =>
    page.evaluate(async (data) => {
      const img = new Image();
      img.src = `data:image/png;base64,${data}`;
      await img.decode();
      const c = document.createElement('canvas');
      [c.width, c.height] = [img.width, img.height];
      const pen = c.getContext('2d');
      pen.drawImage(img, 0, 0);
      const words = new Uint32Array(pen.getImageData(0, 0, c.width, c.height).data.buffer);
      return { width: c.width, colours: new Set(words).size };
    }, bytes.toString('base64'));
  await page.locator('#calls').scrollIntoViewIfNeeded();
  await page.waitForSelector('.icicle button');
  for (const words of ['where the time goes', 'call tree']) {
    const button = page.locator(`[aria-label="save ${words} as PNG"]`);
    await button.locator('xpath=..').hover();
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    const seenIn = await colours(readFileSync(await download.path()));
    assert.ok(seenIn.width > 2000 && seenIn.colours > 5, `${words}: ${JSON.stringify(seenIn)}`);
  }
  const pictures = await page.locator('.icicle, .bar, .bins, svg').count();
  assert.equal(await page.locator('.picture > .png').count(), pictures, 'every picture has its button');
  await page.goto(`file://${videosPage('keep-videos')}`);
  await ready(page);
  await page.locator('.strip').hover();
  const [videos] = await Promise.all([page.waitForEvent('download'), page.locator('[aria-label="save videos as PNG"]').click()]);
  assert.ok((await colours(readFileSync(await videos.path()))).colours > 5, 'the small multiples, too');
  assert.deepEqual(seen.problems, []);
  await close();
});
