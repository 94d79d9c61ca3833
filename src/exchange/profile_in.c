/* Reads JSON that profilers write about a run: reports (strobe's and those of the session
 * profiler), exported timing statistics, memory logs, raw series. One table of forms;
 * what they say is laid out as a text's is (textlog.h). */
#include "base/buf.h"
#include "base/error.h"
#include "base/jsondom.h"
#include "exchange/import.h"
#include "exchange/profile_model.h"
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

static double number(node n, const char *key)
{
	return sb_jsondom_number(sb_jsondom_get(n, key), NAN);
}

static double either(node n, const char *key, const char *other)
{
	double value = number(n, key);

	return isnan(value) ? number(n, other) : value;
}

static const char *string(node n, const char *key)
{
	return sb_jsondom_string(sb_jsondom_get(n, key), "");
}

static int64_t nanoseconds(double s)
{
	return s > 0 && s < 1e8 ? (int64_t)(s * 1e9 + 0.5) : 0;
}

/* ---- stages ---- */

static enum sb_stagelog_kind kind_of(node stage)
{
	const char *state = string(stage, "state");

	return !strcmp(state, "skipped")   ? SB_STAGELOG_SKIPPED
	       : !strcmp(state, "untimed") ? SB_STAGELOG_UNTIMED
					   : SB_STAGELOG_TIMED;
}

/* The program's own numbers; of several calls counts are summed up. */
static void take_attributes(struct sb_stagelog_line *line, node attributes)
{
	for (sb_jsondom_each(a, attributes)) {
		struct sb_stagelog_attr *to = &line->attrs[line->attr_count];

		if (a->type != SB_JSONDOM_NUMBER || !a->key || strlen(a->key) >= sizeof to->key ||
			line->attr_count == SB_STAGELOG_ATTRS_MAX)
			continue;
		*to = (struct sb_stagelog_attr){ .f = a->number };
		to->is_int = fabs(a->number) < 1e15 && a->number == (double)(int64_t)a->number;
		to->i = to->is_int ? (int64_t)a->number : 0;
		strcpy(to->key, a->key);
		line->attr_count++;
	}
}

static int add_stage(struct sb_textlog *log, node stage, const char *name, uint32_t *out_node)
{
	struct sb_stagelog_line line = { .kind = kind_of(stage),
		.calls = sb_jsondom_int(sb_jsondom_get(stage, "count"), 0),
		.duration_ns = nanoseconds(either(stage, "total_s", "total_time")),
		.min_s = either(stage, "min_s", "min_time"),
		.max_s = either(stage, "max_s", "max_time"),
		.median_s = number(stage, "p50_s"),
		.std_s = number(stage, "std_s") };

	if (!line.calls)
		line.calls = sb_jsondom_int(sb_jsondom_get(stage, "call_count"), 0);
	snprintf(line.name, sizeof line.name, "%s", *name ? name : "?");
	if (strlen(string(stage, "code")) < sizeof line.code)
		strcpy(line.code, string(stage, "code"));
	snprintf(line.reason, sizeof line.reason, "%s", string(stage, "reason"));
	take_attributes(&line, sb_jsondom_get(stage, "attributes"));
	log->form_count++;
	log->skipped_count += line.kind == SB_STAGELOG_SKIPPED;
	log->untimed_count += line.kind == SB_STAGELOG_UNTIMED;
	return sb_textlog_add(log, &line, out_node);
}

/* The row around it: by its place in the list, or the nearest of that name before it. */
static uint32_t parent_of(const struct sb_textlog *log, node stage, uint32_t self)
{
	int64_t index = sb_jsondom_int(sb_jsondom_get(stage, "parent_index"), -1);
	const char *parent = string(stage, "parent");

	if (index >= 0)
		return index < self ? (uint32_t)index : NONE;
	for (uint32_t i = *parent ? self : 0; i-- > 0;)
		if (!strcmp(log->nodes[i].line->name, parent))
			return i;
	return NONE;
}

/* A foreign report keys them by name, largest first: a parent may come after its child. */
static void nest_by_name(struct sb_textlog *log, node stages)
{
	uint32_t child = 0;

	for (sb_jsondom_each(stage, stages)) {
		const char *parent = string(stage, "parent");

		for (uint32_t i = 0; *parent && i < log->count; i++)
			if (i != child && log->nodes[i].parent != child &&
				!strcmp(log->nodes[i].line->name, parent)) {
				sb_textlog_set_parent(log, i, child);
				break;
			}
		child++;
	}
}

static int take_stages(struct sb_textlog *log, node stages)
{
	bool by_name = stages && stages->type == SB_JSONDOM_OBJECT;

	for (sb_jsondom_each(stage, stages)) {
		uint32_t self, parent;
		int err = add_stage(
			log, stage, by_name && stage->key ? stage->key : string(stage, "name"), &self);

		if (err)
			return err;
		parent = by_name ? NONE : parent_of(log, stage, self);
		if (parent != NONE)
			sb_textlog_set_parent(log, parent, self);
	}
	if (by_name)
		nest_by_name(log, stages);
	return 0;
}

