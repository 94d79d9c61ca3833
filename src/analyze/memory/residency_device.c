/* What a device's memory held at a moment. Its allocator is read often and at the edges of sections, the driver is asked less
 * often: of a moment between two of its samples both may be true, and what lies beside the allocator is learned where the
 * allocator did not change around a sample. */
#include "analyze/memory/residency.h"

#include "base/inorder.h"
#include "base/memory_units.h"
#include "format/run_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READINGS_MOST 65536u
#define ALIKE_BYTES (64 * SB_MB) /* of two moments that count as equally high */
#define ALIKE_RATIO 0.02
#define ADJACENT_S 0.1 /* what is nearer counts as of the moment */

/* ---- readings ---- */

void sb_residency_device_see(struct sb_residency_collected *c, const struct sb_event *e)
{
	struct sb_device_reading *r;

	if (strcmp(c->run->names[e->name].text, SB_MEMORY_READING_DEVICE) ||
		e->snapshot.allocated_bytes < 0 || c->readings.count == READINGS_MOST)
		return;
	r = sb_vec_push(&c->readings, sizeof *r);
	if (r)
		*r = (struct sb_device_reading){ e->t_ns, e->snapshot.device, e->process,
			(double)e->snapshot.allocated_bytes, (double)e->snapshot.reserved_bytes,
			e->snapshot.peak_bytes > 0 ? (double)e->snapshot.peak_bytes : NAN, NAN };
	else
		c->failed = true;
}

static int by_time(const void *a, const void *b)
{
	const struct sb_device_reading *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static double seconds_of(const struct sb_device_reading *r)
{
	return (double)r->t_ns / 1e9;
}

/* The last reading of a device up to a moment, and the first one after it; NULL: none. */
static void readings_around(const struct sb_residency_collected *c, int64_t device, double t_s,
	const struct sb_device_reading **out_before, const struct sb_device_reading **out_after)
{
	const struct sb_device_reading *all = c->readings.items;
	size_t first = c->readings.count ? sb_first_after(&all->t_ns, sizeof *all, c->readings.count,
						   (int64_t)llround(t_s * 1e9))
					 : 0;

	*out_before = *out_after = NULL;
	for (size_t i = first; i-- > 0 && !*out_before;)
		*out_before = all[i].device == device ? &all[i] : NULL;
	for (size_t i = first; i < c->readings.count && !*out_after; i++)
		*out_after = all[i].device == device ? &all[i] : NULL;
}

/* The reading before this one, of the same device and process; NULL: none. */
static const struct sb_device_reading *reading_before(
	const struct sb_residency_collected *c, const struct sb_device_reading *r)
{
	const struct sb_device_reading *all = c->readings.items, *before = r;

	while (before-- > all)
		if (before->device == r->device && before->process == r->process)
			return before;
	return NULL;
}

/* ---- beside the allocator ---- */

bool sb_residency_is_used_gpu(const struct sb_series *s)
{
	const struct sb_series_column *own = strcmp(s->source, "gpu")
						     ? NULL
						     : sb_series_column_find(s, "process_memory_mb");

	return own && own->stats.max > 0;
}

/* At samples of the driver with the same reserved memory before and after. Each reading has the last one that was known
 * then, else the first. */
static void learn_contexts(struct sb_residency_collected *c, const struct sb_series *s)
{
	const struct sb_series_column *process = sb_series_column_find(s, "process_memory_mb");
	struct sb_device_reading *all = c->readings.items, *before = NULL;
	double known = NAN, first = NAN;
	size_t at = 0;

	for (size_t i = 0; i <= s->count; i++) {
		double until_s = i < s->count ? s->t_s[i] : INFINITY, beside;

		for (; at < c->readings.count &&
			(all[at].device != s->device || seconds_of(&all[at]) <= until_s);
			at++)
			if (all[at].device == s->device) {
				before = &all[at];
				before->context = known;
			}
		if (!before || at == c->readings.count || before->reserved != all[at].reserved)
			continue;
		beside = process->values[i] * SB_MB - before->reserved;
		known = beside > 0 ? beside : known;
		first = isnan(first) ? known : first;
	}
	for (size_t i = 0; i < c->readings.count; i++)
		if (all[i].device == s->device && isnan(all[i].context))
			all[i].context = first;
}

void sb_residency_device_prepare(struct sb_residency_collected *c)
{
	if (!c->readings.count)
		return;
	qsort(c->readings.items, c->readings.count, sizeof(struct sb_device_reading), by_time);
	for (size_t i = 0; i < c->model->series_count; i++)
		if (sb_residency_is_used_gpu(&c->model->series[i]))
			learn_contexts(c, &c->model->series[i]);
}

/* ---- a moment ---- */

struct sample { /* of the driver */
	double t_s, process;
};

/* The last sample with the processes' memory up to a moment, and the first one after it; NAN: none. */
static void samples_around(
	const struct sb_series *s, double t_s, struct sample *out_before, struct sample *out_after)
{
	const struct sb_series_column *process = s ? sb_series_column_find(s, "process_memory_mb") : NULL;
	size_t low = 0, high = process ? s->count : 0;

	*out_before = *out_after = (struct sample){ NAN, NAN };
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->t_s[middle] <= t_s)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0 && isnan(out_before->t_s);)
		if (!isnan(process->values[i]))
			*out_before = (struct sample){ s->t_s[i], process->values[i] * SB_MB };
	for (size_t i = low; process && i < s->count && isnan(out_after->t_s); i++)
		if (!isnan(process->values[i]))
			*out_after = (struct sample){ s->t_s[i], process->values[i] * SB_MB };
}

