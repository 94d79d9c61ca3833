/* Many small recordings in one file: 4 KiB with its own header, then whole recordings,
 * each as long as its own header says. A part is added whole or not at all. */
#ifndef SB_FORMAT_GATHERED_H
#define SB_FORMAT_GATHERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_GATHERED_MAGIC "STROBEg\n"

/* Where a recording lies in a gathered file. */
struct sb_gathered_part {
	uint64_t offset, bytes;
};

/* What a recording uses of its file: a process that was killed leaves room that it never
 * used. 0: it is none. */
uint64_t sb_gathered_bytes(int recording);
/* Writes the header of a new, empty file. False with errno set. */
bool sb_gathered_begin(int fd);
/* Copies a finished recording to the end: what it used of its file, without room for
 * its zeros. False where it is no recording or cannot be written: nothing is added. */
bool sb_gathered_add(int fd, int recording);

/* True when the file begins like a gathered one. */
bool sb_gathered_is(const char *path);
/* The parts of a file, for the caller to free; where it fails, those before the damage. */
int sb_gathered_list(const char *path, struct sb_gathered_part **out_parts, size_t *out_count);

#endif
