/* A sink that keeps what the monitors would have recorded. */
#ifndef TESTS_CAPTURED_SAMPLES_H
#define TESTS_CAPTURED_SAMPLES_H

#include "monitor/samples.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CAPTURED_SCHEMAS = 32, CAPTURED_ROWS = 4096, CAPTURED_COLUMNS = 64 };

static struct captured_schema {
	char source[24];
	int device;
	uint32_t count;
	char columns[CAPTURED_COLUMNS][32];
} captured_schemas[CAPTURED_SCHEMAS];
static uint32_t captured_schema_count;
static struct captured_row {
	uint32_t schema;
	uint64_t ticks;
	double values[CAPTURED_COLUMNS];
} captured_rows[CAPTURED_ROWS];
static uint32_t captured_row_count;
static char captured_missing[8192];
static pthread_mutex_t captured_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t capture_define(const char *source, int device, const char *const *columns, uint32_t count)
{
	struct captured_schema *s;
	uint32_t id;

	pthread_mutex_lock(&captured_lock);
	s = &captured_schemas[captured_schema_count];
	id = ++captured_schema_count;
	snprintf(s->source, sizeof s->source, "%s", source);
	s->device = device;
	s->count = count;
	for (uint32_t i = 0; i < count && i < CAPTURED_COLUMNS; i++)
		snprintf(s->columns[i], sizeof s->columns[i], "%s", columns[i]);
	pthread_mutex_unlock(&captured_lock);
	return id;
}

static void capture_put(uint32_t schema, uint64_t ticks, const double *values, uint32_t count)
{
	pthread_mutex_lock(&captured_lock);
	if (captured_row_count < CAPTURED_ROWS) {
		struct captured_row *row = &captured_rows[captured_row_count++];

		row->schema = schema;
		row->ticks = ticks;
		memcpy(row->values, values,
			(count < CAPTURED_COLUMNS ? count : CAPTURED_COLUMNS) * sizeof *values);
	}
	pthread_mutex_unlock(&captured_lock);
}

static void capture_missing(const char *what, const char *why, const char *how)
{
	size_t used;

	pthread_mutex_lock(&captured_lock);
	used = strlen(captured_missing);
	snprintf(captured_missing + used, sizeof captured_missing - used, "%s|%s|%s\n", what, why, how);
	pthread_mutex_unlock(&captured_lock);
}

/* For use while the monitors run. */
static inline int captured_said(const char *text)
{
	int said;

	pthread_mutex_lock(&captured_lock);
	said = strstr(captured_missing, text) != NULL;
	pthread_mutex_unlock(&captured_lock);
	return said;
}

static inline uint32_t captured_count(void)
{
	uint32_t count;

	pthread_mutex_lock(&captured_lock);
	count = captured_row_count;
	pthread_mutex_unlock(&captured_lock);
	return count;
}

static uint32_t captured_scarcity;

static uint32_t capture_scarcity(void)
{
	return captured_scarcity;
}

static const struct sb_sink capture_sink = { capture_define, capture_put, capture_missing, capture_scarcity };

static inline void capture_begin(void)
{
	captured_schema_count = captured_row_count = 0;
	captured_missing[0] = 0;
	sb_samples_set_sink(&capture_sink);
}

/* The n-th recorded value of a column, from 0; negative counts from the end.
 * NaN: there is none. */
static inline double captured(const char *source, int device, const char *column, int n)
{
	double found[CAPTURED_ROWS];
	int count = 0;

	pthread_mutex_lock(&captured_lock);
	for (uint32_t r = 0; r < captured_row_count; r++) {
		const struct captured_schema *s = &captured_schemas[captured_rows[r].schema - 1];

		if (strcmp(s->source, source) || s->device != device)
			continue;
		for (uint32_t c = 0; c < s->count; c++)
			if (!strcmp(s->columns[c], column))
				found[count++] = captured_rows[r].values[c];
	}
	pthread_mutex_unlock(&captured_lock);
	if (n < 0)
		n += count;
	return n >= 0 && n < count ? found[n] : NAN;
}

static inline int captured_has_column(const char *source, int device, const char *column)
{
	for (uint32_t i = 0; i < captured_schema_count; i++)
		for (uint32_t c = 0; c < captured_schemas[i].count; c++)
			if (!strcmp(captured_schemas[i].source, source) &&
				captured_schemas[i].device == device &&
				!strcmp(captured_schemas[i].columns[c], column))
				return 1;
	return 0;
}

#endif
