/* The report model, on memory that grows: what each generation, step or call leaves behind. */
#ifndef SB_ANALYZE_MODEL_GROWTH_H
#define SB_ANALYZE_MODEL_GROWTH_H

#include "stats/fields.h"

#include <stdbool.h>
#include <stdint.h>

enum sb_growth_verdict {
	SB_GROWTH_STEADY, /* no slope, or one that chance explains */
	SB_GROWTH_SETTLES, /* it rose at first and then no more: a cache that filled up */
	SB_GROWTH_RETURNED, /* it rises with the steps and is given back after the generation */
	SB_GROWTH_GROWS /* and never stops: a leak */
};

struct sb_growth {
	const char *of; /* "vram", "host", "pinned", "open_files" */
	const char *per; /* one of sb_growth_units */
	const char *stage; /* whose calls; of the others NULL */
	const char *where; /* the stage in which most of it rose; NULL: none stands out */
	enum sb_growth_verdict verdict;
	int64_t unit_count; /* generations, steps, calls, seconds */
	int64_t reading_count; /* low-water marks that the slope is of */
	double per_unit, low, high; /* the slope and its 95 % interval: bytes, or files */
	double p; /* that there is no slope */
};

extern const struct sb_fields sb_growth_fields;
extern const char *const sb_growth_units[]; /* "generation", "step", "call", "second", SB_NAMES_END */
#define SB_GROWTH_UNITS 4

#endif
