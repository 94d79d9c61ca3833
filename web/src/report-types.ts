// What the JSON of strobe holds. Made by tools/generate from the tables of fields: do not edit.
// Absent data is absent: a key with ? may be missing.

export type Series = Record<string, (number | null)[]>;
export type Free = Record<string, string | number | boolean>; // keys that are not strobe's own

// One run. Every number's key ends in its unit, or is a count word (count, bytes, frames, blocks, steps, events, zones, fps, bps, index, pid, rank, depth, per_second, line). Data that was not recorded is absent, never zero and never null (null appears inside series only, for a sample that could not be read). Times named t_s are seconds since the start of the run.
export type Report = {
  schema: "strobe.report/1";
  session_info: SessionInfo; // which run this is
  system: System; // the machine
  processes?: Process[]; // processes of the command
  stage_analysis: StageAnalysis; // where the time went
  iterations?: Iterations[]; // how regular loops are
  summary: Summary; // what one screen says
  generations: Generations; // what was made
  diffusion_analysis?: DiffusionAnalysis; // steps, frames per second
  block_analysis?: BlockAnalysis; // blocks of frames
  model_analysis?: ModelAnalysis; // parameters, layers, variants
  streaming_analysis?: StreamingAnalysis; // frames that were sent
  cache_analysis?: CacheAnalysis; // the pipeline's caches
  memory?: Memory; // GPU and host memory
  slow_moments?: SlowMoment[]; // slow steps and generations that --gpu-trace=slow:1.5 caught
  slow_watch?: SlowWatch; // what it looked at for them, also where none was slow
  out_of_memory?: OutOfMemory; // memory ran out: what held it
  alloc_retries?: AllocRetries; // torch's allocator got memory only after it had given its cache back
  residency?: Residency; // what memory held, stage by stage
  memory_over_time?: MemoryPicture[]; // what memory held over time: each GPU, the host
  memory_segments?: MemorySegment[]; // fragmentation: blocks of the allocator's segments
  generation_sizes?: Sizes; // what generations of each size needed
  gpu_counters?: GpuCounters; // what parts of the GPU did, the whole run
  sampled_counters?: SampledCounters; // the same sampled every half millisecond, with --gpu-counters
  roofline?: Roofline; // what this GPU can do at most
  efficiency?: StageEfficiency[]; // how well each stage uses the GPU
  gpu_metrics?: GpuMetrics; // what the GPU monitor sampled
  cpu_metrics?: CpuMetrics; // what the CPU monitor sampled
  disk_metrics?: DiskMetrics; // what the disk monitor sampled
  other_metrics?: OtherMetrics[]; // samples of monitors without a panel of their own
  first_charts?: FirstChart[]; // what to draw of the samples on the first screen, in this order
  chart_columns?: ChartColumn[]; // columns that do not share a chart with the others of their unit
  gpu_trace?: GpuTrace; // what the GPU did, kernel by kernel
  hot_lines?: HotLine[]; // lines of the program that time was spent at, largest first
  unattributed?: Unattributed; // what ran while no stage did
  garbage_collection?: GarbageCollections; // Python's garbage collector
  line_profile?: ProfiledFunction[]; // functions with @profile, line by line
  function_samples?: FunctionSamples; // sampled Python stacks
  recommendations: Recommendation[]; // findings, the most urgent first, among equals by the seconds they could save
  verdict: Verdict; // what bounds the run
  readings?: Reading[]; // what the numbers mean, a sentence each
  chat?: Chat[]; // models that write tokens: how soon the first, how fast the others
  padding?: Padding[]; // what is computed and never seen, the largest first
  outputs?: Output[]; // what the program wrote as its result
  strategies?: Strategy[]; // settings that could be changed, stage by stage: the least effort first, then the largest gain
  counters?: Counter[]; // counters of the program
  events?: Event[]; // at most max_data_points, thinned evenly
  event_names?: EventName[]; // how often each event came, the rarest first; at most 1000
  recording: Recording; // what was recorded, and what it cost
  not_recorded: NotRecorded[]; // what is not there, and why
};

// Which run this is.
export type SessionInfo = {
  id: string; // the session's uuid
  name?: string; // the session's name
  start_time: string; // ISO 8601 with offset
  end_time: string; // ISO 8601 with offset
  duration: string; // for people: "131.40 s"
  duration_s: number; // from the start to the end of the recording
  time_digit_s?: number; // the value of the last digit of the imported times: they are exact to half of it
  import_note?: string; // what was doubtful in a text that was imported
  file_date?: true; // what was imported has no date: start_time and end_time come from the date of its file
  no_times?: true; // what was imported has no times: those of this report are made up
  tags: Free; // tags that the program set
  generated_at: string; // when this report was made
  command?: string; // the command line
  commit?: string; // git commit of the folder that it was started in
  state: string; // "complete", "live", "damaged", "ended without a stop"
  run: string; // folder or file of the recording
  host?: string; // the machine's name
  pid: number; // process id of the main process
  rank?: number; // its rank in a distributed job
  local_rank_index?: number; // rank on its machine
  world_size_count?: number; // ranks of the job
  previous_rank?: number; // the next lower rank with a folder beside this one's: ../rank_<N>
  next_rank?: number; // the next higher one
  job?: string; // the tag `job`, else the launcher's id of the job
  attempt_index?: number; // which start of the job this is, from 1: a restart or a second step has the next number
  exit_code_value?: number; // exit code of the command
  exit_signal_value?: number; // the signal that ended the command
  outcome?: string; // in words: "exit 3 after Ctrl-C"
  left_behind?: string; // processes still running when it ended
  cpu_s?: number; // CPU time of the command's processes
  peak_rss_bytes?: number; // resident memory of the largest process
  process_count?: number; // processes of the command; short-lived ones may be missing
  cut_from_s?: number; // start of the selected part
  cut_to_s?: number; // end of the selected part
  cut_generation_index?: number; // the generation asked for, from 1
};

// The machine.
export type System = {
  host?: string; // the machine's name
  facts: Free; // hardware and software, as found
  settings: Free; // strobe's settings of the run
};

// A process of the command.
export type Process = {
  pid: number; // its number
  parent_id?: number; // its parent's number
  command?: string; // its command line
  start_s?: number; // when it began
  end_s?: number; // when it ended
  exit_code_value?: number; // how it ended
  exit_signal_value?: number; // the signal that ended it
  recorded: boolean; // it wrote a recording of its own
};

// Where the time went.
export type StageAnalysis = {
  wall_s: number; // time of the run, or of the selected part
  unattributed_s: number; // wall time outside every stage of every thread and task
  unattributed_ratio?: number; // unattributed_s as a share of wall_s
  unattributed?: UnattributedShare[]; // the Python functions that ran in it, where it is more than 10 % of the run; else those of the generations, where it is more than 5 % of them
  overlap_s?: number; // top-level stages at the same time: their wall times and unattributed_s add up to this much more than wall_s
  combined?: true; // stages of one name were merged, whatever they are in
  stages: Stage[]; // a parent before what is inside it, the largest first
  parts?: TimePart[]; // where the wall time goes: with parts_overlap_s taken off they add up to wall_s
  gaps?: UnattributedGap[]; // times in which no stage of any thread ran, the longest first, at most 20; where only sums of the oldest zones are left, those after them
  parts_overlap_s?: number; // parts at the same time: they add up to this much more than wall_s
  same_name?: SameName[]; // stages that share a name, whatever they are inside of: one row each
  by_name_index?: number[]; // where names are shared: the first stage of each name, the name with the largest total first
  largest?: string[]; // names of the stages in parts, then of those with the most self time, at most 8; in the order in which they began
  bottlenecks: string[]; // names, the largest self time first
};

// A Python function that ran while no stage did, in short.
export type UnattributedShare = {
  function: string; // module and name
  file?: string; // where it is written
  line: number; // the line it was seen at most often
  share_ratio: number; // share of the unattributed time, by the samples there
  seconds_s: number; // share_ratio x unattributed_s: a sampled estimate
};

// All zones of one path: a row of the report.
export type Stage = {
  name: string; // names that differ only in a number are one: "chunk_*"
  code?: string; // the program's own number of the stage: "4c"
  parent?: string; // name of the stage it is inside
  parent_index?: number; // index of that stage in stages, from 0
  role?: "generation" | "iteration" | "step" | "block" | "layer" | "import" | "load" | "compile" | "offload" | "warmup" | "forward" | "collective" | "denoise" | "vae_decode" | "vae_encode" | "text_encode" | "data" | "export" | "profiler"; // what it is; absent: an ordinary stage
  depth: number; // stages around it
  count: number; // outermost calls that began and ended in this part; mean, min, max, percentiles, std and last are of these
  recursive_count?: number; // calls inside a call of the same stage
  open_count?: number; // calls that had not ended when the recording did
  cut_count?: number; // calls cut by the border of the selected part
  folded_count?: number; // part of all these calls: those of which only sums are left
  thread_count?: number; // threads it ran on, where that is more than one
  other_thread?: true; // none of it on the main thread, which has stages besides imports and other set-up
  total_s?: number; // time of its outermost calls; open and cut calls count up to the border
  self_s?: number; // total_s without the stages inside it
  unfinished_s?: number; // the part of total_s that open and cut calls make up; count x mean_s is the rest
  mean_s?: number; // mean of one call
  min_s?: number; // shortest call
  max_s?: number; // longest call
  p50_s?: number; // median of the calls
  p95_s?: number; // 95 % of the calls take at most this
  p99_s?: number; // 99 % of the calls take at most this
  last_s?: number; // the call that ended last
  std_s?: number; // sample deviation (n - 1)
  percentile_error_ratio?: number; // how far off percentiles may be; absent: exact
  gpu_span_s?: number; // time on the GPU, from event to event on a stream; may include idle time
  gpu_span_count?: number; // calls that were timed on the GPU; gpu_span_s is theirs alone
  gpu_late_s?: number; // how long the GPU was still at it after the CPU had left it, inside the generation
  gpu_behind_s?: number; // the part of self_s in which the GPU was still at what had been launched before: the CPU waited or ran ahead
  real_s?: number; // wall time of the stage with its parts, every moment counted to the stage the GPU is at: what the first screen shows; absent: as the CPU has it
  real_ratio?: number; // real_s as a share of the wall time
  gpu_busy_s?: number; // time in which at least one of its kernels ran; with a GPU trace only
  gpu_read_count?: number; // single values it copied to the host and waited for (.item(), bool()), with a GPU trace only
  gpu_read_s?: number; // how long it waited for them
  kernel_s?: number; // time of the kernels it launched, added up, with a GPU trace only
  kernel_families?: KernelShare[]; // the kernels it launched, by what they do; with a GPU trace only
  gpu_work?: GpuWork; // operations, achieved rate, what bounds it
  gpu_counters?: GpuCounters; // what parts of the GPU did in it
  wall_ratio?: number; // its share of the wall time; calls at the same time count once
  self_ratio?: number; // self_s as a share of the wall time; calls at the same time count once
  covered_s?: number; // wall time in which at least one call ran, where that is less than total_s
  at_once_mean_count?: number; // calls at the same time, on average over covered_s
  unattributed_s?: number; // self_s, of a stage that has stages inside it
  first_s?: number; // when its first call began; negative: before the run, reported afterwards
  end_s?: number; // when its last call ended
  time_digit_s?: number; // the value of the last digit of its imported time: it is exact to half of it
  per_frame_s?: number; // time per frame, of its attribute frames
  per_step_s?: number; // time per step, of its attribute steps
  per_iteration_s?: number; // time per iteration, of its attribute iters
  state?: "open" | "skipped" | "untimed"; // absent: it ran and ended
  reason?: string; // why it was skipped
  startup?: true; // it ended before the pipeline began: see summary.startup_end_s
  bottleneck?: true; // the largest self time after the start-up
  bottleneck_level?: "major" | "other" | "model" | "part" | "largest"; // major: the stage with the largest self time in the generations, or one outside of them that takes longer than all of them; other: another with at least a fifth of the wall time (without generations: of the time after the start-up); model: the stage around the major one that has others next to it, where stages have codes; part: the same without codes; largest: instead of major, where the start-up takes most of the run and the stage less than a fifth of it
  span?: true; // recorded as a span: it may overlap the stages next to it
  attributes?: Free; // attributes that the program set: counts are summed up, of others the last value is kept
  member_count?: number; // names that it groups
  members?: StageMember[]; // the largest of them
};

// Kernels of one family, kind and precision.
export type KernelShare = {
  family: string; // GEMM, attention, convolution, normalisation, element-wise, reduction, copy and layout, quantisation, communication, sampling, codec; else "not recognised"
  kind?: string; // which of the family: "flash 2", "AllReduce"
  precision?: string; // precision of what is multiplied: fp32, tf32, bf16, fp16, fp8, int8, fp4
  kernel_count: number; // kernels in it
  total_s: number; // their time added up
  share_ratio?: number; // share of the time of all kernels in the list
  family_index: number; // the place of its family among those of the list, from 0: the family with the largest share first
};

// How near a stage comes to what the GPU can do.
export type GpuWork = {
  flop_count?: number; // floating-point operations of GEMM, attention and convolution, all calls
  uncounted_count?: number; // model calls that could not be counted: also those in steps that a cache served
  uncounted_why?: string; // why the first of them could not be counted
  precision?: string; // precision of most of the weights
  rate_calls?: "warm" | "cold"; // which calls the rate is of. warm: not the first in its process, not in a warm-up, not one in which strobe's own trace began or ended, not in a step that a cache served; cold: all, as none is warm
  rate_call_count?: number; // how many they are
  rate_flop_count?: number; // their part of flop_count
  rate_over_s?: number; // their time: the GPU span where all of them have one, else the wall time
  moves_s?: number; // of that time, weights move between host and GPU (zones of an offload)
  achieved_tflop_per_s?: number; // rate_flop_count over rate_over_s
  peak_tflop_per_s?: number; // peak rate of this GPU in that precision, without sparsity
  mfu_ratio?: number; // achieved over peak
  work_mfu_ratio?: number; // the same over rate_over_s without moves_s: of what the GPU computes, not of the stage
  mfu_why?: string; // why mfu_ratio is absent though the GPU is in the table of peak rates: it ran on the CPU, this GPU has no such precision, or more was counted than it can do (then the rate and floor_s are absent, too)
  floor_s?: number; // rate_flop_count at the peak rate
  dram_bytes?: number; // moved to and from DRAM: as sampled, else from the counters' mean and the data sheet's bandwidth
  flop_per_byte_ratio?: number; // rate_flop_count over dram_bytes
  bound?: string; // what held the GPU up most of the time
  bound_calls?: "warm" | "cold"; // which calls that holds of, as rate_calls; cold: none of the warm ones was read, sampled or traced, or there are none
  bound_basis?: "counters" | "samples" | "rate" | "trace" | "zones"; // counters: the readings inside it; samples: those of --gpu-counters; rate: half of the peak rate or more was reached; trace: the gaps between its kernels; zones: for half of its time or more weights move
  bound_why?: string; // why bound is absent, and which option tells it
  bounds?: BoundShare[]; // everything that held the GPU up, the largest share first; from the counters
};

// What held the GPU up, and for how much of the time.
export type BoundShare = {
  bound: string; // tensor, FP32, DRAM; SM: its processors work, none of these is near its peak; launch: kernels too small or too far apart; copies: between host and GPU, with the time in which the GPU waits for weights that move; host: nothing to do
  share_ratio: number; // share of the time of the readings, or of the traced time
};

