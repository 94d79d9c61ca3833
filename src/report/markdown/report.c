/* The report as Markdown: what ran, and the order of the rest. Every part is bounded, so that the
 * whole is. */
#include "report/markdown/markdown.h"

#include "base/error.h"
#include "report/markdown/words.h"
#include "report/summary_screen.h"

#include <string.h>
#include <stdio.h>
#include <time.h>

#define WIDE 100000 /* columns: no line is broken */
#define LINE_MOST 600 /* columns of a line of words */
#define TAGS_SHOWN 20u
#define DEVICES_SHOWN 4u

void sb_markdown_heading(struct sb_buf *out, const char *title)
{
	sb_buf_printf(out, "\n## %s\n\n", title);
}

void sb_markdown_row(struct sb_buf *out, const char *name)
{
	sb_buf_puts(out, "| ");
	sb_markdown_name(out, name, 100);
	sb_buf_puts(out, " |");
}

static void title(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_session_panel *s = &model->session;
	char wall[32];

	sb_text_seconds(wall, sizeof wall, s->duration_s);
	if (s->no_times)
		snprintf(wall, sizeof wall, "no times");
	sb_buf_puts(out, "# strobe: ");
	sb_markdown_name(out, s->name ? s->name : "run", 80);
	if (s->outcome) {
		sb_buf_puts(out, ", ");
		sb_markdown_name(out, s->outcome, 80);
	} else if (s->exit_signal >= 0) {
		sb_buf_printf(out, ", killed by signal %lld", (long long)s->exit_signal);
	} else if (s->exit_code >= 0) {
		sb_buf_printf(out, ", exit %lld", (long long)s->exit_code);
	}
	if (s->state && strcmp(s->state, "complete"))
		sb_buf_printf(out, ", %s", s->state);
	sb_buf_printf(out, ", %s\n", wall);
}

/* The lines of the one-screen summary that part() says, as points of a list. */
static void points(
	const struct sb_model *model, void (*part)(struct sb_screen *), const char *lead, struct sb_buf *out)
{
	struct sb_buf lines = { 0 };
	struct sb_screen s = { .model = model, .text = { .columns = WIDE }, .out = &lines };
	char *line, *rest;

	part(&s);
	rest = lines.data;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		sb_buf_printf(out, "- %s", lead);
		sb_markdown_name(out, line, LINE_MOST);
		sb_buf_putc(out, '\n');
	}
	out->failed |= lines.failed || s.line.failed;
	sb_buf_done(&lines);
	sb_buf_done(&s.line);
}

static void pair(const struct sb_pair *p, struct sb_buf *out)
{
	sb_markdown_name(out, p->key, 40);
	sb_buf_putc(out, '=');
	switch (p->type) {
	case STROBE_TYPE_INT: sb_buf_printf(out, "%lld", (long long)p->i); break;
	case STROBE_TYPE_BOOL: sb_buf_puts(out, p->i ? "true" : "false"); break;
	case STROBE_TYPE_FLOAT: sb_buf_printf(out, "%g", p->f); break;
	case STROBE_TYPE_STRING: sb_markdown_name(out, p->s, 60); break;
	}
}

static void tags(const struct sb_session_panel *s, struct sb_buf *out)
{
	for (size_t i = 0; i < s->tag_count && i < TAGS_SHOWN; i++) {
		sb_buf_puts(out, i ? ", " : "- Tags: ");
		pair(&s->tags[i], out);
	}
	if (s->tag_count > TAGS_SHOWN)
		sb_buf_printf(out, ", %zu more", s->tag_count - TAGS_SHOWN);
	if (s->tag_count)
		sb_buf_putc(out, '\n');
}

