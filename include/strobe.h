/*
 * strobe.h - record where the time, memory and money of a video pipeline go.
 *
 * The only installed header. Recording calls never fail, block, allocate or
 * print; while no session is open each costs one load and one branch.
 */
#ifndef STROBE_H
#define STROBE_H

#include <stddef.h>
#include <stdint.h>

#define STROBE_VERSION "0.1.0"

#if defined(__GNUC__)
#define STROBE_API __attribute__((visibility("default")))
#define STROBE_UNLIKELY_(x) __builtin_expect(!!(x), 0)
#else
#error "strobe.h needs gcc or clang"
#endif

/* Called by every zone: a direct call into the library, without the jump through a linkage table. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define STROBE_HOT_API_ STROBE_API __attribute__((noplt))
#endif
#endif
#ifndef STROBE_HOT_API_
#define STROBE_HOT_API_ STROBE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Fallible calls return 0 or one of these; strobe_error() has the words. */
enum {
	STROBE_ENOMEM = -1,
	STROBE_EIO = -2, /* the operating system refused: file, disk, mapping */
	STROBE_EINVAL = -3, /* the caller passed nonsense */
	STROBE_EFORMAT = -4, /* a file is not what it claims to be */
	STROBE_ENOTSUP = -5, /* this build or this machine cannot do it */
	STROBE_EBUSY = -6,
	STROBE_ENOENT = -7,
	STROBE_EPERM = -8,
	STROBE_ENOSPC = -9
};

enum strobe_type { STROBE_TYPE_INT = 1, STROBE_TYPE_FLOAT = 2, STROBE_TYPE_STRING = 3, STROBE_TYPE_BOOL = 4 };

/* A typed value with its name: attributes of zones and events, session tags. */
struct strobe_attr {
	const char *key;
	enum strobe_type type;
	union {
		int64_t i; /* STROBE_TYPE_INT, STROBE_TYPE_BOOL */
		double f;
		const char *s;
	} value;
};

/* ---- sessions ---------------------------------------------------------- */

struct strobe_options {
	size_t size; /* sizeof(struct strobe_options) */
	const char *name; /* default: the program's name */
	const char *output_dir; /* default: ./strobe-runs */
	const char *config; /* a YAML file, read if given */
	const char *preset; /* "development", "production" */
	const struct strobe_attr *tags; /* copied */
	size_t tag_count;
	uint64_t max_trace_bytes; /* 0: 256 MiB */
	int quiet; /* 1: do not print errors: the caller reports what strobe_start() returns */
};

/* Opens a session; opts may be NULL: environment and defaults. Recording is on
 * afterwards unless STROBE_ENABLED=0. Joins the session that STROBE_ENABLED=1
 * opened at load time, if there is one. On failure the program runs on
 * unrecorded and every recording call stays harmless. */
STROBE_API int strobe_start(const struct strobe_options *opts);

/* Ends the session and closes its file; the report is made by a child process,
 * which is waited for. */
STROBE_API int strobe_stop(void);

/* What went wrong in this thread's last failing call; never NULL. */
STROBE_API const char *strobe_error(void);

/* 1 while a session records. */
STROBE_API int strobe_recording(void);

/* The open (or last) session's run folder, "" before the first one. */
STROBE_API const char *strobe_run_dir(void);

STROBE_API void strobe_tag(const struct strobe_attr *tag);
/* Copies a text as strobe_tag() would record it: credentials become "***", and so does the whole text if
 * the key is named like one (token, password). Returns how many were replaced; 0: the text is unchanged.
 * Cuts what does not fit. For bindings that write tags into files of their own. */
STROBE_API size_t strobe_mask(const char *key, const char *text, char *out, size_t size);
/* Says what could not be recorded, why, and how to record it; the report shows it once. For bindings,
 * while a session is open. */
STROBE_API void strobe_missing(const char *what, const char *why, const char *how);

/* Sets this process's rank and the number of ranks, for processes whose environment does not say it
 * (multiprocessing). local_rank < 0: not known. backend: "nccl", "gloo"...; NULL: not known. */
STROBE_API void strobe_rank(int rank, int local_rank, int world_size, const char *backend);

/* Records the exit status of the process, after its session is closed: a status other than 0 marks its
 * rank as failed. For bindings, as their last call. */
