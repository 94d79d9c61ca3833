/*
 * The .strobe file, bit by bit. docs/format.md is the specification in words;
 * this is the same thing in C. Both halves include it; neither adds to it
 * without a new version or a new record type. Little-endian only.
 */
#ifndef SB_FORMAT_WIRE_H
#define SB_FORMAT_WIRE_H

#include <stdint.h>

#define SB_MAGIC "STROBE\r\n"
#define SB_FORMAT_VERSION 1u
#define SB_FILE_HEADER_BYTES 4096u
#define SB_CHUNK_BYTES_DEFAULT 16384u
#define SB_CHUNK_BYTES_SMALL 4096u /* for budgets under 64 MiB */
#define SB_CHUNK_HEADER_BYTES 64u

enum sb_clock_kind {
	SB_CLOCK_TSC = 1,
	SB_CLOCK_CNTVCT = 2,
	SB_CLOCK_MONOTONIC = 3, /* ticks are nanoseconds of CLOCK_MONOTONIC */
	SB_CLOCK_SYNTHETIC = 4 /* ticks are nanoseconds of a made-up clock */
};

/* Why something is missing: LOST's aux; sb_file_header counts them, too. */
enum sb_lost_reason {
	SB_LOST_NONE = 0,
	SB_LOST_NO_CHUNK = 1, /* a thread found no chunk at all */
	SB_LOST_DISK_FULL = 2,
	SB_LOST_KEEP_FULL = 3, /* marks, snapshots, samples past their share */
	SB_LOST_NAMES_FULL = 4, /* past 65 536 names: recorded as "(other)" */
	SB_LOST_DIGEST_FULL = 5, /* folded into "(other)" */
	SB_LOST_DEVICE_FULL = 6, /* GPU records past their share */
	SB_LOST_GPU_POOL = 7, /* no event free */
	SB_LOST_GPU_CAPTURE = 8, /* stream was being captured into a graph */
	SB_LOST_STRING = 9, /* strings that were cut */
	SB_LOST_UNRESOLVED = 10, /* GPU events unresolved when the session ended */
	SB_LOST_DEPTH = 11, /* zones nested deeper than a fold can hold */
	SB_LOST_COMPILED = 12, /* sections inside compiled regions, inert */
	SB_LOST_CUPTI = 13, /* CUPTI dropped records, although it had a buffer */
	SB_LOST_OPENING = 14, /* another thread was opening the session, for too long */
	SB_LOST_CUT = 15, /* the file was cut short while it was written */
	SB_LOST_GPU_BUFFER = 16, /* GPU records: CUPTI asked for a buffer and none was free */
	SB_LOST_GPU_TIME = 17, /* GPU records that came without their times */
	SB_LOST_GPU_WAIT = 18, /* waits for the GPU: too many between two looks */
	SB_LOST_GPU_HELD = 19, /* GPU records that made room before their moment was known to be slow */
	SB_LOST_REASONS = 20,
	SB_LOST_FIRST_REASONS = 16 /* those in sb_file_header.lost; the others are in lost_more */
};

/* What a program has made so far; a hint for live displays, the records have it all. */
enum sb_made {
	SB_MADE_FRAMES, /* where they left the pipeline */
	SB_MADE_BLOCK_FRAMES, /* in blocks that began */
	SB_MADE_BLOCKS,
	SB_MADE_STEPS,
	SB_MADE_COUNT
};

/* At offset 0. Fields that change while recording are stored with release. */
struct sb_file_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint32_t chunk_bytes;
	uint32_t clock_kind;
	uint64_t clock_hz; /* nominal; anchors are better where they span time */
	uint64_t start_ticks;
	uint64_t start_mono_ns;
	uint64_t start_real_ns;
	uint64_t budget_bytes;
	uint32_t pid;
	uint32_t ppid;
	uint32_t main_tid; /* the thread that opened the session */
	int32_t rank; /* -1: none */
	int32_t local_rank;
	int32_t world_size; /* 0: none */
	uint64_t process_start; /* field 22 of /proc/self/stat */
	uint8_t session_uuid[16];
	char boot_id[40];
	char host[64];
	char name[128];
	char run_dir[512]; /* where the file belongs if it is a spool */
	/* -- below: changes while recording -- */
	uint64_t heartbeat_ticks; /* last time the process was known alive */
	uint64_t end_ticks; /* valid once closed */
	uint64_t end_mono_ns;
	uint64_t end_real_ns;
	uint32_t closed; /* SB_CLOSED_… */
	uint32_t chunk_count; /* chunks handed out so far; a hint, never trusted */
	uint32_t writer_count;
	uint32_t fold_count;
	uint64_t lost[SB_LOST_FIRST_REASONS]; /* what no chunk could say */
	uint64_t own_cpu_ns; /* CPU time of strobe's own threads in this process */
	uint64_t slow_ns; /* time recording threads spent off the fast path */
	uint32_t limited_by; /* enum sb_limit: why detail had to be folded */
	uint32_t record_ps; /* what one word costs here, measured at the start, in 1e-12 s; 0: not measured */
	uint64_t made[SB_MADE_COUNT]; /* steps, blocks and frames that began so far */
	uint64_t lost_more[SB_LOST_REASONS - SB_LOST_FIRST_REASONS]; /* as lost; 0 in older files */
};

