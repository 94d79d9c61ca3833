/* The counts as META of the run; losses are sb_lost()'s business. */
#include "gpu/trace_counts.h"

#include "format/run_keys.h"
#include "record/put.h"

#include <stdio.h>

#define HOW "see docs/gpu.md, 'The kernel trace'"

void sb_trace_counts_say(const struct sb_activity_counts *c, bool attributed, uint64_t kernels)
{
	char text[160];

	if (c->taken_over)
		sb_keep_missing("kernels after another profiler started",
			"another CUPTI client (torch.profiler?) took over during the trace",
			"run the two one after the other");
	if (c->unwritten > SB_TRACE_FULL_COUNT)
		sb_keep_missing("kernels after the trace was full",
			"GPU records reached their share of max_trace_bytes",
			"raise max_trace_bytes or trace fewer steps");
	if (c->unattributed && attributed) {
		snprintf(text, sizeof text,
			"%llu of %llu GPU records came without the call that launched them",
			(unsigned long long)c->unattributed,
			(unsigned long long)(c->kernels + c->copies + c->memsets));
		sb_keep_missing("launches of some kernels", text, HOW);
	}
	sb_keep_meta_int(SB_META_RUN, "gpu_trace_kernel_count", (int64_t)kernels);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_BUFFERS, (int64_t)c->buffers_most);
	if (c->unfinished)
		sb_keep_meta_int(SB_META_RUN, SB_RUN_GPU_TRACE_UNFINISHED, (int64_t)c->unfinished);
}
