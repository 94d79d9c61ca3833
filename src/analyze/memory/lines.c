/* Lines of the program that held GPU memory at the peak, from a snapshot of torch's allocator. Of several
 * snapshots the one with the highest peak counts, for each device. */
#include "analyze/memory/collected.h"

#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define LINES_MOST 20000u

struct held {
	int64_t t_ns;
	uint32_t process;
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

static const char *text_attr(struct sb_model *model, const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = attr(e, key);

	return a && a->type == STROBE_TYPE_STRING ? sb_model_text(model, a->s) : NULL;
}

void sb_memory_lines_see(struct sb_memory_collected *m, struct sb_model *model, const struct sb_event *e)
{
	struct held *h;

	if (strcmp(m->run->names[e->name].text, SB_EVENT_MEMORY_HELD) || m->held.count == LINES_MOST)
		return;
	h = sb_vec_push(&m->held, sizeof *h);
	if (!h) {
		m->failed = true;
		return;
	}
	/* Those of one snapshot have its number, or the time of its peak. */
	*h = (struct held){ attr(e, "set") ? int_attr(e, "set") : e->t_ns, e->process,
		{ .device = int_attr(e, "device"),
			.file = text_attr(model, e, "file"),
			.line = int_attr(e, "line"),
			.function = text_attr(model, e, "function"),
			.stack = text_attr(model, e, "stack"),
			.peak_bytes = (double)int_attr(e, "peak_bytes"),
			.peak_count = int_attr(e, "peak_count"),
			.end_bytes = (double)int_attr(e, "end_bytes"),
			.end_count = int_attr(e, "end_count"),
			.by_size = int_attr(e, "by_size") } };
}

static int by_snapshot(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->row.device != y->row.device)
		return x->row.device < y->row.device ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return x->row.peak_bytes > y->row.peak_bytes ? -1 : x->row.peak_bytes < y->row.peak_bytes;
}

static bool together(const struct held *a, const struct held *b)
{
	return a->row.device == b->row.device && a->process == b->process && a->t_ns == b->t_ns;
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
		if (end < count && all[end].row.device == all[i].row.device)
			continue;
		for (size_t k = best; k < best_end; k++)
			panel->lines[panel->line_count++] = all[k].row;
		most = -1;
	}
}