STROBE_API void strobe_exit_status(int status);

/* A binding prints the lines of `stage_log` itself: the library prints none in this process. */
STROBE_API void strobe_stage_log_elsewhere(void);

/* ---- names ------------------------------------------------------------- */

/* A name keeps its id as long as the process lives. A name may carry a stage code
 * such as "4e.1" (NULL: none). Returns 0 only for a NULL name. */
STROBE_API uint32_t strobe_name(const char *name, const char *code);

/* One per call site; the macros below make them. */
struct strobe_site {
	const char *name;
	const char *code;
	uint32_t id;
	uint32_t always; /* 1: recorded whatever the profile_* settings say: its end does not know the site */
};

/* ---- zones ------------------------------------------------------------- */

/* Not for direct use: 0 while nothing records. */
extern STROBE_API uint32_t strobe_mode_;
#define STROBE_ON_() STROBE_UNLIKELY_(__atomic_load_n(&strobe_mode_, __ATOMIC_RELAXED))

STROBE_HOT_API_ void strobe_site_begin_(struct strobe_site *site);
STROBE_HOT_API_ void strobe_site_end_(struct strobe_site *site);
STROBE_HOT_API_ void strobe_innermost_end_(void);

/* The zone lasts to the end of the enclosing scope. */
#define STROBE_ZONE(zone_name) STROBE_STAGE(NULL, zone_name)

