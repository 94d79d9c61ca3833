/* Large allocations of the host's memory, by the line of the program that asked for them. Preloaded into a program by
 * `strobe run --memory-history=host`; until it is started it only passes calls on. */
#ifndef STROBE_ALLOCATIONS_H
#define STROBE_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLOCATION_SITES 4096u /* numbers of sites are smaller */

enum {
	SITE_OTHER,
	SITE_UNNAMED,
	SITE_FIRST
}; /* of other threads; of the main thread, its line not yet asked for; named */

struct allocation_site {
	int64_t now_bytes, now_count;
	int64_t peak_bytes, peak_count; /* when all sites together held most */
	uint64_t last_us; /* Unix time of its last allocation before that */
};

/* What the Python package finds by the name "strobe_allocations". */
struct allocations {
	/* From now on allocations of this size and larger are kept; ask is called for each that the main thread makes,
	 * inside of malloc: it waits for nothing and allocates nothing. NULL: no more. */
	void (*start)(size_t least_bytes, void (*ask)(void));
	/* The site of all that the main thread allocated since the last call. */
	void (*name)(uint32_t site);
	/* Copies the first count sites. */
	void (*read)(
		struct allocation_site *out, uint32_t count, uint64_t *out_peak_us, uint64_t *out_lost_count);
};
extern const struct allocations strobe_allocations;

/* ---- table.c ---- */
struct allocation {
	uintptr_t address; /* 0: none */
	size_t size;
	uint64_t time_us;
	uint32_t site;
};
extern size_t allocations_least; /* SIZE_MAX: nothing is kept */
void allocations_put(void *block, size_t size);
void allocations_put_back(const struct allocation *taken);
/* Whether it may be there: most blocks are not, and cost one load. */
bool allocations_may_have(const void *block);
struct allocation allocations_take(void *block);

#endif
