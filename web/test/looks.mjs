// What real recordings looked like: truth about what was not traced, words that stay whole, panels that say something.
import { assert, open, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { fixture } from './fixture.mjs';

const MS = 1e6;
const zone = (name, from, to) => ({ name, start: from * MS, end: to * MS });
const spaced = (text) => text.replace(/[\s\u00a0\u202f]+/g, ' ');

// Two videos; kernels of the first alone were traced.
function traced() {
  const videos = [zone(0, 0, 100), zone(0, 200, 300)];
  return encodeTimeline({
    endNs: 400 * MS,
    names: ['video', 'gemm'],
    lanes: [
      { kind: 'generation', name: 'Generations', rows: [videos] },
      { kind: 'thread', name: 'main', main: true, rows: [videos] },
      { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [[zone(1, 10, 60)], [zone(1, 90, 100)]] },
    ],
    traced: [[0, 80 * MS], [80 * MS, 80 * MS]], // the second ended at once, and still has what ran until 100
  });
}

const item = (start_s) => ({ name: 'video', start_s, wall_s: 0.1, energy_wh: 0.006 });

const report = () => ({
  session_info: { id: 't', name: 't' },
  summary: { wall_s: 0.4, gpu_memory_peak_bytes: 778 * 2 ** 20, gpu_memory_total_bytes: 143771 * 2 ** 20 },
  memory: { peak_source: 'process' },
  generations: { count: 2, median_index: 1, items: [item(0), item(0.2)] },
  stage_analysis: { wall_s: 0.4, unattributed_s: 0.2, stages: [{ name: 'video', first_s: 0, end_s: 0.3, count: 2, total_s: 0.2, self_s: 0.2, wall_ratio: 0.5, bottleneck: true }] },
  recommendations: [],
  recording: { zones: 2, dropped_count: 0 },
});

test('where kernels were not traced a GPU is not called idle', async (browser) => {
  const { page, close } = await open(browser, writePage('untraced', { report: report(), timeline: traced() }));
  await ready(page);
  const canvas = page.locator('#timeline-full canvas');
  const busy = async () => { // the lanes below Generations and main, one row each
    await canvas.scrollIntoViewIfNeeded();
    const b = await canvas.boundingBox();
    await page.mouse.move(b.x + 5, b.y + 5);
    await page.mouse.move(b.x + b.width / 2, b.y + 20 + 23 + 23 + 12);
    await page.waitForSelector('.tip');
    return spaced(await page.locator('.tip').innerText());
  };
  assert.match(await busy(), /GPU 0 busy.*not traced here/); // the page opens on the second video
  await page.locator('.videos .strip button').first().click();
  assert.match(await busy(), /GPU 0 busy.*100\.0 %/);
  await page.locator('.videos button', { hasText: 'whole run' }).click();
  await page.locator('.card.table tr', { hasText: 'video' }).first().click(); // from the first to the end of the second
  assert.match(spaced(await page.locator('.detail').innerText()), /GPU 0 busy 60\.0 % where traced/);
  await close();
});

test('a chart of a time that was not sampled says so, and this run has its colour in every chart', async (browser) => {
  const r = report();
  r.first_charts = [{ source: 'gpu', device_index: 0, columns: ['process_memory_mb', 'memory_used_mb'] }];
  r.gpu_metrics = { devices: [{ index: 0, series: { t_s: [0.21, 0.25, 0.29], memory_used_mb: [900, 900, 900], process_memory_mb: [700, 700, 700], sm_active_percent: [null, null, null] } }] };
  r.gpu_metrics.devices[0].series.sampled_sm_active_percent = [null, null, null];
  const { page, close } = await open(browser, writePage('not-sampled', { report: r, timeline: traced() }));
  await ready(page);
  for (const chart of await page.locator('figure[aria-label^="GPU memory"]').all()) assert.deepEqual(await chart.locator('.key').allInnerTexts(), ['this run', 'whole GPU']);
  const ink = () => page.locator('.card.right .chart canvas').first().evaluate((c) => {
    const { data } = c.getContext('2d').getImageData(150, 25, 90, c.height - 50); // between the rules
    return data.filter((_, i) => i % 4 === 3).reduce((n, a) => n + (a > 128), 0);
  });
  const sampled = await ink();
  await page.locator('.videos .strip button').first().click(); // before the first sample
  await settled(page);
  assert.ok((await ink()) > sampled + 50, 'words stand there');
  await close();
});

test('of many values in a pixel a chart draws the mean, and paler how far they reach', async (browser) => {
  const r = report();
  const t = Array.from({ length: 40_000 }, (_, i) => i * 1e-5);
  r.gpu_metrics = { devices: [{ index: 0, series: { t_s: [] }, sampled: { t_s: t, sm_active_percent: t.map(() => 95), tensor_active_percent: t.map((_, i) => (i % 2 ? 80 : 0)) } }] };
  const { page, close } = await open(browser, writePage('dense', { report: r, timeline: traced() }));
  await ready(page);
  const chart = page.locator('#metrics figure[aria-label^="GPU sampled"] canvas').first();
  await chart.scrollIntoViewIfNeeded();
  await settled(page);
  const column = await chart.evaluate((c) => {
    const { data } = c.getContext('2d').getImageData(Math.round(c.width * 0.43), 18, 1, c.height - 18);
    return Array.from({ length: data.length / 4 }, (_, i) => data[i * 4 + 3]);
  });
  const solid = column.filter((a) => a > 200).length;
  const pale = column.filter((a) => a > 40 && a < 120).length;
  assert.ok(solid >= 2 && solid <= 10 && pale > 15, column.join());
  await close();
});

test("stacks of a memory's lines are folded, files have their last two parts", async (browser) => {
  const stack = Array.from({ length: 9 }, (_, i) => `module_${i}.py:${i} forward`).join(' < ');
  const { report: r, timeline } = fixture();
  r.memory = { ...r.memory, lines: [{ file: '/opt/venv/lib/python3.12/site-packages/diffusers/models/vae.py', line: 177, function: 'forward', peak_mb: 1038, peak_count: 4, stack }, { peak_mb: 3, peak_count: 3 }] };
  const { page, close } = await open(browser, writePage('memory-lines', { report: r, timeline }));
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  const rows = page.locator('#memory table', { hasText: 'function' }).locator('tbody tr');
  const [first, second] = await rows.all();
  assert.equal(await first.locator('td').first().innerText(), 'models/vae.py');
  assert.match(await first.locator('td span').first().getAttribute('title'), /^\/opt\/venv/);
  assert.equal(await second.locator('td').first().innerText(), 'not known');
  assert.ok((await first.boundingBox()).height < 60, 'one line');
  await first.locator('summary').click();
  assert.equal(await first.locator('li').count(), 9);
  await close();
});

test("a video's energy is in joules, and what is of the run says so once", async (browser) => {
  const { page, close } = await open(browser, writePage('figures', { report: report(), timeline: traced() }));
  await ready(page);
  const figures = spaced(await page.locator('.figures').innerText());
  assert.match(figures, /GPU energy of this generation 21\.6 J 0\.006 Wh/);
  assert.match(figures, /VRAM peak of this run 778/);
  await close();
});

test('on a phone no word of a table is cut into letters, and a stage keeps its name', async (browser) => {
  const { report: r, timeline } = fixture({
    strategies: [{ stage: 'text_encode', what: 'keep the embeddings of prompts that come again; saves 30.5 ms at most', gain_s: 0.03, gain_basis: 'bounded', effort: '< 1 day', trade_off: 'memory for the embeddings of every prompt' }],
  });
  r.stage_analysis.stages[3].bottleneck = true;
  const { page, close } = await open(browser, writePage('phone-words', { report: r, timeline }), { viewport: { width: 390, height: 844 } });
  await ready(page);
  const lines = (text) => page.locator('#strategies td', { hasText: text }).first().evaluate((td) => {
    const range = document.createRange();
    range.selectNodeContents(td);
    return new Set([...range.getClientRects()].map((rect) => Math.round(rect.top))).size;
  });
  assert.equal(await lines('text_encode'), 1);
  assert.equal(await lines('bounded'), 1);
  assert.ok((await lines('keep the embeddings')) <= 6, 'a sentence has room');
  const name = await page.locator('.card.table tr', { hasText: 'bottleneck' }).first().locator('.stage > span').boundingBox();
  assert.ok(name.width > 30, `the name beside its mark is ${name.width} px wide`);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  await close();
});

test('on a phone the numbers beside a long name are in sight, and its mark stands below it on a small screen', async (browser) => {
  const { report: r, timeline } = fixture();
  const long = 'aten::_scaled_dot_product_cudnn_attention_forward';
  Object.assign(r.stage_analysis.stages.find((s) => s.name === 'vae_decode'), { name: long, state: 'skipped', reason: 'not asked for' });
  const path = writePage('phone-long', { report: r, timeline });
  const phone = await open(browser, path, { viewport: { width: 390, height: 844 } });
  await ready(phone.page);
  for (const column of [1, 2]) {
    const box = await phone.page.locator('#stages tbody tr', { hasText: long }).first().locator('td').nth(column).boundingBox();
    assert.ok(box.x + box.width <= 390, `column ${column} ends at ${box.x + box.width}`);
  }
  const whole = await phone.page.locator('#stages .stage > span[dir]', { hasText: 'upscale' }).first().boundingBox();
  assert.ok(whole.height < 30, `a short name is one line, not ${whole.height} px`);
  await phone.close();
  const { page, close } = await open(browser, path, { viewport: { width: 1280, height: 800 } });
  await ready(page);
  assert.deepEqual(await page.locator('.card.table .stage em').evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)), []);
  await close();
});

