/*
 * The events of a foreign trace, added in any order, then written as a
 * recording: zones nested per thread, GPU records by device and time with the
 * launch that made them. Memory does not grow with the number of events: they
 * wait in external sorts. Times are ns on the trace's own clock.
 */
#ifndef SB_EXCHANGE_TRACE_STORE_H
#define SB_EXCHANGE_TRACE_STORE_H

#include "format/gpu_shape.h"
#include "base/extsort.h"
#include "base/map.h"
#include "base/strings.h"
#include "exchange/blobs.h"
#include "format/wire.h"
#include "strobe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_TRACE_ATTRS_MAX 16
#define SB_TRACE_THREADS_MAX 65536u

struct sb_trace_attr {
	uint32_t key; /* from sb_trace_name */
	enum strobe_type type;
	int64_t i;
	double f;
	const char *s;
	size_t size;
};

/* What an event carries besides its place in time. */
struct sb_trace_facts {
	uint32_t name;
	uint32_t role; /* enum strobe_role */
	const struct sb_trace_attr *attrs;
	size_t attr_count;
};

struct sb_trace_gpu {
	uint64_t correlation; /* 0: none */
	int64_t start_ns, duration_ns;
	uint64_t bytes;
	struct sb_gpu_shape shape; /* of a kernel */
	uint32_t name, stream;
	enum sb_gpu_kind kind;
	uint32_t device, flags;
};

struct sb_trace_thread {
	uint64_t pid_key, tid_key;
	uint32_t tid; /* in the recording, given when it is written */
	uint32_t name; /* 0: none */
	uint64_t zone_count;
	bool has_steps; /* holds the profiler's own step marks */
	bool has_overhead; /* holds the profiler's own cost */
};

struct sb_trace_counts {
	uint64_t zones, spans, gpu, launches, counters, marks, memory, flows;
	uint64_t overlapping; /* zones that crossed another's end: kept as spans */
	uint64_t unmatched; /* ends without a begin */
	uint64_t unended; /* begins without an end */
	uint64_t backward; /* durations below zero: taken as none */
	uint64_t replaced_bytes; /* of names: no text */
	uint64_t orphan_gpu; /* GPU records whose launch is not in the trace */
};

struct sb_trace {
	char folder[512]; /* of temporary files */
	struct sb_strings names;
	size_t name_bytes;
	struct sb_map thread_numbers;
	struct sb_trace_thread *threads;
	uint32_t thread_count, thread_capacity;
	struct sb_map process_names; /* pid key -> name */
	struct sb_extsort *zones, *pairs, *joins, *gpu, *moments;
	struct sb_blobs *blobs;
	uint64_t sequence;
	int64_t first_ns, last_ns;
	bool fractional; /* some time was finer than a microsecond */
	struct sb_trace_counts counts;
	/* what the trace says about itself */
	int64_t base_ns; /* real time of the clock's zero */
	int32_t rank, world_size;
	uint32_t backend; /* a name; 0: not given */
	uint32_t gpu_name[16]; /* per device */
	char note[512]; /* what could not be kept; set when it is written */
	/* ProfilerStep#N that was just read: the next event may be the zone that it stands for */
	struct sb_trace_step {
		bool held;
		uint64_t pid_key, tid_key;
		int64_t ts_ns, dur_ns, number;
		uint32_t name, thread;
	} step;
};

int sb_trace_new(const char *folder, struct sb_trace **out_trace);
void sb_trace_free(struct sb_trace *t); /* takes NULL */

/* Names are cut at 1900 bytes and stay distinct; past 65 000 of them all are "(other)". */
uint32_t sb_trace_name(struct sb_trace *t, const char *text, size_t size);

/* Keys of process and thread ids, which may be numbers or text. */
static inline uint64_t sb_trace_number_key(int64_t number)
{
	return (uint64_t)number << 1;
}
uint64_t sb_trace_text_key(struct sb_trace *t, const char *text, size_t size);
static inline bool sb_trace_key_number(uint64_t key, int64_t *out_number)
{
	*out_number = (int64_t)key >> 1;
	return !(key & 1);
}

/* The thread's number, or UINT32_MAX with the message set. */
uint32_t sb_trace_thread(struct sb_trace *t, uint64_t pid_key, uint64_t tid_key);
int sb_trace_name_process(struct sb_trace *t, uint64_t pid_key, uint32_t name);

int sb_trace_zone(struct sb_trace *t, uint32_t thread, int64_t start_ns, int64_t duration_ns,
	const struct sb_trace_facts *facts);
