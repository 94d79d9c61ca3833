/* session_info, system, processes; the report's first lines. */
#include "report/panels/panel.h"

#include "report/label.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- text ---------------------------------------------------------------- */

static void text_pair(struct sb_buf *out, const struct sb_pair *p)
{
	sb_text_name(out, p->key, 40);
	sb_buf_putc(out, '=');
	switch (p->type) {
	case STROBE_TYPE_INT: sb_buf_printf(out, "%lld", (long long)p->i); break;
	case STROBE_TYPE_BOOL: sb_buf_puts(out, p->i ? "true" : "false"); break;
	case STROBE_TYPE_FLOAT: sb_buf_printf(out, "%g", p->f); break;
	case STROBE_TYPE_STRING: sb_text_name(out, p->s, 60); break;
	}
}

static void text_outcome(const struct sb_session_panel *s, struct sb_buf *out)
{
	if (s->outcome)
		sb_buf_printf(out, ", %s", s->outcome);
	else if (s->exit_signal >= 0)
		sb_buf_printf(out, ", killed by signal %lld (%s)", (long long)s->exit_signal,
			strsignal((int)s->exit_signal));
	else if (s->exit_code >= 0)
		sb_buf_printf(out, ", exit %lld", (long long)s->exit_code);
	if (strcmp(s->state, "complete"))
		sb_buf_printf(out, ", %s", s->state);
}

static void text(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out)
{
	const struct sb_session_panel *s = &m->session;
	char duration[32], day[64];
	time_t seconds = (time_t)((s->file_date ? s->end_real_ns : s->start_real_ns) / 1000000000u);
	struct tm tm;

	sb_text_seconds(duration, sizeof duration, s->duration_s);
	if (s->no_times)
		snprintf(duration, sizeof duration, "no times");
	sb_text_colour(out, o, "1");
	sb_buf_puts(out, "strobe: ");
	sb_text_name(out, s->name, 60);
	text_outcome(s, out);
	sb_buf_printf(out, ", %s", duration);
	sb_text_colour(out, o, "");
	sb_buf_putc(out, '\n');
	if (localtime_r(&seconds, &tm) && strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm))
		sb_buf_printf(out,
			s->file_date ? "imported; it does not say when it ran, its file is from %s"
				     : "started %s",
			day);
	if (s->host && !s->file_date)
		sb_label_printf(out, " on %s", s->host);
	if (s->rank >= 0)
		sb_buf_printf(out, ", rank %lld of %lld", (long long)s->rank, (long long)s->world_size);
	if (s->job) {
		sb_buf_puts(out, ", job ");
		sb_text_name(out, s->job, 40);
	}
	if (s->attempt > 1)
		sb_buf_printf(out, ", attempt %lld", (long long)s->attempt);
	sb_buf_putc(out, '\n');
	if (s->import_note)
		sb_text_wrap(out, s->import_note, 0, sb_text_columns(o));
	if (s->command) {
		sb_buf_puts(out, "command: ");
		sb_text_name(out, s->command, o->columns ? (size_t)o->columns - 9 : 71);
		sb_buf_putc(out, '\n');
	}
	if (s->commit)
		sb_label_printf(out, "commit: %.12s\n", s->commit);
	for (size_t i = 0; i < s->tag_count; i++) {
		sb_buf_puts(out, i ? ", " : "tags: ");
		text_pair(out, &s->tags[i]);
	}
	if (s->tag_count)
		sb_buf_putc(out, '\n');
	if (s->cut_generation >= 0)
		sb_buf_printf(out, "only generation %lld: %.3f s to %.3f s\n", (long long)s->cut_generation,
			s->cut_from_s, s->cut_to_s);
	else if (isfinite(s->cut_from_s))
		sb_buf_printf(out, "only %.3f s to %.3f s of the run\n", s->cut_from_s, s->cut_to_s);
}

const struct sb_panel sb_panel_session = { "session", text };
