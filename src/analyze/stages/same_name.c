/* Stages that share a name, whatever they are inside of, added up as one row each: for a
 * reader who asks how long "forward" took wherever it was called. */
#include "analyze/stages/split.h"

#include "base/error.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct merging {
	const struct sb_stage_paths *paths; /* by row */
	struct sb_model *model;
	uint32_t *next; /* by path: the lists of several rows, joined */
	uint32_t *name, *next_row; /* by row: which name, the next row that has it */
	uint32_t *first_row, *count; /* by name */
	uint32_t name_count;
};

/* Part of the time of a row around it that has the same name. */
static bool is_inside_its_own(const struct merging *m, size_t row)
{
	const struct sb_stage *all = m->model->stages.stages;

	for (int64_t up = all[row].parent; up >= 0; up = all[up].parent)
		if (m->name[up] == m->name[row])
			return true;
	return false;
}

static bool number_names(struct merging *m)
{
	const struct sb_stages_panel *s = &m->model->stages;
	struct sb_strings names = { 0 };
	struct sb_map known = { 0 };
	bool ok = true;

	memset(m->first_row, 0xff, (s->stage_count + 1) * sizeof *m->first_row);
	for (size_t i = s->stage_count; i-- > 0 && ok;) {
		uint32_t text = sb_strings_add(&names, s->stages[i].name, strlen(s->stages[i].name));

		if (!sb_map_get(&known, text, &m->name[i])) {
			m->name[i] = m->name_count++;
			ok = sb_map_put(&known, text, m->name[i]);
		}
		m->count[m->name[i]]++;
		m->next_row[i] = m->first_row[m->name[i]];
		m->first_row[m->name[i]] = (uint32_t)i;
	}
	sb_map_done(&known);
	sb_strings_done(&names);
	return ok;
}

/* The paths of all rows of the name, as one list; the joined rows themselves in out. */
static uint32_t join_paths(const struct merging *m, uint32_t name, struct sb_same_name *out)
{
	uint32_t first = NONE;

	for (uint32_t i = m->first_row[name]; i != NONE; i = m->next_row[i]) {
		out->stages[out->stage_count++] = i;
		if (is_inside_its_own(m, i))
			continue;
		for (uint32_t p = m->paths[i].first; p != NONE; p = m->paths[i].next[p]) {
			m->next[p] = first;
			first = p;
		}
	}
	return first;
}

static int merge(const struct merging *m, uint32_t name, struct sb_same_name *out)
{
	const struct sb_stage *all = m->model->stages.stages, *one;
	struct sb_stage *row = &out->all;
	struct sb_stage_paths paths = { m->paths->sums, m->model, NONE, m->next };
	int err = 0;

	out->stages = sb_model_alloc(m->model, m->count[name] * sizeof *out->stages);
	if (!out->stages)
		return sb_fail(STROBE_ENOMEM, "no memory for the stages of one name");
	paths.first = join_paths(m, name, out);
	one = &all[out->stages[0]];
	sb_stage_row_clear(row);
	row->name = one->name;
	row->code = one->code;
	row->parent = -1;
	row->per_frame_s = row->per_step_s = row->per_iteration_s = NAN;
	row->other_thread = true;
	if (paths.first != NONE)
		err = sb_stage_row_fill(&paths, false, row);
	else
		*row = *one; /* none of them ran */
	row->attr_count = 0;
	for (size_t i = 0; i < out->stage_count; i++) {
		one = &all[out->stages[i]];
		row->other_thread &= one->other_thread;
		row->bottleneck |= one->bottleneck;
		if (is_inside_its_own(m, (size_t)out->stages[i]))
			sb_stage_row_add_inner(row, one->self_s, sb_stage_calls(one) + one->recursive_count);
		else
			row->moved_s += one->moved_s;
	}
	sb_stage_tell_real(row, m->model->stages.wall_s);
	return err;
}

static int by_total(const void *a, const void *b)
{
	const struct sb_same_name *x = a, *y = b;

	if (x->all.total_s != y->all.total_s)
		return x->all.total_s > y->all.total_s ? -1 : 1;
	return x->stages[0] < y->stages[0] ? -1 : 1;
}

struct named {
	double total_s;
	int64_t stage;
};

static int by_total_of_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->total_s != y->total_s)
		return x->total_s > y->total_s ? -1 : 1;
	return x->stage < y->stage ? -1 : x->stage > y->stage;
}

static double total_s(const struct sb_stage *row)
{
	return row->total_s > 0 ? row->total_s : 0;
}

/* One stage for each name: the only one, or the first of those that share it. */
static int list_names(const struct merging *m)
{
	struct sb_stages_panel *s = &m->model->stages;
	struct named *all = malloc((m->name_count + 1) * sizeof *all);
	size_t count = 0;

	s->by_name = sb_model_alloc(m->model, (m->name_count + 1) * sizeof *s->by_name);
	if (!all || !s->by_name) {
		free(all);
		return sb_fail(STROBE_ENOMEM, "no memory for the stages of one name");
	}
	for (uint32_t i = 0; i < m->name_count; i++)
		if (m->count[i] == 1)
			all[count++] = (struct named){ total_s(&s->stages[m->first_row[i]]),
				m->first_row[i] };
	for (size_t i = 0; i < s->same_name_count; i++)
		all[count++] = (struct named){ total_s(&s->same_name[i].all), s->same_name[i].stages[0] };
	qsort(all, count, sizeof *all, by_total_of_name);
	for (size_t i = 0; i < count; i++)
		s->by_name[s->by_name_count++] = all[i].stage;
	free(all);
	return 0;
}

static int merge_all(struct merging *m)
{
	struct sb_stages_panel *s = &m->model->stages;
	size_t shared = 0;
	int err = 0;

	for (uint32_t i = 0; i < m->name_count; i++)
		shared += m->count[i] > 1;
	s->same_name = sb_model_alloc(m->model, (shared + 1) * sizeof *s->same_name);
	if (!s->same_name)
		return sb_fail(STROBE_ENOMEM, "no memory for the stages of one name");
	for (uint32_t i = 0; i < m->name_count && !err; i++)
		if (m->count[i] > 1)
			err = merge(m, i, &s->same_name[s->same_name_count++]);
	if (err)
		return err;
	qsort(s->same_name, s->same_name_count, sizeof *s->same_name, by_total);
	return list_names(m);
}

int sb_stages_merge_names(const struct sb_stage_paths *paths, uint32_t path_count, struct sb_model *model)
{
	size_t rows = model->stages.stage_count;
	struct merging m = { .paths = paths,
		.model = model,
		.next = malloc((path_count + 1) * sizeof *m.next),
		.name = calloc(rows + 1, sizeof *m.name),
		.next_row = malloc((rows + 1) * sizeof *m.next_row),
		.first_row = malloc((rows + 1) * sizeof *m.first_row),
		.count = calloc(rows + 1, sizeof *m.count) };
	int err = 0;

	if (!m.next || !m.name || !m.next_row || !m.first_row || !m.count || !number_names(&m))
		err = sb_fail(STROBE_ENOMEM, "no memory for the stages of one name");
	if (!err && m.name_count < rows)
		err = merge_all(&m);
	free(m.next);
	free(m.name);
	free(m.next_row);
	free(m.first_row);
	free(m.count);
	return err;
}
