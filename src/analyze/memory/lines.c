/* Lines of the program that held memory at the peak: a GPU's, from a snapshot of torch's allocator, or the host's,
 * from its large allocations. Of several snapshots the one with the highest peak counts, for each device. */
#include "analyze/memory/collected.h"

#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define LINES_MOST 20000u
#define STAGES_FOUND 200u /* of the largest lines */

struct held {
	int64_t t_ns;
	int64_t set; /* -1: it has none */
	uint32_t process;
	size_t order; /* as they were written: the moments' lines are in it */
	bool by_stage; /* it is a stage, and no line */
	struct sb_memory_line row;
};

static const struct sb_run_attr *attr(const struct sb_event *e, const char *key)
{
	for (uint32_t i = 0; i < e->attr_count; i++)
		if (!strcmp(e->attrs[i].key, key))
			return &e->attrs[i];
	return NULL;
}

static int64_t int_attr(const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = attr(e, key);

	return a && a->type == STROBE_TYPE_INT && a->i > 0 ? a->i : 0;
}

int64_t sb_memory_event_device(const struct sb_event *e)
{
	const struct sb_run_attr *a = attr(e, "device");

	return a && a->type == STROBE_TYPE_INT && a->i == -1 ? -1 : int_attr(e, "device");
}

static const char *text_attr(struct sb_model *model, const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = attr(e, key);

	return a && a->type == STROBE_TYPE_STRING ? sb_model_text(model, a->s) : NULL;
}

bool sb_memory_event_time(const struct sb_run *run, const struct sb_event *e, const char *ns_key,
	const char *unix_us_key, int64_t *out_ns)
{
	const struct sb_run_attr *ns = attr(e, ns_key), *unix_us = attr(e, unix_us_key);

	if (ns && ns->type == STROBE_TYPE_INT && ns->i >= 0)
		*out_ns = ns->i;
	else if (unix_us && unix_us->type == STROBE_TYPE_INT && unix_us->i > 0 &&
		 unix_us->i < INT64_MAX / 1000)
		*out_ns = (int64_t)((uint64_t)unix_us->i * 1000 - run->start_real_ns);
	else
		return false;
	return *out_ns >= 0 && *out_ns <= run->wall_ns;
}

/* The stages open then; those of the lines come in no order. An imported snapshot may bring its own. */
static void find_stages(
	struct sb_memory_collected *m, struct sb_model *model, struct sb_memory_line *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int64_t t_ns = isnan(rows[i].allocated_s) ? -1 : (int64_t)(rows[i].allocated_s * 1e9);
		const struct sb_open_stage *stage = NULL;

		if (t_ns >= 0)
			sb_open_stages_at(&m->stages, &t_ns, 1, &stage);
		if (stage)
			rows[i].stage = sb_model_text(model, sb_open_stage_name(m, stage));
	}
}

void sb_memory_lines_see(struct sb_memory_collected *m, struct sb_model *model, const struct sb_event *e)
{
	int64_t allocated_ns = 0;
	struct held *h;

	if (strcmp(m->run->names[e->name].text, SB_EVENT_MEMORY_HELD) || m->held.count == LINES_MOST)
		return;
	h = sb_vec_push(&m->held, sizeof *h);
	if (!h) {
		m->failed = true;
		return;
	}
	/* Those of one snapshot have its number, or the time of its peak. */
	*h = (struct held){ attr(e, "set") ? int_attr(e, "set") : e->t_ns,
		attr(e, "set") ? int_attr(e, "set") : -1, e->process, m->held.count, int_attr(e, "by_stage"),
		{ .device = sb_memory_event_device(e),
			.file = text_attr(model, e, "file"),
			.line = int_attr(e, "line"),
			.function = text_attr(model, e, "function"),
			.stack = text_attr(model, e, "stack"),
			.stage = text_attr(model, e, "stage"),
			.peak_bytes = (double)int_attr(e, "peak_bytes"),
			.peak_count = int_attr(e, "peak_count"),
			.end_bytes = (double)int_attr(e, "end_bytes"),
			.end_count = int_attr(e, "end_count"),
			.by_size = int_attr(e, "by_size"),
			.allocated_s = NAN } };
	if (sb_memory_event_time(m->run, e, "allocated_ns", "allocated_unix_us", &allocated_ns))
		h->row.allocated_s = (double)allocated_ns / 1e9;
}

static int by_snapshot(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->by_stage != y->by_stage)
		return x->by_stage - y->by_stage;
	if (x->row.device != y->row.device)
		return x->row.device < y->row.device ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	if (x->row.peak_bytes != y->row.peak_bytes)
		return x->row.peak_bytes > y->row.peak_bytes ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_order(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static bool of_one_device(const struct held *a, const struct held *b)
{
	return a->row.device == b->row.device && a->by_stage == b->by_stage;
}

static bool together(const struct held *a, const struct held *b)
{
	return of_one_device(a, b) && a->process == b->process && a->t_ns == b->t_ns;
}

static void add_snapshot(
	struct sb_memory_collected *m, struct sb_model *model, struct held *held, size_t count)
{
	struct sb_memory_panel *panel = &model->memory;
	struct sb_memory_line *rows = panel->lines + panel->line_count;
	struct sb_memory_snapshot_of of = { held->set, held->row.device, held->process, held->by_stage };
	struct sb_memory_line *written = calloc(count, sizeof *written);

	for (size_t i = 0; !of.by_stage && i < count; i++)
		rows[i] = held[i].row;
	if (!of.by_stage) {
		panel->line_count += count;
		find_stages(m, model, rows, count < STAGES_FOUND ? count : STAGES_FOUND);
	}
	qsort(held, count, sizeof *held, by_order);
	for (size_t i = 0; written && i < count; i++)
		written[i] = held[i].row;
	if (written)
		sb_memory_layers_fill(m, model, &of, written, count);
	m->failed |= !written;
	free(written);
}

void sb_memory_lines_fill(struct sb_memory_collected *m, struct sb_model *model)
{
	struct sb_memory_panel *panel = &model->memory;
	struct held *all = m->held.items;
	size_t count = m->held.count, best = 0, best_end = 0;
	double most = -1;

	panel->lines = sb_model_alloc(model, (count + 1) * sizeof *panel->lines);
	if (!count || !panel->lines)
		return;
	qsort(all, count, sizeof *all, by_snapshot);
	for (size_t i = 0, end; i < count; i = end) {
		double sum = 0;

		for (end = i; end < count && together(&all[i], &all[end]); end++)
			sum += all[end].row.peak_bytes;
		if (sum > most) {
			most = sum;
			best = i;
			best_end = end;
		}
		if (end < count && of_one_device(&all[end], &all[i]))
			continue;
		add_snapshot(m, model, &all[best], best_end - best);
		most = -1;
	}
}
