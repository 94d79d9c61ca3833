/* One GPU that is sampled by the GPU thread. */
#ifndef SB_MONITOR_GPUS_WATCHED_H
#define SB_MONITOR_GPUS_WATCHED_H

#include "monitor/gpus.h"
#include "monitor/samples.h"

#include <stdatomic.h>

enum { SB_GPUS_REASON_BITS = 8 };

/* What the session wants of every GPU. */
struct sb_gpus_plan {
	uint64_t start_ns;
	uint32_t wanted; /* columns */
	uint32_t point_limit;
	uint32_t counters; /* wanted; 0: off */
	uint64_t counters_interval_ns;
	bool counters_said; /* it was reported that a GPU has none */
	atomic_bool abandoned; /* the thread was left behind: record nothing more */
};

struct sb_gpus_watched {
	const struct sb_gpus_vendor *vendor;
	struct sb_gpus_device device;
	struct sb_samples series;
	uint32_t wanted;
	uint32_t recorded; /* the series' columns */
	bool gone;
	double power_w; /* of the last sample */
	uint64_t last_ns;
	double energy_j;
	uint64_t throttle_bits, throttle_seen; /* now; in any reading */
	double throttle_s[SB_GPUS_REASON_BITS];
	uint32_t throttle_events;
	/* the counters: a series of their own, read less often */
	struct sb_samples counters;
	uint32_t counted; /* columns; 0: none, or none any more */
	double count_row[SB_GPUS_COUNTERS]; /* read, and not recorded yet */
	bool count_read;
	uint64_t count_next_ns, count_cost_ns; /* what the last one took */
	uint32_t early_tries;
	uint32_t fruitless; /* tries without a reading, before the first one */
};

/* "gpu0.name: NVIDIA H100" as a fact about the machine; nothing where value is "". */
void sb_gpus_note(const struct sb_gpus_device *device, const char *what, const char *value);
/* Reads the device and records a sample. */
void sb_gpus_sample(struct sb_gpus_plan *plan, struct sb_gpus_watched *w);
/* Reads its counters, when that is due. */
void sb_gpus_count(struct sb_gpus_plan *plan, struct sb_gpus_watched *w);
/* Records what was read, after the sample that goes with it. */
void sb_gpus_push_counted(struct sb_gpus_watched *w);
/* Says that they were wanted and could never be read, where that is so. */
void sb_gpus_say_uncounted(const struct sb_gpus_watched *w);
/* How long after the begin of a reading the next one may come: what takes longer waits longer. */
uint64_t sb_gpus_count_wait_ns(
	struct sb_gpus_watched *w, uint64_t interval_ns, uint64_t cost_ns, enum sb_gpus_counting counting);
/* "software power cap 1.2 s": each reason that was seen with its time, 0.0 s where one reading saw it and none came
 * before. Returns the length of it. */
int sb_gpus_throttled_text(const struct sb_gpus_watched *w, char *out, int size);
/* The same as a fact about the machine. */
void sb_gpus_say_throttled(const struct sb_gpus_watched *w);

#endif
