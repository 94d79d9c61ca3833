/* Weights that move between the host and the GPU inside generations. */
#include "advise/weigh.h"

#include <math.h>
#include <string.h>

#define GB 1073741824.0 /* as all memory in the report */
#define BUSY_LEAST 0.5 /* of the time: then the GPU computes while weights move */

struct moves {
	double sum_s; /* of all of them, inside generations; a fetch that sends another model away first holds that */
	double need_bytes; /* what would stay on the GPU if nothing moved */
	const struct sb_stage *stage; /* of the name that takes longest */
};

static bool counts(const struct sb_stage *s)
{
	return sb_weigh_moves_weights(s) && s->in_generation;
}

/* All moves of that name, without those inside them. */
static double own_s(const struct sb_model *model, const char *name)
{
	double sum_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		sum_s += counts(s) && !strcmp(s->name, name) ? sb_stage_worked_s(s) : 0;
	}
	return sum_s;
}

/* A model may move in one piece or block by block: what moves in a step, there and back, is it twice. */
static struct moves moves_of(const struct sb_model *model)
{
	double largest_bytes = 0, all_bytes = 0, most_s = 0;
	double turns = (double)(model->summary.steps > model->summary.generation_count
					? model->summary.steps
					: model->summary.generation_count);
	struct moves m = { 0 };

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];
		double bytes = sb_stage_attr_total(s, "bytes");

		if (!counts(s))
			continue;
		m.sum_s += sb_stage_worked_s(s);
		all_bytes += bytes > 0 ? bytes : 0;
		largest_bytes = fmax(largest_bytes, bytes / (double)sb_stage_calls(s));
		if (own_s(model, s->name) > most_s) {
			most_s = own_s(model, s->name);
			m.stage = s;
		}
	}
	m.need_bytes = fmax(largest_bytes, turns > 0 ? all_bytes / turns / 2 : 0);
	return m;
}

static void find_moving(struct sb_advisor *a, bool wants_room)
{
	struct moves m = moves_of(a->model);
	double moves_s = sb_weigh_moves_s(a->model), gain_s = sb_weigh_moves_alone_s(a->model);
	double free_bytes = a->model->summary.gpu_total_bytes - a->model->summary.gpu_peak_bytes;
	double percent = m.sum_s / a->model->summary.generation_s * 100;
	bool fits = free_bytes > 1.2 * m.need_bytes;
	struct sb_advice *f;

	if (!m.stage || fits != wants_room || isnan(free_bytes) || !(percent > a->limit))
		return;
	if (!fits && sb_weigh_utilization(a->model) >= BUSY_LEAST)
		return;
	f = sb_advisor_find(a, percent, gain_s,
		fits ? sb_say(a, "weights move for %.0f %% of the generations though they would fit", percent)
		     : sb_say(a, "weights move for %.0f %% of the generations while nothing computes",
			       percent),
		sb_say(a,
			"%s in '%s' and others; to stay there takes %.2f GB, the GPU has %.1f GB free at its "
			"peak",
			sb_say_seconds(a, m.sum_s), m.stage->name, m.need_bytes / GB, free_bytes / GB));
	sb_finding_cause(f,
		fits ? sb_say(a,
			       "'%s': the model is sent away and fetched again, with %.1f GB of the GPU "
			       "unused",
			       m.stage->name, free_bytes / GB)
		     : sb_say(a, "'%s' runs in turn with the computation, not beside it", m.stage->name),
		gain_s < moves_s ? SB_GAIN_BOUNDED : SB_GAIN_MEASURED,
		fits && !(gain_s < moves_s) ? SB_CERTAIN : SB_LIKELY);
	if (f)
		f->stage = m.stage->name;
	sb_weigh_priority(a, f);
}

void sb_rule_overswap(struct sb_advisor *a)
{
	find_moving(a, true);
}

void sb_rule_offload_serial(struct sb_advisor *a)
{
	find_moving(a, false);
}
