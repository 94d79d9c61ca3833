/* Assembles libstrobe: which modules live with a session. */
#include "record/module.h"

#include <stddef.h>

const struct sb_module *const sb_modules[] = {
	NULL,
};
