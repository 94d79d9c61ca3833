/* The runs that can be served: found by looking, never by what a request says.
 * A request's id is only ever compared with what was found. */
#ifndef SB_SERVE_LISTING_H
#define SB_SERVE_LISTING_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_LISTING_MAX 1000u

struct sb_listed {
	char *id; /* the folder's or file's name */
	char *path;
	char name[128]; /* the session's */
	char host[64];
	uint64_t start_real_ns;
	uint64_t bytes;
	uint32_t pid;
	int32_t rank; /* -1: none */
	bool live;
};

struct sb_listing {
	struct sb_listed *runs; /* newest first, at most SB_LISTING_MAX */
	size_t count;
	size_t left_out;
};

/* target: one run (a folder with recordings, a .strobe file), or a folder of
 * runs. A folder without any is no error: runs may still come. */
int sb_listing_scan(const char *target, struct sb_listing *out_listing);
void sb_listing_done(struct sb_listing *l); /* l may be zeroed */
const struct sb_listed *sb_listing_find(const struct sb_listing *l, const char *id); /* NULL: none */
/* {"runs": [{"id", "name", "start_time", "live", "bytes"...}]} */
void sb_listing_json(const struct sb_listing *l, struct sb_buf *out);

#endif
