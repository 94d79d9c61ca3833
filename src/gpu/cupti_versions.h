/* Which versions of CUPTI are known, by what they tell of themselves: 18 to 28 were those of CUDA 12's releases, then
 * 1000 * CUDA's own number. */
#ifndef SB_GPU_CUPTI_VERSIONS_H
#define SB_GPU_CUPTI_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

/* CUDA 12 and 13: the records' common prefix is known to hold for these. */
static inline bool sb_cupti_is_known(uint32_t version)
{
	return (version >= 18 && version < 100) || (version >= 120000 && version < 140000);
}

/* From CUDA 12.6 on. */
static inline bool sb_cupti_samples_counters(uint32_t version)
{
	return sb_cupti_is_known(version) && version >= 24;
}

#endif
