/* What a name says about the value that follows it. */
#ifndef SB_BASE_SECRET_NAME_H
#define SB_BASE_SECRET_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum sb_secret_value {
	SB_SECRET_NOT,
	SB_SECRET_MAYBE, /* "key", "pat": a credential if the value looks like one */
	SB_SECRET_SURE,
};

enum sb_secret_value sb_secret_value_of(const char *name, size_t size);

#endif
