/* Readings of the machine in words: a live display, a summary over ranks, and the
 * "12 ops  45s total" lines of a comparison. */
#include "base/error.h"
#include "exchange/textlog.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RANKS_MAX 100000
#define VALUES_MAX 1000

static struct sb_textlog_sample *add_sample(struct sb_textlog *log)
{
	struct sb_textlog_sample *s = sb_vec_push(&log->samples, sizeof *s);

	if (s)
		*s = (struct sb_textlog_sample){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0,
			{ log->count, 0, 0 } };
	return s;
}

static struct sb_textlog_sample *last_sample(struct sb_textlog *log)
{
	struct sb_textlog_sample *all = log->samples.items;

	return log->samples.count ? &all[log->samples.count - 1] : NULL;
}

/* ---- "=== Profiling Metrics (session_abc123) ===" ---- */

static bool opens_metrics(struct sb_textlog *log, const char *line)
{
	const char *at = strstr(line, "=== Profiling Metrics");
	const char *open = at ? strchr(at, '(') : NULL, *close = open ? strchr(open, ')') : NULL;

	if (!at)
		return false;
	if (close && close - open > 1 && (size_t)(close - open) < sizeof log->session)
		snprintf(log->session, sizeof log->session, "%.*s", (int)(close - open - 1), open + 1);
	log->form_count++;
	return add_sample(log) != NULL;
}

/* "Memory 8420MB / 24564MB" */
static bool take_memory(const char *line, double *out_used_mb, double *out_total_mb)
{
	const char *at = strstr(line, "Memory "), *rest;

	if (!at || !sb_textlog_megabytes(at + 7, out_used_mb, &rest))
		return false;
	rest += strspn(rest, " ");
	if (*rest == '/')
		sb_textlog_megabytes(rest + 1 + strspn(rest + 1, " "), out_total_mb, &rest);
	return true;
}

static void take_number(const char *line, const char *word, double *out_value)
{
	const char *at = strstr(line, word);
	char *end;
	double value = at ? strtod(at + strlen(word), &end) : 0;

	if (at && end != at + strlen(word) && isfinite(value))
		*out_value = value;
}

/* A number before its word: "36 frames", "1 block", "12.0 FPS". */
static void take_before(const char *line, const char *word, double *out_value)
{
	const char *at = strstr(line, word), *digits = at;
	double value;

	while (digits && digits > line && (isdigit((unsigned char)digits[-1]) || digits[-1] == '.'))
		digits--;
	if (digits == at)
		return;
	value = strtod(digits, NULL);
	if (isfinite(value))
		*out_value = value;
}

/* What strobe's display adds: "Speed: 12.0 FPS, 4.0 BPS, 16.0 steps/s (36 frames, 12 blocks, 48 steps)". */
static bool take_speed(struct sb_textlog *log, const char *line)
{
	struct sb_textlog_speed *s = sb_vec_push(&log->speeds, sizeof *s);

	if (!s)
		return false;
	*s = (struct sb_textlog_speed){ NAN, NAN, NAN, NAN, NAN, NAN, log->samples.count - 1 };
	take_before(line, " FPS", &s->fps);
	take_before(line, " BPS", &s->bps);
	take_before(line, " steps/s", &s->steps_per_s);
	line = strchr(line, '(');
	if (!line)
		return true;
	take_before(line, " frame", &s->frames);
	take_before(line, " block", &s->blocks);
	take_before(line, " step", &s->steps);
	return true;
}

/* "GPU 1: …": one line for each GPU; a block has a reading of its own for each. */
static struct sb_textlog_sample *sample_of_gpu(struct sb_textlog *log, const char *line)
{
	struct sb_textlog_sample *s = last_sample(log);
	long device = line[3] == ' ' ? strtol(line + 4, NULL, 10) : 0;

	if (!s || device <= 0 || device >= SB_TEXTLOG_GPUS_MAX)
		return s;
	s = add_sample(log);
	if (s)
		s->device = (int)device;
	return s;
}

