/* Takes from a report model what can be compared with another run. */
#include "compare/model_facts.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/filename.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sb_facts *sb_facts_new(const char *label)
{
	struct sb_facts *f = calloc(1, sizeof *f);

	if (!f) {
		sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", label);
		return NULL;
	}
	f->rank = f->local_rank = f->world_size = -1;
	for (int i = 0; i < SB_METRIC_COUNT; i++)
		f->metrics[i] = NAN;
	f->generation_unattributed_s = f->digit_s = f->others_cpu_ratio = NAN;
	f->gpu_busy_clock_mhz = f->gpu_throttled_ratio = f->gpu_capped_ratio = NAN;
	f->label = sb_facts_text(f, label);
	f->id = f->name = f->host = f->job = f->clock = "";
	return f;
}

void sb_facts_free(struct sb_facts *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->stage_count; i++)
		free(f->stages[i].attrs);
	for (size_t i = 0; i < f->histogram_count; i++)
		sb_histogram_done(&f->histograms[i]);
	free(f->histograms);
	free(f->stages);
	free(f->pairs);
	free(f->collectives);
	free(f->stage_lane.names);
	free(f->stage_lane.bins);
	free(f->ranks);
	free(f->outputs);
	free(f->findings);
	sb_facts_free_sizes(f);
	free(f->numbers);
	sb_strings_done(&f->strings);
	free(f);
}

const char *sb_facts_text(struct sb_facts *f, const char *text)
{
	if (!text)
		return NULL;
	return sb_strings_text(&f->strings, sb_strings_add(&f->strings, text, strlen(text)));
}

int sb_facts_add_pair(struct sb_facts *f, enum sb_fact_scope scope, const char *key, const char *value)
{
	size_t n = f->pair_count;

	if (!(n & (n - 1))) {
		struct sb_fact_pair *grown = realloc(f->pairs, (n ? n * 2 : 1) * sizeof *grown);

		if (!grown)
			return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
		f->pairs = grown;
	}
	f->pairs[f->pair_count++] = (struct sb_fact_pair){ scope, sb_facts_text(f, key),
		sb_facts_text(f, value) };
	return 0;
}

/* A code names a stage wherever it hangs and whatever its words have become;
 * without one it is the names from the root. */
int sb_facts_key_stages(struct sb_facts *f)
{
	struct sb_buf key = { 0 };
	bool failed = false;

	for (size_t i = 0; i < f->stage_count && !failed; i++) {
		struct sb_fact_stage *s = &f->stages[i];

		sb_buf_clear(&key);
		if (s->code && *s->code)
			sb_buf_printf(&key, "[%s]", s->code);
		else if (s->parent >= 0)
			sb_buf_printf(&key, "%s/%s", f->stages[s->parent].key, s->name);
		else
			sb_buf_puts(&key, s->name);
		s->key = sb_facts_text(f, sb_buf_text(&key));
		failed = key.failed || !s->key;
	}
	sb_buf_done(&key);
	return failed ? sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label) : 0;
}

/* ---- from the model ----------------------------------------------------- */

static void pair_text(const struct sb_pair *p, char *out, size_t size)
{
	switch (p->type) {
	case STROBE_TYPE_INT: snprintf(out, size, "%" PRId64, p->i); break;
	case STROBE_TYPE_FLOAT: snprintf(out, size, "%.10g", p->f); break;
	case STROBE_TYPE_BOOL: snprintf(out, size, "%s", p->i ? "true" : "false"); break;
	default: snprintf(out, size, "%s", p->s ? p->s : ""); break;
	}
}

static int take_pairs(struct sb_facts *f, enum sb_fact_scope scope, const struct sb_pair *pairs, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		char text[512];

		pair_text(&pairs[i], text, sizeof text);
		err = sb_facts_add_pair(f, scope, pairs[i].key, text);
	}
	return err;
}

