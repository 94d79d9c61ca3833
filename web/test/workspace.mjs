// The timeline as a place to work in: it stays in view, wheel, drag and keys do what a hand expects,
// every row leads there, and what is selected says all it knows.
import { assert, open, range, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { fixture, small } from './fixture.mjs';

const base = writePage('workspace', fixture());
const gutter = 132;
const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');
const detail = async (page) => plain(await page.locator('.selection').innerText());
const canvasBox = (page, id = '#timeline-first') => page.locator(`${id} canvas`).boundingBox();
const plotX = (b, share) => b.x + gutter + (b.width - gutter) * share;

async function opened(browser, path = base, options) {
  const { page, seen, close } = await open(browser, path, options);
  await ready(page);
  return { page, seen, close };
}

// Lanes by the hundred: the GPU, the main thread, and workers.
function many(workers) {
  const rows = [Array.from({ length: 40 }, (_, i) => ({ start: i * 25e6, end: i * 25e6 + 20e6, name: 0 }))];
  const kernels = Array.from({ length: 4000 }, (_, i) => ({ start: i * 250_000, end: i * 250_000 + 18_500, name: 1 })); // 7.4 % busy
  const lanes = [{ kind: 'thread', name: 'main', main: true, rows: [[{ start: 0, end: 999e6, name: 0 }]] }];
  for (let i = 0; i < workers; i++) lanes.push({ kind: 'thread', name: `worker ${i}`, rows });
  lanes.push({ kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [kernels] });
  const timeline = encodeTimeline({ endNs: 1e9, names: ['work', 'gemm'], lanes });
  return writePage(`many-${workers}`, { report: { ...fixture().report, stage_analysis: { wall_s: 1, unattributed_s: 0, stages: [], bottlenecks: [] } }, timeline });
}

test('the timeline stays in view while the tables scroll', async (browser) => {
  for (const viewport of [{ width: 1440, height: 900 }, { width: 768, height: 1024 }, { width: 390, height: 844 }]) {
    const { page, close } = await opened(browser, base, { viewport });
    for (const id of ['stages', 'metrics', 'kernels', 'system']) {
      await page.locator(`.contents a[href="#${id}"]`).click();
      await settled(page);
      const b = await canvasBox(page, '#timeline-full');
      assert.ok(b.y >= 0 && b.y + b.height < viewport.height * 0.62, `${id} at ${viewport.width}: the lanes are at ${b.y}`);
      const title = await page.locator(`#${id} > h2`).boundingBox();
      assert.ok(title.y >= b.y + b.height - 1 && title.y < viewport.height, `${id} at ${viewport.width}: its title is at ${title.y}, below ${b.y + b.height}`);
    }
    await close();
  }
});

test('the wheel scrolls the page over the timeline, and with Ctrl it zooms around the pointer', async (browser) => {
  const { page, close } = await opened(browser);
  const all = await range(page);
  const b = await canvasBox(page);
  await page.mouse.move(plotX(b, 0.25), b.y + 60);
  await page.mouse.wheel(0, 300);
  await page.waitForFunction(() => scrollY > 200);
  assert.deepEqual(await range(page), all, 'the plain wheel zooms');
  await page.mouse.wheel(0, -600);
  await page.waitForFunction(() => scrollY === 0);
  await page.keyboard.down('Control');
  for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -120);
  await page.keyboard.up('Control');
  await settled(page);
  const near = await range(page);
  assert.ok(near.to - near.from < (all.to - all.from) / 4, 'no zoom');
  const fixed = all.from + (all.to - all.from) * 0.25;
  assert.ok(Math.abs((fixed - near.from) / (near.to - near.from) - 0.25) < 0.02, 'the moment under the pointer moved');
  assert.equal(await page.evaluate(() => visualViewport.scale), 1);
  await page.mouse.wheel(200, 0);
  await settled(page);
  assert.ok((await range(page)).from > near.from, 'sideways does not move');
  await close();
});

test('w, s, a and d work without a click first, and a double click fits', async (browser) => {
  const { page, close } = await opened(browser);
  const all = await range(page);
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  await settled(page);
  const near = await range(page);
  assert.ok(near.to - near.from < (all.to - all.from) * 0.6, 'w does not zoom');
  await page.keyboard.press('d');
  await settled(page);
  const moved = await range(page);
  assert.ok(moved.from > near.from, 'd does not move');
  await page.keyboard.press('a');
  await page.keyboard.press('s');
  await page.keyboard.press('s');
  await settled(page);
  assert.deepEqual(await range(page), all);
  const b = await canvasBox(page);
  const row = (n) => b.y + 20 + n;
  await page.mouse.dblclick(plotX(b, 0.12), row(70));
  await settled(page);
  const load = await range(page);
  assert.ok(load.from > 7e9 && load.from < 9e9 && load.to > 30.3e9 && load.to < 32e9, JSON.stringify(load));
  assert.match(await detail(page), /load_model/);
  await page.keyboard.press('Home');
  await settled(page);
  assert.deepEqual(await range(page), all);
  await close();
});

