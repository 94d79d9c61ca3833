/* Tables of operations: "PROFILING SUMMARY", one row per operation with its count,
 * total, mean, min and max. */
#include "base/error.h"
#include "exchange/textlog.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "Total (s)   Mean (ms)": what the cells below leave out. */
static void take_units(struct sb_textlog *log, const char *heading)
{
	static const char *const columns[4] = { "Total (", "Mean (", "Min (", "Max (" };

	for (int i = 0; i < 4; i++) {
		const char *at = strstr(heading, columns[i]), *unit = at ? at + strlen(columns[i]) : "";

		log->column_s[i] = !strncmp(unit, "s)", 2)    ? 1
				   : !strncmp(unit, "ms)", 3) ? 1e-3
				   : !strncmp(unit, "us)", 3) ? 1e-6
							      : 0;
	}
}

/* A cell: "45.234s", or a bare number of a column whose heading has the unit. */
static bool take_cell(
	const struct sb_textlog *log, int column, const char *s, double *out_s, const char **out_rest)
{
	char *end;
	double value;

	if (sb_textlog_seconds(s, out_s, out_rest))
		return true;
	value = strtod(s, &end);
	if (end == s || !(value >= 0) || (*end && *end != ' ') || !(log->column_s[column] > 0))
		return false;
	*out_s = value * log->column_s[column];
	*out_rest = end;
	return true;
}

static bool opens(struct sb_textlog *log, const char *line)
{
	const char *operation = line + strspn(line, " ");

	if (!strstr(line, "PROFILING SUMMARY") &&
		(strncmp(operation, "Operation ", 10) || !strstr(line, "Count") || !strstr(line, "Total")))
		return false;
	if (!strncmp(operation, "Operation ", 10))
		take_units(log, operation);
	log->form_node = 0; /* rows so far */
	return true;
}

/* The count's place in "vae_decode   12   45.234s …": a number that a time follows. */
static char *find_count(const struct sb_textlog *log, char *line)
{
	for (char *at = strchr(line, ' '); at; at = strchr(at + 1, ' ')) {
		size_t digits = strspn(at + 1, "0123456789");
		double total_s;
		const char *rest;

		if (digits && at[1 + digits] == ' ' && take_cell(log, 0, at + 1 + digits, &total_s, &rest))
			return at;
	}
	return NULL;
}

static void trim_end(char *s)
{
	for (size_t n = strlen(s); n && isspace((unsigned char)s[n - 1]);)
		s[--n] = 0;
}

static int take_row(struct sb_textlog *log, const char *name, const char *numbers)
{
	double values[4] = { NAN, NAN, NAN, NAN }; /* total, mean, min, max */
	char *end;
	struct sb_textlog_sums sums = { .name = name, .calls = strtoll(numbers, &end, 10), .median_s = NAN };
	const char *rest = end;
	uint32_t node;

	for (int i = 0; i < 4 && take_cell(log, i, rest, &values[i], &rest); i++)
		;
	sums.total_s = values[0];
	sums.min_s = values[2];
	sums.max_s = values[3];
	log->form_node++;
	log->sums_only = true;
	return sb_textlog_add_sums(log, &sums, &node);
}

static bool row(struct sb_textlog *log, char *line, int *out_err)
{
	char *count;

	if (sb_textlog_take_rule(log, line) || opens(log, line))
		return true;
	line += strspn(line, " ");
	count = find_count(log, line);
	if (!count)
		return false;
	*count = 0;
	trim_end(line);
	*out_err = take_row(log, line, count + 1);
	return true;
}

const struct sb_textform sb_summary_form = { "summary", opens, row };
