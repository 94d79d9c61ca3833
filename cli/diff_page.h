/* The page of a comparison. */
#ifndef CLI_DIFF_PAGE_H
#define CLI_DIFF_PAGE_H

#include "command.h"

#include "base/buf.h"
#include "compare/compare.h"

/* Appends the page; of several runs a side the timelines are of the first. Returns an exit code. */
int diff_page_write(const struct args *args, const struct sb_comparison *c, struct sb_buf *out);

#endif
