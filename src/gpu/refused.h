/* Memory of a device that the driver refuses a program: recorded as an event SB_EVENT_OUT_OF_MEMORY, while a trace has CUPTI's
 * callbacks. For programs without torch, whose allocator says so itself. */
#ifndef SB_GPU_REFUSED_H
#define SB_GPU_REFUSED_H

#include "gpu/cupti_library.h"

#include <stdbool.h>
#include <stdint.h>

/* Switches the callbacks on or off. */
void sb_refused_enable(const struct sb_cupti *cupti, void *subscriber, uint32_t enable);
/* True if a call asks for memory of a device. */
bool sb_refused_asks(uint32_t domain, uint32_t id);
/* Takes the begin or the end of such a call. */
void sb_refused_called(uint32_t id, const struct cupti_callback_data *data);

#endif
