/* What a device's memory held at a moment. Its allocator is read often and at the edges of sections, the driver is asked less
 * often: of a moment between two of its samples both may be true, and what lies beside the allocator is learned where the
 * allocator did not change around a sample. */
#include "analyze/memory/residency.h"

#include "base/inorder.h"
#include "base/map.h"
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
			e->snapshot.peak_bytes > 0 ? (double)e->snapshot.peak_bytes : NAN, NAN, NAN, false,
			-1, -1, -1, 0, SB_NO_STAGE };
	else
		c->failed = true;
}

static int by_device_and_time(const void *a, const void *b)
{
	const struct sb_device_reading *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static double seconds_of(const struct sb_device_reading *r)
{
	return (double)r->t_ns / 1e9;
}

/* Finds the reading before each one, of the same device and process. */
static void link_readings(struct sb_residency_collected *c)
{
	struct sb_device_reading *all = c->readings.items;
	struct sb_map last = { 0 };

	for (size_t i = 0; i < c->readings.count; i++) {
		uint64_t key = (uint64_t)(uint32_t)all[i].device << 32 | all[i].process;
		uint32_t before;

		all[i].before = sb_map_get(&last, key, &before) ? (int64_t)before : -1;
		c->failed |= !sb_map_put(&last, key, (uint32_t)i);
	}
	sb_map_done(&last);
}

/* ---- beside the allocator ---- */

bool sb_residency_is_used_gpu(const struct sb_series *s)
{
	const struct sb_series_column *own = strcmp(s->source, "gpu")
						     ? NULL
						     : sb_series_column_find(s, "process_memory_mb");

	return own && own->stats.max > 0;
}

static void link_contexts(struct sb_residency_collected *c, int device)
{
	struct sb_device_reading *all = c->readings.items;
	double later = NAN, next = NAN;

	for (size_t i = c->readings.count; i-- > 0;) {
		if (all[i].device != device)
			continue;
		if (all[i].context != later) {
			next = later;
			later = all[i].context;
		}
		all[i].context_next = isnan(next) ? all[i].context : next;
	}
}

/* At samples of the driver with the same reserved memory before and after; still: and nothing given back between. Each reading
 * has the last one that was known then, else the first. */
static void learn_contexts_of(struct sb_residency_collected *c, const struct sb_series *s, bool still)
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
		if (!before || at == c->readings.count || before->reserved != all[at].reserved ||
			(still && all[at].given_back > 0))
			continue;
		beside = process->values[i] * SB_MB - before->reserved;
		known = beside > 0 ? beside : known;
		first = isnan(first) ? known : first;
	}
	for (size_t i = 0; i < c->readings.count; i++)
		if (all[i].device == s->device && isnan(all[i].context)) {
			all[i].context = first;
			all[i].context_later = true;
		}
	if (still && isnan(first))
		learn_contexts_of(c, s, false); /* as well as it can be known */
	else
		link_contexts(c, s->device);
}

/* ---- devices ---- */

struct sample { /* of the driver */
	double t_s, bytes;
};

struct device { /* what is known of one, each in the order of time */
	const struct sb_series *series;
	const struct sb_device_reading *readings;
	size_t reading_count;
	struct sb_vec process, used; /* struct sample, without those that are not known */
};

static bool list_samples(const struct sb_series *s, const char *column, struct sb_vec *out)
{
	const struct sb_series_column *c = sb_series_column_find(s, column);

	for (size_t i = 0; c && i < s->count; i++) {
		struct sample *sample = isnan(c->values[i]) ? NULL : sb_vec_push(out, sizeof *sample);

		if (sample)
			*sample = (struct sample){ s->t_s[i], c->values[i] * SB_MB };
		else if (!isnan(c->values[i]))
			return false;
	}
	return true;
}