static void started(const struct sb_session_panel *s, struct sb_buf *out)
{
	time_t seconds = (time_t)((s->file_date ? s->end_real_ns : s->start_real_ns) / 1000000000u);
	const char *words = s->file_date ? "Imported; it does not say when it ran, its file is from"
					 : "Started";
	char day[64];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S UTC", &tm))
		sb_buf_printf(out, "- %s %s", words, day);
	else
		sb_buf_printf(out, "- %s", words);
	if (s->rank >= 0)
		sb_buf_printf(out, ", rank %lld of %lld", (long long)s->rank, (long long)s->world_size);
	if (s->attempt > 1)
		sb_buf_printf(out, ", attempt %lld", (long long)s->attempt);
	sb_buf_putc(out, '\n');
}

static void cut(const struct sb_session_panel *s, struct sb_buf *out)
{
	if (s->cut_generation >= 0)
		sb_buf_printf(out, "- **Only generation %lld**: %.3f s to %.3f s\n",
			(long long)s->cut_generation, s->cut_from_s, s->cut_to_s);
	else if (isfinite(s->cut_from_s))
		sb_buf_printf(out, "- **Only %.3f s to %.3f s of the run**\n", s->cut_from_s, s->cut_to_s);
}

static void devices(const struct sb_devices_panel *d, struct sb_buf *out)
{
	for (size_t i = 0; i < d->count && i < DEVICES_SHOWN; i++) {
		const struct sb_device *g = &d->all[i];

		sb_buf_printf(out, "- GPU %d: ", g->index);
		sb_markdown_name(out, g->name ? g->name : "unknown model", 80);
		if (!g->used)
			sb_buf_puts(out, ", not used by this run");
		else if (g->utilization_percent.count)
			sb_buf_printf(out, ", used %.0f %% on average", g->utilization_percent.mean);
		if (g->used && g->power_w.count)
			sb_buf_printf(out, ", %.0f W", g->power_w.mean);
		sb_buf_putc(out, '\n');
	}
	if (d->count > DEVICES_SHOWN)
		sb_buf_printf(out, "- %zu more GPUs\n", d->count - DEVICES_SHOWN);
}

static void what_ran(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_session_panel *s = &model->session;

	sb_markdown_heading(out, "What ran");
	if (s->command) {
		sb_buf_puts(out, "- Command: ");
		sb_markdown_name(out, s->command, LINE_MOST);
		sb_buf_putc(out, '\n');
	}
	started(s, out);
	cut(s, out);
	tags(s, out);
	devices(&model->devices, out);
	points(model, sb_screen_made, "", out);
	points(model, sb_screen_speed, "", out);
	points(model, sb_screen_memory, "", out);
	points(model, sb_screen_program, "", out);
}

static size_t lines_of(const struct sb_buf *text)
{
	size_t lines = 0;

	for (size_t i = 0; i < text->size; i++)
		lines += text->data[i] == '\n';
	return lines;
}

/* Stages take the lines that the rest leaves. */
int sb_report_markdown(const struct sb_model *model, struct sb_buf *out)
{
	struct sb_buf rest = { 0 };
	size_t taken;
	int err;

	title(model, out);
	what_ran(model, out);
	err = sb_markdown_time(model, out);
	sb_buf_putc(&rest, '\n');
	points(model, sb_screen_outside, "", &rest);
	points(model, sb_screen_beside, "", &rest);
	sb_markdown_iterations(model, &rest);
	sb_markdown_bounds(model, &rest);
	sb_markdown_gpu(model, &rest);
	sb_markdown_slow_moments(model, &rest);
	sb_markdown_findings(model, &rest);
	sb_markdown_missing(model, &rest);
	taken = lines_of(out) + lines_of(&rest);
	if (!err && taken < SB_MARKDOWN_LINES)
		err = sb_markdown_stages(model, SB_MARKDOWN_LINES - taken, out);
	sb_buf_add(out, rest.data, rest.size);
	out->failed |= rest.failed;
	sb_buf_done(&rest);
	if (!err && out->failed)
		err = sb_fail(STROBE_ENOMEM, "no memory for the report's Markdown");
	return err;
}