/* Where the header counts losses for a reason. */
static inline uint64_t *sb_lost_at(struct sb_file_header *h, uint32_t reason)
{
	return reason < SB_LOST_FIRST_REASONS ? &h->lost[reason]
					      : &h->lost_more[reason - SB_LOST_FIRST_REASONS];
}

static inline uint64_t sb_lost_count(const struct sb_file_header *h, uint32_t reason)
{
	return reason < SB_LOST_FIRST_REASONS ? h->lost[reason]
					      : h->lost_more[reason - SB_LOST_FIRST_REASONS];
}

enum sb_closed {
	SB_CLOSED_NOT = 0,
	SB_CLOSED_IN_ORDER = 1,
	SB_CLOSED_FAILED = 2 /* stopped, and then its process ended with a failure */
};

enum sb_limit {
	SB_LIMIT_NONE = 0,
	SB_LIMIT_BUDGET = 1,
	SB_LIMIT_DISK = 2,
	SB_LIMIT_FILE_SIZE = 3,
	SB_LIMIT_RUN = 4
};

enum sb_stream {
	SB_STREAM_HOT = 1, /* zones; may be folded */
	SB_STREAM_KEEP = 2, /* names, schemas, samples, snapshots, marks, anchors */
	SB_STREAM_DEVICE = 3, /* GPU records */
	SB_STREAM_DIGEST = 4 /* what was folded */
};

/* At offset header_bytes + i * chunk_bytes. */
struct sb_chunk_header {
	uint32_t epoch; /* 0: unused; odd: being recycled; stored last */
	uint32_t writer; /* from 1, per file */
	uint32_t tid;
	uint16_t stream;
	uint16_t flags;
	uint64_t seq; /* per writer and stream, from 1, no gaps */
	uint64_t base_ticks;
	uint64_t anchor_mono_ns; /* CLOCK_MONOTONIC at base_ticks, 0: not taken */
	uint32_t anchor_width_ns;
	uint32_t track; /* in force at the first word */
	uint64_t words_lost; /* lost by this writer just before this chunk */
	uint64_t reserved;
};

/* ---- words --------------------------------------------------------------
 * bits 0-3 kind, 4-23 id, 24-63 ticks since the base (ATTR, COUNT: a signed
 * 40-bit integer). 0 is "nothing written yet": readers stop there. */
enum sb_kind {
	SB_BEGIN = 1,
	SB_END = 2, /* id 0: the innermost; else pops to the match */
	SB_MARK = 3,
	SB_SWITCH = 4, /* id: track of the following words; 0: the thread */
	SB_ATTR = 5,
	SB_COUNT = 6,
	SB_PAD = 7, /* skip to the end of the chunk */
	SB_LONG = 8
};
#define SB_ID_BITS 20
#define SB_ID_MAX ((1u << SB_ID_BITS) - 1)
#define SB_VALUE_SHIFT 24
#define SB_TICK_BITS 40

static inline uint64_t sb_word(enum sb_kind kind, uint32_t id, uint64_t value)
{
	return (uint64_t)kind | (uint64_t)id << 4 | value << SB_VALUE_SHIFT;
}
static inline enum sb_kind sb_word_kind(uint64_t w)
{
	return (enum sb_kind)(w & 15);
}
static inline uint32_t sb_word_id(uint64_t w)
{
	return (uint32_t)(w >> 4) & SB_ID_MAX;
}
static inline uint64_t sb_word_ticks(uint64_t w)
{
	return w >> SB_VALUE_SHIFT;
}
static inline int64_t sb_word_signed(uint64_t w)
{
	return (int64_t)w >> SB_VALUE_SHIFT;
}

