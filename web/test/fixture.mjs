// A made-up run of a text-to-video pipeline, in the schema's shape.
import { encodeTimeline } from './encode.mjs';

let seed = 7;
const random = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648);

const S = 1e9;

// As src/stats/distribution.c counts them.
function bins(all) {
  const from_s = Math.min(...all);
  const bin_s = (Math.max(...all) - from_s) / 24;
  return { from_s, bin_s, value_count: Array.from({ length: 24 }, (_, i) => all.filter((v) => Math.min(23, Math.floor((v - from_s) / bin_s)) === i).length) };
}

export function fixture(more = {}) {
  const names = [];
  const id = (n) => {
    const at = names.indexOf(n);
    return at >= 0 ? at : names.push(n) - 1;
  };
  const main = [[], [], [], []];
  const steps = [];
  const stream = [];
  const details = [];
  const put = (depth, name, from, to) => main[depth].push({ start: Math.round(from), end: Math.round(to), name: id(name) });
  put(0, 'imports', 0.1 * S, 8.9 * S);
  put(0, 'load_model', 9 * S, 30.3 * S);
  let t = 30.6 * S;
  const start = t;
  const stepTimes = [];
  const stepStarts = [];
  put(1, 'text_encode', t, (t += 1.2 * S));
  put(1, 'offload:text_encoder', t, (t += 4.85 * S));
  const d0 = t;
  for (let i = 0; i < 50; i++) {
    const len = (i === 0 ? 2.45 : 1.57 + random() * 0.06 + (i === 31 ? 0.5 : 0)) * S;
    steps.push({ start: Math.round(t), end: Math.round(t + len), name: id('step') });
    details.push([1, 0, Math.round(t), { step: i, guidance_scale: 5 }]);
    put(2, 'step', t, t + len);
    stepTimes.push(len / S);
    stepStarts.push(t / S);
    for (let b = 0; b < 30; b++) {
      const bt = t + (len * (b + 0.05)) / 30.5;
      put(3, 'block', bt, bt + len / 31.5);
      for (let k = 0; k < 4; k++) stream.push({ start: Math.round(bt + (k * len) / 125), end: Math.round(bt + ((k + 0.8) * len) / 125), name: id(['flash_fwd_kernel', 'sm90_xmma_gemm_bf16', 'layer_norm_kernel', 'elementwise_kernel'][k]), launch: { lane: 2, at: Math.round(bt + (k * len) / 400) } });
    }
    t += len;
  }
  put(1, 'denoise', d0, t);
  put(1, 'vae_decode', t, (t += 7.2 * S));
  put(0, 'generate', start, t);
  put(0, 'export', t + 0.2 * S, (t += 3.3 * S));
  const wall = t + 0.6 * S;
  const gen = [{ start: Math.round(start), end: Math.round(t - 3.3 * S), name: id('a cat surfing') }];
  main.forEach((row) => row.sort((a, b) => a.start - b.start));
  const loader = [];
  for (let k = 0; k < 400; k++) loader.push({ start: Math.round(k * 0.3 * S), end: Math.round(k * 0.3 * S + 0.1 * S), name: id('prefetch') });
  const timeline = encodeTimeline({
    endNs: Math.round(wall),
    names,
    lanes: [
      { kind: 'generation', name: 'Generations', rows: [gen] },
      { kind: 'step', name: 'Steps', rows: [steps] },
      { kind: 'thread', name: 'main', note: 'pid 4242', main: true, rows: main },
      { kind: 'thread', name: 'loader', rows: [loader] },
      { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [stream] },
    ],
    marks: [[Math.round(30.5 * S), id('weights ready')]],
    details,
  });
  const tS = Array.from({ length: 260 }, (_, i) => i * 0.5);
  const inGen = (x) => x > start / S && x < (t - 3.5 * S) / S;
  const zonesOf = (name) => main.flat().filter((z) => names[z.name] === name);
  const stage = (name, parent, count, total, extra = {}) => ({
    first_s: Math.min(...zonesOf(name).map((z) => z.start)) / S, end_s: Math.max(...zonesOf(name).map((z) => z.end)) / S,
    name, ...(parent ? { parent } : {}), count, total_s: total, self_s: extra.self_s ?? total, mean_s: total / count, min_s: (total / count) * 0.97, max_s: (total / count) * 1.5, p50_s: total / count, p95_s: (total / count) * 1.03, p99_s: (total / count) * 1.2, wall_ratio: total / (wall / S), ...extra,
  });
  const denoise = stepTimes.reduce((a, b) => a + b, 0);
  const generate = denoise + 1.2 + 4.85 + 7.2;
  const report = {
    schema: 'strobe.report/1',
    session_info: { id: '5f0c2f7e', name: 'wan_t2v', start_time: '2026-11-14T18:02:11+00:00', end_time: '2026-11-14T18:04:22+00:00', duration: '131.40 s', duration_s: wall / S, tags: { model: 'wan-1.3b', resolution: '832x480', seed: 42 }, generated_at: '2026-11-14T18:04:24+00:00', command: 'python wan_t2v.py --prompt "a cat surfing"' },
    system: { host: 'node-7', facts: { cpu_model: 'Xeon Platinum 8480', torch: '2.11.0', cuda: '13.0' }, settings: { gpu_monitor_interval_s: 0.5, max_trace_bytes: 268435456 } },
    summary: { wall_s: wall / S, generation_count: 1, frames: 81, steps: 50, fps: 81 / generate, energy_wh: 16.4, video_energy_wh: 16.4, run_energy_wh: 16.4, gpu_name: 'NVIDIA H200' },
    generations: { count: 1, wall: { count: 1, total_s: generate, mean_s: generate, min_s: generate, max_s: generate, p50_s: generate, p95_s: generate, p99_s: generate }, items: [{ name: 'a cat surfing', start_s: start / S, wall_s: generate, frames: 81, steps: 50, width_px: 832, height_px: 480, fps: 81 / generate }] },
    stage_analysis: {
      wall_s: wall / S, unattributed_s: 1.7,
      stages: [
        stage('generate', undefined, 1, generate, { self_s: 0.4 }),
        stage('denoise', 'generate', 1, denoise, { self_s: 0.5, gpu_span_s: denoise * 0.99 }),
        stage('step', 'denoise', 50, denoise - 0.1, { self_s: 2.1, gpu_span_s: denoise * 0.985 }),
        stage('block', 'step', 1500, denoise * 0.97, { gpu_span_s: denoise * 0.96 }),
        stage('vae_decode', 'generate', 1, 7.2, { gpu_span_s: 7.05, code: '4c' }),
        stage('offload:text_encoder', 'generate', 1, 4.85, { gpu_span_s: 4.6 }),
        stage('text_encode', 'generate', 1, 1.2, { gpu_span_s: 0.9 }),
        stage('load_model', undefined, 1, 21.3),
        stage('imports', undefined, 1, 8.8),
        stage('export', undefined, 1, 3.1),
        { name: 'upscale', count: 0, state: 'skipped', reason: 'not asked for' },
      ],
      parts: [
        { kind: 'stage', name: 'denoise', stage_index: 1, part_s: denoise, wall_ratio: (denoise * S) / wall },
        { kind: 'stage', name: 'load_model', stage_index: 7, part_s: 21.3, wall_ratio: (21.3 * S) / wall },
        { kind: 'stage', name: 'imports', stage_index: 8, part_s: 8.8, wall_ratio: (8.8 * S) / wall },
        { kind: 'smaller', stage_count: 4, part_s: 16.35, wall_ratio: (16.35 * S) / wall },
        { kind: 'unattributed', part_s: 1.7, wall_ratio: (1.7 * S) / wall },
      ],
      gaps: [{ t_s: wall / S - 1, duration_s: 1 }],
      largest: ['imports', 'load_model', 'text_encode', 'step', 'block', 'offload:text_encoder', 'vae_decode', 'export'],
      bottlenecks: ['block', 'load_model', 'imports'],
    },
    iterations: [{ name: 'step', count: 50, mean_s: 1.61, median_s: 1.59, std_s: 0.14, min_s: 1.57, max_s: 2.45, p95_s: 1.63, p99_s: 2.2, per_second: 0.63, warmup_count: 1, series_s: stepTimes, distribution: bins(stepTimes) }],
    memory: { peak_mb: 14900, snapshots: [{ label: 'after_load', device: 'cuda:0', t_s: 30.3, allocated_mb: 9120.4, reserved_mb: 9400, peak_mb: 9400.2 }, { label: 'after_vae', device: 'cuda:0', t_s: 126, allocated_mb: 9300.1, reserved_mb: 18200, peak_mb: 14900.7 }], fragmentation: { unused_ratio: 0.49, label: 'after_vae' }, stages: [{ name: 'vae_decode', peak_mb: 14900.7, kept_mb: 180.1, freed: false }] },
    first_charts: [{ source: 'gpu', device_index: 0, columns: ['utilization_percent'] }, { source: 'gpu', device_index: 0, columns: ['memory_used_mb'] }, { source: 'cpu', columns: ['usage_percent'] }, { source: 'disk', columns: ['read_gb_per_s', 'write_gb_per_s'] }],
    gpu_metrics: { energy_wh: 16.4, devices: [{ index: 0, name: 'NVIDIA H200', used: true, sample_count: 260, memory_used_max_mb: 18200, memory_used_mean_mb: 11000, memory_total_mb: 143771, utilization_mean_percent: 71, temperature_max_c: 66, power_mean_w: 455, energy_wh: 16.4, series: { t_s: tS, utilization_percent: tS.map((x) => (inGen(x) ? 94 + random() * 5 : random() * 3)), memory_used_mb: tS.map((x) => (x < 9 ? 600 : x < 30 ? 600 + (x - 9) * 410 : inGen(x) ? (x > 118 ? 18200 : 12300) : 9400)), power_w: tS.map((x) => (inGen(x) ? 610 + random() * 40 : 120)), temperature_c: tS.map((x) => (inGen(x) ? 62 + random() * 4 : 41)) } }] },
    cpu_metrics: { usage_mean_percent: 12.1, series: { t_s: tS, usage_percent: tS.map(() => 8 + random() * 9), memory_used_mb: tS.map((x) => 4000 + Math.min(x, 30) * 900) } },
    disk_metrics: { read_bytes: 17.1e9, series: { t_s: tS, read_gb_per_s: tS.map((x) => (x > 9 && x < 30 ? 0.7 + random() * 0.2 : 0)), write_gb_per_s: tS.map(() => 0.01), machine_read_gb_per_s: tS.map(() => 0.02), machine_write_gb_per_s: tS.map(() => 0.03) } },
    diffusion_analysis: { distribution: bins(stepTimes), fps: 81 / denoise, frames: 81, steps: 50, step: { count: 50, mean_s: 1.61, p50_s: 1.59, p95_s: 1.63 }, latent_frames_count: 21, rates: [{ scope: 'denoise', wall_s: denoise, wall_fps: 81 / denoise }, { scope: 'end_to_end', wall_s: generate, wall_fps: 81 / generate }], split: [{ part: 'denoise', self_s: denoise, wall_ratio: 0.835 }, { part: 'vae', self_s: 7.2, wall_ratio: 0.075 }], slow_steps: [{ step_index: 31, t_s: stepStarts[31], duration_s: stepTimes[31], peer_median_s: 1.59 }], series: { t_s: stepStarts, duration_s: stepTimes } },
    model_analysis: { models: [{ name: 'WanTransformer3D', type: 'bf16', parameter_count: 1300000000, parameters: '1.3B', size_mb: 2600 }] },
    cache_analysis: { caches: [{ name: 'teacache', hit_count: 3, miss_count: 1, eviction_count: 1, hit_ratio: 0.75, timeline: [{ t_s: 40, kind: 'hit', chunk_index: 1 }] }] },
    gpu_trace: { kernel_count: 6000, kernel_total_s: 70.4, window_s: 80.5, busy_s: 69.8, busy_ratio: 0.867, idle_s: 10.7, copies: [{ direction: 'H2D', count: 220, bytes: 11.2e9, total_s: 4.6, gb_per_s: 2.43 }], top_kernels: [{ name: 'flash_fwd_kernel', count: 1500, total_s: 31.2, mean_s: 0.0208, share_ratio: 0.443 }, { name: 'sm90_xmma_gemm_bf16', count: 1500, total_s: 28.1, mean_s: 0.0187, share_ratio: 0.399 }], gaps: [{ t_s: 36.5, duration_s: 0.42, cpu_did: 'offload:text_encoder', device_index: 0 }] },
    function_samples: { sample_count: 4000, functions: [{ name: 'prepare_latents', file: '/app/wan/pipeline.py', line: 211, stage: 'generate', self_count: 900, total_count: 1200, self_ratio: 0.225, total_ratio: 0.3 }, { name: 'read_frames', file: '/app/wan/video.py', line: 40, self_count: 400, total_count: 400, self_ratio: 0.1, total_ratio: 0.1 }] },
    events: [{ name: 'ckpt', kind: 'event', t_s: 30.5, attributes: { path: '/models/wan.safetensors' } }],
    recommendations: [
      { id: 'offload-copies', category: 'memory', priority: 'high', issue: 'offload:text_encoder moves 11.2 GB at 2.3 GB/s', suggestion: 'Use pinned memory, or keep the text encoder on the GPU: 128 GB of VRAM are free.', evidence: '4.85 s in offload:text_encoder, pageable copies', effort: '< 1 day', gain_s: 4.4 },
      { id: 'load-throughput', category: 'disk', priority: 'medium', issue: 'Weights load at 0.80 GB/s', suggestion: 'Load safetensors with mmap from local disk.', evidence: '17.1 GB in 21.3 s', effort: '< 1 day', gain_s: 15.1, subject: 'load_model', where: { stage: 'load_model', stage_index: 7, panel: 'metrics' } },
      { id: 'steps-many', category: 'diffusion', priority: 'low', issue: '50 diffusion steps per video', suggestion: 'A distilled scheduler needs 4 to 8 steps.', evidence: '50 steps, 80.5 s', effort: '1-2 weeks', where: { panel: 'steps' } },
      { id: 'fragmentation', category: 'memory', priority: 'low', issue: '49 % of reserved memory is not allocated', suggestion: 'Set expandable_segments.', evidence: 'after_vae', effort: '< 1 day', where: { panel: 'memory' } },
    ],
    verdict: { bound_by: 'gpu', why: 'The GPU was 97 % busy during denoise, 83.5 % of the generation.', leave_alone: [{ name: 'text_encode' }] },
    recording: { events: 9420, zones: 8021, dropped_count: 0, drop_reasons: {}, bytes: 1300000, complete: true, overhead_ratio: 0.001 },
    not_recorded: [{ what: 'attention kernel kind', why: 'no launch attribution', how: 'strobe run --gpu-trace=steps:3' }],
    ...more,
  };
  return { report, timeline };
}

