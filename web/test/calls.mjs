// The call tree as a picture, and arrows from launches to kernels.
import { assert, open, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';

const MS = 1e6;
const names = ['step', 'attention', 'norm', 'gemm', 'softmax'];
const zone = (name, from, to, launch) => ({ name, start: from * MS, end: to * MS, launch: launch === undefined ? undefined : { lane: 0, at: launch * MS } });
const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');

// Two steps; the second calls norm first. Attention launches a long gemm, norm a short softmax.
function calls() {
  const main = [[zone(0, 0, 400), zone(0, 500, 900)], [zone(1, 10, 210), zone(2, 220, 320), zone(2, 510, 560), zone(1, 600, 880)]];
  const stream = [[zone(3, 100, 180, 20), zone(4, 300, 310, 230), zone(4, 550, 560, 520), zone(3, 650, 750, 610)]];
  const timeline = encodeTimeline({ endNs: 1000 * MS, names, lanes: [{ kind: 'thread', name: 'main', main: true, rows: main }, { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: stream }] });
  const stages = [{ name: 'step', count: 2, total_s: 0.8, self_s: 0.17, wall_ratio: 0.8 }];
  return writePage('calls', { report: { session_info: { id: 'calls', name: 'calls' }, summary: { wall_s: 1 }, stage_analysis: { wall_s: 1, unattributed_s: 0.2, stages, bottlenecks: [] }, recommendations: [], recording: { zones: 6, dropped_count: 0 } }, timeline });
}

const boxesOf = (page) => page.locator('.icicle button').evaluateAll((all) => all.map((b) => ({ name: b.title.split('\n')[0], words: b.title.split('\n')[1].replaceAll('\u00a0', ' '), x: Math.round(b.offsetLeft), y: b.offsetTop, width: b.offsetWidth })));

test('the calls of a range are boxes as wide as they took, callers above', async (browser) => {
  const { page, seen, close } = await open(browser, calls());
  await ready(page);
  await page.locator('#calls').scrollIntoViewIfNeeded();
  await page.waitForSelector('.icicle');
  const at = await boxesOf(page);
  assert.deepEqual(at.map((b) => `${b.name}: ${b.words}`), ['step: 800 ms, 100.0 %; itself 170 ms; 2 calls', 'attention: 480 ms, 60.0 %; itself 480 ms; 2 calls', 'norm: 150 ms, 18.8 %; itself 150 ms; 2 calls']);
  assert.ok(at[1].y > at[0].y && at[1].x < at[2].x, 'the heavy one is left');
  assert.ok(Math.abs(at[1].width / at[0].width - 0.6) < 0.01);
  await page.locator('#calls select').selectOption('gpu');
  assert.deepEqual((await boxesOf(page)).map((b) => `${b.name}: ${b.words.split(',')[0]}`), ['step: 200 ms', 'attention: 180 ms', 'gemm: 180 ms', 'norm: 20.0 ms', 'softmax: 20.0 ms']);
  await page.locator('#calls select').selectOption('wall');
  await page.fill('input.search', 'nor');
  assert.equal(await page.locator('.icicle .faded').count(), 2);
  assert.match(plain(await page.locator('#calls .matches').innerText()), /1 boxes, 2 calls, 150.ms match “nor”/);
  await page.fill('input.search', '');
  // only the second step, in order of time: norm comes first
  await page.locator('#timeline-full canvas').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.locator('#calls input[type=checkbox]').check();
  await page.locator('#calls').scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelectorAll('.icicle button').length === 3 && /^step\n400/.test(document.querySelector('.icicle button').title));
  const second = await boxesOf(page);
  assert.deepEqual(second.map((b) => `${b.name}: ${b.words.split(',')[0]}`), ['step: 400 ms', 'norm: 50.0 ms', 'attention: 280 ms']);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a name is taken apart into callers and callees', async (browser) => {
  const { page, close } = await open(browser, calls());
  await ready(page);
  await page.locator('#calls').scrollIntoViewIfNeeded();
  await page.locator('.icicle button', { hasText: 'step' }).click();
  const text = plain(await page.locator('.butterfly').innerText());
  assert.match(text, /Callers of step[\s\S]*all threads\s+2\s+800 ms/);
  assert.match(text, /800 ms in 2 calls, 170 ms itself/);
  assert.match(text, /What step calls[\s\S]*attention\s+2\s+480 ms\s+60\.0 %[\s\S]*norm\s+2\s+150 ms/);
  await page.locator('.butterfly tr', { hasText: 'attention' }).click();
  assert.match(plain(await page.locator('.butterfly').innerText()), /Callers of attention[\s\S]*step\s+2\s+480 ms\s+100\.0 %/);
  await close();
});

