// How well the GPU is used, what ran while no stage did, and what the numbers mean.
import { assert, open, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';

const MS = 1e6;
const zone = (name, from, to) => ({ name, start: from * MS, end: to * MS });
const plain = (text) => text.replace(/[\s\u00a0]+/g, ' ').trim();

const families = (...all) => {
  const order = [...new Set(all.map(([family]) => family))];
  return all.map(([family, share_ratio, kind]) => ({ family, family_index: order.indexOf(family), ...(kind ? { kind } : {}), kernel_count: 10, total_s: share_ratio * 0.5, share_ratio }));
};
const counters = (sm, tensor, fp32, dram) => ({ sm_active_percent: sm, tensor_active_percent: tensor, fp32_active_percent: fp32, dram_active_percent: dram, covered_ratio: 0.9, source: 'gpm' });

function report() {
  const stages = [
    {
      name: 'denoise', first_s: 0.1, end_s: 0.6, count: 1, total_s: 0.5, self_s: 0.5, wall_ratio: 0.5, kernel_s: 0.5,
      kernel_families: families(['GEMM', 0.4, 'bf16'], ['element-wise', 0.3], ['GEMM', 0.1, 'fp32'], ['attention', 0.15], ['not recognised', 0.05]),
      gpu_counters: counters(97, 41.5, 3, 22),
      gpu_work: { flop_count: 2e14, precision: 'bf16', achieved_tflop_per_s: 405.4, peak_tflop_per_s: 989, mfu_ratio: 0.41, floor_s: 0.202, rate_over_s: 0.494, rate_calls: 'warm', rate_call_count: 9, dram_bytes: 5e11, flop_per_byte_ratio: 400, bound: 'tensor', bounds: [{ bound: 'tensor', share_ratio: 0.52 }, { bound: 'DRAM', share_ratio: 0.46 }, { bound: 'host', share_ratio: 0.02 }] },
    },
    { name: 'vae_decode', first_s: 0.7, end_s: 0.9, count: 1, total_s: 0.2, self_s: 0.2, wall_ratio: 0.2, kernel_s: 0.2, kernel_families: families(['convolution', 1]), gpu_work: { uncounted_count: 2, uncounted_why: 'scripted module', mfu_why: 'its models ran on the CPU' } },
  ];
  return {
    session_info: { id: 'hw', name: 'hw' }, summary: { wall_s: 1 }, recommendations: [], recording: { zones: 2, dropped_count: 0 },
    stage_analysis: { wall_s: 1, unattributed_s: 0.3, gaps: [{ t_s: 0, duration_s: 0.1 }, { t_s: 0.6, duration_s: 0.1 }, { t_s: 0.9, duration_s: 0.1 }], stages, bottlenecks: ['denoise'], parts: [{ kind: 'stage', name: 'denoise', stage_index: 0, part_s: 0.5, wall_ratio: 0.5 }, { kind: 'stage', name: 'vae_decode', stage_index: 1, part_s: 0.2, wall_ratio: 0.2 }, { kind: 'unattributed', part_s: 0.3, wall_ratio: 0.3 }] },
    gpu_trace: { kernel_total_s: 0.7, kernel_count: 60, busy_s: 0.7, idle_s: 0.3 },
    gpu_counters: counters(70, 20, 2, 15),
    roofline: { gpu: 'NVIDIA H200', source: 'data sheet of the H200', dram_peak_gb_per_s: 4800, ceilings: [{ precision: 'fp32', peak_tflop_per_s: 67 }, { precision: 'bf16', peak_tflop_per_s: 989 }, { precision: 'fp16', peak_tflop_per_s: 989 }] },
  };
}

const timeline = () => encodeTimeline({ endNs: 1000 * MS, names: ['denoise', 'vae_decode'], lanes: [{ kind: 'thread', name: 'main', rows: [[zone(0, 100, 600), zone(1, 700, 900)]] }] });

const bodyRows = async (page, panel, caption) => (await page.locator(`${panel} table`, { hasText: caption }).locator('tbody tr').allInnerTexts()).map(plain);

test('kernel families are a bar per stage, a part for all precisions of one family', async (browser) => {
  const { page, seen, close } = await open(browser, writePage('families', { report: report(), timeline: timeline() }));
  const bars = page.locator('#hardware .families');
  assert.deepEqual(await bars.evaluateAll((all) => all.map((b) => b.getAttribute('aria-label'))).then((all) => all.map(plain)), ['denoise: GEMM 50.0 %: bf16 40.0 %, fp32 10.0 %; element-wise 30.0 %; attention 15.0 %; not recognised 5.0 %', 'vae_decode: convolution 100.0 %']);
  const drawn = await bars.first().evaluate((b) => [...b.children].sort((x, y) => x.offsetLeft - y.offsetLeft).map((c) => ({ share: c.offsetWidth / b.offsetWidth, colour: c.style.background })));
  assert.ok(drawn.length === 4 && Math.abs(drawn[0].share - 0.5) < 0.03, JSON.stringify(drawn));
  assert.deepEqual((await bars.first().locator('span').allInnerTexts()).map(plain), ['50 %', '30 %', '15 %', '']);
  const legend = await page.locator('#hardware .legend li').evaluateAll((all) => all.map((l) => [l.textContent.trim(), l.querySelector('i').style.background]));
  assert.deepEqual(legend.map(([name]) => name), ['GEMM', 'element-wise', 'attention', 'not recognised', 'convolution']);
  assert.equal(new Set(legend.map(([, colour]) => colour)).size, 5, 'each family has a colour of its own');
  assert.equal(legend[0][1], drawn[0].colour);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('stages at one place of the roofline are named together', async (browser) => {
  const r = report();
  r.stage_analysis.stages.splice(1, 0, { ...r.stage_analysis.stages[0], name: 'transformer', parent: 'denoise' });
  const { page, close } = await open(browser, writePage('roofline-same', { report: r, timeline: timeline() }));
  assert.ok((await page.locator('svg.roofline text').allTextContents()).includes('denoise, transformer'));
  await close();
});

test('the roofline has the ceilings of the GPU and each stage below them', async (browser) => {
  const { page, close } = await open(browser, writePage('roofline', { report: report(), timeline: timeline() }));
  const points = await page.locator('svg.roofline circle').evaluateAll((all) => all.map((c) => ({ title: c.textContent, x: +c.getAttribute('cx'), y: +c.getAttribute('cy') })));
  assert.equal(points.length, 1, 'a stage without counted operations is no point');
  assert.equal(points[0].title, 'denoise: 405 TFLOP/s at 400 FLOP per byte');
  const roofs = await page.locator('svg.roofline polyline').evaluateAll((all) => all.map((p) => p.getAttribute('points').split(' ').map((at) => at.split(',').map(Number))));
  const [, knee, end] = roofs[1];
  assert.ok(points[0].y > knee[1] && points[0].x > knee[0] && end[1] === knee[1], 'right of the knee and below the bf16 peak');
  const called = await page.locator('svg.roofline text').allTextContents();
  assert.ok(called.includes('fp32 67.0') && called.includes('denoise'), called.join());
  assert.ok(called.includes('bf16, fp16 989'), 'precisions of one rate share a ceiling');
  assert.ok(called.includes('DRAM 4800 GB/s'), 'the slope has a name, too');
  const [begin, fp32] = roofs[0];
  assert.ok(fp32[0] > begin[0] && fp32[1] < begin[1], 'a ceiling below every stage is at its own rate, not at the foot');
  assert.ok(called.includes('100') && called.includes('1000'), called.join());
  await close();
});

test('names on the roofline lie on no other, and neighbours have theirs', async (browser) => {
  const r = report();
  const [denoise] = r.stage_analysis.stages;
  const beside = (name, rate, intensity) => ({ ...denoise, name, parent: 'denoise', gpu_work: { ...denoise.gpu_work, achieved_tflop_per_s: rate, flop_per_byte_ratio: intensity } });
  r.stage_analysis.stages.splice(1, 0, beside('WanTransformer3DModel', 440, 340), beside('scheduler', 380, 440), beside('the last one', 700, 3000));
  r.roofline.ceilings.push({ precision: 'fp64', peak_tflop_per_s: 66.9 });
  const { page, close } = await open(browser, writePage('roofline-names', { report: r, timeline: timeline() }));
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 844 });
    await settled(page);
    const names = await page.locator('svg.roofline text').evaluateAll((all) => all.map((t) => [t.textContent, t.getBoundingClientRect()]).map(([name, b]) => ({ name, left: b.left, right: b.right, top: b.top + 3, bottom: b.bottom - 3 })));
    for (const wanted of ['denoise', 'WanTransformer3DModel', 'scheduler', 'the last one', 'fp64, fp32 67.0']) assert.ok(names.some((n) => n.name === wanted || (wanted.startsWith('fp64') && /fp32.*fp64|fp64.*fp32/.test(n.name))), `${wanted} at ${width}: ${names.map((n) => n.name)}`);
    for (const a of names) for (const b of names) assert.ok(a === b || a.left >= b.right || b.left >= a.right || a.top >= b.bottom || b.top >= a.bottom, `${a.name} on ${b.name} at ${width}`);
  }
  await close();
});

