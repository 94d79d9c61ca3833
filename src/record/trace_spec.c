/* "all", "steps:3@10", "seconds:5", "slow:1.5,3": how long a GPU trace lasts, or what it keeps. */
#include "record/trace_spec.h"

#include "base/error.h"
#include "base/numerals.h"
#include "strobe.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define TRACES \
	"all, steps:3, steps:3@10 (after ten steps), seconds:5, slow:1.5 or slow:1.5,3 (the worst three)"
#define SAMPLINGS "all, steps:3, steps:3@10 (after ten steps), seconds:5"
#define COUNTERS SAMPLINGS ", signal or slow"
#define COUNTERS_STARTED SAMPLINGS ", or slow beside a GPU trace of slow:1.5"
#define SLOW_OF_COUNTERS "slow alone (the GPU trace says how slow: slow:1.5)"

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

/* Each reads what follows its word. False: *out_wants is what would fit there. */
static bool read_steps(const char *at, struct sb_trace_spec *spec, const char **out_wants)
{
	bool good = steps(&at, 1, &spec->steps);

	if (good && *at == '@') {
		at++;
		good = steps(&at, 0, &spec->skip);
	}
	*out_wants = "steps:N or steps:N@AFTER, whole numbers, N from 1";
	return good && !*at;
}

static bool read_seconds(const char *at, struct sb_trace_spec *spec, const char **out_wants)
{
	*out_wants = "seconds:N, N from 0.001";
	return number(&at, 1e-3, 1e9, &spec->seconds) && !*at;
}

static bool read_slow(const char *at, struct sb_trace_spec *spec, const char **out_wants)
{
	*out_wants = "slow:RATIO or slow:RATIO,N, the RATIO from 1.01";
	if (!number(&at, 1.01, 1e6, &spec->slow_ratio) || (*at && *at != ','))
		return false;
	if (!*at)
		return true;
	at++;
	*out_wants = "slow:RATIO,N, N a whole number from 1 to 100";
	return steps(&at, 1, &spec->moments) && spec->moments <= SB_TRACE_MOMENTS_MAX && !*at;
}
_Static_assert(SB_TRACE_MOMENTS_MAX == 100, "the words above say so");

/* False: *out_wants is what would fit, all of it where the text begins like nothing that does. */
static bool read_text(const char *text, const char *all, struct sb_trace_spec *spec, const char **out_wants)
{
	static const struct {
		const char *word;
		enum sb_trace_bound bound;
		bool (*read)(const char *at, struct sb_trace_spec *spec, const char **out_wants);
	} forms[] = { { "steps:", SB_TRACE_STEPS, read_steps },
		{ "seconds:", SB_TRACE_SECONDS, read_seconds }, { "slow:", SB_TRACE_SLOW, read_slow } };

	*spec = (struct sb_trace_spec){
		.bound = SB_TRACE_ALL, .steps = UINT32_MAX, .skip = 1, .moments = SB_TRACE_MOMENTS_DEFAULT
	};
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		size_t size = strlen(forms[i].word);

		if (strncmp(text, forms[i].word, size) != 0)
			continue;
		spec->bound = forms[i].bound;
		return forms[i].read(text + size, spec, out_wants);
	}
	*out_wants = all;
	return !*text || !strcmp(text, "all");
}

static bool read_counters(
	const char *text, const char *all, struct sb_trace_spec *spec, const char **out_wants)
{
	bool good = read_text(text, all, spec, out_wants);

	if (spec->bound != SB_TRACE_SLOW)
		return good;
	*out_wants = SLOW_OF_COUNTERS;
	return false;
}

const char *sb_trace_setting_wants(const char *text)
{
	struct sb_trace_spec spec;
	const char *wants;

	return read_text(text, TRACES, &spec, &wants) ? NULL : wants;
}

const char *sb_counters_setting_wants(const char *text)
{
	struct sb_trace_spec spec;
	const char *wants;

	if (!strcmp(text, SB_TRACE_BY_SIGNAL) || !strcmp(text, SB_COUNTERS_OF_SLOW))
		return NULL;
	return read_counters(text, COUNTERS, &spec, &wants) ? NULL : wants;
}

int sb_trace_spec_parse(const char *text, struct sb_trace_spec *out_spec)
{
	struct sb_trace_spec spec;
	const char *wants;

	if (!read_text(text ? text : "", TRACES, &spec, &wants))
		return sb_fail(STROBE_EINVAL, "gpu trace '%s': use %s", text, wants);
	*out_spec = spec;
	return 0;
}

int sb_counters_spec_parse(const char *text, struct sb_trace_spec *out_spec)
{
	struct sb_trace_spec spec;
	const char *wants;

	if (!read_counters(text ? text : "", COUNTERS_STARTED, &spec, &wants))
		return sb_fail(STROBE_EINVAL, "gpu counters '%s': use %s", text, wants);
	*out_spec = spec;
	return 0;
}
