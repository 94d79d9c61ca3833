// A run of several videos: the page is about one of them.
import { assert, open, range, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { small } from './fixture.mjs';

const MS = 1e6;
const LENGTHS = [500, 300, 200, 260, 240]; // the first one is cold; of the warm ones 240 is the lower middle
const names = ['load_model', 'a cat', 'denoise', 'vae_decode', 'prefetch'];
const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');

function videos(lengths = LENGTHS, startup_s = 1.1, change = () => {}) {
  const rows = [[{ start: 0, end: 1000 * MS, name: 0 }], []];
  const items = [];
  const series = { t_s: [], duration_s: [] };
  let t = 1100;
  for (const length of lengths) {
    rows[0].push({ start: t * MS, end: (t + length) * MS, name: 1 });
    for (let k = 0; k < 4; k++) {
      rows[1].push({ start: (t + k * length * 0.2) * MS, end: (t + (k + 1) * length * 0.2) * MS, name: 2 });
      series.t_s.push((t + k * length * 0.2) / 1e3);
      series.duration_s.push((length * 0.2) / 1e3);
    }
    rows[1].push({ start: (t + length * 0.8) * MS, end: (t + length * 0.9) * MS, name: 3 });
    items.push({ name: 'a cat', start_s: t / 1e3, wall_s: length / 1e3, frames: 16, fps: 16e3 / length, steps: 4, step_median_s: (length * 0.2) / 1e3, step_max_s: (length * 0.2) / 1e3, faster_count: lengths.filter((o) => o < length).length });
    t += length + 50;
  }
  const other = [Array.from({ length: 60 }, (_, i) => ({ start: i * 40 * MS, end: (i * 40 + 20) * MS, name: 4 }))];
  const total = lengths.reduce((a, b) => a + b, 0) / 1e3;
  const first = 1.1;
  const end = (t - 50) / 1e3;
  const stages = [
    { name: 'a cat', role: 'generation', count: 5, total_s: total, self_s: total * 0.1, wall_ratio: 0.5, first_s: first, end_s: end },
    { name: 'denoise', parent: 'a cat', bottleneck: true, count: 20, total_s: total * 0.8, self_s: total * 0.8, wall_ratio: 0.4, first_s: first, end_s: end },
    { name: 'vae_decode', parent: 'a cat', bottleneck_level: 'other', count: 5, total_s: total * 0.1, self_s: total * 0.1, wall_ratio: 0.05, first_s: first + 0.4, end_s: end },
    { name: 'load_model', count: 1, total_s: 1, self_s: 1, wall_ratio: 0.35, first_s: 0, end_s: 1, startup: true },
    { name: 'prefetch', count: 60, total_s: 1.2, self_s: 1.2, wall_ratio: 0.4, first_s: 0, end_s: 2.4 },
  ];
  const timeline = encodeTimeline({ endNs: t * MS, names, lanes: [{ kind: 'generation', name: 'Generations', rows: [rows[0].slice(1)] }, { kind: 'thread', name: 'main', main: true, rows }, { kind: 'thread', name: 'loader', rows: other }] });
  const report = {
    session_info: { id: 'videos', name: 'videos' }, summary: { wall_s: t / 1e3, generation_count: 5, fps: 40, startup_end_s: 1.1 },
    generations: { count: 5, whole_run: false, wall: { count: 5, p50_s: 0.26, p95_s: 0.2971 }, median_index: lengths.indexOf(lengths.slice(1).sort((a, b) => a - b)[(lengths.length - 2) >> 1], 1), items },
    stage_analysis: { wall_s: t / 1e3, unattributed_s: 0.2, stages, bottlenecks: ['denoise'], parts: [{ kind: 'startup', stage_count: 1, part_s: startup_s, wall_ratio: startup_s / 2.75 }, { kind: 'stage', name: 'denoise', stage_index: 1, part_s: 1, wall_ratio: 0.4 }] },
    diffusion_analysis: { steps: 20, step: { count: 20, p50_s: 0.05 }, series, rates: [], split: [] },
    recommendations: [], recording: { zones: 90, dropped_count: 0 },
  };
  change(report);
  return writePage('videos', { report, timeline });
}

const cells = async (page, name) => (await page.locator('.card.table tbody tr', { hasText: name }).locator('td').allInnerTexts()).map(plain);
const figures = async (page) => plain(await page.locator('.figures').innerText());
const bar = (page) => page.locator('.bar > *').evaluateAll((all) => all.map((b) => b.getAttribute('aria-label').replaceAll('\u00a0', ' ')));

test('a run of several videos opens on the median warm one', async (browser) => {
  const { page, seen, close } = await open(browser, videos());
  await ready(page);
  const r = await range(page);
  assert.equal(r.to - r.from, 240 * MS);
  assert.match(await figures(page), /time of this video\s+240 ms\s+1 of 5 were faster[\s\S]*66\.67[\s\S]*48\.0 ms\s+median of 4/);
  assert.deepEqual(await bar(page), ['denoise: 192 ms, 80.0 %', 'vae_decode: 24.0 ms, 10.0 %', 'unattributed: 24.0 ms, 10.0 %']);
  assert.deepEqual((await cells(page, 'vae_decode')).slice(1), ['24.0 ms', '10.0 %', '0.15 s']);
  assert.equal(await page.locator('.card.table tbody tr', { hasText: 'load_model' }).count(), 0, 'the start is folded away');
  assert.equal(await page.locator('.videos .strip button').count(), 5);
  assert.equal(await page.locator('.videos [aria-pressed=true]').innerText(), '5 median');
  assert.deepEqual(seen.problems, []);
  await close();
});

test('where the CPU runs ahead of the GPU a video has the report\'s times of its stages, and so has the run', async (browser) => {
  const ahead = (r) => {
    Object.assign(r.generations.items[4], { stage_index: [0, 1, 2], stage_real_s: [0.24, 0.15, 0.084] });
    Object.assign(r.stage_analysis.stages[2], { real_s: 0.44, real_ratio: 0.16 });
  };
  const { page, seen, close } = await open(browser, videos(LENGTHS, 1.1, ahead));
  await ready(page);
  assert.deepEqual(await bar(page), ['denoise: 150 ms, 62.5 %', 'vae_decode: 84.0 ms, 35.0 %', 'unattributed: 6.00 ms, 2.5 %']);
  assert.deepEqual((await cells(page, 'vae_decode')).slice(1), ['84.0 ms', '35.0 %', '0.44 s']);
  await page.locator('header select').selectOption('-1');
  await settled(page);
  assert.deepEqual((await cells(page, 'vae_decode')).slice(1, 3), ['0.44 s', '16.0 %'], 'beside a bar that has it so');
  assert.match(await page.locator('#stages .tools').innerText(), /times of the CPU, on the first screen of the GPU/);
  await page.locator('header select').selectOption('1'); // the report has no times of its own for that one
  await settled(page);
  assert.deepEqual((await cells(page, 'vae_decode')).slice(1), ['30.0 ms', '10.0 %', '0.44 s']);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('what rounding leaves of a video is no part of it', async (browser) => {
  const path = videos(LENGTHS, 1.1, (r) => { r.generations.items[r.generations.median_index].wall_s = 0.216 + 1e-12; });
  const { page, close } = await open(browser, path);
  await ready(page);
  assert.deepEqual((await bar(page)).map((b) => b.split(':')[0]), ['denoise', 'vae_decode']);
  await close();
});

test('generations without frames are not called videos, and those of several videos say how many', async (browser) => {
  const images = await open(browser, videos(LENGTHS, 1.1, (r) => r.generations.items.forEach((g) => delete g.frames)));
  assert.match(await images.page.locator('.videos').innerText(), /before generation 1[\s\S]*5 generations[\s\S]*about generation 5, a cat/);
  for (const words of await images.page.locator('.figures, .videos, .card.table').allInnerTexts()) assert.doesNotMatch(words, /video/);
  await images.close();
  const batches = await open(browser, videos(LENGTHS, 1.1, (r) => Object.assign(r.summary, { frames: 160, video_count: 10 })));
  assert.match(await batches.page.locator('.videos').innerText(), /5 generations, 10 videos/);
  await batches.close();
});

test('beside many videos the sentence about the chosen one keeps its width', async (browser) => {
  const { page, close } = await open(browser, videos(Array.from({ length: 90 }, (_, i) => 100 + i)), { viewport: { width: 1280, height: 800 } });
  await ready(page);
  assert.ok((await page.locator('.videos > p').boundingBox()).height < 60);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
  await close();
});

test('choosing a video changes everything, and the address keeps it', async (browser) => {
  const { page, close } = await open(browser, videos());
  await ready(page);
  await page.locator('.videos .strip button').nth(1).click();
  await settled(page);
  const r = await range(page);
  assert.equal(r.to - r.from, 300 * MS);
  assert.match(await figures(page), /300 ms\s+3 of 5 were faster[\s\S]*60\.0 ms\s+median of 4/);
  assert.deepEqual((await bar(page))[0], 'denoise: 240 ms, 80.0 %');
  assert.deepEqual((await cells(page, 'vae_decode')).slice(1, 3), ['30.0 ms', '10.0 %']);
  await page.locator('.card.table tr', { hasText: 'vae_decode' }).click();
  assert.match(plain(await page.locator('.selection header').innerText()), /vae_decode\s+1\.890 to 1\.920 s, 30\.0 ms/, 'from first to last inside this video');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => /generation=2/.test(location.hash) && !/at=/.test(location.hash));
  await page.reload();
  await ready(page);
  assert.equal((await range(page)).to - (await range(page)).from, 300 * MS);
  await page.locator('.videos button', { hasText: 'whole run' }).click();
  await settled(page);
  assert.equal((await range(page)).from, 0);
  assert.match(await figures(page), /time per video, median\s+260 ms\s+p95 297 ms of 5/, "the report's own percentile, not one of the page's");
  assert.deepEqual(await bar(page), ['start-up: 1.10 s, 40.0 %', 'denoise: 1.00 s, 40.0 %']);
  const widths = await page.locator('.timebar .bar > *').evaluateAll((all) => all.map((e) => e.offsetWidth));
  assert.ok(Math.abs(widths[0] - widths[1]) < 4, `the same share of time has the same width: ${widths}`);
  await page.goBack();
  await settled(page);
  assert.equal((await range(page)).to - (await range(page)).from, 300 * MS);
  assert.equal(await page.locator('header select').inputValue(), '1');
  await page.locator('.videos .strip button').nth(1).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.equal((await range(page)).to - (await range(page)).from, 200 * MS);
  await close();
});

test('the start-up is one row that opens, in both tables, and its button leads there', async (browser) => {
  const { page, seen, close } = await open(browser, videos());
  await ready(page);
  const names = (of) => page.locator(`${of} tbody tr .stage span[dir=auto]`).allInnerTexts();
  assert.deepEqual((await names('.card.table')).slice(0, 2), ['start-up', 'a cat']);
  assert.deepEqual((await names('#stages')).slice(0, 2), ['start-up', 'a cat']);
  assert.match((await cells(page, 'start-up')).join(' '), /1\.10 s/);
  await page.locator('.card.table [aria-label="stages of the start-up"]').click();
  assert.deepEqual((await names('.card.table')).slice(0, 3), ['start-up', 'load_model', 'a cat']);
  assert.deepEqual((await names('#stages')).slice(0, 3), ['start-up', 'load_model', 'a cat']);
  await page.locator('.card.table [aria-label="stages of the start-up"]').click();
  assert.deepEqual((await names('#stages')).slice(0, 2), ['start-up', 'a cat']);
  await page.locator('.card.table tr', { hasText: 'start-up' }).click();
  assert.match(plain(await page.locator('.selection header').innerText()), /until the pipeline began\s+0\.000 to 1\.100 s/);
  await page.keyboard.press('Escape');
  await page.locator('.videos button', { hasText: 'before video 1' }).click();
  const r = await range(page);
  assert.deepEqual([r.from, r.to], [0, 1100 * MS]);
  assert.deepEqual((await names('.card.table')).slice(0, 2), ['start-up', 'load_model'], 'and opens the row');
  assert.deepEqual(seen.problems, []);
  await close();
});

test('the start-up took as long in the tables as in the bar, where a stage that goes on has the rest', async (browser) => {
  const { page, close } = await open(browser, videos(LENGTHS, 0.4));
  await ready(page);
  await page.locator('.videos .startup', { hasText: 'whole run' }).click();
  assert.match((await bar(page))[0], /^start-up: 400 ms/);
  assert.deepEqual((await cells(page, 'start-up')).slice(1, 3), ['0.40 s', '14.5 %']);
  assert.match(plain(await page.locator('#stages tbody tr', { hasText: 'start-up' }).innerText()), /0\.400 s|400 ms|0\.40 s/);
  await close();
});

test('five tabs lead to the timeline of a run of several videos, and on to the videos', async (browser) => {
  const { page, close } = await open(browser, videos());
  await ready(page);
  const tab = async (until) => {
    for (let stops = 1; stops <= 40; stops++) {
      await page.keyboard.press('Tab');
      if (await page.evaluate((where) => document.activeElement?.closest(where) !== null, until)) return stops;
    }
    return Infinity;
  };
  const stops = await tab('#timeline-first');
  assert.ok(stops <= 5, `${stops} stops`);
  assert.ok((await tab('.videos .strip')) < 40, 'the videos are reached, too');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await settled(page);
  assert.equal(await page.locator('.videos .strip button').nth(1).getAttribute('aria-pressed'), 'true');
  assert.ok((await page.locator('.videos').boundingBox()).y < (await page.locator('.columns').boundingBox()).y, 'for the eye they stand above');
  await close();
});

test('what is small in the chosen video is no bottleneck of it', async (browser) => {
  const { page, close } = await open(browser, videos());
  await ready(page);
  const marked = () => page.locator('.card.table tr', { has: page.locator('em', { hasText: 'bottleneck' }) }).locator('.stage > span').allInnerTexts();
  assert.deepEqual(await marked(), ['denoise']); // the decoder is a tenth of this video
  await page.locator('.videos button', { hasText: 'whole run' }).click();
  assert.deepEqual(await marked(), ['denoise', 'vae_decode']);
  await close();
});

test('of more videos than fit the chosen one is in sight, and a phone has room for the names of stages', async (browser) => {
  const { page, close } = await open(browser, videos(Array.from({ length: 40 }, (_, i) => 500 - i * 5)), { viewport: { width: 390, height: 844 } });
  await ready(page);
  const inside = () => page.locator('.videos .strip').evaluate((strip) => {
    const [at, all] = [strip.querySelector('[aria-pressed=true]').getBoundingClientRect(), strip.getBoundingClientRect()];
    return strip.scrollWidth > strip.clientWidth && at.left >= all.left && at.right <= all.right;
  });
  assert.ok(await inside());
  await page.locator('header select').first().selectOption('38');
  assert.ok(await inside());
  const cut = await page.locator('.card.table .stage > span').evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent));
  assert.deepEqual(cut, []);
  await close();
});

