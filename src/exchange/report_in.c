/* Report files back into facts. */
#include "exchange/report_in.h"

#include "base/error.h"
#include "base/jsondom.h"
#include "stats/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPORT_BYTES_MAX (256u << 20)
#define MB 1048576.0

typedef const struct sb_jsondom *node;

static bool is_object(node n)
{
	return n && n->type == SB_JSONDOM_OBJECT;
}

/* Raw series files hold arrays where a report holds analyses. */
static bool is_report(node root)
{
	if (!is_object(sb_jsondom_get(root, "session_info")))
		return false;
	return is_object(sb_jsondom_get(root, "stage_analysis")) ||
	       is_object(sb_jsondom_get(root, "summary"));
}

bool sb_report_in_is_report(const char *path)
{
	struct sb_jsondom_doc *doc;
	bool yes;

	if (sb_jsondom_read(path, REPORT_BYTES_MAX, &doc))
		return false;
	yes = is_report(sb_jsondom_root(doc));
	sb_jsondom_free(doc);
	return yes;
}

/* ---- small readings ----------------------------------------------------- */

static double number(node n, const char *key)
{
	return sb_jsondom_number(sb_jsondom_get(n, key), NAN);
}

static double first_of(double a, double b)
{
	return isnan(a) ? b : a;
}

static void scalar_text(node n, char *out, size_t size)
{
	*out = 0;
	if (n->type == SB_JSONDOM_STRING)
		snprintf(out, size, "%s", n->text);
	else if (n->type == SB_JSONDOM_BOOL)
		snprintf(out, size, "%s", n->truth ? "true" : "false");
	else if (n->type == SB_JSONDOM_NUMBER)
		snprintf(out, size, "%.10g", n->number);
}

static int take_pairs(struct sb_facts *f, enum sb_fact_scope scope, node object)
{
	int err = 0;

	for (sb_jsondom_each(child, object)) {
		char text[512];

		scalar_text(child, text, sizeof text);
		if (!err && child->key && *text)
			err = sb_facts_add_pair(f, scope, child->key, text);
	}
	return err;
}

static int64_t number_in_text(const char *text, int64_t otherwise)
{
	char *end;
	long long value = strtoll(text, &end, 10);

	return end != text && !*end && value >= 0 ? value : otherwise;
}

/* A whole number, also where a tool wrote it as text. */
static int64_t whole(node n, const char *key)
{
	node value = sb_jsondom_get(n, key);

	if (value && value->type == SB_JSONDOM_STRING)
		return number_in_text(value->text, -1);
	return sb_jsondom_int(value, -1);
}

/* A folder rank_3, or a file that is named after its rank; session: what may be called so without being a rank. */
static int64_t rank_in_path(const char *path, const char *session)
{
	const char *name = strrchr(path, '/');
	int64_t rank = -1;

	name = name ? name + 1 : path;
	for (const char *p = strstr(path, "rank_"); p; p = strstr(p + 1, "rank_")) {
		size_t digits = strspn(p + 5, "0123456789");
		bool whole = (p == path || p[-1] == '/') && (p[5 + digits] == '/' || p[5 + digits] == '.');

		if (digits && (whole || (p >= name && !strstr(session, "rank_"))))
			rank = strtoll(p + 5, NULL, 10);
	}
	return rank;
}

/* ---- strobe's own reports: a model, read back by its fields ---------------- */

static void *give(void *model, size_t size)
{
	return sb_model_alloc(model, size);
}

/* What follows from the rest. Parents come before their stages; a report may have been edited. */
static void settle_stages(struct sb_stages_panel *stages)
{
	for (size_t i = 0; i < stages->stage_count; i++) {
		struct sb_stage *s = &stages->stages[i];

		s->name = s->name ? s->name : "?";
		s->parent = s->parent < (int64_t)i ? s->parent : -1;
		s->depth = s->parent >= 0 ? stages->stages[s->parent].depth + 1 : 0;
		s->time.count = s->count;
		s->time.total = s->total_s;
	}
}

static const char *tag_of(const struct sb_facts *f, const char *key)
{
	for (size_t i = 0; i < f->pair_count; i++)
		if (f->pairs[i].scope == SB_FACT_TAG && !strcmp(f->pairs[i].key, key))
			return f->pairs[i].value;
	return "";
}

