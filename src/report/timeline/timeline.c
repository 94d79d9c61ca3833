/* Writes the lanes of a run as docs/page.md describes them. */
#include "report/timeline/timeline.h"

#include "analyze/gpu/kernel_names.h"
#include "analyze/gpu/short_names.h"
#include "run/events.h"
#include "run/gpu_traces.h"
#include "base/error.h"
#include "base/json.h"
#include "report/timeline/lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "SBTL1\n"
#define LANES_MAX 256u
#define NAME_BYTES_MAX 1024u

static const char *const kind_names[] = { "generation", "block", "step", "iteration", "thread", "track",
	"track", "span", "stream", "wait" };

static uint32_t recording_processes(const struct sb_run *run)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->process_count; i++)
		count += !run->processes[i].tool;
	return count;
}

static void lane_name(
	const struct sb_timeline *t, const struct sb_timeline_lane *lane, char *out, size_t size)
{
	static const char *const derived[] = { "Generations", "Blocks", "Steps", "Iterations" };
	const struct sb_run_track *track;
	char process[32] = "";
	const char *what = lane->kind == SB_TIMELINE_SPANS ? " spans" : "";

	if (lane->kind <= SB_TIMELINE_ITERATION) {
		snprintf(out, size, "%s", derived[lane->kind]);
		return;
	}
	if (lane->kind == SB_TIMELINE_WAIT) {
		snprintf(out, size, "Waits for GPU %u", lane->id >> 24);
		return;
	}
	if (lane->kind >= SB_TIMELINE_GPU_SPAN) {
		snprintf(out, size, "GPU %u stream %u%s", lane->id >> 24, lane->id & 0xffffff,
			lane->kind == SB_TIMELINE_GPU_SPAN ? " spans" : "");
		return;
	}
	track = &t->run->tracks[lane->id];
	if (recording_processes(t->run) > 1 && lane->process < t->run->process_count)
		snprintf(process, sizeof process, " (%u)", t->run->processes[lane->process].pid);
	if (track->name && *track->name)
		snprintf(out, size, "%s%s%s", track->name, what, process);
	else if (track->main)
		snprintf(out, size, "main%s%s", what, process);
	else if (track->tid)
		snprintf(out, size, "thread %u%s%s", track->tid, what, process);
	else
		snprintf(out, size, "task %u%s%s", track->track, what, process);
}

/* Main threads, then the GPUs, then whatever other threads there are, be they hundreds. */
static int place_of(const struct sb_timeline_lane *lane)
{
	enum { MAIN = SB_TIMELINE_THREAD, GPU, WORKER, TASK };

	if (lane->kind < SB_TIMELINE_THREAD)
		return (int)lane->kind;
	if (lane->kind >= SB_TIMELINE_GPU_SPAN)
		return GPU;
	if (lane->kind == SB_TIMELINE_TRACK || lane->kind == SB_TIMELINE_SPANS)
		return TASK;
	return lane->main ? MAIN : WORKER;
}

static int by_place(const void *a, const void *b, void *lanes)
{
	const struct sb_timeline_lane *x = (struct sb_timeline_lane *)lanes + *(const uint32_t *)a;
	const struct sb_timeline_lane *y = (struct sb_timeline_lane *)lanes + *(const uint32_t *)b;

	if (place_of(x) != place_of(y))
		return place_of(x) < place_of(y) ? -1 : 1;
	/* A stream's spans stand right above its kernels. */
	if (x->kind >= SB_TIMELINE_GPU_SPAN && x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->busy_ns != y->busy_ns)
		return x->busy_ns > y->busy_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* The lanes that are written, in order; the caller frees them. */
static uint32_t *order_lanes(struct sb_timeline *t, uint32_t *out_count)
{
	uint32_t *order = malloc((t->lane_count + 1) * sizeof *order);

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < t->lane_count; i++) {
		order[i] = i;
		t->lanes[i].written_as = UINT32_MAX;
	}
	qsort_r(order, t->lane_count, sizeof *order, by_place, t->lanes);
	*out_count = t->lane_count < LANES_MAX ? t->lane_count : LANES_MAX;
	for (uint32_t i = 0; i < *out_count; i++)
		t->lanes[order[i]].written_as = i;
	return order;
}

