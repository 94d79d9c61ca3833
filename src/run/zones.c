/* Nesting: begins and ends become zones with a place in the tree. */
#include "run/pass.h"

#include <stdlib.h>
#include <string.h>

#define NEAR_FRAMES 256u

bool sb_engine_room(struct sb_engine *e, void *array, uint32_t *room, uint32_t count, size_t size)
{
	void **at = array;
	uint32_t bigger = *room ? *room * 2 : 16;
	void *more;

	if (count < *room)
		return true;
	while (bigger <= count)
		bigger *= 2;
	more = realloc(*at, bigger * size);
	if (!more) {
		e->no_memory = true;
		return false;
	}
	*at = more;
	*room = bigger;
	return true;
}

struct sb_stack *sb_stack_of(struct sb_engine *e, uint32_t track)
{
	uint32_t before = e->stack_room;

	if (!sb_engine_room(e, &e->stacks, &e->stack_room, track, sizeof *e->stacks))
		return NULL;
	if (e->stack_room > before)
		memset(e->stacks + before, 0, (e->stack_room - before) * sizeof *e->stacks);
	if (!e->stacks[track]) {
		e->stacks[track] = calloc(1, sizeof **e->stacks);
		if (!e->stacks[track]) {
			e->no_memory = true;
			return NULL;
		}
		e->stacks[track]->track = track;
		e->stacks[track]->covered_ns = INT64_MIN;
	}
	return e->stacks[track];
}

void sb_stack_free(struct sb_stack *s)
{
	if (!s)
		return;
	free(s->frames);
	free(s->attrs);
	free(s->text);
	free(s);
}

/* ---- handing out --------------------------------------------------------- */

static uint64_t ask_name(struct sb_engine *e, uint32_t name)
{
	uint64_t mask = 1ull << 63;
	uint32_t before = e->name_room;

	if (!e->any_name_mask || !sb_engine_room(e, &e->name_mask, &e->name_room, name, sizeof *e->name_mask))
		return 0;
	if (e->name_room > before)
		memset(e->name_mask + before, 0, (e->name_room - before) * sizeof *e->name_mask);
	if (e->name_mask[name])
		return e->name_mask[name];
	for (size_t i = 0; i < e->visitor_count; i++)
		if (e->visitors[i].zone && e->visitors[i].wants_name &&
			e->visitors[i].wants_name(e->visitors[i].self, &e->run->names[name]))
			mask |= 1ull << i;
	e->name_mask[name] = mask;
	return mask;
}

SB_PASS_INLINE uint64_t wanted_by(struct sb_engine *e, const struct sb_zone *z)
{
	uint64_t mask = e->every_mask | e->role_mask[z->role & 31];

	if (e->any_name_mask)
		mask |= (z->name < e->name_room && e->name_mask[z->name] ? e->name_mask[z->name]
									 : ask_name(e, z->name)) &
			~(1ull << 63);
	if (z->end_ns - z->begin_ns < SB_LONG_ZONE_NS && z->role != STROBE_ROLE_GENERATION)
		mask &= ~e->long_mask;
	return z->attr_count ? mask | e->with_attrs_mask : mask & ~e->attrs_mask;
}

static bool clip(struct sb_engine *e, struct sb_zone *z)
{
	int64_t from = e->run->from_ns, to = e->run->to_ns;

	if (z->end_ns < from || z->begin_ns > to || (z->end_ns == from && z->begin_ns < from) ||
		(z->begin_ns == to && z->end_ns > to))
		return false;
	if (z->begin_ns < from || z->end_ns > to)
		z->flags |= SB_ZONE_CLIPPED;
	if (z->begin_ns < from)
		z->begin_ns = from;
	if (z->end_ns > to)
		z->end_ns = to;
	return true;
}

SB_PASS_INLINE bool give(struct sb_engine *e, struct sb_zone *z)
{
	uint64_t mask;

	if (z->end_ns < z->begin_ns)
		z->end_ns = z->begin_ns;
	if (e->cut && !clip(e, z))
		return false;
	if (z->child_ns > z->end_ns - z->begin_ns)
		z->child_ns = z->end_ns - z->begin_ns;
	e->index->pass.zones++;
	z->gpu = e->spans && e->spans->list_count ? sb_gpu_spans_take(e->spans, z) : NULL;
	if (z->gpu && z->gpu->device < 64)
		z->gpu_devices |= 1ull << z->gpu->device;
	for (mask = wanted_by(e, z); mask; mask &= mask - 1) {
		const struct sb_zone_taker *taker = &e->takers[__builtin_ctzll(mask)];

		taker->zone(taker->self, z);
	}
	return true;
}

/* Counts and hands out a zone; false: it lies outside the cut. */
static bool zone_give(struct sb_engine *e, struct sb_zone *z)
{
	return give(e, z);
}

/* ---- the stack ----------------------------------------------------------- */

/* A damaged file may have a million zones open, and as many words that look through all of
 * them: the nearest are free, those beyond come out of a budget for the whole pass. */
