/* Everything a run recorded, streamed past any number of visitors in one pass,
 * in bounded memory. Order: KEEP records (samples, snapshots, marks...), then GPU
 * records, then digests, then zones thread by thread, each thread in time order;
 * a zone is given when it ends, so children come before their parents. Process by process:
 * `strobe run` itself, which samples the machine, before the program that it watched. */
#ifndef SB_RUN_EVENTS_H
#define SB_RUN_EVENTS_H

#include "format/gpu_shape.h"
#include "run/run.h"

enum sb_zone_flags {
	SB_ZONE_OPEN = 1, /* never ended; closed at the last known time */
	SB_ZONE_SPAN = 2, /* from a SPAN record: complete, may overlap others */
	SB_ZONE_POPPED = 4, /* ended by an outer zone's end */
	SB_ZONE_CLIPPED = 8, /* cut at the border of the selected part */
	SB_ZONE_RECURSIVE = 16, /* inside a zone of the same path */
	SB_ZONE_WARMING = 32, /* inside a zone with the role WARMUP */
	SB_ZONE_AGAIN = 64 /* zone_begin only: the last one of the track, whose path its role has changed */
};

struct sb_zone {
	int64_t begin_ns, end_ns; /* since the run's start, inside the cut */
	int64_t child_ns; /* spent in zones inside it; self = end - begin - child */
	uint32_t name; /* run name id */
	uint32_t path; /* see sb_path */
	uint32_t track; /* index of run->tracks */
	uint32_t process;
	uint32_t depth; /* 0: top level of its track */
	uint32_t flags;
	uint32_t role; /* enum strobe_role */
	uint32_t attr_count;
	const struct sb_run_attr *attrs; /* valid during the call; role not among them */
	uint64_t gpu_devices; /* bit: CUDA's number of a GPU that its span, or one inside it, is on */
	const struct sb_gpu_span
		*gpu; /* run/gpu_spans.h, valid during the call; NULL: none, or no visitor wants them */
};

/* A place in the tree of stages: names from the root of a track downwards,
 * whatever the thread or process. Number 0 is the root. */
struct sb_path {
	uint32_t parent;
	uint32_t name;
	uint32_t depth; /* of its zones */
};

struct sb_digest_bucket { /* of a histogram of durations */
	double low_ns, high_ns;
	uint64_t count;
};

enum sb_event_kind {
	SB_EVENT_MARK, /* name */
	SB_EVENT_EVENT, /* name, attrs */
	SB_EVENT_SKIPPED, /* name, text: reason */
	SB_EVENT_SAMPLE, /* sample */
	SB_EVENT_SNAPSHOT, /* name: label; snapshot */
	SB_EVENT_GPU, /* name; gpu */
	SB_EVENT_CACHE, /* name: cache; cache */
	SB_EVENT_STREAM, /* stream */
	SB_EVENT_MODEL, /* name; model */
	SB_EVENT_ALLOC, /* name: allocator; alloc */
	SB_EVENT_GAUGE, /* name; value */
	SB_EVENT_COUNT, /* name; delta; path: innermost open zone (0: none); warming */
	SB_EVENT_PROCESS, /* process record; text: command */
	SB_EVENT_STACK, /* stack */
	SB_EVENT_CODE_FILE, /* name: function; text: file */
	SB_EVENT_SPAN_OPEN, /* name; span_id: started, its SPAN may follow */
	SB_EVENT_LOST, /* lost */
	SB_EVENT_DIGEST_NODE, /* digest: zones whose detail was folded away */
	SB_EVENT_DIGEST_SUM, /* digest_sum: their attributes, and counters (path 0) */
	SB_EVENT_KINDS
};

