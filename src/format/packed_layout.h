/* What a packed file consists of, for its reader and its writer; docs/format.md
 * has it in words. */
#ifndef SB_FORMAT_PACKED_LAYOUT_H
#define SB_FORMAT_PACKED_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_PACKED_VERSION 1u
#define SB_PACKED_GROUP_CHUNKS 8u /* chunks of one writer and stream, packed together */

struct sb_packed_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes; /* of the recording's own header, which follows */
	uint32_t group_count;
	uint32_t chunk_count;
	uint64_t index_offset;
	uint64_t index_bytes;
};

/* The index, itself compressed: groups, then every chunk's header. */
struct sb_packed_group {
	uint64_t offset;
	uint32_t bytes;
	uint32_t first_chunk;
	uint32_t chunk_count;
	uint32_t raw_bytes; /* uncompressed, with the first byte */
};

/* The first byte of a group. */
enum { SB_PACKED_RAW = 0, SB_PACKED_COLUMNS = 1 };

/* Makes room for size bytes; false, and nothing changed, when memory is out. */
bool sb_packed_ensure(char **buf, size_t *room, size_t size);

#endif
