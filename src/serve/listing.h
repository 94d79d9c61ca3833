/* The runs that can be served: found by looking, never by what a request says.
 * A request's id is only ever compared with what was found. */
#ifndef SB_SERVE_LISTING_H
#define SB_SERVE_LISTING_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_LISTING_SHOWN 1000u /* in the list of runs; older ones still have their pages */
#define SB_LISTING_MAX 100000u

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
	bool closed; /* its main recording was stopped in order */
	/* private: which recording decides that */
	bool main_is_tool;
	uint64_t main_start_ns;
};

struct sb_listing {
	struct sb_listed *runs; /* newest first, at most SB_LISTING_MAX */
	size_t count, room;
	size_t left_out; /* beyond SB_LISTING_MAX */
};

/* target: one run (a folder with recordings, a .strobe file), or a folder of
 * runs. A folder without any is no error: runs may still come. */
int sb_listing_scan(const char *target, struct sb_listing *out_listing);
void sb_listing_done(struct sb_listing *l); /* l may be zeroed */
const struct sb_listed *sb_listing_find(const struct sb_listing *l, const char *id); /* NULL: none */
/* "live", "ended", or "killed": not closed, and no process records into it. */
const char *sb_listed_state(const struct sb_listed *run);
/* {"runs": [{"id", "name", "start_time", "state", "live", "bytes"...}]}, the newest SB_LISTING_SHOWN */
void sb_listing_json(const struct sb_listing *l, struct sb_buf *out);

#endif