static bool add_device(struct sb_residency_collected *c, const struct sb_series *s)
{
	const struct sb_device_reading *all = c->readings.items;
	struct device *d = sb_vec_push(&c->devices, sizeof *d);
	size_t first = 0, end;

	if (!d)
		return false;
	while (first < c->readings.count && all[first].device != s->device)
		first++;
	for (end = first; end < c->readings.count && all[end].device == s->device;)
		end++;
	*d = (struct device){
		.series = s, .readings = end > first ? &all[first] : NULL, .reading_count = end - first
	};
	return list_samples(s, "process_memory_mb", &d->process) &&
	       list_samples(s, "memory_used_mb", &d->used);
}

void sb_residency_device_prepare(struct sb_residency_collected *c)
{
	if (c->readings.count)
		qsort(c->readings.items, c->readings.count, sizeof(struct sb_device_reading),
			by_device_and_time);
	link_readings(c);
	sb_residency_given_back_prepare(c);
	sb_residency_find_rises(c);
	for (size_t i = 0; i < c->model->series_count; i++)
		if (sb_residency_is_used_gpu(&c->model->series[i])) {
			learn_contexts_of(c, &c->model->series[i], true);
			c->failed |= !add_device(c, &c->model->series[i]);
		}
}

void sb_residency_device_done(struct sb_residency_collected *c)
{
	struct device *all = c->devices.items;

	for (size_t i = 0; i < c->devices.count; i++) {
		sb_vec_done(&all[i].process);
		sb_vec_done(&all[i].used);
	}
	sb_vec_done(&c->devices);
	sb_vec_done(&c->given_back);
}

static const struct device *device_of(const struct sb_residency_collected *c, const struct sb_series *s)
{
	const struct device *d = c->devices.items;

	while (d->series != s)
		d++;
	return d;
}

/* ---- a moment ---- */

/* The last reading up to a moment, and the first one after it; NULL: none. */
static void readings_around(const struct device *d, double t_s, const struct sb_device_reading **out_before,
	const struct sb_device_reading **out_after)
{
	const struct sb_device_reading *all = d->readings;
	size_t first = d->reading_count ? sb_first_after(&all->t_ns, sizeof *all, d->reading_count,
						  (int64_t)llround(t_s * 1e9))
					: 0;

	*out_before = first ? &all[first - 1] : NULL;
	*out_after = first < d->reading_count ? &all[first] : NULL;
}

/* How many samples there are up to a moment. */
static size_t samples_until(const struct sb_vec *samples, double t_s)
{
	const struct sample *all = samples->items;
	size_t low = 0, high = samples->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].t_s <= t_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last sample with the processes' memory up to a moment, and the first one after it; NAN: none. */
static void samples_around(
	const struct device *d, double t_s, struct sample *out_before, struct sample *out_after)
{
	const struct sample *all = d->process.items;
	size_t count = samples_until(&d->process, t_s);

	*out_before = count ? all[count - 1] : (struct sample){ NAN, NAN };
	*out_after = count < d->process.count ? all[count] : (struct sample){ NAN, NAN };
}

/* What the device held: the last sample up to a moment, else the first; NAN: none. */
static double used_at(const struct device *d, double t_s)
{
	const struct sample *all = d->used.items;
	size_t count = samples_until(&d->used, t_s);

	return d->used.count ? all[count ? count - 1 : 0].bytes : NAN;
}

static double alike_bytes(double bytes)
{
	return fmax(ALIKE_BYTES, ALIKE_RATIO * bytes);
}

/* False: other readings lie between a reading and a sample. */
static bool are_neighbours(
	const struct device *d, const struct sb_device_reading *r, const struct sample *sample)
{
	const struct sb_device_reading *end = d->readings + d->reading_count;

	return (r == d->readings || sample->t_s >= seconds_of(r - 1)) &&
	       (r + 1 == end || sample->t_s <= seconds_of(r + 1));
}

/* Takes the first pair that agrees, else the one that is least off. False: none agrees. The first reading is the nearer one;
 * the other one counts only with a sample of its own time: memory may have changed between the two. */
static bool agree(const struct device *d, const struct sb_device_reading *readings[2],
	const struct sample samples[2], const struct sb_device_reading **out_reading,
	struct sample *out_sample)
{
	double least = INFINITY;

