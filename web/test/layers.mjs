// Memory over time: layers on each other, and what is resident at the moment that is clicked.
import { assert, open, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';

const MS = 1e6;
const plain = (text) => text.replace(/[\s\u00a0]+/g, ' ').trim();
const t_s = Array.from({ length: 21 }, (_, i) => i / 20);
const layer = (component, of, more = {}) => ({ component, ...more, held_mb: t_s.map(of), most_mb: Math.max(...t_s.map(of)) });

const picture = (layers) => ({ device_index: 0, peak_index: 16, t_s, stages: t_s.map((t) => (t < 0.1 ? '' : t < 0.6 ? 'denoise' : 'vae_decode')), layers, sum_mb: t_s.map((_, i) => layers.reduce((sum, l) => sum + l.held_mb[i], 0)) });
const layers = [
  layer('other processes and the driver', () => 512),
  layer('CUDA context and libraries', () => 512),
  layer('weights of transformer', () => 10240, { dtype: 'bfloat16' }),
  layer('activations and other tensors', (t) => (t === 0.8 ? 20480 : t > 0.6 ? 8192 : 2048)),
];

const report = (all) => ({
  session_info: { id: 'layers', name: 'layers' }, summary: { wall_s: 1 }, recommendations: [], recording: { zones: 2, dropped_count: 0 },
  stage_analysis: { wall_s: 1, unattributed_s: 0, stages: [{ name: 'denoise', first_s: 0.1, end_s: 0.6, count: 1, total_s: 0.5, self_s: 0.5, wall_ratio: 0.5 }], bottlenecks: [], parts: [] },
  memory_over_time: [picture(all)],
});
const timeline = () => encodeTimeline({ endNs: 1000 * MS, names: ['denoise'], lanes: [{ kind: 'thread', name: 'main', rows: [[{ name: 0, start: 100 * MS, end: 600 * MS }]] }] });
const caption = async (page) => plain(await page.locator('#held .layers caption, #held .layers .caption').first().innerText());
const rows = async (page) => (await page.locator('#held .layers table tbody tr').allInnerTexts()).map(plain);

test('without a selection the table is of the highest moment', async (browser) => {
  const { page, seen, close } = await open(browser, writePage('layers', { report: report(layers), timeline: timeline() }));
  assert.match(await caption(page), /Memory of GPU 0 at 800 ms in vae_decode, the highest: 31\.0 GB/);
  assert.deepEqual((await rows(page)).map((r) => r.split(' ').slice(0, 2).join(' ')), ['activations and', 'weights of', 'other processes', 'CUDA context']);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a click on the layers says what is resident then', async (browser) => {
  const { page, close } = await open(browser, writePage('layers-click', { report: report(layers), timeline: timeline() }));
  const canvas = page.locator('#held .layers canvas');
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  await page.mouse.click(box.x + box.width * 0.55, box.y + box.height / 2);
  await page.waitForFunction(() => /in denoise/.test(document.querySelector('#held .layers').textContent));
  assert.match(await caption(page), /in denoise: 13\.0 GB/);
  await close();
});

test('on a phone what is resident at the clicked moment stands above the bar of details', async (browser) => {
  const { page, close } = await open(browser, writePage('layers-phone', { report: report(layers), timeline: timeline() }), { viewport: { width: 390, height: 844 }, hasTouch: true });
  await ready(page);
  const canvas = page.locator('#held .layers canvas');
  await canvas.evaluate((c) => scrollBy(0, c.getBoundingClientRect().bottom - innerHeight + 20)); // at the foot of the window
  await settled(page);
  const box = await canvas.boundingBox();
  await page.touchscreen.tap(box.x + box.width * 0.55, box.y + box.height / 2);
  await page.waitForSelector('.selection');
  await page.waitForFunction(() => document.querySelector('#held .layers tbody tr').getBoundingClientRect().bottom <= document.querySelector('.selection').getBoundingClientRect().top);
  assert.ok((await page.locator('#held .layers tbody tr').first().boundingBox()).y >= (await page.locator('#timeline').boundingBox()).height, 'and below the timeline');
  await close();
});

test('layers fill the chart from the bottom in the order of the report', async (browser) => {
  const { page, close } = await open(browser, writePage('layers-colours', { report: report(layers), timeline: timeline() }));
  const canvas = page.locator('#held .layers canvas');
  await canvas.scrollIntoViewIfNeeded();
  // It is drawn when it comes into sight.
  await page.waitForFunction(() => {
    const c = document.querySelector('#held .layers canvas');
    return c.getContext('2d').getImageData(Math.round(c.width * 0.5), 0, 1, c.height).data.some((value, i) => i % 4 === 3 && value > 250);
  });
  const seen = await canvas.evaluate((c) => {
    const pen = c.getContext('2d');
    const found = [];
    for (let y = c.height - 1; y >= 0; y--) {
      const [r, g, b, a] = pen.getImageData(Math.round(c.width * 0.5), y, 1, 1).data;
      const colour = a > 250 ? `${r},${g},${b}` : '';
      if (found.at(-1)?.colour === colour) found.at(-1).px++;
      else found.push({ colour, px: 1 });
    }
    return found.filter((one) => one.colour && one.px > 3);
  });
  const keys = await page.locator('#held .layers figcaption .key').evaluateAll((all) => all.map((k) => getComputedStyle(k, '::before').backgroundColor.replace(/[^\d,]/g, '')));
  const [weights, tensors] = ['10240', '2048'].map((_, i) => seen.findIndex((one) => one.colour === keys[2 + i]));
  assert.ok(weights >= 0 && tensors > weights, `${JSON.stringify(seen)} of ${keys}`);
  const ratio = seen[weights].px / seen[tensors].px;
  assert.ok(ratio > 3 && ratio < 8, `as high as what they hold, 5 to 1: ${ratio}`);
  await close();
});

test('more layers than colours are joined, and the table has all', async (browser) => {
  const many = Array.from({ length: 9 }, (_, i) => layer(`weights of m${i}`, () => 1000 + 10 * i, i < 4 ? { small: true } : {}));
  const r = report(many);
  r.memory_over_time[0].small_mb = t_s.map(() => 4060);
  const { page, close } = await open(browser, writePage('layers-many', { report: r, timeline: timeline() }));
  const keys = (await page.locator('#held .layers figcaption .key').allInnerTexts()).map(plain);
  assert.equal(keys.length, 6);
  assert.equal(keys.at(-1), '4 smaller ones');
  assert.equal((await rows(page)).length, 9);
  await close();
});

// ---- by stage, by line with stacks, blocks of segments ----

const by = (how, all) => ({ ...picture(all), [how]: true });
const lineLayers = [layer('other lines', () => 100), layer('vae.py:81 decode', (t) => (t > 0.6 ? 4096 : 0), { stack: 'vae.py:81 decode < pipeline.py:12 __call__ < main.py:3 <module>' })];
const stageLayers = [layer('there at first', () => 100), layer('denoise', (t) => (t > 0.1 ? 2048 : 0)), layer('vae_decode', (t) => (t > 0.6 ? 8192 : 0))];

async function threeWays(browser, name, options) {
  const r = report(layers);
  r.memory_over_time = [picture(layers), by('by_stage', stageLayers), by('by_line', lineLayers)];
  const opened = await open(browser, writePage(name, { report: r, timeline: timeline() }), options);
  return { ...opened, choose: (word) => opened.page.locator('#held .layers .switch button', { hasText: word }).click() };
}

test('one memory has one picture, and a switch says what its layers are', async (browser) => {
  const { page, seen, choose, close } = await threeWays(browser, 'layers-ways');
  assert.equal(await page.locator('#held .layers').count(), 1);
  assert.deepEqual(await page.locator('#held .layers .switch button').allInnerTexts(), ['component', 'stage', 'line of the program']);
  await choose('stage');
  assert.match(await caption(page), /Memory of GPU 0 by stage at 800 ms in vae_decode, the highest: 10\.1 GB/);
  assert.deepEqual((await rows(page)).map((r) => r.split(' ')[0]), ['vae_decode', 'denoise', 'there']);
  const keys = (await page.locator('#held .layers figcaption .key').allInnerTexts()).map(plain);
  assert.deepEqual(keys, ['there at first', 'denoise', 'vae_decode']);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('what is alive at the moment that is clicked has its stacks', async (browser) => {
  const { page, choose, close } = await threeWays(browser, 'layers-stacks');
  await choose('line');
  const canvas = page.locator('#held .layers canvas');
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  await page.mouse.click(box.x + box.width * 0.95, box.y + box.height / 2);
  await page.waitForFunction(() => /by line of the program at 9\d\d/.test(document.querySelector('#held .layers').textContent));
  assert.match((await rows(page))[0], /^vae\.py:81 decode 4\.\d+ GB/);
  await page.locator('#held .layers details summary').click();
  assert.deepEqual(await page.locator('#held .layers .stack li').allInnerTexts(), ['vae.py:81 decode', 'pipeline.py:12 __call__', 'main.py:3 <module>']);
  await close();
});

test('the layers zoom with the timeline', async (browser) => {
  const { page, close } = await threeWays(browser, 'layers-zoom');
  await ready(page);
  const canvas = page.locator('#held .layers canvas');
  await canvas.scrollIntoViewIfNeeded();
  const before = await canvas.screenshot();
  await page.locator('#timeline-first canvas').hover({ position: { x: 600, y: 60 } });
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -400);
  await page.keyboard.up('Control');
  await canvas.scrollIntoViewIfNeeded();
  assert.notDeepEqual(await canvas.screenshot(), before);
  await close();
});

test('fragmentation is drawn as blocks, as wide as they are large', async (browser) => {
  const r = report(layers);
  const MB = 1048576;
  r.memory_segments = [{ device_index: 0, segment_bytes: 1000 * MB, free_bytes: 300 * MB, free_count: 1, largest_free_bytes: 300 * MB, part_bytes: [500 * MB, 300 * MB, 200 * MB], used_ratio: [1, 0, 0.5] }];
  const { page, close } = await open(browser, writePage('segments', { report: r, timeline: timeline() }));
  const segment = page.locator('#held .segment');
  await segment.scrollIntoViewIfNeeded();
  const widths = await segment.locator('> span').evaluateAll((all) => all.map((s) => s.getBoundingClientRect().width));
  assert.ok(Math.abs(widths[0] / widths[1] - 5 / 3) < 0.1 && Math.abs(widths[0] / widths[2] - 2.5) < 0.1, widths);
  const filled = await segment.locator('i').evaluateAll((all) => all.map((i) => Math.round(i.getBoundingClientRect().height / i.parentElement.getBoundingClientRect().height * 100)));
  assert.deepEqual(filled, [100, 0, 50]);
  assert.equal(plain(await segment.getAttribute('aria-label')), '500.0 MB in use, 300.0 MB free, 200.0 MB of small blocks, 50 % in use');
  assert.match(plain(await page.locator('#held .picture tbody tr').innerText()), /1000\.0 MB 300\.0 MB 1 300\.0 MB$/);
  await close();
});

test('on a phone the details leave the picture and what is alive in sight', async (browser) => {
  const { page, close } = await threeWays(browser, 'layers-phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const canvas = page.locator('#held .layers canvas');
  await canvas.evaluate((e) => scrollTo(0, e.getBoundingClientRect().top + scrollY - document.querySelector('.dock').offsetHeight - 60));
  const box = await canvas.boundingBox();
  await page.touchscreen.tap(box.x + box.width * 0.8, box.y + box.height / 2);
  await page.waitForSelector('.selection');
  await settled(page);
  const [top, row] = await page.evaluate(() => [document.querySelector('.selection').getBoundingClientRect().top, document.querySelector('#held .layers tbody tr').getBoundingClientRect().bottom]);
  assert.ok(row <= top, `the first row ends at ${row}, the details begin at ${top}`);
  await page.locator('.selection button', { hasText: 'Clear' }).tap();
  assert.equal(await page.locator('.selection').count(), 0);
  await close();
});

const GB = 1024 ** 3;
const retries = { count: 12, reading_count: 4, device_index: 0, t_s: 0.8, stage: 'vae_decode', allocated_bytes: 61 * GB, slack_bytes: 17 * GB, total_bytes: 79 * GB, residents: [{ component: 'weights of transformer', dtype: 'bfloat16', bytes: 27 * GB }, { component: 'allocator slack', bytes: 2 * GB }] };

test('an allocator that gave its cache back says where, how full it was and what held the memory', async (browser) => {
  const { memory_over_time: _, ...rest } = report(layers);
  const { page, seen, close } = await open(browser, writePage('retries', { report: { ...rest, alloc_retries: retries }, timeline: timeline() }));
  assert.equal(plain(await page.locator('#held p').first().innerText()), 'The allocator got memory only after it gave its cache back in vae_decode; 12 times. Before the last: 61.0 GB allocated, 17.0 GB more reserved, of 79.0 GB.');
  assert.deepEqual((await page.locator('#held tbody tr').allInnerTexts()).map(plain), ['weights of transformer (bfloat16) 27.0 GB', 'allocator slack 2.0 GB']);
  assert.deepEqual(seen.problems, []);
  await close();
});
