// What the report's keys are called on the page.
import { unitOf } from './format';

const TITLES: Record<string, string> = {
  fps: 'frames per second',
  bps: 'blocks per second',
  wall_ratio: 'of wall time',
  t_s: 'at',
  let_go: 'freed later',
  ram_peak_mb: 'RAM in use by all programs, peak',
  rss_peak_mb: "this run's resident memory, peak",
  ram_of_cgroup: "RAM is the cgroup's",
  stages_generation_index: "generation that stages' peaks are of",
  step_index: 'step',
  iteration_index: 'iteration',
  block_index: 'block',
  block_size_frames: 'frames of a block',
  block_size_mean_frames: 'frames of a block, mean',
  frames_source: 'where the frames come from',
  wall_fps: 'FPS over wall',
  compute_fps: 'FPS over compute',
  wall_bps: 'BPS over wall',
  compute_bps: 'BPS over compute',
  wall_s: 'wall time',
  compute_s: 'compute time',
  compute_offload_s: 'of end to end compute time: weights moved',
  cpu_s: 'CPU time',
  total_s: 'total',
  gb_per_s: 'throughput',
  per_second: 'rate',
  process_mean_percent: 'this run, of a core, mean',
  process_max_percent: 'this run, of a core, max',
  'cpu.count': 'CPU cores',
  kernel_total_s: 'kernels, added up',
  kernel_busy_s: 'busy with kernels',
  unattributed_busy_s: 'busy for no known zone',
  window_s: 'first work to last, of each trace',
  small_kernel_ratio: 'kernels under 10 µs',
  copy_ratio: 'copies, of that time',
  launch_ahead_s: 'launched ahead, mean',
  launch_queue_count: 'kernels waiting, mean',
  throttled_ratio: 'slowed down by heat or hardware, while it worked',
  throttle_reasons: 'slowed down by',
  power_capped_ratio: 'at its power limit, while it worked',
  power_working_mean_w: 'power while it worked, mean',
  sm_clock_working_mean_mhz: 'SM clock while it worked, mean',
  own_cpu_s: "strobe's threads, CPU",
  own_cpu_ratio: "strobe's threads, of a core",
  record_cost_s: 'one record',
  recording_s: 'recording, added up',
  threads_s: "the program's threads",
  overhead_ratio: 'recording, of their time',
  own_stages_s: "strobe's own stages",
  waiting_s: 'waiting to record',
  steps_per_chain_count: 'steps of a block or generation',
  steps_per_video_mean_count: 'steps of a generation, mean',
  steps_per_block_mean_count: 'steps of a block, mean',
  forwards_per_step_mean_count: 'model calls of a step, mean',
  first_step_s: "a generation's first step, median",
  trace_edge_step_count: 'steps with the begin or end of a GPU trace',
  slow_step_count: 'slow steps',
  slow_step_excess_s: 'slow steps, over their peers',
  gain_s: 'saves',
  gain_basis: 'how sure',
  trade_off: 'costs',
  each_s: 'one takes',
  whatif: 'for strobe whatif',
  warmup_count: 'warm-up',
  peak_count: 'blocks then',
  end_count: 'blocks at the end',
  allocated_s: 'last allocated at',
  denoise_vae: 'denoise and VAE',
};

// Beginnings that read better as words; the rest of the key follows.
const STEMS: [RegExp, string][] = [
  [/^(pcie|nvlink)_tx(?=_|$)/, '$1 from the GPU'],
  [/^(pcie|nvlink)_rx(?=_|$)/, '$1 to the GPU'],
  [/^gpu(\d+)\./, 'gpu $1 '],
  [/^process_memory(?=_|$)/, "this run's memory"],
  [/^load(\d+)(?=_|$)/, 'load ($1 min)'],
  [/^(exit_\w+)_value$/, '$1'],
  [/^unclass.+/, 'not recognised'],
  [/utilization/, 'utilisation'],
  [/throttled$/, 'clocks held by'],
];

const CAPTIONS: Record<string, string> = {
  items: 'One by one',
  top_zones: 'Zones by the GPU time they launched; shares of the busy time',
  idle_zones: 'GPU idle while the CPU was in; shares of the idle time',
  families: 'Kernels by family; shares of the time of all kernels',
  attention: 'Attention kernels; shares of the time of all kernels',
  collectives: 'Collectives; shares of the time of all kernels',
  traces: 'When kernels were traced',
  devices: 'GPUs while traced',
  offload: 'Copies by the zone that asked for them; shares of the busy time',
};

const COUNTED = /(core|sample|process|thread|zone|file|parameter|update|event|kernel|call|device|rank|host|end|step|gap)(?=(_max|_mean|_min|_peak)?$)/;
const CAPITALS = /\b(gpu|cpu|ram|vram|sm|fps|bps|vae|cfg|psi|io|id|pid|cuda|cupti|uuid|rss|pss|dram|nvdec|fp\d\d)\b/gi;
const SPELT: Record<string, string> = { pcie: 'PCIe', nvlink: 'NVLink' };

// "memory_used_mb" -> "memory used", "core_count" -> "cores"
export function title(key: string): string {
  if (TITLES[key]) return TITLES[key];
  const unit = unitOf(key).replace(/^.+(?=_bytes$)/, '');
  let stem = unit ? key.slice(0, -unit.length) : key;
  if (unit === '_count') stem = stem.replace(COUNTED, (w) => (w === 'process' ? 'processes' : w + 's'));
  for (const [begin, words] of STEMS) stem = stem.replace(begin, words);
  return stem.replace(/[_.]/g, ' ').replace(CAPITALS, (w) => w.toUpperCase()).replace(/\b(pcie|nvlink)\b/g, (w) => SPELT[w]);
}

// Over a table or a list of fields.
export function caption(key: string): string {
  const words = CAPTIONS[key] ?? title(key);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const BOUNDS: Record<string, string> = { gpu: 'GPU', cpu: 'CPU', cpu_launch: 'CPU launch', unknown: 'not known' };

export function boundBy(what: string): string {
  return BOUNDS[what] ?? what.replaceAll('_', ' ');
}
