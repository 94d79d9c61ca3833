/* The JSON writer of every report, over the tables of its fields. */
#include "stats/fields.h"

#include "base/memory_units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SERIES_DECIMALS 6

const char sb_names_end[] = "";

static double number_at(const void *at)
{
	return *(const double *)at;
}

static void put_number(struct sb_json *j, const char *key, double value, int decimals)
{
	if (decimals)
		sb_json_fixed(j, key, value, decimals);
	else
		sb_json_double(j, key, value);
}

static void write_number(const struct sb_field *f, double value, struct sb_json *j)
{
	if (f->rule == SB_OR_ZERO && !isfinite(value))
		value = 0;
	if ((f->rule == SB_KNOWN && !isfinite(value)) || (f->rule == SB_SET && !(value > 0)))
		return;
	if (f->kind == SB_FIELD_MB)
		sb_json_fixed(j, f->key, value / SB_MB, 1);
	else if (f->kind == SB_FIELD_WHOLE)
		sb_json_int(j, f->key, (int64_t)value);
	else
		put_number(j, f->key, value, f->decimals);
}

static void write_integer(const struct sb_field *f, int64_t value, struct sb_json *j)
{
	if ((f->rule == SB_KNOWN && value < 0) || (f->rule == SB_SET && !value))
		return;
	sb_json_int(j, f->key, value);
}

static void write_string(const struct sb_field *f, const char *value, struct sb_json *j)
{
	if (value || f->rule == SB_ALWAYS)
		sb_json_string(j, f->key, value);
}

static const char *name_of(const char *const *names, uint32_t value)
{
	for (uint32_t i = 0; names[i] != SB_NAMES_END; i++)
		if (i == value)
			return names[i];
	return NULL;
}

static void write_time(const struct sb_field *f, uint64_t real_ns, struct sb_json *j)
{
	time_t seconds = (time_t)(real_ns / 1000000000u);
	bool to_second = f->kind == SB_FIELD_TIME_S;
	char day[32], text[64];
	struct tm tm;

	if ((!real_ns && f->rule != SB_ALWAYS) || !gmtime_r(&seconds, &tm))
		return;
	strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
	if (to_second)
		snprintf(text, sizeof text, "%s+00:00", day);
	else
		snprintf(text, sizeof text, "%s.%03u+00:00", day, (unsigned)(real_ns / 1000000u % 1000u));
	sb_json_string(j, f->key, text);
}

static void write_pair(const struct sb_pair *pair, struct sb_json *j)
{
	switch (pair->type) {
	case STROBE_TYPE_INT: sb_json_int(j, pair->key, pair->i); break;
	case STROBE_TYPE_BOOL: sb_json_bool(j, pair->key, pair->i != 0); break;
	case STROBE_TYPE_FLOAT:
		if (isfinite(pair->f))
			sb_json_double(j, pair->key, pair->f);
		else
			sb_json_string(j, pair->key, isnan(pair->f) ? "nan" : pair->f > 0 ? "inf" : "-inf");
		break;
	case STROBE_TYPE_STRING: sb_json_string(j, pair->key, pair->s); break;
	}
}

static void write_pairs(
	const struct sb_field *f, const struct sb_pair *pairs, size_t count, struct sb_json *j)
{
	sb_json_object_begin(j, f->key);
	for (size_t i = 0; i < count; i++)
		write_pair(&pairs[i], j);
	sb_json_object_end(j);
}

static void write_column(const char *key, const double *values, size_t count, int decimals, struct sb_json *j)
{
	sb_json_array_begin(j, key);
	for (size_t i = 0; i < count; i++)
		put_number(j, NULL, values[i], decimals);
	sb_json_array_end(j);
}

/* Writes {"t_s": [...], "power_w": [...]}; nothing if the series is NULL or empty. */
static void series_write(const struct sb_series *s, const char *key, struct sb_json *j)
{
	if (!s || !s->count)
		return;
	sb_json_object_begin(j, key);
	write_column("t_s", s->t_s, s->count, SERIES_DECIMALS, j);
	for (size_t c = 0; c < s->column_count; c++)
		write_column(s->columns[c].name, s->columns[c].values, s->count, SERIES_DECIMALS, j);
	sb_json_object_end(j);
}

static void write_array(const struct sb_field *f, const char *first, size_t count, struct sb_json *j)
{
	sb_json_array_begin(j, f->key);
	for (size_t i = 0; i < count; i++) {
		if (f->kind == SB_FIELD_STRINGS)
			sb_json_string(j, NULL, ((const char *const *)first)[i]);
		else
			sb_json_int(j, NULL, ((const int64_t *)first)[i]);
	}
	sb_json_array_end(j);
}

static void write_many(const struct sb_field *f, const char *object, struct sb_json *j)
{
	const void *first = *(void *const *)(object + f->at);
	size_t count = *(const size_t *)(object + f->count_at);

	if (!count && f->rule != SB_ALWAYS)
		return;
	if (f->kind == SB_FIELD_PAIRS)
		write_pairs(f, first, count, j);
	else if (f->kind == SB_FIELD_OBJECTS)
		sb_fields_write_list(f->of, first, count, f->key, j);
	else if (f->kind == SB_FIELD_NUMBERS)
		write_column(f->key, first, count, f->decimals, j);
	else
		write_array(f, first, count, j);
}