test('a run without a GPU tells its operations, and nothing of a GPU', async (browser) => {
  const r = report();
  for (const key of ['gpu_trace', 'gpu_counters', 'roofline']) delete r[key];
  for (const s of r.stage_analysis.stages) for (const key of ['kernel_families', 'gpu_counters']) delete s[key];
  r.stage_analysis.stages[0].gpu_work = { flop_count: 2e12, precision: 'fp32', achieved_tflop_per_s: 0.4, rate_over_s: 5, rate_calls: 'warm', rate_call_count: 9 };
  const { page, close } = await open(browser, writePage('no-gpu', { report: r, timeline: timeline() }));
  const words = plain(await page.locator('#hardware').innerText());
  assert.match(words, /^Operations whole run/);
  assert.ok(!/GPU|MFU|floor|n\/a 9/.test(words), words);
  assert.deepEqual((await bodyRows(page, '#hardware', 'Operations of model calls'))[0], 'denoise 0.400 fp32 5.00 s 9 warm');
  assert.ok(!(await page.locator('.contents').innerText()).includes('GPU is used'));
  await close();
});

test('what bounds a stage is one line on a phone, too', async (browser) => {
  const r = report();
  r.stage_analysis.stages[0].gpu_work.bound_calls = 'cold';
  const { page, close } = await open(browser, writePage('bound-phone', { report: r, timeline: timeline() }), { viewport: { width: 390, height: 844 } });
  const table = page.locator('#hardware table', { hasText: 'what bounds each stage' });
  const rows = await table.locator('tbody tr').evaluateAll((all) => all.map((r) => r.getBoundingClientRect().height));
  assert.ok(rows.length === 3 && rows.every((h) => h < 34), rows.join());
  const ends = await table.locator('td', { hasText: 'tensor 52' }).evaluateAll((all) => all.map((c) => c.getBoundingClientRect().right));
  assert.ok(ends.length === 1 && ends[0] <= 390, `beside the name, without scrolling: ${ends}`);
  await close();
});

