/* Writes all bytes to a descriptor, in as many calls as it takes. False: not all were written; errno
 * says why. */
#ifndef SB_BASE_WHOLE_WRITE_H
#define SB_BASE_WHOLE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sb_write_whole(int fd, const void *bytes, size_t size);
bool sb_write_whole_at(int fd, const void *bytes, size_t size, uint64_t offset);

#endif
