/* GPU zones without the ordinary zone around them. */
#ifndef SB_GPU_ZONE_H
#define SB_GPU_ZONE_H

#include "gpu/marker.h"

/* Never blocks and never fails; what cannot be timed is counted with its reason.
 * name 0: the innermost that began on the stream, else the innermost; stream: or
 * STROBE_GPU_SAME_STREAM. Returns the name that the ordinary zone ends by, or SB_GPU_ZONE_CUT:
 * it ended with a zone around it. */
#define SB_GPU_ZONE_CUT UINT32_MAX
void sb_gpu_zone_begin(uint32_t name, sb_cu_stream stream, struct sb_gpu_arrival arrival);
uint32_t sb_gpu_zone_end(uint32_t name, sb_cu_stream stream, struct sb_gpu_arrival arrival);
void sb_gpu_zone_leave(void); /* the thread goes back to the program */

void sb_gpu_zones_forget(void); /* open zones of every thread: after a fork */
void sb_gpu_zones_threadless(bool yes); /* tests resolve by hand */

#endif
