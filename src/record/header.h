/* The file header of a session, from its first moment to its end. */
#ifndef SB_RECORD_HEADER_H
#define SB_RECORD_HEADER_H

#include "format/wire.h"
#include "record/clock.h"
#include "record/settings.h"

/* Fills a header of zeros. The magic is written last: a file that has it has a whole header. */
void sb_header_fill(struct sb_file_header *h, uint32_t chunk_bytes, const struct sb_settings *settings,
	const char *run_dir);
/* Writes the end of the session into it. */
void sb_header_finish(struct sb_file_header *h, const struct sb_anchor *end, uint32_t chunk_count);

#endif
