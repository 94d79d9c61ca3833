/* Moments on tracks, each looking for the innermost zone around it. */
#ifndef SB_ANALYZE_PYTHON_MOMENTS_H
#define SB_ANALYZE_PYTHON_MOMENTS_H

#include "run/events.h"

/* The first member of what the caller keeps for each moment. */
struct sb_moment {
	int64_t t_ns;
	uint32_t track;
	uint32_t next; /* the nearest moment from here on that no zone has claimed */
};

struct sb_moments {
	void *all; /* the caller's, each beginning with a struct sb_moment */
	uint32_t count;
	size_t size; /* of one */
};

/* Sorts the moments by track and time and gives every zone of the run to `zone`, the inner ones first. No moment is
 * claimed before. */
int sb_moments_visit(struct sb_moments *m, struct sb_run *run,
	void (*zone)(void *self, const struct sb_zone *z), void *self);
/* The index of the first moment on the track at t_ns or later. */
uint32_t sb_moments_from(const struct sb_moments *m, uint32_t track, int64_t t_ns);
/* Whether the moment i exists and lies inside the zone. */
bool sb_moments_are_inside(const struct sb_moments *m, uint32_t i, const struct sb_zone *z);
/* The nearest item from i on that is free: its `next` is its own index. Shortens the way there for the next search.
 * next: that member of the first item; size: of an item. count where none is free. */
uint32_t sb_next_free(uint32_t *next, size_t size, uint32_t count, uint32_t i);
/* Claims the next moment inside the zone, from *io_i on; false: none is left. Zones come when they end, the inner
 * ones first: the zone that claims a moment is the innermost. */
bool sb_moments_claim(struct sb_moments *m, const struct sb_zone *z, uint32_t *io_i);

#endif
