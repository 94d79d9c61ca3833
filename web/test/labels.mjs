// Labels, units and charts of what a real machine reports.
import { small } from './fixture.mjs';
import { assert, open, settled, test, writePage } from './harness.mjs';

const t = [0, 1, 2, 3];

function machine() {
  const facts = { cuda_device_0_name: 'NVIDIA H200', cupti_version: 130001, 'cpu.count': 16, 'cpu.model': 'Xeon', 'memory.total_mb': 2048, 'gpu0.name': 'NVIDIA H200', 'gpu0.driver': '580.159.04' };
  const settings = { display_interval: '5', gpu_monitor_interval: '0.5', max_trace_bytes: '256 MiB', target_fps: 'none' };
  const series = { t_s: t, memory_used_mb: [0, 1, 2, 3], memory_total_mb: [9, 9, 9, 9], process_memory_mb: [null, 1, 1, 1], throttle_bits_count: [1, 1, 0, 0], other_process_count: [0, 0, 0, 0], pcie_tx_gb_per_s: [null, 0.1, 0.1, 0.1] };
  return {
    session_info: { id: 'm', name: 'm', start_time: '2026-11-15T09:47:17.417+00:00', exit_code_value: 0 },
    system: { facts, settings },
    summary: { wall_s: 3, gpu_name: 'NVIDIA H200' },
    gpu_metrics: { devices: [{ index: 0, name: 'NVIDIA H200', used: true, pcie_tx_mean_gb_per_s: 0.000333, process_memory_max_mb: 1, series }] },
    first_charts: [{ source: 'gpu', device_index: 0, columns: ['process_memory_mb', 'memory_used_mb'] }, { source: 'cpu', columns: ['usage_percent'] }, { source: 'process', columns: ['rss_mb', 'pss_mb'] }],
    chart_columns: [{ source: 'gpu', device_index: 0, column: 'memory_total_mb', chart: 'none' }, { source: 'gpu', device_index: 0, column: 'throttle_bits_count', chart: 'none' }, { source: 'cpu', column: 'process_percent', chart: 'own', label: 'of this run, % of a core' }],
    cpu_metrics: {
      load1_mean_count: 1.84, process_max_percent: 290,
      series: { t_s: t, usage_percent: [1, 2, 3, 4], process_percent: [290, 99, 98, 97], load1_count: t, load5_count: t },
      process: { t_s: t, rss_mb: [1, 2, 3, 4], pss_mb: [3, null, null, null] },
      pressure: { t_s: t, cpu_percent: [0, 0, 0, 1], io_percent: [0, 0, 0, 1] },
    },
    stage_analysis: { wall_s: 3, unattributed_s: 1, stages: [{ name: 'step', count: 1, total_s: 2, self_s: 2, wall_ratio: 0.66, gpu_busy_s: 0.01 }], bottlenecks: ['step'] },
    gpu_trace: { window_s: 0.5, busy_s: 0.1, idle_s: 0.4, gap_count: 3191, small_kernel_ratio: 1, top_zones: [{ name: 'step', total_s: 0.1 }] },
    diffusion_analysis: { slow_step_count: 1 },
    recording: { bytes: 466944, zones: 3, dropped_count: 0, overhead_ratio: 3.7e-7 },
    verdict: { bound_by: 'cpu_launch', why: 'because' },
    recommendations: [{ id: 'a', category: 'gpu', priority: 'low', issue: 'i', suggestion: 's', evidence: 'e' }],
  };
}

const plain = (s) => s.replaceAll('\u00a0', ' ').replaceAll('\u2011', '-');