/* LONG: bits 4-11 type, 12-23 payload words, 24-63 aux. Payload follows; it is
 * stored first, the head last. Unknown types are skipped by their length. */
static inline uint64_t sb_long(uint32_t type, uint32_t words, uint64_t aux)
{
	return (uint64_t)SB_LONG | (uint64_t)type << 4 | (uint64_t)words << 12 | aux << SB_VALUE_SHIFT;
}
static inline uint32_t sb_long_type(uint64_t w)
{
	return (uint32_t)(w >> 4) & 255;
}
static inline uint32_t sb_long_words(uint64_t w)
{
	return (uint32_t)(w >> 12) & 4095;
}
static inline uint64_t sb_long_aux(uint64_t w)
{
	return w >> SB_VALUE_SHIFT;
}

/* Times in payloads are absolute ticks. Doubles are stored as their bits;
 * NaN means "not known". "bytes" = one word with the length, then the bytes,
 * padded with zeros to a word. "attrs" = see struct below. */
enum sb_long_type {
	SB_REBASE = 1, /* [ticks] new base of the following words */
	SB_ATTR64 = 2, /* aux: key | value type << 20; [value bits] */
	SB_ATTR_STR = 3, /* aux: key | cut flag << 20; bytes */
	SB_SPAN_OPEN = 4, /* aux: name; [span id, start, track] */
	SB_SPAN = 5, /* aux: name; [span id, start, duration, track], attrs */
	SB_GPU = 6, /* aux: name | gpu kind << 20 | device << 24 | flags << 32;
	                     [start, duration, launch ticks or 0,
	                      stream << 32 | launching tid], for copies and sets [bytes],
	                      for kernels, where it is known, their shape (gpu_shape.h): [its name] or [2 words] */
	SB_SCHEMA = 7, /* aux: schema; [source name, device + 1, column count],
	                     then per column [name] ; column names end in their unit */
	SB_SAMPLE = 8, /* aux: schema; [ticks], then one double per column */
	SB_SNAPSHOT = 9, /* aux: label; [ticks, device (signed), allocated, reserved, peak], -1: unknown */
	SB_ANCHOR = 10, /* [ticks, monotonic ns, real ns, width ns] */
	SB_NAME = 11, /* aux: id; [name bytes | code bytes << 32], name, then code, padded */
	SB_META = 12, /* aux: key | value type << 20 | scope << 24; value or bytes */
	SB_LOST = 13, /* aux: reason; [count, first ticks, last ticks] */
	SB_EVENT = 14, /* aux: name; [ticks, track], attrs: a mark with metadata */
	SB_THREAD = 15, /* aux: tid; bytes: the thread's name */
	SB_TRACK = 16, /* aux: track; bytes: the track's name */
	SB_SKIP = 17, /* aux: name; [ticks, track], bytes: the reason */
	SB_CACHE = 18, /* aux: cache name | kind << 20; [ticks, count, size or -1,
	                     score, threshold, frame, chunk or -1] */
	SB_STREAMING = 19, /* [ticks, frames, encode ms, network ms, buffer ratio] */
	SB_MODEL = 20, /* aux: name; [ticks, parameters, type name, bytes or -1] */
	SB_ALLOC = 21, /* aux: allocator; [ticks, bytes (negative: freed), context name] */
	SB_GAUGE = 22, /* aux: name; [ticks, value] : a counter that was set */
	SB_PROCESS = 23, /* aux: pid; [ticks, ppid, start (1) / end (0), wait status or -1], bytes: command */
	SB_STACK =
		24, /* a sampled stack: [ticks, tid | weight us << 32, track | (CPU us + 1) << 32], then frames, leaf first:
			  name | line << 32; aux: SB_STACK_… */
	SB_CODE_FILE = 25, /* aux: name (a function); bytes: its file */
	SB_OWNER = 26, /* aux: tid; the words after it are that thread's: it took over the
	                      chunks of a thread that has ended; zones still open end here */
	SB_COUNT64 = 27 /* aux: counter; [delta]: a COUNT past 40 bits */
};