// What parts of the GPU did, in percent of their peak; of several that the run used the busiest.
export type GpuCounters = {
  sm_active_percent?: number; // share of time in which an SM had work, mean of all SMs
  occupancy_percent?: number; // warps on the SMs, of the most that fit
  tensor_active_percent?: number; // use of the tensor cores
  tensor_float_percent?: number; // use of the tensor cores by floats of 16 bits or fewer
  tensor_integer_percent?: number; // use of the tensor cores by integers
  fp32_active_percent?: number; // use of the FP32 pipes
  fp64_active_percent?: number; // use of the FP64 pipes
  fp16_active_percent?: number; // use of the FP16 pipes, the tensor cores left out
  integer_active_percent?: number; // use of the integer pipes, the tensor cores left out
  dram_active_percent?: number; // use of the memory's bandwidth
  dram_read_percent?: number; // use of the memory's bandwidth by reads
  dram_write_percent?: number; // use of the memory's bandwidth by writes
  nvdec_active_percent?: number; // use of the busiest video decoder
  utilization_percent?: number; // share of time in which a kernel ran, whatever it used; of the run of all samples, as in gpu_metrics
  pcie_rx_gb_per_s?: number; // received over PCIe
  pcie_tx_gb_per_s?: number; // sent over PCIe
  nvlink_rx_gb_per_s?: number; // received over NVLink
  nvlink_tx_gb_per_s?: number; // sent over NVLink
  dram_gb_per_s?: number; // read from and written to the memory, where that was sampled
  covered_ratio?: number; // share of the time in readings in which the GPU was at nothing else
  source?: "gpm" | "pm sampling"; // gpm: the driver's means over its interval; pm sampling: --gpu-counters
};

// One of the names that a stage groups.
export type StageMember = {
  name: string; // its full name
  count: number; // calls
  total_s: number; // time of all calls
};

// A part of the wall time.
export type TimePart = {
  kind: "stage" | "startup" | "itself" | "smaller" | "elsewhere" | "unattributed"; // startup: all before the pipeline began; itself: a stage without those inside it; smaller: all other stages; elsewhere: stages of other threads and processes alone
  name?: string; // name of the stage
  stage_index?: number; // index of the stage in stage_analysis.stages, from 0
  stage_count?: number; // stages that this part holds, where it holds several
  part_s: number; // its time; calls at the same time count once
  wall_ratio: number; // part_s as a share of wall_s
};

// A time in which no stage ran.
export type UnattributedGap = {
  t_s: number; // when it begins
  duration_s: number; // how long it is
};

// Stages that share a name.
export type SameName = {
  stage_index: number[]; // indices of these stages in stages, from 0
  stage: Stage; // all of them as one, calls at the same time counted once in wall_ratio
};

// How regular a loop is.
export type Iterations = {
  name: string; // of the loop
  role?: "generation" | "iteration" | "step" | "block" | "layer" | "import" | "load" | "compile" | "offload" | "warmup" | "forward" | "collective" | "denoise" | "vae_decode" | "vae_encode" | "text_encode" | "data" | "export" | "profiler"; // what one iteration is
  count: number; // iterations
  total_s?: number; // time of all of them
  mean_s?: number; // mean time of one
  median_s?: number; // median time of one
  std_s: number; // sample deviation (n - 1); 0 for one value
  min_s?: number; // the shortest
  max_s?: number; // the longest
  p95_s?: number; // 95 % take at most this
  p99_s?: number; // 99 % take at most this
  last_s?: number; // the last one
  per_second: number; // iterations a second, without the warm-up; over the time of the iterations, not the time between them
  fps?: number; // frames a second, where an imported text says it
  aside?: true; // from an imported benchmark: neither part of the run's time nor a stage
  warmup_count: number; // slow iterations at the start
  warmup_s?: number; // time of the warm-up
  marked_warmup_count?: number; // iterations inside a warm-up zone (--profiling-warmup); they are not in count nor in any time here
  warm?: StatsSeconds; // statistics without the warm-up; of steps those of the calls that rates are of, as gpu_work counts them
  outlier_count: number; // iterations slower than their peers
  outliers?: Outlier[]; // the slowest of them, at most 20
  series_s: (number | null)[]; // durations in order, thinned
  distribution?: Distribution; // how often an iteration took how long
};

// Statistics of durations.
export type StatsSeconds = {
  count: number; // values
  total_s?: number; // sum
  mean_s?: number; // arithmetic mean
  min_s?: number; // smallest
  max_s?: number; // largest
  p50_s?: number; // median
  p95_s?: number; // 95 % are at most this, interpolated
  p99_s?: number; // 99 % are at most this, interpolated
  std_s?: number; // sample deviation (n - 1); absent under two values
};

// An iteration slower than its peers.
export type Outlier = {
  index: number; // from 0 among the iterations of its name
  t_s?: number; // when it began
  duration_s: number; // how long it took
};

// Durations counted in equal bins.
export type Distribution = {
  from_s: number; // where the first bin begins: the shortest
  bin_s: number; // width of each bin
  value_count: number[]; // durations in each bin; the last bin holds the longest
};

// What one screen says.
export type Summary = {
  wall_s: number; // time of the run, or of the selected part
  generation_count: number; // videos or requests that began and ended, without an error
  video_count?: number; // videos that these made, where some made several at once, images, or latents (attribute `videos`)
  image_count?: number; // images that these made (attribute `images`)
  unfinished_generation_count?: number; // generations that did not end, or that the border of the selected part cuts
  failed_generation_count?: number; // those that an error ended
  failure?: string; // of the first that failed: the error, what it says, the program's line, the stage
  generation_s?: number; // wall time in which at least one generation ran
  unattributed_s?: number; // part of generation_s that no stage covers
  overlap_s?: number; // stages inside at the same time: their wall times and unattributed_s add up to this much more than generation_s
  outside_s?: number; // wall time in which no generation ran
  startup_end_s?: number; // when the first generation began, else the first stage that is not set-up: what lies before is start-up (imports, load, compile)
  startup_unattributed_s?: number; // part of the start-up that no stage covers
  outside_overlap_s?: number; // the same for stages outside the generations
  frames?: number; // output frames, each counted once
  steps?: number; // scheduler steps
  blocks?: number; // blocks of frames
  dropped_frames_count?: number; // frames that were not sent
  width_px?: number; // width of a frame, where all videos have the same
  height_px?: number; // height of a frame, where all videos have the same
  fps?: number; // frames per second end to end, over the wall time of the generations
  compute_fps?: number; // frames per second over the end to end compute time
  bps?: number; // blocks per second end to end
  compute_bps?: number; // blocks per second over the end to end compute time
  first_block_latency_s?: number; // from the start of the generation to the end of its first block
  energy_wh?: number; // energy of the generations
  video_energy_wh?: number; // energy of one video, mean
  run_energy_wh?: number; // energy of the whole run
  gpu_cost?: number; // cost of the generations, in the currency of gpu_cost_per_hour
  video_gpu_cost?: number; // cost of one video, mean
  run_gpu_cost?: number; // cost of the whole run
  gpu_name?: string; // name of the GPU that was used; of several each with its number
  gpu_memory_peak_bytes?: number; // peak memory of the GPU with the highest peak
  gpu_memory_reserved_peak_bytes?: number; // the most that the allocator held
  gpu_memory_total_bytes?: number; // memory of that GPU
  gpu_memory_peak_stage?: string; // the stage in which the peak was reached
  ram_peak_bytes?: number; // the most RAM used on the machine
  ram_total_bytes?: number; // RAM of the machine, or the cgroup's limit where that is lower
  gpu_utilization_mean_percent?: number; // mean utilization of the busiest GPU that the run used, during verdict.judged_s
  process_cpu_mean_percent?: number; // CPU use of the program during verdict.judged_s; 100: one core
  target_fps?: number; // the setting target_fps
  target_reached?: boolean; // fps is at least target_fps
  outside?: Outside[]; // time outside the generations
};

// A part of the run outside the generations.
export type Outside = {
  name: string; // "imports", "load", "compile", or a stage's name
  total_s: number; // its wall time while no generation ran
  moved_bytes?: number; // bytes that it moved
  bottleneck?: true; // a bottleneck: it takes longer than all generations, or a stage inside it does
};

// What was made.
export type Generations = {
  count: number; // generations that the program marked
  whole_run: boolean; // true: no generation was marked, the whole run counts as one
  union_s?: number; // wall time in which at least one generation ran
  in_turn_ratio?: number; // where some ran at the same time: share of their time in the chain of generations that ends last, which is what the run waits for
  wall?: StatsSeconds; // times of those that began and ended in the selected part
  median_index?: number; // which of the items took the middle time, the first one left out: the one a page opens on, unless others alone were traced or sampled
  items: Generation[]; // at most 10 000, in order
};

// One video or request.
export type Generation = {
  name: string; // what the program calls it
  start_s: number; // when it began
  wall_s: number; // how long it took
  frames?: number; // frames of the video
  steps?: number; // scheduler steps
  blocks?: number; // blocks of frames
  width_px?: number; // width of a frame
  height_px?: number; // height of a frame
  fps?: number; // frames over its wall time
  step_median_s?: number; // median time of its steps
  step_max_s?: number; // its longest step
  faster_count?: number; // finished generations that took less time
  denoise_s?: number; // wall time of its steps, or of its denoise stages
  stage_index?: number[]; // where the CPU ran ahead of the GPU in it: indices of the stages it had
  stage_real_s?: (number | null)[]; // real_s of each of them in this generation
  vae_decode_s?: number; // wall time of its VAE decodes
  energy_wh?: number; // energy of all GPUs; shared among generations that ran at the same time
  gpu_cost?: number; // cost in the currency of gpu_cost_per_hour; shared among generations that ran at the same time
  gpu_counters?: GpuCounters; // what parts of the GPU did meanwhile
  utilization_percent?: number; // mean utilization of the busiest GPU that it used
  state?: "open" | "cut" | "failed" | "cached"; // open: had not ended; cut: by the border of the selected part; then frames are those counted, not those announced; failed: an error ended it; cached: nothing had to be computed; none of these is in the times of a video
  error?: string; // of one that failed: the kind of the error, such as RuntimeError
  error_message?: string; // what the error says, in one line of at most 300 characters
  error_place?: string; // file:line of the program's innermost line in the traceback
  error_stage?: string; // the innermost stage that it left
  failure?: string; // all of that in one line, as the reports show it
};

// Steps, frames per second.
export type DiffusionAnalysis = {
  fps?: number; // output frames over the time spent in steps
  bps?: number; // blocks over the time spent in steps
  frames?: number; // output frames, each counted once
  frames_source?: "none" | "as the program counted them" | "the generations' own number" | "frames of the VAE decode stages" | "block sizes, each block once" | "block sizes of the steps, each chain once"; // where the frame count comes from
  latent_frames_count?: number; // frames before the VAE decode
  blocks?: number; // blocks of frames
  steps?: number; // scheduler steps of the whole run
  vae_tiles_count?: number; // tiles of the VAE
  unrated_generation_count?: number; // generations that did not end, or failed, and have no frames: their time is in no rate
  rates: Rate[]; // throughput, scope by scope
  compute_offload_s?: number; // part of the end to end compute_s in which weights moved
  split: Split[]; // where the generations' time went
  steps_per_chain_count?: number; // scheduler steps of one block, or of one video where there are no blocks; of several the most
  steps_per_chain_min_count?: number; // the fewest of one that came to its end, where they differ
  steps_per_video_mean_count?: number; // steps of a video, mean
  steps_per_block_mean_count?: number; // steps of a block, mean
  forwards_per_step_mean_count?: number; // model calls of a step, mean
  first_step_s?: number; // median of the generations' first steps
  step?: StatsSeconds; // time of a step
  warm_step?: StatsSeconds; // time of a step, without the warm-up
  cached?: CachedSteps; // steps that a cache served
  by_block_size?: StepGroup[]; // steps by the size of their block
  trace_edge_step_count?: number; // steps in which strobe began or ended its GPU trace (all traced steps if those are few); never among slow_steps
  slow_step_count?: number; // steps slower than their peers
  slow_step_excess_s?: number; // how much longer than their peers they took, added up
  slow_steps?: SlowStep[]; // slowest first, at most 20
  series?: Series; // one row per step, thinned
  distribution?: Distribution; // how often a step took how long
  offload?: Offload[]; // weights that were moved
};

// One scope of the throughput, over wall time and over compute time.
export type Rate = {
  scope: "denoise" | "denoise_vae" | "end_to_end"; // which part of the work is counted
  wall_s?: number; // wall time of that part
  compute_s?: number; // time of its steps, decodes and encodes, with all that runs in them: weights that are moved there, too
  wall_fps?: number; // frames over wall_s
  compute_fps?: number; // frames over compute_s
  wall_bps?: number; // blocks over wall_s
  compute_bps?: number; // blocks over compute_s
};

// A part of the generations' time; the parts add up to it.
export type Split = {
  part: string; // "denoise", "vae_decode", … "unattributed", "overlap"
  self_s: number; // wall time of its stages without those inside them; of overlap a negative time: what the other parts count twice
  wall_ratio?: number; // share of the generations' wall time
};

// Steps that a cache served.
export type CachedSteps = {
  steps: number; // steps that a cache served
  step_ratio: number; // share of all steps
  step?: StatsSeconds; // time of one of them
};

// Steps of blocks of one size.
export type StepGroup = {
  block_size_frames_count: number; // frames of a block
  steps: number; // steps of that size
  total_s: number; // their time added up
  mean_s: number; // mean time of one
  std_s?: number; // sample deviation (n - 1)
  p50_s?: number; // median time of one
  p95_s?: number; // 95 % take at most this
};

// A step slower than its peers.
export type SlowStep = {
  step_index: number; // the pipeline's own number; -1: it gave none
  iteration_index: number; // from 0 among all steps of its name: the index of the same step in iterations[].outliers; the text counts from 1
  block_index?: number; // the block it is in
  t_s: number; // when it began
  duration_s: number; // how long it took
  peer_median_s: number; // median of its peers: steps of the same block size, served by a cache or not alike, not the first
};

// Moving weights between GPU and host.
export type Offload = {
  name: string; // name of the stage
  count: number; // calls
  total_s: number; // their time
  moved_bytes?: number; // weights that were moved
  gb_per_s?: number; // moved_bytes over total_s; 1 GB is 10^9 bytes
};

// Blocks of frames.
export type BlockAnalysis = {
  fps?: number; // frames over the time spent in steps
  bps?: number; // blocks over the time spent in steps
  frames?: number; // frames of all blocks
  blocks?: number; // blocks
  steps?: number; // steps of all blocks
  block_size_mean_frames_count?: number; // frames of a block, mean
  first_block_latency_s?: number; // from the start of the generation to the end of its first block, median
  first_block_s?: number; // the first block itself
  later_block_s?: number; // median of the others
  block?: StatsSeconds; // time of a block
  by_block_size?: BlockGroup[]; // blocks by their size
  items: Block[]; // in order, thinned
  distribution?: Distribution; // how often a block took how long
};

// Blocks of one size.
export type BlockGroup = {
  block_size_frames_count: number; // frames of a block
  blocks: number; // blocks of that size
  total_s: number; // their time added up
  mean_s: number; // mean time of one
  std_s?: number; // sample deviation (n - 1)
  p50_s?: number; // median time of one
  p95_s?: number; // 95 % take at most this
};