test('of videos of several processes the lanes of the chosen one come first', async (browser) => {
  const each = [0, 1, 2, 3].map((i) => ({ start: i * 100 * MS, end: (i * 100 + 90) * MS, name: 0 }));
  const lanes = [{ kind: 'generation', name: 'Generations', rows: [each] }, ...each.map((e, i) => ({ kind: 'thread', name: `main (${i})`, main: i === 0, rows: [[e]] }))];
  const items = each.map((e, i) => ({ name: 'video', start_s: e.start / 1e9, wall_s: (90 + i) / 1e3, steps: 0 }));
  const report = { ...small().report, generations: { count: 4, whole_run: false, median_index: 2, items } };
  const { page, seen, close } = await open(browser, writePage('processes', { report, timeline: encodeTimeline({ endNs: 400 * MS, names: ['video'], lanes }) }));
  await ready(page);
  await page.locator('.dock button', { hasText: 'Lanes' }).click();
  const order = () => page.locator('.lanes-list li > span:first-child').allInnerTexts();
  assert.deepEqual(await order(), ['Generations', 'main (2)', 'main (0)', 'main (1)', 'main (3)'], 'the median one is open');
  await page.locator('.videos .strip button').nth(3).click();
  assert.deepEqual((await order()).slice(0, 2), ['Generations', 'main (3)']);
  await page.locator('.videos .startup', { hasText: 'whole run' }).click();
  assert.deepEqual((await order()).slice(0, 3), ['Generations', 'main (0)', 'main (1)']);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a video of which no kernel was traced says which one has kernels, and leads there', async (browser) => {
  const each = [0, 1, 2, 3].map((i) => ({ start: i * 100 * MS, end: (i * 100 + 90) * MS, name: 0 }));
  const lanes = [{ kind: 'generation', name: 'Generations', rows: [each] }, { kind: 'thread', name: 'main', main: true, rows: [each] }, { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [[{ start: 10 * MS, end: 50 * MS, name: 1 }]] }];
  const items = each.map((e, i) => ({ name: 'video', start_s: e.start / 1e9, wall_s: (90 + i) / 1e3, steps: 0 }));
  const report = { ...small().report, generations: { count: 4, whole_run: false, median_index: 2, items } };
  const { page, seen, close } = await open(browser, writePage('untraced', { report, timeline: encodeTimeline({ endNs: 400 * MS, names: ['video', 'gemm'], lanes, kernels: [[1, 'GEMM', '', '']], traced: [[0, 60 * MS], [300 * MS, 300.5 * MS]] }) }));
  await ready(page);
  assert.match(await page.locator('.videos > p').innerText(), /generation 3[\s\S]*No kernel was traced in it; generation 1 has kernels/);
  await page.locator('.videos .strip button').nth(3).click(); // half a millisecond at its begin
  assert.match(await page.locator('.videos > p').innerText(), /generation 4[\s\S]*Hardly a kernel was traced in it; generation 1 has kernels/);
  await page.locator('.videos > p button').click();
  assert.doesNotMatch(await page.locator('.videos > p').innerText(), /kernel/);
  assert.equal(await page.locator('.videos .strip button[aria-pressed=true]').getAttribute('aria-label').then((w) => w.slice(0, 12)), 'generation 1');
  assert.deepEqual(seen.problems, []);
  await close();
});

