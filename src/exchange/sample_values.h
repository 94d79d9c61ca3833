/* Samples on a time axis on which a value holds until the next one: a mean stands where its time begins. Counters that
 * were sampled for a part of the run fall to 0 where they were not: such an axis cannot say that nothing is known. */
#ifndef SB_EXCHANGE_SAMPLE_VALUES_H
#define SB_EXCHANGE_SAMPLE_VALUES_H

#include "run/events.h"

#include <stdint.h>

struct sb_sample_values {
	const struct sb_run *run;
	struct sb_sample_row {
		int64_t end_ns; /* of the row before */
		uint64_t known; /* its columns that had a value, of the first 64 */
	} * rows; /* by schema */
	void (*put)(void *user, uint32_t process, const char *name, int64_t t_ns, double value);
	void *user;
};

int sb_sample_values_init(struct sb_sample_values *v, const struct sb_run *run,
	void (*put)(void *user, uint32_t process, const char *name, int64_t t_ns, double value), void *user);
void sb_sample_values_take(struct sb_sample_values *v, const struct sb_event *sample);
void sb_sample_values_done(struct sb_sample_values *v); /* puts what ends; v may be zeroed */

#endif