// One block of frames.
export type Block = {
  index?: number; // the pipeline's own number
  frames?: number; // its frames
  t_s: number; // when it began
  duration_s: number; // how long it took
  memory_bytes?: number; // GPU memory at its end
};

// Parameters, layers, variants.
export type ModelAnalysis = {
  parameter_count?: number; // parameters of all models
  device?: string; // what an imported benchmark ran on: "cuda"
  gpu_name?: string; // the GPU that it names
  models?: ModelEntry[]; // the largest first
  layers?: Layers; // the layers of the model
  variants?: Variant[]; // in the order of the run
  operators?: Operator[]; // of an imported table of torch.profiler, the most self time first
};

// One model of the pipeline.
export type ModelEntry = {
  name: string; // of the model
  type?: string; // its class
  parameter_count: number; // parameters; -1: not known
  parameters: string; // for people: "1.3B"
  size_mb?: number; // size of its weights; 1 MB is 2^20 bytes
  step_flops?: number; // operations of one step
  reached_tflops?: number; // operations over the time of the steps
};

// The layers of the model.
export type Layers = {
  total_s: number; // time of the outermost layers
  timed_on?: "gpu" | "cpu"; // gpu: these times are GPU spans; absent where an imported text does not say it
  block_mean_s?: number; // mean of the blocks' means
  block_std_s?: number; // sample deviation of the blocks' means
  block_count: number; // blocks of the model
  attention_ratio?: number; // share of total_s spent in attention
  components: LayerComponent[]; // layers by kind; they add up to total_s
  slowest: Layer[]; // blocks, or outermost layers where there are none; at most 5
  items: Layer[]; // every layer, slowest mean first
};

// Layers of one kind.
export type LayerComponent = {
  name: string; // "patch_embed", "blocks", "norm", …
  layer_count: number; // its layers
  total_s: number; // their time
  model_ratio?: number; // share of the time of all outermost layers
};

// A layer of the model.
export type Layer = {
  name: string; // of the layer
  component: string; // "patch_embed", "blocks", "norm", …
  count: number; // calls
  total_s: number; // their time
  mean_s: number; // mean of one call
  std_s?: number; // sample deviation (n - 1)
  gpu_span_s?: number; // time on the GPU, from event to event on a stream
  model_ratio?: number; // share of the time of all outermost layers
  nested?: true; // inside another layer: not in the total
};

// A precision or another named variant.
export type Variant = {
  name: string; // of the variant: "fp16"
  count: number; // measurements
  warmup_count: number; // measurements left out at the start
  mean_s: number; // mean time of one
  std_s?: number; // sample deviation (n - 1)
  speedup_ratio?: number; // how many times as fast as the first variant
  reading?: string; // the speed-up in words
};

// An operator of torch.profiler's table.
export type Operator = {
  name: string; // of the operator: "aten::addmm"
  count: number; // calls
  self_s: number; // CPU time without the operators inside it
  total_s?: number; // CPU time with them
  gpu_s?: number; // GPU time of its kernels
  self_ratio?: number; // share of all self CPU time in the table
};

// Frames that were sent.
export type StreamingAnalysis = {
  batch_count: number; // batches that were sent
  frames?: number; // frames that were sent
  dropped_count?: number; // frames that were dropped
  dropped_ratio?: number; // share of all frames
  fps?: number; // frames per second; absent where the batches were handed in at once
  batches_per_s?: number; // batches per second
  encode?: StatsMilliseconds; // time to encode a batch
  network?: StatsMilliseconds; // time to send a batch
  buffer?: StatsRatio; // how full the buffer is
  series?: Series; // one row per batch, thinned
};

// Statistics of durations.
export type StatsMilliseconds = {
  count: number; // values
  total_ms?: number; // sum
  mean_ms?: number; // arithmetic mean
  min_ms?: number; // smallest
  max_ms?: number; // largest
  p50_ms?: number; // median
  p95_ms?: number; // 95 % are at most this, interpolated
  p99_ms?: number; // 99 % are at most this, interpolated
  std_ms?: number; // sample deviation (n - 1); absent under two values
};

// Statistics of shares.
export type StatsRatio = {
  count: number; // values
  total_ratio?: number; // sum
  mean_ratio?: number; // arithmetic mean
  min_ratio?: number; // smallest
  max_ratio?: number; // largest
  p50_ratio?: number; // median
  p95_ratio?: number; // 95 % are at most this, interpolated
  p99_ratio?: number; // 99 % are at most this, interpolated
  std_ratio?: number; // sample deviation (n - 1); absent under two values
};

// The pipeline's caches.
export type CacheAnalysis = {
  caches: Cache[]; // every cache, by name
};

// One cache of the pipeline.
export type Cache = {
  name: string; // of the cache
  hit_count: number; // hits
  miss_count: number; // misses
  eviction_count: number; // evictions
  hit_ratio?: number; // hits / (hits + misses); evictions are not requests
  size_bytes?: number; // size at the end
  size_peak_bytes?: number; // largest size
  threshold_value?: number; // what a score is compared with
  score_mean_value?: number; // mean of the scores
  scored_miss_count?: number; // misses with a score and a threshold
  near_miss_count?: number; // part of scored_miss_count: those within a quarter of the threshold
  miss_score_median_value?: number; // median of their scores
  timeline: CacheEvent[]; // in order, thinned
};

// A request to a cache, or an eviction.
export type CacheEvent = {
  t_s: number; // when
  kind: "eviction" | "hit" | "miss"; // what happened
  count: number; // how often it happened
  chunk_index?: number; // the pipeline's number of the chunk
  frame_index?: number; // the pipeline's number of the frame
  score_value?: number; // what was compared with the threshold
  threshold_value?: number; // the threshold then
};

// GPU and host memory.
export type Memory = {
  peak_mb?: number; // peak memory of the GPU with the highest peak
  peak_t_s?: number; // when it was reached
  peak_stage?: string; // the stage in which memory rose to it
  peak_source?: "allocated" | "process" | "device"; // allocated: as the allocator says; process, device: sampled
  peak_device_index?: number; // which GPU
  tensors_peak_mb?: number; // the most that this GPU's tensors held at a time, by its allocator's own maximum; what the processes hold may peak later: the allocator keeps what it took
  tensors_peak_t_s?: number; // when, or when it was first read
  tensors_peak_stage?: string; // the stage that allocated them; absent: outside every stage, or it is not known
  peak_used_mb?: number; // what that GPU held then in all, with other processes and the driver: as in residency
  reserved_peak_mb?: number; // the most that the allocator held
  device_total_mb?: number; // memory of that GPU
  fragmentation?: Fragmentation; // reserved and unused GPU memory
  spike?: MemorySpike; // the steepest rise
  snapshot_count?: number; // snapshots, listed or not
  snapshots?: MemorySnapshot[]; // in order
  stages?: MemoryStage[]; // what stages take and keep
  stages_generation_index?: number; // of several generations the one, from 1, that the peaks of stages are of; a stage without a call in it has that of others
  allocators?: Allocator[]; // allocations that the program reported
  residents?: ResidentAt[]; // the parts of residency as flat rows, with the unnamed rest: those of one moment add up to the device's own number
  lines?: MemoryLine[]; // lines of the program that held GPU memory at the peak, from a snapshot of torch's allocator
  growth?: MemoryGrowth[]; // what generations, steps and calls leave behind
  host?: HostMemory; // the machine's own memory
  timeline?: Series; // GPU memory, RAM, swap and page cache side by side
};

// Reserved and unused GPU memory, at the worst snapshot.
export type Fragmentation = {
  unused_ratio?: number; // 1 - allocated / reserved
  unused_mb?: number; // reserved and not allocated
  reserved_mb?: number; // reserved then
  label?: string; // of that snapshot
};

// The steepest rise between two readings.
export type MemorySpike = {
  rise_mb?: number; // how much memory rose
  t_s?: number; // when
  stage?: string; // the stage in which it rose, which filled the time between the readings; absent: outside every stage
};

// Memory at one moment.
export type MemorySnapshot = {
  label: string; // what the program calls the moment
  t_s: number; // when
  device: string; // "gpu:0" or "host"
  allocated_mb?: number; // in use; 1 MB is 2^20 bytes
  reserved_mb?: number; // held by the allocator
  peak_mb?: number; // the most that was allocated so far
  stage?: string; // the stage in which it was taken
};

// What a stage takes and keeps.
export type MemoryStage = {
  name: string; // name of the stage
  count: number; // calls
  peak_mb?: number; // the most that was held while it ran, in the generation with the highest peak, else in any
  before_mb?: number; // before its last call
  after_mb?: number; // after its last call
  kept_mb?: number; // allocated after it and not before; negative: it freed more
  freed?: boolean; // kept no more than 5 % of its peak, or 64 MB
  let_go?: boolean; // gone after its generation
};

// Allocations as the program reported them.
export type Allocator = {
  name: string; // of the allocator
  alloc_count: number; // allocations
  alloc_bytes: number; // allocated in all
  free_count: number; // frees
  free_bytes: number; // freed in all
  live_bytes: number; // not freed at the end
  live_peak_bytes: number; // most at once
};

// What a part of memory held at one moment.
export type ResidentAt = {
  stage: string; // directly inside that generation; without one an outermost stage
  at: "begin" | "peak" | "end"; // which moment of it
  device_index?: number; // which GPU; absent: the host
  component: string; // what held it; "unnamed": the rest
  dtype?: string; // data type of its weights
  bytes: number; // how much; negative: readings of different moments overlap
};

// Memory of a GPU or of the host that a line of the program allocated.
export type MemoryLine = {
  file?: string; // source file; absent: allocated before the history began
  line?: number; // line number of the innermost call outside torch itself
  function?: string; // the function that the line is in
  device_index?: number; // which GPU; absent: the host
  peak_mb: number; // memory from this line in use at the peak
  peak_count: number; // allocations in use at the peak
  end_mb: number; // memory from this line in use when the snapshot was taken
  end_count: number; // allocations in use when the snapshot was taken
  allocated_s?: number; // when it allocated last before the peak; absent: before the history
  stage?: string; // the stage that was open then
  by_size?: true; // some of its allocations have no stack: they were matched to this line by their size
  stack?: string; // of its largest allocation, innermost first
};

// How memory and open files grow with generations, steps and calls, or over time.
export type MemoryGrowth = {
  of: "vram" | "host" | "pinned" | "open_files"; // vram: the allocator's, or the process's as sampled; host: resident without mapped files
  per: "generation" | "step" | "call" | "second"; // what it is counted by
  stage?: string; // the stage whose calls are counted
  where?: string; // the stage in which most of it rose
  verdict: "steady" | "settles" | "returned" | "grows"; // steady; settles: a cache that filled up; returned: given back after the generation; grows: a leak
  unit_count: number; // generations, steps, calls or seconds
  reading_count: number; // low-water marks between them
  per_unit_mb?: number; // growth per generation, step, call or second: median slope over all pairs of readings
  per_unit_low_mb?: number; // low end of its 95 % interval
  per_unit_high_mb?: number; // high end of its 95 % interval
  per_unit_count?: number; // the same in open files
  per_unit_low_count?: number; // low end of its 95 % interval
  per_unit_high_count?: number; // high end of its 95 % interval
  p_value_ratio: number; // chance of readings in such an order if nothing grew
};

// The machine's own memory.
export type HostMemory = {
  ram_peak_mb?: number; // the most RAM in use on the machine, also by other programs, or in the cgroup
  ram_total_mb?: number; // RAM of the machine, or the cgroup's limit where that is lower
  ram_of_cgroup?: true; // ram_peak_mb and ram_total_mb are of the cgroup, not of the machine
  rss_peak_mb?: number; // the most resident memory of the run's processes
  swap_peak_mb?: number; // the most that was swapped out
  page_cache_peak_mb?: number; // the most memory used to cache files
};

// A slow moment that was caught, beside a normal one.
export type SlowMoment = {
  what: string; // "step", "generation", "out_of_memory", "asked"
  judged_by?: string; // "clock": its time, "gpu": the time of what it launched, "pause": that after it, up to the next step
  why?: string; // why it was caught, where it was asked for
  step_index?: number; // the pipeline's own number
  generation_index?: number; // the generation that it lies in, from 1, as --generation takes it; absent: none, or several that ran at once
  t_s: number; // when it began
  duration_s: number; // how long it took
  normal_t_s?: number; // when the normal one began
  normal_duration_s?: number; // how long that took
  peer_median_s?: number; // of the last ones of its kind, by the measure it was judged by
  gpu_work_s?: number; // kernels and copies it launched, added up
  normal_gpu_work_s?: number; // the same of the normal one
  gpu_idle_s?: number; // time in which the GPU was idle between the first and the last of these
  normal_gpu_idle_s?: number; // the same of the normal one
  counters?: SlowMomentCounter[]; // sampled counters of both, where there are samples
  parts?: SlowMomentPart[]; // what took longer: kernels, copies, stages, functions, each largest first; all of its time where there is no normal one
  row?: SlowRow; // where several were slow one after the other: these; all else is of the slowest one
  words?: string; // where the time went, in a sentence
};

// What the GPU's counters said meanwhile (--gpu-counters=slow).
export type SlowMomentCounter = {
  counter: string; // "sm_active_percent", "tensor_active_percent", "dram_active_percent" …
  percent?: number; // mean of the samples inside the slow one
  normal_percent?: number; // inside the normal one
};

// What took longer than in the normal one.
export type SlowMomentPart = {
  kind: string; // "kernel", "copy" (or fill), "stage" (its own time), "garbage" (collections of a millisecond or more), "function" (sampled)
  name: string; // name of the kernel, copy, stage or function
  file?: string; // where that function is written; functions are those of the thread that ran the step
  line?: number; // the line of it that most of the time was in
  inside?: string; // the function of a library that it had called there, such as a wait
  count: number; // in the slow one: launches, calls, samples
  normal_count: number; // in the normal one
  total_s: number; // in the slow one
  normal_s: number; // in the normal one
  more_s: number; // total_s less normal_s
};

// Steps or generations that were slow one after the other.
export type SlowRow = {
  count: number; // how many there were in a row
  first_step_index?: number; // the pipeline's own number
  last_step_index?: number; // of the last one
  t_s: number; // when the first one began
  duration_s: number; // up to the end of the last one
  slowest_ratio?: number; // the slowest over the median of its peers, by the measure it was judged by
  words: string; // the same in words
};

// What a watch for slow moments (--gpu-trace=slow:1.5) looked at.
export type SlowWatch = {
  slow_ratio: number; // slow is so many times the median of its peers
  step_count?: number; // steps that the watch saw end; absent where it did not end, as in a program that was killed
  judged_step_count?: number; // those of them that had peers: not the first of a generation, nor those with fewer than four of their kind before them
  generation_count?: number; // generations that it saw end
  judged_generation_count?: number; // those of them that had peers
  slow_count: number; // how many were caught for being slow: those of slow_moments
  displaced_count: number; // slow moments that were kept and gave way to slower ones, or to what was asked for
  unkept_count?: number; // slow moments that were not kept beside those
  words: string; // the same in a sentence
};

