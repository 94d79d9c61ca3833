/* Callbacks on the driver's calls that allocate. One that succeeds costs the callback; what is free is asked for once one has
 * failed. */
#include "gpu/refused.h"

#include "format/run_keys.h"
#include "gpu/driver.h"
#include "gpu/trace.h"
#include "strobe.h"

#include <stdatomic.h>
#include <stddef.h>

#define TIMES_MOST 16u /* in a trace: a program may try smaller and smaller sizes */
#define ON_A_DEVICE 1 /* CU_MEM_LOCATION_TYPE_DEVICE */

static const uint32_t calls[] = CUPTI_DRIVER_ALLOCATIONS;
static _Atomic uint32_t times;

struct request { /* how the parameters of most of these calls begin */
	void *out;
	size_t bytes;
};

struct request_pitch {
	void *out, *out_pitch;
	size_t width, height;
};

struct request_create {
	void *out;
	size_t bytes;
	const struct {
		int type, handle_types, location_type, location;
	} * properties;
};

void sb_refused_enable(const struct sb_cupti *cupti, void *subscriber, uint32_t enable)
{
	if (enable)
		atomic_store(&times, 0);
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		cupti->enable_callback(enable, subscriber, CUPTI_DOMAIN_DRIVER, calls[i]);
}

bool sb_refused_asks(uint32_t domain, uint32_t id)
{
	for (size_t i = 0; domain == CUPTI_DOMAIN_DRIVER && i < sizeof calls / sizeof *calls; i++)
		if (calls[i] == id)
			return true;
	return false;
}

/* False: it is not a device's memory that was asked for. */
static bool read_request(uint32_t id, const void *params, size_t *out_bytes, int *device)
{
	const struct request *r = params;
	const struct request_pitch *pitch = params;
	const struct request_create *create = params;

	*out_bytes = id == CUPTI_DRIVER_ALLOCATE_PITCH ? pitch->width * pitch->height : r->bytes;
	if (id != CUPTI_DRIVER_CREATE)
		return true;
	if (!create->properties || create->properties->location_type != ON_A_DEVICE)
		return false;
	*device = create->properties->location;
	return true;
}

static struct strobe_attr number(const char *key, int64_t value)
{
	return (struct strobe_attr){ key, STROBE_TYPE_INT, { .i = value } };
}

static void tell(uint32_t id, const void *params)
{
	const struct sb_cuda *cuda = sb_cuda_get();
	size_t requested, free_bytes = 0, total_bytes = 0;
	int device = 0, current = 0;
	struct strobe_attr attrs[5];
	bool known;

	if (!cuda || cuda->context_device(&current))
		return;
	device = current;
	if (!read_request(id, params, &requested, &device))
		return;
	known = device == current && cuda->memory_info && !cuda->memory_info(&free_bytes, &total_bytes);
	attrs[0] = number(SB_ATTR_REFUSED_BY_DRIVER, 1);
	attrs[1] = number("device", device);
	attrs[2] = number("requested_bytes", (int64_t)requested);
	attrs[3] = number("free_bytes", (int64_t)free_bytes);
	attrs[4] = number("total_bytes", (int64_t)total_bytes);
	strobe_event(SB_EVENT_OUT_OF_MEMORY, attrs, known ? 5 : 3);
	strobe_gpu_trace_keep("out of memory");
}

void sb_refused_called(uint32_t id, const struct cupti_callback_data *d)
{
	const int *result = d->return_value;

	if (d->site != CUPTI_API_EXIT || !result || *result != SB_CU_OUT_OF_MEMORY || !d->params ||
		atomic_fetch_add(&times, 1) >= TIMES_MOST)
		return;
	tell(id, d->params);
}