test('where only another video was traced or sampled, that one is open', async (browser) => {
  const page_ = (name, more) => writePage(name, { report: { ...small().report, generations: { count: 4, whole_run: false, median_index: 2, items: [0, 1, 2, 3].map((i) => ({ name: 'video', start_s: i / 10, wall_s: 0.09, steps: 0 })) }, ...more }, timeline: encodeTimeline({ endNs: 400 * MS, names: ['video'], lanes: [{ kind: 'thread', name: 'main', main: true, rows: [[0, 1, 2, 3].map((i) => ({ start: i * 100 * MS, end: (i * 100 + 90) * MS, name: 0 }))] }] }) });
  const trace = (...traces) => ({ gpu_trace: { kernel_count: 1, kernel_total_s: 0.01, busy_ratio: 0.5, busy_s: 0.01, idle_s: 0.01, traces: traces.map(([t_s, duration_s]) => ({ pid: 1, t_s, duration_s })) } });
  for (const [name, more, first] of [
    ['traced-1', trace([0.01, 0.01], [0.12, 0.05]), '2'],
    ['traced-median', trace([0.01, 0.05], [0.21, 0.01]), '3 median'],
    ['sampled-4', { sampled_counters: { sample_count: 9, lost_count: 0, t_s: 0.31, duration_s: 0.05 } }, '4'],
    ['traced-before', trace([0.095, 0.004]), '3 median'],
  ]) {
    const { page, close } = await open(browser, page_(name, more));
    await ready(page);
    assert.equal(await page.locator('.videos .strip [aria-pressed=true]').innerText(), first, name);
    if (name === 'traced-1') assert.match((await page.locator('#kernels p').first().innerText()).replaceAll('\u00a0', ' '), /50\.0 % busy while traced, 2 traces added up\./);
    await close();
  }
});