test("a machine's facts, settings and figures have names and units", async (browser) => {
  const { page, seen, close } = await open(browser, writePage('machine', { report: machine() }));
  const pairs = await page.locator('.fields div').evaluateAll((all) => all.map((d) => [d.children[0].textContent, d.children[1].textContent]));
  const fields = Object.fromEntries(pairs.map((p) => p.map(plain)));
  const wanted = {
    'CPU cores': '16', 'CPU model': 'Xeon', 'memory total': '2.0 GB', 'GPU 0 name': 'NVIDIA H200', 'CUPTI version': '130001', 'start time': '2026-11-15 09:47:17 +00:00', 'exit code': '0',
    display_interval: '5 s', gpu_monitor_interval: '0.5 s', max_trace_bytes: '256 MiB', target_fps: 'none',
    'PCIe from the GPU mean': '333.0 kB/s', "this run's memory max": '1.0 MB', 'load (1 min) mean': '1.84', bytes: '466.9 kB', 'recording, of their time': '< 0.1 %', gaps: '3 191'.replace(' ', '\u202f'), 'slow steps': '1', 'kernels under 10 µs': '100.0 %',
  };
  for (const [label, value] of Object.entries(wanted)) assert.equal(fields[label], value, label);
  assert.deepEqual(pairs.filter(([k]) => /cuda device|[._]\w+\.|CPU\./i.test(k)), [], 'one name each, without dots');
  assert.match(await page.locator('.when').innerText(), /NVIDIA H200/);
  assert.match(await page.locator('.verdict').innerText(), /Bound by CPU launch:/);
  assert.match(plain(await page.locator('#stages .tools').innerText()), /GPU busy: of the 500 ms that were traced/);
  assert.match(await page.locator('#kernels').innerText(), /Zones by the GPU time they launched/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('charts show amounts, each with its own kind, and a value alone is a dot', async (browser) => {
  const { page, close } = await open(browser, writePage('machine-charts', { report: machine() }));
  const charts = await page.locator('#metrics figcaption').evaluateAll((all) => all.map((c) => [...c.querySelectorAll('b, .key')].map((e) => e.textContent).join(' | ')));
  assert.deepEqual(charts, [
    'GPU memory | this run | whole GPU', 'GPU other processes', 'PCIe from the GPU', 'CPU usage', 'CPU of this run, % of a core', 'CPU load average | 1 min | 5 min', 'Process memory | in RAM (RSS) | its share of it (PSS)', 'Waiting for, % of the time | CPU | disk',
  ]);
  const memory = page.locator('#metrics figure[aria-label^="Process memory"]');
  await memory.scrollIntoViewIfNeeded();
  await settled(page);
  const orange = await memory.locator('canvas').evaluate((c) => {
    const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 128 && data[i] - data[i + 2] > 90) n++;
    return n;
  });
  assert.ok(orange > 3, `${orange} pixels of the lone value`);
  await close();
});

test('a call that has not ended is no call 0; a run of the server that failed says so', async (browser) => {
  const stages = [{ name: 'denoise', code: 'a', count: 0, open_count: 1, total_s: 0.5, self_s: 0.5, depth: 0 }];
  const report = { session_info: { id: 'open', name: 'open', rank: 3, world_size_count: 8, exit_code_value: 1, outcome: 'exit 1' }, summary: { wall_s: 1 }, stage_analysis: { wall_s: 1, unattributed_s: 0.5, stages, bottlenecks: [] }, recommendations: [], recording: { zones: 1, dropped_count: 0, complete: true } };
  const { page, close } = await open(browser, writePage('open-call', { report }));
  assert.match(await page.locator('#stages tbody tr').first().innerText(), /1 open[\s\S]*–/);
  assert.equal(await page.locator('header .run-state').innerText(), 'exit 1');
  assert.equal(await page.locator('header .when').innerText(), 'rank 3 of 8');
  await close();
});

test('marks of stages have the words of the text report', async (browser) => {
  const stages = ['major', 'other', 'model', 'part', 'largest', undefined].map((level, i) => ({ name: `stage ${i}`, count: 1, total_s: 0.1, self_s: 0.1, wall_ratio: 0.1, bottleneck: i === 4 || undefined, bottleneck_level: level }));
  const { page, close } = await open(browser, writePage('marks', small({ stage_analysis: { wall_s: 1, unattributed_s: 0.4, stages, bottlenecks: [], parts: [] } })));
  assert.deepEqual(await page.locator('#stages tbody .stage').evaluateAll((all) => all.map((s) => s.querySelector('em')?.textContent ?? '')), ['bottleneck', 'bottleneck', 'main model', 'main part', 'largest stage', '']);
  await close();
});

test('what held memory is said once, in one unit', async (browser) => {
  const resident = { stage: 'step', at: 'begin', device_index: 0, component: 'CUDA context', bytes: 734003200 };
  const { page, close } = await open(browser, writePage('residents', small({ memory: { peak_mb: 700, residents: [resident] } })));
  assert.doesNotMatch(await page.locator('#memory').innerText(), /734|CUDA context/);
  await close();
});
