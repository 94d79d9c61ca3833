/* What each stage took of each generation, where the CPU ran ahead of the GPU. */
#include "analyze/video/video.h"

#include <stdlib.h>

struct taken {
	const struct sb_stages_panel *stages;
	double *real_s; /* by stage; -1: it has none of the generation */
	double *late_s; /* without its parts' at first */
};

/* The first share of a track from a time on. */
static size_t first_from(const struct sb_stages_panel *s, uint32_t track, int64_t begin_ns)
{
	size_t low = 0, high = s->share_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct sb_stage_share *n = &s->shares[mid];

		if (n->track < track || (n->track == track && n->begin_ns < begin_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* With the shares of a generation inside it: the same one, marked twice. True: the CPU ran ahead of the GPU. */
static bool add_up(struct taken *t, const struct sb_video_generation *g)
{
	const struct sb_stages_panel *s = t->stages;
	bool ahead = false;

	for (size_t i = 0; i < s->stage_count; i++) {
		t->real_s[i] = -1;
		t->late_s[i] = 0;
	}
	for (size_t i = first_from(s, g->track, g->begin_ns); i < s->share_count; i++) {
		const struct sb_stage_share *n = &s->shares[i];

		if (n->track != g->track || (n->begin_ns >= g->end_ns && n->begin_ns > g->begin_ns))
			break;
		t->real_s[n->stage] = fmax(t->real_s[n->stage], 0) +
				      (double)(n->called_ns - n->behind_ns) / 1e9;
		t->late_s[n->stage] += (double)n->late_ns / 1e9;
		ahead |= n->late_ns || n->behind_ns;
	}
	for (size_t i = s->stage_count; i-- > 0;) { /* parents come first */
		if (t->real_s[i] >= 0)
			t->real_s[i] = fmax(t->real_s[i] + t->late_s[i], 0);
		if (s->stages[i].parent >= 0)
			t->late_s[s->stages[i].parent] += t->late_s[i];
	}
	return ahead;
}

static void fill(struct taken *t, struct sb_model *model, struct sb_generation *row)
{
	size_t count = 0;

	for (size_t i = 0; i < t->stages->stage_count; i++)
		count += t->real_s[i] >= 0;
	row->stages = sb_model_alloc(model, count * sizeof *row->stages);
	row->stage_s = sb_model_alloc(model, count * sizeof *row->stage_s);
	for (size_t i = 0; row->stages && row->stage_s && i < t->stages->stage_count; i++) {
		if (t->real_s[i] < 0)
			continue;
		row->stages[row->stage_count] = (int64_t)i;
		row->stage_s[row->stage_count++] = t->real_s[i];
	}
}

void sb_generations_take_stages(struct sb_video *v, struct sb_model *model)
{
	struct taken t = { .stages = &model->stages };
	const struct sb_video_generation *all = v->generations.items;

	if (v->whole_run || !model->stages.share_count)
		return;
	t.real_s = malloc(model->stages.stage_count * sizeof *t.real_s);
	t.late_s = malloc(model->stages.stage_count * sizeof *t.late_s);
	v->failed |= !t.real_s || !t.late_s;
	for (size_t i = 0; !v->failed && i < model->generations.count; i++)
		if (add_up(&t, &all[i]))
			fill(&t, model, &model->generations.all[i]);
	free(t.real_s);
	free(t.late_s);
}
