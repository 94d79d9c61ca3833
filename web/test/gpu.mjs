// What a run on a GPU shows: its spans and kernels apart from the CPU's zones, and whose memory it was.
import { assert, open, range, ready, settled, test, writePage } from './harness.mjs';
import { fixture } from './fixture.mjs';
import { encodeTimeline } from './encode.mjs';

const MS = 1e6;
const names = ['denoise', 'DiT', 'gemm', 'copy'];
const zone = (name, from, to) => ({ name, start: Math.round(from * MS), end: Math.round(to * MS) });
const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');

// One section that holds ten more of its name, timed on the CPU and on a stream,
// where the times are true to a few µs: inner spans reach beyond the outer one and into each other.
function nested({ gpu = true } = {}) {
  const tens = Array.from({ length: 10 }, (_, i) => i * 80);
  const lanes = [{ kind: 'thread', name: 'main', rows: [[zone(0, 100, 900)], tens.map((t) => zone(0, 100 + t, 180 + t)), tens.map((t) => zone(1, 110 + t, 160 + t))] }];
  if (gpu) {
    lanes.push({ kind: 'span', name: 'GPU 0 stream 7 spans', rows: [[zone(0, 101, 901)], tens.map((t) => zone(0, 101 + t, 181.008 + t)), tens.map((t) => zone(1, 112 + t, 162 + t))] });
    lanes.push({ kind: 'stream', name: 'GPU 0 stream 7', rows: [tens.map((t) => zone(2, 120 + t, 121 + t)), [zone(3, 50, 52)]] });
  }
  return encodeTimeline({ endNs: 1000 * MS, names, lanes });
}

function report(more = {}) {
  const stages = [{ name: 'denoise', first_s: 0.1, end_s: 0.9, count: 1, recursive_count: 10, total_s: 0.8, self_s: 0.3, wall_ratio: 0.8 }, { name: 'DiT', parent: 'denoise', count: 10, total_s: 0.5, self_s: 0.5, wall_ratio: 0.5 }];
  return { session_info: { id: 'gpu', name: 'gpu' }, summary: { wall_s: 1 }, stage_analysis: { wall_s: 1, unattributed_s: 0.2, stages, bottlenecks: ['DiT'] }, recommendations: [], recording: { zones: 21, dropped_count: 0 }, ...more };
}

const rows = async (page, caption) => {
  const table = page.locator('#range-statistics table', { hasText: caption });
  return (await table.locator('tbody tr').allInnerTexts()).map((t) => t.replace(/[\s\u00a0]+/g, ' '));
};

