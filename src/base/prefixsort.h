/*
 * Orders records by the leading bits of their keys, in a few passes that compare nothing. Records that are
 * equal in those bits keep their order, so that a merge sort afterwards finds long sorted runs.
 */
#ifndef SB_BASE_PREFIXSORT_H
#define SB_BASE_PREFIXSORT_H

#include <stddef.h>
#include <stdint.h>

/* Copies count records from source to target, ordered by the first two words of each; a record is a
 * multiple of 8 bytes. STROBE_ENOMEM leaves the target undefined and sets no message. */
int sb_prefixsort(const char *source, char *target, size_t record_bytes, size_t count);

#endif