// Memory ran out.
export type OutOfMemory = {
  killed?: true; // the kernel killed the process because host memory ran out
  count: number; // how often it happened
  t_s?: number; // when, the last time
  device_index?: number; // which GPU; absent: the host
  requested_bytes?: number; // bytes that were asked for
  free_bytes?: number; // free on the device, or of the program's own limit
  total_bytes?: number; // memory that the device has
  allocated_bytes?: number; // bytes that tensors held
  slack_bytes?: number; // reserved by the allocator and not in use: other sizes, fragments
  limit_bytes?: number; // limit that the program set for its allocator; absent: none
  fragmented_bytes?: number; // part of slack_bytes that lies between blocks in use and cannot be given back
  piece_count?: number; // pieces that fragmented_bytes consists of
  largest_piece_bytes?: number; // the largest of them
  stage?: string; // the stage in which it ran out
  file?: string; // source file of the line that asked for it
  line?: number; // number of that line
  residents?: Resident[]; // what held the memory, largest first
  would_fit?: WouldFit[]; // what would have freed enough memory, the smallest first; if nothing would, all that can be freed
  stage_begin_s?: number; // when that call of the stage began
  times?: OutOfMemoryTime[]; // where it happened several times, each of the first 32
};

// A part of what memory held.
export type Resident = {
  component: string; // weights of a model, tensors, slack, the rest
  bytes: number; // bytes that it held
  dtype?: string; // data type, of weights
};

// What would have given the memory.
export type WouldFit = {
  free: string; // what to free or offload
  bytes: number; // bytes that this frees
  fits: boolean; // the request fits once it is freed
};

// One of several times that memory ran out.
export type OutOfMemoryTime = {
  t_s: number; // when
  device_index?: number; // which GPU; absent: the host
  requested_bytes?: number; // bytes that were asked for
  free_bytes?: number; // free on the device, or of the program's own limit
  stage?: string; // the stage in which it ran out
  file?: string; // source file of the line that asked for it
  line?: number; // number of that line
};

// The allocator gave its cache back and asked again.
export type AllocRetries = {
  count: number; // how often it happened
  reading_count: number; // readings of the memory that show it
  t_s?: number; // when the last of them was taken
  device_index: number; // which GPU
  allocated_bytes?: number; // bytes that tensors held, at the reading before
  slack_bytes?: number; // reserved by the allocator and not in use, at the reading before
  total_bytes?: number; // memory that the device has
  limit_bytes?: number; // limit that the program set for its allocator; absent: none
  given_back_bytes?: number; // given back to the driver, all times together
  stage?: string; // the stage in which it happens
  residents?: Resident[]; // what held the memory after it, largest first
};

// What memory held at the begin, the peak and the end of each stage.
export type Residency = {
  generation_index: number; // from 1: the whole one in which a GPU's allocator held most, else the one in which the GPU's memory rose to its peak, else the last; 0: the program has none
  moments: ResidencyMoment[]; // begin, peak and end of each stage
  unplaced?: string[]; // models that an older strobe saw moving between the host and a GPU, without where to: their weights have no part of their own
};

// What memory held at one moment of a stage.
export type ResidencyMoment = {
  stage: string; // directly inside the generation; without one an outermost stage
  at: "begin" | "peak" | "end"; // which moment of it
  device_index?: number; // which GPU; absent: the host
  t_s: number; // since the run's start
  total_bytes: number; // in use on the GPU, as its driver says (between two samples that the allocator has left behind: with what it had reserved then); of the host the processes' resident memory
  parts: Resident[]; // what it consists of, largest first
  rest_bytes: number; // total_bytes less the parts; negative: readings of different moments overlap
  pinned_bytes?: number; // of the host: pinned memory, which may be among its parts
  page_cache_bytes?: number; // of the host: the machine's page cache, apart from the processes
};

// What memory of a device, or of the host, held over time.
export type MemoryPicture = {
  device_index?: number; // which GPU; absent: the host
  by_line?: true; // layers are lines of the program, from the allocator's history; absent: components
  by_stage?: true; // layers are stages: memory that was taken while one was open and is still held; what is given back is taken off the newest first, unless exact is set
  exact?: true; // of stages: the stage in which each block was allocated, from the allocator's history; absent: estimated from readings of the sum
  peak_index: number; // the moment at which the layers are highest, from 0
  t_s: (number | null)[]; // moments; of those that lie close together the highest
  stages: string[]; // the innermost stage that was open at each moment; empty: none
  layers: MemoryLayer[]; // from the bottom: what stays, then what comes and goes
  sum_mb: (number | null)[]; // all layers together, at each moment
  small_mb?: (number | null)[]; // all small layers together, at each moment; absent: none is small
};

// One part of memory over time.
export type MemoryLayer = {
  component: string; // what held it: a component as in residency, a line or a stage
  dtype?: string; // data type, of weights
  held_mb: (number | null)[]; // what it held at each moment
  stack?: string; // of a line: the Python stack of its largest allocation, innermost first
  most_mb: number; // the largest value of held_mb
  small?: true; // drawn together with the other small layers
};

// Blocks of a segment of torch's allocator, where free memory lies between blocks in use.
export type MemorySegment = {
  device_index: number; // which GPU
  segment_bytes: number; // memory that the allocator took in one piece
  free_bytes: number; // free memory between blocks in use
  free_count: number; // free pieces
  largest_free_bytes: number; // the largest of them: a larger request does not fit
  part_bytes: (number | null)[]; // its blocks from one end to the other; neighbours that are small are joined
  used_ratio: (number | null)[]; // how much of each part is in use
};

// What generations of each size needed: strobe fit.
export type Sizes = {
  model?: string; // the model: runs with the same text belong together
  device?: string; // the GPU, or cpu
  vram_total_bytes?: number; // memory of the GPU
  ram_total_bytes?: number; // memory of the machine, or the limit of its cgroup
  frames_of_one_video?: true; // 'frames' are those of one video, also where a generation makes several
  sizes: Size[]; // one row for each size, in order
};

// Generations of one size.
export type Size = {
  attributes: Free; // numbers that the generations carry
  generation_count: number; // generations of this size
  generation_s?: number; // median of the warm ones; where there are none, of those that were the first in their process
  warm_count?: number; // generations that were not the first in their process
  first_generation_s?: number; // median of those that were the first in their process: cold
  allocated_bytes?: number; // peak of the GPU's allocator, known where it rose in one of them
  reserved_bytes?: number; // the most that the allocator held
  process_bytes?: number; // the processes' GPU memory, the highest sample
  rss_bytes?: number; // the processes' host memory: the highest sample, or the kernel's own maximum where it rose in one of them
  out_of_memory?: true; // memory ran out in one of them
  stages?: SizeStage[]; // stages directly inside these generations
};

// A stage of generations of one size.
export type SizeStage = {
  stage: string; // directly inside the generation
  total_s: number; // its time in one generation
  allocated_bytes?: number; // the highest that the GPU's allocator had while it ran
  process_bytes?: number; // the highest sample of the processes' GPU memory
  rss_bytes?: number; // the processes' host memory: the highest sample, or the kernel's own maximum where it rose inside
};

// Counters of the GPU sampled with --gpu-counters.
export type SampledCounters = {
  t_s?: number; // when the sampling began
  duration_s?: number; // until it ended for the last time
  sampled_s?: number; // part of duration_s in which it sampled
  sample_count: number; // samples, of all GPUs
  lost_count: number; // samples that were lost
  interval_s?: number; // mean length of a sample
  gpu_counters?: GpuCounters; // means of all samples of the busiest GPU
  pcie_read_bytes_per_s?: number; // what that GPU read over PCIe, mean
  pcie_write_bytes_per_s?: number; // what it wrote
  sm_clock_mhz?: number; // mean clock of its SMs in samples in which they had work
  sm_clock_elsewhere_mhz?: number; // the same as the driver reads it, while the GPU was busy and not sampled
  clocks?: "as usual" | "held"; // held: steady, and more than 5 % off the usual: times measured meanwhile are not the usual ones
  families?: SampledFamily[]; // by kernel family, where a kernel trace ran meanwhile
};

// What the GPU did in kernels of one family.
export type SampledFamily = {
  family: string; // as in kernel_families
  kind?: string; // which of the family
  precision?: string; // precision of what is multiplied
  total_s: number; // time of its kernels while traced
  gpu_counters?: GpuCounters; // of the samples that lie wholly inside its kernels; covered_ratio: their part of total_s
};

// What this GPU can do at most.
export type Roofline = {
  gpu?: string; // whose ceilings they are
  source?: string; // where the figures come from; absent: this GPU is not in the table
  mfu_why?: string; // why no stage has an MFU
  dram_peak_gb_per_s?: number; // its memory's bandwidth
  ceilings?: Ceiling[]; // its peak rates
};

// A rate that the GPU cannot exceed.
export type Ceiling = {
  precision: string; // fp32, tf32, bf16, fp8...
  peak_tflop_per_s: number; // peak rate, without sparsity
};

// gpu_work of a stage, in short.
export type StageEfficiency = {
  stage: string; // its name
  flops?: number; // floating-point operations, as flop_count
  tflops_per_s?: number; // achieved rate
  mfu_percent?: number; // achieved rate in percent of this GPU's peak
  rate_calls?: "warm" | "cold"; // which calls rate, percent and floor_s are of, as in gpu_work
  moves_s?: number; // of their time, weights move
  work_mfu_percent?: number; // mfu_percent without that time
  bytes?: number; // moved to and from DRAM
  bound_by?: "tensor" | "fp32" | "dram" | "sm" | "launch" | "host" | "copies" | "communication"; // what held the GPU up most of the time; sm: its processors work, and neither tensor cores, FP32 pipes nor memory are near their peak
  bound_why?: string; // why bound_by is absent, and which option tells it
  floor_s?: number; // operations of rate_calls at the peak rate
};

// What the GPU monitor sampled.
export type GpuMetrics = {
  device_count: number; // GPUs that were sampled
  energy_wh?: number; // energy of the GPUs that the run used, over the whole run; of all where nothing tells
  gpu_cost?: number; // cost of the whole run, in the currency of gpu_cost_per_hour
  devices: GpuDevice[]; // every GPU, by its number
};

// A GPU as sampled.
export type GpuDevice = {
  index: number; // the driver's number
  name?: string; // as the driver calls it
  uuid?: string; // tells it from every other GPU
  used: boolean; // it did something for this run
  sample_count: number; // samples, before they were thinned
  memory_total_mb?: number; // memory it has
  memory_used_min_mb?: number; // lowest memory use of all processes
  memory_used_mean_mb?: number; // mean memory use of all processes
  memory_used_max_mb?: number; // highest memory use of all processes
  utilization_min_percent?: number; // lowest one
  utilization_mean_percent?: number; // mean utilization
  utilization_max_percent?: number; // highest utilization
  memory_utilization_mean_percent?: number; // time in which memory was read or written, mean
  memory_utilization_max_percent?: number; // time in which memory was read or written, highest
  temperature_mean_c?: number; // mean temperature
  temperature_max_c?: number; // highest temperature
  power_mean_w?: number; // mean power
  power_working_mean_w?: number; // mean power of the samples in which it worked (utilization of 10 % or more)
  power_max_w?: number; // highest power
  sm_clock_min_mhz?: number; // lowest clock of the processors
  sm_clock_mean_mhz?: number; // mean clock of the processors
  sm_clock_working_mean_mhz?: number; // mean clock of the processors in the samples in which it worked
  sm_clock_max_mhz?: number; // highest clock of the processors
  memory_clock_mean_mhz?: number; // mean clock of the memory
  memory_clock_max_mhz?: number; // highest clock of the memory
  encoder_mean_percent?: number; // mean use of the video encoder
  encoder_max_percent?: number; // highest use of the video encoder
  decoder_mean_percent?: number; // mean use of the video decoder
  decoder_max_percent?: number; // highest use of the video decoder
  pcie_tx_mean_gb_per_s?: number; // sent over PCIe, mean
  pcie_tx_max_gb_per_s?: number; // sent over PCIe, highest
  pcie_rx_mean_gb_per_s?: number; // received over PCIe, mean
  pcie_rx_max_gb_per_s?: number; // received over PCIe, highest
  nvlink_tx_mean_gb_per_s?: number; // sent over NVLink, mean
  nvlink_tx_max_gb_per_s?: number; // sent over NVLink, highest
  nvlink_rx_mean_gb_per_s?: number; // received over NVLink, mean
  nvlink_rx_max_gb_per_s?: number; // received over NVLink, highest
  process_memory_mean_mb?: number; // memory of this run's processes, mean
  process_memory_max_mb?: number; // memory of this run's processes, highest
  other_process_max_count?: number; // processes of others on the GPU, at most
  others_utilization_mean_percent?: number; // share of the time in which these kept it busy, mean
  others_utilization_max_percent?: number; // share of the time in which these kept it busy, highest
  energy_wh?: number; // energy that it used in the run
  gpu_cost?: number; // cost of its time, in the currency of gpu_cost_per_hour
  throttled_ratio?: number; // share of the samples with work in which a fault held it back (heat, slowdown, power brake)
  power_capped_ratio?: number; // share of the samples with work at its power limit or in step with other GPUs: its speed under load, no fault
  throttle_reasons?: string[]; // what held it back
  series?: Series; // its samples
  counters?: Series; // what its parts did, each row since the one before; absent: not counted
  sampled?: Series; // the same sampled every half millisecond, with --gpu-counters; a row may be the mean of several; one without values ends a gap
};

// What the CPU and process monitors sampled.
export type CpuMetrics = {
  sample_count?: number; // samples, before they were thinned
  usage_min_percent?: number; // lowest use of the machine's CPUs
  usage_mean_percent?: number; // mean use of the machine's CPUs
  usage_max_percent?: number; // highest use of the machine's CPUs
  process_mean_percent?: number; // use by the run, mean; 100: one core
  process_max_percent?: number; // use by the run, highest
  frequency_mean_mhz?: number; // mean clock
  frequency_max_mhz?: number; // highest clock
  load1_mean_count?: number; // load average of one minute, mean
  load1_max_count?: number; // load average of one minute, highest
  series?: Series; // samples of the machine
  core_count?: number; // cores that were sampled
  cores?: Series; // use of each core
  rss_mean_mb?: number; // resident memory of the run's processes, mean
  rss_max_mb?: number; // resident memory of the run's processes, highest
  pss_mean_mb?: number; // the same, shared pages counted once, mean
  pss_max_mb?: number; // the same, shared pages counted once, highest
  process_max_count?: number; // processes of the run, at most
  thread_max_count?: number; // threads of the run, at most
  process?: Series; // samples of the run's processes
  pressure?: Series; // time in which something waited for CPU, memory, disk
};

// What the disk monitor sampled.
export type DiskMetrics = {
  read_bytes?: number; // read by the run's processes
  write_bytes?: number; // written by the run's processes
  machine_read_bytes?: number; // read by the whole machine
  machine_write_bytes?: number; // written by the whole machine
  read_mean_gb_per_s?: number; // over the sampled time; 1 GB is 10^9 bytes
  write_mean_gb_per_s?: number; // over the sampled time
  read_max_gb_per_s?: number; // the best interval between two samples
  write_max_gb_per_s?: number; // the best interval between two samples
  series?: Series; // rates over time
};

// Samples of a monitor without a panel of its own.
export type OtherMetrics = {
  source: string; // the monitor's name
  device_index?: number; // which of several
  sample_count: number; // samples, before they were thinned
  series?: Series; // its samples
};

// Samples that most readers look for first.
export type FirstChart = {
  source: "gpu" | "cpu" | "disk" | "process"; // the monitor's name
  device_index?: number; // which GPU
  columns: string[]; // of its series
};

