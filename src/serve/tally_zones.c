/* Begins and ends become calls of stages: nesting, recursion, and what a writer
 * had folded away. */
#include "serve/tally.h"
#include "serve/tally_parts.h"

#include "strobe.h"
#include "base/role.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

/* What every zone passes through: calls would cost as much as the work. */
#define INLINE static inline __attribute__((always_inline))
#define TRACK_KEY ((uint64_t)1 << 63)

const double sb_tally_bounds_s[SB_TALLY_BOUNDS] = { 0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
	0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100 };

struct frame {
	uint64_t begin_ticks;
	uint64_t child_ticks; /* claimed by zones inside it */
	uint64_t covered_ticks; /* until here */
	uint32_t name;
	uint32_t stage; /* with SB_TALLY_RECURSIVE */
	uint32_t role;
	bool recursion; /* it or one around it is recursive */
	int64_t frames; /* -1: not given */
};

struct stack {
	struct frame *frames;
	uint32_t depth, room;
	uint64_t covered_ticks;
	bool main;
};

/* ---- calls ---- */

static void count_role(struct sb_tally *t, uint32_t role, uint64_t count, int64_t frames)
{
	switch (role) {
	case STROBE_ROLE_GENERATION:
		t->generations += count;
		sb_tally_add_frames(&t->frames_generated, frames);
		break;
	case STROBE_ROLE_ITERATION: t->iterations += count; break;
	case STROBE_ROLE_STEP: t->steps += count; break;
	case STROBE_ROLE_BLOCK:
		t->blocks += count;
		sb_tally_add_frames(&t->frames_in_blocks, frames);
		break;
	default: break;
	}
}

/* Returns the bucket that it was counted in. */
INLINE uint32_t count_call(struct sb_tally_stage *s, int64_t ns, uint64_t count)
{
	static const int64_t bounds_ns[SB_TALLY_BOUNDS] = { 100000, 1000000, 2500000, 5000000, 10000000,
		25000000, 50000000, 100000000, 250000000, 500000000, 1000000000, 2500000000, 5000000000,
		10000000000, 25000000000, 50000000000, 100000000000 };
	uint32_t i = 0;

	while (i < SB_TALLY_BOUNDS && ns > bounds_ns[i])
		i++;
	s->buckets[i] += count;
	return i;
}

INLINE void end_zone(struct sb_tally *t, const struct frame *f, uint64_t end_ticks)
{
	struct sb_tally_stage *s = sb_tally_stage_at(t, f->stage);
	uint64_t ticks = end_ticks - f->begin_ticks;
	uint64_t child = f->child_ticks < ticks ? f->child_ticks : ticks;
	int64_t ns = sb_tally_ns(t, ticks);

	t->zones++;
	s->self_ns += ns - sb_tally_ns(t, child);
	if (!s->role)
		s->role = f->role;
	count_role(t, f->role, 1, f->frames);
	if (f->stage & SB_TALLY_RECURSIVE)
		return;
	s->calls++;
	s->total_ns += ns;
	s->latest[count_call(s, ns, 1)] = (struct sb_tally_call){ .end_ticks = end_ticks, .ns = ns };
}

/* ---- stacks ---- */

INLINE struct stack *stack_at(const struct sb_tally *t, uint32_t number)
{
	return (struct stack *)t->stacks.items + number - 1;
}

/* A task has one stack wherever it runs. */
static uint32_t stack_number(struct sb_tally *t, uint32_t tid, uint32_t track)
{
	uint64_t key = track ? TRACK_KEY | track : tid;
	struct stack *s;
	uint32_t number;

	if (sb_map_get(&t->stack_of, key, &number))
		return number;
	s = sb_vec_push(&t->stacks, sizeof *s);
	if (!s || !sb_map_put(&t->stack_of, key, (uint32_t)t->stacks.count)) {
		t->no_memory = true;
		return 0;
	}
	s->main = !track && tid == t->head.main_tid;
	return (uint32_t)t->stacks.count;
}