static void write_field(const struct sb_field *f, const char *object, struct sb_json *j)
{
	const void *at = object + f->at;

	if (f->when && !f->when(object))
		return;
	switch (f->kind) {
	case SB_FIELD_NUMBER:
	case SB_FIELD_MB:
	case SB_FIELD_WHOLE: write_number(f, number_at(at), j); break;
	case SB_FIELD_INT32: write_integer(f, *(const int32_t *)at, j); break;
	case SB_FIELD_UINT32: write_integer(f, *(const uint32_t *)at, j); break;
	case SB_FIELD_INT64:
	case SB_FIELD_UINT64: write_integer(f, *(const int64_t *)at, j); break;
	case SB_FIELD_BOOL:
		if (*(const bool *)at || f->rule == SB_ALWAYS)
			sb_json_bool(j, f->key, *(const bool *)at);
		break;
	case SB_FIELD_STRING: write_string(f, *(const char *const *)at, j); break;
	case SB_FIELD_TEXT: write_string(f, *(const char *)at || f->rule == SB_ALWAYS ? at : NULL, j); break;
	case SB_FIELD_CONSTANT: sb_json_string(j, f->key, f->help); break;
	case SB_FIELD_NAME: write_string(f, name_of(f->names, *(const uint32_t *)at), j); break;
	case SB_FIELD_TIME:
	case SB_FIELD_TIME_S: write_time(f, *(const uint64_t *)at, j); break;
	case SB_FIELD_SECONDS: write_number(f, (double)*(const uint64_t *)at / 1e9, j); break;
	case SB_FIELD_OBJECT: sb_fields_write(f->of, at, f->key, j); break;
	case SB_FIELD_SERIES: series_write(at, f->key, j); break;
	case SB_FIELD_SERIES_AT: series_write(*(const struct sb_series *const *)at, f->key, j); break;
	default: write_many(f, object, j); break;
	}
}

void sb_fields_write(
	const struct sb_fields *fields, const void *object, const char *key, struct sb_json *json)
{
	if (fields->present && !fields->present(object))
		return;
	sb_json_object_begin(json, key);
	for (size_t i = 0; i < fields->count; i++)
		write_field(&fields->all[i], object, json);
	sb_json_object_end(json);
}

void sb_fields_write_list(const struct sb_fields *fields, const void *first, size_t count, const char *key,
	struct sb_json *json)
{
	sb_json_array_begin(json, key);
	for (size_t i = 0; i < count; i++)
		sb_fields_write(fields, (const char *)first + i * fields->size, NULL, json);
	sb_json_array_end(json);
}

void sb_fields_write_key(
	const struct sb_fields *fields, const void *object, const char *key, struct sb_json *json)
{
	for (size_t i = 0; i < fields->count; i++)
		if (!strcmp(fields->all[i].key, key))
			write_field(&fields->all[i], object, json);
}

/* ---- statistics of a set of values --------------------------------------- */

SB_FIELD_WHEN(any_values, sb_stats, it->count > 0)

#define STATS(unit)                                                                                    \
	SB_FIELD(sb_stats, count, "count", SB_ALWAYS, "values"),                                       \
		SB_FIELD(sb_stats, total, "total_" unit, SB_KNOWN, "sum"),                             \
		SB_FIELD(sb_stats, mean, "mean_" unit, SB_KNOWN, "arithmetic mean"),                   \
		SB_FIELD(sb_stats, min, "min_" unit, SB_KNOWN, "smallest"),                            \
		SB_FIELD(sb_stats, max, "max_" unit, SB_KNOWN, "largest"),                             \
		SB_FIELD(sb_stats, p50, "p50_" unit, SB_KNOWN, "median"),                              \
		SB_FIELD(sb_stats, p95, "p95_" unit, SB_KNOWN, "95 % are at most this, interpolated"), \
		SB_FIELD(sb_stats, p99, "p99_" unit, SB_KNOWN, "99 % are at most this, interpolated"), \
		SB_FIELD(sb_stats, std, "std_" unit, SB_KNOWN,                                         \
			"sample deviation (n - 1); absent under two values")

static const struct sb_field sb_stats_s_fields_rows[] = { STATS("s") };
static const struct sb_field sb_stats_ms_fields_rows[] = { STATS("ms") };
static const struct sb_field sb_stats_ratio_fields_rows[] = { STATS("ratio") };
SB_FIELDS(sb_stats_s_fields, sb_stats, "StatsSeconds", "Statistics of durations.", .present = any_values);
SB_FIELDS(
	sb_stats_ms_fields, sb_stats, "StatsMilliseconds", "Statistics of durations.", .present = any_values);
SB_FIELDS(sb_stats_ratio_fields, sb_stats, "StatsRatio", "Statistics of shares.", .present = any_values);