// A column that does not share a chart with the others of its unit.
export type ChartColumn = {
  source: string; // the monitor's name
  device_index?: number; // which of several
  column: string; // of its series
  chart: "none" | "own"; // none: it is not drawn; own: in a chart of its own
  label?: string; // what it is called there
};

// What the GPU did, kernel by kernel.
export type GpuTrace = {
  slow_moments_only?: true; // all of it was kept around slow moments: it does not stand for the run, nor for a stage
  kernel_count: number; // kernels
  kernel_total_s: number; // their time added up
  busy_s: number; // time with work; added up over devices, like idle_s, window_s and kernel_busy_s
  busy_ratio?: number; // busy_s as a share of window_s
  kernel_busy_s: number; // time with a kernel
  idle_s: number; // window_s - busy_s
  window_s: number; // from a device's first work to its last
  unattributed_busy_s: number; // busy time of work launched outside every zone, or by an unknown thread
  small_kernel_ratio?: number; // share of the kernels that took under 10 us
  copy_ratio?: number; // time of copies over window_s
  overlap_ratio?: number; // share of the busy time in which the launching thread was not waiting
  launch_ahead_s?: number; // mean time from launch to start of a kernel
  launch_interval_s?: number; // median time from one launch to the next of the same thread: what Python needs for one launch
  launch_queue_count?: number; // kernels launched and not yet begun, mean over time of one device
  communication_s?: number; // time of collectives' kernels
  exposed_communication_s?: number; // the part of it in which nothing was computed
  traces?: GpuTraced[]; // when strobe traced; absent: all of the recording is traced
  buffers_most_count?: number; // the most of strobe's 64 buffers that were not free at one time of a trace
  unfinished_count?: number; // of the records without times (recording.drop_reasons, gpu_time) those that came when CUPTI gave back all it had: work that had not ended
  devices: TracedDevice[]; // each device as one process used it; the run's time is that of one of them, not their sum
  copies: GpuCopies[]; // copies by direction
  memsets?: GpuMemsets; // all memsets together
  waits?: GpuWaits[]; // calls in which the program waited for a GPU, the most time first
  top_kernels: GpuRow[]; // kernels by their time
  families?: KernelShare[]; // all kernels by what they do; their total_s add up to kernel_total_s
  unclassified_ratio?: number; // share of the kernels' time in kernels whose names say nothing
  top_zones?: GpuRow[]; // zones by the GPU time they launched; count: kernels, copies and memsets
  attention?: GpuRow[]; // attention kernels by kind
  collectives?: GpuRow[]; // kernels of collectives by kind
  offload?: GpuRow[]; // copies from and to the host, by zone
  idle_zones?: GpuRow[]; // where the CPU was while a GPU had nothing to do; count: gaps that it spent mostly there; gaps too short to be listed are one row
  idle_sample_count?: number; // samples of Python stacks in gaps
  idle_functions?: GpuIdleFunction[]; // the Python functions in these gaps, by samples; largest first, at most 8
  gap_count: number; // gaps, listed or not
  gaps?: GpuGap[]; // the longest of them
};

// One of strobe's own GPU traces.
export type GpuTraced = {
  pid: number; // the process
  t_s: number; // when it began
  duration_s: number; // how long it was
};

// A GPU as one process used it.
export type TracedDevice = {
  device_index: number; // which GPU
  pid: number; // the process that used it
  t_s: number; // its first work
  window_s: number; // from its first work to its last
  busy_s: number; // time with work
  idle_s: number; // window_s - busy_s
};

// Copies of one direction and kind of memory.
export type GpuCopies = {
  direction: "H2D" | "D2H" | "D2D" | "P2P" | "other"; // P2P: from one GPU to another
  memory?: string; // the host's side: "pageable", "pinned"
  count: number; // copies
  bytes: number; // copied
  total_s: number; // their time added up
  gb_per_s?: number; // bytes over total_s
};

// All memsets together.
export type GpuMemsets = {
  count: number; // memsets
  bytes: number; // set
  total_s: number; // their time added up
};

// Calls of one kind in which the program waited for a GPU.
export type GpuWaits = {
  name: string; // "Stream Sync", "Event Sync", "Context Sync" (the whole GPU): what was waited for
  count: number; // calls
  total_s: number; // their time added up, of all threads
  max_s: number; // the longest
};

// Kernels, copies or gaps with something in common.
export type GpuRow = {
  name: string; // of the kernel, the kind or the zone
  short_name?: string; // of a kernel of C++: what it is and which operation
  count: number; // how many
  total_s: number; // their time added up
  mean_s?: number; // mean time of one
  min_s?: number; // the shortest
  max_s?: number; // the longest
  share_ratio?: number; // share of the time of all kernels, of the busy time or of the idle time
  bytes?: number; // copied
  gb_per_s?: number; // bytes over total_s; 1 GB is 10^9 bytes
  family?: string; // what a kernel does, by its name: "GEMM"
  kind?: string; // how it does it: "flash 2"
  precision?: string; // in which numbers: "bf16"
};

// A Python function that ran while a traced GPU had nothing to do.
export type GpuIdleFunction = {
  function: string; // module and name
  file?: string; // where it is written
  line: number; // the line it was seen at most often
  inside?: string; // the function of a library that it was in most; absent: in itself
  estimate_s: number; // share_ratio x idle_s: a sampled estimate
  share_ratio: number; // share of the time of the samples in gaps
};

// A time in which a GPU had nothing to do.
export type GpuGap = {
  t_s: number; // when it began
  duration_s: number; // how long it was
  cpu_did: string; // the zone the CPU was in
  device_index: number; // which GPU
};

// A line of the program that time was spent at, as samples saw it.
export type HotLine = {
  function: string; // the innermost function that belongs to no library
  file?: string; // where it is written
  line: number; // in that file
  source?: string; // text of the line, where the file is at hand
  source_changed?: true; // the file was changed since the run began: its text is not used
  inner_function?: string; // the library function that it had called
  stage?: string; // the innermost stage around it
  main?: true; // it ran on the main thread
  total_s: number; // time that its samples stand for: each one the time since the sample before
  generation_s: number; // part of total_s inside generations; of three or more the first, which is cold, is left out
  step_s: number; // part of generation_s inside steps
  among_steps_s?: number; // inside these generations, from the first step's begin to the last one's: in a step or between two
  outside_s?: number; // outside all generations, after the first began
  sample_count: number; // how often it was seen
};

// Unattributed time by the Python functions that were sampled in it.
export type Unattributed = {
  generations?: UnattributedFunctions; // inside generations, where that is more than 5 % of them
  run?: UnattributedFunctions; // in the whole run, where that is more than 10 % of it
  before_steps?: UnattributedFunctions; // in the stage 'before_steps', where that is more than 5 % of the generations
  between_steps?: UnattributedFunctions; // in the stage 'between_steps', where that is more than 5 % of the generations
  after_steps?: UnattributedFunctions; // in the stage 'after_steps', where that is more than 5 % of the generations
};

// What ran while no stage did, or around the steps.
export type UnattributedFunctions = {
  unattributed_s: number; // the time that these functions ran in
  unattributed_ratio: number; // unattributed_s as a share of the generations' time, or of the run's
  sample_count: number; // samples there
  unsampled_s?: number; // part of unattributed_s without samples, as before Python began
  exit_s?: number; // part of unattributed_s after the program's last line, while its process ended
  functions: UnattributedFunction[]; // largest first, at most 8
  launcher_waits?: true; // the main process only waits for those that it started: the functions are of these
};

// A Python function that ran while no stage did, or around the steps.
export type UnattributedFunction = {
  function: string; // module and name
  file?: string; // where it is written
  line: number; // the line it was seen at most often
  inside?: string; // the function of a library that it was in most; absent: in itself
  estimate_s: number; // share_ratio x unattributed_s: a sampled estimate
  share_ratio: number; // share of unattributed_s, by the samples there
};

// Python's garbage collector.
export type GarbageCollections = {
  count: number; // collections, all processes
  total_s: number; // their time
  object_count: number; // objects that they freed
  long_count: number; // those of 1 ms or longer
  in_generations_s: number; // time of these inside generations of videos
  longest: GarbageCollection[]; // longest first, at most 20
};

// One collection of 1 ms or longer.
export type GarbageCollection = {
  end_s: number; // when it ended
  duration_s: number; // how long the program was stopped
  gc_generation_index: number; // 0: young objects, 2: all
  object_count: number; // objects that it freed
};

// A function with @profile, line by line.
export type ProfiledFunction = {
  function: string; // its name
  file?: string; // where it is written
  line: number; // where it begins
  call_count: number; // calls of it
  timed_call_count: number; // calls whose lines were timed
  total_s: number; // time of these lines
  lines: ProfiledLine[]; // those that ran, in the order of the file
};

// A line of a function with @profile.
export type ProfiledLine = {
  line: number; // its number in the file
  hit_count: number; // how often it ran
  total_s: number; // time in it and in what it calls
  share_ratio: number; // share of the function's time
  text?: string; // its source text
};

// Sampled Python stacks (sample_hz): shares of samples weighed by time, not measured times.
export type FunctionSamples = {
  sample_count: number; // stacks that were sampled
  functions: SampledFunction[]; // the 20 seen most often themselves, without those of `waiting`
  waiting_count: number; // of the stacks: those of threads beside the main one that only waited, in no stage
  waiting?: SampledFunction[]; // the functions these waited in, such as threading.Condition.wait
  native_threads?: NativeThread[]; // of Python processes: decoders, OpenMP, the driver's; those that used 10 ms or more
};

// A Python function as samples saw it.
export type SampledFunction = {
  name: string; // of the function
  file?: string; // where it is written
  line: number; // the line seen most often
  stage?: string; // the stage in which it was seen most often
  self_count: number; // samples in the function itself
  total_count: number; // samples in it and in what it calls
  self_ratio: number; // share of the time that all samples of its list stand for
  total_ratio: number; // the same with what it calls
};

// Threads without Python.
export type NativeThread = {
  name: string; // of the thread in the system
  cpu_s: number; // CPU time of all threads of that name
};

// A finding: what could be faster, and how.
export type Recommendation = {
  id: string; // of the finding, see docs/advice.md
  category: string; // what it is about
  priority: "high" | "medium" | "low"; // by what it could save
  issue: string; // what is wrong
  cause: string; // names what does it: a function, file:line, module, setting or kernel; of a symptom "cause not found: …", of a measurement "not looked for: …"
  where: FindingPlace; // where to look; empty: nowhere in particular
  suggestion: string; // what to do
  evidence: string; // what was seen, with its numbers and units
  effort: "< 1 day" | "2-3 days" | "1-2 weeks"; // how much work it is
  gain_s?: number; // seconds of this run it could save; absent together with gain_basis where that cannot be computed
  gain_basis?: "measured" | "bounded" | "estimated"; // measured: taken from this run; bounded: at most that; estimated: by a factor or from a sample
  confidence: "certain" | "likely" | "possible"; // how sure the cause is
  explains: string[]; // ids of the symptoms it accounts for, which get no line of their own; empty: none
  startup?: true; // it costs the start, not the warm generations
  subject?: string; // the stage it is about
  measured_value?: number; // what was compared with the threshold
  threshold_key?: string; // its key under `thresholds:` in the settings
  threshold_value?: number; // the threshold
};

// Where a finding is to be seen.
export type FindingPlace = {
  stage?: string; // the stage it is about
  stage_index?: number; // its place in stage_analysis.stages, from 0
  panel?: string; // the panel of the page that shows the numbers
  file?: string; // source file of the program
  line?: number; // in that file
  module?: string; // module of the model: its class or component
  kernel?: string; // the GPU kernel it shows in
  kernel_short_name?: string; // of a kernel of C++: what it is and which operation
  from_s?: number; // begin of the time to look at, since the run's start
  to_s?: number; // end of that time
};

// What bounds the run, and what to leave alone.
export type Verdict = {
  bound_by: "gpu" | "cpu" | "cpu_launch" | "copies" | "disk" | "input" | "communication" | "mixed" | "unknown"; // what the run waits for most
  why?: string; // the reason, with its numbers; or why it is unknown
  next_command?: string; // the command to type next; where no cause was found, a recording that would show it
  next_reason?: string; // why that one
  judged_s?: number; // what it is about: the time of the generations, else from the start-up to the end of the last stage
  leave_alone?: LeftAlone[]; // stages too small to be worth work
  leave_alone_ratio?: number; // share of the wall time of all stages that small
};

// A stage too small to pay for work on it.
export type LeftAlone = {
  name: string; // name of the stage
};

// What some numbers mean, in a sentence.
export type Reading = {
  id: string; // of the reading, see docs/advice.md
  panel: "stages" | "memory" | "layers" | "metrics"; // the panel of the page that shows the numbers
  text: string; // what the numbers mean
  good?: true; // the numbers are as they should be
};

// A model that writes tokens.
export type Chat = {
  stage: string; // the stage that writes them
  call_count: number; // its calls
  new_token_count: number; // tokens it wrote, all sequences of all calls
  first_token_mean_s?: number; // from the begin of a call to its first token; on a GPU, to when the loop goes on with it
  first_token_max_s?: number; // the longest of them
  tokens_per_s?: number; // tokens a second after the first token, over all sequences of a batch; calls that fail before it are left out
  prompt_token_count?: number; // tokens of the prompts, frames included
  prefill_s?: number; // time of the forwards that read the prompt
  prefill_tokens_per_s?: number; // prompt tokens a second in these forwards
  decode_s?: number; // time of the forwards after the first token
  vision_s?: number; // time of the vision encoder
  input_frame_count?: number; // frames it was given
  input_frames_per_s?: number; // input frames a second, over the time of the calls that came to a first token
};

// Something that is computed and never seen.
export type Padding = {
  stage: string; // the stage or generation that computes it
  code?: string; // its code
  kind: "padding" | "guidance"; // padding: it is thrown away; guidance: it is mixed into the result
  words: string; // the same in words, for people
  frames_count?: number; // frames that are wanted, over all calls
  padded_frames_count?: number; // frames that are computed
  frame_px?: number; // pixels of a frame that are wanted
  padded_frame_px?: number; // pixels of a frame that are computed
  mask_ratio?: number; // share of the pixels that is kept
  passes_count?: number; // model calls in one step
  unseen_ratio: number; // share of what is computed that is never seen
  total_s: number; // time of the stage
  unseen_s: number; // unseen_ratio x total_s
};

// A file that the program wrote as its result.
export type Output = {
  path: string; // where the program wrote it
  state: "written" | "overwritten" | "missing" | "not read" | "being written"; // overwritten: changed after the run had ended and before strobe looked
  why?: string; // why it was not read
  size_bytes?: number; // of the file, or of all files of a folder
  sha256?: string; // of the file, as sha256sum prints it
  modified_time?: string; // when it was last written
  kept_path?: string; // a copy in the run's folder
  width_px?: number; // of raw samples
  height_px?: number; // of raw samples
  pixel_format?: string; // of raw samples: rgb24, gray, yuv420p
};

// What could be turned at a stage, and what that trades.
export type Strategy = {
  stage: string; // the stage it is about
  code?: string; // its code
  stage_index?: number; // index of the stage in stage_analysis.stages, from 0
  what: string; // what to change, with its numbers
  knob?: string; // the attribute to change: "iters"
  now_value?: number; // what it is in this run
  proposed_value?: number; // what to try
  unit?: string; // of both values: "iterations"
  each_s?: number; // time of one unit
  gain_s?: number; // seconds of this run it could save
  gain_basis?: "estimated" | "bounded"; // estimated: in proportion to the value; bounded: it cannot be more
  effort: string; // how much work it is
  trade_off: string; // what it costs
  whatif?: string; // the argument of strobe whatif that predicts it
};