test('a drag selects a range with exact statistics, Shift and drag moves', async (browser) => {
  const { page, close } = await opened(browser);
  const b = await canvasBox(page);
  const all = await range(page);
  const at = (s) => plotX(b, (s * 1e9) / all.to);
  await page.mouse.move(at(10), b.y + 100);
  await page.mouse.down();
  await page.mouse.move(at(20), b.y + 100, { steps: 5 });
  await page.mouse.up();
  const cells = await page.locator('#range-statistics tr', { hasText: 'load_model' }).locator('td').allInnerTexts();
  assert.equal(cells[1], '1');
  assert.ok(Math.abs(parseFloat(cells[2]) - 10) < 0.2, cells[2]);
  assert.match(cells[4], /^100\.0/);
  assert.match(await page.locator('#range-statistics').innerText(), /from the zones themselves/);
  assert.deepEqual(await range(page), all);
  await page.keyboard.press('f');
  await settled(page);
  const near = await range(page);
  await page.keyboard.down('Shift');
  await page.mouse.move(at(60), b.y + 100);
  await page.mouse.down();
  await page.mouse.move(at(40), b.y + 100, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await settled(page);
  const moved = await range(page);
  assert.ok(moved.from > near.from && Math.abs(moved.to - moved.from - (near.to - near.from)) < 1000, 'no move');
  await close();
});

test('one crosshair runs through lanes and charts', async (browser) => {
  const { page, close } = await opened(browser);
  const b = await canvasBox(page);
  const x = plotX(b, 0.5);
  await page.mouse.move(x, b.y + 80);
  await settled(page);
  const lines = () => page.evaluate(() => [...document.querySelectorAll('.card.right .cross:not([hidden])')].map((e) => e.getBoundingClientRect().x));
  const first = await lines();
  assert.ok(first.length >= 4, `${first.length} lines`);
  assert.ok(first.every((at) => Math.abs(at - x) < 2), `${x}: ${first}`);
  assert.match(await page.locator('.card.right output').first().innerText(), /: /);
  const chart = await page.locator('.card.right .chart').nth(1).boundingBox();
  await page.mouse.move(x + 100, chart.y + 40);
  await settled(page);
  assert.ok((await lines()).every((at) => Math.abs(at - x - 100) < 2), `${await lines()}`);
  assert.equal((await lines()).length, first.length);
  await page.mouse.move(5, 5);
  await settled(page);
  assert.equal((await lines()).length, 0, 'it stays when the pointer is gone');
  await close();
});

test('a tip goes when the picture moves', async (browser) => {
  const { page, close } = await opened(browser);
  const b = await canvasBox(page);
  await page.mouse.move(plotX(b, 0.12), b.y + 20 + 70);
  await page.waitForSelector('.tip');
  await page.keyboard.press('w');
  await settled(page);
  assert.equal(await page.locator('.tip').count(), 0);
  await close();
});

test('a zone tells its path, its place among its peers, what it holds and launched', async (browser) => {
  const { page, seen, close } = await opened(browser);
  await page.fill('input.search', 'block');
  await page.press('input.search', 'Enter');
  const text = await detail(page);
  assert.match(text, /This zone\s+duration/);
  assert.match(text, /percentile\s+\d+: longer than [\d ]+ of 1 499 others/);
  assert.match(text, /Inside of\s+generate[\s\S]*denoise[\s\S]*step/);
  assert.match(text, /Launched: 4, [\s\S]*flash_fwd_kernel[\s\S]*1 ×/);
  const start = /start\s+([\d.]+) s/.exec(text)[1];
  await page.locator('.selection button', { hasText: 'next' }).click();
  assert.ok(Number(/start\s+([\d.]+) s/.exec(await detail(page))[1]) > Number(start));
  await page.locator('.selection button', { hasText: 'previous' }).click();
  assert.equal(/start\s+([\d.]+) s/.exec(await detail(page))[1], start);
  await page.locator('.selection .path button', { hasText: 'step' }).click();
  assert.match(await detail(page), /Holds: 30/);
  await page.locator('.selection dt', { hasText: 'longest' }).locator('xpath=following-sibling::dd[1]').locator('button').click();
  assert.match(await detail(page), /2\.45 s[\s\S]*percentile\s+100/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a kernel tells who launched it and how long it waited', async (browser) => {
  const { page, close } = await opened(browser);
  await page.locator('#kernels tr', { hasText: 'flash_fwd_kernel' }).first().click();
  const text = await detail(page);
  assert.match(text, /This kernel[\s\S]*Launched by\s+thread\s+main\s+zone\s+generate[\s\S]*block[\s\S]*waited for the GPU\s+[\d.]+ (ms|µs|s)/);
  await page.locator('.selection .path button', { hasText: 'block' }).click();
  assert.match(await detail(page), /This zone[\s\S]*Launched: 4/);
  await close();
});

test('steps, gaps and samples have their details too', async (browser) => {
  const { page, close } = await opened(browser);
  await page.locator('#steps tr', { hasText: '31' }).first().click();
  assert.match(await detail(page), /This step[\s\S]*guidance scale\s+5[\s\S]*peer median[\s\S]*Holds: 30/);
  await page.locator('.bar .nothing').click();
  assert.match(await detail(page), /gap 1 of \d+[\s\S]*A gap: no zone is open[\s\S]*after\s+\w+/);
  const chart = await page.locator('.card.right .chart').first().boundingBox();
  await page.mouse.click(chart.x + gutter + 300, chart.y + 40);
  assert.match(await detail(page), /samples at[\s\S]*GPU utilisation\s+[\d.]+ %[\s\S]*Open then/);
  await close();
});

test('extremes and findings lead to their zones, and Back leads back', async (browser) => {
  const { page, close } = await opened(browser);
  await page.locator('#stages tr', { hasText: 'vae_decode' }).locator('td button', { hasText: /s$/ }).last().click();
  assert.match(await detail(page), /This zone[\s\S]*vae_decode|vae_decode[\s\S]*This zone/);
  await page.locator('#advice .findings > li', { hasText: 'load-throughput' }).locator('.link').click();
  assert.match(await detail(page), /load_model/);
  const selected = (name) => page.waitForFunction((n) => document.querySelector('.selection b').textContent === n, name);
  await selected('load_model');
  await page.goBack();
  await selected('vae_decode');
  await page.goForward();
  await selected('load_model');
  await close();
});

test('hundreds of lanes: the GPU above the workers, all of them reachable', async (browser) => {
  const { page, close } = await opened(browser, many(150));
  const b = await canvasBox(page);
  const nameAt = async (y) => {
    await page.mouse.move(b.x + 60, y);
    await page.waitForSelector('.tip b');
    return page.locator('.tip b').innerText();
  };
  assert.equal(await nameAt(b.y + 28), 'main');
  assert.equal(await nameAt(b.y + 20 + 26), 'GPU 0 busy');
  const [room, need] = await page.locator('#timeline-first .window').evaluate((e) => [e.clientHeight, e.scrollHeight]);
  assert.ok(need > room * 3, `${need} px of lanes in ${room}`);
  await page.mouse.move(b.x + 500, b.y + 100);
  for (let i = 0; i < 40; i++) await page.mouse.wheel(0, 400);
  await page.waitForFunction(() => {
    const w = document.querySelector('#timeline-first .window');
    return w.scrollTop + w.clientHeight >= w.scrollHeight - 1;
  });
  await page.evaluate(() => scrollTo(0, 0)); // at the last lane the wheel goes on with the page
  await settled(page);
  const after = await canvasBox(page);
  await page.mouse.move(after.x + 60, after.y + after.height - 20);
  await page.waitForFunction(() => /worker/.test(document.querySelector('.tip b')?.textContent ?? ''));
  assert.match(await page.locator('#range-statistics').innerText(), /at once/);
  assert.doesNotMatch(await page.locator('#range-statistics').innerText(), /\d{4}\.\d\s%/);
  await close();
});

test('lanes are pinned, folded, moved and filtered', async (browser) => {
  const { page, close } = await opened(browser, many(30));
  const b = await canvasBox(page);
  const tip = async (y) => {
    await page.mouse.move(b.x + 300, b.y + 5);
    await page.mouse.move(b.x + 60, b.y + y);
    await page.waitForSelector('.tip b');
    return page.locator('.tip b').innerText();
  };
  assert.equal(await tip(28), 'main');
  await page.locator('.dock button', { hasText: 'Lanes' }).click();
  await page.fill('[aria-label="filter lanes"]', 'worker 29');
  assert.match(await page.locator('.lanes-list').innerText(), /1 of 33 lanes/);
  await page.locator('[aria-label="pin worker 29"]').click();
  await page.fill('[aria-label="filter lanes"]', '');
  await page.locator('[aria-label="GPU 0 stream 7 up"]').click();
  await page.locator('.dock button', { hasText: 'Lanes' }).click();
  await page.evaluate(() => scrollTo(0, 0));
  await settled(page);
  assert.equal(await tip(28), 'worker 29');
  const window_ = page.locator('#timeline-first .window');
  for (let i = 0; i < 3; i++) await page.mouse.wheel(0, 100);
  await page.waitForFunction(() => document.querySelector('#timeline-first .window').scrollTop > 100);
  await page.evaluate(() => scrollTo(0, 0));
  await settled(page);
  assert.equal(await tip(28), 'worker 29', 'a pinned lane scrolls away');
  // by hand: take a name and lay it elsewhere
  await window_.evaluate((e) => e.scrollTo(0, 0));
  await settled(page);
  const second = await tip(28 + 22);
  await page.mouse.down();
  await page.mouse.move(b.x + 60, b.y + 28 + 110, { steps: 6 });
  await page.mouse.up();
  await settled(page);
  assert.notEqual(await tip(28 + 22), second);
  await close();
});

// Contrast of a canvas' marks with the card, as WCAG counts it.
const contrasts = (page, id, x0, y0, w, h) =>
  page.locator(`${id} canvas`).evaluate(
    (c, [x, y, width, height]) => {
      const lum = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
      const pen = c.getContext('2d');
      const ground = lum(pen.getImageData(c.width - 2, c.height - 2, 1, 1).data);
      const out = [];
      for (let i = 0; i < width; i++) {
        const column = pen.getImageData(x + i, y, 1, height).data;
        let most = 1;
        for (let k = 0; k < height; k++) {
          const l = lum(column.slice(k * 4, k * 4 + 3));
          most = Math.max(most, (Math.max(l, ground) + 0.05) / (Math.min(l, ground) + 0.05));
        }
        out.push(most);
      }
      return out;
    },
    [x0, y0, w, h],
  );

test('what is drawn stands out from its ground in both themes, zoomed out and in', async (browser) => {
  for (const colorScheme of ['dark', 'light']) {
    const { page, close } = await opened(browser, many(3), { colorScheme });
    for (const zoomed of [false, true]) {
      if (zoomed) for (let i = 0; i < 16; i++) await page.keyboard.press('w');
      await settled(page);
      const marks = await contrasts(page, '#timeline-first', gutter + 20, 21, 200, 27);
      assert.ok(Math.min(...marks) >= 3, `${colorScheme} ${zoomed ? 'in' : 'out'}: ${Math.min(...marks).toFixed(2)}`);
    }
    await close();
  }
});

test('a GPU that is 7 % busy is drawn as 7 %, whatever the zoom', async (browser) => {
  const { page, close } = await opened(browser, many(3));
  const canvas = page.locator('#timeline-first canvas');
  // Pixels in the colour of the busy lane, as a share of the lane's area.
  const covered = () =>
    canvas.evaluate((c, left) => {
      const wanted = getComputedStyle(document.documentElement).getPropertyValue('--c3').trim();
      const rgb = [1, 3, 5].map((i) => parseInt(wanted.slice(i, i + 2), 16));
      const { data, width, height } = c.getContext('2d').getImageData(left, 20, c.width - left, 200);
      const rows = new Set();
      let green = 0;
      for (let i = 0; i < width * height; i++) {
        if (!rgb.every((v, k) => Math.abs(data[i * 4 + k] - v) < 8)) continue;
        green++;
        rows.add(Math.floor(i / width));
      }
      return { share: green / (28 * width), rows: rows.size };
    }, gutter);
  const out = await covered();
  assert.ok(out.share > 0.03 && out.share < 0.13, `zoomed out: ${out.share}`);
  const b = await canvasBox(page);
  await page.mouse.move(plotX(b, 0.5), b.y + 100);
  for (let i = 0; i < 18; i++) await page.keyboard.press('w');
  await settled(page);
  const { from, to } = await range(page);
  assert.ok(to - from < 2e6 && to - from > 1e6, `${to - from}`);
  const near = await covered();
  assert.ok(near.share > 0.03 && near.share < 0.13, `zoomed in: ${near.share}`);
  assert.ok(near.rows > 20, 'a kernel is as high as the lane');
  await close();
});

test('arrows reach every row, also those that there is no room for', async (browser) => {
  const deep = Array.from({ length: 40 }, (_, i) => [{ start: i * 1e6, end: (100 - i) * 1e6, name: i }]);
  const timeline = encodeTimeline({ endNs: 100e6, names: deep.map((_, i) => `level ${i}`), lanes: [{ kind: 'thread', name: 'main', main: true, rows: deep }] });
  const { page, close } = await opened(browser, writePage('deep', { ...small(), timeline }));
  await page.locator('#timeline-full canvas').focus();
  for (let i = 0; i < 40; i++) await page.keyboard.press('ArrowDown');
  assert.equal(await page.locator('.selection header b').innerText(), 'level 39');
  await settled(page);
  const { scroll, room } = await page.locator('#timeline-full canvas').evaluate((c) => ({ scroll: Number(c.dataset.scroll), room: c.clientHeight }));
  assert.ok(39 * 18 >= scroll && 40 * 18 <= scroll + room, `row 39 at ${39 * 18} px, ${scroll} to ${scroll + room} are shown`);
  await close();
});
