/* A GPU's number as the monitors count, from the number that the program has for it: a program that hides GPUs from itself
 * begins to count at the first one that it sees. */
#ifndef SB_ANALYZE_TOUCHED_DEVICES_H
#define SB_ANALYZE_TOUCHED_DEVICES_H

#include "run/run.h"

#define SB_DEVICES_MAX 64u

struct sb_device_numbers {
	const struct sb_run *run; /* the caller sets it */
	uint32_t process; /* that the numbers below are of */
	bool begun;
	int8_t of[SB_DEVICES_MAX]; /* -1: not looked for yet */
};

/* By their UUIDs; the same number where these do not tell. */
int sb_device_number(struct sb_device_numbers *n, uint32_t process, int device);
/* The same for a bit each. */
uint64_t sb_device_number_bits(struct sb_device_numbers *n, uint32_t process, uint64_t bits);

#endif