/* attrs: repeated { key | value type << 20 | payload bytes << 32 } followed by
 * the value: 1 word for INT, FLOAT, BOOL; the padded bytes for STRING. To the
 * end of the record. Value types are enum strobe_type's numbers. */

enum sb_gpu_kind {
	SB_GPU_ZONE = 1, /* event to event; may hold idle time */
	SB_GPU_KERNEL = 2,
	SB_GPU_COPY_H2D = 3,
	SB_GPU_COPY_D2H = 4,
	SB_GPU_COPY_D2D = 5,
	SB_GPU_COPY_OTHER = 6,
	SB_GPU_MEMSET = 7,
	SB_GPU_SYNC = 8
};
enum {
	SB_GPU_PAGEABLE = 1,
	SB_GPU_PINNED = 2,
	SB_GPU_GRAPH = 4,
	/* kernels: the shape of the launch */
	SB_GPU_TILED = 8, /* 48 KiB of shared memory or more for a block */
	SB_GPU_FLAT = 16 /* no shared memory, a grid of one dimension */
};
#define SB_GPU_TILED_BYTES 49152
enum { /* the aux of a STACK */
	SB_STACK_NATIVE = 1, /* a thread without Python */
	/* what this thread did while the sampler held the GIL: waited for it, or ran; both bits: the
	 * sampler did not need the GIL, or the main thread held it; none: not known */
	SB_STACK_STOOD = 2,
	SB_STACK_RAN = 4
};

enum sb_meta_scope {
	SB_META_TAG = 1, /* session tags */
	SB_META_SYSTEM = 2, /* host, cpu model, gpu names, versions */
	SB_META_SETTING = 3, /* effective configuration */
	SB_META_RUN = 4, /* command, exit status, what happened */
	SB_META_MISSING = 5 /* key: what; string: "why|how" -> not_recorded */
};

/* ---- names every file knows --------------------------------------------
 * Ids 1..SB_NAME_FIXED-1 are fixed, no NAME record needed. */
/* clang-format off */
#define SB_FIXED_NAMES(X) \
	X(OTHER, "(other)") \
	X(ROLE, "strobe.role") \
	X(FRAMES, "frames") \
	X(STEP, "step") \
	X(TIMESTEP, "timestep") \
	X(BLOCK_SIZE, "block_size") \
	X(GUIDANCE, "guidance_scale") \
	X(INDEX, "index") \
	X(MEMORY, "memory_bytes") \
	X(WIDTH, "width") \
	X(HEIGHT, "height") \
	X(BYTES, "bytes") \
	X(BATCH, "batch") \
	X(STEPS, "steps") \
	X(DROPPED, "frames_dropped") \
	X(LATENT_FRAMES, "latent_frames") \
	X(TILES, "tiles") \
	X(CACHED, "cached") \
	X(MEASURED, "measured_s") \
	X(STATE, "state") \
	X(ITERS, "iters") \
	X(TOKENS, "tokens") \
	X(FLOPS, "flops") \
	X(DEVICE, "device") \
	X(ERROR, "error") \
	X(UNTIMED, "untimed") \
	X(FORWARDS, "forwards") \
	X(DTYPE, "dtype") \
	X(STREAM_FRAMES, "stream.frames") \
	X(STREAM_ENCODE, "stream.encode_ms") \
	X(STREAM_NETWORK, "stream.network_ms") \
	X(STREAM_BUFFER, "stream.buffer_ratio") \
	X(CALLS, "strobe.calls") \
	X(CALLS_MIN, "strobe.calls_min_s") \
	X(CALLS_MAX, "strobe.calls_max_s") \
	X(CALLS_MEDIAN, "strobe.calls_median_s") \
	X(CALLS_STD, "strobe.calls_std_s")
/* clang-format on */

enum sb_fixed_name {
	SB_NAME_NONE = 0,
#define SB_FIXED_ENUM_(sym, text) SB_NAME_##sym,
	SB_FIXED_NAMES(SB_FIXED_ENUM_)
#undef SB_FIXED_ENUM_
		SB_NAME_FIXED_END,
	SB_NAME_FIXED = 64 /* first id that needs a NAME record */
};
#define SB_NAME_COUNT_MAX 65536u
#define SB_STRING_MAX 2048u

