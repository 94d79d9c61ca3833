/* One device whose counters CUPTI samples: the hardware's buffer and what decodes it. counters.c decides
 * when to sample and what to write. One thread at a time. */
#ifndef SB_GPU_PM_SESSION_H
#define SB_GPU_PM_SESSION_H

#include "gpu/pm_metrics.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_pm_session {
	const struct sb_cupti *cupti;
	const struct sb_pm_cupti *pm;
	int device;
	void *host, *object;
	uint8_t *config, *data;
	size_t config_bytes, data_bytes;
	struct sb_pm_metrics metrics;
	bool initialized, started, broken;
	uint64_t overflow_count; /* times the hardware's buffer was full */
	uint32_t overflows, failures; /* of it in a row, without a sample; decodes that failed in a row */
};

struct sb_pm_sample {
	uint64_t start, end; /* on CUPTI's clock */
	double row[SB_PM_COLUMNS]; /* bytes of the sample, not rates: only our clock knows its length */
};

/* Gets the device's sampling hardware, configured and not yet sampling. On failure nothing is held:
 * STROBE_EPERM no permission, STROBE_EBUSY another profiler has it. */
int sb_pm_session_open(
	struct sb_pm_session *s, const struct sb_cupti *cupti, const struct sb_pm_cupti *pm, int device);
int sb_pm_session_start(struct sb_pm_session *s); /* samples from now on */

/* Gives take() every sample that is complete, oldest first; NULL for one that cannot be read. Sets broken where no
 * more will come, and then strobe_error() says why. */
void sb_pm_session_drain(
	struct sb_pm_session *s, void (*take)(void *user, const struct sb_pm_sample *), void *user);

void sb_pm_session_stop(struct sb_pm_session *s); /* what was sampled can still be drained */
void sb_pm_session_close(struct sb_pm_session *s); /* takes half-open and closed ones */
void sb_pm_sessions_forget(void); /* in a forked child: the sessions are its parent's */

#endif
