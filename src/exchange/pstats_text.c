/* The table that cProfile and pstats print: functions with their calls, their own time and the time with what they call.
 * Own times add up to the run; which function called which is in the .prof file alone. */
#include "base/error.h"
#include "exchange/textlog.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 1e8

/* "4524 function calls (4438 primitive calls) in 0.051 seconds" */
static bool opens(struct sb_textlog *log, const char *line)
{
	const char *calls = strstr(line, " function calls"), *in = calls ? strstr(calls, " in ") : NULL;
	char *end;
	double seconds = in ? strtod(in + 4, &end) : NAN;

	if (!in || end == in + 4 || strncmp(end, " second", 7) || !(seconds >= 0 && seconds < SECONDS_MAX))
		return false;
	log->form_node = log->count > 0; /* of a program whose stages are known: the same time once more */
	if (!log->form_node)
		log->segment_whole_ns = (int64_t)(seconds * 1e9 + 0.5);
	return true;
}

/* The file without its folders, as the .prof file's functions are named. */
static const char *file_of(const char *text, const char *end)
{
	const char *slash = *text == '<' ? NULL : memrchr(text, '/', (size_t)(end - text));

	return slash ? slash + 1 : text;
}

/* "src/inpainting.py:106(main)" as "main (inpainting.py:106)", "{built-in method x}" as "<built-in method x>". */
static void name_function(const char *text, char *out, size_t size)
{
	const char *open = strchr(text, '('), *colon, *file;
	size_t length = strlen(text);

	for (const char *next = open; next; next = strchr(next + 1, '(')) /* a folder may have one too */
		if (next > text && isdigit((unsigned char)next[-1]))
			open = next;
	for (colon = open; colon && colon > text && *colon != ':';)
		colon--;
	file = colon && colon > text ? file_of(text, colon) : text;
	if (*text == '{' && text[length - 1] == '}')
		snprintf(out, size, "<%.*s>", (int)length - 2, text + 1);
	else if (open && colon > text && text[length - 1] == ')')
		snprintf(out, size, "%.*s (%.*s)", (int)(length - (size_t)(open - text)) - 2, open + 1,
			(int)(open - file), file);
	else
		snprintf(out, size, "%s", text);
}

static int take_function(
	struct sb_textlog *log, const char *function, int64_t calls, double own_s, double cumulative_s)
{
	char name[256];
	struct sb_textlog_sums sums = {
		.name = name, .total_s = own_s, .min_s = NAN, .max_s = NAN, .median_s = NAN, .calls = calls
	};
	uint32_t node;
	int err;

	name_function(function, name, sizeof name);
	err = sb_textlog_add_sums(log, &sums, &node);
	if (err)
		return err;
	log->nodes[node].line->attrs[0] = (struct sb_stagelog_attr){ .key = "cumulative_s",
		.f = cumulative_s };
	log->nodes[node].line->attr_count = 1;
	log->sums_only = log->own_times = true;
	return 0;
}

static bool is_time(double seconds)
{
	return seconds >= 0 && seconds < SECONDS_MAX;
}

/* "     20/4    0.000    0.000    0.024    0.006 file.py:233(name)"; headings between are the table's too. */
static bool row(struct sb_textlog *log, char *line, int *out_err)
{
	char calls[32];
	double own_s, cumulative_s;
	int used = 0;

	line += strspn(line, " ");
	if (!strncmp(line, "ncalls ", 7) || !strncmp(line, "Ordered by", 10) ||
		!strncmp(line, "List reduced", 12))
		return true;
	if (sscanf(line, "%31s %lf %*f %lf %*f %n", calls, &own_s, &cumulative_s, &used) < 3 || !used ||
		!line[used] || strspn(calls, "0123456789/") != strlen(calls) || !is_time(own_s) ||
		!is_time(cumulative_s))
		return false;
	if (!log->form_node)
		*out_err = take_function(log, line + used, strtoll(calls, NULL, 10), own_s, cumulative_s);
	return true;
}

const struct sb_textform sb_pstats_form = { "pstats", opens, row };
