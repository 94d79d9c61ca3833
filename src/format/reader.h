/* Opens one .strobe file and hands out its chunks. Checks every length, reads what is sound and reports
 * the rest as damage. A file may grow and be folded while it is read: chunks are copied out and checked.
 * Plain reads, no mapping: a file that shrinks under us is an error, not a signal. */
#ifndef SB_FORMAT_READER_H
#define SB_FORMAT_READER_H

#include "base/infile.h"
#include "format/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a chunk is and what its header says; checked when the file was opened. */
struct sb_chunk {
	uint32_t index;
	uint32_t epoch;
	uint32_t writer;
	uint32_t tid;
	uint32_t track;
	uint16_t stream;
	bool gap; /* the chunk before it (by seq) is missing */
	uint64_t seq;
	uint64_t base_ticks;
	uint64_t anchor_mono_ns;
	uint32_t anchor_width_ns;
	uint64_t words_lost;
};

enum sb_damage {
	SB_DAMAGE_CHUNK_HEADER, /* a chunk whose header makes no sense */
	SB_DAMAGE_DUPLICATE, /* two chunks claim the same place */
	SB_DAMAGE_WORD, /* a word of no known kind */
	SB_DAMAGE_LENGTH, /* a record that leaves its chunk */
	SB_DAMAGE_TRUNCATED, /* the file ends inside a chunk */
	SB_DAMAGE_MISSING, /* a chunk that should be there is not */
	SB_DAMAGE_DIGEST, /* a digest that makes no sense */
	SB_DAMAGE_HOLE, /* zeros in the middle of a chunk */
	SB_DAMAGE_PACKED, /* a packed chunk that does not unpack */
	SB_DAMAGE_STREAM, /* a record in a stream that never has such records */
	SB_DAMAGE_KINDS
};

struct sb_reader {
	char *path;
	struct sb_file_header head;
	uint64_t file_bytes;
	bool packed;
	bool live; /* not closed: may still be written to */
	struct sb_chunk *chunks; /* by stream, writer, seq */
	uint32_t chunk_count;
	uint64_t last_ticks; /* heartbeat or end, whichever is known; later words may raise it */
	struct {
		uint64_t count;
		uint64_t bytes;
		uint64_t first_offset;
	} damage[SB_DAMAGE_KINDS];
	uint64_t vanished_count; /* chunks folded away while we read */
	/* private */
	int fd; /* -1: closed for now, see reader_files.h */
	struct sb_reader_files *files;
	uint64_t device, inode;
	uint64_t base; /* where the recording begins in its file; 0 but in a gathered one */
	uint32_t chunk_room;
	struct sb_packed *packing;
};

/* Refuses anything but a regular file, without waiting. */
int sb_reader_open(const char *path, struct sb_reader **out_reader);
int sb_reader_open_from(const char *path, enum sb_infile_from from, struct sb_reader **out_reader);
/* A part of a gathered file: see gathered.h. */
int sb_reader_open_part(const char *path, uint64_t offset, uint64_t bytes, struct sb_reader **out_reader);
void sb_reader_close(struct sb_reader *r); /* takes NULL */

/* Copies a chunk into buf, which holds chunk_bytes, and points at its words.
 * NULL: it was folded away or cut off meanwhile, and is counted. */
const uint64_t *sb_reader_chunk(
	struct sb_reader *r, const struct sb_chunk *chunk, uint64_t *buf, size_t *out_words);

/* The chunks of a stream and writer (0: every writer): a range of r->chunks. */
struct sb_chunk_range {
	uint32_t first, end;
};
struct sb_chunk_range sb_reader_range(const struct sb_reader *r, enum sb_stream stream, uint32_t writer);

void sb_reader_damage(struct sb_reader *r, enum sb_damage kind, uint64_t bytes, uint64_t offset);
uint64_t sb_reader_chunk_offset(const struct sb_reader *r, const struct sb_chunk *chunk);
const char *sb_damage_text(enum sb_damage kind); /* "a word of no known kind" */
const char *sb_lost_text(enum sb_lost_reason reason); /* "disk full" */
const char *sb_lost_key(enum sb_lost_reason reason); /* "disk_full" */

/* Reads up to size bytes; fewer only at the end of the file or when it fails. */
size_t sb_read_at(int fd, void *to, size_t size, uint64_t offset);
/* The first 8 bytes of a file, which say what it is; zeros past its end, or where it cannot be opened. */
void sb_file_magic(const char *path, enum sb_infile_from from, char out_magic[8]);
/* True when the first bytes are a .strobe file's, plain or packed. */
bool sb_reader_is_recording(const char *path);

#endif
