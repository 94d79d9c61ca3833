/* One pass over a run: the state that events.c (processes and streams), writers.c (words and their order),
 * zones.c (nesting) and records.c (everything else) work on. */
#ifndef SB_RUN_PASS_H
#define SB_RUN_PASS_H

#include "stats/coverage.h"
#include "run/index.h"
#include "format/cursor.h"
#include "format/digest.h"

/* Every word goes through these: calls between them would cost as much as their work. */
#define SB_PASS_INLINE static inline __attribute__((always_inline))

struct sb_frame { /* an open zone */
	int64_t begin_ns;
	int64_t child_ns;
	int64_t covered_ns; /* time up to here is a child's already */
	uint64_t gpu_devices; /* of the zones inside it; see sb_zone */
	uint32_t name;
	uint32_t path; /* with the recursive bit */
	uint32_t role;
	uint32_t attr_first;
	uint32_t text_first;
	bool recursion; /* it or a frame around it is inside one of its own */
	bool warming; /* a frame around it has the role WARMUP */
};

struct sb_stack { /* the open zones of one track */
	uint32_t track;
	struct sb_frame *frames;
	uint32_t depth, room;
	int64_t covered_ns; /* at top level */
	struct sb_run_attr *attrs; /* of all frames, innermost last; s: NULL, i: offset in text */
	uint32_t attr_count, attr_room;
	char *text;
	uint32_t text_size, text_room;
};

struct sb_open_span {
	uint64_t id;
	uint32_t process, track, name;
	int64_t begin_ns;
};

struct sb_engine {
	struct sb_run *run;
	struct sb_run_index *index;
	const struct sb_visitor *visitors;
	size_t visitor_count;
	/* bit i: visitor i */
	uint64_t every_mask, begin_mask, any_name_mask, long_mask, attrs_mask, with_attrs_mask;
	struct sb_zone_taker { /* what is called for each zone, close together */
		void (*zone)(void *self, const struct sb_zone *zone);
		void *self;
	} takers[64];
	uint64_t role_mask[32];
	uint64_t kind_mask[SB_EVENT_KINDS];
	uint64_t *name_mask; /* per run name; bit 63: asked already */
	uint32_t name_room;
	struct sb_gpu_spans *spans; /* NULL: no visitor wants them */
	bool cut, first_pass, no_memory;
	uint64_t search_left; /* frames that ends with a name may still look at, beyond the nearest */
	uint32_t process;
	struct sb_run_process *p;
	struct sb_stack **stacks; /* by track */
	uint32_t stack_room;
	struct sb_run_attr *attrs; /* scratch for records */
	uint32_t attr_room;
	struct sb_buf_text {
		char *data;
		size_t size, room;
	} text; /* scratch for records */
	struct sb_open_span *open_spans;
	uint32_t open_span_count, open_span_room;
	struct sb_covered covered; /* by the main thread and its tasks */
	uint64_t *ended_spans;
	uint32_t ended_span_count, ended_span_room;
};

/* Whether what comes next on the track lies inside a warm-up. */
static inline bool sb_stack_is_warming(const struct sb_stack *s, uint32_t depth)
{
	return depth && (s->frames[depth - 1].warming || s->frames[depth - 1].role == STROBE_ROLE_WARMUP);
}

/* Doubles *array when it is full. False if memory is out; e->no_memory is set then. */
bool sb_engine_room(struct sb_engine *e, void *array, uint32_t *room, uint32_t count, size_t size);

/* The run's name of an id in the file at hand. */
static inline uint32_t sb_engine_name(struct sb_engine *e, uint64_t id)
{
	return sb_run_name_of(e->run, e->process, (uint32_t)id & SB_ID_MAX);
}

/* ---- chunk_damage.c ---- */
/* Counts what the cursor could not read of a chunk that it has finished. */
void sb_engine_note_damage(struct sb_engine *e, const struct sb_chunk *chunk, const struct sb_cursor *c);
/* True, and counted, when the record is in a stream that never has its type. */
bool sb_engine_is_misplaced(struct sb_engine *e, const struct sb_chunk *chunk, const struct sb_record *r,
	const uint64_t *chunk_end);

/* ---- writers.c ---- */
/* Reads the words of all writers of the process at hand. */
int sb_engine_visit_writers(struct sb_engine *e);

/* ---- zones.c ---- */
struct sb_stack *sb_stack_of(struct sb_engine *e, uint32_t track);
void sb_stack_begin(struct sb_engine *e, struct sb_stack *s, uint32_t name, int64_t t_ns);
void sb_stack_end(
	struct sb_engine *e, struct sb_stack *s, uint32_t name, int64_t t_ns); /* name 0: innermost */
void sb_stack_role(struct sb_engine *e, struct sb_stack *s, uint32_t role); /* of the innermost zone */
void sb_stack_attr(struct sb_engine *e, struct sb_stack *s, const struct sb_run_attr *attr);
void sb_stack_text_attr(
	struct sb_engine *e, struct sb_stack *s, const char *key, const char *text, size_t size);
void sb_stack_close_all(struct sb_engine *e, struct sb_stack *s, int64_t t_ns);
/* A complete duration; one without an id was measured and belongs to the zone around it. */
void sb_stack_span(struct sb_engine *e, struct sb_stack *s, struct sb_zone *zone, bool measured);
void sb_stack_free(struct sb_stack *s);

/* ---- attrs.c ---- */
/* Text of a record, NUL-terminated, at an offset of the scratch. */
bool sb_engine_keep_text(struct sb_engine *e, const char *text, size_t size, size_t *out_offset);
/* Attributes from word `at` on, into e->attrs; returns how many. The role is taken out of them where it is
 * wanted. */
uint32_t sb_engine_read_attrs(
	struct sb_engine *e, const struct sb_record *r, uint32_t at, uint32_t *out_role);

/* ---- records.c ---- */
/* A LONG record; stack is NULL outside the HOT stream. */
void sb_record_give(
	struct sb_engine *e, const struct sb_record *r, uint32_t tid, struct sb_stack *stack, int64_t now_ns);
void sb_event_give(struct sb_engine *e, struct sb_event *event);
void sb_open_spans_give(struct sb_engine *e); /* of this process: began and never ended */

/* ---- digests.c ---- */
/* out_paths: the path of each node. */
void sb_digest_give(struct sb_engine *e, const struct sb_digest *d, uint32_t writer_tid,
	struct sb_stack *stack, uint32_t *out_paths);

#endif
