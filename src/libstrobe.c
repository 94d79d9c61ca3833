/* Assembles libstrobe: which modules live with a session. */
#include "monitor/monitor.h"
#include "record/module.h"

#include <stddef.h>

const struct sb_module *const sb_modules[] = {
	&sb_monitor_module,
	NULL,
};
