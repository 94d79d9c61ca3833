/* A reading holds what was allocated then: what is more than before came in between. */
#include "report/timeline/rises.h"

#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define READINGS_MAX 50000u

struct sb_timeline_reading {
	int64_t t_ns, bytes;
	uint32_t process, track; /* track: of what the program told; else UINT32_MAX */
	int device;
};

void sb_timeline_rises_done(struct sb_timeline_rises *r)
{
	free(r->readings.items);
	memset(r, 0, sizeof *r);
}

/* Of the host only strobe's own readings: a program's own snapshot may be of anything. */
static bool is_reading(const struct sb_run *run, const struct sb_event *e)
{
	return e->snapshot.allocated_bytes >= 0 &&
	       (e->snapshot.device >= 0 || !strcmp(run->names[e->name].text, SB_MEMORY_READING_HOST));
}

void sb_timeline_rises_add(struct sb_timeline_rises *r, const struct sb_run *run, const struct sb_event *e)
{
	bool told = e->kind == SB_EVENT_ALLOC;
	struct sb_timeline_reading *one;

	if (r->readings.count >= READINGS_MAX || (told ? e->alloc.bytes <= 0 : !is_reading(run, e)))
		return;
	one = sb_vec_push(&r->readings, sizeof *one);
	if (one)
		*one = (struct sb_timeline_reading){ .t_ns = e->t_ns,
			.bytes = told ? e->alloc.bytes : e->snapshot.allocated_bytes,
			.process = e->process,
			.track = told ? e->track : UINT32_MAX,
			.device = told                     ? SB_RISE_TOLD
				  : e->snapshot.device < 0 ? SB_RISE_HOST
							   : e->snapshot.device };
}

static int by_source_and_time(const void *a, const void *b)
{
	const struct sb_timeline_reading *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static uint32_t main_track(const struct sb_run *run, uint32_t process)
{
	for (uint32_t i = 0; i < run->track_count; i++)
		if (run->tracks[i].process == process &&
			(run->tracks[i].main || run->tracks[i].tid == run->processes[process].pid))
			return i;
	return UINT32_MAX;
}

static void write_rise(const struct sb_timeline_reading *from, const struct sb_timeline_reading *to,
	int64_t bytes, uint32_t lane, struct sb_json *j)
{
	sb_json_array_begin(j, NULL);
	sb_json_int(j, NULL, from->t_ns);
	sb_json_int(j, NULL, to->t_ns);
	sb_json_int(j, NULL, lane == UINT32_MAX ? -1 : (int64_t)lane);
	sb_json_int(j, NULL, to->device);
	sb_json_int(j, NULL, bytes);
	sb_json_array_end(j);
}

void sb_timeline_rises_write(
	struct sb_timeline_rises *r, const struct sb_run *run, const uint32_t *lane_of, struct sb_json *j)
{
	struct sb_timeline_reading *all = r->readings.items;

	if (!r->readings.count || !lane_of)
		return;
	qsort(all, r->readings.count, sizeof *all, by_source_and_time);
	sb_json_array_begin(j, "memory");
	for (size_t i = 0; i < r->readings.count; i++) {
		bool told = all[i].device == SB_RISE_TOLD;
		bool follows = i && all[i].process == all[i - 1].process &&
			       all[i].device == all[i - 1].device;
		const struct sb_timeline_reading *before = told ? &all[i] : &all[i - 1];
		uint32_t track = told ? all[i].track : main_track(run, all[i].process);

		if (told || (follows && all[i].bytes > before->bytes))
			write_rise(before, &all[i], told ? all[i].bytes : all[i].bytes - before->bytes,
				track < run->track_count ? lane_of[track] : UINT32_MAX, j);
	}
	sb_json_array_end(j);
}
