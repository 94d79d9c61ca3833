/* recording and not_recorded: what to believe, and what is not there. */
#include "report/panels/panel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARNINGS_SHOWN 8u

static bool is_import_note(const char *note, const char *warning)
{
	return note && !strncmp(warning, "import: ", 8) && !strcmp(warning + 8, note);
}

static void text_losses(const struct sb_recording_panel *r, const char *note, const struct sb_text_options *o,
	struct sb_buf *out)
{
	char bytes[32];

	for (size_t i = 0; i < r->drop_count; i++)
		sb_buf_printf(out, "  lost %lld: %s\n", (long long)r->drops[i].count, r->drops[i].text);
	if (r->folded_zones)
		sb_buf_printf(out, "  only totals are kept of %lld zone%s before %.3f s%s%s%s\n",
			(long long)r->folded_zones, r->folded_zones == 1 ? "" : "s", r->folded_until_s,
			r->limited_by ? " (" : "", r->limited_by ? r->limited_by : "",
			r->limited_by ? ")" : "");
	if (r->open_zones)
		sb_buf_printf(out,
			"  still open at the end, and closed at the last known time: %lld zone%s\n",
			(long long)r->open_zones, r->open_zones == 1 ? "" : "s");
	if (r->unmatched_ends)
		sb_buf_printf(
			out, "  ends without a beginning, ignored: %lld\n", (long long)r->unmatched_ends);
	if (r->skipped_bytes > 0) {
		sb_text_bytes(bytes, sizeof bytes, r->skipped_bytes);
		sb_buf_printf(out, "  %s are missing or could not be read:\n", bytes);
	}
	for (size_t i = 0; i < r->warning_count && i < WARNINGS_SHOWN; i++)
		if (!is_import_note(note, r->warnings[i])) /* said at the top */
			sb_text_wrap(out, r->warnings[i], 2, sb_text_columns(o));
	if (r->warning_count > WARNINGS_SHOWN)
		sb_buf_printf(out, "  %zu more warnings: --format json has them all\n",
			r->warning_count - WARNINGS_SHOWN);
}

void sb_text_dropped(struct sb_buf *out, const struct sb_model *m, const char *dropped)
{
	long long none = (long long)m->recording.unrecorded_count;

	if (m->recording.dropped_count || !none)
		sb_buf_printf(
			out, "%lld %s%s", (long long)m->recording.dropped_count, dropped, none ? ", " : "");
	if (none)
		sb_buf_printf(out, "%lld process%s unrecorded", none, none == 1 ? "" : "es");
}

const char *sb_text_completeness(const struct sb_model *m)
{
	const struct sb_recording_panel *r = &m->recording;

	if (r->complete || r->live)
		return r->complete ? "complete" : "still being written";
	if (r->damage_count)
		return "damaged: some of it is missing";
	return r->unrecorded_count && m->session.state && !strcmp(m->session.state, "complete")
		       ? "not of all processes"
		       : "ended without a stop";
}

/* "0 dropped; recording took 0.13 % of the program's threads' time (26.0 us: 13 ns for every
 * 8 bytes); strobe's own threads took 1.20 ms of CPU; moving on to the next piece … took 40 us" */
static void cost_words(const struct sb_model *m, struct sb_buf *line)
{
	const struct sb_recording_panel *r = &m->recording;
	char a[32], b[32];

	sb_text_dropped(line, m, "dropped");
	if (!isnan(r->overhead_ratio)) {
		sb_text_seconds(a, sizeof a, r->recording_s);
		sb_text_seconds(b, sizeof b, r->record_cost_s);
		sb_buf_puts(line, "; recording took ");
		sb_text_percent(line, r->overhead_ratio);
		sb_buf_printf(line, " of the program's threads' time (%s: %s for every 8 bytes)", a, b);
	}
	if (r->own_stages_s > 0) {
		sb_text_seconds(a, sizeof a, r->own_stages_s);
		sb_buf_printf(line, "; the stages 'strobe: …' took %s besides", a);
	}
	if (r->own_cpu_s > 0) {
		sb_text_seconds(a, sizeof a, r->own_cpu_s);
		sb_buf_printf(line, "; strobe's own threads took %s of CPU", a);
	}
	if (r->own_cpu_s > 0 && !isnan(r->own_cpu_ratio)) {
		sb_buf_puts(line, " (");
		sb_text_percent(line, r->own_cpu_ratio);
		sb_buf_puts(line, " of one core)");
	}
	if (r->waiting_s > 0) {
		sb_text_seconds(a, sizeof a, r->waiting_s);
		sb_buf_printf(line,
			"; moving on to the next piece of the recording file took %s, waiting included, all "
			"threads added up",
			a);
	}
}

static void text(const struct sb_model *m, const struct sb_text_options *o, struct sb_buf *out)
{
	const struct sb_recording_panel *r = &m->recording;
	char bytes[32];
	struct sb_buf line = { 0 };

	if (m->missing.count)
		sb_text_heading(out, o, "Not recorded");
	for (size_t i = 0; i < m->missing.count; i++) {
		const struct sb_missing *x = &m->missing.all[i];

		sb_buf_clear(&line);
		sb_buf_puts(&line, x->what);
		if (*x->why)
			sb_buf_printf(&line, ": %s", x->why);
		if (*x->how)
			sb_buf_printf(&line, " (%s)", x->how);
		sb_text_wrap(out, sb_buf_text(&line), 2, sb_text_columns(o));
	}
	sb_text_heading(out, o, "Recording");
	sb_text_bytes(bytes, sizeof bytes, r->bytes);
	sb_buf_printf(out, "  %lld zone%s, %lld events in all, %s in %lld file%s, %s\n", (long long)r->zones,
		r->zones == 1 ? "" : "s", (long long)r->events, bytes, (long long)r->files,
		r->files == 1 ? "" : "s", sb_text_completeness(m));
	sb_buf_clear(&line);
	cost_words(m, &line);
	sb_text_wrap(out, sb_buf_text(&line), 2, sb_text_columns(o));
	out->failed |= line.failed;
	sb_buf_done(&line);
	text_losses(r, m->session.import_note, o, out);
}

const struct sb_panel sb_panel_recording = { "recording", text };
