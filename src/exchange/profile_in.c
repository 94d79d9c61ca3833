/* Reads JSON that profilers write about a run: reports (strobe's and those of the session
 * profiler), exported timing statistics, memory logs, raw series. One table of forms;
 * what they say is laid out as a text's is (textlog.h). */
#include "base/buf.h"
#include "base/error.h"
#include "base/jsondom.h"
#include "exchange/import.h"
#include "exchange/profile_json.h"
#include "exchange/profile_model.h"
#include "exchange/profile_parts.h"
#include "exchange/textlog.h"
#include "strobe.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES_MAX (256u << 20)
#define NONE SB_TEXTLOG_NONE

typedef const struct sb_jsondom *node;

static uint64_t time_of(node start)
{
	const char *iso = sb_jsondom_string(start, NULL);
	struct tm t = { .tm_isdst = -1 };
	char *rest = iso ? strptime(iso, "%Y-%m-%dT%H:%M:%S", &t) : NULL;
	int hours = 0, minutes = 0;
	double seconds;
	bool zoned;

	if (start && start->type == SB_JSONDOM_NUMBER)
		return start->number > 0 && start->number < 1e10 ? (uint64_t)(start->number * 1e9) : 0;
	if (!rest)
		return 0;
	if (*rest == '.')
		strtod(rest, &rest);
	zoned = *rest == '+' || *rest == '-' || *rest == 'Z';
	if (*rest == '+' || *rest == '-')
		sscanf(rest + 1, "%2d:%2d", &hours, &minutes);
	seconds = (double)(zoned ? timegm(&t) : mktime(&t)) -
		  (*rest == '-' ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
	return seconds > 0 && seconds < 1e10 ? (uint64_t)seconds * 1000000000u : 0;
}

/* What the report's own run had not. */
static int take_missing(struct sb_textlog *log, node missing)
{
	for (sb_jsondom_each(one, missing)) {
		struct sb_textlog_missing *to = sb_vec_push(&log->missing, sizeof *to);

		if (!to)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		snprintf(to->what, sizeof to->what, "%s", sb_profile_string(one, "what"));
		log->sums_only |= !strcmp(to->what, "order of the operations");
		snprintf(to->why_how, sizeof to->why_how, "%s|%s", sb_profile_string(one, "why"),
			sb_profile_string(one, "how"));
	}
	return 0;
}

/* "sdpa_overhead +380s": the one event that is a number of the report. */
static int take_differences(struct sb_textlog *log, node events)
{
	for (sb_jsondom_each(event, events)) {
		double more_s = sb_profile_number(sb_jsondom_get(event, "attributes"), "more_s");
		struct sb_textlog_difference *to;

		if (isnan(more_s))
			continue;
		to = sb_vec_push(&log->differences, sizeof *to);
		if (!to)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		snprintf(to->name, sizeof to->name, "%s", sb_profile_string(event, "name"));
		to->more_s = more_s;
	}
	return 0;
}

static void take_session(struct sb_textlog *log, node session)
{
	const char *name = sb_profile_string(session, "name");
	int64_t rank = sb_jsondom_int(sb_jsondom_get(session, "rank"), -1);
	int64_t world = sb_jsondom_int(sb_jsondom_get(session, "world_size"), -1);

	if (world < 0)
		world = sb_jsondom_int(sb_jsondom_get(session, "world_size_count"), -1);
	snprintf(log->session, sizeof log->session, "%s", *name ? name : sb_profile_string(session, "id"));
	if (!sb_jsondom_bool(sb_jsondom_get(session, "file_date"), false))
		log->start_real_ns = time_of(sb_jsondom_get(session, "start_time"));
	log->digit_ns = sb_profile_ns(sb_profile_number(session, "time_digit_s"));
	log->no_times = sb_jsondom_bool(sb_jsondom_get(session, "no_times"), false);
	log->rank_count = sb_jsondom_int(sb_jsondom_path(session, "tags.ranks"), 0);
	log->report_count = sb_jsondom_int(sb_jsondom_path(session, "tags.reports"), 0);
	log->has_rank = rank >= 0 && rank < INT32_MAX;
	log->rank = log->has_rank ? (int32_t)rank : -1;
	log->world_size = world > 0 && world < INT32_MAX ? (int32_t)world : 0;
}

/* The host's memory: its series is on the timeline, its size beside it. */
static int take_host_memory(struct sb_textlog *log, node memory)
{
	node times = sb_jsondom_path(memory, "timeline.t_s"),
	     used = sb_jsondom_path(memory, "timeline.ram_used_mb"), value = used ? used->first : NULL;
	double total_mb = sb_jsondom_number(sb_jsondom_path(memory, "host.ram_total_mb"), NAN);
	struct sb_textlog_series *to;

	if (!times || !used || !times->size || times->size != used->size || isnan(total_mb))
		return 0;
	to = sb_vec_push(&log->series, sizeof *to);
	if (to)
		to->values = malloc(times->size * 3 * sizeof *to->values);
	if (!to || !to->values)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	strcpy(to->source, "memory");
	strcpy(to->columns[0], "total_mb");
	strcpy(to->columns[1], "used_mb");
	to->column_count = 2;
	to->device = -1;
	for (sb_jsondom_each(at, times)) {
		double *row = to->values + 3 * to->count++;

		row[0] = sb_jsondom_number(at, NAN);
		row[1] = total_mb;
		row[2] = sb_jsondom_number(value, NAN);
		value = value->next;
	}
	return 0;
}

/* A rate that a text gave once. */
static int take_disk(struct sb_textlog *log, node disk)
{
	double rate = sb_profile_number(disk, "read_mean_gb_per_s");
	node times = sb_jsondom_path(disk, "series.t_s");
	struct sb_textlog_sample *to;

	if (!(rate > 0) || !times || times->size != 1)
		return 0;
	to = sb_vec_push(&log->samples, sizeof *to);
	if (!to)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	*to = (struct sb_textlog_sample){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, rate * 1e9, 0,
		{ .after = log->count } };
	return 0;
}

static int take_machine(struct sb_textlog *log, node root)
{
	int err = 0, device = 0;

	for (sb_jsondom_each(gpu, sb_jsondom_path(root, "gpu_metrics.devices"))) {
		if (!err)
			err = sb_profile_take_series(log, sb_jsondom_get(gpu, "series"), "gpu",
				(int)sb_jsondom_int(sb_jsondom_get(gpu, "device"), device++));
	}
	if (!err)
		err = sb_profile_take_series(log, sb_jsondom_path(root, "cpu_metrics.series"), "cpu", -1);
	if (!err)
		err = take_host_memory(log, sb_jsondom_get(root, "memory"));
	return err ? err : take_disk(log, sb_jsondom_get(root, "disk_metrics"));
}

/* Steps and blocks of the session profiler: {"total_steps": 40, "avg_step_time_ms": 20.1, …}. */
static bool read_analysis(node analysis, const char *what, struct sb_textlog_loop *out)
{
	char key[64];
	double count;

	snprintf(key, sizeof key, "total_%ss", what);
	count = sb_profile_number(analysis, key);
	if (!(count >= 1) || count > 1e15)
		return false;
	out->count = (int64_t)count;
	out->total_s = sb_profile_number(analysis, "total_time_ms") / 1e3;
	out->mean_s = out->std_s = NAN;
	snprintf(key, sizeof key, "min_%s_time_ms", what);
	out->min_s = sb_profile_number(analysis, key) / 1e3;
	snprintf(key, sizeof key, "max_%s_time_ms", what);
	out->max_s = sb_profile_number(analysis, key) / 1e3;
	snprintf(key, sizeof key, "median_%s_time_ms", what);
	out->median_s = sb_profile_number(analysis, key) / 1e3;
	snprintf(out->stage, sizeof out->stage, "%s", sb_profile_string(analysis, "parent"));
	return true;
}

/* Steps that were handed in before their block was: they ran in it, unless the report names another stage. */
static bool steps_fit(node steps, const struct sb_textlog_loop *blocks)
{
	struct sb_textlog_loop loop = { 0 };
	int64_t blocks_ns = sb_textlog_loop_ns(blocks);

	return read_analysis(steps, "step", &loop) && !*loop.stage && !*blocks->stage &&
	       sb_textlog_loop_ns(&loop) <= blocks_ns + blocks_ns / 200;
}

/* inside: the stage around it, where the analysis names none; "": not known. steps: those that it may hold; NULL: none. */
static int take_analysis(struct sb_textlog *log, node analysis, const char *what, const char *name,
	const char *inside, node steps)
{
	struct sb_textlog_loop loop = { 0 }, *beside;
	uint32_t self;
	bool nested;
	int err;

	if (!read_analysis(analysis, what, &loop))
		return 0;
	snprintf(loop.name, sizeof loop.name, "%s", name);
	if (!*loop.stage)
		snprintf(loop.stage, sizeof loop.stage, "%s", inside);
	err = sb_textlog_nest_loop(log, &loop, &nested);
	if (err || nested)
		return err;
	if (steps && steps_fit(steps, &loop))
		return sb_textlog_stage_of_loop(log, &loop, &self);
	beside = sb_vec_push(&log->loops, sizeof *beside);
	if (!beside)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	*beside = loop;
	return 0;
}

static void take_frames(struct sb_textlog *log, node root)
{
	double frames = sb_profile_number(sb_jsondom_get(root, "summary"), "frames");

	if (isnan(frames))
		frames = sb_profile_number(sb_jsondom_get(root, "block_analysis"), "total_frames");
	if (isnan(frames))
		frames = sb_profile_number(sb_jsondom_get(root, "diffusion_analysis"), "total_frames");
	if (frames > 0 && frames < 1e15)
		sb_textlog_add_frames(log, (int64_t)frames);
	log->has_video = true;
}

static bool has_stage(const struct sb_textlog *log, const char *name)
{
	for (uint32_t i = log->segment; i < log->count; i++)
		if (!strcmp(log->nodes[i].line->name, name))
			return true;
	return false;
}

static int take_report(struct sb_textlog *log, node root)
{
	node analysis = sb_jsondom_get(root, "stage_analysis"),
	     session = sb_jsondom_get(root, "session_info"),
	     steps = sb_jsondom_get(root, "diffusion_analysis");
	double wall_s = sb_profile_number(analysis, "wall_s");
	int err;

	take_session(log, session);
	log->threads = true;
	log->form_count++;
	err = sb_profile_take_stages(log, sb_jsondom_get(analysis, "stages"));
	for (sb_jsondom_each(loop, sb_jsondom_get(root, "iterations")))
		if (!err)
			err = sb_profile_take_loop(log, loop);
	if (!err) /* before the steps, which they may hold */
		err = take_analysis(log, sb_jsondom_get(root, "block_analysis"), "block", "block", "", steps);
	if (!err)
		err = take_analysis(
			log, steps, "step", "diffusion_step", has_stage(log, "block") ? "block" : "", NULL);
	if (!err)
		err = sb_profile_take_snapshots(log, sb_jsondom_path(root, "memory.snapshots"));
	if (!err)
		err = take_machine(log, root);
	if (!err)
		err = sb_profile_take_model(log, sb_jsondom_get(root, "model_analysis"));
	if (!err)
		err = take_missing(log, sb_jsondom_get(root, "not_recorded"));
	if (!err)
		err = take_differences(log, sb_jsondom_get(root, "events"));
	for (size_t i = 0; log->no_times && i < log->memory.count; i++)
		((struct sb_textlog_memory *)log->memory.items)[i].time_s = NAN;
	take_frames(log, root);
	if (!isnan(wall_s) && !log->no_times)
		log->covered_ns = sb_profile_ns(wall_s) -
				  sb_profile_ns(sb_profile_number(analysis, "unattributed_s"));
	if (!log->no_times)
		log->segment_whole_ns = sb_profile_ns(
			isnan(wall_s) ? sb_profile_either(session, "duration_s", "duration") : wall_s);
	if (log->sums_only) /* a moment after the rows, for what is in none of them */
		log->segment_whole_ns -= log->segment_whole_ns % 10;
	return err;
}

/* Inside the operation that can hold it; beside them its time would count twice. */
static int add_summed_loop(struct sb_textlog *log, node loop)
{
	struct sb_textlog_loop *loops;
	bool nested = false;
	int err = sb_profile_add_loop(log, loop, loop->key ? loop->key : "");

	loops = log->loops.items;
	if (!err)
		err = sb_textlog_nest_loop(log, &loops[log->loops.count - 1], &nested);
	if (nested)
		log->loops.count--;
	return err;
}

static int take_export(struct sb_textlog *log, node root)
{
	int err = 0;

	log->sums_only = true;
	log->start_real_ns = time_of(sb_jsondom_get(root, "timestamp"));
	for (sb_jsondom_each(op, sb_jsondom_get(root, "timing_stats"))) {
		struct sb_textlog_sums sums = { .name = op->key ? op->key : "?",
			.calls = sb_jsondom_int(sb_jsondom_get(op, "count"), 1),
			.total_s = sb_profile_number(op, "total"),
			.min_s = sb_profile_number(op, "min"),
			.max_s = sb_profile_number(op, "max"),
			.median_s = NAN };
		uint32_t added;

		if (!err)
			err = sb_textlog_add_sums(log, &sums, &added);
	}
	for (sb_jsondom_each(loop, sb_jsondom_get(root, "iteration_stats")))
		if (!err)
			err = add_summed_loop(log, loop);
	log->form_count++;
	if (!err)
		err = sb_profile_take_snapshots(log, sb_jsondom_get(root, "memory_snapshots"));
	for (size_t i = 0; i < log->memory.count; i++) /* when a row ran is not known: in no stage */
		if (log->count)
			((struct sb_textlog_memory *)log->memory.items)[i].time_s = NAN;
	return err;
}

static int take_memory_log(struct sb_textlog *log, node root)
{
	log->form_count++;
	return sb_profile_take_snapshots(
		log, root->type == SB_JSONDOM_ARRAY ? root : sb_jsondom_get(root, "snapshots"));
}

static int take_raw_data(struct sb_textlog *log, node root)
{
	int err = 0;

	snprintf(log->session, sizeof log->session, "%s", sb_profile_string(root, "name"));
	log->form_count++;
	for (sb_jsondom_each(series, sb_jsondom_get(root, "series")))
		if (!err)
			err = sb_profile_take_series(log, series, sb_profile_string(series, "source"),
				(int)sb_jsondom_int(sb_jsondom_get(series, "device"), -1));
	return err;
}

/* A form by the first key that no other file has. */
static const struct form {
	const char *key;
	int (*take)(struct sb_textlog *log, node root);
} forms[] = {
	{ "\"session_info\"", take_report },
	{ "\"timing_stats\"", take_export },
	{ "\"snapshots\"", take_memory_log },
	{ "\"allocated_mb\"", take_memory_log },
	{ "\"session_id\"", take_raw_data },
};

static const struct form *form_of(const char *bytes, size_t size)
{
	size_t i = 0;

	while (i < size && isspace((unsigned char)bytes[i]))
		i++;
	if (i == size || (bytes[i] != '{' && bytes[i] != '['))
		return NULL;
	/* a trace may hold anything further on; it says what it is, or begins with an event */
	if (memmem(bytes, size, "\"traceEvents\"", 13) || memmem(bytes, size, "\"ph\"", 4))
		return NULL;
	for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++)
		if (memmem(bytes, size, forms[f].key, strlen(forms[f].key)))
			return &forms[f];
	return NULL;
}

