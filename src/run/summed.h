/* A zone that a foreign summary made of several calls: it has their count and sum, perhaps their
 * extremes, never the single calls. */
#ifndef SB_RUN_SUMMED_H
#define SB_RUN_SUMMED_H

#include "run/run.h"
#include "format/run_keys.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct sb_summed {
	int64_t calls;
	double min_s, max_s, median_s, std_s; /* NaN: not given */
};

/* Only imports write such zones: ask once per run, not once per zone. */
static inline bool sb_summed_possible(const struct sb_run *run)
{
	return sb_run_meta_find(run, SB_META_RUN, SB_RUN_IMPORTED_FROM) != NULL;
}

/* false: the zone is one call, as zones are. */
static inline bool sb_summed_of(const struct sb_zone *z, struct sb_summed *out)
{
	double calls = z->attr_count ? sb_attr_number(z->attrs, z->attr_count, SB_ATTR_CALLS) : NAN;

	if (!(calls > 1) || calls > 1e15 || z->flags & (SB_ZONE_CLIPPED | SB_ZONE_OPEN | SB_ZONE_RECURSIVE))
		return false;
	out->calls = (int64_t)calls;
	out->min_s = sb_attr_number(z->attrs, z->attr_count, SB_ATTR_CALLS_MIN);
	out->max_s = sb_attr_number(z->attrs, z->attr_count, SB_ATTR_CALLS_MAX);
	out->median_s = sb_attr_number(z->attrs, z->attr_count, SB_ATTR_CALLS_MEDIAN);
	out->std_s = sb_attr_number(z->attrs, z->attr_count, SB_ATTR_CALLS_STD);
	return true;
}

#endif