const series = (...keys) => ({ t_s: [0, 0.5, 1], ...Object.fromEntries(keys.map((k, i) => [k, [10 + i, 50, 90]])) });

test('of many GPUs each has its charts, and the CPU keeps its own', async (browser) => {
  const devices = Array.from({ length: 8 }, (_, index) => ({ index, used: true, sample_count: 3, series: series('memory_used_mb', 'utilization_percent', 'temperature_c', 'power_w', 'sm_clock_mhz'), counters: series('sm_active_percent', 'tensor_active_percent') }));
  const r = { ...report(), first_charts: [{ source: 'gpu', device_index: 3, columns: ['utilization_percent'] }], gpu_metrics: { device_count: 8, devices }, cpu_metrics: { series: series('usage_percent') } };
  const { page, close } = await open(browser, writePage('many-gpus', { report: r, timeline: timeline() }));
  const shown = await page.locator('#metrics figure').evaluateAll((all) => all.map((f) => [f.getAttribute('aria-label'), f.checkVisibility()]));
  for (let i = 0; i < 8; i++) {
    const own = shown.filter(([name]) => name.startsWith(`GPU ${i} `));
    assert.equal(own.length, 6, `GPU ${i}: ${own}`);
    assert.ok(own.every(([, visible]) => visible === !i), `GPU ${i} is ${i ? 'folded' : 'open'}`);
  }
  assert.ok(shown.some(([name, visible]) => /^CPU/.test(name) && visible), 'those of the CPU come after them');
  assert.equal(await page.locator('.card.right figure b').first().innerText(), 'GPU 3 utilisation', 'whose it is');
  await page.locator('#metrics summary', { hasText: 'GPU 7' }).click();
  await settled(page);
  const ink = await page.locator('#metrics figure[aria-label^="GPU 7 utilisation"] canvas').evaluate((c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0));
  assert.ok(ink, 'what is unfolded is drawn');
  await close();
});