void sb_tally_switch(struct sb_tally *t, struct sb_tally_writer *w, uint32_t tid, uint32_t track)
{
	w->tid = tid;
	w->track = track;
	w->stack = stack_number(t, tid, track);
}

static bool is_open(struct sb_tally *t, const struct stack *s, uint32_t stage)
{
	for (uint32_t i = s->depth; i-- > 0 && sb_tally_may_look(t, s->depth - i);)
		if ((s->frames[i].stage & ~SB_TALLY_RECURSIVE) == stage)
			return true;
	return false;
}

INLINE struct frame *push(struct sb_tally *t, struct stack *s, uint32_t name, uint64_t ticks)
{
	struct frame *above = s->depth ? &s->frames[s->depth - 1] : NULL;
	bool recursion = above && above->recursion;
	uint32_t stage = sb_tally_stage_of(t, above ? above->stage : 0, name);

	if (!SB_MAKE_ROOM(s->frames, s->depth, s->room)) {
		t->no_memory = true;
		return NULL;
	}
	if (recursion && !(stage & SB_TALLY_RECURSIVE) && is_open(t, s, stage))
		stage |= SB_TALLY_RECURSIVE;
	s->frames[s->depth] = (struct frame){ .begin_ticks = ticks,
		.name = name,
		.stage = stage,
		.recursion = recursion || stage & SB_TALLY_RECURSIVE,
		.frames = -1 };
	return &s->frames[s->depth++];
}

/* The part of a zone's time that none beside it has claimed yet. */
INLINE void claim(
	struct sb_tally *t, struct stack *s, uint32_t depth, uint64_t begin_ticks, uint64_t end_ticks)
{
	uint64_t *covered = depth ? &s->frames[depth - 1].covered_ticks : &s->covered_ticks;
	uint64_t from = begin_ticks > *covered ? begin_ticks : *covered;
	uint64_t ticks = end_ticks > from ? end_ticks - from : 0;

	if (end_ticks > *covered)
		*covered = end_ticks;
	if (depth)
		s->frames[depth - 1].child_ticks += ticks;
	else if (s->main)
		t->attributed_ns += sb_tally_ns(t, ticks);
}

INLINE void pop(struct sb_tally *t, struct stack *s, uint64_t ticks)
{
	struct frame *f = &s->frames[--s->depth];

	if (ticks < f->begin_ticks)
		ticks = f->begin_ticks;
	end_zone(t, f, ticks);
	claim(t, s, s->depth, f->begin_ticks, ticks);
}

/* The innermost zone of a name, from 1; 0: none. */
INLINE uint32_t find_open(struct sb_tally *t, const struct stack *s, uint32_t name)
{
	for (uint32_t i = s->depth; i > 0 && sb_tally_may_look(t, s->depth - i + 1); i--)
		if (s->frames[i - 1].name == name)
			return i;
	return 0;
}

INLINE void end_to(struct sb_tally *t, struct stack *s, uint32_t name, uint64_t ticks)
{
	uint32_t match = name ? find_open(t, s, name) : s->depth;

	while (match && s->depth >= match)
		pop(t, s, ticks);
}

/* ---- attributes ---- */

static void take_attr(struct frame *f, uint32_t key, int64_t value)
{
	if (key == SB_NAME_ROLE)
		f->role = sb_role_read((uint64_t)value);
	else if (key == SB_NAME_FRAMES || (key == SB_NAME_BLOCK_SIZE && f->frames < 0))
		f->frames = value;
}

/* What seemed to be inside its own stage, but has another role than that (steps "denoise" in a section
 * "denoise"): a stage inside it. depth: the frames around it. */
static uint32_t stage_by_role(
	struct sb_tally *t, const struct stack *s, uint32_t depth, const struct frame *f, uint32_t role)
{
	uint32_t around = depth, seeming = f->stage & ~SB_TALLY_RECURSIVE, stage;

