/* Sorts more records than memory holds: full loads are sorted and spilled to an
 * unlinked temporary file, then merged. Stable. Records begin with their key:
 * three words, compared as unsigned numbers in order. */
#ifndef SB_BASE_EXTSORT_H
#define SB_BASE_EXTSORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_EXTSORT_KEY_WORDS 3

struct sb_extsort;

/* record_bytes is a multiple of 8. memory_bytes bounds what it keeps; while a load
 * that is in no order is sorted, about half as much comes on top.
 * folder takes the temporary file, if one is needed; copied. */
int sb_extsort_new(
	size_t record_bytes, size_t memory_bytes, const char *folder, struct sb_extsort **out_sort);
void sb_extsort_free(struct sb_extsort *s); /* takes NULL */

int sb_extsort_add(struct sb_extsort *s, const void *record);
uint64_t sb_extsort_count(const struct sb_extsort *s);

/* After the last add. */
int sb_extsort_finish(struct sb_extsort *s);
/* The next record in order, NULL at the end; valid until the next call. A failed read ends the sequence;
 * sb_extsort_error returns it. */
const void *sb_extsort_next(struct sb_extsort *s);
int sb_extsort_error(const struct sb_extsort *s);

/* The default folder of temporary files: $TMPDIR, else /var/tmp, else /tmp. */
const char *sb_extsort_folder(void);

#endif
