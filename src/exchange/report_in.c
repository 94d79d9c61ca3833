/* Report files back into facts. */
#include "exchange/report_in.h"

#include "base/error.h"
#include "base/jsondom.h"

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

static int64_t rank_in_path(const char *path)
{
	const char *at = NULL;

	for (const char *p = strstr(path, "rank_"); p; p = strstr(p + 1, "rank_"))
		at = p;
	if (!at || at[5] < '0' || at[5] > '9')
		return -1;
	return strtoll(at + 5, NULL, 10);
}

/* The digits behind ".", as ns; *at moves past them. */
static uint64_t fraction_ns(const char **at)
{
	uint64_t ns = 0, unit = 100000000;

	for (++*at; **at >= '0' && **at <= '9'; ++*at, unit /= 10)
		ns += (uint64_t)(**at - '0') * unit;
	return ns;
}

/* 0: no time, or one that 64 bits of ns do not hold. */
static uint64_t time_of(const char *iso)
{
	struct tm t = { 0 };
	const char *rest = iso ? strptime(iso, "%Y-%m-%dT%H:%M:%S", &t) : NULL;
	int hours = 0, minutes = 0;
	int64_t seconds;
	uint64_t ns = 0;

	if (!rest)
		return 0;
	if (*rest == '.')
		ns = fraction_ns(&rest);
	if (*rest == '+' || *rest == '-')
		sscanf(rest + 1, "%2d:%2d", &hours, &minutes);
	seconds = timegm(&t) - (*rest == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	return seconds > 0 && seconds < INT64_MAX / 1000000000 ? (uint64_t)seconds * 1000000000u + ns : 0;
}

/* ---- the parts ---------------------------------------------------------- */

static int take_session(struct sb_facts *f, node root, const char *path)
{
	node session = sb_jsondom_get(root, "session_info"), tags = sb_jsondom_get(session, "tags");
	node start = sb_jsondom_get(session, "start_time");
	const char *command = sb_jsondom_string(sb_jsondom_get(session, "command"), NULL);
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
		f->rank = rank_in_path(path);
	f->world_size = whole(session, "world_size_count");
	if (f->world_size <= 0)
		f->world_size = whole(tags, "world_size");
	if (start && start->type == SB_JSONDOM_NUMBER)
		f->start_real_ns = (uint64_t)(start->number * 1e9);
	else
		f->start_real_ns = time_of(sb_jsondom_string(start, NULL));
	f->complete = sb_jsondom_bool(sb_jsondom_path(root, "recording.complete"), true);
	if (command)
		err = sb_facts_add_pair(f, SB_FACT_COMMAND, "command", command);
	if (!err)
		err = take_pairs(f, SB_FACT_TAG, tags);
	if (!err)
		err = take_pairs(f, SB_FACT_SETTING, sb_jsondom_path(root, "system.settings"));
	if (!err)
		err = take_pairs(f, SB_FACT_SYSTEM, sb_jsondom_path(root, "system.facts"));
	return err;
}

static double largest(node array, const char *key)
{
	double most = NAN;

	for (sb_jsondom_each(child, array))
		most = fmax(most, number(child, key));
	return most;
}

static double mean_of(node array, const char *key)
{
	double sum = 0;
	int count = 0;

	for (sb_jsondom_each(child, array))
		if (!isnan(number(child, key))) {
			sum += number(child, key);
			count++;
		}
	return count ? sum / count : NAN;
}

static void take_gpu(struct sb_facts *f, node root)
{
	node devices = sb_jsondom_path(root, "gpu_metrics.devices"),
	     trace = sb_jsondom_get(root, "gpu_trace");
	double copies = NAN;

	f->metrics[SB_METRIC_GPU_MEMORY_PEAK] = MB * largest(devices, "memory_used_max_mb");
	f->metrics[SB_METRIC_GPU_MEMORY_MEAN] = MB * mean_of(devices, "memory_used_mean_mb");
	f->metrics[SB_METRIC_GPU_MEMORY_TOTAL] = MB * largest(devices, "memory_total_mb");
	f->metrics[SB_METRIC_GPU_UTILIZATION] = mean_of(devices, "utilization_mean_percent");
	f->metrics[SB_METRIC_GPU_TEMPERATURE] = largest(devices, "temperature_max_c");
	f->metrics[SB_METRIC_GPU_POWER] = mean_of(devices, "power_mean_w");
	f->metrics[SB_METRIC_GPU_BUSY] = number(trace, "busy_s");
	f->metrics[SB_METRIC_GPU_IDLE] = number(trace, "idle_s");
	for (sb_jsondom_each(copy, sb_jsondom_get(trace, "copies")))
		copies = (isnan(copies) ? 0 : copies) + number(copy, "total_s");
	f->metrics[SB_METRIC_COPIES] = copies;
}

static int take_generations(struct sb_facts *f, node root)
{
	node generations = sb_jsondom_get(root, "generations"), items = sb_jsondom_get(generations, "items");
	struct sb_stats stats;
	int err;

	if (!items || !items->size || sb_jsondom_bool(sb_jsondom_get(generations, "whole_run"), false))
		return 0;
	f->numbers = malloc(items->size * sizeof *f->numbers);
	if (!f->numbers)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	f->generation_s = f->numbers;
	for (sb_jsondom_each(item, items))
		if (!isnan(number(item, "wall_s")) && !sb_jsondom_get(item, "state"))
			f->numbers[f->generation_count++] = number(item, "wall_s");
	f->metrics[SB_METRIC_GENERATIONS] = number(generations, "count");
	err = sb_stats_of(f->generation_s, f->generation_count, &stats);
	f->metrics[SB_METRIC_GENERATION] = stats.median;
	return err;
}

static void take_summary(struct sb_facts *f, node root)
{
	node summary = sb_jsondom_get(root, "summary"), memory = sb_jsondom_get(root, "memory");
	node host = sb_jsondom_get(memory, "host"), stages = sb_jsondom_get(root, "stage_analysis");

	f->metrics[SB_METRIC_WALL] = first_of(number(stages, "wall_s"), number(summary, "wall_s"));
	f->metrics[SB_METRIC_UNATTRIBUTED] = number(stages, "unattributed_s");
	f->metrics[SB_METRIC_FPS] = number(summary, "fps");
	f->metrics[SB_METRIC_FRAMES] = number(summary, "frames");
	f->metrics[SB_METRIC_STEPS] = number(summary, "steps");
	f->metrics[SB_METRIC_ENERGY] = number(summary, "energy_wh");
	f->metrics[SB_METRIC_BPS] = number(sb_jsondom_get(root, "block_analysis"), "bps");
	f->metrics[SB_METRIC_FIRST_BLOCK] = number(
		sb_jsondom_get(root, "block_analysis"), "first_block_latency_s");
	f->metrics[SB_METRIC_DROPPED] = number(sb_jsondom_get(root, "streaming_analysis"), "dropped_ratio");
	f->metrics[SB_METRIC_RAM_PEAK] = MB * first_of(number(host, "ram_peak_mb"),
						      number(summary, "ram_peak_mb"));
	f->metrics[SB_METRIC_RSS_PEAK] = MB * number(host, "rss_peak_mb");
	f->metrics[SB_METRIC_SWAP_PEAK] = MB * number(host, "swap_peak_mb");
	f->metrics[SB_METRIC_PAGE_CACHE_PEAK] = MB * number(host, "page_cache_peak_mb");
	f->metrics[SB_METRIC_GPU_RESERVED_PEAK] = MB * number(memory, "reserved_peak_mb");
	f->metrics[SB_METRIC_DISK_READ] = first_of(
		1e9 * number(sb_jsondom_get(root, "disk_metrics"), "read_mean_gb_per_s"),
		number(sb_jsondom_get(root, "disk_metrics"), "read_mean_bytes_per_s"));
	f->metrics[SB_METRIC_CPU] = number(sb_jsondom_get(root, "cpu_metrics"), "usage_mean_percent");
}

static enum sb_stage_state state_of(node stage)
{
	const char *state = sb_jsondom_string(sb_jsondom_get(stage, "state"), "");

	return !strcmp(state, "skipped")   ? SB_STAGE_SKIPPED
	       : !strcmp(state, "untimed") ? SB_STAGE_UNTIMED
	       : !strcmp(state, "open")    ? SB_STAGE_OPEN
					   : SB_STAGE_NORMAL;
}

static uint32_t role_of(node stage)
{
	const char *role = sb_jsondom_string(sb_jsondom_get(stage, "role"), "");

	return !strcmp(role, "collective") ? STROBE_ROLE_COLLECTIVE
	       : !strcmp(role, "offload")  ? STROBE_ROLE_OFFLOAD
					   : STROBE_ROLE_STAGE;
}

static int64_t parent_of(const struct sb_facts *f, const char *name)
{
	for (size_t i = f->stage_count; name && i-- > 0;)
		if (!strcmp(f->stages[i].name, name))
			return (int64_t)i;
	return -1;
}

static void take_stage(struct sb_facts *f, node n)
{
	struct sb_fact_stage *s = &f->stages[f->stage_count];
	int64_t count = sb_jsondom_int(sb_jsondom_get(n, "count"), 0);

	*s = (struct sb_fact_stage){ .name = sb_facts_text(
					     f, sb_jsondom_string(sb_jsondom_get(n, "name"), "?")),
		.code = sb_facts_text(f, sb_jsondom_string(sb_jsondom_get(n, "code"), NULL)),
		.parent = parent_of(f, sb_jsondom_string(sb_jsondom_get(n, "parent"), NULL)),
		.role = role_of(n),
		.state = state_of(n),
		.reason = sb_facts_text(f, sb_jsondom_string(sb_jsondom_get(n, "reason"), NULL)),
		.count = count,
		.total_s = number(n, "total_s"),
		.self_s = number(n, "self_s"),
		.first_s = NAN,
		.gpu_span_s = number(n, "gpu_span_s"),
		.gpu_busy_s = number(n, "gpu_busy_s") };
	s->time = (struct sb_stats){ .count = count,
		.total = s->total_s,
		.mean = number(n, "mean_s"),
		.min = number(n, "min_s"),
		.max = number(n, "max_s"),
		.median = number(n, "p50_s"),
		.p95 = number(n, "p95_s"),
		.p99 = number(n, "p99_s"),
		.last = NAN,
		.std = NAN };
	s->depth = s->parent >= 0 ? f->stages[s->parent].depth + 1 : 0;
	if (s->role == STROBE_ROLE_COLLECTIVE && !isnan(s->total_s))
		f->metrics[SB_METRIC_COLLECTIVE] = first_of(f->metrics[SB_METRIC_COLLECTIVE], 0) + s->total_s;
	f->stage_count++;
}

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

static int take_stages(struct sb_facts *f, node root)
{
	node stages = sb_jsondom_path(root, "stage_analysis.stages");

	f->stages = calloc(stages ? stages->size + 1 : 1, sizeof *f->stages);
	if (!f->stages)
		return sb_fail(STROBE_ENOMEM, "no memory for the facts of '%s'", f->label);
	for (sb_jsondom_each(stage, stages)) {
		if (stage->type != SB_JSONDOM_OBJECT)
			continue;
		if (stages->type == SB_JSONDOM_ARRAY)
			take_stage(f, stage);
		else
			take_foreign_stage(f, stage);
	}
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

static int take_all(struct sb_facts *f, node root, const char *path)
{
	node schema = sb_jsondom_get(root, "schema");
	int err = take_session(f, root, path);

	if (!err && schema) {
		take_summary(f, root);
		take_gpu(f, root);
		err = take_generations(f, root);
	} else if (!err) {
		take_foreign(f, root);
	}
	return err ? err : take_stages(f, root);
}

int sb_report_in(const char *path, struct sb_facts **out_facts)
{
	struct sb_jsondom_doc *doc = NULL;
	struct sb_facts *f = NULL;
	int err = sb_jsondom_read(path, REPORT_BYTES_MAX, &doc);

	if (!err && !is_report(sb_jsondom_root(doc)))
		err = sb_fail(
			STROBE_EFORMAT, "'%s' is no report: it has no session_info and stage_analysis", path);
	if (!err && !(f = sb_facts_new(path)))
		err = STROBE_ENOMEM;
	if (!err)
		err = take_all(f, sb_jsondom_root(doc), path);
	sb_jsondom_free(doc);
	if (err) {
		sb_facts_free(f);
		return err;
	}
	*out_facts = f;
	return 0;
}