test('a video that did not end says so, and is not ranked', async (browser) => {
  const path = (name) => {
    const each = [0, 1, 2].map((i) => ({ start: i * 100 * MS, end: (i * 100 + 90) * MS, name: 0 }));
    const items = each.map((e, i) => ({ name: 'video', start_s: e.start / 1e9, wall_s: 0.09, steps: 0, faster_count: 0, ...(i === 2 ? { state: 'open' } : {}) }));
    return writePage(name, { report: { ...small().report, generations: { count: 3, whole_run: false, median_index: 1, items, wall: { count: 2 } } }, timeline: encodeTimeline({ endNs: 300 * MS, names: ['video'], lanes: [{ kind: 'generation', name: 'Generations', rows: [each] }, { kind: 'thread', name: 'main', main: true, rows: [each] }] }) });
  };
  const { page, close } = await open(browser, path('open-video'));
  await ready(page);
  assert.match(await page.locator('.figures').innerText(), /0 of 2 were faster/);
  const last = page.locator('.videos .strip button').nth(2);
  assert.equal(await last.innerText(), '3 open');
  await last.click();
  assert.match(await page.locator('.figures').innerText(), /not ended/);
  assert.doesNotMatch(await page.locator('.figures').innerText(), /were faster/);
  await close();
});

test('a video that failed says why, in the head too', async (browser) => {
  const each = [0, 1].map((i) => ({ start: i * 100 * MS, end: (i * 100 + 90) * MS, name: 0 }));
  const failure = 'RuntimeError: <b>no room</b> (make.py:12) in transformer';
  const items = each.map((e, i) => ({ name: 'video', start_s: e.start / 1e9, wall_s: 0.09, ...(i ? { state: 'failed', failure } : {}) }));
  const base = small().report;
  const report = { ...base, summary: { ...base.summary, failed_generation_count: 1, failure }, generations: { count: 2, whole_run: false, median_index: 0, items, wall: { count: 1 } } };
  const { page, close } = await open(browser, writePage('failed-video', { report, timeline: encodeTimeline({ endNs: 200 * MS, names: ['video'], lanes: [{ kind: 'thread', name: 'main', main: true, rows: [each] }] }) }));
  await ready(page);
  assert.equal(await page.locator('header .run-state').innerText(), `1 failed: ${failure}`);
  const last = page.locator('.videos .strip button').nth(1);
  assert.equal(await last.innerText(), '2 failed');
  assert.equal(plain(await last.getAttribute('title')), `generation 2: video, 90.0 ms, failed: ${failure}`);
  await close();
});
