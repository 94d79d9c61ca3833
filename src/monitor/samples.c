/* Series: merging and recording of samples, and their newest values. */
#include "monitor/samples.h"

#include "record/put.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

enum { OPEN_MAX = 160 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sb_samples *open_series[OPEN_MAX];
static const struct sb_sink *sink = &sb_sink_recorder;
static atomic_bool thinned_said;

const struct sb_sink sb_sink_recorder = { sb_schema_define, sb_sample_put, sb_keep_missing,
	sb_keep_scarcity };

void sb_samples_set_sink(const struct sb_sink *to)
{
	sink = to ? to : &sb_sink_recorder;
}

void sb_samples_missing(const char *what, const char *why, const char *how)
{
	sink->missing(what, why, how);
}

static void list_series(struct sb_samples *series)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < OPEN_MAX; i++)
		if (!open_series[i]) {
			open_series[i] = series;
			break;
		}
	pthread_mutex_unlock(&lock);
}

static void unlist_series(const struct sb_samples *series)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < OPEN_MAX; i++)
		if (open_series[i] == series)
			open_series[i] = NULL;
	pthread_mutex_unlock(&lock);
}

static void release(struct sb_samples *series)
{
	free(series->columns);
	free(series->latest);
	free(series->merged);
	free(series->merged_count);
	memset(series, 0, sizeof *series);
}

static void define(struct sb_samples *series)
{
	const char *names[SB_SAMPLES_COLUMNS_MAX];

	for (uint32_t i = 0; i < series->column_count; i++)
		names[i] = series->columns[i].name;
	series->schema = sink->define(series->source, series->device, names, series->column_count);
}

bool sb_samples_open(struct sb_samples *series, const char *source, int device,
	const struct sb_column *columns, uint32_t count, uint32_t point_limit)
{
	memset(series, 0, sizeof *series);
	if (!count || count > SB_SAMPLES_COLUMNS_MAX)
		return false;
	series->columns = malloc(count * sizeof *columns);
	series->latest = malloc(count * sizeof *series->latest);
	series->merged = calloc(count, sizeof *series->merged);
	series->merged_count = calloc(count, sizeof *series->merged_count);
	if (!series->columns || !series->latest || !series->merged || !series->merged_count) {
		release(series);
		return false;
	}
	memcpy(series->columns, columns, count * sizeof *columns);
	for (uint32_t i = 0; i < count; i++)
		series->latest[i] = NAN;
	snprintf(series->source, sizeof series->source, "%s", source);
	series->device = device;
	series->column_count = count;
	series->stride = 1;
	series->point_limit = point_limit;
	series->open = true;
	atomic_store(&thinned_said, false);
	define(series);
	list_series(series);
	return true;
}

static void merge(struct sb_samples *series, uint32_t i, double value)
{
	double *into = &series->merged[i];

	if (isnan(value))
		return;
	if (series->merged_count[i]++ == 0) {
		*into = value;
		return;
	}
	switch (series->columns[i].merge) {
	case SB_MERGE_MEAN: *into += value; break;
	case SB_MERGE_MAX: *into = fmax(*into, value); break;
	case SB_MERGE_MIN: *into = fmin(*into, value); break;
	case SB_MERGE_LAST: *into = value; break;
	case SB_MERGE_BITS: *into = (double)((uint64_t)*into | (uint64_t)value); break;
	}
}

/* The first half of the points is recorded as sampled. From then on the stride
 * doubles whenever an eighth of what is left has been used: ten thousand points
 * at 0.5 s last for weeks, and the limit is never passed by more than a few. */
static void count_point(struct sb_samples *series)
{
	uint32_t half = series->point_limit / 2;

	series->point_count++;
	if (series->point_count < half)
		return;
	if (series->level_count > 0) {
		series->level_count--;
		return;
	}
	series->level_count = series->point_count < series->point_limit
				      ? (series->point_limit - series->point_count) / 8
				      : 0;
	if (series->stride < 1u << 30)
		series->stride *= 2;
}

