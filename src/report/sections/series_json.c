/* A series in JSON, and a column's statistics with the unit at the end. */
#include "report/sections/series_json.h"

#include "report/sections/section.h"

#include <stdio.h>
#include <string.h>

#define DECIMALS 6

void sb_json_series(struct sb_json *j, const char *key, const struct sb_series *s)
{
	if (!s || !s->count)
		return;
	sb_json_object_begin(j, key);
	sb_json_array_begin(j, "t_s");
	for (size_t i = 0; i < s->count; i++)
		sb_json_fixed(j, NULL, s->t_s[i], DECIMALS);
	sb_json_array_end(j);
	for (size_t c = 0; c < s->column_count; c++) {
		sb_json_array_begin(j, s->columns[c].name);
		for (size_t i = 0; i < s->count; i++)
			sb_json_fixed(j, NULL, s->columns[c].values[i], DECIMALS);
		sb_json_array_end(j);
	}
	sb_json_object_end(j);
}

static double stat_of(const struct sb_stats *s, const char *word)
{
	static const struct {
		const char *word;
		size_t offset;
	} stats[] = {
		{ "min", offsetof(struct sb_stats, min) },
		{ "mean", offsetof(struct sb_stats, mean) },
		{ "max", offsetof(struct sb_stats, max) },
		{ "p95", offsetof(struct sb_stats, p95) },
		{ "last", offsetof(struct sb_stats, last) },
	};

	for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
		if (strcmp(stats[i].word, word) == 0)
			return *(const double *)((const char *)s + stats[i].offset);
	}
	return NAN;
}

/* Where the unit begins: "_mb", or "_gb_per_s". */
static const char *unit_of(const char *column)
{
	const char *unit = strrchr(column, '_'), *per = strstr(column, "_per_");

	if (!per)
		return unit;
	for (unit = per; unit > column && unit[-1] != '_'; unit--)
		;
	return unit > column ? unit - 1 : per;
}

void sb_json_column(
	struct sb_json *j, const struct sb_series *s, const char *column, const char *const *words)
{
	const struct sb_series_column *c = sb_series_column_find(s, column);
	const char *unit = unit_of(column);
	char key[96];

	if (!c || !unit)
		return;
	for (; *words; words++) {
		snprintf(key, sizeof key, "%.*s_%s%s", (int)(unit - column), column, *words, unit);
		sb_json_opt(j, key, stat_of(&c->stats, *words));
	}
}