	if (!(f->stage & SB_TALLY_RECURSIVE) || !depth || !role)
		return f->stage;
	while (around && sb_tally_may_look(t, depth - around + 1) &&
		(s->frames[around - 1].stage & ~SB_TALLY_RECURSIVE) != seeming)
		around--;
	if (!around || (s->frames[around - 1].stage & ~SB_TALLY_RECURSIVE) != seeming ||
		s->frames[around - 1].role == role)
		return f->stage;
	stage = sb_tally_stage_of_role(t, s->frames[depth - 1].stage, f->name);
	return is_open(t, s, stage & ~SB_TALLY_RECURSIVE) ? stage | SB_TALLY_RECURSIVE : stage;
}

static void take_top_attr(struct sb_tally *t, struct stack *s, uint32_t key, int64_t value)
{
	struct frame *f = &s->frames[s->depth - 1];

	take_attr(f, key, value);
	if (key != SB_NAME_ROLE || !(f->stage & SB_TALLY_RECURSIVE))
		return;
	f->stage = stage_by_role(t, s, s->depth - 1, f, f->role);
	f->recursion = (s->depth > 1 && s->frames[s->depth - 2].recursion) || f->stage & SB_TALLY_RECURSIVE;
}

/* ---- spans ---- */

static void take_span(struct sb_tally *t, struct sb_tally_writer *w, const struct sb_record *r)
{
	uint32_t track, depth, at = 4, above;
	struct frame f = { .name = (uint32_t)r->aux & SB_ID_MAX, .frames = -1 };
	struct sb_wire_attr attr;
	struct stack *s;
	uint64_t end_ticks;

	if (r->words < 4 || r->payload[2] >> 62)
		return;
	track = (uint32_t)r->payload[3] & SB_ID_MAX;
	above = stack_number(t, w->tid, track);
	if (!above)
		return;
	s = stack_at(t, above);
	f.begin_ticks = r->payload[1];
	end_ticks = f.begin_ticks + r->payload[2];
	while (sb_record_attr(r, &at, &attr))
		if (attr.type == STROBE_TYPE_INT)
			take_attr(&f, attr.key, (int64_t)attr.bits);
	depth = r->payload[0] ? 0 : s->depth; /* one that was measured is inside what was open then */
	while (depth && s->frames[depth - 1].begin_ticks > f.begin_ticks &&
		sb_tally_may_look(t, s->depth - depth + 1))
		depth--;
	f.stage = sb_tally_stage_of(t, depth ? s->frames[depth - 1].stage : 0, f.name);
	if (depth && s->frames[depth - 1].recursion && is_open(t, s, f.stage & ~SB_TALLY_RECURSIVE))
		f.stage |= SB_TALLY_RECURSIVE;
	f.stage = stage_by_role(t, s, depth, &f, f.role);
	end_zone(t, &f, end_ticks);
	if (!r->payload[0])
		claim(t, s, depth, f.begin_ticks, end_ticks);
}

/* ---- a thread's words ---- */

static void hot_long(
	struct sb_tally *t, struct sb_tally_writer *w, struct stack *s, const struct sb_record *r)
{
	struct frame *f = s->depth ? &s->frames[s->depth - 1] : NULL;

	switch (r->type) {
	case SB_SPAN: take_span(t, w, r); break;
	case SB_ATTR64:
		if (f && r->words && (r->aux >> 20 & 15) == STROBE_TYPE_INT)
			take_top_attr(t, s, (uint32_t)r->aux & SB_ID_MAX, (int64_t)r->payload[0]);
		break;
	case SB_OWNER: /* the thread that wrote before has ended: so have its zones */
		s = w->track ? stack_at(t, stack_number(t, w->tid, 0)) : s;
		while (s->depth)
			pop(t, s, w->now_ticks);
		sb_tally_switch(t, w, (uint32_t)r->aux, 0);
		break;
	case SB_GPU: break; /* has a stream of its own */
	default: sb_tally_keep(t, r); break;
	}
}