test('a panel with nothing to show has no heading, and nothing is drawn twice', async (browser) => {
  const { report: r, timeline } = fixture({ residency: { moments: [{ at: 'end', stage: 'denoise', t_s: 40, total_bytes: 5, rest_bytes: 5, parts: [] }] } });
  r.iterations[0].role = 'step';
  r.iterations.push({ name: 'block', role: 'block', count: 2, mean_s: 1.5, series_s: [2, 1] });
  r.block_analysis = { blocks: 2, items: [{ index: 0, t_s: 40, duration_s: 2 }, { index: 1, t_s: 42, duration_s: 1 }] };
  const { page, close } = await open(browser, writePage('empty-panel', { report: r, timeline }));
  await ready(page);
  assert.equal(await page.locator('#held').count(), 0);
  assert.equal(await page.locator('#steps .pair').count(), 2); // of steps and of blocks
  assert.equal(await page.locator('#iterations .pair').count(), 0); // the same bars stand among the steps
  assert.match(await page.locator('#iterations').innerText(), /0\.63\/s/);
  await close();
});

test('events of one name can be seen alone', async (browser) => {
  const many = Array.from({ length: 40 }, (_, i) => ({ name: 'garbage collection', kind: 'event', t_s: i, attributes: { duration_s: 0.0015, generation: 1 } }));
  const { report: r, timeline } = fixture({ events: [...many, { name: 'gpu_throttle', kind: 'event', t_s: 50, attributes: { reasons: 'power cap' } }], event_names: [{ name: 'gpu_throttle', count: 1 }, { name: 'garbage collection', count: 40 }] });
  const { page, close } = await open(browser, writePage('events', { report: r, timeline }));
  await ready(page);
  const rows = page.locator('#events tbody tr');
  assert.match(spaced(await rows.first().innerText()), /garbage collection duration 1\.50 ms, generation 1/);
  await page.locator('#events button', { hasText: 'gpu_throttle' }).click();
  await settled(page);
  assert.deepEqual((await rows.allInnerTexts()).map(spaced), ['50.00 s gpu_throttle reasons power cap']);
  await close();
});