test('of two GPUs the first has all its charts before the second', async (browser) => {
  const devices = [0, 1].map((index) => ({ index, used: true, sample_count: 3, series: series('utilization_percent', 'power_w'), counters: series('sm_active_percent', 'nvdec_active_percent') }));
  const { page, close } = await open(browser, writePage('two-gpus', { report: { ...report(), gpu_metrics: { device_count: 2, devices } }, timeline: timeline() }));
  const shown = await page.locator('#metrics figure').evaluateAll((all) => all.map((f) => f.getAttribute('aria-label').slice(0, 5)));
  assert.deepEqual(shown, ['GPU 0', 'GPU 0', 'GPU 0', 'GPU 1', 'GPU 1', 'GPU 1']);
  assert.ok((await page.locator('#metrics .key').allInnerTexts()).includes('NVDEC active'));
  await close();
});

test("what the GPU's parts did is on the first screen, each with its name whole and one colour", async (browser) => {
  const counted = ['sm_active_percent', 'occupancy_percent', 'tensor_active_percent', 'fp32_active_percent', 'fp64_active_percent', 'dram_active_percent'];
  const device = { index: 0, used: true, sample_count: 3, series: series('utilization_percent'), counters: series(...counted) };
  const sampled = series('sm_active_percent', 'tensor_active_percent', 'dram_read_percent', 'dram_write_percent', 'dram_active_percent', 'fp32_active_percent', 'occupancy_percent', 'engine_active_percent');
  const first_charts = [{ source: 'gpu', device_index: 0, columns: ['utilization_percent'] }];
  for (const [name, more] of [['parts', {}], ['sampled', { sampled }]]) {
    const r = { ...report(), first_charts, gpu_metrics: { device_count: 1, devices: [{ ...device, ...more }] } };
    const { page, close } = await open(browser, writePage(`first-${name}`, { report: r, timeline: timeline() }), { viewport: { width: 1100, height: 800 } });
    await ready(page);
    const keysOf = (chart) => chart.locator('.key').evaluateAll((all) => all.map((k) => [k.textContent, getComputedStyle(k).color, k.scrollWidth <= k.clientWidth]));
    const first = await keysOf(page.locator(`.card.right figure[aria-label^="GPU ${name}: load"]`));
    assert.deepEqual(first.map(([words, , whole]) => [words, whole]), ['SM', 'tensor', 'FP32', 'DRAM'].map((words) => [words, true]));
    const below = await keysOf(page.locator(`#metrics figure[aria-label^="GPU ${name}: load"]`).first());
    assert.deepEqual(below.slice(0, 4).map(([words, colour]) => [words, colour]), first.map(([words, colour]) => [words, colour]));
    await close();
  }
});