static bool looks_like_profile(const char *bytes, size_t size)
{
	return form_of(bytes, size) != NULL;
}

static int import_profile(struct sb_foreign *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct sb_textlog log = { .banner = NONE, .rank = -1 };
	struct sb_jsondom_doc *doc = NULL;
	struct sb_buf bytes = { 0 };
	const struct form *form;
	int err = sb_foreign_read_all(source, path, BYTES_MAX, &bytes);

	(void)opts;
	form = err ? NULL : form_of(bytes.data, bytes.size < 4096 ? bytes.size : 4096);
	if (!err)
		err = sb_jsondom_parse(path, bytes.data, bytes.size, &doc);
	if (!err && form)
		err = form->take(&log, sb_jsondom_root(doc));
	if (!err) {
		sb_textlog_end_segment(&log);
		if (log.threads)
			log.doubts.count = 0;
		err = sb_textlog_write(&log, path, strobe_path, "");
	}
	out_summary->zones = log.count + log.loops.count - log.skipped_count;
	out_summary->skipped = log.skipped_count;
	out_summary->untimed = log.untimed_count;
	out_summary->snapshots = log.memory.count;
	sb_textlog_done(&log);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
	return err;
}

const struct sb_importer sb_profile_importer = { "report", looks_like_profile, import_profile };