// Two rows in one lane, and nothing sampled.
export function small(more = {}) {
  const timeline = encodeTimeline({ endNs: 1e9, names: ['step', 'attention'], lanes: [{ kind: 'thread', name: 'main', rows: [[{ start: 0, end: 9e8, name: 0 }], [{ start: 1e8, end: 5e8, name: 1 }]] }] });
  const stages = [
    { name: 'step', count: 1, total_s: 0.9, self_s: 0.5, wall_ratio: 0.9 },
    { name: 'attention', parent: 'step', count: 1, total_s: 0.4, self_s: 0.4, wall_ratio: 0.4 },
    { name: 'norm', parent: 'step', count: 1, total_s: 0.1, self_s: 0.1, wall_ratio: 0.1 },
  ];
  const parts = [
    { kind: 'stage', name: 'attention', stage_index: 1, part_s: 0.4, wall_ratio: 0.4 },
    { kind: 'itself', name: 'step', stage_index: 0, part_s: 0.4, wall_ratio: 0.4 },
    { kind: 'stage', name: 'norm', stage_index: 2, part_s: 0.1, wall_ratio: 0.1 },
    { kind: 'unattributed', part_s: 0.1, wall_ratio: 0.1 },
  ];
  const report = { session_info: { id: 'small', name: 'small' }, summary: { wall_s: 1 }, stage_analysis: { wall_s: 1, unattributed_s: 0.1, stages, parts, gaps: [{ t_s: 0.9, duration_s: 0.1 }], bottlenecks: ['step'] }, recommendations: [], recording: { zones: 2, dropped_count: 0 }, ...more };
  return { report, timeline };
}