test('counters, rates and what bounds a stage are a table; what is not known is n/a', async (browser) => {
  const { page, close } = await open(browser, writePage('rates', { report: report(), timeline: timeline() }));
  const rows = await bodyRows(page, '#hardware', 'what bounds each stage');
  assert.equal(rows[0], 'whole run 70.0 % 20.0 % 2.0 % 15.0 % 90.0 %');
  assert.equal(rows[1], 'denoise tensor 52 %, DRAM 46 % 97.0 % 41.5 % 3.0 % 22.0 % 90.0 %');
  assert.match(await page.locator('#hardware').innerText(), /Shares: of the time that was read, from 10 % on\./);
  assert.match(rows[2], /^vae_decode n\/a n\/a n\/a n\/a n\/a/);
  const rates = await bodyRows(page, '#hardware', 'Operations of model calls');
  assert.deepEqual(rates, ['denoise 405 41.0 % bf16 202 ms 494 ms 400 9 warm', 'vae_decode n/a n/a n/a n/a n/a scripted module']);
  assert.equal(await page.locator('#hardware [title="its models ran on the CPU"]').innerText(), 'n/a');
  assert.match(await page.locator('#hardware').innerText(), /Peak rates: data sheet of the H200/);
  await close();
});

test('occupancy, FP64, NVDEC, utilisation and links have a column where something used them; why no stage has an MFU is said', async (browser) => {
  const r = report();
  r.gpu_counters = { ...r.gpu_counters, occupancy_percent: 41, fp64_active_percent: 0.04, tensor_integer_percent: 7, fp16_active_percent: 3, utilization_percent: 90, pcie_rx_gb_per_s: 12.5, nvlink_tx_gb_per_s: 0.004 };
  r.roofline = { mfu_why: 'no GPU was seen' };
  const { page, close } = await open(browser, writePage('other-parts', { report: r, timeline: timeline() }));
  const heads = await page.locator('#hardware table').filter({ hasText: 'bound by' }).locator('th').allInnerTexts();
  assert.ok(['occupancy', 'tensor integer', 'FP16'].every((head) => heads.some((h) => h.startsWith(head))), heads.join());
  assert.ok(!heads.some((h) => /^(FP64|NVDEC|NVLink)/i.test(h)), 'what is shown as 0 has no column: ' + heads.join());
  assert.match((await bodyRows(page, '#hardware', 'bound by'))[0], /41(\.0)? % 7(\.0)? % 3(\.0)? % 90(\.0)? % 12\.50 GB\/s/);
  assert.match(await page.locator('#hardware').innerText(), /MFU n\/a: no GPU was seen/);
  await close();
});

test('each video has its counters between the run and the stages', async (browser) => {
  const items = [0, 1].map((i) => ({ name: 'generation', start_s: i / 2, wall_s: 0.5, frames: 16, ...(i ? {} : { gpu_counters: counters(60, 30, 2, 15) }) }));
  const { page, close } = await open(browser, writePage('rates-of-videos', { report: { ...report(), generations: { items } }, timeline: timeline() }));
  const rows = await bodyRows(page, '#hardware', 'what bounds each stage');
  assert.deepEqual(rows.slice(0, 2), ['whole run 70.0 % 20.0 % 2.0 % 15.0 % 90.0 %', 'video 1 60.0 % 30.0 % 2.0 % 15.0 % 90.0 %']);
  assert.match(rows[2], /^denoise/);
  await close();
});

test('many videos leave room for the stages, and none is left out', async (browser) => {
  const items = [...Array(40).keys()].map((i) => ({ name: 'generation', start_s: i / 40, wall_s: 1 / 40, frames: 16, gpu_counters: counters(60, 30, 2, 15) }));
  const { page, close } = await open(browser, writePage('rates-of-many-videos', { report: { ...report(), generations: { items } }, timeline: timeline() }));
  assert.match((await bodyRows(page, '#hardware', 'what bounds each stage'))[1], /^denoise/);
  await page.locator('#hardware table', { hasText: 'what bounds each stage' }).locator('xpath=..').locator('button.more').click();
  assert.match((await bodyRows(page, '#hardware', 'what bounds each stage')).at(-1), /^video 40 60.0 %/);
  await close();
});

