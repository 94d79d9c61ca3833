/* Assembles libstrobe: which modules live with a session. */
#include "gpu/module.h"
#include "monitor/monitor.h"
#include "record/module.h"

#include <stddef.h>

const struct sb_module *const sb_modules[] = {
	&sb_gpu_module,
	&sb_monitor_module,
	NULL,
};