test('whether memory grows is a sentence, not a regression', async (browser) => {
  const { report: r, timeline } = fixture();
  r.memory.growth = [
    { of: 'vram', per: 'step', verdict: 'grows', unit_count: 24, reading_count: 20, per_unit_mb: 18, per_unit_low_mb: 17, per_unit_high_mb: 19, p_value_ratio: 0.0001 },
    { of: 'host', per: 'step', verdict: 'steady', unit_count: 24, reading_count: 20, per_unit_mb: 1, per_unit_low_mb: 0, per_unit_high_mb: 2, p_value_ratio: 0.0001 },
    { of: 'open_files', per: 'step', verdict: 'steady', unit_count: 24, reading_count: 20, per_unit_count: 0, per_unit_low_count: 0, per_unit_high_count: 0, p_value_ratio: 1 },
  ];
  const { page, close } = await open(browser, writePage('growth', { report: r, timeline }));
  await ready(page);
  const table = page.locator('#memory table', { hasText: 'Does it grow' });
  assert.deepEqual((await table.locator('tbody tr').allInnerTexts()).map(spaced), ['VRAM grows: a leak 18.0 MB step 17.0 MB to 19.0 MB 24 20 < 0.1 %', "the process's memory grows too little for a leak 1.0 MB step 0 B to 2.0 MB 24 20 < 0.1 %", 'open files steady 0 step 0 to 0 24 20 100.0 %']);
  await close();
});

test('nothing moves for who asked for less motion', async (browser) => {
  const { report: r, timeline } = fixture();
  const { page, close } = await open(browser, writePage('still', { report: r, timeline }), { reducedMotion: 'reduce' });
  await ready(page);
  await page.addStyleTag({ content: '.card { transition: opacity 9s; animation: spin 9s infinite } @keyframes spin { to { rotate: 1turn } }' }).catch(() => {}); // forbidden by the page, as it should be
  await page.locator('.contents a').last().click();
  await page.locator('.card.table tr', { hasText: 'denoise' }).first().click();
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), 'auto');
  await close();
});

test('a guided step is marked, and says how often the model ran', async (browser) => {
  const steps = [zone(0, 0, 100), zone(0, 100, 200)];
  const timeline = encodeTimeline({
    endNs: 200 * MS,
    names: ['denoise', 'transformer'],
    lanes: [
      { kind: 'step', name: 'Steps', rows: [steps] },
      { kind: 'thread', name: 'main', main: true, rows: [steps, [zone(1, 5, 45), zone(1, 50, 90), zone(1, 105, 190)]] },
    ],
    details: [[0, 0, 0, { guidance_scale: 5 }], [1, 0, 0, { guidance_scale: 5 }], [1, 0, 100 * MS, { guidance_scale: 1 }]],
  });
  const r = report();
  delete r.generations;
  const { page, close } = await open(browser, writePage('guided', { report: r, timeline }));
  await ready(page);
  assert.equal(await page.locator('#timeline-first canvas').getAttribute('data-steps'), '1');
  const canvas = page.locator('#timeline-full canvas');
  await canvas.scrollIntoViewIfNeeded();
  const b = await canvas.boundingBox();
  await page.mouse.click(b.x + 300, b.y + 28);
  await page.waitForSelector('.detail');
  assert.match(spaced(await page.locator('.detail').innerText()), /guided 2 calls of transformer/);
  await close();
});