static void flush(struct sb_samples *series, uint64_t ticks)
{
	double values[SB_SAMPLES_COLUMNS_MAX];

	if (!series->pending)
		return;
	for (uint32_t i = 0; i < series->column_count; i++) {
		values[i] = series->merged_count[i] ? series->merged[i] : NAN;
		if (series->columns[i].merge == SB_MERGE_MEAN && series->merged_count[i])
			values[i] /= series->merged_count[i];
		series->merged_count[i] = 0;
	}
	series->pending = 0;
	sink->put(series->schema, ticks, values, series->column_count);
	count_point(series);
}

/* Eight times as many samples into one whenever half of the room that was left is used:
 * the share for samples lasts four times as long as all before, and so on. */
static uint32_t stride_now(struct sb_samples *series)
{
	uint32_t scarcity = sink->scarcity(), stride;

	scarcity = scarcity < 9 ? scarcity : 9;
	if (scarcity > series->scarcest)
		series->scarcest = scarcity;
	stride = 1u << (3 * scarcity);
	return stride > series->stride ? stride : series->stride;
}

/* Said once: other series met the same. */
static void say_thinned(const struct sb_samples *series)
{
	static const char what[] = "single samples";
	char why[200];

	if (!series->scarcest || atomic_exchange(&thinned_said, true))
		return;
	snprintf(why, sizeof why,
		"their share of max_trace_bytes was nearly full: up to %u became one; peaks, totals and "
		"energy are exact",
		1u << (3 * series->scarcest));
	sink->missing(what, why, "raise max_trace_bytes, or sample less often");
}

void sb_samples_push(struct sb_samples *series, uint64_t ticks, const double *values)
{
	if (!series->open)
		return;
	pthread_mutex_lock(&lock);
	memcpy(series->latest, values, series->column_count * sizeof *values);
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < series->column_count; i++)
		merge(series, i, values[i]);
	if (++series->pending >= stride_now(series))
		flush(series, ticks);
}

void sb_samples_close(struct sb_samples *series, uint64_t ticks)
{
	if (!series->open)
		return;
	flush(series, ticks);
	say_thinned(series);
	unlist_series(series);
	release(series);
}

void sb_samples_end(struct sb_samples *series, uint64_t ticks)
{
	double unknown[SB_SAMPLES_COLUMNS_MAX];

	if (!series->open)
		return;
	pthread_mutex_lock(&lock);
	for (uint32_t c = 0; c < series->column_count; c++)
		series->latest[c] = NAN;
	pthread_mutex_unlock(&lock);
	flush(series, ticks);
	for (uint32_t c = 0; c < series->column_count; c++)
		unknown[c] = NAN;
	sink->put(series->schema, ticks, unknown, series->column_count);
}

bool sb_samples_latest(const char *source, int device, const char *column, double *out_value)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < OPEN_MAX && !found; i++) {
		const struct sb_samples *s = open_series[i];

		if (!s || s->device != device || strcmp(s->source, source))
			continue;
		for (uint32_t c = 0; c < s->column_count && !found; c++)
			if (!strcmp(s->columns[c].name, column) && !isnan(s->latest[c])) {
				*out_value = s->latest[c];
				found = true;
			}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

uint32_t sb_samples_devices(const char *source, int *out_devices, uint32_t limit)
{
	uint32_t count = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < OPEN_MAX && count < limit; i++)
		if (open_series[i] && !strcmp(open_series[i]->source, source))
			out_devices[count++] = open_series[i]->device;
	pthread_mutex_unlock(&lock);
	return count;
}

void sb_samples_forget(const char *source)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < OPEN_MAX; i++)
		if (open_series[i] && !strcmp(open_series[i]->source, source))
			open_series[i] = NULL;
	pthread_mutex_unlock(&lock);
}

void sb_samples_forget_all(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(open_series, 0, sizeof open_series);
}
