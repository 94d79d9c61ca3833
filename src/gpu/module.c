/* GPU recording's place in a session. */
#include "gpu/module.h"

#include "gpu/counters.h"
#include "gpu/driver.h"
#include "gpu/nvtx.h"
#include "gpu/pool.h"
#include "gpu/rate.h"
#include "gpu/resolve.h"
#include "gpu/setup.h"
#include "gpu/trace.h"
#include "gpu/trace_asked.h"
#include "gpu/zone.h"
#include "record/put.h"
#include "record/step.h"

#include <stdatomic.h>
#include <stdlib.h>

#define ENTRIES_PER_SECOND 1000u

static _Atomic uint32_t listening_epoch; /* the session in which CUDA was seen */

/* At every step of a program that asked for nothing: SIGUSR2 is its own until it uses CUDA. */
static void listen_for_cuda(void)
{
	uint32_t epoch = sb_session_epoch();

	if (atomic_load_explicit(&listening_epoch, memory_order_relaxed) == epoch || !sb_cuda_initialised())
		return;
	atomic_store(&listening_epoch, epoch);
	sb_gpu_trace_listen();
}

static void start(const struct sb_settings *settings)
{
	const char *rate = secure_getenv("STROBE_GPU_ZONE_RATE");

	sb_cuda_look_again();
	sb_gpu_rate_reset(rate && *rate ? (uint32_t)strtoul(rate, NULL, 10) : ENTRIES_PER_SECOND);
	sb_gpu_trace_session_started(settings->gpu_trace);
	sb_gpu_counters_session_started(settings->gpu_counters);
	if (settings->gpu_trace[0] || settings->gpu_counters[0])
		sb_gpu_trace_listen();
	else
		sb_step_counting_hook_set(listen_for_cuda);
}

static void stop(void)
{
	sb_step_counting_hook_set(NULL); /* no step listens any more */
	sb_gpu_trace_session_stops(); /* the last slow moments: their counters are kept below */
	sb_gpu_counters_session_stops();
	sb_gpu_resolve_stop();
}

static void forked(void)
{
	sb_gpu_trace_forget();
	sb_gpu_counters_forget();
	sb_setup_forget();
	sb_gpu_zones_forget();
	sb_gpu_resolve_forget();
	sb_gpu_contexts_forget();
	sb_cuda_forked();
	sb_nvtx_forget();
}

const struct sb_module sb_gpu_module = { "gpu", start, stop, NULL, forked };
