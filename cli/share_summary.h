/* What `strobe share` says it did. */
#ifndef CLI_SHARE_SUMMARY_H
#define CLI_SHARE_SUMMARY_H

#include "command.h"
#include "exchange/share.h"

#include <stddef.h>

/* Prints the page, its size, and what was removed from it; with --quiet the page alone. */
void share_summary_print(
	const struct args *args, const char *path, size_t bytes, const struct sb_share_summary *s);

#endif
