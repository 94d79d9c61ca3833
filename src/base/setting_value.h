/* A recorded setting or tag as a number; NaN: it is none. */
#ifndef SB_BASE_SETTING_VALUE_H
#define SB_BASE_SETTING_VALUE_H

#include "strobe.h"

#include <stdint.h>

/* i of an int or bool, f of a float, s of a string. */
double sb_setting_value(enum strobe_type type, int64_t i, double f, const char *s);
/* The value of a name in a list that the recorder wrote: "name=value;name=value". list may be NULL. */
double sb_setting_listed(const char *list, const char *name);

#endif
