/* The built page (web/, embedded) with data inside: one HTML file that needs nothing else. The caller
 * chooses the data. */
#ifndef SB_REPORT_PAGE_PAGE_H
#define SB_REPORT_PAGE_PAGE_H

#include "base/buf.h"

struct sb_page {
	const char *kind; /* "report", "diff", "aggregate", "bench", "journal", "runs" */
	const char *json; /* what the kind's command prints with --format json */
	size_t json_size;
	const struct sb_buf *timeline; /* the bytes of timeline.h; NULL: none */
	const struct sb_buf *base_timeline; /* of the run before, beside the one now; NULL: none */
	const struct sb_buf *recording; /* the run itself, for every command to open; NULL: none */
	const struct sb_buf *job; /* a job's recordings, likewise; NULL: none */
	const char *live; /* address under which the server keeps the data fresh; NULL: a file */
};

/* Appends the page to out. The page's policy allows no network at all, or with
 * `live` only the server it came from. */
int sb_page_write(const struct sb_page *page, struct sb_buf *out);

/* A page of a kind around its JSON, as a file. */
int sb_page_wrap(const char *kind, const struct sb_buf *json, struct sb_buf *out);

#endif