static double alike_bytes(double bytes)
{
	return fmax(ALIKE_BYTES, ALIKE_RATIO * bytes);
}

/* Takes the first pair that agrees, else the one that is least off. False: none agrees. */
static bool agree(const struct sb_device_reading *readings[2], const struct sample samples[2],
	const struct sb_device_reading **out_reading, struct sample *out_sample)
{
	double least = INFINITY;

	for (int i = 0; i < 4 && least > 0; i++) {
		const struct sb_device_reading *r = readings[i / 2];
		double off = r ? fabs(samples[i % 2].process - r->reserved - r->context) : NAN;

		if (!(off < least))
			continue;
		*out_reading = r;
		*out_sample = samples[i % 2];
		least = off <= alike_bytes(samples[i % 2].process) ? 0 : off;
	}
	return !(least > 0);
}

/* Where no sample is of the moment, nor like it: what the allocator had reserved then, and what lies beside it. */
static void follow_reading(struct sb_device_values *v, const struct sb_device_reading *r)
{
	double process = r->reserved + r->context;

	v->used += process - v->process;
	v->process = process;
}

struct sb_device_values sb_residency_device_at(
	const struct sb_residency_collected *c, const struct sb_series *s, int64_t device, double t_s)
{
	const struct sb_device_reading *before, *after, *readings[2], *reading;
	struct sample samples[2], sample;
	struct sb_device_values v;
	bool agreed;

	readings_around(c, device, t_s, &before, &after);
	samples_around(s, t_s, &samples[0], &samples[1]);
	if (!before && !(after && seconds_of(after) <= t_s + ADJACENT_S) && isnan(samples[0].t_s) && s &&
		s->count && s->t_s[0] <= t_s)
		return (struct sb_device_values){ /* the run has not used it so far */
			NULL, sb_residency_value_at(s, "memory_used_mb", t_s), 0, NAN
		};
	readings[0] = !after || (before && t_s - seconds_of(before) <= seconds_of(after) - t_s) ? before
												: after;
	readings[1] = readings[0] == before ? after : before;
	reading = readings[0];
	sample = isnan(samples[0].t_s) ? samples[1] : samples[0];
	agreed = agree(readings, samples, &reading, &sample);
	v = (struct sb_device_values){ reading,
		sb_residency_value_at(s, "memory_used_mb", isnan(sample.t_s) ? t_s : sample.t_s),
		sample.process, reading ? reading->context : NAN };
	if (reading && isnan(v.context))
		v.context = sample.process - reading->reserved;
	else if (reading && !agreed && fabs(sample.t_s - t_s) > ADJACENT_S)
		follow_reading(&v, reading);
	return v;
}