static inline bool may_look_at(struct sb_engine *e, const struct sb_stack *s, uint32_t frame)
{
	return s->depth - frame <= NEAR_FRAMES || (e->search_left && e->search_left--);
}

/* Below a recursive frame, paths repeat that do not hold their own name: f, g, f, g. */
static bool is_open(struct sb_engine *e, const struct sb_stack *s, uint32_t path)
{
	for (uint32_t i = s->depth; i-- > 0 && may_look_at(e, s, i);)
		if ((s->frames[i].path & ~SB_PATH_RECURSIVE) == path)
			return true;
	return false;
}

static void tell_begin(
	struct sb_engine *e, const struct sb_stack *s, const struct sb_frame *f, uint32_t flags)
{
	struct sb_zone z = { .begin_ns = f->begin_ns,
		.end_ns = f->begin_ns,
		.name = f->name,
		.path = f->path & ~SB_PATH_RECURSIVE,
		.track = s->track,
		.process = e->process,
		.depth = s->depth - 1,
		.flags = flags | (f->path & SB_PATH_RECURSIVE ? SB_ZONE_RECURSIVE : 0) };

	for (uint64_t mask = e->begin_mask; mask; mask &= mask - 1)
		e->visitors[__builtin_ctzll(mask)].zone_begin(e->visitors[__builtin_ctzll(mask)].self, &z);
}

void sb_stack_begin(struct sb_engine *e, struct sb_stack *s, uint32_t name, int64_t t_ns)
{
	uint32_t parent = s->depth ? s->frames[s->depth - 1].path & ~SB_PATH_RECURSIVE : 0;
	bool recursion = s->depth && s->frames[s->depth - 1].recursion;
	uint32_t path = sb_run_path_of(e->run, parent, name);
	struct sb_frame *f;

	if (s->depth >= s->room && !sb_engine_room(e, &s->frames, &s->room, s->depth, sizeof *s->frames))
		return;
	if (recursion && !(path & SB_PATH_RECURSIVE) && is_open(e, s, path))
		path |= SB_PATH_RECURSIVE;
	f = &s->frames[s->depth++];
	f->begin_ns = t_ns;
	f->child_ns = 0;
	f->covered_ns = INT64_MIN;
	f->gpu_devices = 0;
	f->name = name;
	f->path = path;
	f->recursion = recursion || path & SB_PATH_RECURSIVE;
	f->warming = sb_stack_is_warming(s, s->depth - 1);
	f->role = 0;
	f->attr_first = s->attr_count;
	f->text_first = s->text_size;
	if (e->begin_mask)
		tell_begin(e, s, f, 0);
}

/* The role of the nearest zone of a path; -1: none is open. */
static int64_t role_around(struct sb_engine *e, const struct sb_stack *s, uint32_t depth, uint32_t path)
{
	for (uint32_t i = depth; i-- > 0 && may_look_at(e, s, i);)
		if ((s->frames[i].path & ~SB_PATH_RECURSIVE) == path)
			return s->frames[i].role;
	return -1;
}

/* The path of what seemed to be inside its own, once its role is known. */
static uint32_t path_by_role(
	struct sb_engine *e, const struct sb_stack *s, uint32_t depth, uint32_t path, uint32_t role)
{
	uint32_t seeming = path & ~SB_PATH_RECURSIVE, name = sb_run_path(e->run, seeming)->name;
	int64_t around = path & SB_PATH_RECURSIVE ? role_around(e, s, depth, seeming) : -1;

	if (!depth || !role || around < 0 || around == role)
		return path;
	path = sb_run_path_of_role(e->run, s->frames[depth - 1].path & ~SB_PATH_RECURSIVE, name);
	return is_open(e, s, path) ? path | SB_PATH_RECURSIVE : path;
}

void sb_stack_role(struct sb_engine *e, struct sb_stack *s, uint32_t role)
{
	struct sb_frame *f = &s->frames[s->depth - 1];
	uint32_t path = path_by_role(e, s, s->depth - 1, f->path, role);

	f->role = role;
	if (path == f->path)
		return;
	f->path = path;
	f->recursion = s->frames[s->depth - 2].recursion || path & SB_PATH_RECURSIVE;
	if (e->begin_mask)
		tell_begin(e, s, f, SB_ZONE_AGAIN);
}

/* The part of a child's time that no sibling has claimed yet. */
static inline int64_t claim(int64_t *covered_ns, int64_t begin_ns, int64_t end_ns)
{
	int64_t from = begin_ns > *covered_ns ? begin_ns : *covered_ns;

	if (end_ns > *covered_ns)
		*covered_ns = end_ns;
	return end_ns > from ? end_ns - from : 0;
}

SB_PASS_INLINE void claim_in_parent(
	struct sb_engine *e, struct sb_stack *s, uint32_t depth, const struct sb_zone *z)
{
	int64_t begin_ns = z->begin_ns, end_ns = z->end_ns;

