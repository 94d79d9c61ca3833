/* session_info, system, processes; the report's first lines. */
#include "report/sections/section.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void json_time(struct sb_json *j, const char *key, uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000u);
	char day[32], text[64];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm))
		return;
	strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof text, "%s.%03u+00:00", day, (unsigned)(real_ns / 1000000u % 1000u));
	sb_json_string(j, key, text);
}

static void json_pairs(struct sb_json *j, const char *key, const struct sb_pair *pairs, size_t count)
{
	sb_json_object_begin(j, key);
	for (size_t i = 0; i < count; i++)
		sb_json_pair(j, &pairs[i]);
	sb_json_object_end(j);
}

static void json_session(const struct sb_session_section *s, struct sb_json *j)
{
	char text[32];

	sb_json_object_begin(j, "session_info");
	sb_json_string(j, "id", s->id);
	sb_json_opt_string(j, "name", s->name);
	json_time(j, "start_time", s->start_real_ns);
	json_time(j, "end_time", s->end_real_ns);
	sb_text_seconds(text, sizeof text, s->duration_s);
	sb_json_string(j, "duration", text);
	sb_json_double(j, "duration_s", s->duration_s);
	json_pairs(j, "tags", s->tags, s->tag_count);
	json_time(j, "generated_at", s->generated_real_ns);
	sb_json_opt_string(j, "command", s->command);
	sb_json_string(j, "state", s->state);
	sb_json_string(j, "run", s->run);
	sb_json_opt_string(j, "host", s->host);
	sb_json_int(j, "pid", s->pid);
	sb_json_opt_count(j, "rank", s->rank);
	sb_json_opt_count(j, "local_rank_index", s->local_rank);
	sb_json_opt_count(j, "world_size_count", s->world_size);
	sb_json_opt_string(j, "job", s->job);
	sb_json_opt_count(j, "exit_code_value", s->exit_code);
	sb_json_opt_count(j, "exit_signal_value", s->exit_signal);
	sb_json_opt_string(j, "outcome", s->outcome);
	sb_json_opt_string(j, "left_behind", s->left_behind);
	sb_json_opt(j, "cpu_s", s->cpu_s);
	sb_json_opt(j, "peak_rss_bytes", s->peak_rss_bytes);
	sb_json_opt_count(j, "process_count", s->process_count);
	sb_json_opt(j, "cut_from_s", s->cut_from_s);
	sb_json_opt(j, "cut_to_s", s->cut_to_s);
	sb_json_opt_count(j, "cut_generation_index", s->cut_generation);
	sb_json_object_end(j);
}

static void json_processes(const struct sb_system_section *s, struct sb_json *j)
{
	if (!s->process_count)
		return;
	sb_json_array_begin(j, "processes");
	for (size_t i = 0; i < s->process_count; i++) {
		const struct sb_system_process *p = &s->processes[i];

		sb_json_object_begin(j, NULL);
		sb_json_int(j, "pid", p->pid);
		if (p->ppid >= 0)
			sb_json_int(j, "parent_id", p->ppid);
		sb_json_opt_string(j, "command", p->command);
		sb_json_opt(j, "start_s", p->start_s);
		sb_json_opt(j, "end_s", p->end_s);
		sb_json_opt_count(j, "exit_code_value", p->exit_code);
		sb_json_opt_count(j, "exit_signal_value", p->exit_signal);
		sb_json_bool(j, "recorded", p->recorded);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void json(const struct sb_model *m, struct sb_json *j)
{
	json_session(&m->session, j);
	sb_json_object_begin(j, "system");
	sb_json_opt_string(j, "host", m->session.host);
	json_pairs(j, "facts", m->system.facts, m->system.fact_count);
	json_pairs(j, "settings", m->system.settings, m->system.setting_count);
	sb_json_object_end(j);
	json_processes(&m->system, j);
}

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

static void text_outcome(const struct sb_session_section *s, struct sb_buf *out)
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
	const struct sb_session_section *s = &m->session;
	char duration[32], day[64];
	time_t seconds = (time_t)(s->start_real_ns / 1000000000u);
	struct tm tm;

	sb_text_seconds(duration, sizeof duration, s->duration_s);
	sb_text_colour(out, o, "1");
	sb_buf_puts(out, "strobe: ");
	sb_text_name(out, s->name, 60);
	text_outcome(s, out);
	sb_buf_printf(out, ", %s", duration);
	sb_text_colour(out, o, "");
	sb_buf_putc(out, '\n');
	if (localtime_r(&seconds, &tm) && strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &tm))
		sb_buf_printf(out, "started %s", day);
	if (s->host)
		sb_buf_printf(out, " on %s", s->host);
	if (s->rank >= 0)
		sb_buf_printf(out, ", rank %lld of %lld", (long long)s->rank, (long long)s->world_size);
	if (s->job) {
		sb_buf_puts(out, ", job ");
		sb_text_name(out, s->job, 40);
	}
	sb_buf_putc(out, '\n');
	if (s->command) {
		sb_buf_puts(out, "command: ");
		sb_text_name(out, s->command, o->columns ? (size_t)o->columns - 9 : 71);
		sb_buf_putc(out, '\n');
	}
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

const struct sb_section sb_section_session = { "session", json, text };