	for (int i = 0; i < 4 && least > 0; i++) {
		const struct sb_device_reading *r = readings[i / 2];
		double off = r ? fabs(samples[i % 2].bytes - r->reserved - r->context) : NAN;

		if (!(off < least) || (i / 2 && readings[0] && !are_neighbours(d, r, &samples[i % 2])))
			continue;
		*out_reading = r;
		*out_sample = samples[i % 2];
		least = off <= alike_bytes(samples[i % 2].bytes) ? 0 : off;
	}
	return !(least > 0);
}

/* Where no sample is of the moment, nor like it: what the allocator had reserved then, and what lies beside it. */
static void follow_reading(struct sb_device_values *v)
{
	v->used += v->reserved + v->context - v->process;
	v->process = v->reserved + v->context;
}

/* Parts that are more than the total: a sample of the moment tells what lies beside the allocator, another one is not of it. */
static void fit_parts(struct sb_device_values *v, bool of_moment)
{
	if (of_moment && v->reserved <= v->process)
		v->context = v->process - v->reserved;
	else
		follow_reading(v);
}

/* While a context is made and libraries are loaded, what a sample says lies between what was known before and after. NAN: it
 * does not. */
static double growing_context(const struct sb_device_reading *r, const struct sample *sample)
{
	double beside = sample->bytes - r->reserved;
	double least = r->context_later ? 0 : fmin(r->context, r->context_next);
	double most = (1 + ALIKE_RATIO) * fmax(r->context, r->context_next);

	return beside >= least && beside <= most ? beside : NAN;
}

static const struct sb_device_reading *raised_at(const struct sb_device_reading *after, double t_s)
{
	return after && after->raised_ns == (int64_t)llround(t_s * 1e9) ? after : NULL;
}

double sb_residency_device_time(const struct sb_device_values *v, double t_s)
{
	return v->reading && !v->raised && !v->between ? seconds_of(v->reading) : t_s;
}

struct sb_device_values sb_residency_device_at(
	const struct sb_residency_collected *c, const struct sb_series *s, double t_s)
{
	const struct device *d = device_of(c, s);
	const struct sb_device_reading *before, *after, *readings[2], *reading, *raised;
	struct sample samples[2], sample;
	struct sb_device_values v;
	bool agreed, of_moment;
	double growing;

	readings_around(d, t_s, &before, &after);
	samples_around(d, t_s, &samples[0], &samples[1]);
	raised = raised_at(after, t_s);
	if (!before && !(after && seconds_of(after) <= t_s + ADJACENT_S) && isnan(samples[0].t_s) &&
		s->count && s->t_s[0] <= t_s) /* the run has not used it so far */
		return (struct sb_device_values){ NULL, NAN, NAN, used_at(d, t_s), 0, NAN, false, false };
	readings[0] = !after || (before && t_s - seconds_of(before) <= seconds_of(after) - t_s) ? before
												: after;
	readings[0] = raised ? raised : readings[0];
	readings[1] = raised ? NULL : readings[0] == before ? after : before;
	reading = readings[0];
	sample = isnan(samples[0].t_s) ? samples[1] : samples[0];
	agreed = agree(d, readings, samples, &reading, &sample);
	v = (struct sb_device_values){ reading, reading ? reading->allocated : NAN,
		reading ? reading->reserved : NAN, used_at(d, isnan(sample.t_s) ? t_s : sample.t_s),
		sample.bytes, reading ? reading->context : NAN, raised != NULL, false };
	if (raised) {
		v.allocated = raised->most;
		v.reserved = fmax(raised->reserved, raised->most); /* some may be given back since */
	}
	of_moment = reading && fabs(sample.t_s - t_s) <= ADJACENT_S && are_neighbours(d, reading, &sample);
	growing = of_moment && !raised ? growing_context(reading, &sample) : NAN;
	if (reading && isnan(v.context))
		v.context = fmax(0, sample.bytes - v.reserved);
	else if (!isnan(growing))
		v.context = growing;
	else if (of_moment && !raised && !agreed)
		sb_residency_between(d->readings, d->reading_count, sample.t_s, &v);
	else if (reading && (raised ? !agreed || v.reserved > reading->reserved : !agreed && !of_moment))
		follow_reading(&v);
	if (reading && v.reserved + v.context > v.process)
		fit_parts(&v, of_moment && !raised);
	v.used = reading ? fmax(v.used, v.process) : v.used;
	return v;
}