void sb_tally_hot(struct sb_tally *t, struct sb_tally_writer *w, const struct sb_record *r)
{
	struct stack *s;

	if (!w->stack)
		sb_tally_switch(t, w, w->tid, w->track);
	if (!w->stack)
		return;
	s = stack_at(t, w->stack);
	if (r->kind <= SB_SWITCH)
		w->now_ticks = r->ticks;
	switch (r->kind) {
	case SB_BEGIN: push(t, s, r->id, r->ticks); break;
	case SB_END: end_to(t, s, r->id, r->ticks); break;
	case SB_SWITCH: sb_tally_switch(t, w, w->tid, r->id); break;
	case SB_ATTR:
		if (s->depth)
			take_top_attr(t, s, r->id, r->value);
		break;
	case SB_COUNT: sb_tally_count(t, r->id, r->value); break;
	case SB_LONG: hot_long(t, w, s, r); break;
	default: break;
	}
}

/* Begins and ends up to the first other word: most of a chunk. */
static void take_zones(struct sb_tally *t, struct sb_tally_writer *w, struct sb_cursor *c)
{
	struct stack *s = w->stack ? stack_at(t, w->stack) : NULL;

	for (; s && c->at < c->end; c->at++) {
		uint64_t word = *c->at, ticks = c->base + sb_word_ticks(word);

		if (sb_word_kind(word) == SB_BEGIN)
			push(t, s, sb_word_id(word), ticks);
		else if (sb_word_kind(word) == SB_END)
			end_to(t, s, sb_word_id(word), ticks);
		else
			return;
		w->now_ticks = ticks;
	}
}

void sb_tally_hot_chunk(struct sb_tally *t, struct sb_tally_writer *w, struct sb_cursor *c)
{
	struct sb_record r;

	for (;;) {
		take_zones(t, w, c);
		if (!sb_cursor_next(c, &r))
			return;
		sb_tally_hot(t, w, &r);
	}
}

/* ---- digests ---- */

static void add_node(struct sb_tally *t, const struct sb_digest *d, const struct sb_folded_node *n,
	uint32_t stage, bool main)
{
	struct sb_tally_stage *s = sb_tally_stage_at(t, stage);

	t->zones += n->sum.count;
	s->self_ns += sb_tally_ns(t, n->sum.self_ticks);
	s->role = s->role ? s->role : n->role;
	count_role(t, n->role, n->sum.count, -1);
	if (stage & SB_TALLY_RECURSIVE)
		return;
	s->calls += n->sum.count;
	s->total_ns += sb_tally_ns(t, n->sum.total_ticks);
	if (main && !n->parent && !(n->flags & (SB_NODE_SPAN | SB_NODE_TRACK)))
		t->attributed_ns += sb_tally_ns(t, n->sum.total_ticks);
	for (uint32_t i = 0; i < n->bucket_count; i++) {
		const struct sb_folded_bucket *b = &d->buckets[n->first_bucket + i];
		double low, high;

		sb_digest_bucket_range(b->bucket, &low, &high);
		count_call(s, sb_tally_ns(t, (uint64_t)((low + high) / 2)), b->count);
	}
}

static void add_sum(struct sb_tally *t, const struct sb_digest *d, const struct sb_folded_sum *s)
{
	uint32_t name = s->key & SB_ID_MAX, what = s->key >> SB_ID_BITS;
	uint32_t role = s->node ? d->nodes[s->node - 1].role : 0;

	if (s->node && (name == SB_NAME_FRAMES || name == SB_NAME_BLOCK_SIZE))
		count_role(t, role, 0, s->sum.sum_int);
	else if (!s->node && what == SB_SUM_COUNT && name == SB_NAME_STREAM_FRAMES)
		sb_tally_add_frames(&t->frames_streamed, s->sum.sum_int);
	else if (!s->node && what == SB_SUM_COUNT)
		sb_tally_count(t, name, s->sum.sum_int);
	else if (!s->node && what >= SB_SUM_HIT && what <= SB_SUM_EVICT)
		sb_tally_count_cache(t, name,
			what == SB_SUM_HIT    ? STROBE_CACHE_HIT
			: what == SB_SUM_MISS ? STROBE_CACHE_MISS
					      : STROBE_CACHE_EVICT,
			(uint64_t)s->sum.sum_int);
}

