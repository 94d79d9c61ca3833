/* The program's waits for the GPU: its calls of cudaStreamSynchronize and the like, with the thread that waited.
 * Callbacks, enabled on these calls alone, add them on the thread that waits; one thread takes them out. */
#ifndef SB_GPU_WAITS_H
#define SB_GPU_WAITS_H

#include "gpu/cupti_library.h"

#include <stdbool.h>
#include <stdint.h>

enum sb_wait_kind { SB_WAIT_NONE, SB_WAIT_STREAM, SB_WAIT_EVENT, SB_WAIT_DEVICE };

struct sb_wait {
	uint64_t begin_ticks, end_ticks;
	uint32_t tid, device;
	uint32_t stream; /* 0 also where it waits for no single stream */
	uint32_t kind; /* enum sb_wait_kind */
};

bool sb_waits_init(const struct sb_cupti *cupti); /* empties it; false: no memory */
void sb_waits_forget(void); /* in a forked child */

/* Switches the callbacks on or off. */
void sb_waits_enable(const struct sb_cupti *cupti, void *subscriber, uint32_t enable);

/* Which wait a call is; SB_WAIT_NONE: it is none. */
enum sb_wait_kind sb_wait_kind(uint32_t domain, uint32_t id);
/* Takes the begin or the end of such a call. A driver call inside a runtime call is the same wait. */
void sb_wait_called(enum sb_wait_kind kind, uint32_t domain, const struct cupti_callback_data *data);

bool sb_waits_take(struct sb_wait *out_wait); /* the next one that has ended; false: none */
uint64_t sb_waits_dropped(void); /* waits that found no room since the last call */

#endif