/* ---- peaks ---- */

struct candidate {
	double t_s, used, allocated;
};

static void take_higher(struct candidate *best, const struct candidate *next)
{
	double alike = alike_bytes(best->used);

	if (isnan(best->used) || next->used > best->used + alike ||
		(next->used >= best->used - alike && next->allocated > best->allocated) ||
		(next->used > best->used && next->allocated >= best->allocated))
		*best = *next;
}

/* A moment counts if it is in the stage. */
static void take_moment(const struct sb_residency_collected *c, const struct sb_series *s,
	const struct sb_stage_calls *calls, double begin_s, double end_s, int64_t t_ns,
	struct candidate *best)
{
	double t_s = (double)t_ns / 1e9;
	struct sb_device_values v;

	if (t_s < begin_s || t_s > end_s || !sb_stage_calls_have(calls, t_s))
		return;
	v = sb_residency_device_at(c, s, t_s);
	take_higher(best, &(struct candidate){ t_s, v.used, v.allocated });
}

/* The picture's peak is where memory rose to it, later moments of the stage may have more tensors in it: all panels show one. */
static void take_drawn(const struct sb_residency_collected *c, const struct sb_series *s,
	const struct sb_stage_calls *calls, double begin_s, double end_s, struct candidate *best)
{
	const struct sb_memory_picture *p = sb_residency_picture(c->model, s->device);
	double t_s = p ? p->t_s[p->peak] : NAN, used;

	if (!(t_s >= begin_s && t_s <= end_s) || !sb_stage_calls_have(calls, t_s))
		return;
	used = sb_residency_device_at(c, s, t_s).used;
	if (!(used < best->used - alike_bytes(best->used)))
		*best = (struct candidate){ t_s, used, NAN };
}

bool sb_residency_device_peak(const struct sb_residency_collected *c, const struct sb_series *s,
	const struct sb_stage_calls *calls, double begin_s, double end_s, double *out_t_s)
{
	const struct device *d = device_of(c, s);
	const struct sample *used = d->used.items;
	struct candidate best = { NAN, NAN, -1 };

	for (size_t i = 0; i < d->reading_count; i++) {
		const struct sb_device_reading *r = &d->readings[i];

		if (r->raised_ns >= 0)
			take_moment(c, s, calls, begin_s, end_s, r->raised_ns, &best);
		take_moment(c, s, calls, begin_s, end_s, r->t_ns, &best);
	}
	for (size_t i = 0; i < d->used.count && used[i].t_s <= end_s; i++)
		if (used[i].t_s >= begin_s && sb_stage_calls_have(calls, used[i].t_s))
			take_higher(&best, &(struct candidate){ used[i].t_s, used[i].bytes, -1 });
	take_drawn(c, s, calls, begin_s, end_s, &best);
	*out_t_s = best.t_s;
	return !isnan(best.t_s);
}

const struct sb_device_reading *sb_residency_most(const struct sb_residency_collected *c, int device)
{
	const struct sb_device_reading *all = c->readings.items, *first = NULL;

	for (size_t i = 0; i < c->readings.count; i++)
		if ((device < 0 || all[i].device == device) &&
			(all[i].most > (first ? first->most : 0) ||
				(first && all[i].most == first->most && all[i].t_ns < first->t_ns)))
			first = &all[i];
	return first;
}

double sb_residency_most_at(const struct sb_device_reading *most)
{
	return most->raised_ns >= 0 ? (double)most->raised_ns / 1e9 : seconds_of(most);
}