/* Numbers the names that occur and writes their texts. */
static void write_names(struct sb_timeline *t, const uint32_t *order, uint32_t lane_count, struct sb_json *j)
{
	const struct sb_run *run = t->run;
	uint32_t next = 0;

	memset(t->name_numbers, 0xff, ((size_t)run->name_count + 1) * sizeof *t->name_numbers);
	for (uint32_t l = 0; l < lane_count; l++) {
		const struct sb_timeline_lane *lane = &t->lanes[order[l]];

		for (uint32_t r = 0; r < lane->row_count; r++) {
			const struct sb_timeline_row *row = &t->rows.rows[lane->rows[r]];

			for (size_t i = 0; i < row->count; i++)
				t->name_numbers[row->entries[i].name] = 0;
		}
	}
	for (uint32_t i = 0; i < t->profile.name_count; i++)
		t->name_numbers[t->profile.names[i]] = 0;
	for (uint32_t i = 0; i < t->gpu_profile.name_count; i++)
		t->name_numbers[t->gpu_profile.names[i]] = 0;
	for (uint32_t i = 0; i < t->mark_count; i++)
		t->name_numbers[t->marks[i].name] = 0;
	sb_timeline_stacks_names(&t->stacks, t->name_numbers);
	sb_json_array_begin(j, "names");
	for (uint32_t i = 0; i < run->name_count; i++) {
		if (t->name_numbers[i] == UINT32_MAX)
			continue;
		t->name_numbers[i] = next++;
		sb_json_string_n(j, NULL, run->names[i].text, strnlen(run->names[i].text, NAME_BYTES_MAX));
	}
	if (t->name_numbers[run->name_count] != UINT32_MAX) {
		t->name_numbers[run->name_count] = next;
		sb_json_string(j, NULL, SB_TIMELINE_WAITING);
	}
	sb_json_array_end(j);
}

/* Names of calls that wait for the GPU: the page shows them once more, in a lane of their own. */
static void write_waits(const struct sb_timeline *t, struct sb_json *j)
{
	bool any = false;

	for (uint32_t i = 0; i < t->run->name_count; i++) {
		if (t->name_numbers[i] == UINT32_MAX || !sb_gpu_is_wait(t->run->names[i].text))
			continue;
		if (!any)
			sb_json_array_begin(j, "wait_names");
		any = true;
		sb_json_uint(j, NULL, t->name_numbers[i]);
	}
	if (any)
		sb_json_array_end(j);
}

static void write_kernel(
	const struct sb_timeline *t, uint32_t name, bool copies, const char *short_name, struct sb_json *j)
{
	struct sb_kernel_class class = { 0 };

	if (!copies)
		class = sb_kernel_classify(t->run->names[name].text);
	sb_json_array_begin(j, NULL);
	sb_json_uint(j, NULL, t->name_numbers[name]);
	sb_json_string(j, NULL, copies ? "copies and fills" : sb_kernel_family_name(class.family));
	sb_json_string(j, NULL, class.kind ? class.kind : "");
	sb_json_string(j, NULL, class.precision ? class.precision : "");
	if (short_name)
		sb_json_string(j, NULL, short_name);
	sb_json_array_end(j);
}

/* What each kernel does, by its name: [name, family, kind, precision], and its short name where it has one. Copies and
 * fills are a family too. */
static int write_kernels(const struct sb_timeline *t, struct sb_json *j)
{
	uint32_t copies, *works = malloc(((size_t)t->run->name_count + 1) * sizeof *works), count = 0;
	const char **names = malloc(((size_t)t->run->name_count + 1) * sizeof *names);
	size_t *at = malloc(((size_t)t->run->name_count + 1) * sizeof *at);
	struct sb_buf text = { 0 };
	int err = works && names && at ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the timeline");

	for (uint32_t i = 0; !err && i < t->run->name_count; i++) {
		if (t->name_numbers[i] == UINT32_MAX || !sb_map_get(&t->work_names, i, &copies))
			continue;
		names[count] = copies ? "" : t->run->names[i].text;
		works[count++] = i;
	}
	if (!err)
		err = sb_kernel_short_names(names, count, &text, at);
	sb_json_array_begin(j, "kernels");
	for (uint32_t i = 0; !err && i < count; i++)
		write_kernel(t, works[i], !*names[i], at[i] == SIZE_MAX ? NULL : text.data + at[i], j);
	sb_json_array_end(j);
	sb_buf_done(&text);
	free(works);
	free(names);
	free(at);
	return err;
}