static bool metrics_row(struct sb_textlog *log, char *line, int *out_err)
{
	struct sb_textlog_sample *s = last_sample(log);

	if (!strncmp(line, "Stage: ", 7))
		return true;
	if (s && !strncmp(line, "Speed: ", 7)) {
		if (!take_speed(log, line))
			*out_err = sb_fail(STROBE_ENOMEM, "no memory to import");
		return true;
	}
	line += strspn(line, " ");
	if (!strncmp(line, "GPU", 3) && strstr(line, "Memory "))
		s = sample_of_gpu(log, line);
	if (s && !strncmp(line, "GPU", 3) && take_memory(line, &s->gpu_used_mb, &s->gpu_total_mb)) {
		take_number(line, "Util ", &s->gpu_percent);
		take_number(line, "Temp ", &s->gpu_temperature_c);
		take_number(line, "Power ", &s->gpu_power_w);
		return true;
	}
	if (s && !strncmp(line, "CPU: ", 5)) {
		take_number(line, "CPU: ", &s->cpu_percent);
		take_memory(line, &s->ram_used_mb, &s->ram_total_mb);
		return true;
	}
	return false;
}

const struct sb_textform sb_metrics_form = { "live display", opens_metrics, metrics_row };

/* ---- "=== Aggregation Summary ===" ---- */

static bool aggregation_row(struct sb_textlog *log, char *line, int *out_err);

enum { SUMMARY, STAGES, OWN }; /* form_node: OWN: what only strobe writes, and no run is made of */

/* Its heading, or one of its sections alone. */
static bool opens_aggregation(struct sb_textlog *log, const char *line)
{
	bool heading = strstr(line, "=== Aggregation Summary") || strstr(line, "(Aggregated) ===");
	char copy[512];
	int err = 0;

	if (!heading && (strncmp(line, "GPU ", 4) || !strstr(line, " - Min: ")))
		return false;
	log->form_node = SUMMARY;
	snprintf(copy, sizeof copy, "%s", line);
	return heading || (aggregation_row(log, copy, &err) && !err);
}

/* What the others have, where one has the minimum, one the maximum, and all of them this average. */
static double value_of_others(const double mma[3], size_t count)
{
	return (mma[2] * (double)count - mma[0] - mma[1]) / (double)(count - 2);
}

/* Values that have this minimum, maximum and average: as many as there are ranks, or more where fewer cannot have it. */
static bool put_ranks(struct sb_textlog *log, size_t offset, const double mma[3])
{
	size_t count = log->rank_count > 3 ? (size_t)log->rank_count : 3;
	double others = value_of_others(mma, count);

	while (count < VALUES_MAX && mma[2] >= mma[0] && mma[2] <= mma[1] &&
		(others < mma[0] || others > mma[1]))
		others = value_of_others(mma, ++count);
	if (log->samples.count > count) { /* of the row before: each has the same number */
		count = log->samples.count - 1;
		others = value_of_others(mma, count);
	}
	count++; /* a mean over time counts the first and the last half */
	others = others < mma[0] ? mma[0] : others > mma[1] ? mma[1] : others;
	while (log->samples.count < count)
		if (!add_sample(log))
			return false;
	for (size_t i = 0; i < count; i++) {
		struct sb_textlog_sample *s = (struct sb_textlog_sample *)log->samples.items + i;

		*(double *)((char *)s + offset) = i == 1 ? mma[0] : i == 2 ? mma[1] : others;
	}
	return true;
}

static bool take_min_max_avg(const char *line, double mma[3])
{
	static const char *const words[] = { "Min: ", "Max: ", "Avg: " };

	for (int i = 0; i < 3; i++) {
		mma[i] = NAN;
		take_number(line, words[i], &mma[i]);
		if (isnan(mma[i]))
			return false;
	}
	return true;
}

static int64_t count_of(const char *digits)
{
	long long count = strtoll(digits, NULL, 10);

	return count > RANKS_MAX ? RANKS_MAX : count;
}

