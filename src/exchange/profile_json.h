/* The values of a JSON report's objects. */
#ifndef SB_EXCHANGE_PROFILE_JSON_H
#define SB_EXCHANGE_PROFILE_JSON_H

#include "base/jsondom.h"

#include <math.h>

/* NAN: not there, or no number. */
static inline double sb_profile_number(const struct sb_jsondom *n, const char *key)
{
	return sb_jsondom_number(sb_jsondom_get(n, key), NAN);
}

/* Of strobe's key, or of the one that another profiler writes. */
static inline double sb_profile_either(const struct sb_jsondom *n, const char *key, const char *other)
{
	double value = sb_profile_number(n, key);

	return isnan(value) ? sb_profile_number(n, other) : value;
}

/* "": not there, or no string. */
static inline const char *sb_profile_string(const struct sb_jsondom *n, const char *key)
{
	return sb_jsondom_string(sb_jsondom_get(n, key), "");
}

/* 0: not known, or no time that a run could take. */
static inline int64_t sb_profile_ns(double s)
{
	return s > 0 && s < 1e8 ? (int64_t)(s * 1e9 + 0.5) : 0;
}

#endif
