/* What `strobe share` says it did. */
#ifndef CLI_SHARE_SUMMARY_H
#define CLI_SHARE_SUMMARY_H

#include "exchange/share.h"

#include <stddef.h>

/* The page, its size, and what was removed from it. */
void share_summary_print(const char *path, size_t bytes, const struct sb_share_summary *s);

#endif