/* ---- digests -------------------------------------------------------------
 * A writer's folded past. Its DIGEST chunks (seq order) are one heap of
 * entries; an entry never straddles chunks. The first DIGEST chunk starts with
 * struct sb_digest_root. Every entry that can change has two slots stamped with
 * the HOT seq whose fold wrote them: take the newest slot with stamp <=
 * folded_seq (a stamp of 0 is an empty slot), ignore HOT chunks up to
 * folded_seq. So a kill at any instruction leaves one true state. */
struct sb_digest_root {
	uint64_t folded_seq; /* HOT chunks of this writer up to here are folded */
	uint64_t folded_words;
	uint64_t first_ticks; /* of the writer's first folded word */
	uint64_t reserved;
};

enum sb_digest_type {
	SB_DIGEST_NODE = 1,
	SB_DIGEST_SUM = 2, /* attribute sums and counters */
	SB_DIGEST_OPEN = 3, /* the zones open at the end of the folded past */
	SB_DIGEST_HIST = 4
};

/* Entry head; type is stored last, with release; 0 ends the heap. */
struct sb_digest_head {
	uint32_t type;
	uint32_t words; /* of the whole entry, head included */
};

struct sb_digest_node_slot {
	uint64_t stamp;
	uint64_t count;
	uint64_t total_ticks; /* inclusive */
	uint64_t self_ticks;
	uint64_t min_ticks;
	uint64_t max_ticks;
	uint64_t first_ticks; /* absolute: first begin, last end */
	uint64_t last_ticks;
};
enum sb_node_flag {
	SB_NODE_SPAN = 1, /* from SPAN records */
	SB_NODE_TRACK = 2, /* on a track */
	SB_NODE_ROLE = 4 /* its role is set */
};
struct sb_digest_node {
	struct sb_digest_head head;
	uint32_t node; /* from 1, per writer */
	uint32_t parent; /* 0: top level */
	uint32_t name;
	uint32_t flags; /* enum sb_node_flag */
	uint32_t role;
	uint32_t reserved;
	struct sb_digest_node_slot slot[2];
};

/* node 0: of the writer as a whole; the key's upper 12 bits then say of what. */
enum sb_digest_what {
	SB_SUM_COUNT = 0, /* COUNT words, stream.* */
	SB_SUM_HIT = 1,
	SB_SUM_MISS = 2,
	SB_SUM_EVICT = 3, /* CACHE, by kind */
	SB_SUM_ALLOC = 4,
	SB_SUM_FREE = 5, /* ALLOC, bytes both positive */
	SB_SUM_GAUGE = 6,
	SB_SUM_MARK = 7
};
/* Sums of integers are exact. */
struct sb_digest_sum_slot {
	uint64_t stamp;
	uint64_t count;
	int64_t sum_int;
	double sum_float;
	double last;
};
struct sb_digest_sum {
	struct sb_digest_head head;
	uint32_t node;
	uint32_t key; /* name id | enum sb_digest_what << 20 */
	struct sb_digest_sum_slot slot[2];
};

struct sb_digest_open_zone {
	uint32_t track;
	uint32_t node;
	uint64_t begin_ticks;
	uint64_t child_ticks; /* time of children that have ended */
};
/* The newest OPEN entry with a valid slot counts; a larger one is appended when
 * the old one's capacity is passed. */
struct sb_digest_open {
	struct sb_digest_head head;
	uint32_t capacity;
	uint32_t reserved;
	struct {
		uint64_t stamp;
		uint32_t depth;
		uint32_t track; /* in force after the folded words */
	} slot[2];
	/* struct sb_digest_open_zone zones[2][capacity] follows */
};

/* Log-linear durations of one node: 8 buckets per octave of ticks. Bucket of a
 * value v: v < 8: v; else 8 * (floor(log2 v) - 2) + the three bits below the
 * leading one. An entry holds 32 consecutive buckets from first. Counts are
 * not slotted: after a kill in the middle of a fold they may hold up to one
 * chunk twice. Relative error of a bucket's middle: at most 1/16. */
struct sb_digest_hist {
	struct sb_digest_head head;
	uint32_t node;
	uint32_t first;
	uint32_t count[32];
};
#define SB_DIGEST_BUCKETS 496u

static inline uint32_t sb_digest_bucket_of(uint64_t ticks)
{
	uint32_t top;

	if (ticks < 8)
		return (uint32_t)ticks;
	top = 63 - (uint32_t)__builtin_clzll(ticks);
	return 8 * (top - 2) + (uint32_t)(ticks >> (top - 3) & 7);
}

#endif