/* "=== Load Imbalance (by stage) ===" and the other sections that strobe adds. */
static bool take_section(struct sb_textlog *log, const char *line)
{
	static const char *const own[] = { "Rank Comparison", "Stragglers", "Waiting at Collectives",
		"Clocks", NULL };

	if (strstr(line, "Load Imbalance (by stage)")) {
		log->form_node = STAGES;
		return true;
	}
	for (const char *const *name = own; *name; name++)
		if (strstr(line, *name)) {
			log->form_node = OWN;
			return true;
		}
	if (strstr(line, "(Aggregated) ===") || strstr(line, "Aggregation Summary"))
		log->form_node = SUMMARY;
	return log->form_node == OWN || log->form_node == SUMMARY;
}

/* Below the last row that is indented less. */
static void nest(struct sb_textlog *log, uint32_t self, uint32_t depth)
{
	log->nodes[self].depth = depth;
	for (uint32_t i = self; i-- > log->segment;)
		if (log->nodes[i].depth < depth && log->nodes[i].depth) {
			sb_textlog_set_parent(log, i, self);
			return;
		}
}

/* "  [1b] Denoise      3.50 s    3.00 s (0)    4.00 s (1)    +14.3 %    3.94 s": the mean rank's time. */
static int take_mean_stage(struct sb_textlog *log, const char *line)
{
	struct sb_stagelog_line stage = { .kind = SB_STAGELOG_TIMED, .calls = 1 };
	const char *at = line + strspn(line, " "), *rest, *close;
	double seconds;
	uint32_t node;
	int err;

	stage.min_s = stage.max_s = stage.median_s = stage.std_s = NAN;
	for (const char *gap = strchr(at, ' '); gap; gap = strchr(gap + 1, ' ')) {
		const char *number = gap + strspn(gap, " ");

		if (!isdigit((unsigned char)*number) || !sb_textlog_seconds(number, &seconds, &rest) ||
			!strchr(rest, '('))
			continue;
		close = *at == '[' ? strchr(at, ']') : NULL;
		if (close && close < gap && close - at - 1 < (ptrdiff_t)sizeof stage.code) {
			snprintf(stage.code, sizeof stage.code, "%.*s", (int)(close - at - 1), at + 1);
			at = close + 1 + strspn(close + 1, " ");
		}
		snprintf(stage.name, sizeof stage.name, "%.*s", (int)(gap - at < 200 ? gap - at : 200), at);
		for (size_t n = strlen(stage.name); n && stage.name[n - 1] == ' ';)
			stage.name[--n] = 0;
		stage.duration_ns = seconds >= 0 && seconds < 1e8 ? (int64_t)(seconds * 1e9 + 0.5) : 0;
		log->stage_count++;
		log->timed_count++;
		err = sb_textlog_add(log, &stage, &node);
		if (!err)
			nest(log, node, (uint32_t)strspn(line, " "));
		return err;
	}
	return 0;
}

static bool aggregation_row(struct sb_textlog *log, char *line, int *out_err)
{
	static const struct {
		const char *words;
		size_t offset;
	} rows[] = { { "GPU Memory - ", offsetof(struct sb_textlog_sample, gpu_used_mb) },
		{ "GPU Utilization - ", offsetof(struct sb_textlog_sample, gpu_percent) },
		{ "GPU Temperature - ", offsetof(struct sb_textlog_sample, gpu_temperature_c) },
		{ "GPU Power - ", offsetof(struct sb_textlog_sample, gpu_power_w) },
		{ "CPU Usage - ", offsetof(struct sb_textlog_sample, cpu_percent) },
		{ "CPU Utilization - ", offsetof(struct sb_textlog_sample, cpu_percent) } };
	const char *ranks = sb_textlog_after(line, "Ranks");
	double mma[3];

	const char *reports = sb_textlog_after(line, "Total reports processed");

	if (strncmp(line, "===", 3) == 0 && take_section(log, line))
		return true;
	if (log->form_node != SUMMARY) {
		if (log->form_node == STAGES)
			*out_err = take_mean_stage(log, line);
		return true;
	}
	if (reports && isdigit((unsigned char)*reports))
		log->report_count = log->rank_count = count_of(reports);
	if (ranks && isdigit((unsigned char)*ranks))
		log->rank_count = count_of(ranks);
	if (ranks || reports)
		return true;
	if (!strncmp(line, "Wall - ", 7) && take_min_max_avg(line, mma)) {
		log->segment_whole_ns = mma[2] > 0 && mma[2] < 1e8 ? (int64_t)(mma[2] * 1e9 + 0.5) : 0;
		log->threads = true; /* it is an average, and so are the stages */
		return true;
	}
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (strncmp(line, rows[i].words, strlen(rows[i].words)) || !take_min_max_avg(line, mma))
			continue;
		if (!put_ranks(log, rows[i].offset, mma))
			*out_err = sb_fail(STROBE_ENOMEM, "no memory to import");
		return true;
	}
	return strstr(line, "(Aggregated) ===") != NULL;
}

