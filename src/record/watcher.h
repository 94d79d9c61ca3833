/* Tells a watcher which steps and generations begin and end, while there is one. */
#ifndef SB_RECORD_WATCHER_H
#define SB_RECORD_WATCHER_H

#include "strobe.h"

#include <stdint.h>

/* Both are called on the recording thread. */
struct sb_watcher {
	/* The innermost zone gets an attribute that has one of the fixed names. The role (SB_NAME_ROLE)
	 * comes first: with it the step or generation begins. */
	void (*fact)(uint32_t name, int64_t value);
	/* The innermost zone of that role ends. */
	void (*end)(enum strobe_role role);
	/* A step that the caller timed is over; block_size 0: not given. */
	void (*step_over)(uint64_t duration_ns, int64_t block_size);
};

/* NULL: none. One at a time, in all instances of the library; it is never freed. */
void sb_watcher_set(const struct sb_watcher *watcher);

/* Call the watcher, if there is one. */
void sb_watcher_fact(uint32_t name, int64_t value);
void sb_watcher_end(enum strobe_role role);
void sb_watcher_step_over(uint64_t duration_ns, int64_t block_size);

#endif