/* The lane each track's zones are on; the caller frees it. */
static uint32_t *lanes_of_tracks(const struct sb_timeline *t)
{
	uint32_t *lanes = malloc((t->run->track_count + 1) * sizeof *lanes);

	if (!lanes)
		return NULL;
	for (uint32_t i = 0; i < t->run->track_count; i++) {
		uint32_t lane;

		lanes[i] = sb_map_get(&t->lane_of, (uint64_t)SB_TIMELINE_THREAD << 32 | i, &lane)
				   ? t->lanes[lane].written_as
				   : UINT32_MAX;
	}
	return lanes;
}

static void write_row(const struct sb_timeline *t, const struct sb_timeline_row *row, const uint32_t *lane_of,
	struct sb_json *j, struct sb_buf *body)
{
	sb_json_object_begin(j, NULL);
	sb_json_uint(j, "entries", row->count);
	sb_json_int(j, "merge_ns", row->merge_ns);
	sb_json_uint(j, "at", body->size);
	sb_timeline_row_write(row, t->name_numbers, body);
	if (row->launched && lane_of) {
		sb_json_uint(j, "launches_at", body->size);
		sb_timeline_row_write_launches(row, lane_of, body);
	}
	if (row->has_more) {
		sb_json_uint(j, "more_at", body->size);
		sb_timeline_row_write_more(row, body);
	}
	sb_json_object_end(j);
}

static void write_lanes(struct sb_timeline *t, const uint32_t *order, uint32_t lane_count, struct sb_json *j,
	struct sb_buf *body)
{
	uint32_t *lane_of = lanes_of_tracks(t);

	sb_json_array_begin(j, "lanes");
	for (uint32_t l = 0; l < lane_count; l++) {
		const struct sb_timeline_lane *lane = &t->lanes[order[l]];
		char name[320];

		lane_name(t, lane, name, sizeof name);
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "kind", kind_names[lane->kind]);
		sb_json_string(j, "name", name);
		if (lane->main)
			sb_json_bool(j, "main", true);
		if (lane->kind >= SB_TIMELINE_GPU_SPAN)
			sb_json_uint(j, "device", lane->id >> 24);
		if (lane->kind == SB_TIMELINE_SPANS)
			sb_json_bool(j, "overlap", true);
		if (lane->too_deep)
			sb_json_uint(j, "too_deep", lane->too_deep);
		sb_json_array_begin(j, "rows");
		for (uint32_t r = 0; r < lane->row_count; r++)
			write_row(t, &t->rows.rows[lane->rows[r]], lane_of, j, body);
		sb_json_array_end(j);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	free(lane_of);
}

static void write_marks(const struct sb_timeline *t, struct sb_json *j)
{
	sb_json_array_begin(j, "marks");
	for (uint32_t i = 0; i < t->mark_count; i++) {
		sb_json_array_begin(j, NULL);
		sb_json_int(j, NULL, t->marks[i].t_ns);
		sb_json_uint(j, NULL, t->name_numbers[t->marks[i].name]);
		sb_json_array_end(j);
	}
	sb_json_array_end(j);
}

static void write_details(const struct sb_timeline *t, struct sb_json *j)
{
	sb_json_array_begin(j, "details");
	for (uint32_t i = 0; i < t->detail_count; i++) {
		const struct sb_timeline_detail *d = &t->details[i];
		uint32_t lane = t->lanes[d->lane].written_as;

		if (lane == UINT32_MAX)
			continue;
		sb_json_array_begin(j, NULL);
		sb_json_uint(j, NULL, lane);
		sb_json_uint(j, NULL, d->row);
		sb_json_int(j, NULL, d->start_ns);
		sb_json_raw(j, NULL, t->detail_text.data + d->text);
		sb_json_array_end(j);
	}
	sb_json_array_end(j);
}