/* The same with a stage code: STROBE_STAGE("4c", "VAE encode"). */
#define STROBE_STAGE(stage_code, zone_name) STROBE_SCOPE_(stage_code, zone_name, __COUNTER__)
#define STROBE_SCOPE_(stage_code, zone_name, n) STROBE_SCOPE2_(stage_code, zone_name, n)
#define STROBE_SCOPE2_(stage_code, zone_name, n)                                     \
	static struct strobe_site strobe_site_##n = { zone_name, stage_code, 0, 0 }; \
	struct strobe_site *strobe_scope_##n                                         \
		__attribute__((cleanup(strobe_scope_end_), unused)) = strobe_scope_begin_(&strobe_site_##n)

/* Zones that do not follow a scope. */
#define STROBE_ZONE_BEGIN(zone_name)                                                     \
	do {                                                                             \
		static struct strobe_site strobe_site_here_ = { zone_name, NULL, 0, 1 }; \
		if (STROBE_ON_())                                                        \
			strobe_site_begin_(&strobe_site_here_);                          \
	} while (0)
#define STROBE_ZONE_END()                        \
	do {                                     \
		if (STROBE_ON_())                \
			strobe_innermost_end_(); \
	} while (0)

static inline struct strobe_site *strobe_scope_begin_(struct strobe_site *site)
{
	if (!STROBE_ON_())
		return NULL;
	strobe_site_begin_(site);
	return site;
}

static inline void strobe_scope_end_(struct strobe_site **site)
{
	if (STROBE_UNLIKELY_(*site))
		strobe_site_end_(*site);
}

/* What the profile_* settings can switch off; it follows from a zone's role and name (enum strobe_role).
 * Bindings ask before they record something of a kind; the calls below and STROBE_ZONE ask by themselves. */
enum strobe_kind {
	STROBE_KIND_OTHER = 0, /* always recorded */
	STROBE_KIND_STEP = 1,
	STROBE_KIND_BLOCK = 2,
	STROBE_KIND_MODEL = 3,
	STROBE_KIND_VAE_DECODE = 4,
	STROBE_KIND_TEXT_ENCODE = 5
};
STROBE_API enum strobe_kind strobe_kind_of(const char *zone_name);
STROBE_API int strobe_kind_recorded(enum strobe_kind kind);

/* Names made at run time. Values belong in attributes, not in names. */
STROBE_API void strobe_zone_begin(const char *dynamic_name);
STROBE_API void strobe_zone_begin_code(const char *dynamic_name, const char *code);
STROBE_HOT_API_ void strobe_zone_end(void);

/* For bindings that keep ids from strobe_name(). An end with an id that is not
 * the innermost zone's closes the zones inside it too; id 0 ends the innermost. */
STROBE_HOT_API_ void strobe_zone_begin_id(uint32_t name);
STROBE_HOT_API_ void strobe_zone_end_id(uint32_t name);

/* Attributes of the innermost open zone of the calling thread (or its track). */
STROBE_API void strobe_attr_int(const char *key, int64_t value);
STROBE_API void strobe_attr_float(const char *key, double value);
STROBE_API void strobe_attr_string(const char *key, const char *value);
STROBE_API void strobe_attr_int_id(uint32_t key, int64_t value);
STROBE_API void strobe_attr_float_id(uint32_t key, double value);
STROBE_API void strobe_attr_string_id(uint32_t key, const char *value);

/* What a zone is, beyond a stage. An integer attribute under the key "strobe.role":
 * strobe_role() and strobe_attr_int("strobe.role", …) do the same. */
enum strobe_role {
	STROBE_ROLE_STAGE = 0,
	STROBE_ROLE_GENERATION = 1,
	STROBE_ROLE_ITERATION = 2,
	STROBE_ROLE_STEP = 3,
	STROBE_ROLE_BLOCK = 4,
	STROBE_ROLE_LAYER = 5,
	STROBE_ROLE_IMPORT = 6, /* loading code */
	STROBE_ROLE_LOAD = 7, /* loading weights */
	STROBE_ROLE_COMPILE = 8,
	STROBE_ROLE_OFFLOAD = 9, /* moving weights; attribute "bytes" */
	STROBE_ROLE_WARMUP = 10,
	STROBE_ROLE_FORWARD = 11, /* one model call inside a step */
	STROBE_ROLE_COLLECTIVE = 12, /* waiting for other ranks */
	/* What a stage is for. Only needed where its name does not tell. */
	STROBE_ROLE_DENOISE = 13,
	STROBE_ROLE_VAE_DECODE = 14,
	STROBE_ROLE_VAE_ENCODE = 15,
	STROBE_ROLE_TEXT_ENCODE = 16,
	STROBE_ROLE_DATA = 17, /* reading, decoding, preparing the input */
	STROBE_ROLE_EXPORT = 18, /* writing the result */
	STROBE_ROLE_PROFILER = 19 /* what a profiler does itself inside the program */
};
STROBE_API void strobe_role(enum strobe_role role);
/* A zone whose role was set is about to end. Needed only for steps and generations whose zones are not ended by
 * strobe_step_end() or strobe_generation_end(), and only where slow ones are watched for (gpu_trace slow:1.5). */
STROBE_API void strobe_role_end(enum strobe_role role);
STROBE_API int strobe_roles_watched(void); /* 1 while that is so */

/* ---- tracks, spans, measured durations --------------------------------- */

/* A track is a line of nested zones that is not a thread: a task, a request.
 * 0 is the calling thread itself. */
STROBE_API uint32_t strobe_track_new(const char *name);
STROBE_API void strobe_track_switch(uint32_t track);

/* Work that begins on one thread or task and may end on another. */
struct strobe_span {
	uint64_t id;
	uint64_t start_ticks;
	uint32_t name;
	uint32_t track;
};
STROBE_API struct strobe_span strobe_span_begin(const char *name);
STROBE_API void strobe_span_end(
	const struct strobe_span *span, const struct strobe_attr *attrs, size_t attr_count);

/* A duration that the caller measured and that ends now. */
STROBE_API void strobe_duration(
	const char *name, uint64_t duration_ns, const struct strobe_attr *attrs, size_t attr_count);

/* ---- video semantics --------------------------------------------------- */

struct strobe_generation {
	int64_t frames; /* output frames; 0: not known yet */
	int64_t width;
	int64_t height;
};
/* One video, one prompt, one request. info may be NULL. */
STROBE_API void strobe_generation_begin(const char *name, const struct strobe_generation *info);
STROBE_API void strobe_generation_end(void);

STROBE_API void strobe_iteration_begin(const char *name, int64_t index);
STROBE_API void strobe_iteration_end(void);

struct strobe_step {
	int64_t step;
	double timestep;
	int64_t block_size; /* frames; 0: none */
	double guidance_scale; /* NaN: none */
};
STROBE_API void strobe_step_begin(const char *name, const struct strobe_step *step);
STROBE_API void strobe_step_end(void);
/* A step the caller has timed. */
STROBE_API void strobe_step_record(const char *name, const struct strobe_step *step, uint64_t duration_ns);

/* Blocks of an autoregressive pipeline; frames is the block's size. */
STROBE_API void strobe_block_begin(const char *name, int64_t index, int64_t frames);
STROBE_API void strobe_block_end(int64_t memory_bytes); /* < 0: unknown */
STROBE_API void strobe_block_record(
	const char *name, int64_t index, int64_t frames, uint64_t duration_ns, int64_t memory_bytes);

STROBE_API void strobe_model(const char *name, int64_t parameter_count, const char *type, int64_t bytes);

/* Counts output frames where they leave the pipeline; count each frame once. */
STROBE_API void strobe_frames(int64_t count);
STROBE_API void strobe_frames_dropped(int64_t count);

struct strobe_batch {
	int64_t frames;
	double encode_ms;
	double network_ms;
	double buffer_ratio; /* 0..1, NaN: unknown */
};
STROBE_API void strobe_stream_batch(const struct strobe_batch *batch);

enum strobe_cache_kind { STROBE_CACHE_HIT = 1, STROBE_CACHE_MISS = 2, STROBE_CACHE_EVICT = 3 };
struct strobe_cache_event {
	const char *cache;
	enum strobe_cache_kind kind;
	int64_t count; /* 0 counts as 1 */
	int64_t size_bytes; /* the cache's size now, < 0: unknown */
	double score; /* NaN: none */
	double threshold; /* NaN: none */
	double frame; /* position in the video, NaN: none */
	int64_t chunk; /* < 0: none */
};
STROBE_API void strobe_cache(const struct strobe_cache_event *event);

/* ---- memory ------------------------------------------------------------ */

/* Bytes of a device's allocator at this moment; < 0: unknown. device < 0: host. */
STROBE_API void strobe_snapshot(
	const char *label, int device, int64_t allocated_bytes, int64_t reserved_bytes, int64_t peak_bytes);
STROBE_API void strobe_alloc(const char *allocator, int64_t bytes, const char *context);
STROBE_API void strobe_free(const char *allocator, int64_t bytes, const char *context);

/* ---- counters, marks, skipped stages ----------------------------------- */

STROBE_API void strobe_counter_add(const char *name, int64_t delta);
STROBE_API void strobe_counter_set(const char *name, double value);
STROBE_API void strobe_mark(const char *name);
STROBE_API void strobe_event(const char *name, const struct strobe_attr *attrs, size_t attr_count);
STROBE_API void strobe_skip(const char *name, const char *code, const char *reason);
/* Counts zones that a compiler removed from the code it compiled: they are not recorded, and the report
 * says how many. For bindings. */
STROBE_API void strobe_lost_compiled(uint64_t count);
STROBE_API void strobe_thread_name(const char *name);

/* The program has written, or is about to write, a result: a video, a picture, a folder of pictures. Its
 * size and content are taken when the run has ended, so that `strobe diff` can compare them. */
STROBE_API void strobe_output(const char *path);
/* The same for a file of samples without a header; pixel_format is "rgb24", "gray", "yuv420p", "yuv422p"
 * or "yuv444p". */
STROBE_API void strobe_output_raw(const char *path, int64_t width, int64_t height, const char *pixel_format);

/* ---- sampled stacks ------------------------------------------------------ */

struct strobe_frame {
	uint32_t function; /* from strobe_name() */
	uint32_t line; /* 0: unknown */
};
/* Records where a thread is now, the innermost function first. A sampler calls it from any thread. At most
 * 256 frames are kept. */
STROBE_API void strobe_stack(uint32_t thread_id, const struct strobe_frame *frames, size_t count);
/* The same, seen a moment ago, with the time it represents. */
struct strobe_sample {
	uint32_t thread_id;
	int native; /* 1: not a Python thread. Its one frame is its name, weight_ns the CPU time it used */
	uint64_t age_ns; /* how long ago it was seen */
	uint64_t weight_ns; /* time since the sampler looked last; 0: not known */
	int cpu_known; /* 1: cpu_ns is known */
	uint64_t cpu_ns; /* CPU time that the thread used meanwhile */
	int beside_gil; /* what this thread did while the sampler held Python's GIL: 1 waited for it, 2 ran; 3: the sampler did not need the GIL, or the main thread held it; 0: not known */
};
STROBE_API void strobe_stack_sample(
	const struct strobe_sample *sample, const struct strobe_frame *frames, size_t count);
/* The setting `sample_hz` of the open session: stacks per second, 0: none. For samplers. */
STROBE_API double strobe_sample_hz(void);
/* The file of a function of those stacks; one call per function is enough. */
STROBE_API void strobe_function_file(uint32_t function, const char *file);

/* ---- GPU --------------------------------------------------------------- */

/* A zone whose GPU time is taken on a stream (a CUstream; NULL: the default stream) by events that are
 * resolved later: nothing ever synchronizes. It is also an ordinary zone. Without a GPU it is only that.
 * An end without a name ends the innermost open zone of that stream, or the innermost of all if the stream
 * has none. Ordinary zones nest: a zone that is still open when the zone around it ends is ended with it,
 * as an ordinary zone; its GPU time goes on to its own end. */
STROBE_API void strobe_gpu_zone_begin(const char *name, void *stream);
STROBE_API void strobe_gpu_zone_end(void *stream);
STROBE_API void strobe_gpu_zone_begin_id(uint32_t name, void *stream);
STROBE_API void strobe_gpu_zone_end_id(uint32_t name, void *stream);
/* For an end: the stream that the zone began on. */
#define STROBE_GPU_SAME_STREAM ((void *)~(uintptr_t)0)

/* For bindings to interpreters, where a call takes longer. They ask for the stream first; arrived_ticks is
 * the time before they asked, so that asking does not count as time in which the program may have used the
 * stream. */
STROBE_API uint64_t strobe_gpu_zone_arrive(void);
STROBE_API void strobe_gpu_zone_begin_arrived(uint32_t name, void *stream, uint64_t arrived_ticks);
STROBE_API void strobe_gpu_zone_end_arrived(uint32_t name, void *stream);

/* 1 if this stage is entered rarely enough (at most 1 000 times a second) to spend two events on its GPU
 * time. For bindings that time every stage. */
STROBE_API int strobe_gpu_zone_worth(uint32_t name);

/* Kernel trace (CUPTI), bounded: spec is "", "steps:3" or "seconds:5"; "slow:1.5" keeps the kernels around slow
 * steps and generations only. */
STROBE_API int strobe_gpu_trace_start(const char *spec);
STROBE_API void strobe_gpu_trace_stop(void);
/* Keeps the last steps' kernels now; why is shown in the report. Does nothing unless slow moments are watched for. */
STROBE_API void strobe_gpu_trace_keep(const char *why);
/* A trace of steps, if one was asked for: 0 not begun, 1 running, 2 over: other stages may be traced. */
STROBE_API int strobe_gpu_trace_steps_state(void);
/* Counts a step for a GPU trace or a sampling of counters that lasts so many steps ("steps:3"), and
 * records nothing. For stages that are steps under another name, such as the tokens of a language model. */
STROBE_API void strobe_step_passes(void);
/* Steps that this process has marked in this session, recorded or left out; those that only passed do not count. */
STROBE_API uint32_t strobe_steps_marked(void);
/* Ends the trace and waits, a second at most, until CUPTI is free for another profiler; the report names
 * that profiler. Does nothing when there is no trace. Slow moments go on being watched for, by the clock. */
STROBE_API void strobe_gpu_trace_yield(const char *to);
/* That profiler is done: kernels around slow moments are kept again. */
STROBE_API void strobe_gpu_trace_resume(void);

/* Counters of the GPU (SM, tensor cores, DRAM, PCIe) sampled every half millisecond (CUPTI PM sampling),
 * bounded like a trace. */
STROBE_API int strobe_gpu_counters_start(const char *spec);
STROBE_API void strobe_gpu_counters_stop(void);

/* Not for direct use: where the instances of the library in a process meet. */
struct strobe_shared_;
extern STROBE_API struct strobe_shared_ strobe_shared_1_;

/* Not for direct use: what the CUDA driver calls in the library that
 * CUDA_INJECTION64_PATH names, and NVTX in that of NVTX_INJECTION64_PATH. Both
 * return 1 when done. */
STROBE_API int InitializeInjection(void);
STROBE_API int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

#ifdef __cplusplus
}
#endif

#endif