test('what was sampled is said as the text report says it', async (browser) => {
  const r = { ...report(), sampled_counters: { sample_count: 5999, lost_count: 7, interval_s: 0.0005, t_s: 17.1, sampled_s: 3, duration_s: 3.1, pcie_read_bytes_per_s: 2e9, pcie_write_bytes_per_s: 999_999.9, gpu_counters: counters(90, 40, 3, 20), sm_clock_mhz: 1755 } };
  for (const s of r.stage_analysis.stages) s.gpu_work = { ...s.gpu_work, bound_why: 'no sample is of this stage alone' };
  const { page, close } = await open(browser, writePage('sampled-words', { report: r, timeline: timeline() }));
  const words = plain(await page.locator('#hardware').innerText());
  assert.match(words, /Sampled for 3\.00 s, from 17\.10 s of the run on: 5.999 samples of 500 µs, 7 lost\. The SMs ran at 1755 MHz by their cycles\. PCIe: 2\.0+ GB\/s read, 1\.0 MB\/s written\./);
  assert.match(words, /What bounds denoise and 1 more is n\/a: no sample/);
  await close();
});

test('a sentence about missing bounds is true of every stage it counts', async (browser) => {
  const r = report();
  const why = ['it ran for 7 %', 'it ran for 8 %', 'it ran for 7 %', 'no sample', 'not traced', 'no reading', 'not traced'];
  const total = [0.1, 0.5, 0.4, 0.3, 0.2, 0.05, 0.01];
  r.stage_analysis.stages = why.map((bound_why, i) => ({ ...r.stage_analysis.stages[1], name: `s${i}`, total_s: total[i], gpu_work: { bound_why } }));
  const { page, close } = await open(browser, writePage('unbound', { report: r, timeline: timeline() }));
  assert.deepEqual((await page.locator('#hardware p', { hasText: /bounds|more stage/ }).allInnerTexts()).map(plain), ['What bounds s1 is n/a: it ran for 8 %', 'What bounds s2 and 1 more is n/a: it ran for 7 %', 'What bounds s3 is n/a: no sample', '… and 3 more stages']);
  await close();
});

test('a GPU at its power limit is not called throttled', async (browser) => {
  const devices = [{ index: 0, used: true, sample_count: 3, throttled_ratio: 0, power_capped_ratio: 0.96, power_mean_w: 300, power_working_mean_w: 669, sm_clock_working_mean_mhz: 1775, series: series('utilization_percent') }];
  const system = { facts: { 'gpu0.throttled': 'software power cap 24.5 s' } };
  const { page, close } = await open(browser, writePage('capped', { report: { ...report(), system, gpu_metrics: { device_count: 1, devices } }, timeline: timeline() }));
  assert.match(plain(await page.locator('#system').innerText()), /GPU 0 clocks held by software power cap 24\.5 s/i);
  const words = plain(await page.locator('#metrics').innerText());
  assert.match(words, /slowed down by heat or hardware, while it worked 0\.0 % at its power limit, while it worked 96\.0 %/);
  assert.match(words, /power while it worked, mean 669 W/);
  assert.ok(!/throttled|utilization/.test(words), words);
  await close();
});

test('a family that says its kind is named once', async (browser) => {
  const family = (family, kind) => ({ family, kind, total_s: 0.1, gpu_counters: counters(90, 1, 2, 60) });
  const { page, close } = await open(browser, writePage('kinds-once', { report: { ...report(), sampled_counters: { sample_count: 9, lost_count: 0, interval_s: 0.0005, t_s: 0.1, sampled_s: 0.2, duration_s: 0.2, families: [family('copy and layout', 'copy and cast'), family('copy and layout', 'transpose')] } }, timeline: timeline() }));
  const rows = await bodyRows(page, '#hardware', 'by kernel family');
  assert.match(rows[1], /^copy and cast 90/);
  assert.match(rows[2], /^copy and layout transpose 90/);
  await close();
});

test('without kernels, counters and operations there is no panel about the hardware', async (browser) => {
  const r = report();
  for (const s of r.stage_analysis.stages) for (const key of ['kernel_families', 'gpu_counters', 'gpu_work']) delete s[key];
  delete r.gpu_counters;
  const { page, close } = await open(browser, writePage('no-hardware', { report: r, timeline: timeline() }));
  assert.equal(await page.locator('#hardware').count(), 0);
  assert.equal(await page.locator('#unattributed').count() + await page.locator('#garbage').count() + await page.locator('.readings').count(), 0);
  await close();
});

