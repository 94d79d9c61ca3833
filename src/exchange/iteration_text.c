/* The turns of a loop: "ITERATION SUMMARY: denoising_steps" and its labelled times;
 * and a benchmark's "Results:", which are the turns of the model's call. */
#include "base/error.h"
#include "exchange/textlog.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FPS_ROUNDED 0.02

static struct sb_textlog_loop *add_loop(struct sb_textlog *log, const char *name, size_t size)
{
	struct sb_textlog_loop *loop = sb_vec_push(&log->loops, sizeof *loop);

	if (!loop)
		return NULL;
	*loop = (struct sb_textlog_loop){ .total_s = NAN,
		.mean_s = NAN,
		.median_s = NAN,
		.min_s = NAN,
		.max_s = NAN,
		.std_s = NAN,
		.frames_per_s = NAN };
	while (size && strchr(" =:", name[size - 1]))
		size--;
	snprintf(loop->name, sizeof loop->name, "%.*s", (int)(size < 120 ? size : 120), name);
	log->form_count++;
	return loop;
}

static struct sb_textlog_loop *last_loop(struct sb_textlog *log)
{
	struct sb_textlog_loop *all = log->loops.items;

	return log->loops.count ? &all[log->loops.count - 1] : NULL;
}

/* ---- rows ---- */

static const struct {
	const char *label;
	size_t offset;
} times[] = {
	{ "Total", offsetof(struct sb_textlog_loop, total_s) },
	{ "Mean", offsetof(struct sb_textlog_loop, mean_s) },
	{ "Average", offsetof(struct sb_textlog_loop, mean_s) },
	{ "Median", offsetof(struct sb_textlog_loop, median_s) },
	{ "Min", offsetof(struct sb_textlog_loop, min_s) },
	{ "Max", offsetof(struct sb_textlog_loop, max_s) },
	{ "Std", offsetof(struct sb_textlog_loop, std_s) },
};

static bool take_time(struct sb_textlog_loop *loop, const char *line)
{
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		const char *value = sb_textlog_after(line, times[i].label), *rest;
		double seconds;

		if (!value || !sb_textlog_seconds(value, &seconds, &rest))
			continue;
		*(double *)((char *)loop + times[i].offset) = seconds;
		return true;
	}
	return false;
}

static bool take_count(struct sb_textlog_loop *loop, const char *line)
{
	const char *value = sb_textlog_after(line, "Iterations");

	if (!value)
		value = sb_textlog_after(line, "Count");
	if (!value || !isdigit((unsigned char)*value))
		return false;
	loop->count = strtoll(value, NULL, 10);
	return true;
}

static bool is_decoration(const char *line)
{
	return sb_textlog_after(line, "Speed") || sb_textlog_after(line, "FPS") ||
	       sb_textlog_after(line, "Rate") || (*line && strspn(line, "=- ") == strlen(line));
}

/* "FPS: 22.11" is the calls a second once more, unless a call makes several frames. */
static bool take_frames(struct sb_textlog_loop *loop, const char *line)
{
	const char *fps = sb_textlog_after(line, "FPS"), *text = fps ? fps : line + strspn(line, " \t");
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value > 0) || !isfinite(value))
		return false;
	if (fps) {
		if (fabs(value * loop->mean_s - 1) > FPS_ROUNDED)
			loop->frames_per_s = value;
		return true;
	}
	if (strcmp(end + strspn(end, " "), "frames/s"))
		return false;
	loop->frames_per_s = value;
	return true;
}

static int64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	long long value = at ? strtoll(at + strlen(key), NULL, 10) : 0;

	return value > 0 && value < 1000000 ? value : 0;
}

/* "Clip: batch=2, frames=16, 256x256" */
static bool take_clip(struct sb_textlog_loop *loop, const char *line)
{
	const char *clip = sb_textlog_after(line, "Clip"), *by = clip ? strrchr(clip, 'x') : NULL;
	const char *width = by;

	if (!clip)
		return false;
	loop->clip.batch = number_after(clip, "batch=");
	loop->clip.frames = number_after(clip, "frames=");
	while (width && width > clip && isdigit((unsigned char)width[-1]))
		width--;
	if (by && width < by) {
		loop->clip.height = number_after(by, "x");
		loop->clip.width = number_after(width, "");
	}
	return true;
}

static bool row(struct sb_textlog *log, char *line, int *out_err)
{
	struct sb_textlog_loop *loop = last_loop(log);

	(void)out_err;
	return loop && (take_frames(loop, line) || take_clip(loop, line) || take_count(loop, line) ||
			       take_time(loop, line) || is_decoration(line));
}

/* ---- headings ---- */

static const char *find_heading(const char *line, size_t *out_size)
{
	static const char *const headings[] = { "ITERATION SUMMARY", "ITERATION PROFILE",
		"ITERATION STATISTICS", "ITERATION STATS", NULL };

	for (const char *const *heading = headings; *heading; heading++) {
		const char *at = strcasestr(line, *heading);

		*out_size = strlen(*heading);
		if (at)
			return at;
	}
	return NULL;
}

/* The name behind the words, or before them. */
static bool opens(struct sb_textlog *log, const char *line)
{
	size_t size = 0;
	const char *at = find_heading(line, &size), *name;

	if (!at)
		return false;
	name = at + size + strspn(at + size, " :-=");
	if (*name && *name != '(')
		return add_loop(log, name, strcspn(name, "=")) != NULL;
	line += strspn(line, " =");
	while (at > line && strchr(" :-", at[-1]))
		at--;
	if (at == line)
		return add_loop(log, "iterations", 10) != NULL;
	return add_loop(log, line, (size_t)(at - line)) != NULL;
}

const struct sb_textform sb_iteration_form = { "iterations", opens, row };

/* ---- the benchmark of a model ---- */

/* "Simple Benchmark (3 iterations after 5 warm-ups)" */
static void take_heading_count(struct sb_textlog_loop *loop, const char *line)
{
	const char *open = strchr(line, '(');
	char *end;
	long long count = open ? strtoll(open + 1, &end, 10) : 0;

	if (count > 0 && !strncmp(end, " iteration", 10))
		loop->count = count;
}

static bool opens_benchmark(struct sb_textlog *log, const char *line)
{
	if (!strstr(line, "Simple Benchmark") || !add_loop(log, "benchmark", 9))
		return false;
	last_loop(log)->apart = true;
	take_heading_count(last_loop(log), line);
	return true;
}

static bool benchmark_row(struct sb_textlog *log, char *line, int *out_err)
{
	struct sb_textlog_loop *loop = last_loop(log);
	const char *count = strstr(line, "benchmark (");

	if (loop && count && isdigit((unsigned char)count[11])) {
		loop->count = strtoll(count + 11, NULL, 10);
		return true;
	}
	return row(log, line, out_err);
}

const struct sb_textform sb_benchmark_form = { "benchmark", opens_benchmark, benchmark_row };