struct sb_event {
	enum sb_event_kind kind;
	int64_t t_ns;
	uint32_t process;
	uint32_t track; /* index of run->tracks; UINT32_MAX: none */
	uint32_t name; /* run name id */
	uint32_t path;
	bool warming; /* inside a zone with the role WARMUP */
	const char *text; /* valid during the call */
	const struct sb_run_attr *attrs;
	uint32_t attr_count;
	union {
		struct {
			const struct sb_run_schema *schema;
			const double *values; /* schema->column_count of them, NaN: unknown */
		} sample;
		struct {
			int device; /* -1: host */
			int64_t allocated_bytes, reserved_bytes, peak_bytes; /* -1: unknown */
		} snapshot;
		struct {
			enum sb_gpu_kind kind;
			uint32_t device, stream, flags;
			int64_t duration_ns;
			int64_t launch_ns; /* INT64_MIN: unknown */
			uint32_t launch_tid; /* 0: unknown */
			uint32_t launch_track; /* index of run->tracks; UINT32_MAX: unknown */
			int64_t bytes; /* -1: none */
			struct sb_gpu_shape shape; /* of a kernel */
		} gpu;
		struct {
			enum strobe_cache_kind kind;
			int64_t count, size_bytes, chunk;
			double score, threshold, frame;
		} cache;
		struct strobe_batch stream;
		struct {
			int64_t parameter_count, bytes;
			uint32_t type; /* run name id */
		} model;
		struct {
			int64_t bytes; /* negative: freed */
			uint32_t context; /* run name id */
		} alloc;
		double value;
		int64_t delta;
		uint64_t span_id;
		struct {
			uint32_t pid, ppid;
			bool started;
			int64_t status; /* wait status, -1: unknown */
		} child;
		struct {
			uint32_t tid;
			bool native; /* of a thread without Python: names[0] is its name, weight_ns its CPU time */
			int64_t weight_ns; /* the time it represents; 0: not known */
			int64_t cpu_ns; /* CPU time that the thread used meanwhile; -1: not known */
			bool stood,
				ran; /* while the sampler had the GIL; both: the main thread had it; neither: not known */
			uint32_t frame_count;
			const uint32_t *names; /* leaf first, run name ids */
			const uint32_t *lines;
		} stack;
		struct {
			enum sb_lost_reason reason;
			uint64_t count;
		} lost;
		struct {
			uint32_t role;
			uint32_t flags; /* SB_ZONE_SPAN, SB_ZONE_RECURSIVE, SB_ZONE_WARMING */
			bool on_task; /* on a track that is not a thread */
			bool on_main; /* top level of the main thread counts as attributed */
			uint64_t count;
			int64_t total_ns, self_ns, min_ns, max_ns, first_ns, last_ns;
			const struct sb_digest_bucket *buckets;
			uint32_t bucket_count;
		} digest;
		struct {
			enum sb_digest_what what; /* path 0: counters, caches, allocators... */
			uint64_t count;
			int64_t sum_int;
			double sum_float, last;
		} digest_sum;
	};
};

/* What an analysis or exporter wants to see. Unset callbacks are skipped. */
struct sb_visitor {
	void *self;
	uint32_t kinds; /* 1u << SB_EVENT_...: which events */
	uint32_t roles; /* 1u << role: which zones; SB_EVERY_ZONE: all of them */
	bool only_long; /* of those zones, generations and what lasts SB_LONG_ZONE_NS */
	bool only_with_attrs; /* of those zones */
	bool any_with_attrs; /* and every zone that has attributes, whatever its role and name */
	bool gpu_spans; /* zones come with theirs */
	/* Beyond roles: zones by name, asked once per name. May be NULL. */
	bool (*wants_name)(void *self, const struct sb_run_name *name);
	void (*zone)(void *self, const struct sb_zone *zone);
	/* Given before anything inside the zone; end, child and attrs are not known
	 * yet. Every zone, no filter: for exporters only. */
	void (*zone_begin)(void *self, const struct sb_zone *zone);
	void (*event)(void *self, const struct sb_event *event);
};
#define SB_EVERY_ZONE UINT32_MAX
#define SB_LONG_ZONE_NS 100000

/* One pass. Can be repeated; paths keep their numbers. */
int sb_run_visit(struct sb_run *run, const struct sb_visitor *visitors, size_t count);

/* Valid during and after a pass. */
const struct sb_path *sb_run_path(const struct sb_run *run, uint32_t path);
uint32_t sb_run_path_count(const struct sb_run *run);

/* The top-level time of the main thread inside the cut, counted once. */
int64_t sb_run_attributed_ns(const struct sb_run *run);

/* What the pass saw, for `recording`. */
struct sb_pass {
	uint64_t words, zones, events, open_zones, unmatched_ends, popped_zones, folded_zones;
	uint64_t unknown_records, vanished_chunks;
	uint64_t unfollowed_chunks; /* full, and the last of their writers in a file without an end */
	int64_t folded_until_ns; /* detail begins here; INT64_MIN: nothing folded */
	int64_t last_ns; /* the latest word */
};
const struct sb_pass *sb_run_pass(const struct sb_run *run);

/* What each thread wrote, and over which time; of the last pass. */
struct sb_writer_use {
	uint32_t process;
	bool main; /* of its process */
	uint64_t words, folded_words; /* with detail; folded away, once written as well */
	int64_t first_ns, last_ns;
};
const struct sb_writer_use *sb_run_writers(const struct sb_run *run, size_t *out_count);

/* A zone's or event's attribute by key; NULL: none. */
const struct sb_run_attr *sb_attr_find(const struct sb_run_attr *attrs, uint32_t count, const char *key);
/* An error left it: its attribute says which. */
bool sb_zone_failed(const struct sb_zone *zone);
double sb_attr_number(const struct sb_run_attr *attrs, uint32_t count, const char *key); /* NaN: none */

#endif
