/* "all", "steps:3@10", "seconds:5", "slow:1.5,3": how long a GPU trace lasts, or what it keeps. */
#include "record/trace_spec.h"

#include "base/error.h"
#include "base/numerals.h"
#include "strobe.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool number(const char **text, double least, double most, double *out)
{
	char *end;
	double value = sb_numerals_read(*text, &end);

	if (end == *text || !(value >= least && value <= most))
		return false;
	*text = end;
	*out = value;
	return true;
}

static bool steps(const char **text, double least, uint32_t *out)
{
	double value;

	if (!number(text, least, 1e9, &value) || value != floor(value))
		return false;
	*out = (uint32_t)value;
	return true;
}

int sb_trace_spec_parse(const char *text, struct sb_trace_spec *out_spec)
{
	struct sb_trace_spec spec = { SB_TRACE_ALL, 0, 0, 1, 0, SB_TRACE_MOMENTS_DEFAULT };
	const char *at = text ? text : "";
	bool good = true;

	if (!strncmp(at, "steps:", 6)) {
		at += 6;
		spec.bound = SB_TRACE_STEPS;
		good = steps(&at, 1, &spec.steps);
		if (good && *at == '@') {
			at++;
			good = steps(&at, 0, &spec.skip);
		}
	} else if (!strncmp(at, "seconds:", 8)) {
		at += 8;
		spec.bound = SB_TRACE_SECONDS;
		good = number(&at, 1e-3, 1e9, &spec.seconds);
	} else if (!strncmp(at, "slow:", 5)) {
		at += 5;
		spec.bound = SB_TRACE_SLOW;
		good = number(&at, 1.01, 1e6, &spec.slow_ratio);
		if (good && *at == ',') {
			at++;
			good = steps(&at, 1, &spec.moments) && spec.moments <= SB_TRACE_MOMENTS_MAX;
		}
	} else if (!strcmp(at, "all")) {
		at += 3;
	}
	if (!good || *at)
		return sb_fail(STROBE_EINVAL,
			"gpu trace '%s': use all, steps:3, steps:3@10, seconds:5, slow:1.5 or slow:1.5,3",
			text);
	*out_spec = spec;
	return 0;
}
