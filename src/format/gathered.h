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

/* How many bytes of its file a recording uses: a killed process leaves unused room. 0: not a recording. */
uint64_t sb_gathered_bytes(int recording);
/* Writes the header of a new, empty file. False with errno set. */
bool sb_gathered_begin(int fd);
/* Appends a finished recording, only the part of its file that it used. False if it is not a recording or
 * cannot be written; then nothing is added. */
bool sb_gathered_add(int fd, int recording);

/* True when the file begins like a gathered one. */
bool sb_gathered_is(const char *path);
/* The parts of a file, for the caller to free; where it fails, those before the damage. */
int sb_gathered_list(const char *path, struct sb_gathered_part **out_parts, size_t *out_count);

#endif