// A counter of the program.
export type Counter = {
  name: string; // of the counter
  kind: "gauge" | "sum"; // gauge: set; sum: added to
  last_value?: number; // the last value set, or the sum
  update_count: number; // how often it was set or added to
};

// Something that happened at one moment.
export type Event = {
  name: string; // of the event
  t_s: number; // when
  kind: "event" | "mark" | "skipped"; // skipped: a stage that was left out
  reason?: string; // why it was skipped
  attributes?: Free; // attributes that the program set
};

// All events of one name.
export type EventName = {
  name: string; // of the events
  count: number; // events of this name, also those not listed
};

// What was recorded, what was lost, what it cost.
export type Recording = {
  events: number; // everything that was recorded
  zones: number; // zones among them
  dropped_count: number; // events that were lost
  drop_reasons: Free; // lost events by reason
  bytes: number; // size of the recording
  complete: boolean; // the main process stopped in order, nothing of it is missing, and no process is known to be unrecorded
  live: boolean; // it is still being written
  file_count: number; // its files
  open_zone_count: number; // zones that had not ended
  folded_zone_count: number; // zones of which only totals are kept
  unmatched_end_count: number; // ends without a beginning
  skipped_bytes: number; // bytes that could not be read
  limited_by?: string; // why detail was folded: "max_trace_bytes" of one process, "max_run_bytes" of all, "disk full", "file size limit"
  folded_until_s?: number; // detail starts here
  own_cpu_s: number; // CPU time of strobe's own threads
  own_cpu_ratio?: number; // own_cpu_s as a share of one core; absent for runs under a second
  record_cost_s?: number; // one counter read and one store, measured when the session was opened
  recording_s?: number; // all words at record_cost_s each, folded ones at twice that
  threads_s?: number; // time of the threads that recorded
  overhead_ratio?: number; // recording_s as a share of threads_s
  own_stages_s?: number; // what strobe did in the program besides recording (counting FLOPs, reading a memory history): its stages "strobe: …", not in overhead_ratio
  waiting_s: number; // what threads spent on moving to the next piece of the recording file, work and waiting, added up over threads: not in overhead_ratio
  damage?: Damage[]; // what could not be read
  warnings?: string[]; // what to know before trusting the numbers
};

// A part of the recording that could not be read.
export type Damage = {
  what: string; // "a chunk is missing"
  count: number; // how often it happened
  bytes: number; // bytes that could not be read
  file: string; // where it was seen first
  first_offset: number; // its first byte in that file
};

// Something that was not recorded.
export type NotRecorded = {
  what: string; // what is not there
  why: string; // the reason
  how: string; // how to get it
};

// Two runs, or two sets of runs, side by side.
export type Diff = {
  schema: "strobe.diff/1";
  base: string[]; // the runs before
  new: string[]; // the runs now
  runs: ComparedRun[]; // who they are: those before, then those now
  total: MetricChange; // the change of the total
  per_generation: boolean; // the total is of one generation, and so are the stages inside of one
  outputs?: OutputChange[]; // what both wrote; of several runs a side the first
  findings?: FindingChange[]; // what their advice says: gone, new, then what stays; of several runs a side the first's
  findings_unlike?: true; // one side has a trace of the GPU and the other none: it finds more
  output_verdict?: string; // of runs whose outputs differ
  explanations: string[]; // sentences, the most telling first
  stages: StageChange[]; // the largest contribution first, whatever its sign
  base_overlap_s?: number; // before: self times and unattributed_s less the total: stages at the same time; of several runs or generations also medians that do not add up
  new_overlap_s?: number; // the same now
  base_at_once_s?: number; // before: of base_overlap_s, what stages at the same time make; the rest is that a median is not the sum of its parts
  new_at_once_s?: number; // the same now
  jobs?: ComparedJobs; // where both sides are jobs: stages are then the median rank's
  metrics: MetricChange[]; // metrics that either side has
  configuration: SettingChange[]; // what was set differently
  passed?: boolean; // the gate (--fail-above) passed
  failures?: string[]; // sentences: why the gate fails
};

// One of the runs of a diff.
export type ComparedRun = {
  side: "base" | "new"; // before or now
  label: string; // as it was asked for
  id?: string; // the session's uuid
  name?: string; // the session's name
  host?: string; // where it ran
  start_time?: string; // when it began
  command?: string; // what was run
  commit?: string; // git commit of the folder that it was started in
  tags?: string; // its tags, key=value
  median_generation_start_s?: number; // when the generation began that took the middle time, the first one left out
};

// A metric on both sides.
export type MetricChange = {
  metric: string; // its key, which ends in its unit
  label: string; // its name for people: "Step (median)"
  unit: string; // for people
  base_value?: number; // median of the runs before
  new_value?: number; // median of the runs now
  delta_value?: number; // new - base
  change_ratio?: number; // new / base - 1
  per_generation?: true; // a total of the run, as what one generation has of it
  verdict: "same" | "worse" | "better" | "uncertain" | "appeared" | "vanished" | "changed" | "too_few"; // uncertain: past the tolerance, but repetitions do not bear it out; changed: neither worse nor better; too_few: fewer than a test needs, where something repeats
  words: string; // the same for people: "slower", "no longer measured"
  tone: "none" | "worse" | "better"; // how it is coloured
  basis?: "tolerance" | "too_few" | "rank_test"; // how it was judged
  p_ratio?: number; // of the rank test, two-sided
  effect_ratio?: number; // chance that a new value exceeds a base value; 0.5: none
  base_repetition_count?: number; // values of the base that the verdict rests on
  new_repetition_count?: number; // new values that the verdict rests on
  shift_ratio?: number; // new / base over all pairs of repetitions
  change_low_ratio?: number; // 95 % interval of new / base, low end
  change_high_ratio?: number; // 95 % interval of new / base, high end
};

// What both runs wrote, beside each other.
export type OutputChange = {
  name: string; // of the file
  verdict: "identical" | "same_pixels" | "changed" | "only_base" | "only_new" | "unknown"; // same_pixels: the files differ, what they show does not
  words: string; // the same in words, for people
  base_path?: string; // absent: the base wrote none such
  new_path?: string; // absent: the new run wrote none such
  base_bytes?: number; // its size before
  new_bytes?: number; // its size now
  base_sha256?: string; // of the file before
  new_sha256?: string; // of the file now
  not_measured?: string; // why there is no PSNR
  psnr_db?: number; // over all samples of all compared frames; absent also where nothing differs
  ssim_ratio?: number; // of the luma, mean over frames
  base_frame_count?: number; // frames before
  new_frame_count?: number; // frames now
  compared_frame_count?: number; // frames that were compared: the first ones of both
  different_frame_count?: number; // compared frames that differ
  worst_frames?: WorstFrame[]; // those that differ most, at least 8 frames apart
};

// A frame that differs much from the other run's.
export type WorstFrame = {
  frame_index: number; // from 0
  psnr_db?: number; // of this frame
  ssim_ratio?: number; // of this frame's luma
  base_picture?: string; // a small PNG as data: URI, pages alone
  new_picture?: string; // the same of the new run
  difference_picture?: string; // where they differ, four times as strong as it is
};

// A finding that either side has.
export type FindingChange = {
  id: string; // which finding, as in a report
  change: "gone" | "new" | "stays"; // gone, new, or it stays
  priority: string; // high, medium or low; of one that is gone, as it was
  issue: string; // what it says; of one that is gone, what it said
  place?: string; // file and line, else stage or module
  base_gain_s?: number; // what its fix was said to save
  new_gain_s?: number; // what its fix is said to save
  startup?: true; // it costs the start, not the warm generations
  tone: "none" | "worse" | "better"; // how it is coloured
};

// A stage on both sides.
export type StageChange = {
  name: string; // as in the new runs, else as in the base
  code?: string; // the program's own number of the stage
  parent_index?: number; // place in the list, from 0, of the stage that it is inside
  old_name?: string; // its name in the base, where that is another
  counterpart?: string; // a stage that vanished or appeared in its place: renamed?
  base_s?: number; // total before, median over runs
  new_s?: number; // total now, median over runs
  delta_s?: number; // new_s - base_s
  change_ratio?: number; // new_s / base_s - 1
  base_self_s?: number; // self time before
  new_self_s?: number; // self time now
  contribution_s?: number; // change of self time: these and the change of unattributed_s, less that of the overlap, are the change of the total
  base_count?: number; // calls before
  new_count?: number; // calls now
  base_spread_s?: number; // of a job: the slowest rank less the fastest, before
  new_spread_s?: number; // the same now
  base_slowest_rank?: number; // of a job: the rank that took longest, before
  new_slowest_rank?: number; // the same now
  verdict: "same" | "worse" | "better" | "uncertain" | "appeared" | "vanished" | "changed" | "too_few"; // the verdict on it
  words: string; // the same for people: "slower", "was skipped"
  tone: "none" | "worse" | "better"; // how it is coloured: a stage that came is worse, one that went is better
  reason?: string; // why it was skipped
  judged?: "single_calls" | "totals" | "one_generation" | "ranks"; // single_calls: there are repetitions inside a run, or the counts differ
  basis?: "tolerance" | "too_few" | "rank_test"; // how it was judged
  p_ratio?: number; // of the rank test, two-sided
  effect_ratio?: number; // chance that a new value exceeds a base value; 0.5: none
  base_repetition_count?: number; // values of the base that the verdict rests on
  new_repetition_count?: number; // new values that the verdict rests on
  shift_ratio?: number; // new / base over all pairs of repetitions
  change_low_ratio?: number; // 95 % interval of new / base, low end
  change_high_ratio?: number; // 95 % interval of new / base, high end
};

// The ranks of two jobs.
export type ComparedJobs = {
  base_rank_count: number; // ranks before
  new_rank_count: number; // ranks now
  base_host_count: number; // machines before
  new_host_count: number; // machines now
  stragglers: StragglerChange[]; // those that came first
};

// A late rank of two jobs.
export type StragglerChange = {
  rank: number; // which the others wait for
  change: "came" | "went" | "stayed"; // came: it was none before; went: it is none now
  host?: string; // its machine
  stage?: string; // the stage with most of the extra work
  base_behind_s?: number; // more work than the median rank, before
  new_behind_s?: number; // the same now
};

// Something that was set differently.
export type SettingChange = {
  scope: "tag" | "setting" | "system" | "command" | "stage"; // where it was set
  stage?: string; // the stage whose attribute it is
  key: string; // its name
  base?: string; // before; absent: not set
  new?: string; // now; absent: not set
};

// Many ranks in one report.
export type Aggregate = {
  schema: "strobe.aggregate/1";
  report_count: number; // inputs that were read
  rank_count: number; // ranks in this report
  world_size_count?: number; // ranks of the job
  job?: string; // the job's id
  host_count: number; // machines
  attempts?: JobAttempt[]; // where the job was started more than once; the last complete one counts
  missing_ranks: number[]; // ranks without an input
  left_out: LeftOut[]; // inputs that are not in the report
  made?: JobOutput[]; // generations, frames and steps; kinds that no rank counts are left out
  metrics: AggregateMetrics; // the metrics of all ranks
  aggregated_metrics: AggregatedMetrics; // the same flat, for tools that know that form
  reports_summary: AggregateRank[]; // every rank
  stages: AggregateStage[]; // the largest imbalance in seconds first, loading code last
  percentile_error_ratio?: number; // how far off percentiles may be
  work_measure: "stages" | "run" | "between_collectives"; // what work_s is: between_collectives: from the ranks' first common collective to the last, less what it waited; stages: wall time less waiting, imports and time outside every stage; run: the same with the time outside
  straggler_rule?: string; // why no rank is a straggler, with the numbers
  straggler_count: number; // ranks that the others wait for
  straggler_indexes?: number[]; // their places in reports_summary, the furthest behind first
  memory_metric?: string; // which metric is the peak of memory: the GPUs', else the processes'
  communication?: Communication[]; // by group and operation, the most time first
  late_groups?: LateGroup[]; // groups that come late as a whole
  collective_count: number; // collectives that were matched by group and number, or by name where more than half of the ranks share it
  unclear_collective_count?: number; // those where the clocks cannot tell which rank came last
  late_wait_s?: number; // waiting at collectives until the last rank came, all ranks
  startup_wait_s?: number; // part of late_wait_s until all ranks had started and met for the first time
  transfer_s?: number; // what the collectives took after that
  hidden_s?: number; // asynchronous collectives beside other work
  wait_s?: number; // time waited at collectives, all ranks
  wait_ratio?: number; // wait_s as a share of all ranks' wall time
  clock_residual_s?: number; // how far apart ranks leave a collective, 95 % of them; the clocks are better known than that: see clock_uncertainty_s
  clock_uncertainty_s?: number; // how far the clocks may be apart: the worst rank's
  scaling?: Scale[]; // across world sizes
  heat_map: HeatMap; // stage by rank
  rank_lanes?: RankLanes; // when each rank waited, and in which stage it was
};

// A start of the job.
export type JobAttempt = {
  attempt_index: number; // which start of the job, from 1
  run: string; // its folder
  state: string; // how it ended
  taken?: true; // this report is about it
  page?: true; // its folder has an aggregated_report.html
};

// An input that is not in the report.
export type LeftOut = {
  run: string; // folder or file
  why: string; // broken, or there twice
};

// What the ranks made of one kind.
export type JobOutput = {
  what: string; // generations, frames or steps
  count?: number; // of all ranks together; absent: they meet at collectives and may make one video together
  rank_min_count: number; // the least that one of the ranks counts
  rank_max_count: number; // the most that one of the ranks counts
};

// The metrics of all ranks.
export type AggregateMetrics = {
  wall_s?: Extent; // Total
  generation_s?: Extent; // Generation (median)
  step_s?: Extent; // Step (median)
  first_block_s?: Extent; // First block
  unattributed_s?: Extent; // Unattributed
  collective_s?: Extent; // Waiting at collectives
  offload_s?: Extent; // Offload
  fps?: Extent; // Frames/s end to end
  compute_fps?: Extent; // Frames/s of compute
  bps?: Extent; // Blocks/s
  frames_count?: Extent; // Frames
  steps_count?: Extent; // Steps
  generation_count?: Extent; // Generations
  gpu_memory_peak_bytes?: Extent; // Peak GPU memory
  gpu_memory_mean_bytes?: Extent; // GPU memory in use, mean
  gpu_reserved_peak_bytes?: Extent; // Peak GPU memory reserved
  gpu_memory_total_bytes?: Extent; // Total GPU memory
  ram_peak_bytes?: Extent; // Peak RAM of the machine
  rss_peak_bytes?: Extent; // Peak process memory
  swap_peak_bytes?: Extent; // Peak swap of the machine
  page_cache_peak_bytes?: Extent; // Peak page cache
  gpu_utilization_percent?: Extent; // GPU utilisation
  gpu_temperature_max_c?: Extent; // GPU temperature (max)
  gpu_power_w?: Extent; // GPU power
  gpu_clock_mhz?: Extent; // GPU clock
  energy_wh?: Extent; // Energy
  cpu_percent?: Extent; // CPU
  process_cpu_percent?: Extent; // CPU of the program
  disk_read_bytes_per_s?: Extent; // Disk reads
  disk_write_bytes_per_s?: Extent; // Disk writes
  gpu_busy_s?: Extent; // GPU busy
  gpu_idle_s?: Extent; // GPU idle
  gpu_copies_s?: Extent; // GPU copies
  communication_s?: Extent; // Communication
  cache_hit_ratio?: Extent; // Cache hit rate
  dropped_ratio?: Extent; // Dropped frames
  work_s?: Extent; // wall time less waiting at collectives and outside every stage
};