static void write_profile(const struct sb_timeline *t, const char *key, const struct sb_timeline_profile *p,
	struct sb_json *j, struct sb_buf *body)
{
	sb_json_object_begin(j, key);
	sb_json_int(j, "bin_ns", p->bin_ns);
	sb_json_uint(j, "bins", SB_PROFILE_BINS);
	sb_json_uint(j, "at", body->size);
	sb_json_array_begin(j, "names");
	for (uint32_t i = 0; i < p->name_count; i++)
		sb_json_uint(j, NULL, t->name_numbers[p->names[i]]);
	sb_json_array_end(j);
	sb_json_object_end(j);
	sb_timeline_profile_write(p, body);
}

/* When kernels were traced; nothing where the recording does not say it: an import has all of them. */
static int write_traced(const struct sb_run *run, struct sb_json *j)
{
	struct sb_vec traces = { 0 };
	const struct sb_gpu_trace *all;
	int err = sb_gpu_traces_find(run, &traces);

	all = traces.items;
	if (!err && traces.count) {
		sb_json_array_begin(j, "traced");
		for (size_t i = 0; i < traces.count; i++) {
			sb_json_array_begin(j, NULL);
			sb_json_int(j, NULL, all[i].begin_ns);
			sb_json_int(j, NULL, all[i].end_ns);
			sb_json_array_end(j);
		}
		sb_json_array_end(j);
	}
	free(traces.items);
	return err;
}

/* What is shared out to the zones of a thread: samples of it, memory that came. */
static void write_shared(struct sb_timeline *t, struct sb_json *j)
{
	uint32_t *lane_of = lanes_of_tracks(t);

	sb_timeline_stacks_write(&t->stacks, t->name_numbers, lane_of, t->run->track_count, j);
	sb_timeline_rises_write(&t->rises, t->run, lane_of, j);
	free(lane_of);
}

static int write_timeline(struct sb_timeline *t, struct sb_buf *out)
{
	struct sb_buf header = { 0 }, body = { 0 };
	const struct sb_pass *pass = sb_run_pass(t->run);
	struct sb_json j;
	uint32_t lane_count, *order = order_lanes(t, &lane_count);
	uint32_t size;
	int err;

	t->name_numbers = malloc(((size_t)t->run->name_count + 1) * sizeof *t->name_numbers);
	if (!order || !t->name_numbers) {
		free(order);
		return sb_fail(STROBE_ENOMEM, "no memory for the timeline");
	}
	sb_json_init(&j, &header, false);
	sb_json_object_begin(&j, NULL);
	sb_json_int(&j, "version", 1);
	sb_json_int(&j, "start_ns", t->run->from_ns);
	sb_json_int(&j, "end_ns", t->run->to_ns);
	sb_json_uint(&j, "zones", t->zones);
	if (pass && pass->folded_until_ns != INT64_MIN)
		sb_json_int(&j, "folded_until_ns", pass->folded_until_ns);
	if (t->lane_count > lane_count)
		sb_json_uint(&j, "lanes_left_out", t->lane_count - lane_count);
	write_names(t, order, lane_count, &j);
	write_waits(t, &j);
	write_lanes(t, order, lane_count, &j, &body);
	write_marks(t, &j);
	write_details(t, &j);
	write_profile(t, "profile", &t->profile, &j, &body);
	if (t->gpu_profile.name_count)
		write_profile(t, "gpu_profile", &t->gpu_profile, &j, &body);
	write_shared(t, &j);
	if (t->shapes.count)
		sb_timeline_shapes_write(&t->shapes, &j);
	err = write_kernels(t, &j);
	if (!err)
		err = write_traced(t->run, &j);
	sb_json_object_end(&j);
	size = (uint32_t)header.size;
	sb_buf_puts(out, MAGIC);
	sb_buf_add(out, &size, sizeof size);
	sb_buf_add(out, header.data, header.size);
	sb_buf_add(out, body.data, body.size);
	if (!err && (sb_buf_failed(&header) || sb_buf_failed(&body) || sb_buf_failed(out)))
		err = sb_fail(STROBE_ENOMEM, "no memory for the timeline");
	sb_buf_done(&header);
	sb_buf_done(&body);
	free(order);
	return err;
}

int sb_timeline_write(struct sb_run *run, struct sb_buf *out)
{
	struct sb_timeline *t = NULL;
	int err = sb_timeline_new(run, &t);

	if (!err)
		err = write_timeline(t, out);
	sb_timeline_free(t);
	return err;
}