	if (depth) {
		s->frames[depth - 1].child_ns += claim(&s->frames[depth - 1].covered_ns, begin_ns, end_ns);
		s->frames[depth - 1].gpu_devices |= z->gpu_devices;
	} else if (e->p->has_tracks &&
		   (e->run->tracks[s->track].main || e->run->tracks[s->track].main_task)) {
		e->index->attributed_ns += sb_covered_add(&e->covered, begin_ns, end_ns);
	} else if (e->run->tracks[s->track].main) {
		e->index->attributed_ns += claim(&s->covered_ns, begin_ns, end_ns);
	}
}

static void fix_texts(struct sb_stack *s, uint32_t first)
{
	for (uint32_t i = first; i < s->attr_count; i++)
		if (s->attrs[i].type == STROBE_TYPE_STRING)
			s->attrs[i].s = s->text + s->attrs[i].i;
}

static void close_top(struct sb_engine *e, struct sb_stack *s, int64_t t_ns, uint32_t flags)
{
	struct sb_frame *f = &s->frames[--s->depth];
	struct sb_zone z = { .begin_ns = f->begin_ns,
		.end_ns = t_ns,
		.child_ns = f->child_ns,
		.name = f->name,
		.path = f->path & ~SB_PATH_RECURSIVE,
		.track = s->track,
		.process = e->process,
		.depth = s->depth,
		.flags = flags | (f->path & SB_PATH_RECURSIVE ? SB_ZONE_RECURSIVE : 0) |
			 (f->warming ? SB_ZONE_WARMING : 0),
		.role = f->role,
		.gpu_devices = f->gpu_devices,
		.attr_count = s->attr_count - f->attr_first };

	if (z.attr_count) {
		fix_texts(s, f->attr_first);
		z.attrs = s->attrs + f->attr_first;
		s->attr_count = f->attr_first;
		s->text_size = f->text_first;
	}
	if (give(e, &z))
		claim_in_parent(e, s, s->depth, &z);
}

/* The innermost zone of a name, from 1; 0: none. */
static uint32_t find_open(struct sb_engine *e, const struct sb_stack *s, uint32_t name)
{
	for (uint32_t i = s->depth; i-- > 0 && may_look_at(e, s, i);)
		if (s->frames[i].name == name)
			return i + 1;
	return 0;
}

void sb_stack_end(struct sb_engine *e, struct sb_stack *s, uint32_t name, int64_t t_ns)
{
	uint32_t match = s->depth;

	if (name)
		match = find_open(e, s, name);
	if (!match) {
		e->index->pass.unmatched_ends++;
		return;
	}
	while (s->depth > match) {
		e->index->pass.popped_zones++;
		close_top(e, s, t_ns, SB_ZONE_POPPED);
	}
	close_top(e, s, t_ns, 0);
}

void sb_stack_close_all(struct sb_engine *e, struct sb_stack *s, int64_t t_ns)
{
	while (s->depth) {
		e->index->pass.open_zones++;
		close_top(e, s, t_ns, SB_ZONE_OPEN);
	}
}

void sb_stack_attr(struct sb_engine *e, struct sb_stack *s, const struct sb_run_attr *attr)
{
	if (!s->depth || s->attr_count - s->frames[s->depth - 1].attr_first >= 4096 ||
		!sb_engine_room(e, &s->attrs, &s->attr_room, s->attr_count, sizeof *s->attrs))
		return;
	s->attrs[s->attr_count++] = *attr;
}

void sb_stack_text_attr(
	struct sb_engine *e, struct sb_stack *s, const char *key, const char *text, size_t size)
{
	struct sb_run_attr attr = { .key = key, .type = STROBE_TYPE_STRING, .i = s->text_size };

	if (!s->depth || size > SB_STRING_MAX ||
		!sb_engine_room(e, &s->text, &s->text_room, s->text_size + (uint32_t)size + 1, 1))
		return;
	memcpy(s->text + s->text_size, text, size);
	s->text[s->text_size + size] = 0;
	s->text_size += (uint32_t)size + 1;
	sb_stack_attr(e, s, &attr);
}

void sb_stack_span(struct sb_engine *e, struct sb_stack *s, struct sb_zone *z, bool measured)
{
	uint32_t depth = measured ? s->depth : 0;
	uint32_t parent, path;

	while (depth && s->frames[depth - 1].begin_ns > z->begin_ns && may_look_at(e, s, depth - 1))
		depth--;
	parent = depth ? s->frames[depth - 1].path & ~SB_PATH_RECURSIVE : 0;
	path = sb_run_path_of(e->run, parent, z->name);
	if (depth && s->frames[depth - 1].recursion && is_open(e, s, path))
		path |= SB_PATH_RECURSIVE;
	path = path_by_role(e, s, depth, path, z->role);
	z->path = path & ~SB_PATH_RECURSIVE;
	z->depth = depth;
	z->track = s->track;
	z->process = e->process;
	z->flags |= SB_ZONE_SPAN | (path & SB_PATH_RECURSIVE ? SB_ZONE_RECURSIVE : 0) |
		    (sb_stack_is_warming(s, depth) ? SB_ZONE_WARMING : 0);
	if (zone_give(e, z) && measured)
		claim_in_parent(e, s, depth, z);
}