/* ---- peaks ---- */

struct candidate {
	double t_s, used, allocated;
	bool rose; /* the allocator's own maximum did, since the reading before */
};

/* How much of a time the calls of a stage take. */
static double overlap_s(const struct sb_residency_collected *c, const char *stage, double from_s, double to_s)
{
	const struct sb_open_stage *all = c->stages.all.items;
	double sum = 0;

	for (size_t i = 0; i < c->stages.all.count; i++) {
		double begin_s = fmax((double)all[i].begin_ns / 1e9, from_s),
		       end_s = fmin((double)all[i].end_ns / 1e9, to_s);

		if (end_s > begin_s && !strcmp(c->run->names[all[i].name].text, stage))
			sum += end_s - begin_s;
	}
	return sum;
}

/* False: the reading says nothing of the stage. */
static bool take_reading(const struct sb_residency_collected *c, const struct sb_device_reading *r,
	const char *stage, double begin_s, double end_s, struct candidate *out)
{
	const struct sb_device_reading *before = reading_before(c, r);
	const double t_s = seconds_of(r), since_s = before ? seconds_of(before) : begin_s;

	if (t_s < begin_s || since_s > end_s)
		return false;
	*out = (struct candidate){ fmin(t_s, end_s), NAN, r->allocated, false };
	if (r->most > (before ? before->most : 0) &&
		overlap_s(c, stage, since_s, t_s) > (t_s - since_s) / 2) {
		out->allocated = r->most;
		out->rose = true;
		return true;
	}
	return t_s <= end_s && sb_residency_in_stage(c, stage, t_s);
}

static void take_higher(struct candidate *best, const struct candidate *new)
{
	double alike = alike_bytes(best->used);

	if (isnan(best->used) || new->used > best->used + alike ||
		(new->used >= best->used - alike &&new->allocated > best->allocated) ||
		(new->used > best->used &&new->allocated >= best->allocated))
		*best = *new;
}

bool sb_residency_device_peak(const struct sb_residency_collected *c, const struct sb_series *s,
	int64_t device, const char *stage, double begin_s, double end_s, double *out_t_s, double *out_most)
{
	const struct sb_device_reading *all = c->readings.items;
	const struct sb_series_column *used = s ? sb_series_column_find(s, "memory_used_mb") : NULL;
	struct candidate best = { NAN, NAN, -1, false };

	for (size_t i = 0; i < c->readings.count; i++) {
		struct candidate new;

		if (all[i].device != device || !take_reading(c, &all[i], stage, begin_s, end_s, &new))
			continue;
		new.used = sb_residency_device_at(c, s, device, seconds_of(&all[i])).used;
		take_higher(&best, &new);
	}
	for (size_t i = 0; used && i < s->count && s->t_s[i] <= end_s; i++) {
		struct candidate new = { s->t_s[i], used->values[i] * SB_MB, -1, false };

		if (s->t_s[i] >= begin_s && !isnan(new.used) && sb_residency_in_stage(c, stage, s->t_s[i]))
			take_higher(&best, &new);
	}
	*out_t_s = best.t_s;
	*out_most = best.rose ? best.allocated : NAN;
	return !isnan(best.t_s);
}

double sb_residency_most_at(const struct sb_residency_collected *c)
{
	const struct sb_device_reading *all = c->readings.items;
	double most = 0, at_s = NAN;

	for (size_t i = 0; i < c->readings.count; i++) {
		const struct sb_device_reading *before = reading_before(c, &all[i]);

		if (!(all[i].most > most))
			continue;
		most = all[i].most;
		at_s = before ? (seconds_of(before) + seconds_of(&all[i])) / 2 : seconds_of(&all[i]);
	}
	return at_s;
}
