/* The same model in several precisions: "FP16: 28.45 ms", "BF16: 55.53 ± 28.95 ms", and under a heading
 * whatever variants it names. */
#include "base/error.h"
#include "exchange/textlog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUS_MINUS "\xc2\xb1"

/* "45.23 ms", "45.23 ms ± 1.2 ms", "45.23 ± 1.20 ms" */
static bool take_time(const char *text, double *out_s, double *out_std_s)
{
	const char *rest, *deviation = strstr(text, PLUS_MINUS);
	char *end;
	double mean = strtod(text, &end), std_s;

	*out_std_s = NAN;
	if (sb_textlog_seconds(text, out_s, &rest)) {
		if (deviation &&
			sb_textlog_seconds(deviation + 2 + strspn(deviation + 2, " "), &std_s, &rest))
			*out_std_s = std_s;
		return true;
	}
	if (end == text || !deviation || end + strspn(end, " ") != deviation || !(mean > 0) || !(mean < 1e12))
		return false;
	/* the unit stands behind the deviation alone */
	deviation += 2 + strspn(deviation + 2, " ");
	std_s = strtod(deviation, &end);
	if (end == deviation || !sb_textlog_seconds(deviation, out_std_s, &rest))
		return false;
	end += strspn(end, " ");
	*out_s = mean * (!strncmp(end, "ms", 2) ? 1e-3 : !strncmp(end, "us", 2) ? 1e-6 : 1);
	return true;
}

static bool add_variant(struct sb_textlog *log, const char *name, size_t size, double mean_s, double std_s)
{
	struct sb_textlog_variant *v = sb_vec_push(&log->variants, sizeof *v);

	if (!v)
		return false;
	*v = (struct sb_textlog_variant){ .count = log->form_node > 1 ? (int64_t)log->form_node : 1,
		.mean_ms = mean_s * 1e3,
		.median_ms = NAN,
		.std_ms = std_s * 1e3,
		.min_ms = NAN,
		.max_ms = NAN };
	snprintf(v->name, sizeof v->name, "%.*s", (int)(size < 60 ? size : 60), name);
	log->form_count++;
	return true;
}

static bool take_known(struct sb_textlog *log, const char *line)
{
	static const char *const names[] = { "FP32", "TF32", "FP16", "BF16", "FP8", "INT8", "INT4", NULL };
	double mean_s, std_s;

	for (const char *const *name = names; *name; name++) {
		const char *value = sb_textlog_after(line, *name);

		if (value && take_time(value, &mean_s, &std_s))
			return add_variant(log, *name, strlen(*name), mean_s, std_s);
	}
	return false;
}

/* "Precision Comparison (6 iterations each)": how many; 1 where it does not say. */
static uint32_t heading_count(const char *line)
{
	const char *open = strchr(line, '(');
	long long count = open ? strtoll(open + 1, NULL, 10) : 0;

	return count > 1 && count < 1000000000 ? (uint32_t)count : 1;
}

/* form_node: what the heading says; 0: there was none, and only precisions are taken. Another form's stays. */
static bool opens(struct sb_textlog *log, const char *line)
{
	uint32_t before = log->form_node;

	if (strstr(line, "Precision Comparison")) {
		log->form_node = heading_count(line);
		return true;
	}
	log->form_node = log->form == &sb_precision_form ? before : 0;
	if (sb_textlog_after(line, "Speedup") || take_known(log, line))
		return true;
	log->form_node = before;
	return false;
}

static bool row(struct sb_textlog *log, char *line, int *out_err)
{
	const char *name = line + strspn(line, " "), *colon = strstr(name, ": ");
	double mean_s, std_s;

	(void)out_err;
	if (!colon || sb_textlog_after(line, "Speedup") || take_known(log, line))
		return colon != NULL;
	/* a variant of the caller's own has its deviation beside it */
	return log->form_node && strstr(colon, PLUS_MINUS) &&
	       take_time(colon + 2 + strspn(colon + 2, " "), &mean_s, &std_s) &&
	       add_variant(log, name, (size_t)(colon - name), mean_s, std_s);
}

const struct sb_textform sb_precision_form = { "precision", opens, row };
