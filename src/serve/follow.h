/* A recording that grows: at each look only the words that are new since the
 * last one are read, and added to its tally. Holds no descriptor in between. */
#ifndef SB_SERVE_FOLLOW_H
#define SB_SERVE_FOLLOW_H

#include "serve/tally.h"

/* One writer's chunks of one stream, in order. */
struct sb_follow_writer {
	uint32_t stream, writer;
	uint64_t next_seq; /* to be read next, or being read */
	struct sb_vec chunks; /* struct sb_follow_chunk by seq: read, and to be read */
	size_t first, at; /* the oldest that may be there still; the one being read */
	uint32_t words_done; /* of it */
	uint64_t base_ticks; /* of its next word */
	bool opened; /* words_done and base_ticks are of that chunk */
	bool gap; /* a chunk was missing at the last look */
	struct sb_tally_writer who;
};

struct sb_follow {
	char *path;
	struct sb_tally tally;
	bool begun; /* the tally is of head's recording */
	bool closed; /* nothing more will come */
	struct sb_file_header head; /* as of the last look */
	struct sb_vec writers; /* struct sb_follow_writer */
	struct sb_map writer_of; /* stream << 32 | writer -> index */
	struct sb_vec waiting; /* uint32_t: chunks that had no header yet */
	uint32_t chunk_count; /* looked at so far */
	uint64_t read_bytes; /* by all looks */
	uint64_t restarts; /* times that a part was gone before it was read, and all was read again */
	bool lost_track; /* read from the start at the next look */
};

int sb_follow_init(struct sb_follow *f, const char *path); /* reads nothing yet */
void sb_follow_done(struct sb_follow *f); /* f may be zeroed */
/* Reads what is new. On failure the tally stays as it was. */
int sb_follow_look(struct sb_follow *f);

#endif
