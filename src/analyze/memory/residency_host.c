/* What the host's memory held at the moments of a stage: readings of the program's process where its sections begin and end,
 * which a short stage has too, and the monitor's samples of all processes. */
#include "analyze/memory/residency.h"

#include "base/memory_units.h"

#include <math.h>
#include <stdlib.h>

#define READINGS_MOST 65536u
#define ADJACENT_S 0.1 /* the end of the stage before */

void sb_residency_host_see(struct sb_residency_collected *c, const struct sb_event *e)
{
	struct sb_host_reading *r;

	c->several_read |= c->host_readings.count && c->host_process != e->process;
	c->host_process = e->process;
	if (e->snapshot.allocated_bytes < 0 || e->snapshot.reserved_bytes < 0 ||
		c->host_readings.count == READINGS_MOST)
		return;
	r = sb_vec_push(&c->host_readings, sizeof *r);
	if (r)
		*r = (struct sb_host_reading){ e->t_ns, (double)e->snapshot.allocated_bytes,
			(double)e->snapshot.reserved_bytes,
			e->snapshot.peak_bytes > 0 ? (double)e->snapshot.peak_bytes : NAN };
	else
		c->failed = true;
}

static double off_s(const struct sb_host_reading *r, double t_s)
{
	return fabs((double)r->t_ns / 1e9 - t_s);
}

static const struct sb_host_reading *reading_at(const struct sb_residency_collected *c, double t_s)
{
	const struct sb_host_reading *all = c->host_readings.items, *best = NULL;

	for (size_t i = 0; i < c->host_readings.count; i++)
		if (!best || off_s(&all[i], t_s) < off_s(best, t_s))
			best = &all[i];
	return best;
}

/* How far the nearest sample is away; INFINITY: there is none. */
static double off_sample(const struct sb_series *s, double t_s)
{
	double off = INFINITY;

	for (size_t i = 0; s && i < s->count; i++)
		off = fmin(off, fabs(s->t_s[i] - t_s));
	return off;
}

struct sb_host_values sb_residency_host_at(
	const struct sb_residency_collected *c, const struct sb_series *s, double t_s, double most)
{
	const struct sb_host_reading *near = reading_at(c, t_s);
	struct sb_host_values v = { sb_residency_value_at(s, "rss_mb", t_s),
		sb_residency_value_at(s, "anon_mb", t_s), sb_residency_value_at(s, "file_mb", t_s),
		sb_residency_value_at(s, "shared_mb", t_s), t_s };

	if (near && (off_s(near, t_s) < off_sample(s, t_s) || !isnan(most))) {
		v.shared = fmin(
			isnan(v.shared) ? 0 : v.shared, near->mapped); /* samples alone know that part */
		v.mapped = near->mapped - v.shared;
		v.total = isnan(most) ? near->anonymous + near->mapped : most;
		v.anonymous = fmax(0, v.total - near->mapped);
		v.t_s = (double)near->t_ns / 1e9;
	}
	return v;
}

static void take(double *from, double *bytes)
{
	double taken = *from > 0 ? fmin(*from, *bytes) : 0;

	*from -= taken;
	*bytes -= taken;
}

bool sb_residency_host_name(struct sb_host_values *v, double named)
{
	struct sb_host_values left = *v;

	take(&left.anonymous, &named);
	take(&left.mapped, &named);
	take(&left.shared, &named);
	if (named >= 1)
		return false;
	*v = left;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct sb_host_reading *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

void sb_residency_host_sort(struct sb_residency_collected *c)
{
	if (c->several_read)
		c->host_readings.count = 0; /* what several processes hold together is in the samples */
	if (c->host_readings.count)
		qsort(c->host_readings.items, c->host_readings.count, sizeof(struct sb_host_reading),
			by_time);
}

void sb_residency_host_peak(const struct sb_residency_collected *c, const struct sb_series *s,
	const struct sb_stage_calls *calls, double begin_s, double end_s, double *peak_s, double *out_most)
{
	const struct sb_host_reading *all = c->host_readings.items;
	double highest = isnan(*peak_s) ? 0 : sb_residency_value_at(s, "rss_mb", *peak_s), before = NAN;

	for (size_t i = 0; i < c->host_readings.count; i++) {
		double t_s = (double)all[i].t_ns / 1e9, held = all[i].anonymous + all[i].mapped;

		if (t_s < begin_s) {
			before = t_s >= begin_s - ADJACENT_S ? all[i].most : NAN;
			continue;
		}
		if (t_s > end_s)
			break;
		if (all[i].most > before && sb_stage_calls_have(calls, t_s))
			held = fmax(held, all[i].most); /* it rose since the last reading */
		before = all[i].most;
		if (held > highest && sb_stage_calls_have(calls, t_s)) {
			highest = held;
			*peak_s = t_s;
			*out_most = held;
		}
	}
}
