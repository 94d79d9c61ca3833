/* The stages of a run for Prometheus: the largest, and the rest as "(other)". */
#include "serve/metrics_parts.h"

#include "base/role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stages whose labels are the same, of all processes. */
struct row {
	const char *labels;
	uint64_t calls;
	int64_t total_ns, self_ns;
	uint64_t buckets[SB_TALLY_BOUNDS + 1];
};

struct rows {
	struct sb_strings labels;
	struct row *all; /* [0] is "(other)" */
	size_t count, room;
};

static void stage_labels(
	const struct sb_tally *t, const struct sb_tally_stage *s, const char *base, struct sb_buf *out)
{
	const struct sb_tally_stage *parent = (struct sb_tally_stage *)t->stages.items + s->parent;
	const char *code = sb_tally_stage_code(t, s), *role = sb_role_name(s->role);

	sb_buf_clear(out);
	sb_buf_puts(out, base);
	sb_exposition_label(out, "stage", sb_tally_stage_name(t, s));
	sb_exposition_label(out, "parent", s->parent ? sb_tally_stage_name(t, parent) : "");
	sb_exposition_label(out, "role", role ? role : "stage");
	if (*code)
		sb_exposition_label(out, "code", code);
}

static struct row *row_of(struct rows *rows, const struct sb_buf *labels)
{
	uint32_t number = sb_strings_add(&rows->labels, sb_buf_text(labels), labels->size);

	if (!number)
		return NULL;
	if (number >= rows->room) {
		size_t room = rows->room ? 2 * rows->room : 64;
		struct row *more;

		while (room <= number)
			room *= 2;
		more = realloc(rows->all, room * sizeof *more);
		if (!more)
			return NULL;
		memset(more + rows->room, 0, (room - rows->room) * sizeof *more);
		rows->all = more;
		rows->room = room;
	}
	if (number >= rows->count)
		rows->count = number + 1;
	return &rows->all[number];
}

static void add_up(struct row *to, uint64_t calls, int64_t total_ns, int64_t self_ns, const uint64_t *buckets)
{
	to->calls += calls;
	to->total_ns += total_ns;
	to->self_ns += self_ns;
	for (size_t i = 0; i <= SB_TALLY_BOUNDS; i++)
		to->buckets[i] += buckets[i];
}

static void collect_rows(struct rows *rows, const struct sb_metrics_run *run, const char *base)
{
	struct sb_buf labels = { 0 };

	for (size_t i = 0; i < run->tally_count; i++) {
		const struct sb_tally *t = run->tallies[i];

		for (size_t k = 1; k < t->stages.count; k++) {
			const struct sb_tally_stage *s = (struct sb_tally_stage *)t->stages.items + k;
			struct row *row;

			if (!s->calls && !s->self_ns)
				continue;
			stage_labels(t, s, base, &labels);
			row = row_of(rows, &labels);
			if (row)
				add_up(row, s->calls, s->total_ns, s->self_ns, s->buckets);
		}
	}
	sb_buf_done(&labels);
}

static int by_total(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return strcmp(x->labels, y->labels);
}

/* Buckets count everything up to their bound. */
static void put_row(struct sb_exposition *e, const struct row *row)
{
	static const char name[] = "strobe_stage_duration_seconds";
	const struct sb_exposed_metric *m = sb_metrics_named(name);
	struct sb_family *f = sb_exposition_family(e, m->name, m->type, m->help);
	uint64_t below = 0;

	for (size_t i = 0; f && i <= SB_TALLY_BOUNDS; i++) {
		char le[40];

		below += row->buckets[i];
		if (i < SB_TALLY_BOUNDS)
			snprintf(le, sizeof le, ",le=\"%g\"", sb_tally_bounds_s[i]);
		else
			snprintf(le, sizeof le, ",le=\"+Inf\"");
		sb_family_put(
			f, "_bucket", row->labels, le, (double)(i < SB_TALLY_BOUNDS ? below : row->calls));
	}
	sb_metrics_put(e, name, "_sum", row->labels, (double)row->total_ns / 1e9);
	sb_metrics_put(e, name, "_count", row->labels, (double)row->calls);
	sb_metrics_put(e, "strobe_stage_self_seconds_total", "", row->labels, (double)row->self_ns / 1e9);
}

void sb_metrics_add_stages(struct sb_exposition *e, const struct sb_metrics_run *run, const char *base)
{
	struct rows rows = { 0 };
	struct row other = { 0 };
	struct sb_buf labels = { 0 };
	size_t shown;

	collect_rows(&rows, run, base);
	for (size_t i = 1; i < rows.count; i++)
		rows.all[i].labels = sb_strings_text(&rows.labels, (uint32_t)i);
	if (rows.count > 1)
		qsort(rows.all + 1, rows.count - 1, sizeof *rows.all, by_total);
	shown = rows.count > run->stages_max + 1 ? run->stages_max + 1 : rows.count;
	for (size_t i = 1; i < shown; i++)
		put_row(e, &rows.all[i]);
	for (size_t i = shown; i < rows.count; i++)
		add_up(&other, rows.all[i].calls, rows.all[i].total_ns, rows.all[i].self_ns,
			rows.all[i].buckets);
	sb_buf_puts(&labels, base);
	sb_exposition_label(&labels, "stage", "(other)");
	sb_exposition_label(&labels, "parent", "(other)"); /* a recording's own "(other)" has none */
	sb_exposition_label(&labels, "role", "stage");
	other.labels = sb_buf_text(&labels);
	if (rows.count > shown)
		put_row(e, &other);
	sb_metrics_put(
		e, "strobe_stages_left_out", "", base, (double)(rows.count > shown ? rows.count - shown : 0));
	sb_buf_done(&labels);
	sb_strings_done(&rows.labels);
	free(rows.all);
}
