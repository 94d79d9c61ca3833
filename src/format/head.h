/* The headers of the recordings in a file, without reading the rest. */
#ifndef SB_FORMAT_HEAD_H
#define SB_FORMAT_HEAD_H

#include "base/infile.h"
#include "format/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_head_kind {
	SB_HEAD_NONE, /* no recording, or one that cannot be opened */
	SB_HEAD_PLAIN,
	SB_HEAD_PACKED,
	SB_HEAD_GATHERED /* many small recordings in one file */
};

/* A recording's header. The header of a packed file has the same values as its recording's. */
typedef void sb_head_visit(const struct sb_file_header *head, void *context);

/* Visits the header of every recording in the file. out_bytes: what the file takes on
 * the disk; untouched where the kind is SB_HEAD_NONE. */
enum sb_head_kind sb_head_read(
	const char *path, enum sb_infile_from from, sb_head_visit *visit, void *context, uint64_t *out_bytes);

#endif
