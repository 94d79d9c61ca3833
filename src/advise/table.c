/* Every rule of the advice, in one table. The checks are in src/advise/<family>.c; docs/advice.md is made
 * from the words here. */
#include "advise/rule.h"

#include "advise/table.h"

#define HIGH SB_PRIORITY_HIGH
#define MEDIUM SB_PRIORITY_MEDIUM
#define LOW SB_PRIORITY_LOW
#define HOURS SB_EFFORT_HOURS
#define DAYS SB_EFFORT_DAYS
#define WEEKS SB_EFFORT_WEEKS

/* id, category, priority, effort, absolute, threshold key, unit, threshold,
 * needs, fires when, suggestion; then the check. */
static const struct sb_rule rules[] = {
	/* ---- time ---- */
	{ { "stage_dominates", "stages", LOW, DAYS, false, "stage_percent", "percent", 30, "stages",
		  "a stage takes more than this share of the generations, or of the run outside of them (the "
		  "top 3; not imports, loading, compiling)",
		  "Look at its parts below it in the stage table; on a GPU, --gpu-trace=steps:3 names its "
		  "kernels." },
		sb_rule_stage_dominates },
	{ { "unattributed", "stages", MEDIUM, HOURS, false, "unattributed_percent", "percent", 20, "stages",
		  "more than this share of the generations, or of the time from the first to the last, "
		  "belongs to no stage; without generations, of the wall time; low where one stage takes "
		  "longer",
		  "Put sections around what runs there." },
		sb_rule_unattributed },
	{ { "slow_steps", "diffusion", MEDIUM, HOURS, false, "slow_step_ratio", "ratio", 1.5, "steps",
		  "steps take more than this many times their peers' median",
		  "Look at what the slow steps share: a recompile, an offload, a garbage collection, another "
		  "process." },
		sb_rule_slow_steps },
	{ { "recompiles", "compile", HIGH, HOURS, false, "recompile_count", "count", 1,
		  "compile stages, or a counter or events named recompile",
		  "a model was compiled again more often than this",
		  "Keep shapes fixed (pad to one size), or mark the changing dimension dynamic; "
		  "TORCH_LOGS=recompiles names "
		  "the guard." },
		sb_rule_recompiles },
	{ { "graph_breaks", "compile", MEDIUM, DAYS, false, "graph_break_count", "count", 0,
		  "a counter or events named graph_break", "more graph breaks than this",
		  "TORCH_LOGS=graph_breaks names the lines; move prints, .item() and Python side effects out "
		  "of the model." },
		sb_rule_graph_breaks },
	{ { "compile_time", "compile", MEDIUM, HOURS, false, "compile_percent", "percent", 20,
		  "compile stages", "compiling takes more than this share of the wall time",
		  "Keep the compile cache between runs (TORCHINDUCTOR_CACHE_DIR, fx_graph_cache), or compile "
		  "fewer regions." },
		sb_rule_compile_time },
	{ { "data_loading", "data", MEDIUM, HOURS, false, "data_percent", "percent", 10,
		  "stages that read or preprocess input", "they take more than this share of the wall time",
		  "Read ahead in worker threads, pin the memory, move resizing to the GPU." },
		sb_rule_data_loading },
	{ { "offload", "offload", MEDIUM, HOURS, false, "offload_percent", "percent", 5, "offload stages",
		  "moving weights takes more than this share of the wall time",
		  "Keep the model on the GPU if it fits, offload whole models instead of layers, or copy "
		  "from pinned memory on a stream of its own." },
		sb_rule_offload },
	{ { "model_load", "load", LOW, HOURS, false, "load_percent", "percent", 30, "load stages",
		  "loading weights takes more than this share of the wall time",
		  "Keep the process alive between videos, load safetensors by mapping, put the weights on a "
		  "local disk." },
		sb_rule_model_load },
	{ { "events_dropped", "recording", LOW, HOURS, false, "dropped_event_count", "count", 0,
		  "the recording", "more events than this were lost",
		  "See what was lost and why under Recording." }, /* else by the reason */
		sb_rule_events_dropped },
	/* ---- video ---- */
	{ { "steps_many", "diffusion", HIGH, HOURS, true, "step_count", "count", 30, "steps",
		  "one video (or one block) takes more scheduler steps than this",
		  "Try fewer steps, a faster solver (UniPC, DPM++), or a step-distilled model." },
		sb_rule_steps_many },
	{ { "step_slow", "diffusion", HIGH, DAYS, true, "step_ms", "ms", 200, "steps",
		  "the mean step takes longer than this",
		  "Compile the model, use BF16 or FP8, a faster attention, or a step cache." },
		sb_rule_step_slow },
	{ { "block_large", "blocks", MEDIUM, HOURS, true, "block_frames", "frames", 8, "block sizes",
		  "blocks have more frames than this on average",
		  "Smaller blocks come out earlier; weigh the latency against the throughput." },
		sb_rule_block_large },
	{ { "fps_low", "throughput", HIGH, DAYS, true, "fps", "fps", 10, "frames",
		  "fewer frames per second than this, end to end, else in the denoising",
		  "See the largest stage above; fewer steps, lower resolution or more GPUs raise it "
		  "directly." },
		sb_rule_fps_low },
	{ { "bps_low", "throughput", MEDIUM, DAYS, true, "bps", "bps", 2, "blocks",
		  "fewer blocks per second than this", "Fewer steps per block or smaller blocks." },
		sb_rule_bps_low },
	{ { "first_block", "latency", MEDIUM, HOURS, false, "first_block_ratio", "ratio", 1.2,
		  "two blocks or more", "the first block takes more than this many times the later ones",
		  "Warm up before the first request (one small generation), keep compiled graphs and caches "
		  "between requests." },
		sb_rule_first_block },
	{ { "target_fps", "throughput", HIGH, DAYS, false, NULL, NULL, 0, "frames and target_fps",
		  "the target is missed",
		  "The gap to the target is the gain needed; the findings here are ranked by what they could "
		  "give." },
		sb_rule_target_fps },
	{ { "dropped_frames", "streaming", HIGH, DAYS, false, "dropped_percent", "percent", 5,
		  "streamed frames", "more than this share of the frames was dropped",
		  "Lower the resolution or the steps until the pipeline keeps up, or lengthen the buffer." },
		sb_rule_dropped_frames },
	{ { "buffer_low", "streaming", MEDIUM, HOURS, false, "buffer_percent", "percent", 10,
		  "streaming batches with buffer occupancy", "the buffer falls below this",
		  "The producer is slower than the player: buffer longer at the start or lower the frame "
		  "rate." },
		sb_rule_buffer_low },
	/* ---- model ---- */
	{ { "parameters_many", "model", MEDIUM, WEEKS, true, "parameter_count", "count", 1e9,
		  "model parameters", "a model has more parameters than this",
		  "Quantise (FP8, INT8, NF4) or prune; both shrink memory traffic." },
		sb_rule_parameters_many },
	{ { "precision_gain", "model", MEDIUM, HOURS, false, "precision_speedup_ratio", "ratio", 1.2,
		  "a precision comparison", "a variant is faster than the baseline by more than this",
		  "Run the pipeline with it after checking the output." },
		sb_rule_precision_gain },
	{ { "layer_dominates", "layers", LOW, DAYS, false, "layer_percent", "percent", 30, "layer times",
		  "one layer takes more than this share of the model",
		  "Look at this layer's kernels first." },
		sb_rule_layer_dominates },
	{ { "blocks_dominate", "layers", LOW, DAYS, false, "blocks_percent", "percent", 90, "layer times",
		  "the repeated blocks take at least this share of the model",
		  "That is how it should be; gains come from a smaller model, lower resolution, FP16/BF16 or "
		  "torch.compile." },
		sb_rule_blocks_dominate },
	{ { "block_variance", "layers", LOW, HOURS, false, "block_std_ms", "ms", 0.5,
		  "times of two blocks or more", "the blocks' mean times deviate by more than this",
		  "Equal blocks should take equal time: check temperature and clocks, and memory "
		  "bandwidth." },
		sb_rule_block_variance },
	{ { "patch_embedding", "layers", MEDIUM, HOURS, false, "patch_embedding_percent", "percent", 10,
		  "layer times", "the patch embedding takes more than this share of the model",
		  "Use channels-last, let cuDNN search (torch.backends.cudnn.benchmark), lower the input "
		  "resolution." },
		sb_rule_patch_embedding },
	{ { "attention", "layers", LOW, DAYS, false, "attention_percent", "percent", 70,
		  "layer times or a GPU trace", "attention takes at least this share",
		  "Use FlashAttention or SageAttention, shorten the sequence, or attend sparsely." },
		sb_rule_attention },
	/* ---- system ---- */
	{ { "gpu_memory", "memory", HIGH, DAYS, false, "gpu_memory_percent", "percent", 90,
		  "GPU memory samples", "a GPU's peak memory passes this share of its total",
		  "Tile the VAE, offload the text encoder, use a smaller batch or lower precision before it "
		  "runs out." },
		sb_rule_gpu_memory },
	{ { "gpu_utilization", "gpu", MEDIUM, DAYS, false, "gpu_utilization_percent", "percent", 50,
		  "GPU utilisation samples",
		  "GPU utilisation is below this on average during the generations",
		  "The GPU waits for something: see the bound below; torch.compile or CUDA graphs against "
		  "launch cost, read-ahead against input." },
		sb_rule_gpu_utilization },
	{ { "gpu_unused", "cause", LOW, HOURS, false, NULL, NULL, 0, "GPU utilisation samples, generations",
		  "generations beside a GPU that did nothing, and on which the program has no memory",
		  "Put the pipeline on it: pipe.to(\"cuda\"), or pipe.enable_model_cpu_offload() where it "
		  "does not fit." },
		sb_rule_gpu_unused },
	{ { "temperature", "gpu", HIGH, HOURS, false, "temperature_c", "c", 85, "temperature samples",
		  "a GPU gets hotter than this",
		  "Check airflow and the power limit; a hot GPU lowers its clocks." },
		sb_rule_temperature },
	{ { "throttling", "gpu", HIGH, HOURS, false, "throttle_percent", "percent", 5, "throttle reasons",
		  "a fault (heat, slowdown, power brake) held the clocks down for more than this share of "
		  "the time the GPU worked",
		  "Thermal: cooling. Power brake or hardware slowdown: the power supply and its cables." },
		sb_rule_throttling },
	{ { "gpu_shared", "gpu", HIGH, HOURS, false, "other_process_count", "count", 0,
		  "process lists of the GPU, and its utilisation by process",
		  "more other processes than this on the same GPU; low unless they were seen to use it",
		  "Measure on a GPU of your own: times of a shared one do not repeat. 'nvidia-smi pmon' "
		  "shows what each process does." },
		sb_rule_gpu_shared },
	{ { "gpus_idle", "gpu", MEDIUM, WEEKS, false, "idle_gpu_percent", "percent", 5,
		  "samples of two GPUs or more",
		  "a GPU stays below this while another of the same model works",
		  "Spread the work: sequence parallel (Ulysses, ring), CFG parallel, or one video per GPU." },
		sb_rule_gpus_idle },
	{ { "scaling", "multi-gpu", MEDIUM, WEEKS, false, "scaling_percent", "percent", 80,
		  "ranks and the time spent in collectives", "ranks compute less than this share of the time",
		  "Overlap communication with compute, use fewer ranks per video, or check the slowest rank "
		  "with strobe aggregate." },
		sb_rule_scaling },
	{ { "memory_over_model", "memory", MEDIUM, HOURS, false, "model_memory_mb", "mb", 8192,
		  "model sizes and a memory peak",
		  "the peak passes this though the weights would fit in half of it",
		  "Activations are the rest: tile the VAE, slice attention, use BF16, run without "
		  "gradients." },
		sb_rule_memory_over_model },
	{ { "fragmentation", "memory", MEDIUM, HOURS, false, "fragmentation_percent", "percent", 30,
		  "snapshots with allocated and reserved",
		  "more than this share of at least 1 GB reserved is unused",
		  "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; torch.cuda.empty_cache() between stages "
		  "of different shape." },
		sb_rule_fragmentation },
	{ { "memory_kept", "memory", MEDIUM, HOURS, false, "kept_mb", "mb", 512,
		  "memory readings before and after a stage", "a stage keeps more than this after its end",
		  "Delete its tensors and models, or move them to the CPU, before the next stage." },
		sb_rule_memory_kept },
	{ { "swap", "memory", HIGH, HOURS, false, "swap_mb", "mb", 256, "swap samples",
		  "swap use grows by more than this",
		  "Weights in swap are read back from disk: load fewer models at once or add RAM." },
		sb_rule_swap },
	{ { "ram_limit", "memory", HIGH, HOURS, false, "ram_percent", "percent", 90, "RAM samples",
		  "RAM use passes this share of the machine's or the cgroup's limit",
		  "The kernel kills what passes the limit: keep fewer models in RAM." },
		sb_rule_ram_limit },
	{ { "disk_collapse", "disk", HIGH, DAYS, false, "disk_collapse_percent", "percent", 10,
		  "disk samples",
		  "disk reads fall below this share of their own best rate while reading goes on, after "
		  "start-up",
		  "The page cache is full or the GPU holds what used to stream: check memory, then the "
		  "disk." },
		sb_rule_disk_collapse },
	/* ---- caches ---- */
	{ { "cache_useless", "cache", MEDIUM, HOURS, false, "cache_hit_percent", "percent", 10,
		  "cache events", "fewer than this share of the requests hit",
		  "Switch it off: it costs memory and time and gives nothing." },
		sb_rule_cache_useless },
	{ { "cache_strict", "cache", MEDIUM, HOURS, false, "cache_near_miss_percent", "percent", 50,
		  "cache misses with score and threshold",
		  "more than this share of the misses come close to the threshold",
		  "Loosen the threshold a little and compare the output." },
		sb_rule_cache_strict },
	/* ---- GPU trace ---- */
	{ { "copies", "gpu_trace", MEDIUM, DAYS, false, "copy_percent", "percent", 10, "a GPU trace",
		  "copies take more than this share of the GPU's time",
		  "Keep tensors on the GPU, copy once, copy asynchronously from pinned memory." },
		sb_rule_copies },
	{ { "pageable_copies", "gpu_trace", LOW, HOURS, false, "pageable_percent", "percent", 50,
		  "a GPU trace", "more than this share of the copied bytes goes through pageable memory",
		  "Pin the host memory (pin_memory=True): pageable copies block and are slower." },
		sb_rule_pageable_copies },
	{ { "gpu_gaps", "gpu_trace", MEDIUM, DAYS, false, "gpu_idle_percent", "percent", 20, "a GPU trace",
		  "the GPU idles more than this share between its first and last kernel; the cause is "
		  "launching only where most of that is in short gaps",
		  "See what the CPU did in the gaps; CUDA graphs or torch.compile remove launch gaps." },
		sb_rule_gpu_gaps },
	{ { "small_kernels", "gpu_trace", MEDIUM, DAYS, false, "small_kernel_percent", "percent", 50,
		  "a GPU trace", "more than this share of the kernels is shorter than 10 us",
		  "Fuse them (torch.compile), batch CFG's two forwards, use CUDA graphs." },
		sb_rule_small_kernels },
	{ { "attention_math", "gpu_trace", HIGH, HOURS, false, "attention_math_percent", "percent", 5,
		  "a GPU trace", "unfused (math) attention takes more than this share of the kernel time",
		  "Use scaled_dot_product_attention with FP16/BF16 inputs and no mask that forbids the fused "
		  "kernels." },
		sb_rule_attention_math },
	{ { "communication", "gpu_trace", MEDIUM, DAYS, false, "communication_percent", "percent", 10,
		  "a GPU trace with NCCL kernels",
		  "communication that no compute hides takes more than this share",
		  "Overlap it with compute, use larger messages, keep ranks on one node." },
		sb_rule_communication },
	/* ---- lines of the program ---- */
	{ { "hidden_sync", "cause", HIGH, HOURS, false, "hidden_sync_percent", "percent", 5,
		  "sampled Python stacks and a GPU",
		  "a line inside or between the steps waits for the GPU (.item(), synchronize(), if "
		  "tensor.any()) and that costs more than this share of the generations",
		  "Keep the value on the GPU, look at it once after the loop, or take the check out: while "
		  "Python waits it launches nothing, and the GPU runs dry." },
		sb_rule_hidden_sync },
	{ { "allocator_thrash", "cause", HIGH, HOURS, false, "allocator_percent", "percent", 2,
		  "sampled Python stacks, or the allocator's counts",
		  "giving GPU memory back and asking for it again takes more than this share of the "
		  "generations",
		  "Take torch.cuda.empty_cache() out of the steps; "
		  "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True helps "
		  "where memory is short." },
		sb_rule_allocator_thrash },
	{ { "python_between_steps", "cause", HIGH, HOURS, false, "between_steps_percent", "percent", 7,
		  "sampled Python stacks, steps or generations",
		  "lines of one function, outside every stage inside a step or a generation, take more than "
		  "this share of the generations",
		  "Move it out of the loop, into a thread, or onto the GPU: the model waits meanwhile." },
		sb_rule_python_between_steps },
	{ { "python_in_forward", "cause", HIGH, HOURS, false, "in_forward_percent", "percent", 20,
		  "sampled Python stacks inside the calls of torch's modules",
		  "lines of one function that only run Python (a hook, a loop over values, a log), inside a "
		  "model's call, take more than this share of its stage",
		  "Take it out of the model's call, or do it once for the whole tensor: "
		  "rows.extend(values.tolist()) in place of float() for each of them; the model waits "
		  "meanwhile." },
		sb_rule_python_in_forward },
	{ { "between_generations", "cause", HIGH, HOURS, false, "between_generations_percent", "percent", 10,
		  "sampled Python stacks and generations",
		  "lines of one function, outside of all generations and after the first began, take more "
		  "than this share of the generations' time",
		  "Do it once before the loop, in a thread while the next generation runs, or with a library "
		  "in place of a loop in Python: the pipeline waits meanwhile." },
		sb_rule_between_generations },
	{ { "slow_export", "cause", HIGH, HOURS, false, "export_percent", "percent", 10,
		  "sampled Python stacks",
		  "encoding or writing files takes more than this share of the generations",
		  "Write in a thread or process of its own while the next video is made; use a faster format "
		  "(H.264 by NVENC, PNG level 1, raw frames through a pipe)." },
		sb_rule_slow_export },
	{ { "input_starved", "cause", HIGH, HOURS, false, "input_percent", "percent", 10,
		  "sampled Python stacks and stages that read or wait for input",
		  "waiting for input after the first generation takes more than this share of their time",
		  "Read ahead: num_workers and prefetch_factor of the DataLoader, a thread that fills a "
		  "queue, decoding on the GPU." },
		sb_rule_input_starved },
	{ { "garbage_collection", "cause", HIGH, HOURS, false, "gc_percent", "percent", 5,
		  "garbage collections of a millisecond or more",
		  "Python's collections inside generations (or after the start-up) take more than this share "
		  "of them",
		  "gc.freeze() after loading, or gc.disable() during a generation and one collection between "
		  "two." },
		sb_rule_garbage_collection },
	/* ---- work that need not be ---- */
	{ { "repeated_work", "cause", HIGH, HOURS, false, "repeated_percent", "percent", 5,
		  "a text encode or VAE stage, and sampled Python stacks",
		  "text encoding, the VAE or an upload, called again in the steps or between them, takes "
		  "more than this share of the generations",
		  "Do it once, before the steps, and keep the result." },
		sb_rule_repeated_work },
	{ { "cfg_wasted", "cause", HIGH, HOURS, false, "cfg_percent", "percent", 5,
		  "steps with their guidance_scale and forwards",
		  "two forwards a step with a guidance scale of at most 1, which cost more than this share",
		  "Switch classifier-free guidance off (one forward a step): at a scale of 1 the result is "
		  "the same." },
		sb_rule_cfg_wasted },
	{ { "padding", "cause", MEDIUM, DAYS, false, "padding_percent", "percent", 10,
		  "padded_frames, padded_width, padded_height or mask_ratio beside frames, width and height",
		  "what is computed and thrown away costs more than this share of the generations",
		  "Pad to the next of a few sizes instead of one for all, each compiled once; cut long "
		  "videos into equal parts; crop to the mask and paste back." },
		sb_rule_padding },
	{ { "cache_idle", "cause", MEDIUM, HOURS, false, "cache_idle_count", "count", 5,
		  "cache events, or a step cache of diffusers",
		  "a cache that was asked more often than this has never hit",
		  "Set its threshold so that it fires, or switch it off; see its scores in the cache "
		  "panel." },
		sb_rule_cache_idle },
	{ { "asked_not_ran", "cause", MEDIUM, HOURS, false, NULL, NULL, 0,
		  "models of diffusers; for attention a GPU trace or sdpa_kernel()",
		  "a model was to be compiled and nothing was, or its attention backend does not appear",
		  "Look at the log of the first call: the compiler or the backend says why it is not used; "
		  "then set it, or take the setting out." },
		sb_rule_asked_not_ran },
	{ { "known_version", "cause", MEDIUM, HOURS, false, NULL, NULL, 0, "models of diffusers on a GPU",
		  "the versions of torch and cuDNN are known to be slow with what a model computes",
		  "Update torch, or cuDNN from its own package; --gpu-trace=steps:3 shows what it costs "
		  "here." },
		sb_rule_known_version },
	{ { "debug_mode", "cause", HIGH, HOURS, false, "debug_percent", "percent", 2, "a model of torch's",
		  "a model is called while a switch for finding errors is on, and three tenths of its time "
		  "are more than this share",
		  "Switch it off where no error is looked for." },
		sb_rule_debug_mode },
	{ { "gradients_unused", "cause", MEDIUM, HOURS, false, "gradients_percent", "percent", 20,
		  "a model of torch's",
		  "models that record gradients for no backward pass take more than this share",
		  "Call it under torch.inference_mode(), or torch.no_grad() where its results are trained "
		  "on." },
		sb_rule_gradients_unused },
	{ { "benchmark_by_size", "cause", HIGH, HOURS, false, "benchmark_percent", "percent", 5,
		  "a model of torch's with convolutions on a GPU",
		  "cudnn.benchmark is on, and calls that are much longer than most cost more than this share",
		  "torch.backends.cudnn.benchmark = False where sizes vary; or pad inputs to a few sizes." },
		sb_rule_benchmark_by_size },
	/* ---- the host ---- */
	{ { "gil_contention", "cause", HIGH, HOURS, false, "gil_percent", "percent", 40,
		  "sampled Python stacks of several threads",
		  "another thread computes in Python for more than this share of the generations",
		  "Move that thread into a process of its own (multiprocessing), or let it wait "
		  "(queue.get(), Event.wait()) where it polls." },
		sb_rule_gil_contention },
	{ { "thread_oversubscription", "cause", HIGH, HOURS, false, "thread_ratio", "ratio", 1.5,
		  "torch's thread count as the program set it",
		  "torch uses more than this many threads per core",
		  "torch.set_num_threads(cores), or OMP_NUM_THREADS; fewer still beside DataLoader "
		  "workers." },
		sb_rule_thread_oversubscription },
	{ { "memory_leak", "cause", HIGH, HOURS, false, "leak_mb", "mb", 8,
		  "readings of memory after five generations, steps or calls, or more; without these over "
		  "six seconds",
		  "memory grows by more than this with every generation, or by 64 MB in all with steps, "
		  "calls or over time, and goes on growing",
		  "Keep no tensors beyond their generation: lists of latents, logs with tensors, closures; "
		  "detach and move to the CPU what must stay." },
		sb_rule_memory_leak },
	{ { "open_files", "cause", MEDIUM, HOURS, false, "open_file_count", "count", 0.2,
		  "readings of open files after five generations, steps or calls, or more",
		  "more than this many files stay open after every generation, step or call, 16 in all",
		  "Open files with `with`, or close readers and writers where they are made: the limit "
		  "(ulimit -n) ends the run." },
		sb_rule_open_files },
	{ { "out_of_memory", "cause", HIGH, HOURS, false, NULL, NULL, 0,
		  "torch's allocator, or the kernel's word that it killed the run",
		  "memory ran out, also where the program caught the error and went on",
		  "Offload what this stage does not need, decode in tiles, take a smaller size or batch, or "
		  "a smaller dtype for weights." },
		sb_rule_out_of_memory },
	{ { "allocator_retries", "cause", MEDIUM, HOURS, false, NULL, NULL, 0,
		  "the counts of torch's allocator, read with the memory",
		  "torch's allocator got memory only after it had given its whole cache back; low where "
		  "that is rare",
		  "Offload the largest model that this stage does not use, decode in smaller tiles, and hold "
		  "no other models meanwhile; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where sizes "
		  "vary." },
		sb_rule_allocator_retries },
	{ { "slow_trend", "cause", MEDIUM, HOURS, false, "trend_ratio", "ratio", 1.3,
		  "twelve steps or generations",
		  "each quarter of the run is slower than the one before, the last by more than this",
		  "Look at what grows: lists that are scanned, files that are read again, memory, the "
		  "temperature." },
		sb_rule_slow_trend },
	/* ---- kernels that ran, beside those that could have ---- */
	{ { "fallback_attention", "cause", HIGH, HOURS, false, "fallback_attention_percent", "percent", 5,
		  "a GPU trace; without one torch's switches and sdpa_kernel()",
		  "attention without a flash kernel costs more than this share of the generations",
		  "Call torch.nn.functional.scaled_dot_product_attention with 16-bit inputs and without a "
		  "dense mask, or set the attention backend (flash, cuDNN, Sage); take "
		  "sdpa_kernel(MATH) out." },
		sb_rule_fallback_attention },
	{ { "fallback_conv", "cause", HIGH, HOURS, false, "fallback_conv_percent", "percent", 5,
		  "a GPU trace; without one torch's switches",
		  "convolutions without cuDNN cost more than this share of the generations",
		  "torch.backends.cudnn.enabled = True; check that cuDNN is found "
		  "(torch.backends.cudnn.version()) and takes the dtype." },
		sb_rule_fallback_conv },
	{ { "precision_mismatch", "cause", HIGH, HOURS, false, "precision_percent", "percent", 5,
		  "a GPU trace; without one the models' dtypes and the GPU's FP64 counter",
		  "fp32 or fp64 products beside a 16-bit model, or casts in every call, cost more than this "
		  "share",
		  "Load it in the precision it shall compute in: torch_dtype=torch.bfloat16, or "
		  ".to(torch.bfloat16) once." },
		sb_rule_precision_mismatch },
	{ { "quantised_not_used", "cause", HIGH, DAYS, false, "dequantise_percent", "percent", 5,
		  "a GPU trace",
		  "unpacking quantised weights in every call costs more than this share of the generations",
		  "Use kernels that multiply the quantised weights (torchao, scaled_mm, Marlin), or keep "
		  "16-bit weights where they fit." },
		sb_rule_quantised_not_used },
	{ { "layout_conversion", "cause", MEDIUM, HOURS, false, "layout_percent", "percent", 5, "a GPU trace",
		  "copies and transposes around convolutions cost more than this share of the generations",
		  "Convert model and input once (memory_format=torch.channels_last or channels_last_3d) and "
		  "take .contiguous() out between the layers." },
		sb_rule_layout_conversion },
	{ { "kernels_unfused", "cause", LOW, DAYS, false, "unfused_percent", "percent", 5, "a GPU trace",
		  "a compiler that fuses the element-wise kernels of the steps, the VAE, or a model that a "
		  "program without generations calls in a loop would save about "
		  "this share of the work",
		  "Before the first generation: pipe.transformer.compile_repeated_blocks(fullgraph=True) "
		  "(diffusers), else model = torch.compile(model). The first call of each shape compiles." },
		sb_rule_kernels_unfused },
	{ { "tiny_tiles", "cause", MEDIUM, HOURS, false, "tile_count", "count", 16,
		  "VAE decode stages with calls inside",
		  "the VAE decodes a video in more calls than this, each short",
		  "Larger tiles, or no tiling where the memory allows it; decode several frames in one "
		  "call." },
		sb_rule_tiny_tiles },
	/* ---- weights that move ---- */
	{ { "overswap", "cause", HIGH, HOURS, false, "overswap_percent", "percent", 5,
		  "offload stages, the GPU's memory",
		  "moving weights takes more than this share of the generations, and they would fit",
		  "Leave the model on the GPU: take enable_model_cpu_offload(), apply_group_offloading() or "
		  ".to(\"cpu\") out." },
		sb_rule_overswap },
	{ { "offload_serial", "cause", MEDIUM, DAYS, false, "offload_serial_percent", "percent", 10,
		  "offload stages, the GPU's memory",
		  "moving weights takes more than this share of the generations while nothing computes, and "
		  "they would not fit",
		  "Move the next block while this one computes: group offloading with use_stream=True, from "
		  "pinned memory." },
		sb_rule_offload_serial },
};

size_t sb_rule_count(void)
{
	return sizeof rules / sizeof *rules;
}

const struct sb_rule *sb_rule_at(size_t i)
{
	return i < sb_rule_count() ? &rules[i] : NULL;
}

const struct sb_rule_info *sb_rule_info(size_t i)
{
	return i < sb_rule_count() ? &rules[i].info : NULL;
}
