/* GPU zones without a GPU: ordinary zones. */
#include "strobe.h"

#include "base/error.h"

void strobe_gpu_zone_begin(const char *name, void *stream)
{
	strobe_zone_begin(name);
}

void strobe_gpu_zone_end(void *stream)
{
	strobe_zone_end();
}

void strobe_gpu_zone_begin_id(uint32_t name, void *stream)
{
	strobe_zone_begin_id(name);
}

void strobe_gpu_zone_end_id(uint32_t name, void *stream)
{
	strobe_zone_end_id(name);
}

int strobe_gpu_trace_start(const char *spec)
{
	return sb_fail(STROBE_ENOTSUP, "no GPU trace in this build");
}

void strobe_gpu_trace_stop(void)
{
}
