/* Skips in the order of their tracks and times, so that a zone finds its own without
 * looking at the others; the placed ones are jumped over. */
#include "analyze/stages/skips.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define SKIPS_MAX (1u << 18) /* 20 MB */

void sb_stage_skips_init(struct sb_stage_skips *s)
{
	memset(s, 0, sizeof *s);
	s->first_ns = INT64_MAX;
	s->last_ns = INT64_MIN;
}

void sb_stage_skips_done(struct sb_stage_skips *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->all[i].reason);
	free(s->all);
	free(s->order);
	free(s->next);
	sb_stage_skips_init(s);
}

static bool make_room(struct sb_stage_skips *s)
{
	uint32_t room = s->room ? s->room * 2 : 16;
	struct sb_stage_skip *more;

	if (s->count < s->room)
		return true;
	more = s->room < SKIPS_MAX ? realloc(s->all, room * sizeof *more) : NULL;
	if (!more)
		return false;
	s->all = more;
	s->room = room;
	return true;
}

void sb_stage_skips_add(struct sb_stage_skips *s, const struct sb_event *e)
{
	if (!make_room(s)) {
		s->left_out_count++;
		return;
	}
	s->all[s->count++] = (struct sb_stage_skip){
		.t_ns = e->t_ns, .track = e->track, .name = e->name, .reason = strdup(e->text)
	};
	if (e->t_ns < s->first_ns)
		s->first_ns = e->t_ns;
	if (e->t_ns > s->last_ns)
		s->last_ns = e->t_ns;
}

/* ---- placing ------------------------------------------------------------- */

static int by_place(const void *a, const void *b, void *all)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct sb_stage_skip *x = (struct sb_stage_skip *)all + i, *y = (struct sb_stage_skip *)all + k;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return i < k ? -1 : 1;
}

static bool put_in_order(struct sb_stage_skips *s)
{
	uint32_t *order = realloc(s->order, s->count * sizeof *order), *next;

	if (order)
		s->order = order;
	next = realloc(s->next, (s->count + 1) * sizeof *next);
	if (next)
		s->next = next;
	if (!order || !next)
		return false;
	for (uint32_t i = 0; i < s->count; i++)
		order[i] = i;
	qsort_r(order, s->count, sizeof *order, by_place, s->all);
	s->left_count = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		next[i] = s->all[order[i]].placed ? i + 1 : i;
		s->left_count += !s->all[order[i]].placed;
	}
	next[s->count] = s->count;
	s->ordered_count = s->count;
	return true;
}

/* The first not placed at or after a place; halves the way for the next search. */
static uint32_t next_left(struct sb_stage_skips *s, uint32_t at)
{
	while (s->next[at] != at) {
		s->next[at] = s->next[s->next[at]];
		at = s->next[at];
	}
	return at;
}

/* The first of a track past a time. */
static uint32_t first_past(const struct sb_stage_skips *s, uint32_t track, int64_t t_ns)
{
	uint32_t low = 0, high = s->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct sb_stage_skip *k = &s->all[s->order[middle]];

		if (k->track < track || (k->track == track && k->t_ns <= t_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_inside(const struct sb_stage_skip *k, const struct sb_zone *z)
{
	return k->track == z->track &&
	       (k->t_ns < z->end_ns || (k->t_ns == z->end_ns && z->flags & SB_ZONE_OPEN));
}

void sb_stage_skips_place(struct sb_stage_skips *s, const struct sb_zone *z)
{
	uint32_t at;

	if (s->ordered_count != s->count && !put_in_order(s))
		return;
	at = next_left(s, first_past(s, z->track, z->begin_ns));
	while (at < s->count && is_inside(&s->all[s->order[at]], z)) {
		s->all[s->order[at]].placed = true;
		s->all[s->order[at]].parent = z->path;
		s->next[at] = at + 1;
		s->left_count--;
		at = next_left(s, at + 1);
	}
	if (!s->left_count) {
		s->first_ns = INT64_MAX;
		s->last_ns = INT64_MIN;
	}
}

bool sb_stage_skips_merge(struct sb_stage_skips *s)
{
	struct sb_map known = { 0 };
	uint32_t kept = 0, seen;
	bool ok = true;

	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t key = (uint64_t)s->all[i].parent << 32 | s->all[i].name;

		if (sb_map_get(&known, key, &seen)) {
			free(s->all[i].reason);
			continue;
		}
		ok &= sb_map_put(&known, key, 1);
		s->all[kept++] = s->all[i];
	}
	s->count = kept;
	sb_map_done(&known);
	return ok;
}
