/* One sum per path, which grows with each call: a generation has few paths, however many calls. */
#include "analyze/stages/shares.h"

#include "analyze/model.h"

#define SHARES_MOST (1u << 20) /* of all generations */

static struct sb_share_track *track_of(struct sb_stage_shares *s, uint32_t track)
{
	if (track >= s->track_count) {
		uint32_t count = track * 2 + 4;
		struct sb_share_track *more = realloc(s->tracks, count * sizeof *more);

		if (!more)
			return NULL;
		memset(more + s->track_count, 0, (count - s->track_count) * sizeof *more);
		s->tracks = more;
		s->track_count = count;
	}
	return &s->tracks[track];
}

static struct sb_share_sum *sum_of(struct sb_share_track *t, uint32_t path)
{
	if (path >= t->path_count) {
		uint32_t count = path * 2 + 64;
		struct sb_share_sum *more = realloc(t->sums, count * sizeof *more);

		if (!more)
			return NULL;
		memset(more + t->path_count, 0, (count - t->path_count) * sizeof *more);
		t->sums = more;
		t->path_count = count;
	}
	return &t->sums[path];
}

struct sb_share_sum *sb_stage_share_of(struct sb_stage_shares *s, uint32_t track, uint32_t path)
{
	struct sb_share_track *t = track_of(s, track);
	struct sb_share_sum *sum = t ? sum_of(t, path) : NULL;
	uint32_t *seen;

	if (!sum || sum->seen)
		return sum;
	seen = sb_vec_push(&t->paths, sizeof *seen);
	if (!seen)
		return NULL;
	*seen = path;
	sum->seen = true;
	return sum;
}

/* Parents have the smaller numbers. */
static bool is_below(const struct sb_run *run, uint32_t path, uint32_t top)
{
	while (path > top)
		path = sb_run_path(run, path)->parent;
	return path == top;
}

bool sb_stage_shares_end(struct sb_stage_shares *s, const struct sb_run *run, const struct sb_zone *z)
{
	struct sb_share_track *t = track_of(s, z->track);
	uint32_t *paths = t ? t->paths.items : NULL;
	size_t kept = 0;

	for (size_t i = 0; t && i < t->paths.count; i++) {
		struct sb_share_sum *sum = &t->sums[paths[i]];
		struct sb_stage_share *n;

		if (!is_below(run, paths[i], z->path)) {
			paths[kept++] = paths[i];
			continue;
		}
		n = s->all.count < SHARES_MOST ? sb_vec_push(&s->all, sizeof *n) : NULL;
		if (n)
			*n = (struct sb_stage_share){ z->track, paths[i], z->begin_ns, sum->called_ns,
				sum->behind_ns, sum->late_ns };
		else if (s->all.count < SHARES_MOST)
			return false;
		memset(sum, 0, sizeof *sum);
	}
	if (t)
		t->paths.count = kept;
	if (t && !kept) { /* a task has a track of its own, and there may be many of them */
		free(t->sums);
		t->sums = NULL;
		t->path_count = 0;
	}
	return t;
}

static int by_begin(const void *a, const void *b)
{
	const struct sb_stage_share *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

bool sb_stage_shares_take(
	struct sb_stage_shares *s, const int64_t *row_of, uint32_t path_count, struct sb_model *model)
{
	const struct sb_stage_share *all = s->all.items;
	struct sb_stage_share *to = sb_model_alloc(model, (s->all.count + 1) * sizeof *to);
	size_t count = 0;

	for (size_t i = 0; to && i < s->all.count; i++) {
		if (all[i].stage >= path_count || row_of[all[i].stage] < 0)
			continue;
		to[count] = all[i];
		to[count++].stage = (uint32_t)row_of[all[i].stage];
	}
	if (count)
		qsort(to, count, sizeof *to, by_begin);
	model->stages.shares = to;
	model->stages.share_count = count;
	return to;
}

void sb_stage_shares_done(struct sb_stage_shares *s)
{
	for (uint32_t i = 0; i < s->track_count; i++) {
		free(s->tracks[i].sums);
		sb_vec_done(&s->tracks[i].paths);
	}
	free(s->tracks);
	sb_vec_done(&s->all);
}