enum sb_meet_kind sb_meet_kind_of(const char *name)
{
	static const struct {
		const char *end;
		enum sb_meet_kind kind;
	} kinds[] = { { "broadcast", SB_MEET_FROM_ROOT }, { "scatter", SB_MEET_FROM_ROOT },
		{ "reduce", SB_MEET_TO_ROOT }, { "gather", SB_MEET_TO_ROOT }, { "send", SB_MEET_SEND },
		{ "recv", SB_MEET_RECV } };
	const char *op = strrchr(name, ':');

	op = op ? op + 1 : name;
	op += (op[0] == 'i' && (!strcmp(op + 1, "send") || !strcmp(op + 1, "recv")));
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strcmp(op, kinds[i].end))
			return kinds[i].kind;
	return SB_MEET_ALL;
}

#define AT_ONCE_S 50e-6 /* who waits less did not wait: it was over before */

static struct sb_fact_collective fact_of(struct sb_facts *f, const struct sb_collective *c)
{
	return (struct sb_fact_collective){ .name = sb_facts_text(f, c->name),
		.occurrence = c->occurrence,
		.begin_s = c->begin_s,
		.end_s = c->end_s,
		.group = sb_facts_text(f, c->group),
		.hidden_s = c->hidden_s,
		.bytes = c->bytes,
		.apart_s = c->apart_s,
		.kind = sb_meet_kind_of(c->name),
		.root = (int32_t)c->root,
		.late_end = c->hidden_s > 0 && c->end_s - c->begin_s - c->hidden_s < AT_ONCE_S };
}

static int take_collectives(struct sb_facts *f, const struct sb_model *m)
{
	f->collective_total = m->collectives.total;
	f->collectives = calloc(m->collectives.count + 1, sizeof *f->collectives);
	if (!f->collectives)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < m->collectives.count; i++) {
		const struct sb_collective *c = &m->collectives.all[i];

		if (!c->enqueued) /* its end says nothing about the others */
			f->collectives[f->collective_count++] = fact_of(f, c);
	}
	return 0;
}

static int take_stage_lane(struct sb_facts *f, const struct sb_stage_lane *from)
{
	struct sb_stage_lane *to = &f->stage_lane;

	if (!from->name_count)
		return 0;
	to->names = calloc(from->name_count, sizeof *to->names);
	to->bins = malloc(SB_STAGE_LANE_BINS);
	if (!to->names || !to->bins)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < from->name_count; i++)
		to->names[i] = sb_facts_text(f, from->names[i]);
	to->name_count = from->name_count;
	memcpy(to->bins, from->bins, SB_STAGE_LANE_BINS);
	return 0;
}

/* In the words of `strobe run` where that saw the end. Of a rank below a launcher only its own recording tells. */
static const char *failure_of(const struct sb_session_panel *s)
{
	if ((s->exit_code > 0 || s->exit_signal > 0) && s->outcome)
		return s->outcome;
	return s->failed ? "its process ended with an error" : NULL;
}

static void take_session(struct sb_facts *f, const struct sb_model *m)
{
	const struct sb_session_panel *s = &m->session;

	f->id = sb_facts_text(f, s->id ? s->id : "");
	f->name = sb_facts_text(f, s->name ? s->name : "");
	f->host = sb_facts_text(f, s->host ? s->host : "");
	f->job = sb_facts_text(f, s->job ? s->job : "");
	f->clock = sb_facts_text(f, s->clock ? s->clock : "");
	f->gpu = m->devices.count ? sb_facts_text(f, m->devices.all[0].uuid) : NULL;
	f->rank = s->rank;
	f->local_rank = s->local_rank;
	f->world_size = s->world_size > 0 ? s->world_size : -1;
	f->start_real_ns = s->start_real_ns;
	f->median_begin_s = m->generations.listed && m->generations.median >= 0
				    ? m->generations.all[m->generations.median].begin_s
				    : NAN;
	f->complete = m->recording.complete;
	f->live = s->state && !strcmp(s->state, "live");
	f->failure = sb_facts_text(f, failure_of(s));
	if (m->recording.damage_count) {
		char text[256];

		snprintf(text, sizeof text, "%s (%" PRId64 " %s, %.0f bytes skipped)",
			m->recording.damage[0].text, m->recording.damage[0].count,
			m->recording.damage[0].count == 1 ? "place" : "places", m->recording.skipped_bytes);
		f->damage = sb_facts_text(f, text);
	} else if (m->recording.unrecorded_count) {
		char text[64];

		snprintf(text, sizeof text, "recordings of %" PRId64 " process%s are missing",
			m->recording.unrecorded_count, m->recording.unrecorded_count == 1 ? "" : "es");
		f->damage = sb_facts_text(f, text);
	}
}

