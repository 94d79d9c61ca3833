/* What tally.c, which keeps names, samples and counters, tally_zones.c and tally_stages.c share. */
#ifndef SB_SERVE_TALLY_PARTS_H
#define SB_SERVE_TALLY_PARTS_H

#include "serve/tally.h"

/* A duration in ns; 0: it is damaged. */
static inline int64_t sb_tally_ns(const struct sb_tally *t, uint64_t ticks)
{
	return ticks >> 62 ? 0 : (int64_t)((unsigned __int128)ticks * t->scale >> 40);
}

/* Adds frames to a sum. Below 0: not given. */
static inline void sb_tally_add_frames(int64_t *sum, int64_t frames)
{
	if (frames >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + frames;
}

/* ---- tally.c ---- */
/* Adds to the frames counted or dropped, where the counter is one of these two. */
void sb_tally_count(struct sb_tally *t, uint32_t name, int64_t delta);
/* Adds hits, misses or evictions of a cache. */
void sb_tally_count_cache(struct sb_tally *t, uint32_t name, uint32_t kind, uint64_t count);

/* ---- tally_stages.c ---- */
#define SB_TALLY_RECURSIVE (1u << 31) /* of a stage's number: the call is inside another of that stage */
static inline struct sb_tally_stage *sb_tally_stage_at(const struct sb_tally *t, uint32_t stage)
{
	return (struct sb_tally_stage *)t->stages.items + (stage & ~SB_TALLY_RECURSIVE);
}
/* Makes the stage of a name below a stage; with SB_TALLY_RECURSIVE where the name is above already. */
uint32_t sb_tally_make_stage(struct sb_tally *t, uint32_t parent, uint32_t name);
/* The same, made when first needed. */
static inline uint32_t sb_tally_stage_of(struct sb_tally *t, uint32_t parent, uint32_t name)
{
	uint32_t stage;

	if (sb_map_get(&t->children, (uint64_t)(parent & ~SB_TALLY_RECURSIVE) << 32 | name, &stage))
		return stage;
	return sb_tally_make_stage(t, parent, name);
}
/* The same if a stage above has this name but another role: a stage inside that one, not a recursive call. */
uint32_t sb_tally_stage_of_role(struct sb_tally *t, uint32_t parent, uint32_t name);
/* A new stage; name 0: text names it. Returns its number. */
uint32_t sb_tally_add_stage(struct sb_tally *t, uint32_t parent, uint32_t name, uint32_t text);
/* False: the search among open zones has used up its budget (sb_tally_refresh). A damaged file may have a
 * million zones open, and as many records that search all of them. far: how many were passed; the nearest are free. */
#define SB_TALLY_NEAR 256u
static inline bool sb_tally_may_look(struct sb_tally *t, uint32_t far)
{
	if (far > SB_TALLY_NEAR && !t->search_left)
		return false;
	if (far > SB_TALLY_NEAR)
		t->search_left--;
	t->looked_count++;
	return true;
}

/* ---- tally_zones.c ---- */
bool sb_tally_zones_init(struct sb_tally *t); /* false: no memory */
void sb_tally_zones_done(struct sb_tally *t);

#endif
