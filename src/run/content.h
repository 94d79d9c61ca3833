/* What a file or a folder of files holds: its size, its SHA-256, and a copy of it. */
#ifndef SB_RUN_CONTENT_H
#define SB_RUN_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

struct sb_content {
	uint64_t bytes;
	uint64_t modified_real_ns; /* of a folder the newest file's */
	bool folder;
	char sha256[65]; /* of a folder: over its files' names and SHA-256s; "": larger than most_bytes */
};

/* Size and time alone. */
int sb_content_look(const char *path, struct sb_content *out_content);
/* The same with the SHA-256. */
int sb_content_read(const char *path, uint64_t most_bytes, struct sb_content *out_content);

/* Copies a file; shares its blocks where the file system can. to must not be there. */
int sb_content_copy(const char *from, const char *to);

/* Hex of the SHA-256 of some bytes. */
void sb_content_sha256(const void *bytes, uint64_t size, char out_hex[65]);

#endif