test('unattributed time names its functions, in a panel and beside a selected gap', async (browser) => {
  const functions = [{ function: 'app.decode_all', file: '/srv/app/video/input.py', line: 41, inside: 'av.open', estimate_s: 0.26, share_ratio: 0.87 }, { function: '<b>app.main', file: '/srv/app/main.py', line: 9, estimate_s: 0.04, share_ratio: 0.13 }];
  const r = { ...report(), unattributed: { run: { unattributed_s: 0.3, unattributed_ratio: 0.3, sample_count: 23, functions } } };
  const { page, seen, close } = await open(browser, writePage('unattributed', { report: r, timeline: timeline() }));
  await ready(page);
  assert.deepEqual(await bodyRows(page, '#unattributed', 'in the whole run'), ['app.decode_all video/input.py:41 av.open 260 ms 87.0 %', '<b>app.main app/main.py:9 40.0 ms 13.0 %']);
  assert.match(plain(await page.locator('#unattributed p').innerText()), /300 ms \(30\.0 %\) belong to no stage.*23 sampled stacks/);
  await page.locator('.bar .nothing').click();
  assert.match(plain(await page.locator('.selection .gap-functions').innerText()), /^Ran in all gaps of the run: 300 ms app\.decode_all video\/input\.py:41 260 ms 87\.0 %/i);
  await page.locator('.bar button').first().click();
  assert.equal(await page.locator('.selection .gap-functions').count(), 0, 'a stage is no gap');
  assert.deepEqual(seen.problems, []);
  await close();
});

test('the functions of a gap are whole on a small screen', async (browser) => {
  const functions = [{ function: 'torch._moving.<locals>.make.<locals>.move', file: '/srv/app/frameworks/torch.py', line: 56, estimate_s: 0.3, share_ratio: 1 }];
  const r = { ...report(), unattributed: { run: { unattributed_s: 0.3, unattributed_ratio: 0.3, sample_count: 23, functions } } };
  const { page, close } = await open(browser, writePage('gap-small', { report: r, timeline: timeline() }), { viewport: { width: 390, height: 844 } });
  await ready(page);
  await page.locator('.bar .nothing').click();
  const ends = await page.locator('.gap-functions td').evaluateAll((all) => all.map((c) => c.getBoundingClientRect().right));
  assert.ok(ends.length === 3 && ends.every((x) => x <= 390), ends.join());
  await close();
});

test('garbage collections are added up, and the longest lead to their time', async (browser) => {
  const r = { ...report(), garbage_collection: { count: 280, total_s: 0.205, object_count: 6613, long_count: 1, in_generations_s: 0.076, longest: [{ end_s: 0.676, duration_s: 0.076, gc_generation_index: 2, object_count: 185 }] } };
  const { page, close } = await open(browser, writePage('garbage', { report: r, timeline: timeline() }));
  await ready(page);
  assert.match(plain(await page.locator('#garbage p').innerText()), /^280 collections, 205 ms, 6.613 objects freed; 1 of 1 ms or longer, 76\.0 ms of them in generations\.$/);
  assert.deepEqual(await bodyRows(page, '#garbage', 'longest'), ['0.600 s 76.0 ms 2 185']);
  await page.locator('#garbage tbody tr').click();
  assert.match(await page.locator('.selection header').innerText(), /garbage collection[\s\S]*0\.600 to 0\.676 s/);
  await close();
});