/* Whose rank it is may stand in a tag or in the path. */
static void place_rank(struct sb_facts *f, const char *path)
{
	if (!*f->job)
		f->job = sb_facts_text(f, tag_of(f, "job"));
	if (f->rank < 0)
		f->rank = number_in_text(tag_of(f, "rank"), rank_in_path(path, f->id));
	if (f->world_size <= 0)
		f->world_size = number_in_text(tag_of(f, "world_size"), -1);
}

static int take_own(node root, const char *path, struct sb_facts **out_facts)
{
	struct sb_model *m = calloc(1, sizeof *m);
	int err;

	if (!m)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", path);
	sb_fields_read(&sb_model_fields, root, give, m, m);
	settle_stages(&m->stages);
	err = m->failed ? sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", path)
			: sb_facts_of_model(m, path, out_facts);
	sb_model_free(m);
	if (!err)
		place_rank(*out_facts, path);
	return err;
}

/* ---- the other tool --------------------------------------------------------- */

/* The other tool: stages as an object by name, inclusive times only. */
static void take_foreign_stage(struct sb_facts *f, node n)
{
	struct sb_fact_stage *s = &f->stages[f->stage_count++];
	double total = number(n, "total_time");

	*s = (struct sb_fact_stage){ .name = sb_facts_text(f, n->key),
		.parent = -1,
		.count = sb_jsondom_int(sb_jsondom_get(n, "call_count"), 0),
		.total_s = total,
		.self_s = total,
		.first_s = NAN,
		.gpu_span_s = NAN,
		.gpu_busy_s = NAN };
	s->time = (struct sb_stats){ .count = s->count,
		.total = total,
		.mean = number(n, "avg_time"),
		.min = number(n, "min_time"),
		.max = number(n, "max_time"),
		.median = NAN,
		.p95 = NAN,
		.p99 = NAN,
		.last = NAN,
		.std = NAN };
}

static int take_foreign_session(struct sb_facts *f, node root, const char *path)
{
	node session = sb_jsondom_get(root, "session_info"), tags = sb_jsondom_get(session, "tags");
	node start = sb_jsondom_get(session, "start_time");
	const char *command = sb_jsondom_string(sb_jsondom_get(session, "command"), NULL);
	const char *commit = sb_jsondom_string(sb_jsondom_get(session, "commit"), NULL);
	int err = 0;

	f->id = sb_facts_text(f, sb_jsondom_string(sb_jsondom_get(session, "id"), ""));
	f->name = sb_facts_text(f, sb_jsondom_string(sb_jsondom_get(session, "name"), ""));
	f->host = sb_facts_text(f, sb_jsondom_string(sb_jsondom_path(root, "system.host"), ""));
	f->job = sb_facts_text(f, sb_jsondom_string(sb_jsondom_get(session, "job"),
					  sb_jsondom_string(sb_jsondom_get(tags, "job"), "")));
	f->rank = whole(session, "rank");
	if (f->rank < 0)
		f->rank = whole(tags, "rank");
	if (f->rank < 0)
		f->rank = rank_in_path(path, f->id);
	f->world_size = whole(session, "world_size_count");
	if (f->world_size <= 0)
		f->world_size = whole(session, "world_size");
	if (f->world_size <= 0)
		f->world_size = whole(tags, "world_size");
	if (start && start->type == SB_JSONDOM_NUMBER)
		f->start_real_ns = (uint64_t)(start->number * 1e9);
	else
		f->start_real_ns = sb_fields_time(sb_jsondom_string(start, NULL));
	f->complete = sb_jsondom_bool(sb_jsondom_path(root, "recording.complete"), true);
	if (command)
		err = sb_facts_add_pair(f, SB_FACT_COMMAND, "command", command);
	if (!err && commit)
		err = sb_facts_add_pair(f, SB_FACT_COMMAND, "commit", commit);
	if (!err)
		err = take_pairs(f, SB_FACT_TAG, tags);
	if (!err)
		err = take_pairs(f, SB_FACT_SETTING, sb_jsondom_path(root, "system.settings"));
	if (!err)
		err = take_pairs(f, SB_FACT_SYSTEM, sb_jsondom_path(root, "system.facts"));
	return err;
}