const struct sb_textform sb_aggregation_form = { "aggregation summary", opens_aggregation, aggregation_row };

/* ---- "vae_decode   12 ops    45s total", "ssd_read_events   2.1 GB/s" ---- */

static int add_operation(struct sb_textlog *log, const char *name, size_t size, int64_t calls, double total_s)
{
	char text[128];
	struct sb_textlog_sums sums = {
		.name = text, .calls = calls, .total_s = total_s, .min_s = NAN, .max_s = NAN, .median_s = NAN
	};
	uint32_t node;

	snprintf(text, sizeof text, "%.*s", (int)(size < 120 ? size : 120), name);
	log->sums_only = true;
	return sb_textlog_add_sums(log, &sums, &node);
}

/* A rate of reading, or a peak of memory. */
static bool take_reading(struct sb_textlog *log, const char *name, const char *value)
{
	struct sb_textlog_sample *s;
	const char *rest;
	char *end;
	double amount = strtod(value, &end);
	bool rate;

	if (end == value || !(amount >= 0))
		return false;
	end += strspn(end, " ");
	rate = !strncasecmp(end, "GB/s", 4) && strstr(name, "read");
	if (!rate && !(strstr(name, "memory") && sb_textlog_megabytes(value, &amount, &rest)))
		return false;
	s = last_sample(log);
	if (!s || (rate && !isnan(s->read_bytes_per_s)) || (!rate && !isnan(s->gpu_used_mb)))
		s = add_sample(log);
	if (!s)
		return false;
	if (rate)
		s->read_bytes_per_s = amount * 1e9;
	else
		s->gpu_used_mb = amount;
	log->form_count++;
	return true;
}

/* A difference, not a time of its own. */
static bool add_difference(struct sb_textlog *log, const char *name, double more_s)
{
	struct sb_textlog_difference *d = sb_vec_push(&log->differences, sizeof *d);

	if (d) {
		snprintf(d->name, sizeof d->name, "%s", name);
		d->more_s = more_s;
	}
	return d != NULL;
}

static bool opens_operations(struct sb_textlog *log, const char *line)
{
	size_t size = strcspn(line, " \t:[]()");
	const char *rest = line + size + strspn(line + size, " \t"), *after;
	char name[64], *end;
	int64_t calls;
	double total_s;

	if (!size || size >= sizeof name || rest - line < (ptrdiff_t)size + 2)
		return false;
	snprintf(name, sizeof name, "%.*s", (int)size, line);
	if (*rest == '+' && sb_textlog_seconds(rest + 1, &total_s, &after) && strstr(after, "total"))
		return add_difference(log, name, total_s);
	calls = strtoll(rest, &end, 10);
	end += strspn(end, " ");
	if (end != rest && calls > 0 && !strncmp(end, "ops", 3) &&
		sb_textlog_seconds(end + 3, &total_s, &after) && strstr(after, "total"))
		return !add_operation(log, line, size, calls, total_s);
	return take_reading(log, name, rest);
}

const struct sb_textform sb_operations_form = { "operations", opens_operations, NULL };