// One number of every rank, in the unit that its key ends in.
export type Extent = {
  count: number; // ranks that have it
  min_value?: number; // the least
  min_rank: number; // which rank has it; -1: it has no number
  max_value?: number; // the most
  max_rank: number; // which rank has it; -1: it has no number
  avg_value?: number; // mean over ranks
  median_value?: number; // median over ranks
  sum_value?: number; // added up over ranks; absent: rates, medians and what ranks share do not add up
};

// The metrics of all ranks, flat.
export type AggregatedMetrics = {
  wall_s_min?: number; // Total, least
  wall_s_max?: number; // Total, most
  wall_s_avg?: number; // Total, mean
  wall_s_sum?: number; // Total, added up
  generation_s_min?: number; // Generation (median), least
  generation_s_max?: number; // Generation (median), most
  generation_s_avg?: number; // Generation (median), mean
  generation_s_sum?: number; // Generation (median), added up
  step_s_min?: number; // Step (median), least
  step_s_max?: number; // Step (median), most
  step_s_avg?: number; // Step (median), mean
  step_s_sum?: number; // Step (median), added up
  first_block_s_min?: number; // First block, least
  first_block_s_max?: number; // First block, most
  first_block_s_avg?: number; // First block, mean
  first_block_s_sum?: number; // First block, added up
  unattributed_s_min?: number; // Unattributed, least
  unattributed_s_max?: number; // Unattributed, most
  unattributed_s_avg?: number; // Unattributed, mean
  unattributed_s_sum?: number; // Unattributed, added up
  collective_s_min?: number; // Waiting at collectives, least
  collective_s_max?: number; // Waiting at collectives, most
  collective_s_avg?: number; // Waiting at collectives, mean
  collective_s_sum?: number; // Waiting at collectives, added up
  offload_s_min?: number; // Offload, least
  offload_s_max?: number; // Offload, most
  offload_s_avg?: number; // Offload, mean
  offload_s_sum?: number; // Offload, added up
  fps_min?: number; // Frames/s end to end, least
  fps_max?: number; // Frames/s end to end, most
  fps_avg?: number; // Frames/s end to end, mean
  fps_sum?: number; // Frames/s end to end, added up
  compute_fps_min?: number; // Frames/s of compute, least
  compute_fps_max?: number; // Frames/s of compute, most
  compute_fps_avg?: number; // Frames/s of compute, mean
  compute_fps_sum?: number; // Frames/s of compute, added up
  bps_min?: number; // Blocks/s, least
  bps_max?: number; // Blocks/s, most
  bps_avg?: number; // Blocks/s, mean
  bps_sum?: number; // Blocks/s, added up
  frames_count_min?: number; // Frames, least
  frames_count_max?: number; // Frames, most
  frames_count_avg?: number; // Frames, mean
  frames_count_sum?: number; // Frames, added up
  steps_count_min?: number; // Steps, least
  steps_count_max?: number; // Steps, most
  steps_count_avg?: number; // Steps, mean
  steps_count_sum?: number; // Steps, added up
  generation_count_min?: number; // Generations, least
  generation_count_max?: number; // Generations, most
  generation_count_avg?: number; // Generations, mean
  generation_count_sum?: number; // Generations, added up
  gpu_memory_peak_bytes_min?: number; // Peak GPU memory, least
  gpu_memory_peak_bytes_max?: number; // Peak GPU memory, most
  gpu_memory_peak_bytes_avg?: number; // Peak GPU memory, mean
  gpu_memory_peak_bytes_sum?: number; // Peak GPU memory, added up
  gpu_memory_mean_bytes_min?: number; // GPU memory in use, mean, least
  gpu_memory_mean_bytes_max?: number; // GPU memory in use, mean, most
  gpu_memory_mean_bytes_avg?: number; // GPU memory in use, mean, mean
  gpu_memory_mean_bytes_sum?: number; // GPU memory in use, mean, added up
  gpu_reserved_peak_bytes_min?: number; // Peak GPU memory reserved, least
  gpu_reserved_peak_bytes_max?: number; // Peak GPU memory reserved, most
  gpu_reserved_peak_bytes_avg?: number; // Peak GPU memory reserved, mean
  gpu_reserved_peak_bytes_sum?: number; // Peak GPU memory reserved, added up
  gpu_memory_total_bytes_min?: number; // Total GPU memory, least
  gpu_memory_total_bytes_max?: number; // Total GPU memory, most
  gpu_memory_total_bytes_avg?: number; // Total GPU memory, mean
  gpu_memory_total_bytes_sum?: number; // Total GPU memory, added up
  ram_peak_bytes_min?: number; // Peak RAM of the machine, least
  ram_peak_bytes_max?: number; // Peak RAM of the machine, most
  ram_peak_bytes_avg?: number; // Peak RAM of the machine, mean
  ram_peak_bytes_sum?: number; // Peak RAM of the machine, added up
  rss_peak_bytes_min?: number; // Peak process memory, least
  rss_peak_bytes_max?: number; // Peak process memory, most
  rss_peak_bytes_avg?: number; // Peak process memory, mean
  rss_peak_bytes_sum?: number; // Peak process memory, added up
  swap_peak_bytes_min?: number; // Peak swap of the machine, least
  swap_peak_bytes_max?: number; // Peak swap of the machine, most
  swap_peak_bytes_avg?: number; // Peak swap of the machine, mean
  swap_peak_bytes_sum?: number; // Peak swap of the machine, added up
  page_cache_peak_bytes_min?: number; // Peak page cache, least
  page_cache_peak_bytes_max?: number; // Peak page cache, most
  page_cache_peak_bytes_avg?: number; // Peak page cache, mean
  page_cache_peak_bytes_sum?: number; // Peak page cache, added up
  gpu_utilization_percent_min?: number; // GPU utilisation, least
  gpu_utilization_percent_max?: number; // GPU utilisation, most
  gpu_utilization_percent_avg?: number; // GPU utilisation, mean
  gpu_utilization_percent_sum?: number; // GPU utilisation, added up
  gpu_temperature_max_c_min?: number; // GPU temperature (max), least
  gpu_temperature_max_c_max?: number; // GPU temperature (max), most
  gpu_temperature_max_c_avg?: number; // GPU temperature (max), mean
  gpu_temperature_max_c_sum?: number; // GPU temperature (max), added up
  gpu_power_w_min?: number; // GPU power, least
  gpu_power_w_max?: number; // GPU power, most
  gpu_power_w_avg?: number; // GPU power, mean
  gpu_power_w_sum?: number; // GPU power, added up
  gpu_clock_mhz_min?: number; // GPU clock, least
  gpu_clock_mhz_max?: number; // GPU clock, most
  gpu_clock_mhz_avg?: number; // GPU clock, mean
  gpu_clock_mhz_sum?: number; // GPU clock, added up
  energy_wh_min?: number; // Energy, least
  energy_wh_max?: number; // Energy, most
  energy_wh_avg?: number; // Energy, mean
  energy_wh_sum?: number; // Energy, added up
  cpu_percent_min?: number; // CPU, least
  cpu_percent_max?: number; // CPU, most
  cpu_percent_avg?: number; // CPU, mean
  cpu_percent_sum?: number; // CPU, added up
  process_cpu_percent_min?: number; // CPU of the program, least
  process_cpu_percent_max?: number; // CPU of the program, most
  process_cpu_percent_avg?: number; // CPU of the program, mean
  process_cpu_percent_sum?: number; // CPU of the program, added up
  disk_read_bytes_per_s_min?: number; // Disk reads, least
  disk_read_bytes_per_s_max?: number; // Disk reads, most
  disk_read_bytes_per_s_avg?: number; // Disk reads, mean
  disk_read_bytes_per_s_sum?: number; // Disk reads, added up
  disk_write_bytes_per_s_min?: number; // Disk writes, least
  disk_write_bytes_per_s_max?: number; // Disk writes, most
  disk_write_bytes_per_s_avg?: number; // Disk writes, mean
  disk_write_bytes_per_s_sum?: number; // Disk writes, added up
  gpu_busy_s_min?: number; // GPU busy, least
  gpu_busy_s_max?: number; // GPU busy, most
  gpu_busy_s_avg?: number; // GPU busy, mean
  gpu_busy_s_sum?: number; // GPU busy, added up
  gpu_idle_s_min?: number; // GPU idle, least
  gpu_idle_s_max?: number; // GPU idle, most
  gpu_idle_s_avg?: number; // GPU idle, mean
  gpu_idle_s_sum?: number; // GPU idle, added up
  gpu_copies_s_min?: number; // GPU copies, least
  gpu_copies_s_max?: number; // GPU copies, most
  gpu_copies_s_avg?: number; // GPU copies, mean
  gpu_copies_s_sum?: number; // GPU copies, added up
  communication_s_min?: number; // Communication, least
  communication_s_max?: number; // Communication, most
  communication_s_avg?: number; // Communication, mean
  communication_s_sum?: number; // Communication, added up
  cache_hit_ratio_min?: number; // Cache hit rate, least
  cache_hit_ratio_max?: number; // Cache hit rate, most
  cache_hit_ratio_avg?: number; // Cache hit rate, mean
  cache_hit_ratio_sum?: number; // Cache hit rate, added up
  dropped_ratio_min?: number; // Dropped frames, least
  dropped_ratio_max?: number; // Dropped frames, most
  dropped_ratio_avg?: number; // Dropped frames, mean
  dropped_ratio_sum?: number; // Dropped frames, added up
};

// One rank.
export type AggregateRank = {
  report_index: number; // from 0
  rank: number; // its rank; -1: it has none
  session_id: string; // the session's uuid
  run: string; // folder or file
  host: string; // the machine's name
  gpu_uuid?: string; // its GPU
  duration_s?: number; // its wall time
  complete: boolean; // nothing of it is missing
  live?: true; // it is still being recorded
  page?: true; // its folder has a profiling_report.html
  failure?: string; // how it failed: "exit 1"
  damage?: string; // what of its recording could not be read
  work_s?: number; // what it did itself: see work_measure
  behind_s?: number; // how much more work than the median rank, of two than the other one
  straggler: boolean; // the others wait for it
  works_more?: true; // behind_s is more than nothing
  slow_stage?: string; // the stage with most of the extra work
  slow_stage_s?: number; // its time there
  slow_stage_median_s?: number; // the median rank's time there
  collective_total_count?: number; // its collectives, where they are more than were looked at
  last_count: number; // collectives where it came last
  caused_wait_s?: number; // what the others waited there
  late_wait_s?: number; // what it waited at collectives until the last rank came
  transfer_s?: number; // what its collectives took after that, as far as it waited for them
  hidden_s?: number; // asynchronous collectives beside its own work
  clock: RankClock; // its clock compared with the first rank's
  metrics: RankMetrics; // its metrics
};

// A rank's clock compared with the first rank's.
export type RankClock = {
  method: "same_host" | "collectives" | "real_time"; // same_host: nothing to correct; collectives: corrected by barriers; real_time: as the hosts say
  offset_s?: number; // what to add to its times to get the first rank's
  residual_s?: number; // how far apart collectives still are, 95 % of them
  uncertainty_s?: number; // the true offset lies within this of offset_s, along its line of drift
  drift_ratio?: number; // how much faster its clock runs than the first rank's
  collective_count: number; // collectives that it was set by
};

// The metrics of one rank.
export type RankMetrics = {
  wall_s?: number; // Total
  generation_s?: number; // Generation (median)
  step_s?: number; // Step (median)
  first_block_s?: number; // First block
  unattributed_s?: number; // Unattributed
  collective_s?: number; // Waiting at collectives
  offload_s?: number; // Offload
  fps?: number; // Frames/s end to end
  compute_fps?: number; // Frames/s of compute
  bps?: number; // Blocks/s
  frames_count?: number; // Frames
  steps_count?: number; // Steps
  generation_count?: number; // Generations
  gpu_memory_peak_bytes?: number; // Peak GPU memory
  gpu_memory_mean_bytes?: number; // GPU memory in use, mean
  gpu_reserved_peak_bytes?: number; // Peak GPU memory reserved
  gpu_memory_total_bytes?: number; // Total GPU memory
  ram_peak_bytes?: number; // Peak RAM of the machine
  rss_peak_bytes?: number; // Peak process memory
  swap_peak_bytes?: number; // Peak swap of the machine
  page_cache_peak_bytes?: number; // Peak page cache
  gpu_utilization_percent?: number; // GPU utilisation
  gpu_temperature_max_c?: number; // GPU temperature (max)
  gpu_power_w?: number; // GPU power
  gpu_clock_mhz?: number; // GPU clock
  energy_wh?: number; // Energy
  cpu_percent?: number; // CPU
  process_cpu_percent?: number; // CPU of the program
  disk_read_bytes_per_s?: number; // Disk reads
  disk_write_bytes_per_s?: number; // Disk writes
  gpu_busy_s?: number; // GPU busy
  gpu_idle_s?: number; // GPU idle
  gpu_copies_s?: number; // GPU copies
  communication_s?: number; // Communication
  cache_hit_ratio?: number; // Cache hit rate
  dropped_ratio?: number; // Dropped frames
};

// A stage over all ranks.
export type AggregateStage = {
  name: string; // name of the stage
  code?: string; // the program's own number of the stage
  parent_index?: number; // place in the list, from 0, of the stage that it is inside
  count: number; // calls of all ranks
  total_s?: Extent; // time of its calls, over ranks
  self_s?: Extent; // the same without the stages inside it
  call_min_s?: number; // the shortest call of all ranks
  call_max_s?: number; // the longest call of all ranks
  call_p50_s?: number; // median of the calls of all ranks
  call_p95_s?: number; // 95 % of the calls take at most this
  call_p99_s?: number; // 99 % of the calls take at most this
  imbalance_ratio?: number; // most / mean - 1 of total_s
  imbalance_s?: number; // most - mean: what an average rank would wait
};

// What one kind of collective did in one group.
export type Communication = {
  group?: string; // backend, members, tag
  operation: string; // as torch.distributed calls it
  rank_count: number; // ranks that met
  collective_count: number; // collectives that were matched
  bytes?: number; // bytes of one rank's tensors, all collectives
  late_wait_s: number; // until the last rank came, all ranks; not scaled up
  transfer_s: number; // after that, all ranks
  hidden_s: number; // beside other work, all ranks
  bus_bytes_per_s?: number; // bus bandwidth while it transferred, as nccl-tests count it
  last_rank?: number; // the rank that came last most often, where the clocks can tell
  last_count?: number; // how often it did
};

// A group that comes late as a whole.
export type LateGroup = {
  group: string; // backend, members, tag
  late_count: number; // collectives where its first member came after all other ranks
  shared_count: number; // collectives it shares with others
  wait_s: number; // what the others waited for its first member
};

