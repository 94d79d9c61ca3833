/* Pages made before anything is written to them. */
#ifndef SB_BASE_POPULATE_H
#define SB_BASE_POPULATE_H

#include <stddef.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Changes nothing in them. False, with errno: not all of them, or the system cannot. */
static inline _Bool sb_populate(void *from, size_t bytes)
{
	return !madvise(from, bytes, MADV_POPULATE_WRITE);
}

#endif