test('zones, GPU spans and kernels are counted apart, and calls inside a call of their name once', async (browser) => {
  const { page, seen, close } = await open(browser, writePage('gpu-nested', { report: report(), timeline: nested() }));
  await ready(page);
  assert.deepEqual(await rows(page, 'Time by name'), ['denoise 10 recursive 1 800 ms 800 ms 80.0 % 800 ms', 'DiT 10 500 ms 50.0 ms 50.0 % 500 ms']);
  assert.deepEqual(await rows(page, 'Work on the GPU'), ['gemm 10 10.0 ms 1.00 ms 1.0 %', 'copy 1 2.00 ms 2.00 ms 0.2 %']);
  assert.match(await page.locator('#range .note').innerText(), /All 21 zones, 21 GPU spans and 11 kernels and copies are here/);
  await page.locator('.card.table tr', { hasText: 'denoise' }).first().click();
  assert.match(await page.locator('.card.table tr', { hasText: 'denoise' }).first().innerText(), /800\u00a0ms\s*$/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('GPU time of some calls is marked', async (browser) => {
  const r = report();
  Object.assign(r.stage_analysis.stages[0], { gpu_span_s: 0.7, gpu_span_count: 1 });
  Object.assign(r.stage_analysis.stages[1], { gpu_span_s: 0.2, gpu_span_count: 4 });
  const { page, close } = await open(browser, writePage('gpu-some', { report: r, timeline: nested() }));
  await ready(page);
  const text = (await page.locator('.card.table').first().innerText()).replace(/[\s\u00a0]+/g, ' ');
  assert.match(text, /denoise 10 recursive 800 ms 80.0 % 700 ms 1/);
  assert.match(text, /DiT .*500 ms 50.0 % >200 ms 10/);
  await close();
});

test('without a GPU there is no GPU column', async (browser) => {
  const { page, close } = await open(browser, writePage('cpu-nested', { report: report(), timeline: nested({ gpu: false }) }));
  await ready(page);
  assert.deepEqual(await page.locator('#range-statistics th').allInnerTexts(), ['name', 'zones', 'time', 'mean', 'of the range']);
  assert.match(await page.locator('.brief').innerText(), /denoise\s*10 recursive\s+1\s+800/);
  await close();
});

test("a lane's name says what the lane holds", async (browser) => {
  const { page, close } = await open(browser, writePage('gpu-lanes', { report: report(), timeline: nested() }));
  await ready(page);
  const canvas = page.locator('#timeline-full canvas');
  await canvas.scrollIntoViewIfNeeded();
  const b = await canvas.boundingBox();
  const tips = [];
  for (const y of [30, 30 + 59, 30 + 59 + 29, 30 + 118 + 29]) {
    await page.mouse.move(b.x + 30, b.y + y);
    await page.waitForFunction((n) => document.querySelectorAll('.tip').length && document.querySelector('.tip b').textContent !== n, tips.at(-1)?.[0] ?? '');
    tips.push([await page.locator('.tip b').innerText(), await page.locator('.tip').innerText()]);
  }
  assert.deepEqual(tips.map((t) => t[0]), ['main', 'GPU 0 busy', 'GPU 0 stream 7 spans', 'GPU 0 stream 7']);
  assert.match(tips[2][1], /from event to event/);
  assert.match(tips[3][1], /kernels above, copies/);
  await close();
});

const device = (used) => ({ gpu_metrics: { devices: [{ index: 0, memory_used_max_mb: used, memory_total_mb: 143771, series: { t_s: [] } }] } });
const card = async (page) => (await page.locator('.figure', { hasText: 'VRAM' }).innerText()).replace(/[\s\u00a0]+/g, ' ');

test("the memory figure is the text report's, and says whose it is", async (browser) => {
  const summary = { wall_s: 1, gpu_memory_peak_bytes: 672 * 2 ** 20, gpu_memory_total_bytes: 143771 * 2 ** 20 };
  const memory = { peak_mb: 672, peak_t_s: 0.4, peak_source: 'process', peak_device_index: 0, device_total_mb: 143771 };
  const own = await open(browser, writePage('memory-own', { report: report({ ...device(1250.8), summary, memory }) }));
  assert.equal(await card(own.page), 'VRAM peak of this run 672.0 MB < 1 % of 140.4 GB');
  assert.match((await own.page.locator('#memory p').first().innerText()).replaceAll('\u00a0', ' '), /^VRAM peak 672\.0 MB of 140\.4 GB on GPU 0 \(of this run, sampled\), in no stage, seen at 0\.40 s$/);
  await own.close();

  Object.assign(summary, { gpu_memory_peak_bytes: 14900 * 2 ** 20, gpu_memory_reserved_peak_bytes: 18200 * 2 ** 20, gpu_memory_peak_stage: 'vae_decode' });
  Object.assign(memory, { peak_mb: 14900, peak_source: 'allocated', peak_stage: 'vae_decode' });
  const allocated = await open(browser, writePage('memory-allocated', { report: report({ ...device(19000), summary, memory }) }));
  assert.equal(await card(allocated.page), 'VRAM peak allocated 14.6 GB 10 % of 140.4 GB, reserved 17.8 GB, in vae_decode');
  await allocated.close();

  const whole = await open(browser, writePage('memory-whole', { report: report({ ...device(1250.8), summary: { wall_s: 1, gpu_memory_peak_bytes: 1250.8 * 2 ** 20, gpu_memory_total_bytes: 143771 * 2 ** 20 }, memory: { peak_source: 'device' } }) }));
  assert.equal(await card(whole.page), 'VRAM peak of the whole GPU 1.2 GB 1 % of 140.4 GB');
  await whole.close();
});

const spaced = (text) => text.replace(/[\s\u00a0\u202f]+/g, ' ');

test('a kernel tells its grid, block, registers, shared memory and family, a copy its bytes and rate', async (browser) => {
  const timeline = encodeTimeline({
    endNs: 100 * MS,
    names: ['main', 'sm90_gemm', 'Memcpy HtoD'],
    kernels: [[1, 'GEMM', 'cuBLAS', 'bf16']],
    shapes: [[1, 1, 1, 32, 1, 1, 16, 0], [4, 12, 1, 384, 1, 1, 168, 164308]],
    lanes: [
      { kind: 'thread', name: 'main', main: true, rows: [[zone(0, 0, 100)]] },
      { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [[{ ...zone(1, 10, 40), more: 2 }], [{ ...zone(2, 50, 60), more: 20e6 + 1 }]] },
    ],
  });
  const { page, seen, close } = await open(browser, writePage('gpu-shape', { report: report({ gpu_trace: { kernel_count: 1, kernel_total_s: 0.03, top_kernels: [{ name: 'void at::native::sm90_gemm', short_name: 'sm90_gemm', family: 'GEMM', kind: 'cuBLAS', precision: 'bf16', count: 1, total_s: 0.03 }] } }), timeline }));
  await ready(page);
  assert.match(spaced(await page.locator('#kernels tbody tr').first().innerText()), /^sm90_gemm GEMM, cuBLAS, bf16 1 30\.0 ms/);
  const canvas = page.locator('#timeline-full canvas');
  await canvas.scrollIntoViewIfNeeded();
  const b = await canvas.boundingBox();
  const at = (ms) => b.x + 132 + ((b.width - 132) * ms) / 100;
  const stream = b.y + 20 + 23 + 29; // below the ruler, main and the busy lane
  await page.mouse.click(at(25), stream + 9);
  await page.waitForSelector('.detail');
  assert.match(spaced(await page.locator('.detail').innerText()), /family GEMM, cuBLAS, bf16 grid 4 × 12 × 1 blocks block 384 × 1 × 1 threads registers 168 of a thread shared memory 160\.5 kB of a block/);
  await page.mouse.click(at(55), stream + 18 + 9);
  await page.waitForFunction(() => document.querySelector('.selection b').textContent === 'Memcpy HtoD');
  assert.match(spaced(await page.locator('.detail').innerText()), /moved 20\.0 MB rate 2\.00 GB\/s/);
  assert.deepEqual(seen.problems, []);
  await close();
});

const GELU = 'void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}::operator()() const, std::array<char*, 2ul> >(int)';
const SHORT = 'vectorized_elementwise GeluCUDAKernelImpl<bf16>';

test('a kernel has its short name wherever it is shown, and its whole one for the pointer, the search and the details', async (browser) => {
  const timeline = encodeTimeline({
    endNs: 100 * MS,
    names: ['main', GELU],
    kernels: [[1, 'element-wise', 'activation', '', SHORT]],
    lanes: [
      { kind: 'thread', name: 'main', main: true, rows: [[zone(0, 0, 100)]] },
      { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [[{ ...zone(1, 10, 90), launch: { lane: 0, at: 5 * MS } }]] },
    ],
  });
  const gpu_trace = { kernel_count: 1, kernel_total_s: 0.08, top_kernels: [{ name: GELU, short_name: SHORT, family: 'element-wise', count: 1, total_s: 0.08 }] };
  const slow_moments = [{ what: 'step', t_s: 0, duration_s: 0.1, judged_by: 'clock', parts: [{ kind: 'kernel', name: GELU, more_s: 0.05, total_s: 0.08, normal_s: 0.03, count: 1, normal_count: 1 }] }];
  const { page, seen, close } = await open(browser, writePage('gpu-short', { report: report({ gpu_trace, slow_moments }), timeline }));
  await ready(page);
  for (const table of ['#kernels', '#slow', '#range-statistics table:has-text("Work on the GPU")']) {
    const name = page.locator(`${table} [title="${GELU}"]`);
    assert.equal(await name.first().innerText(), SHORT, table);
  }
  await page.locator('#kernels tbody tr').first().click();
  await page.waitForSelector('.detail');
  assert.equal(await page.locator('.selection b').first().innerText(), SHORT);
  assert.equal(await page.locator('.selection b').first().getAttribute('title'), GELU);
  assert.ok((await page.locator('.detail').innerText()).includes(GELU), 'a finger has no pointer');
  for (const words of ['GeluCUDAKernelImpl<bf16>', 'TensorIteratorBase']) {
    await page.locator('.dock .search').fill(words);
    assert.match(await page.locator('.dock .matches').innerText(), /1 name/, words);
  }
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a kernel tells what the sampled counters say of it and of its family', async (browser) => {
  const timeline = encodeTimeline({
    endNs: 100 * MS,
    names: ['main', 'sm90_gemm', 'tiny'],
    kernels: [[1, 'GEMM', 'cuBLAS', 'bf16']],
    lanes: [
      { kind: 'thread', name: 'main', main: true, rows: [[zone(0, 0, 100)]] },
      { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [[zone(1, 10, 40), zone(2, 60, 62)]] },
    ],
  });
  const sampled = { t_s: [0.01, 0.02, 0.03, 0.04, 0.055, 0.065], tensor_active_percent: [null, 80, 60, null, null, 7], dram_active_percent: [null, 20, 40, 30, null, 9] };
  const counters = { sm_active_percent: 91, covered_ratio: 0.5, source: 'pm sampling' };
  const more = { gpu_metrics: { device_count: 1, devices: [{ index: 0, used: true, sample_count: 6, sampled }] }, sampled_counters: { sample_count: 6, lost_count: 0, families: [{ family: 'GEMM', kind: 'cuBLAS', precision: 'bf16', total_s: 0.03, gpu_counters: counters }] } };
  const { page, seen, close } = await open(browser, writePage('gpu-kernel-counters', { report: report(more), timeline }));
  await ready(page);
  const canvas = page.locator('#timeline-full canvas');
  await canvas.scrollIntoViewIfNeeded();
  const b = await canvas.boundingBox();
  const at = (ms) => b.x + 132 + ((b.width - 132) * ms) / 100;
  const stream = b.y + 20 + 23 + 29;
  await page.mouse.click(at(25), stream + 9);
  await page.waitForSelector('.detail');
  const words = spaced(await page.locator('.detail').innerText());
  assert.match(words, /Counters in it: 3 samples.*ensor[^0-9]*70\.0 %.*DRAM[^0-9]*30\.0 %/i);
  assert.match(words, /Counters of its family.*SM[^0-9]*91\.0 %.*50\.0 %/i);
  await page.mouse.click(at(61), stream + 9);
  await page.waitForFunction(() => document.querySelector('.selection b').textContent === 'tiny');
  assert.match(spaced(await page.locator('.detail').innerText()), /Counters of the 10\.0 ms around it.*ensor[^0-9]*7\.0 %/i);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('kernels can be seen by family, and a link keeps it', async (browser) => {
  const timeline = encodeTimeline({
    endNs: 100 * MS,
    names: ['main', 'sm90_gemm', 'flash', 'unknown'],
    kernels: [[1, 'GEMM', 'cuBLAS', 'bf16'], [2, 'attention', 'flash 2', ''], [3, 'not recognised', '', '']],
    lanes: [
      { kind: 'thread', name: 'main', main: true, rows: [[zone(0, 0, 100)]] },
      { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [[zone(1, 10, 40), zone(2, 50, 60), zone(3, 70, 71)]] },
      { kind: 'stream', name: 'GPU 0 stream 8', device: 0, rows: [[zone(1, 20, 30)]] }, // beside the other one
    ],
  });
  const { page, seen, close } = await open(browser, writePage('gpu-families', { report: report(), timeline }));
  await ready(page);
  const lanes = async () => {
    await page.locator('.dock button', { hasText: 'Lanes' }).click();
    const all = await page.locator('.lanes-list li').evaluateAll((l) => l.map((li) => [...li.querySelectorAll('span')].map((s) => s.textContent).join(': ')));
    await page.locator('.dock button', { hasText: 'Lanes' }).click();
    return all;
  };
  assert.equal((await lanes()).length, 4);
  await page.locator('.dock button', { hasText: 'Families' }).click();
  assert.deepEqual(await lanes(), ['main: 1 zone', 'GPU 0 busy: ', 'GPU 0 GEMM: 2 kernels', 'GPU 0 attention: 1 kernel', 'GPU 0 not recognised: 1 kernel', 'GPU 0 stream 7: 3 kernels', 'GPU 0 stream 8: 1 kernel']);
  assert.match(await page.locator('#range .note').innerText(), /All 1 zone and 4 kernels are here/); // none counts twice
  await page.waitForFunction(() => location.hash.includes('families') && !location.hash.includes('lanes-list')); // the open list is kept, too
  await page.reload();
  await ready(page);
  assert.equal((await lanes()).length, 7);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('calls that wait for the GPU have a lane', async (browser) => {
  const timeline = encodeTimeline({
    endNs: 100 * MS,
    names: ['main', 'cudaStreamSynchronize', 'aten::item', 'gemm'],
    wait_names: [1],
    lanes: [
      { kind: 'thread', name: 'main', main: true, rows: [[zone(0, 0, 100)], [zone(2, 10, 40)], [zone(1, 20, 30)]] },
      { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [[zone(3, 10, 30)]] },
    ],
  });
  const { page, close } = await open(browser, writePage('gpu-waits', { report: report(), timeline }));
  await ready(page);
  await page.locator('.dock button', { hasText: 'Lanes' }).click();
  assert.match(await page.locator('.lanes-list').innerText(), /Waits for the GPU\s+1 wait/);
  await close();
});

test('waits that strobe recorded have a lane of their GPU; a wait says which thread and zone called it', async (browser) => {
  const timeline = encodeTimeline({
    endNs: 100 * MS,
    names: ['decode', 'Stream Sync', 'gemm', 'cudaStreamSynchronize'],
    wait_names: [3],
    lanes: [
      { kind: 'thread', name: 'main', main: true, rows: [[zone(0, 0, 100)], [zone(3, 20, 45)]] },
      { kind: 'wait', name: 'Waits for GPU 0', device: 0, rows: [[{ ...zone(1, 20, 45), launch: { lane: 0, at: 20 * MS } }, { ...zone(1, 50, 55), launch: { lane: 0, at: 50 * MS } }]] },
      { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [[zone(2, 10, 30)]] },
    ],
  });
  const gpu_trace = { kernel_count: 1, kernel_total_s: 0.02, busy_s: 0.02, idle_s: 0.07, window_s: 0.09, waits: [{ name: 'Stream Sync', count: 2, total_s: 0.03, max_s: 0.025 }], gap_count: 1, gaps: [{ t_s: 0.03, duration_s: 0.06, cpu_did: 'decode', device_index: 0 }], idle_sample_count: 40, idle_functions: [{ function: 'video.encode', file: '/app/video.py', line: 12, inside: 'json.dumps', estimate_s: 0.05, share_ratio: 0.7 }] };
  const { page, seen, close } = await open(browser, writePage('gpu-own-waits', { report: report({ gpu_trace }), timeline }));
  await ready(page);
  await page.locator('.dock button', { hasText: 'Lanes' }).click();
  const lanes = await page.locator('.lanes-list').innerText();
  assert.match(lanes, /Waits for GPU 0\s+2 waits/);
  assert.doesNotMatch(lanes, /Waits for the GPU/); // the same calls, as zones
  const panel = page.locator('#kernels');
  await panel.locator('tr', { hasText: 'Stream Sync' }).click();
  const detail = plain(await page.locator('.selection').innerText());
  assert.match(detail, /This wait for the GPU/);
  assert.match(detail, /Called by[\s\S]*thread\s+main[\s\S]*decode/);
  assert.match(detail, /duration\s+25/); // the longest
  assert.doesNotMatch(detail, /launched at/);
  assert.match(await panel.innerText(), /Python functions while the GPU was idle[\s\S]*video\.encode[\s\S]*app\/video\.py:12[\s\S]*json\.dumps/);
  await panel.locator('tr', { hasText: /decode/ }).first().click();
  const gap = plain(await page.locator('.selection').innerText());
  assert.match(gap, /Waits for GPU 0\s+2 ×, 20/);
  assert.match(gap, /Python ran in all gaps of the GPU: 70[\s\S]*video\.encode/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('what is sampled seldom says its last value and how old that is', async (browser) => {
  const { report: made, timeline } = fixture();
  made.gpu_metrics.devices[0].sampled = { t_s: [60, 61, 62, 63, 64, 65], sm_active_percent: [null, 12, null, null, 14, null] };
  const { page, close } = await open(browser, writePage('gpu-seldom', { report: made, timeline }));
  await ready(page);
  const track = page.locator('.card.right .chart', { hasText: 'GPU sampled' });
  const lanes = await page.locator('#timeline-first canvas').boundingBox();
  const { from, to } = await range(page);
  for (const [at, words] of [[60, 'at 60.00 s: none yet'], [61, 'at 61.00 s: 12.0 %'], [63, 'at 63.00 s: 12.0 %, 2.00 s ago'], [65, 'at 65.00 s: 14.0 %, 1.00 s ago']]) {
    await page.mouse.move(lanes.x + 132 + ((lanes.width - 132) * (at * 1e9 - from)) / (to - from), lanes.y + 60);
    await settled(page);
    assert.equal(spaced(await track.locator('output').innerText()), words);
  }
  await close();
});

test('where nothing of the shown time was sampled, what was read of it is drawn', async (browser) => {
  const { report: made, timeline } = fixture();
  const t_s = Array.from({ length: 131 }, (_, i) => i);
  Object.assign(made.gpu_metrics.devices[0], { counters: { t_s, sm_active_percent: t_s.map(() => 50) }, sampled: { t_s: [60, 60.5, 61, 61.5, 62], sm_active_percent: [null, 12, 14, 13, 12] } });
  const { page, seen, close } = await open(browser, writePage('gpu-elsewhere', { report: made, timeline }));
  await ready(page);
  const title = () => page.locator('.card.right .chart figcaption b', { hasText: /GPU (parts|sampled)/ }).allInnerTexts();
  assert.deepEqual(await title(), ['GPU parts: SM active'], 'two of 131 seconds were sampled');
  for (const [from, to, words] of [[60, 62, 'GPU sampled: SM active'], [80, 90, 'GPU parts: SM active'], [55, 65, 'GPU sampled: SM active']]) {
    await page.evaluate((view) => { location.hash = `#view=${view}`; }, `${from * 1e9}_${to * 1e9}`);
    await page.waitForFunction((words) => [...document.querySelectorAll('.card.right .chart figcaption b')].some((b) => b.innerText === words), words);
    await settled(page);
    assert.deepEqual(await title(), [words], `${from} to ${to} s`);
  }
  assert.deepEqual(seen.problems, []);
  await close();
});

test('the first chart of counters is of the GPU that is drawn first', async (browser) => {
  const { report: made, timeline } = fixture();
  const t_s = [60, 61, 62, 63], [device] = made.gpu_metrics.devices;
  const of = (index, percent) => ({ ...device, index, counters: { t_s, sm_active_percent: t_s.map(() => percent) } });
  made.gpu_metrics.devices = [of(0, 99), of(1, 40)];
  made.first_charts = [{ source: 'gpu', device_index: 1, columns: ['utilization_percent'] }];
  const { page, seen, close } = await open(browser, writePage('gpu-first-counters', { report: made, timeline }));
  await ready(page);
  const words = (await page.locator('.card.right .chart figcaption').allInnerTexts()).map(spaced);
  assert.ok(words.some((w) => /GPU 1 parts/.test(w)), words.join(' | '));
  assert.ok(!words.some((w) => /GPU 0/.test(w)), words.join(' | '));
  assert.deepEqual(seen.problems, []);
  await close();
});

test('counters sampled around slow moments are a track below the lanes, on their axis and under their crosshair', async (browser) => {
  const { report: made, timeline } = fixture();
  made.gpu_metrics.devices[0].sampled = { t_s: [60, 60.5, 61, 90, 90.5, 91], sm_active_percent: [null, 12, 14, null, 88, 90], tensor_active_percent: [null, 3, 4, null, 40, 41] };
  const { page, seen, close } = await open(browser, writePage('gpu-slow-counters', { report: made, timeline }));
  await ready(page);
  const track = page.locator('.card.right .chart', { hasText: 'GPU sampled' });
  assert.match(await track.locator('figcaption').innerText(), /SM active\s+tensor active/i);
  const [lanes, chart] = [await page.locator('#timeline-first canvas').boundingBox(), await track.locator('canvas').boundingBox()];
  assert.ok(chart.y >= lanes.y + lanes.height - 1 && Math.abs(chart.x - lanes.x) <= 1, 'below the lanes, from the same edge');
  const { from, to } = await range(page);
  await page.mouse.move(lanes.x + 132 + ((lanes.width - 132) * (90.5e9 - from)) / (to - from), lanes.y + 60);
  await settled(page);
  assert.equal(spaced(await track.locator('output').innerText()), 'at 90.50 s');
  assert.deepEqual((await track.locator('.key').allInnerTexts()).map(spaced), ['88.0 % SM active', '40.0 % tensor active'], 'each value stands with the name of its line');
  await page.mouse.move(5, 5);
  await settled(page);
  assert.deepEqual((await track.locator('.key').allInnerTexts()).map(spaced), ['SM active', 'tensor active']);
  assert.deepEqual(seen.problems, []);
  await close();
});
