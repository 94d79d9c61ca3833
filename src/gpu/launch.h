/* Which call launched what: a table from CUPTI's correlation number to the thread and
 * the time of the call, filled by callbacks on launch and copy calls. */
#ifndef SB_GPU_LAUNCH_H
#define SB_GPU_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct sb_launch_call {
	uint64_t ticks; /* 0: not known */
	uint32_t tid;
};

bool sb_launches_init(void); /* false: no memory */
void sb_launches_ready(void); /* its pages are there before a call is noted */
void sb_launches_done(void); /* gives the memory back */

/* A CUPTI callback function. */
void sb_launch_callback(void *user, uint32_t domain, uint32_t id, const void *data);

struct sb_launch_call sb_launch_of(uint32_t correlation); /* the call of that number */
uint32_t sb_launch_last(void); /* the newest correlation number, 0: none yet */

#endif