/* A node that is its own ancestor: recursion that new_stage did not see. */
static bool repeats(struct sb_tally *t, const struct sb_digest *d, const uint32_t *stages, uint32_t parent,
	uint32_t stage)
{
	for (uint32_t far = 1; parent && sb_tally_may_look(t, far);
		parent = d->nodes[parent - 1].parent, far++)
		if ((stages[parent - 1] & ~SB_TALLY_RECURSIVE) == stage)
			return true;
	return false;
}

/* As stage_by_role(), of a node. */
static uint32_t node_by_role(struct sb_tally *t, const struct sb_digest *d, const uint32_t *stages,
	const struct sb_folded_node *n, uint32_t stage)
{
	uint32_t at = n->parent, role = sb_role_read(n->role);

	if (!(stage & SB_TALLY_RECURSIVE) || !role)
		return stage;
	for (uint32_t far = 1; at && sb_tally_may_look(t, far); at = d->nodes[at - 1].parent, far++)
		if ((stages[at - 1] | SB_TALLY_RECURSIVE) == stage)
			return sb_role_read(d->nodes[at - 1].role) == role
				       ? stage
				       : sb_tally_stage_of_role(t, stages[n->parent - 1], n->name);
	return stage;
}

static void restore_open(
	struct sb_tally *t, struct sb_tally_writer *w, const struct sb_digest *d, const uint32_t *stages)
{
	for (uint32_t i = 0; i < d->open_count; i++) {
		const struct sb_digest_open_zone *o = &d->open[i];
		uint32_t number = stack_number(t, w->tid, o->track & SB_ID_MAX);
		struct frame *f = number ? push(t, stack_at(t, number), d->nodes[o->node - 1].name,
						   o->begin_ticks)
					 : NULL;

		if (!f)
			continue;
		f->stage = stages[o->node - 1];
		f->recursion |= (f->stage & SB_TALLY_RECURSIVE) != 0;
		f->role = d->nodes[o->node - 1].role;
		f->child_ticks = o->child_ticks >> 62 ? 0 : o->child_ticks;
	}
}

void sb_tally_digest(struct sb_tally *t, struct sb_tally_writer *w, const struct sb_digest *d)
{
	uint32_t *stages = calloc((size_t)d->node_count + 1, sizeof *stages);
	bool main = w->tid == t->head.main_tid;

	if (!stages) {
		t->no_memory = true;
		return;
	}
	for (uint32_t i = 0; i < d->node_count; i++) {
		const struct sb_folded_node *n = &d->nodes[i];

		stages[i] = sb_tally_stage_of(t, n->parent ? stages[n->parent - 1] : 0, n->name);
		stages[i] = node_by_role(t, d, stages, n, stages[i]);
		if (repeats(t, d, stages, n->parent, stages[i] & ~SB_TALLY_RECURSIVE))
			stages[i] |= SB_TALLY_RECURSIVE;
		if (n->sum.count)
			add_node(t, d, n, stages[i], main);
	}
	for (uint32_t i = 0; i < d->sum_count; i++)
		add_sum(t, d, &d->sums[i]);
	restore_open(t, w, d, stages);
	sb_tally_switch(t, w, w->tid, d->track & SB_ID_MAX);
	free(stages);
}

/* ---- life ---- */

bool sb_tally_zones_init(struct sb_tally *t)
{
	sb_tally_add_stage(t, 0, 0, 0);
	sb_tally_refresh(t);
	return !t->no_memory;
}

void sb_tally_zones_done(struct sb_tally *t)
{
	for (size_t i = 0; i < t->stacks.count; i++)
		free(((struct stack *)t->stacks.items)[i].frames);
	sb_vec_done(&t->stages);
	sb_vec_done(&t->stacks);
	sb_map_done(&t->children);
	sb_map_done(&t->patterns);
	sb_map_done(&t->stack_of);
}