static int take_foreign_stages(struct sb_facts *f, node root)
{
	node stages = sb_jsondom_path(root, "stage_analysis.stages");

	f->stages = calloc(stages ? stages->size + 1 : 1, sizeof *f->stages);
	if (!f->stages)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (sb_jsondom_each(stage, stages))
		if (stage->type == SB_JSONDOM_OBJECT && stage->key)
			take_foreign_stage(f, stage);
	return sb_facts_key_stages(f);
}

/* Its analyses name their numbers freely: the first that says what is meant. */
static double says(node object, const char *const *words)
{
	for (const char *const *word = words; *word; word++)
		for (sb_jsondom_each(child, object))
			if (child->type == SB_JSONDOM_NUMBER && strstr(child->key, *word) &&
				!strstr(child->key, "percent_of"))
				return child->number;
	return NAN;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void take_foreign(struct sb_facts *f, node root)
{
	node session = sb_jsondom_get(root, "session_info"), gpu = sb_jsondom_get(root, "gpu_metrics");
	node memory = sb_jsondom_get(gpu, "memory_analysis"), cpu = sb_jsondom_get(root, "cpu_metrics");

	f->foreign = true;
	if (isnan(f->metrics[SB_METRIC_WALL]))
		f->metrics[SB_METRIC_WALL] = first_of(
			number(session, "duration_s"), number(session, "duration"));
	f->metrics[SB_METRIC_GPU_MEMORY_PEAK] = MB * says(memory, WORDS("peak", "max"));
	f->metrics[SB_METRIC_GPU_MEMORY_MEAN] = MB * says(memory, WORDS("avg", "average", "mean"));
	f->metrics[SB_METRIC_GPU_MEMORY_TOTAL] = MB * says(memory, WORDS("total_mb", "total"));
	f->metrics[SB_METRIC_GPU_UTILIZATION] = says(
		sb_jsondom_get(gpu, "utilization_analysis"), WORDS("avg", "average", "mean"));
	f->metrics[SB_METRIC_GPU_TEMPERATURE] = says(
		sb_jsondom_get(gpu, "temperature_analysis"), WORDS("peak", "max"));
	f->metrics[SB_METRIC_GPU_POWER] = says(
		sb_jsondom_get(gpu, "power_analysis"), WORDS("avg", "average", "mean"));
	f->metrics[SB_METRIC_CPU] = says(
		sb_jsondom_get(cpu, "utilization_analysis"), WORDS("avg", "average", "mean"));
	f->metrics[SB_METRIC_RAM_PEAK] = MB *
					 says(sb_jsondom_get(cpu, "memory_analysis"), WORDS("peak", "max"));
	f->metrics[SB_METRIC_FPS] = number(sb_jsondom_get(root, "diffusion_analysis"), "fps");
	f->metrics[SB_METRIC_BPS] = number(sb_jsondom_get(root, "diffusion_analysis"), "bps");
}

static int take_other(node root, const char *path, struct sb_facts **out_facts)
{
	struct sb_facts *f = sb_facts_new(path);
	int err = f ? take_foreign_session(f, root, path) : STROBE_ENOMEM;

	if (!err) {
		take_foreign(f, root);
		err = take_foreign_stages(f, root);
	}
	if (err) {
		sb_facts_free(f);
		return err;
	}
	*out_facts = f;
	return 0;
}

int sb_report_in(const char *path, struct sb_facts **out_facts)
{
	struct sb_jsondom_doc *doc = NULL;
	int err = sb_jsondom_read(path, REPORT_BYTES_MAX, &doc);
	node root = err ? NULL : sb_jsondom_root(doc);

	if (!err && !is_report(root))
		err = sb_fail(STROBE_EFORMAT,
			"'%s' is not a report: it has no session_info and stage_analysis", path);
	else if (!err && sb_jsondom_get(root, "schema"))
		err = take_own(root, path, out_facts);
	else if (!err)
		err = take_other(root, path, out_facts);
	sb_jsondom_free(doc);
	return err;
}
