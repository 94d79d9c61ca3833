/* When weights moved between the host and the GPU (zones with the role OFFLOAD), thread by thread. */
#ifndef SB_ANALYZE_GPU_MOVES_H
#define SB_ANALYZE_GPU_MOVES_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_gpu_move {
	int64_t from_ns, to_ns;
};

struct sb_gpu_moves {
	struct sb_vec *tracks; /* of struct sb_gpu_move, in order, none at the same time as another */
	uint32_t track_count;
};

/* Called in the order in which a track's zones end: one that ends later holds those that began after it. False: no memory. */
bool sb_gpu_moves_add(struct sb_gpu_moves *m, uint32_t track, int64_t from_ns, int64_t to_ns);
/* The track's moves that end after a time; NULL: none. Valid until the next one is added. */
const struct sb_gpu_move *sb_gpu_moves_after(
	const struct sb_gpu_moves *m, uint32_t track, int64_t t_ns, size_t *out_count);
/* Nothing that ended so far is asked for any more. */
void sb_gpu_moves_forget(struct sb_gpu_moves *m, uint32_t track);
void sb_gpu_moves_done(struct sb_gpu_moves *m);

#endif
