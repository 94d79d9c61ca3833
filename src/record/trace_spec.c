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

/* Each reads what follows its word. Returns what would fit there; NULL: what is there does. */
static const char *read_steps(const char *at, struct sb_trace_spec *spec)
{
	bool good = steps(&at, 1, &spec->steps);

	if (good && *at == '@') {
		at++;
		good = steps(&at, 0, &spec->skip);
	}
	return good && !*at ? NULL : "steps:N or steps:N@AFTER, whole numbers, N from 1";
}

static const char *read_seconds(const char *at, struct sb_trace_spec *spec)
{
	return number(&at, 1e-3, 1e9, &spec->seconds) && !*at ? NULL : "seconds:N, N from 0.001";
}

static const char *read_slow(const char *at, struct sb_trace_spec *spec)
{
	if (!number(&at, 1.01, 1e6, &spec->slow_ratio) || (*at && *at != ','))
		return "slow:RATIO or slow:RATIO,N, the RATIO from 1.01";
	if (!*at)
		return NULL;
	at++;
	if (!steps(&at, 1, &spec->moments) || spec->moments > SB_TRACE_MOMENTS_MAX || *at)
		return "slow:RATIO,N, N a whole number from 1 to 100";
	return NULL;
}
_Static_assert(SB_TRACE_MOMENTS_MAX == 100, "the words above say so");

/* Returns what would fit; "": anything else; NULL: the text does. */
static const char *read_text(const char *text, struct sb_trace_spec *spec)
{
	static const struct {
		const char *word;
		enum sb_trace_bound bound;
		const char *(*read)(const char *at, struct sb_trace_spec *spec);
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
		return forms[i].read(text + size, spec);
	}
	return !*text || !strcmp(text, "all") ? NULL : "";
}

static const char *or_else(const char *fits, const char *all)
{
	return fits && !*fits ? all : fits;
}

const char *sb_trace_setting_wants(const char *text)
{
	struct sb_trace_spec spec;

	return or_else(read_text(text, &spec), TRACES);
}

static const char *counters_want(const char *text, struct sb_trace_spec *spec, const char *all)
{
	const char *fits = read_text(text, spec);

	return spec->bound == SB_TRACE_SLOW ? SLOW_OF_COUNTERS : or_else(fits, all);
}

const char *sb_counters_setting_wants(const char *text)
{
	struct sb_trace_spec spec;

	if (!strcmp(text, SB_TRACE_BY_SIGNAL) || !strcmp(text, SB_COUNTERS_OF_SLOW))
		return NULL;
	return counters_want(text, &spec, COUNTERS);
}

int sb_trace_spec_parse(const char *text, struct sb_trace_spec *out_spec)
{
	struct sb_trace_spec spec;
	const char *fits = or_else(read_text(text ? text : "", &spec), TRACES);

	if (fits)
		return sb_fail(STROBE_EINVAL, "gpu trace '%s': use %s", text, fits);
	*out_spec = spec;
	return 0;
}

int sb_counters_spec_parse(const char *text, struct sb_trace_spec *out_spec)
{
	struct sb_trace_spec spec;
	const char *fits = counters_want(text ? text : "", &spec, COUNTERS_STARTED);

	if (fits)
		return sb_fail(STROBE_EINVAL, "gpu counters '%s': use %s", text, fits);
	*out_spec = spec;
	return 0;
}
