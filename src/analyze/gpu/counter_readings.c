/* What held the GPU up in a reading: by its means, and by what the program did meanwhile. */
#include "analyze/gpu/counter_readings.h"

#include <math.h>

#define NEAR_PEAK 40 /* percent */
#define KERNELS_RUN 2
#define COPIES_RUN \
	5.0 /* GB/s over PCIe, either way: more than a quarter of the time in copies, also of memory that is not pinned */
#define RANKS_TALK 15.0 /* GB/s over NVLink */
#define REST_LEAST 0.02 /* of a reading */
#define ROUNDING_S 1e-9 /* of sums that readings are taken from */

static const enum sb_gpu_counter busy_parts[] = { SB_COUNTER_TENSOR, SB_COUNTER_FP32, SB_COUNTER_DRAM };

/* Near its peak means: most of what such kernels reach. */
enum sb_gpu_bound sb_counter_bound(const double *percent, double utilization, double pcie, double nvlink)
{
	static const enum sb_gpu_bound bounds[] = { SB_BOUND_TENSOR, SB_BOUND_FP32, SB_BOUND_DRAM };
	int most = 0;

	for (int i = 1; i < 3; i++)
		if (percent[busy_parts[i]] > percent[busy_parts[most]] || isnan(percent[busy_parts[most]]))
			most = i;
	if (percent[busy_parts[most]] >= NEAR_PEAK)
		return bounds[most];
	if (nvlink >= RANKS_TALK)
		return SB_BOUND_COMMUNICATION; /* its kernels keep processors busy, with waiting */
	if (percent[SB_COUNTER_SM] >= SB_SMS_WORK)
		return SB_BOUND_SM;
	if (pcie >= COPIES_RUN)
		return SB_BOUND_COPIES;
	return utilization >= KERNELS_RUN || percent[SB_COUNTER_SM] >= KERNELS_RUN ? SB_BOUND_LAUNCH
										   : SB_BOUND_HOST;
}

size_t sb_counter_readings_from(const struct sb_counter_reading *all, size_t count, int64_t t_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].t_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void sb_counter_readings_add(
	struct sb_counter_sums *s, const struct sb_counter_reading *all, size_t first, size_t last)
{
	const struct sb_counter_sums *from = &all[first].sums, *to = &all[last].sums;

	s->covered_s += to->covered_s - from->covered_s;
	for (int k = 0; k < SB_COUNTERS; k++) {
		s->weighted[k] += to->weighted[k] - from->weighted[k];
		s->known_s[k] += to->known_s[k] - from->known_s[k];
	}
	for (int k = 0; k < SB_BOUNDS; k++)
		s->bound_s[k] += to->bound_s[k] - from->bound_s[k];
	for (int k = 0; k < SB_BESIDES; k++) {
		s->beside[k] += to->beside[k] - from->beside[k];
		s->beside_s[k] += to->beside_s[k] - from->beside_s[k];
	}
}

/* ---- weights that move ---- */

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

/* What held the GPU up in a reading by its means alone; SB_BOUNDS: not known. */
static int bound_in(const struct sb_counter_reading *r)
{
	for (int k = 0; k < SB_BOUNDS; k++)
		if (r->sums.bound_s[k] > r[-1].sums.bound_s[k])
			return k;
	return SB_BOUNDS;
}

static double mean_in(const struct sb_counter_reading *r, int counter)
{
	double known_s = r->sums.known_s[counter] - r[-1].sums.known_s[counter];

	return known_s > 0 ? (r->sums.weighted[counter] - r[-1].sums.weighted[counter]) / known_s : NAN;
}

/* The processors' work in the reading is that of its other part. */
static enum sb_gpu_bound bound_of_rest(const struct sb_counter_reading *r, double rest_ratio)
{
	double percent[SB_COUNTERS];

	percent[SB_COUNTER_SM] = mean_in(r, SB_COUNTER_SM) / rest_ratio;
	for (size_t i = 0; i < sizeof busy_parts / sizeof *busy_parts; i++)
		percent[busy_parts[i]] = mean_in(r, busy_parts[i]) / rest_ratio;
	return sb_counter_bound(percent, (double)r->utilization, 0, (double)r->nvlink / rest_ratio);
}

/* Weights moved for so long in the reading; the processors cannot have idled for longer than they did. */
static void move_reading(struct sb_counter_sums *s, const struct sb_counter_reading *r, int64_t moved_ns)
{
	int bound = bound_in(r);
	double dt_s = seconds(r->t_ns - r[-1].t_ns), moved_ratio = seconds(moved_ns) / dt_s;

	if (bound == SB_BOUNDS || bound == SB_BOUND_COPIES || bound == SB_BOUND_COMMUNICATION)
		return;
	moved_ratio = fmin(moved_ratio, 1 - mean_in(r, SB_COUNTER_SM) / 100);
	if (!(moved_ratio > 0))
		return;
	s->bound_s[bound] -= dt_s;
	if (s->bound_s[bound] < ROUNDING_S)
		s->bound_s[bound] = 0;
	if (1 - moved_ratio < REST_LEAST)
		moved_ratio = 1;
	else
		s->bound_s[bound_of_rest(r, 1 - moved_ratio)] += (1 - moved_ratio) * dt_s;
	s->bound_s[SB_BOUND_COPIES] += moved_ratio * dt_s;
}

void sb_counter_readings_add_moves(struct sb_counter_sums *to, const struct sb_counter_reading *all,
	size_t first, size_t last, const struct sb_gpu_moves *moves, uint32_t track)
{
	size_t count, reading = 0;
	const struct sb_gpu_move *m = sb_gpu_moves_after(moves, track, all[first].t_ns, &count);
	int64_t moved_ns = 0; /* in the reading at hand; 0 is none: it has nothing before it */

	for (; count && m->from_ns < all[last].t_ns; m++, count--) {
		int64_t from_ns = m->from_ns > all[first].t_ns ? m->from_ns : all[first].t_ns;
		size_t i = sb_counter_readings_from(all, last + 1, from_ns + 1);

		for (; i <= last && all[i - 1].t_ns < m->to_ns; i++) {
			int64_t begin_ns = from_ns > all[i - 1].t_ns ? from_ns : all[i - 1].t_ns;

			if (i != reading && reading)
				move_reading(to, &all[reading], moved_ns);
			moved_ns = i == reading ? moved_ns : 0;
			moved_ns += (m->to_ns < all[i].t_ns ? m->to_ns : all[i].t_ns) - begin_ns;
			reading = i;
		}
	}
	if (reading)
		move_reading(to, &all[reading], moved_ns);
}