/* ---- loops, memory, series ---- */

static int add_loop(struct sb_textlog *log, node loop, const char *name)
{
	struct sb_textlog_loop *to = sb_vec_push(&log->loops, sizeof *to);

	if (!to)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	snprintf(to->name, sizeof to->name, "%s", *name ? name : "iterations");
	to->count = sb_jsondom_int(sb_jsondom_get(loop, "count"), 0);
	to->total_s = either(loop, "total_s", "total");
	to->mean_s = either(loop, "mean_s", "mean");
	to->median_s = either(loop, "median_s", "median");
	to->min_s = either(loop, "min_s", "min");
	to->max_s = either(loop, "max_s", "max");
	to->std_s = either(loop, "std_s", "std");
	to->frames_per_s = number(loop, "fps");
	to->aside = sb_jsondom_get(loop, "aside") != NULL;
	log->form_count++;
	return 0;
}

/* A loop of the report is one of its stages, where that has its name. */
static int take_loop(struct sb_textlog *log, node loop)
{
	const char *name = string(loop, "name");

	for (uint32_t i = 0; i < log->count; i++) {
		if (strcmp(log->nodes[i].line->name, name) || log->nodes[i].role)
			continue;
		log->nodes[i].role = STROBE_ROLE_ITERATION;
		log->nodes[i].line->std_s = number(loop, "std_s");
		return 0;
	}
	return add_loop(log, loop, name);
}

/* "gpu:1", "cuda:1", 1: that GPU; "host", "cpu": -1, the process. Where none is named it is the first GPU. */
static int snapshot_device(node snapshot)
{
	const char *name = string(snapshot, "device"), *number = strchr(name, ':');
	int64_t device = sb_jsondom_int(sb_jsondom_get(snapshot, "device"), 0);

	if (!strcmp(name, "host") || !strcmp(name, "cpu"))
		return -1;
	if (number && number[1] >= '0' && number[1] <= '9')
		device = strtol(number + 1, NULL, 10);
	return device >= -1 && device < 64 ? (int)device : 0;
}

static int take_snapshots(struct sb_textlog *log, node snapshots)
{
	for (sb_jsondom_each(s, snapshots)) {
		struct sb_textlog_memory *to = sb_vec_push(&log->memory, sizeof *to);

		if (!to)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		snprintf(to->label, sizeof to->label, "%s", string(s, "label"));
		to->allocated_mb = number(s, "allocated_mb");
		to->reserved_mb = number(s, "reserved_mb");
		to->peak_mb = either(s, "peak_mb", "max_allocated_mb");
		to->time_s = either(s, "t_s", "timestamp");
		to->device = snapshot_device(s);
		to->place.after = log->count;
		log->form_count++;
	}
	return 0;
}

static bool is_column(node column, size_t size)
{
	return column->type == SB_JSONDOM_ARRAY && column->size == size && column->key &&
	       strcmp(column->key, "t_s");
}

/* {"t_s": [...], "memory_used_mb": [...]}: columns as long as the times. */
static int take_series(struct sb_textlog *log, node from, const char *source, int device)
{
	node times = sb_jsondom_get(from, "t_s");
	struct sb_textlog_series *to;
	size_t count = times ? times->size : 0, width = 0;

	for (sb_jsondom_each(column, from))
		width += is_column(column, count);
	if (!count || !width || width > SB_TEXTLOG_COLUMNS_MAX)
		return 0;
	to = sb_vec_push(&log->series, sizeof *to);
	if (!to)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	snprintf(to->source, sizeof to->source, "%s", source);
	to->device = device;
	to->values = malloc(count * (width + 1) * sizeof *to->values);
	if (!to->values)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	to->count = count;
	for (sb_jsondom_each(column, from)) {
		size_t row = 0, at = column == times ? 0 : to->column_count + 1;

		if (column != times && !is_column(column, count))
			continue;
		if (column != times)
			snprintf(to->columns[to->column_count++], sizeof to->columns[0], "%s", column->key);
		for (sb_jsondom_each(value, column))
			to->values[row++ * (width + 1) + at] = sb_jsondom_number(value, NAN);
	}
	log->form_count++;
	return 0;
}

/* ---- the forms ---- */

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

static void take_session(struct sb_textlog *log, node session)
{
	const char *name = string(session, "name");
	int64_t rank = sb_jsondom_int(sb_jsondom_get(session, "rank"), -1);
	int64_t world = sb_jsondom_int(sb_jsondom_get(session, "world_size"), -1);

	if (world < 0)
		world = sb_jsondom_int(sb_jsondom_get(session, "world_size_count"), -1);
	snprintf(log->session, sizeof log->session, "%s", *name ? name : string(session, "id"));
	log->start_real_ns = time_of(sb_jsondom_get(session, "start_time"));
	log->has_rank = rank >= 0 && rank < INT32_MAX;
	log->rank = log->has_rank ? (int32_t)rank : -1;
	log->world_size = world > 0 && world < INT32_MAX ? (int32_t)world : 0;
}

