/* When the GPU is at what a zone launched: from when it has done with what was launched before, to when it has done with
 * this. Where the CPU does not run ahead that is the zone itself. */
#ifndef SB_ANALYZE_GPU_GPU_MOMENTS_H
#define SB_ANALYZE_GPU_GPU_MOMENTS_H

#include "base/vec.h"
#include "run/events.h"

struct sb_gpu_moments {
	struct sb_vec *tracks; /* of struct sb_gpu_late, both times rising */
	uint32_t track_count;
};

/* Called with the zones of a track as they end, with their GPU spans. False: there is no such moment, or no memory: then
 * no_memory is set. */
bool sb_gpu_moments_of(struct sb_gpu_moments *m, const struct sb_zone *z, int64_t *out_from_ns,
	int64_t *out_to_ns, bool *no_memory);
void sb_gpu_moments_done(struct sb_gpu_moments *m);

#endif
