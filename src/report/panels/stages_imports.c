/* The imports that a program begins with, as one row. */
#include "report/panels/stages_imports.h"

#include "analyze/analysis.h"

#include <stdio.h>
#include <stdlib.h>

#define LEAST 3 /* fewer are rows like any other */

/* Nothing but imports around it and in it: children come after their parents. */
static void mark_gathered(const struct sb_stages_panel *stages, bool *gathered)
{
	for (size_t i = 0; i < stages->stage_count; i++) {
		const struct sb_stage *s = &stages->stages[i];

		gathered[i] = s->role == STROBE_ROLE_IMPORT && s->state == SB_STAGE_NORMAL &&
			      !s->open_count && (s->parent < 0 || gathered[s->parent]);
	}
	for (size_t i = stages->stage_count; i-- > 0;)
		if (!gathered[i] && stages->stages[i].parent >= 0)
			gathered[stages->stages[i].parent] = false;
	for (size_t i = 0; i < stages->stage_count; i++)
		if (stages->stages[i].parent >= 0 && !gathered[stages->stages[i].parent])
			gathered[i] = false;
}

static void add(struct sb_imports *all, const struct sb_stage *s)
{
	all->count++;
	all->row.count += s->count;
	all->row.self_s += s->self_s;
	if (s->parent >= 0)
		return;
	all->row.total_s += s->total_s;
	all->row.wall_ratio += s->wall_ratio;
	all->row.main_thread |= s->main_thread;
}

void sb_imports_gather(const struct sb_model *m, struct sb_imports *out)
{
	const struct sb_stages_panel *stages = &m->stages;

	*out = (struct sb_imports){ .row = { .parent = -1,
					    .at_once_mean = NAN,
					    .gpu_span_s = NAN,
					    .gpu_busy_s = NAN,
					    .per_frame_s = NAN,
					    .per_step_s = NAN,
					    .per_iteration_s = NAN,
					    .role = STROBE_ROLE_IMPORT } };
	out->row.time = (struct sb_stats){
		.mean = NAN, .min = NAN, .max = NAN, .p50 = NAN, .p95 = NAN, .p99 = NAN, .last = NAN
	};
	if (sb_model_build_options(m)->no_groups || stages->combined || !stages->stage_count)
		return;
	out->gathered = calloc(stages->stage_count, sizeof *out->gathered);
	if (!out->gathered)
		return;
	mark_gathered(stages, out->gathered);
	for (size_t i = 0; i < stages->stage_count; i++)
		if (out->gathered[i])
			add(out, &stages->stages[i]);
	if (out->count < LEAST) {
		sb_imports_done(out);
		return;
	}
	if (out->row.wall_ratio > 1)
		out->row.wall_ratio = 1;
	snprintf(out->name, sizeof out->name, "imports (%zu)", out->count);
	out->row.name = out->name;
}

void sb_imports_done(struct sb_imports *imports)
{
	free(imports->gathered);
	imports->gathered = NULL;
	imports->count = 0;
}

bool sb_imports_has(const struct sb_imports *imports, size_t stage)
{
	return imports->gathered && imports->gathered[stage];
}