// One world size of several.
export type Scale = {
  world_size_count: number; // ranks of the job
  rank_count: number; // ranks that were read
  wall_s?: number; // of the slowest rank
  generation_s?: number; // of a video, median
  speedup_ratio?: number; // against the smallest world
  efficiency_split_ratio?: number; // same work split: speed-up / growth of the world
  efficiency_kept_ratio?: number; // same work per rank: 1 is ideal
};

// Stage by rank, for the page.
export type HeatMap = {
  ranks: number[]; // in the order of the columns
  stages: HeatRow[]; // those of the largest imbalance
};

// A stage on every rank.
export type HeatRow = {
  name: string; // name of the stage
  total_s: (number | null)[]; // by rank; null: it has no such stage
  median_s?: number; // of the ranks that have it
};

// When each rank waited for the others and what it did, on one clock.
export type RankLanes = {
  bin_s: number; // time of one letter
  wait_tenths: string[]; // of each rank, a letter for each part of the time: . not running, ? not known, a no waiting … k only waiting
  stage_names?: string[]; // stages of the ranks' main threads, those of the most time first
  stages?: string[]; // of each rank, a letter for the stage that most of each part of the time was in: . not running, - none, ? not known, a the first of stage_names …
};

// The measurements of strobe bench.
export type Bench = {
  command: string; // what was run
  measured: "marks" | "processes"; // marks: the time between marks inside the process
  warmup_count: number; // runs before the first that counts
  iterations_count: number; // runs asked for
  target_fps?: number; // the speed asked for
  interrupted: boolean; // it was stopped early
  rows: BenchRow[]; // in order
};

// Repeated runs of one command.
export type BenchRow = {
  name: string; // "batch=4 dtype=fp16", a variant's name, or the command
  state: "ok" | "oom" | "failed" | "timeout" | "empty"; // empty: ran, but left nothing to measure
  reason?: string; // why it is not ok
  memory_held?: string; // of state oom: what asked for more memory, in which stage, and what held it
  exit_code?: number; // exit code of the run that ended the row
  values?: Free; // values of the sweep's keys
  count: number; // measurements
  mean_s?: number; // mean of one clip
  median_s?: number; // median of one clip
  median_low_s?: number; // 95 % interval of the median, low end
  median_high_s?: number; // 95 % interval of the median, high end
  std_s?: number; // sample deviation (n - 1)
  min_s?: number; // the shortest
  max_s?: number; // the longest
  p95_s?: number; // 95 % take at most this
  clips_per_second?: number; // 1 / mean_s
  frames_per_clip_count?: number; // frames of a clip
  frames_fps?: number; // frames per second
  peak_memory_bytes?: number; // resident, of the largest process
  step_speedup_ratio?: number; // of a ladder: against the row before
  total_speedup_ratio?: number; // of medians, against the first row that is ok
  verdict?: "same" | "worse" | "better" | "uncertain" | "appeared" | "vanished" | "changed" | "too_few"; // against the first row that is ok
  p_value_ratio?: number; // of the rank test
  target_met?: boolean; // frames_fps reaches target_fps
  seconds_s: (number | null)[]; // the measurements, in order
};

// A baseline, and the steps after it.
export type Journal = {
  schema: "strobe.journal/1";
  per_generation: boolean; // totals are of one generation
  steps: JournalStep[]; // the baseline first
};

// A run of the journal.
export type JournalStep = {
  title: string; // what was done
  run: string; // the run, as it was named
  start_time?: string; // when it was recorded
  commit?: string; // of the project
  total_s: number; // of one generation, else of the run
  delta_before_s?: number; // against the step before
  delta_base_s?: number; // against the baseline
  step_speedup_ratio?: number; // the step before / this one
  speedup_ratio?: number; // the baseline / this one: cumulative
  wall_s: number; // of the whole run
  generation_s?: number; // median of its generations
  time_digit_s?: number; // the value of the last digit of the run's times
  fps?: number; // frames per second end to end
  gpu_memory_peak_bytes?: number; // peak GPU memory
  rss_peak_bytes?: number; // peak memory of the process
  output?: JournalOutput; // the first that it wrote
  output_verdict?: string; // against the baseline's output: identical, same_pixels, changed, unknown
  output_words?: string; // the same for people
  psnr_db?: number; // against the baseline's output
  ssim_ratio?: number; // against the baseline's output
  stages: JournalStage[]; // in the order in which they began
};

// What a step wrote.
export type JournalOutput = {
  path: string; // where it was written
  size_bytes?: number; // of the file
  sha256?: string; // of the file
  modified_time?: string; // when it was last written
  kept_path?: string; // a copy in the run's folder
  width_px?: number; // of raw samples
  height_px?: number; // of raw samples
  pixel_format?: string; // of raw samples
};

// A stage in one step.
export type JournalStage = {
  name: string; // name of the stage
  code?: string; // its code
  key: string; // the same stage in another step has the same one
  parent_index?: number; // place in the list, from 0, of the stage that it is inside
  total_s: number; // time of all calls
};

// What a run would take with other settings.
export type Whatif = {
  schema: "strobe.whatif/1";
  run: string; // the run it starts from
  now_s: number; // its total
  predicted_s: number; // the predicted total
  low_s: number; // low end of the range
  high_s: number; // high end of the range
  time_digit_s?: number; // the value of the last digit of the run's times; it is in low_s and high_s
  noise_s: number; // how far two runs of the same settings may be apart; low_s and high_s hold it
  noise_ratio: number; // the same, of the time
  others_cpu_ratio?: number; // what other programs took of a CPU that was full: runs differ more there
  noise_run_count?: number; // runs of equal settings that tell it; absent: what runs differ by usually is taken
  noise_generation_count?: number; // generations of the run that tell a part of it
  saved_s: number; // now_s - predicted_s
  change_ratio: number; // predicted_s / now_s - 1
  fps?: number; // frames per second end to end, now
  predicted_fps?: number; // the same, predicted
  extrapolates: boolean; // some change asks for a value outside those that were seen
  changes: WhatifChange[]; // stage by stage
};

// A stage with another setting.
export type WhatifChange = {
  stage: string; // its name
  code?: string; // its code
  knob: string; // the attribute that changes
  now_value: number; // in this run
  then_value: number; // what was asked for
  now_s: number; // the stage's time in this run
  predicted_s: number; // its time then
  low_s: number; // it takes this at least
  high_s: number; // it takes this at most
  basis: "proportional" | "steps" | "fitted" | "range"; // proportional: from one value; steps: single steps were timed; fitted: over several runs; range: only the limits are known
  fixed_s?: number; // of one call, fitted: what does not depend on it
  each_s?: number; // time of one unit
  run_count: number; // runs it rests on
  extrapolates: boolean; // the value lies outside of those that were seen
  note?: string; // what to know before trusting it
};

// Whether a size fits, and how long it takes.
export type Fit = {
  schema: "strobe.fit/1";
  model: string; // the model: only runs of it count
  device: string; // what they ran on: the GPU, or cpu
  run_count: number; // runs it rests on
  size_count: number; // different sizes in them
  left_out_count: number; // runs of the history that are of another model, device or host
  left_out_model?: string; // the model of the latest of these
  left_out_summed_count?: number; // sizes of runs that an older strobe remembered: several videos, their frames added up
  more_count: number; // sizes that are still needed; 0: there are enough
  more?: string; // which sizes these are
  sizes: FitAxis[]; // the size asked for, one row for each number
  extrapolates_ratio?: number; // the asked size over the largest that was measured, where that is above 1
  memory?: FitMemory; // predicted peak memory; absent: the runs do not tell it
  memory_of?: "allocated" | "process" | "host"; // allocated: by the GPU's allocator; process: of the processes on the GPU; host: resident
  context_bytes?: number; // what the device has in use beside the allocator; added to the peak
  capacity_bytes?: number; // memory that there is
  capacity_of?: string; // whose memory that is
  verdict: "unknown" | "fits" | "tight" | "too_large"; // tight: the error decides; too_large: also where a size no larger ran out of memory
  ran_out_in?: string; // a run whose size was no larger, and ran out of memory
  time?: FitTime; // predicted time; absent: the runs do not tell it, or are of another GPU
  time_of?: "warm" | "first"; // warm: of a generation that is not the first in its process; first: no warm ones are known
  first_generation?: FitFirst; // what the first in a process takes more: its context, kernels, tuning
  stages?: FitStage[]; // most memory first: the first one is the limit
  largest?: FitLargest[]; // how far each size may grow, with its error
};

// One of the sizes.
export type FitAxis = {
  key: string; // what the generations carry
  asked_value: number; // asked for, or as in the run
  asked: boolean; // false: it is as in the run
  least_value?: number; // the least that was measured
  most_value?: number; // the most that was measured
  seen_count: number; // different values that were measured
};

// Predicted peak memory.
export type FitMemory = {
  predicted_bytes: number; // predicted peak
  low_bytes: number; // low end of the range
  high_bytes: number; // high end of the range
  error_ratio?: number; // each size predicted from the others: root mean square of what it is off; absent: measured
  worst_error_ratio?: number; // the largest such error
  by_stage?: true; // predicted stage by stage: the largest of them
};

// Predicted time.
export type FitTime = {
  predicted_s: number; // of one generation
  low_s: number; // low end of the range
  high_s: number; // high end of the range
  error_ratio?: number; // each size predicted from the others: root mean square of what it is off; absent: measured
  worst_error_ratio?: number; // the largest such error
  by_stage?: true; // predicted stage by stage: the sum of them
};

// What a process's first generation takes more than a warm one.
export type FitFirst = {
  extra_s: number; // median over the sizes that tell
  low_s: number; // the least that was seen
  high_s: number; // the most that was seen
  size_count: number; // sizes that tell
};

// What a stage would need.
export type FitStage = {
  stage: string; // directly inside the generation
  memory_bytes?: number; // predicted peak inside it
  time_s?: number; // predicted time in one generation
};

// How far one size may grow.
export type FitLargest = {
  key: string; // the size that grows; the others are as asked for
  largest_value: number; // the largest value that fits
  largest_height_value?: number; // of width x height: the height
  open?: true; // more may fit: nothing is predicted beyond four times what was measured
};

// The runs that a server shows.
export type RunList = {
  runs: ListedRun[]; // newest first
  left_out_count?: number; // older runs that are not in the list
};

// A run that the server found.
export type ListedRun = {
  id: string; // the name of its folder or file: /runs/ID is its page
  name: string; // the session's name
  host: string; // the machine it was recorded on
  start_time?: string; // when it began
  state: "live" | "ended" | "killed"; // ended: stopped in order; killed: not stopped, and its process is gone
  live: boolean; // a process records into it
  duration_s?: number; // until its end, or as long as it was known alive; of a job its longest rank's
  frames?: number; // frames that were made; of a job its first rank's
  steps?: number; // scheduler steps that began; of a job its first rank's
  command?: string; // what was run; known of what strobe run started
  commit?: string; // git commit of the folder that it was started in
  bytes: number; // on the disk
  pid: number; // the process that recorded it
  rank?: number; // of a job with several
  job?: string; // of a rank: the id of its job, which is listed before it
  rank_count?: number; // of a job: its ranks, listed after it
};

// The memory of a run over time.
export type MemoryLog = {
  snapshots: MemoryLogEntry[]; // in the order of time
  timeline?: Series; // memory over time, sampled
};

// Memory at one moment.
export type MemoryLogEntry = {
  label: string; // what the program calls the moment
  timestamp: number; // when, in seconds since 1970
  t_s: number; // when, since the start of the run
  device: string; // "gpu:0" or "host"
  allocated_mb?: number; // in use
  reserved_mb?: number; // held by the allocator
  max_allocated_mb?: number; // the same as peak_mb
  peak_mb?: number; // the most that was in use so far
  stage?: string; // the stage in which it was taken
};

// What a run wrote.
export type Outputs = {
  schema: "strobe.outputs/1";
  outputs: Output[]; // as they were when the run had ended
};

// What the program's source said.
export type SourceLines = {
  schema: "strobe.source_lines/1";
  lines: SourceLine[]; // those that the report looked at, as they were when the run had ended; at most 512
};

// A line of a Python file.
export type SourceLine = {
  file: string; // where the program ran it from
  line: number; // counted from 1
  text?: string; // without its indent and its comment, at most 160 bytes
  function?: string; // that begins there, of lines that have no text here
};

// What works on this machine.
export type Doctor = {
  version: string; // of strobe
  checks: DoctorCheck[]; // in the order of the text
  can_record: boolean; // no check is broken
};

// One thing that was looked at.
export type DoctorCheck = {
  area: string; // the heading it stands under
  name: string; // what was looked at
  state: "ok" | "limited" | "missing" | "broken"; // limited: works, with less; broken: nothing can be recorded without it
  detail: string; // what was found
  fix?: string; // what to do about it
};

// One run of this machine; the newest is first.
export type HistoryRun = {
  id: number; // its number in this history
  session: string; // id of the session that recorded it
  name: string; // of the run
  run: string; // its folder, which may be gone
  command: string; // what was run
  host: string; // the machine
  start_s: number; // when it started, since 1970
  complete: boolean; // nothing of it is missing
  rank?: number; // of a job, where its ranks were added one by one
  world_size_count?: number; // ranks of the job
  rank_count?: number; // of a job: ranks below it
  metrics: HistoryMetrics; // its metrics
};

// The metrics of one run.
export type HistoryMetrics = {
  wall_s?: number; // Total
  generation_s?: number; // Generation (median)
  step_s?: number; // Step (median)
  first_block_s?: number; // First block
  unattributed_s?: number; // Unattributed
  collective_s?: number; // Waiting at collectives
  offload_s?: number; // Offload
  fps?: number; // Frames/s end to end
  compute_fps?: number; // Frames/s of compute
  bps?: number; // Blocks/s
  frames_count?: number; // Frames
  steps_count?: number; // Steps
  generation_count?: number; // Generations
  gpu_memory_peak_bytes?: number; // Peak GPU memory
  gpu_memory_mean_bytes?: number; // GPU memory in use, mean
  gpu_reserved_peak_bytes?: number; // Peak GPU memory reserved
  gpu_memory_total_bytes?: number; // Total GPU memory
  ram_peak_bytes?: number; // Peak RAM of the machine
  rss_peak_bytes?: number; // Peak process memory
  swap_peak_bytes?: number; // Peak swap of the machine
  page_cache_peak_bytes?: number; // Peak page cache
  gpu_utilization_percent?: number; // GPU utilisation
  gpu_temperature_max_c?: number; // GPU temperature (max)
  gpu_power_w?: number; // GPU power
  gpu_clock_mhz?: number; // GPU clock
  energy_wh?: number; // Energy
  cpu_percent?: number; // CPU
  process_cpu_percent?: number; // CPU of the program
  disk_read_bytes_per_s?: number; // Disk reads
  disk_write_bytes_per_s?: number; // Disk writes
  gpu_busy_s?: number; // GPU busy
  gpu_idle_s?: number; // GPU idle
  gpu_copies_s?: number; // GPU copies
  communication_s?: number; // Communication
  cache_hit_ratio?: number; // Cache hit rate
  dropped_ratio?: number; // Dropped frames
};

// One metric over the runs of this machine.
export type HistoryTrend = {
  metric: string; // as it was asked for: a metric or a stage
  points: HistoryPoint[]; // the oldest first
};

// One run.
export type HistoryPoint = {
  id: number; // the run's number in this history
  name: string; // of the run
  start_s: number; // when it started, since 1970
  point_value: number; // in the metric's unit
};