static int take_outputs(struct sb_facts *f, const struct sb_model *m)
{
	f->outputs = calloc(m->outputs.count + 1, sizeof *f->outputs);
	if (!f->outputs)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < m->outputs.count; i++) {
		struct sb_output o = m->outputs.all[i];

		if (!o.path || !o.state) /* of a report that was edited */
			continue;
		o.path = sb_facts_text(f, o.path);
		o.state = sb_facts_text(f, o.state);
		o.why = sb_facts_text(f, o.why);
		o.sha256 = sb_facts_text(f, o.sha256);
		o.kept = sb_facts_text(f, o.kept);
		o.pixel_format = sb_facts_text(f, o.pixel_format);
		f->outputs[f->output_count++] = o;
	}
	return 0;
}

static const char *place_of(struct sb_facts *f, const struct sb_advice *a)
{
	const struct sb_advice_where *w = &a->where;
	char text[256];

	if (w->file && w->line) {
		snprintf(text, sizeof text, "%s:%u", sb_filename_of(w->file), w->line);
		return sb_facts_text(f, text);
	}
	return sb_facts_text(f, w->stage ? w->stage : w->module ? w->module : a->stage ? a->stage : "");
}

static int take_findings(struct sb_facts *f, const struct sb_model *m)
{
	f->findings = calloc(m->advice.count + 1, sizeof *f->findings);
	if (!f->findings)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (size_t i = 0; i < m->advice.count; i++) {
		const struct sb_advice *a = &m->advice.all[i];

		if (!a->id || !a->priority || !a->issue) /* of a report that was edited */
			continue;
		f->findings[f->finding_count++] = (struct sb_fact_finding){ .id = sb_facts_text(f, a->id),
			.priority = sb_facts_text(f, a->priority),
			.issue = sb_facts_text(f, a->issue),
			.place = place_of(f, a),
			.saves_s = a->saves_s,
			.startup = a->startup };
	}
	return 0;
}

int sb_facts_of_model(const struct sb_model *m, const char *label, struct sb_facts **out_facts)
{
	struct sb_facts *f = sb_facts_new(label);
	int err;

	if (!f)
		return STROBE_ENOMEM;
	take_session(f, m);
	sb_facts_take_metrics(f, m);
	err = sb_facts_take_stages(f, m);
	if (!err)
		err = take_collectives(f, m);
	if (!err)
		err = take_stage_lane(f, &m->stage_lane);
	if (!err)
		err = take_outputs(f, m);
	if (!err)
		err = take_findings(f, m);
	if (!err)
		err = sb_facts_take_sizes(f, &m->sizes);
	if (!err && m->session.command)
		err = sb_facts_add_pair(f, SB_FACT_COMMAND, "command", m->session.command);
	if (!err && m->session.commit)
		err = sb_facts_add_pair(f, SB_FACT_COMMAND, "commit", m->session.commit);
	if (!err)
		err = take_pairs(f, SB_FACT_TAG, m->session.tags, m->session.tag_count);
	if (!err)
		err = take_pairs(f, SB_FACT_SETTING, m->system.settings, m->system.setting_count);
	if (!err)
		err = take_pairs(f, SB_FACT_SYSTEM, m->system.facts, m->system.fact_count);
	if (err) {
		sb_facts_free(f);
		return err;
	}
	*out_facts = f;
	return 0;
}
