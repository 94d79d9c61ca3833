/* Packed recordings: the same chunks, each delta-coded and compressed. A RUN
 * like any other: reader.c asks here when a file turns out to be packed. */
#ifndef SB_FORMAT_PACKED_H
#define SB_FORMAT_PACKED_H

#include "format/reader.h"

#define SB_PACKED_MAGIC "STROBEz\n"

struct sb_packed;

/* Reads the index behind the header of a packed file. */
int sb_packed_open(int fd, uint64_t file_bytes, const char *path, struct sb_file_header *out_head,
	struct sb_packed **out_packed);
void sb_packed_close(struct sb_packed *p); /* takes NULL */
uint32_t sb_packed_count(const struct sb_packed *p);
/* Unpacks chunk i into buf (chunk_bytes); the bytes in it, 0 when damaged. */
size_t sb_packed_chunk(struct sb_packed *p, uint32_t i, void *buf);
int sb_packed_chunk_header(struct sb_packed *p, uint32_t i, struct sb_chunk_header *out_header);

/* Writes a packed copy of a recording that is not being written any more. */
int sb_packed_write(struct sb_reader *r, const char *path);

#endif
