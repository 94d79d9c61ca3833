/* The stages of a run for Prometheus: the largest, and the rest as "(other)". */
#include "serve/metrics_parts.h"

#include "base/role.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXEMPLAR_MAX 128u /* characters of its labels: OpenMetrics' limit */

/* Stages whose labels are the same, of all processes. */
struct row {
	const char *labels;
	uint64_t calls;
	int64_t total_ns, self_ns;
	uint64_t buckets[SB_TALLY_BOUNDS + 1];
	struct {
		uint64_t end_ns; /* since 1970; 0: none */
		int64_t ns;
	} latest[SB_TALLY_BOUNDS + 1];
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

static void take_latest(struct row *to, const struct sb_tally *t, const struct sb_tally_stage *s)
{
	for (size_t i = 0; i <= SB_TALLY_BOUNDS; i++) {
		uint64_t end_ns = s->latest[i].ns < 0 ? 0 : sb_tally_real_ns(t, s->latest[i].end_ticks);

		if (end_ns <= to->latest[i].end_ns)
			continue;
		to->latest[i].end_ns = end_ns;
		to->latest[i].ns = s->latest[i].ns;
	}
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
			if (!row)
				continue;
			add_up(row, s->calls, s->total_ns, s->self_ns, s->buckets);
			take_latest(row, t, s);
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

static void put_address(struct sb_buf *out, const char *id)
{
	for (; *id; id++)
		if (isalnum((unsigned char)*id) || strchr("-._~", *id))
			sb_buf_putc(out, *id);
		else
			sb_buf_printf(out, "%%%02X", (unsigned char)*id);
}

/* The latest call of a bucket, with the address of its time on the run's page, behind "/runs/". */
static void put_exemplar(
	struct sb_family *f, const struct sb_metrics_run *run, const struct row *row, size_t bucket)
{
	int64_t to_ns = (int64_t)(row->latest[bucket].end_ns - run->start_real_ns);
	int64_t from_ns = to_ns - row->latest[bucket].ns;
	struct sb_buf labels = { 0 }, page = { 0 };

	if (!row->latest[bucket].end_ns)
		return;
	put_address(&page, run->id);
	sb_buf_printf(&page, "#view=%lld_%lld", (long long)(from_ns > 0 ? from_ns : 0), (long long)to_ns);
	if (page.size + strlen("page") <= EXEMPLAR_MAX && to_ns > 0)
		sb_exposition_label(&labels, "page", sb_buf_text(&page));
	sb_family_exemplar(f, sb_buf_text(&labels), (double)row->latest[bucket].ns / 1e9,
		(double)row->latest[bucket].end_ns / 1e9);
	sb_buf_done(&labels);
	sb_buf_done(&page);
}

/* OpenMetrics wants "1.0" where C writes "1"; Prometheus takes both for the same. */
static void write_bound(char *out, size_t size, size_t bucket)
{
	double bound = bucket < SB_TALLY_BOUNDS ? sb_tally_bounds_s[bucket] : 0;

	if (bucket == SB_TALLY_BOUNDS)
		snprintf(out, size, ",le=\"+Inf\"");
	else
		snprintf(out, size, bound < 1 || bound != (double)(int)bound ? ",le=\"%g\"" : ",le=\"%.1f\"",
			bound);
}

/* Buckets count everything up to their bound. */
static void put_row(struct sb_exposition *e, const struct sb_metrics_run *run, const struct row *row)
{
	static const char name[] = "strobe_stage_duration_seconds";
	const struct sb_exposed_metric *m = sb_metrics_named(name);
	struct sb_family *f = sb_exposition_family(e, m->name, m->type, m->help);
	uint64_t below = 0;

	for (size_t i = 0; f && i <= SB_TALLY_BOUNDS; i++) {
		char le[40];

		below += row->buckets[i];
		write_bound(le, sizeof le, i);
		sb_family_put(
			f, "_bucket", row->labels, le, (double)(i < SB_TALLY_BOUNDS ? below : row->calls));
		if (e->open_metrics)
			put_exemplar(f, run, row, i);
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
		put_row(e, run, &rows.all[i]);
	for (size_t i = shown; i < rows.count; i++)
		add_up(&other, rows.all[i].calls, rows.all[i].total_ns, rows.all[i].self_ns,
			rows.all[i].buckets);
	sb_buf_puts(&labels, base);
	sb_exposition_label(&labels, "stage", "(other)");
	sb_exposition_label(&labels, "parent", "(other)"); /* a recording's own "(other)" has none */
	sb_exposition_label(&labels, "role", "stage");
	other.labels = sb_buf_text(&labels);
	if (rows.count > shown)
		put_row(e, run, &other);
	sb_metrics_put(
		e, "strobe_stages_left_out", "", base, (double)(rows.count > shown ? rows.count - shown : 0));
	sb_buf_done(&labels);
	sb_strings_done(&rows.labels);
	free(rows.all);
}