/* Begin and end in separate events; matched by thread, or by id when async. */
int sb_trace_begin(struct sb_trace *t, uint32_t thread, int64_t at_ns, const struct sb_trace_facts *facts);
int sb_trace_end(struct sb_trace *t, uint32_t thread, int64_t at_ns);
int sb_trace_async(struct sb_trace *t, uint32_t thread, uint64_t id, bool begin, int64_t at_ns,
	const struct sb_trace_facts *facts);
int sb_trace_gpu(struct sb_trace *t, const struct sb_trace_gpu *gpu);
/* A call on the CPU that put work on the GPU. */
int sb_trace_launch(struct sb_trace *t, uint32_t thread, uint64_t correlation, int64_t at_ns, bool graph);
int sb_trace_counter(struct sb_trace *t, int64_t at_ns, uint32_t name, double value);
int sb_trace_mark(struct sb_trace *t, int64_t at_ns, const struct sb_trace_facts *facts);
/* The allocator's state, from a memory event. */
int sb_trace_memory(struct sb_trace *t, int64_t at_ns, int device, int64_t allocated, int64_t reserved);

/* Writes everything to a new .strobe file; the trace can only be freed then.
 * origin names where it came from. */
int sb_trace_write(struct sb_trace *t, const char *path, const char *origin);

/* ---- trace_threads.c ---- */
/* The thread with the profiler's steps, else the process's first, else the busiest. */
uint32_t sb_trace_pick_main_thread(const struct sb_trace *t);
/* Every thread gets a number; those of other processes get one that no thread has. */
void sb_trace_give_tids(struct sb_trace *t, uint32_t main_thread);
/* Its own name; of another process: that one's in front. Kineto puts what the
 * profiler itself took into a process -1 without any name. */
void sb_trace_thread_name(const struct sb_trace *t, uint32_t main_thread,
	const struct sb_trace_thread *thread, char *out, size_t size);

/* ---- trace_join.c ---- */
/* Begins and ends become zones; a begin without an end ends with the trace. */
int sb_trace_match_pairs(struct sb_trace *t);
/* Sorted by correlation, launches first: each GPU record gets its launch. */
int sb_trace_join_launches(struct sb_trace *t);

/* ---- what the trace's files share ---- */
enum sb_trace_kind { SB_TRACE_ZONE, SB_TRACE_SPAN, SB_TRACE_BEGIN, SB_TRACE_END };

struct sb_trace_zone_record { /* key: thread, start, ~duration */
	uint64_t key[SB_EXTSORT_KEY_WORDS];
	uint32_t name;
	uint16_t role;
	uint8_t kind;
	uint8_t reserved;
	uint64_t blob; /* offset << 16 | bytes; bytes 0: no attributes */
};
struct sb_trace_pair_record { /* key: thread or async id, time, sequence */
	uint64_t key[SB_EXTSORT_KEY_WORDS];
	uint32_t name;
	uint16_t role;
	uint8_t kind;
	uint8_t async;
	uint64_t blob;
	uint64_t thread;
};
struct sb_trace_gpu_record { /* key: correlation, GPU after launch, time; then device, start, stream */
	uint64_t key[SB_EXTSORT_KEY_WORDS];
	int64_t start_ns, duration_ns, launch_ns;
	uint64_t bytes;
	uint64_t shape[2]; /* of a kernel */
	uint32_t name, stream, launch_thread;
	uint8_t kind, device, flags, is_launch;
};
struct sb_trace_moment_record { /* key: time, sequence, kind */
	uint64_t key[SB_EXTSORT_KEY_WORDS];
	uint32_t name;
	int32_t device;
	uint64_t value[2];
	uint64_t blob;
};
enum sb_trace_moment_kind { SB_TRACE_COUNTER = 1, SB_TRACE_MARK, SB_TRACE_MEMORY };

/* Signed times as sortable unsigned ones, and back. */
static inline uint64_t sb_trace_time_key(int64_t ns)
{
	return (uint64_t)ns ^ 1ull << 63;
}
static inline int64_t sb_trace_key_time(uint64_t key)
{
	return (int64_t)(key ^ 1ull << 63);
}

int sb_trace_add_zone_record(struct sb_trace *t, uint32_t thread, int64_t start_ns, int64_t duration_ns,
	const struct sb_trace_zone_record *rest);

/* Attributes as stored in a blob: count, then each packed. */
size_t sb_trace_unpack_attrs(const void *blob, size_t size, struct sb_trace_attr *out_attrs);

#endif
