/* The devices whose counters are sampled: got, read and given back, and what is lost of their samples counted.
 * counters.c decides when. One thread at a time. */
#ifndef SB_GPU_COUNTED_H
#define SB_GPU_COUNTED_H

#include <stdbool.h>
#include <stdint.h>

bool sb_counted_in_use(void); /* the program uses a device */

/* Gets the devices that the program uses. False: none can be sampled, which was said. */
bool sb_counted_open(void);
/* Samples those that start, from now on; the others are given back, which is said. False: none starts. */
bool sb_counted_start(void);
uint64_t sb_counted_begin_ticks(void);
bool sb_counted_look(void); /* samples one more that came into use since the start. False: there is none */
void sb_counted_drain(uint64_t cut_ticks); /* writes what is complete and ended before; 0: all */
bool sb_counted_any(void); /* false: all had to be given back */
void sb_counted_end(
	uint64_t cut_ticks); /* reads the last samples, counts those that are missing, gives all back */

uint64_t sb_counted_overflows(void); /* times a buffer was full, since the start */
void sb_counted_close(void); /* gives back what is held */
void sb_counted_forget(void); /* in a forked child: the devices are its parent's */

#endif
