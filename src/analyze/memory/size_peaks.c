/* Readings of a memory's maximum in the order of time, and what rose between two of them. */
#include "analyze/memory/size_peaks.h"
#include "base/inorder.h"

#include "base/memory_units.h"

#include <stdlib.h>
#include <string.h>

#define READINGS_MOST 65536u

struct reading {
	int64_t t_ns;
	int64_t allocated, reserved, peak;
	uint32_t process;
};

void sb_size_peaks_see(struct sb_size_peaks *c, enum sb_size_memory memory, const struct sb_event *e)
{
	struct sb_vec *all = &c->readings[memory];
	struct reading *r;

	if (e->snapshot.peak_bytes < 0 || all->count == READINGS_MOST)
		return;
	r = sb_vec_push(all, sizeof *r);
	if (r)
		*r = (struct reading){ e->t_ns, e->snapshot.allocated_bytes, e->snapshot.reserved_bytes,
			e->snapshot.peak_bytes, e->process };
	else
		c->failed = true;
}

static int by_time(const void *a, const void *b)
{
	const struct reading *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

void sb_size_peaks_sort(struct sb_size_peaks *c)
{
	for (size_t i = 0; i < SB_SIZE_MEMORIES; i++)
		if (c->readings[i].count)
			qsort(c->readings[i].items, c->readings[i].count, sizeof(struct reading), by_time);
}

void sb_size_peaks_done(struct sb_size_peaks *c)
{
	for (size_t i = 0; i < SB_SIZE_MEMORIES; i++)
		sb_vec_done(&c->readings[i]);
	sb_open_stages_done(&c->stages);
}

void sb_size_raise(double *peak, double bytes)
{
	if (!isnan(bytes) && !(bytes <= *peak))
		*peak = bytes;
}

double sb_size_sampled(
	const struct sb_model *model, const char *source, const char *column, double from_s, double to_s)
{
	double most = NAN;

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		const struct sb_series_column *c = strcmp(s->source, source)
							   ? NULL
							   : sb_series_column_find(s, column);

		if (c && c->stats.max > 0)
			sb_size_raise(&most, sb_series_max(s, c, from_s, to_s) * SB_MB);
	}
	return most;
}

double sb_size_risen_peak(const struct sb_size_peaks *c, enum sb_size_memory memory,
	const struct sb_size_span *a, double *out_reserved)
{
	const struct reading *all = c->readings[memory].items;
	int64_t before = 0, after = -1;

	for (size_t i = 0; i < c->readings[memory].count; i++) {
		if (all[i].process != a->process)
			continue;
		if (all[i].t_ns <= a->begin_ns) {
			before = all[i].peak > before ? all[i].peak : before;
			continue;
		}
		after = all[i].peak > after ? all[i].peak : after;
		sb_size_raise(out_reserved, (double)all[i].reserved);
		if (all[i].t_ns >= a->end_ns)
			break;
	}
	return after > before ? (double)after : NAN;
}

bool sb_size_is_stage_of(const struct sb_size_span *a, const struct sb_open_stage *z)
{
	return z->track == a->track && z->depth == a->depth + 1 && z->begin_ns >= a->begin_ns &&
	       z->end_ns <= a->end_ns;
}

static int64_t overlap_ns(const struct sb_open_stage *z, int64_t from_ns, int64_t to_ns)
{
	return (z->end_ns < to_ns ? z->end_ns : to_ns) - (z->begin_ns > from_ns ? z->begin_ns : from_ns);
}

/* Between two readings several stages may have run: the rise is that of the one that took most of the time. */
static bool took_most(const struct sb_size_peaks *c, const struct sb_size_span *a,
	const struct sb_open_stage *z, int64_t from_ns, int64_t to_ns)
{
	const struct sb_open_stage *all = c->stages.all.items;
	int64_t own_ns = overlap_ns(z, from_ns, to_ns);

	for (size_t i = 0; i < c->stages.all.count; i++)
		if (&all[i] != z && sb_size_is_stage_of(a, &all[i]) &&
			overlap_ns(&all[i], from_ns, to_ns) > own_ns)
			return false;
	return own_ns > 0;
}

static size_t first_reading_after(const struct sb_vec *readings, int64_t t_ns)
{
	const struct reading *all = readings->items;

	return readings->count ? sb_first_after(&all->t_ns, sizeof *all, readings->count, t_ns) : 0;
}

double sb_size_stage_peak(const struct sb_size_peaks *c, enum sb_size_memory memory,
	const struct sb_size_span *a, const struct sb_open_stage *z)
{
	const struct reading *all = c->readings[memory].items, *before = NULL;
	size_t first = first_reading_after(&c->readings[memory], z->begin_ns);
	double most = NAN;

	for (size_t i = first; i-- > 0 && !before;)
		before = all[i].process == a->process ? &all[i] : NULL;
	for (size_t i = first; i < c->readings[memory].count; i++) {
		if (all[i].process != a->process)
			continue;
		if (all[i].peak > (before ? before->peak : 0) &&
			took_most(c, a, z, before ? before->t_ns : z->begin_ns, all[i].t_ns))
			sb_size_raise(&most, (double)all[i].peak);
		if (all[i].t_ns > z->end_ns)
			break;
		sb_size_raise(&most, (double)all[i].allocated);
		before = &all[i];
	}
	return most;
}
