/* Sums over the calls of each path, warm ones and others. */
#include "analyze/stages/call_sums.h"

#include "run/gpu_spans.h"

#include <stdlib.h>
#include <string.h>

static bool has_room(struct sb_call_sums *c, uint32_t path)
{
	if (path >= c->path_room) {
		uint32_t room = path * 2 + 64;
		struct sb_path_calls *more = realloc(c->all, room * sizeof *more);

		if (!more)
			return false;
		memset(more + c->path_room, 0, (room - c->path_room) * sizeof *more);
		c->all = more;
		c->path_room = room;
	}
	return true;
}

/* A step lasts as long as the longer of both, as its statistics say. */
static int64_t gpu_span_ns(const struct sb_zone *z)
{
	int64_t cpu_ns = z->end_ns - z->begin_ns, gpu_ns = (int64_t)z->gpu->duration_ns;

	return z->role == STROBE_ROLE_STEP && cpu_ns > gpu_ns ? cpu_ns : gpu_ns;
}

bool sb_call_sums_take(
	struct sb_call_sums *c, const struct sb_run *run, const struct sb_zone *z, int64_t moved_ns)
{
	enum sb_call_kind kind = SB_CALL_COLD;
	struct sb_path_calls *p;
	struct sb_call_sum *to;

	if (z->flags &
		(SB_ZONE_SPAN |
			SB_ZONE_RECURSIVE)) /* a call inside another one of its path is part of that one */
		return true;
	if (!has_room(c, z->path))
		return false;
	p = &c->all[z->path];
	if (z->role != STROBE_ROLE_OFFLOAD)
		moved_ns = p->open_moves_ns;
	p->open_moves_ns = 0;
	c->all[sb_run_path(run, z->path)->parent].open_moves_ns += moved_ns;
	if (sb_warm_calls_counts(z) && !sb_warm_calls_kind(&c->warm, z, &kind))
		return false;
	to = &p->of[kind];
	to->count++;
	to->total_ns += z->end_ns - z->begin_ns;
	to->moves_ns += moved_ns;
	if (z->gpu) {
		to->gpu_span_ns += gpu_span_ns(z);
		to->gpu_span_count++;
	}
	return true;
}

void sb_call_sums_done(struct sb_call_sums *c)
{
	sb_warm_calls_done(&c->warm);
	free(c->all);
}
