/* The readings of a GPU's counters in order of time: what they add up to between two of them, and what held the GPU up. */
#ifndef SB_ANALYZE_GPU_COUNTER_READINGS_H
#define SB_ANALYZE_GPU_COUNTER_READINGS_H

#include "analyze/gpu/moves.h"
#include "analyze/model_counters.h"

struct sb_counter_reading { /* sums from the first reading to this one */
	int64_t t_ns;
	struct sb_counter_sums sums;
	float utilization, nvlink; /* percent and GB/s of the driver, means since the one before */
};

/* What the GPU was busiest with; pcie and nvlink in GB/s. */
enum sb_gpu_bound sb_counter_bound(const double *percent, double utilization, double pcie, double nvlink);
/* The index of the first reading at or after a time. */
size_t sb_counter_readings_from(const struct sb_counter_reading *all, size_t count, int64_t t_ns);
/* Adds the time from one reading to a later one. */
void sb_counter_readings_add(
	struct sb_counter_sums *to, const struct sb_counter_reading *all, size_t first, size_t last);
/* Of that time, what the thread's zones moved weights in and the processors idled: copies held the GPU up then, whatever the
 * mean of the reading looks like. */
void sb_counter_readings_add_moves(struct sb_counter_sums *to, const struct sb_counter_reading *all,
	size_t first, size_t last, const struct sb_gpu_moves *moves, uint32_t track);

#endif