test('readings stand beside the numbers they speak of', async (browser) => {
  const readings = [{ id: 'memory_peak', panel: 'memory', text: "The memory peak is 12.0 GB, reached at 'decode'" }, { id: 'fast_enough', panel: 'stages', text: "'attn' is fast enough for now", good: true }, { id: 'one_of_a_later_strobe', panel: 'stages', text: 'news' }];
  const r = { ...report(), readings, memory: { snapshots: [{ label: 'decode', device: 'cuda:0', t_s: 0.5, allocated_mb: 12288 }] } };
  const { page, close } = await open(browser, writePage('readings', { report: r, timeline: timeline() }));
  assert.deepEqual((await page.locator('#memory .readings li').allInnerTexts()).map(plain), ["The memory peak is 12.0 GB, reached at 'decode'"]);
  assert.deepEqual((await page.locator('#stages .readings li').allInnerTexts()).map(plain), ["'attn' is fast enough for now (as it should be)", 'news']);
  await close();
});

test('the bars of the families and the roofline are whole on a phone', async (browser) => {
  const r = report();
  r.stage_analysis.stages[0].name = 'transformer of a long name, WanTransformer3DModel';
  const { page, close } = await open(browser, writePage('hardware-phone', { report: r, timeline: timeline() }), { viewport: { width: 390, height: 844 } });
  const ends = await page.locator('#hardware .families, #hardware svg.roofline').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().right));
  assert.ok(ends.length === 3 && ends.every((x) => x <= 390), ends.join());
  const drawn = await page.locator('svg.roofline').evaluate((s) => s.getBoundingClientRect().width / s.viewBox.baseVal.width);
  assert.ok(drawn > 0.85, `its letters are ${drawn} of their size`);
  await page.setViewportSize({ width: 1200, height: 700 });
  assert.equal(await page.locator('svg.roofline').evaluate((s) => s.viewBox.baseVal.width), 640, 'turned or widened, it takes its room');
  await close();
});

test('what bounds a stage says how it is known, or why it is not', async (browser) => {
  const r = report();
  r.stage_analysis.stages[0].gpu_work = { bound: 'launch', bound_basis: 'trace' };
  r.stage_analysis.stages[1].gpu_work = { bound_why: 'no reading lies inside a call; --gpu-counters=steps:3 tells' };
  const { page, close } = await open(browser, writePage('bound-why', { report: r, timeline: timeline() }));
  const rows = await bodyRows(page, '#hardware', 'what bounds each stage');
  assert.match(rows[1], /^denoise launch \(by its trace\) 97/);
  assert.match(rows[2], /^vae_decode n\/a n\/a/);
  assert.match(plain(await page.locator('#hardware').innerText()), /What bounds vae_decode is n\/a: no reading lies inside a call; --gpu-counters=steps:3 tells/);
  await close();
});

test('the panels about the hardware do not widen a small screen', async (browser) => {
  const { page, close } = await open(browser, writePage('hardware-small', { report: report(), timeline: timeline() }), { viewport: { width: 390, height: 844 } });
  const before = await page.evaluate(() => { const all = document.documentElement.scrollWidth; document.getElementById('hardware').remove(); return [all, document.documentElement.scrollWidth]; });
  assert.equal(before[0], before[1]);
  await close();
});

test("the table of families has no numbers of strobe's own, and memory in use is in the unit of its parts", async (browser) => {
  const r = report();
  r.gpu_trace.families = families(['GEMM', 0.6, 'cuBLAS'], ['attention', 0.4]);
  r.residency = { moments: [{ at: 'peak', stage: 'vae_decode', device_index: 0, t_s: 0.8, total_bytes: 24798.8 * 2 ** 20, rest_bytes: 0, parts: [{ component: 'weights', bytes: 8833 * 2 ** 20 }] }] };
  r.session_info.peak_rss_bytes = 2586.9 * 2 ** 20;
  const { page, close } = await open(browser, writePage('units', { report: r, timeline: timeline() }));
  const heads = await page.locator('#kernels table', { hasText: 'precision' }).or(page.locator('#kernels table', { hasText: 'family' })).locator('th').allInnerTexts();
  assert.ok(heads.includes('family') && !heads.some((h) => h.includes('index')), heads.join());
  assert.match((await bodyRows(page, '#held', 'At the peak'))[0], /vae_decode GPU 0 24\.2 GB weights 8\.6 GB/);
  assert.match(plain(await page.locator('#system').innerText()), /peak RSS 2\.5 GB/);
  await close();
});
