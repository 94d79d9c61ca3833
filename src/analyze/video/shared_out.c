/* Shares energy and machine time out among the generations that ran at the same time. */
#include "analyze/video/shared_out.h"

#include <stdlib.h>

struct border {
	double t_s;
	size_t generation;
	bool end;
};

static int by_time(const void *a, const void *b)
{
	const struct border *x = a, *y = b;

	if (x->t_s != y->t_s)
		return x->t_s < y->t_s ? -1 : 1;
	return x->end - y->end;
}

static void each_alone(struct sb_model *model)
{
	for (size_t i = 0; i < model->generations.count; i++) {
		struct sb_generation *g = &model->generations.all[i];

		g->energy_wh = sb_model_energy_j(model, g->begin_s, g->end_s) / 3600;
		g->machine_s = g->wall_s;
	}
}

/* From border to border as many run; a generation gets what one share gained between its own. */
static void walk(struct sb_model *model, const struct border *borders, size_t count)
{
	double share_wh = 0, share_s = 0;
	size_t running = 0;

	for (size_t i = 0; i < count; i++) {
		struct sb_generation *g = &model->generations.all[borders[i].generation];
		double from_s = i ? borders[i - 1].t_s : 0, to_s = borders[i].t_s;

		if (running && to_s > from_s) {
			double wh = sb_model_energy_j(model, from_s, to_s) / 3600;

			share_wh += isnan(wh) ? 0 : wh / (double)running;
			share_s += (to_s - from_s) / (double)running;
		}
		if (borders[i].end) {
			bool sampled = !isnan(sb_model_energy_j(model, g->begin_s, g->end_s));

			g->energy_wh = sampled ? share_wh - g->energy_wh : NAN;
			g->machine_s = share_s - g->machine_s;
			running--;
		} else {
			g->energy_wh = share_wh;
			g->machine_s = share_s;
			running++;
		}
	}
}

void sb_generations_share_out(struct sb_model *model)
{
	struct sb_generations_panel *s = &model->generations;
	bool at_once = s->union_s < s->total_s * (1 - 1e-9);
	struct border *borders = at_once ? malloc((2 * s->count + 1) * sizeof *borders) : NULL;

	model->failed |= at_once && !borders;
	if (!borders) {
		each_alone(model);
		return;
	}
	for (size_t i = 0; i < s->count; i++) {
		borders[2 * i] = (struct border){ s->all[i].begin_s, i, false };
		borders[2 * i + 1] = (struct border){ s->all[i].end_s, i, true };
	}
	qsort(borders, 2 * s->count, sizeof *borders, by_time);
	walk(model, borders, 2 * s->count);
	free(borders);
}