test('arrows lead from launches to kernels', async (browser) => {
  const { page, close } = await open(browser, calls());
  await ready(page);
  const canvas = page.locator('#timeline-first canvas');
  const arrows = () => canvas.evaluate((c) => c.dataset.arrows);
  await canvas.focus();
  await page.keyboard.press('ArrowDown');
  await settled(page);
  assert.equal(await arrows(), '2', 'the first step launches two');
  await page.locator('#range-statistics').waitFor();
  await page.fill('input.search', 'gemm');
  await page.press('input.search', 'Enter');
  await settled(page);
  assert.equal(await arrows(), '1');
  await page.keyboard.press('Escape');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Escape');
  await settled(page);
  assert.equal(await arrows(), '0');
  await close();
});

test('what a zone launched: by family and by kernel, as shares in one unit, and arrows that leave the lanes readable', async (browser) => {
  const work = Array.from({ length: 400 }, (_, i) => zone(i % 2 ? 2 : 1, 100 + i / 4, 100 + i / 4 + (i % 2 ? 0.001 : 0.2), 100 + i / 4));
  const lanes = [{ kind: 'thread', name: 'main', main: true, rows: [[zone(0, 100, 200)], [zone(3, 100, 150), zone(4, 150, 150.01)]] }, { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [work] }];
  const timeline = encodeTimeline({ endNs: 1000 * MS, names: ['step', 'gemm', 'fill', 'attention', 'norm'], kernels: [[1, 'GEMM', 'cuBLAS', 'bf16'], [2, 'elementwise', '', '']], lanes });
  const report = { session_info: { id: 'launched', name: 'launched' }, summary: { wall_s: 1 }, stage_analysis: { wall_s: 1, unattributed_s: 0.9, stages: [], bottlenecks: [] }, recommendations: [], recording: { zones: 3, dropped_count: 0 } };
  const { page, seen, close } = await open(browser, writePage('launched', { report, timeline }));
  await ready(page);
  const canvas = page.locator('#timeline-first canvas');
  await canvas.focus();
  await page.keyboard.press('ArrowDown');
  await settled(page);
  const words = (await page.locator('.detail').innerText()).replace(/[\s\u00a0\u202f]+/g, ' ');
  assert.match(words, /Launched, by family: 400, 40\.2 ms GEMM 200 × 40\.000 ms 99\.5 % elementwise 200 × 0\.200 ms 0\.5 % Launched: 400, 40\.2 ms gemm 200 × 40\.000 ms 99\.5 % fill 200 × 0\.200 ms 0\.5 %/);
  assert.match(words, /Holds: 2, 50\.0 ms attention 1 × 50\.000 ms 50\.0 % norm 1 × 0\.010 ms/);
  const width = (await canvas.boundingBox()).width / 10; // of the step
  const drawn = Number(await canvas.evaluate((c) => c.dataset.arrows));
  assert.ok(drawn > 3 && drawn <= width / 6 + 1, `${drawn} arrows on ${width} px`);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('the last of very many launches has its arrow, too', async (browser) => {
  const work = Array.from({ length: 8000 }, (_, i) => ({ name: 1, start: 101 * MS + i * 1e5, end: 101 * MS + i * 1e5 + 1e4, launch: { lane: 0, at: 100 * MS + i * 1e5 } }));
  const lanes = [{ kind: 'thread', name: 'main', main: true, rows: [[zone(0, 100, 900)]] }, { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [work] }];
  const timeline = encodeTimeline({ endNs: 1000 * MS, names: ['step', 'gemm'], lanes });
  const report = { session_info: { id: 'many', name: 'many' }, summary: { wall_s: 1 }, stage_analysis: { wall_s: 1, unattributed_s: 0.2, stages: [], bottlenecks: [] }, recommendations: [], recording: { zones: 1, dropped_count: 0 } };
  const { page, close } = await open(browser, `file://${writePage('launched-many', { report, timeline })}#view=${899 * MS}_${899.6 * MS}`);
  await ready(page);
  const canvas = page.locator('#timeline-first canvas');
  await canvas.focus();
  await page.keyboard.press('ArrowDown');
  await settled(page);
  assert.equal(await canvas.evaluate((c) => c.dataset.from), String(899 * MS));
  const drawn = Number(await canvas.evaluate((c) => c.dataset.arrows));
  assert.ok(drawn >= 6 && drawn <= 17, `${drawn} arrows`);
  await page.fill('input.search', 'gemm');
  await page.press('input.search', 'Enter');
  await settled(page);
  assert.match(plain(await page.locator('.selection header').innerText()), /0\.\d{4}00000 to 0\.\d{4}10000 s, 10\.0 µs/, 'the ends of what is short differ');
  await close();
});

test('the call tree is also of the Python functions that were sampled', async (browser) => {
  const main = [[zone(0, 0, 1000)]];
  const all = [...names, 'outer', 'inner', 'other'];
  const timeline = encodeTimeline({ endNs: 1000 * MS, names: all, lanes: [{ kind: 'thread', name: 'main', main: true, rows: main }], stacks: [[5, 6], [5], [7]], samples: [[100 * MS, 0, 50 * MS], [150 * MS, 0, 50 * MS], [200 * MS, 1, 50 * MS], [900 * MS, 2, 50 * MS]] });
  const report = { session_info: { id: 's', name: 's' }, summary: { wall_s: 1 }, stage_analysis: { wall_s: 1, unattributed_s: 0, stages: [{ name: 'step', count: 1, total_s: 1, self_s: 1, wall_ratio: 1 }], bottlenecks: [] }, recommendations: [], recording: { zones: 1, dropped_count: 0 } };
  const { page, seen, close } = await open(browser, writePage('sampled', { report, timeline }));
  await ready(page);
  await page.locator('#calls').scrollIntoViewIfNeeded();
  await page.locator('#calls select').selectOption('samples');
  await page.waitForFunction(() => document.querySelectorAll('.icicle button').length === 3);
  assert.deepEqual((await boxesOf(page)).map((b) => `${b.name}: ${b.words}`), ['outer: 150 ms, 75.0 %; itself 50.0 ms; 3 samples', 'inner: 100 ms, 50.0 %; itself 100 ms; 2 samples', 'other: 50.0 ms, 25.0 %; itself 50.0 ms; 1 samples']);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('the call tree is also by CPU time and by memory, each shared by the zones that ran meanwhile', async (browser) => {
  const all = ['run', 'load', 'step', 'read_weights', 'OpenBLAS'];
  const rows = [[zone(0, 0, 1000)], [zone(1, 100, 300), zone(2, 500, 900)]];
  const samples = [[200 * MS, 0, 100 * MS, 80 * MS, 0], [550 * MS, 0, 100 * MS, 10 * MS, 0], [600 * MS, 1, 0, 50 * MS, -1]];
  const memory = [[50 * MS, 150 * MS, 0, 0, 1 << 20], [600 * MS, 800 * MS, 0, 0, 3 << 20], [700 * MS, 700 * MS, 0, -2, 4096]];
  const timeline = encodeTimeline({ endNs: 1000 * MS, names: all, lanes: [{ kind: 'thread', name: 'main', main: true, rows }], stacks: [[3], [4]], samples, memory });
  const report = { session_info: { id: 's', name: 's' }, summary: { wall_s: 1 }, stage_analysis: { wall_s: 1, unattributed_s: 0, stages: [{ name: 'run', count: 1, total_s: 1, self_s: 0.4, wall_ratio: 1 }], bottlenecks: [] }, recommendations: [], recording: { zones: 3, dropped_count: 0 } };
  const { page, seen, close } = await open(browser, writePage('shared', { report, timeline }));
  await ready(page);
  await page.locator('#calls').scrollIntoViewIfNeeded();
  const shown = async (measure, count) => {
    await page.locator('#calls select').selectOption(measure);
    await page.waitForFunction((n) => document.querySelectorAll('.icicle button').length === n, count);
    return (await boxesOf(page)).map((b) => `${b.name}: ${b.words}`);
  };
  assert.deepEqual(await page.locator('#calls option').allInnerTexts(), ['wall time', 'CPU time', 'memory allocated on GPU 0', 'memory, as the program told', 'Python functions, wall time', 'Python functions, CPU time']);
  assert.deepEqual(await shown('cpu', 4), ['run: 90.0 ms, 64.3 %; itself 5.00 ms', 'load: 80.0 ms, 57.1 %; itself 80.0 ms', 'step: 5.00 ms, 3.6 %; itself 5.00 ms', 'OpenBLAS: 50.0 ms, 35.7 %; itself 50.0 ms']);
  assert.deepEqual(await shown('memory0', 3), ['run: 4.0 MB, 100.0 %; itself 512.0 kB', 'step: 3.0 MB, 75.0 %; itself 3.0 MB', 'load: 512.0 kB, 12.5 %; itself 512.0 kB']);
  await page.locator('.icicle button', { hasText: 'step' }).click();
  assert.match((await page.locator('.butterfly').innerText()).replace(/[\s\u00a0]+/g, ' '), /Callers of step.*run.*3\.0 MB.*step 3\.0 MB, 3\.0 MB itself/);
  assert.deepEqual(await shown('memory-2', 2), ['run: 4.0 kB, 100.0 %; itself 0 B', 'step: 4.0 kB, 100.0 %; itself 4.0 kB']);
  assert.deepEqual(await shown('samples-cpu', 2), ['read_weights: 90.0 ms, 64.3 %; itself 90.0 ms; 2 samples', 'OpenBLAS: 50.0 ms, 35.7 %; itself 50.0 ms; 1 samples']);
  assert.deepEqual(await shown('samples', 1), ['read_weights: 200 ms, 100.0 %; itself 200 ms; 2 samples']);
  await page.fill('.dock .search', 'read');
  assert.match((await page.locator('#calls .matches').innerText()).replace(/\u00a0/g, ' '), /1 boxes, 2 samples, 200 ms match/);
  assert.deepEqual(seen.problems, []);
  await close();
});
