/* What a JSON report says in its parts: stages, loops, memory, series. Which of them a report has is
 * known to profile_in.c. */
#include "exchange/profile_parts.h"

#include "base/error.h"
#include "exchange/profile_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE SB_TEXTLOG_NONE

typedef const struct sb_jsondom *node;

/* ---- stages ---- */

static enum sb_stagelog_kind kind_of(node stage)
{
	const char *state = sb_profile_string(stage, "state");

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
		.duration_ns = sb_profile_ns(sb_profile_either(stage, "total_s", "total_time")),
		.min_s = sb_profile_either(stage, "min_s", "min_time"),
		.max_s = sb_profile_either(stage, "max_s", "max_time"),
		.median_s = sb_profile_number(stage, "p50_s"),
		.std_s = sb_profile_number(stage, "std_s"),
		.digit_ns = sb_profile_ns(sb_profile_number(stage, "time_digit_s")) };
	int err;

	if (!line.calls)
		line.calls = sb_jsondom_int(sb_jsondom_get(stage, "call_count"), 0);
	snprintf(line.name, sizeof line.name, "%s", *name ? name : "?");
	if (strlen(sb_profile_string(stage, "code")) < sizeof line.code)
		strcpy(line.code, sb_profile_string(stage, "code"));
	snprintf(line.reason, sizeof line.reason, "%s", sb_profile_string(stage, "reason"));
	take_attributes(&line, sb_jsondom_get(stage, "attributes"));
	log->form_count++;
	log->skipped_count += line.kind == SB_STAGELOG_SKIPPED;
	log->untimed_count += line.kind == SB_STAGELOG_UNTIMED;
	err = sb_textlog_add(log, &line, out_node);
	if (!err && !strcmp(sb_profile_string(stage, "role"), "layer"))
		log->nodes[*out_node].role = STROBE_ROLE_LAYER;
	return err;
}

/* The row around it: by its place in the list, or the nearest of that name before it. */
static uint32_t parent_of(const struct sb_textlog *log, node stage, uint32_t self)
{
	int64_t index = sb_jsondom_int(sb_jsondom_get(stage, "parent_index"), -1);
	const char *parent = sb_profile_string(stage, "parent");

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
		const char *parent = sb_profile_string(stage, "parent");

		for (uint32_t i = 0; *parent && i < log->count; i++)
			if (i != child && log->nodes[i].parent != child &&
				!strcmp(log->nodes[i].line->name, parent)) {
				sb_textlog_set_parent(log, i, child);
				break;
			}
		child++;
	}
}

int sb_profile_take_stages(struct sb_textlog *log, node stages)
{
	bool by_name = stages && stages->type == SB_JSONDOM_OBJECT;

	for (sb_jsondom_each(stage, stages)) {
		uint32_t self, parent;
		int err = add_stage(log, stage,
			by_name && stage->key ? stage->key : sb_profile_string(stage, "name"), &self);

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

int sb_profile_add_loop(struct sb_textlog *log, node loop, const char *name)
{
	struct sb_textlog_loop *to = sb_vec_push(&log->loops, sizeof *to);

	if (!to)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	snprintf(to->name, sizeof to->name, "%s", *name ? name : "iterations");
	to->count = sb_jsondom_int(sb_jsondom_get(loop, "count"), 0);
	to->total_s = sb_profile_either(loop, "total_s", "total");
	to->mean_s = sb_profile_either(loop, "mean_s", "mean");
	to->median_s = sb_profile_either(loop, "median_s", "median");
	to->min_s = sb_profile_either(loop, "min_s", "min");
	to->max_s = sb_profile_either(loop, "max_s", "max");
	to->std_s = sb_profile_either(loop, "std_s", "std");
	to->frames_per_s = sb_profile_number(loop, "fps");
	to->aside = sb_jsondom_get(loop, "aside") != NULL;
	log->form_count++;
	return 0;
}

/* A loop of the report is one of its stages, where that has its name. */
int sb_profile_take_loop(struct sb_textlog *log, node loop)
{
	const char *name = sb_profile_string(loop, "name");

	for (uint32_t i = 0; i < log->count; i++) {
		if (strcmp(log->nodes[i].line->name, name) || log->nodes[i].role)
			continue;
		log->nodes[i].role = STROBE_ROLE_ITERATION;
		log->nodes[i].line->std_s = sb_profile_number(loop, "std_s");
		return 0;
	}
	return sb_profile_add_loop(log, loop, name);
}

/* "gpu:1", "cuda:1", 1: that GPU; "host", "cpu": -1, the process. Where none is named it is the first GPU. */
static int snapshot_device(node snapshot)
{
	const char *name = sb_profile_string(snapshot, "device"), *number = strchr(name, ':');
	int64_t device = sb_jsondom_int(sb_jsondom_get(snapshot, "device"), 0);

	if (!strcmp(name, "host") || !strcmp(name, "cpu"))
		return -1;
	if (number && number[1] >= '0' && number[1] <= '9')
		device = strtol(number + 1, NULL, 10);
	return device >= -1 && device < 64 ? (int)device : 0;
}

int sb_profile_take_snapshots(struct sb_textlog *log, node snapshots)
{
	for (sb_jsondom_each(s, snapshots)) {
		struct sb_textlog_memory *to = sb_vec_push(&log->memory, sizeof *to);

		if (!to)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		snprintf(to->label, sizeof to->label, "%s", sb_profile_string(s, "label"));
		to->allocated_mb = sb_profile_number(s, "allocated_mb");
		to->reserved_mb = sb_profile_number(s, "reserved_mb");
		to->peak_mb = sb_profile_either(s, "peak_mb", "max_allocated_mb");
		to->time_s = sb_profile_either(s, "t_s", "timestamp");
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
int sb_profile_take_series(struct sb_textlog *log, node from, const char *source, int device)
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
