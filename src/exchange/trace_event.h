/* One event of a Chrome or Kineto trace: what its fields say, before it is
 * decided what it means. */
#ifndef SB_EXCHANGE_TRACE_EVENT_H
#define SB_EXCHANGE_TRACE_EVENT_H

#include "base/jsonin.h"
#include "base/jsonin_habit.h"
#include "exchange/trace_store.h"

/* What Kineto calls "cat". */
enum sb_trace_category {
	SB_CATEGORY_NONE, /* none of those below */
	SB_CATEGORY_ANNOTATION, /* the user's ranges */
	SB_CATEGORY_OPERATOR, /* the framework's own: arguments are its business */
	SB_CATEGORY_OVERHEAD, /* the profiler's own cost */
	SB_CATEGORY_RUNTIME, /* calls into CUDA */
	SB_CATEGORY_KERNEL,
	SB_CATEGORY_MEMCPY,
	SB_CATEGORY_MEMSET,
	SB_CATEGORY_GPU_RANGE,
	SB_CATEGORY_GPU_SYNC,
	SB_CATEGORY_PROFILER, /* the profiler about itself: left out */
	SB_CATEGORY_LAUNCH_FLOW, /* arrows from launches to the GPU */
	SB_CATEGORY_FINDING /* what strobe found: nothing that happened */
};
#define SB_CATEGORY_COUNT (SB_CATEGORY_FINDING + 1)
#define SB_TRACE_FIELDS 16u
#define SB_TRACE_ARG_HABITS 16u

struct sb_trace_event {
	char phase;
	enum sb_trace_category category;
	uint64_t category_hash, id_hash;
	int64_t id_number; /* -1: not a number */
	uint32_t name;
	int64_t step; /* N of ProfilerStep#N; -1: none */
	bool marker; /* strobe wrote it beside the zone itself */
	bool graph_launch;
	bool communication; /* the operator that says which collective it is */
	bool has_ts, has_id, has_dur;
	uint64_t pid_key, tid_key;
	int64_t ts_ns, dur_ns;
	uint64_t offset; /* in the file */
	/* args */
	int64_t correlation, stream, device, bytes, shared_bytes, registers; /* -1: none */
	int64_t grid[3], block[3]; /* 0: none */
	int64_t allocated_bytes, reserved_bytes, device_type;
	enum sb_gpu_kind copy_kind;
	uint32_t copy_flags;
	size_t attr_count;
	struct sb_trace_attr attrs[SB_TRACE_ATTRS_MAX];
	size_t text_used;
	char text[2048]; /* of string attributes */
	/* Kept from one event to the next: how fields begin, of phase X or another, by the field before
	 * them, and arguments, by category and place. */
	struct sb_jsonin_habit field_habits[2][SB_TRACE_FIELDS];
	struct sb_jsonin_habit arg_habits[SB_CATEGORY_COUNT][SB_TRACE_ARG_HABITS];
	struct sb_jsonin_same same[SB_CATEGORY_COUNT][SB_TRACE_FIELDS]; /* values of few kinds */
};

/* After the event's '{'; to its '}'. The event is zeroed before the first, and is of one reader. */
int sb_trace_event_read(struct sb_jsonin *p, struct sb_trace *t, struct sb_trace_event *out_event);

/* ---- for its own files ---- */
/* "args", whose first token has been read. */
int sb_trace_args_read(
	struct sb_jsonin *p, struct sb_trace *t, enum sb_jsonin_token token, struct sb_trace_event *e);

/* Of a number, or a string that holds one. */
static inline bool sb_trace_scaled(
	const struct sb_jsonin *p, enum sb_jsonin_token token, int shift, int64_t *out_value)
{
	struct sb_jsonin_number number;

	if (token == SB_JSONIN_NUMBER)
		return sb_jsonin_scaled(&p->number, shift, out_value);
	return token == SB_JSONIN_STRING && sb_jsonin_parse_number(p->text, p->size, &number) &&
	       sb_jsonin_scaled(&number, shift, out_value);
}

#endif
