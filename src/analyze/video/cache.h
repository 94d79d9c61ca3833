/* Caches: hits, misses, evictions. A request is a hit or a miss; an eviction
 * is neither. */
#ifndef SB_ANALYZE_VIDEO_CACHE_H
#define SB_ANALYZE_VIDEO_CACHE_H

#include "analyze/analysis.h"

extern const struct sb_analysis sb_analysis_cache;

#endif
