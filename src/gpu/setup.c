/* The last few times that strobe set something up on the GPU. */
#include "gpu/setup.h"

#include "format/run_keys.h"
#include "gpu/collector.h"
#include "record/clock.h"
#include "record/own_stage.h"
#include "record/put.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#define LAST 16u

static struct {
	_Atomic uint64_t begin_ticks, end_ticks; /* end 0: it runs */
} all[LAST];
static _Atomic uint32_t count;

struct sb_setup sb_setup_begin(const char *stage)
{
	struct sb_setup setup = { atomic_fetch_add(&count, 1) % LAST,
		sb_collector_is_here() ? 0 : sb_own_stage_begin(stage) };

	atomic_store(&all[setup.which].begin_ticks, 0);
	atomic_store(&all[setup.which].end_ticks, 0);
	atomic_store(&all[setup.which].begin_ticks, sb_clock_ticks());
	return setup;
}

void sb_setup_end(struct sb_setup setup, bool refused)
{
	uint32_t which = setup.which;
	uint64_t begin_ticks = atomic_load(&all[which].begin_ticks), end_ticks = sb_clock_ticks();
	char text[64];

	sb_own_stage_end(setup.stage);
	if (refused) {
		atomic_store(&all[which].begin_ticks, 0);
		return;
	}
	atomic_store(&all[which].end_ticks, end_ticks);
	snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64, begin_ticks, end_ticks);
	sb_keep_meta_string(SB_META_RUN, SB_RUN_GPU_SETUP, text);
}

bool sb_setup_meets(uint64_t begin_ticks, uint64_t end_ticks)
{
	for (uint32_t i = 0; i < LAST; i++) {
		uint64_t began = atomic_load(&all[i].begin_ticks), ended = atomic_load(&all[i].end_ticks);

		if (began && began <= end_ticks && (!ended || ended >= begin_ticks))
			return true;
	}
	return false;
}

void sb_setup_forget(void)
{
	for (uint32_t i = 0; i < LAST; i++)
		atomic_store(&all[i].begin_ticks, 0);
}
