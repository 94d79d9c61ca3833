/* GPU zones without the ordinary zone around them. */
#ifndef SB_GPU_ZONE_H
#define SB_GPU_ZONE_H

#include "gpu/marker.h"

#define SB_GPU_ZONE_CUT UINT32_MAX
/* Neither blocks nor fails; what cannot be timed is counted with its reason. */
/* begin_ticks: when the ordinary zone began. */
void sb_gpu_zone_begin(
	uint32_t name, sb_cu_stream stream, struct sb_gpu_arrival arrival, uint64_t begin_ticks);
/* Ends the zone. name 0: the innermost one that began on the stream, else the innermost; stream may be
 * STROBE_GPU_SAME_STREAM. Returns the name that ends the ordinary zone around it; SB_GPU_ZONE_CUT: that one has
 * ended already. */
uint32_t sb_gpu_zone_end(uint32_t name, sb_cu_stream stream, struct sb_gpu_arrival arrival);
void sb_gpu_zone_leave(uint64_t now_ticks); /* the thread goes back to the program */

void sb_gpu_zones_forget(void); /* open zones of every thread: after a fork */
void sb_gpu_zones_threadless(bool yes); /* tests resolve by hand */

#endif