static int take_machine(struct sb_textlog *log, node root)
{
	int err = 0, device = 0;

	for (sb_jsondom_each(gpu, sb_jsondom_path(root, "gpu_metrics.devices"))) {
		if (!err)
			err = take_series(log, sb_jsondom_get(gpu, "series"), "gpu",
				(int)sb_jsondom_int(sb_jsondom_get(gpu, "device"), device++));
	}
	if (!err)
		err = take_series(log, sb_jsondom_path(root, "cpu_metrics.series"), "cpu", -1);
	return err;
}

/* Steps and blocks of the session profiler: {"total_steps": 40, "avg_step_time_ms": 20.1, …}. */
static bool read_analysis(node analysis, const char *what, struct sb_textlog_loop *out)
{
	char key[64];
	double count;

	snprintf(key, sizeof key, "total_%ss", what);
	count = number(analysis, key);
	if (!(count >= 1) || count > 1e15)
		return false;
	out->count = (int64_t)count;
	out->total_s = number(analysis, "total_time_ms") / 1e3;
	out->mean_s = out->std_s = NAN;
	snprintf(key, sizeof key, "min_%s_time_ms", what);
	out->min_s = number(analysis, key) / 1e3;
	snprintf(key, sizeof key, "max_%s_time_ms", what);
	out->max_s = number(analysis, key) / 1e3;
	snprintf(key, sizeof key, "median_%s_time_ms", what);
	out->median_s = number(analysis, key) / 1e3;
	snprintf(out->stage, sizeof out->stage, "%s", string(analysis, "parent"));
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
	double frames = number(sb_jsondom_get(root, "summary"), "frames");

	if (isnan(frames))
		frames = number(sb_jsondom_get(root, "block_analysis"), "total_frames");
	if (isnan(frames))
		frames = number(sb_jsondom_get(root, "diffusion_analysis"), "total_frames");
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
	double wall_s = number(analysis, "wall_s");
	int err;

	take_session(log, session);
	log->threads = true;
	log->form_count++;
	err = take_stages(log, sb_jsondom_get(analysis, "stages"));
	for (sb_jsondom_each(loop, sb_jsondom_get(root, "iterations")))
		if (!err)
			err = take_loop(log, loop);
	if (!err) /* before the steps, which they may hold */
		err = take_analysis(log, sb_jsondom_get(root, "block_analysis"), "block", "block", "", steps);
	if (!err)
		err = take_analysis(
			log, steps, "step", "diffusion_step", has_stage(log, "block") ? "block" : "", NULL);
	if (!err)
		err = take_snapshots(log, sb_jsondom_path(root, "memory.snapshots"));
	if (!err)
		err = take_machine(log, root);
	if (!err)
		err = sb_profile_take_model(log, sb_jsondom_get(root, "model_analysis"));
	take_frames(log, root);
	if (!isnan(wall_s))
		log->covered_ns = nanoseconds(wall_s) - nanoseconds(number(analysis, "unattributed_s"));
	log->segment_whole_ns = nanoseconds(
		isnan(wall_s) ? either(session, "duration_s", "duration") : wall_s);
	return err;
}

/* Inside the operation that can hold it; beside them its time would count twice. */
static int add_summed_loop(struct sb_textlog *log, node loop)
{
	struct sb_textlog_loop *loops;
	bool nested = false;
	int err = add_loop(log, loop, loop->key ? loop->key : "");

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
			.total_s = number(op, "total"),
			.min_s = number(op, "min"),
			.max_s = number(op, "max"),
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
		err = take_snapshots(log, sb_jsondom_get(root, "memory_snapshots"));
	for (size_t i = 0; i < log->memory.count; i++) /* when a row ran is not known: in no stage */
		if (log->count)
			((struct sb_textlog_memory *)log->memory.items)[i].time_s = NAN;
	return err;
}

static int take_memory_log(struct sb_textlog *log, node root)
{
	log->form_count++;
	return take_snapshots(log, root->type == SB_JSONDOM_ARRAY ? root : sb_jsondom_get(root, "snapshots"));
}

static int take_raw_data(struct sb_textlog *log, node root)
{
	int err = 0;

	snprintf(log->session, sizeof log->session, "%s", string(root, "name"));
	log->form_count++;
	for (sb_jsondom_each(series, sb_jsondom_get(root, "series")))
		if (!err)
			err = take_series(log, series, string(series, "source"),
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

static int import_profile(struct sb_source *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct sb_textlog log = { .banner = NONE, .rank = -1 };
	struct sb_jsondom_doc *doc = NULL;
	struct sb_buf bytes = { 0 };
	const struct form *form;
	int err = sb_source_read_all(source, path, BYTES_MAX, &bytes);

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
