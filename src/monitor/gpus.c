/* The GPU thread: opens the vendors' GPUs, samples them at the interval, and may be left
 * behind when the driver hangs. */
#include "monitor/gpus.h"

#include "monitor/gpus_watched.h"
#include "monitor/thread.h"
#include "record/clock.h"
#include "record/descriptor.h"
#include "record/errand.h"
#include "record/put.h"
#include "record/rank.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000ull
#define HANG_NS (5 * SECOND_NS)
#define LEAVE_BEHIND_NS (SECOND_NS / 2)

static const struct sb_gpus_vendor *const vendors[] = {
#define VENDOR_(name) &sb_gpus_##name,
	SB_GPUS_VENDORS(VENDOR_)
#undef VENDOR_
};
enum { VENDORS = sizeof vendors / sizeof vendors[0] };

struct gpu_thread {
	struct sb_thread thread;
	uint64_t interval_ns;
	struct sb_gpus_plan plan;
	bool shares_table; /* a driver's descriptors are the program's too */
	bool usable[VENDORS]; /* open, and its library still has what it opened */
	int count;
	struct sb_gpus_watched watched[SB_GPUS_DEVICES_MAX];
	_Atomic uint64_t busy_since_ns; /* 0: not inside the driver */
	bool hang_said;
};

static struct gpu_thread *gpu;
static atomic_bool left_behind;

static int local_rank = -1; /* -1: not one of several */

void sb_gpus_read_environment(void)
{
	struct sb_rank rank;

	for (int i = 0; i < VENDORS; i++)
		if (vendors[i]->environment)
			vendors[i]->environment();
	sb_rank_detect(&rank);
	local_rank = rank.rank >= 0 ? rank.local_rank : -1;
}

void sb_gpus_set_local_rank(int rank)
{
	local_rank = rank;
}

static uint32_t columns_wanted(const struct sb_settings *s)
{
	uint32_t wanted = 0;

	if (s->monitor_gpu_memory)
		wanted |= SB_GPUS_BIT(SB_GPUS_MEMORY_USED) | SB_GPUS_BIT(SB_GPUS_MEMORY_TOTAL) |
			  SB_GPUS_BIT(SB_GPUS_PROCESS_MEMORY) | SB_GPUS_BIT(SB_GPUS_OTHER_PROCESSES);
	if (s->monitor_gpu_utilization)
		wanted |= SB_GPUS_BIT(SB_GPUS_UTILIZATION) | SB_GPUS_BIT(SB_GPUS_MEMORY_UTILIZATION) |
			  SB_GPUS_BIT(SB_GPUS_SM_CLOCK) | SB_GPUS_BIT(SB_GPUS_MEMORY_CLOCK) |
			  SB_GPUS_BIT(SB_GPUS_THROTTLE) | SB_GPUS_BIT(SB_GPUS_ENCODER) |
			  SB_GPUS_BIT(SB_GPUS_DECODER) | SB_GPUS_BIT(SB_GPUS_OTHERS_UTILIZATION) |
			  SB_GPUS_BIT(SB_GPUS_PCIE_TX) | SB_GPUS_BIT(SB_GPUS_PCIE_RX) |
			  SB_GPUS_BIT(SB_GPUS_NVLINK_TX) | SB_GPUS_BIT(SB_GPUS_NVLINK_RX);
	if (s->monitor_gpu_temperature)
		wanted |= SB_GPUS_BIT(SB_GPUS_TEMPERATURE);
	if (s->monitor_gpu_power)
		wanted |= SB_GPUS_BIT(SB_GPUS_POWER) | SB_GPUS_BIT(SB_GPUS_ENERGY);
	return wanted;
}

bool sb_gpus_wanted(const struct sb_settings *settings)
{
	return columns_wanted(settings) != 0;
}

/* ---- starting ------------------------------------------------------------------- */

/* A rank looks at its own GPU, unless its launcher has already hidden the rest. */
static int keep_own(struct sb_gpus_device *devices, int count)
{
	if (local_rank < 0 || count <= 1)
		return count;
	devices[0] = devices[local_rank % count];
	return 1;
}

/* first_number: of the vendor's first GPU, behind those of the vendors before it. */
static void watch_devices(struct gpu_thread *g, const struct sb_gpus_vendor *vendor,
	const struct sb_gpus_device *devices, int count, int first_number)
{
	char driver[96];

	vendor->driver(driver, sizeof driver);
	for (int i = 0; i < count; i++) {
		struct sb_gpus_watched *w = &g->watched[g->count++];

		w->vendor = vendor;
		w->device = devices[i];
		w->device.number += first_number;
		w->wanted = g->plan.wanted;
		w->power_w = NAN;
		w->counted = g->plan.counters;
		sb_gpus_note(&w->device, "name", w->device.name);
		sb_gpus_note(&w->device, "uuid", w->device.uuid);
		sb_gpus_note(&w->device, "driver", driver);
	}
}

/* Every vendor's GPUs; a rank has one, of the first vendor that has any. */
static bool open_vendors(struct gpu_thread *g)
{
	struct sb_gpus_device devices[SB_GPUS_DEVICES_MAX];
	const char *first_why = NULL, *first_how = "";
	int next_number = 0;

	for (int i = 0; i < VENDORS && !(local_rank >= 0 && g->count); i++) {
		const char *why = "", *how = "";
		int count = vendors[i]->open(devices, SB_GPUS_DEVICES_MAX - g->count, &why, &how);

		if (count > 0) {
			int last_number = devices[count - 1].number;

			g->usable[i] = true;
			watch_devices(g, vendors[i], devices, keep_own(devices, count), next_number);
			next_number += last_number + 1;
		} else if (!first_why) {
			first_why = why;
			first_how = how;
		}
	}
	if (!g->count)
		sb_samples_missing("GPU metrics", first_why ? first_why : "", first_how);
	return g->count > 0;
}

/* ---- the thread ------------------------------------------------------------------ */

static void sample_all(struct gpu_thread *g, bool last)
{
	for (int i = 0; i < g->count && !atomic_load(&g->plan.abandoned); i++) {
		g->watched[i].device.last = last;
		sb_gpus_count(
			&g->plan, &g->watched[i]); /* first: PCIe's rates of the sample are of this reading */
		if (!g->watched[i].gone && !atomic_load(&g->plan.abandoned))
			sb_gpus_sample(&g->plan, &g->watched[i]);
		if (!g->watched[i].gone && !atomic_load(&g->plan.abandoned))
			sb_gpus_push_counted(&g->watched[i]);
	}
}

static void close_devices(struct gpu_thread *g)
{
	for (int i = 0; i < g->count; i++) {
		sb_gpus_say_throttled(&g->watched[i]);
		sb_gpus_say_uncounted(&g->watched[i]);
		sb_samples_close(&g->watched[i].series, sb_clock_ticks());
		sb_samples_close(&g->watched[i].counters, sb_clock_ticks());
	}
}

static void leave_devices(struct gpu_thread *g, const struct sb_gpus_vendor *vendor)
{
	for (int i = 0; i < g->count; i++)
		if (g->watched[i].vendor == vendor)
			g->watched[i].gone = true;
}

/* Leaves alone every vendor whose library has lost its descriptors to the program; true:
 * there is another. */
static bool any_usable(struct gpu_thread *g)
{
	bool any = false;

	for (int i = 0; i < VENDORS; i++) {
		if (g->usable[i] && vendors[i]->intact && !vendors[i]->intact()) {
			sb_samples_missing("GPU metrics",
				"the program closed the descriptors of the GPU driver's library",
				"start recording after the program has closed what it inherited");
			g->usable[i] = false;
			leave_devices(g, vendors[i]);
		}
		any |= g->usable[i];
	}
	return any;
}

static void close_vendors(struct gpu_thread *g)
{
	any_usable(g);
	for (int i = 0; i < VENDORS; i++)
		if (g->usable[i])
			vendors[i]->close();
}

static void enter_driver(struct gpu_thread *g)
{
	atomic_store(&g->busy_since_ns, sb_mono_ns());
}

static void leave_driver(struct gpu_thread *g)
{
	atomic_store(&g->busy_since_ns, 0);
}

static void run(struct sb_thread *thread)
{
	struct gpu_thread *g = thread->owner;
	bool opened;

	if (!g->shares_table)
		sb_descriptor_table_make();
	enter_driver(g);
	opened = open_vendors(g);
	leave_driver(g);
	while (!atomic_load(&g->plan.abandoned) && any_usable(g)) {
		bool last = sb_thread_stopping(thread);

		enter_driver(g);
		sample_all(g, last);
		leave_driver(g);
		if (last)
			break;
		sb_thread_wait(thread, g->interval_ns);
	}
	if (opened && !atomic_load(&g->plan.abandoned)) {
		close_devices(g);
		enter_driver(g);
		close_vendors(g);
		leave_driver(g);
	}
	sb_descriptor_table_leave();
	atomic_store(&left_behind, false);
}

/* Loading looks through folders and opens files: the helper does it. It stays loaded. */
static int load_libraries(void *unused)
{
	bool shared = false;

	for (int i = 0; i < VENDORS; i++)
		shared |= vendors[i]->load && vendors[i]->load();
	return shared;
}

void sb_gpus_start(const struct sb_settings *s)
{
	if (atomic_load(&left_behind)) {
		sb_samples_missing(
			"GPU metrics", "the driver still does not answer a call of an earlier session", "");
		return;
	}
	sb_gpus_read_environment();
	gpu = calloc(1, sizeof *gpu);
	if (!gpu)
		return;
	gpu->interval_ns = (uint64_t)(s->gpu_monitor_interval_s * 1e9);
	gpu->plan.start_ns = sb_mono_ns();
	gpu->plan.wanted = columns_wanted(s);
	gpu->plan.point_limit = s->max_data_points;
	gpu->plan.counters = !(s->gpu_counters_interval_s > 0) ? 0
			     : s->gpu_counters_all             ? SB_GPUS_COUNTERS_ALL
							       : SB_GPUS_COUNTERS_USUAL;
	gpu->plan.counters_interval_ns = (uint64_t)(s->gpu_counters_interval_s * 1e9);
	gpu->shares_table = sb_errand_run(load_libraries, NULL) > 0;
	if (!sb_thread_start(&gpu->thread, "strobe-gpu", run, gpu)) {
		sb_samples_missing("GPU metrics", "no thread could be started", "");
		free(gpu);
		gpu = NULL;
	}
}

static void say_hang(struct gpu_thread *g, uint64_t since_ns)
{
	char why[96];

	if (g->hang_said)
		return;
	g->hang_said = true;
	snprintf(why, sizeof why, "the driver has not answered since %.1f s",
		(double)(since_ns - g->plan.start_ns) * 1e-9);
	sb_samples_missing("GPU metrics", why, "see 'nvidia-smi' and 'dmesg'; everything else is recorded");
}

void sb_gpus_watch(uint64_t mono_ns)
{
	uint64_t since_ns = gpu ? atomic_load(&gpu->busy_since_ns) : 0;

	if (since_ns && mono_ns > since_ns + HANG_NS)
		say_hang(gpu, since_ns);
}

void sb_gpus_stop(void)
{
	struct gpu_thread *g = gpu;

	if (!g)
		return;
	gpu = NULL;
	atomic_store(&left_behind, true); /* before the wait: it may end just after it */
	if (sb_thread_stop(&g->thread, LEAVE_BEHIND_NS)) {
		atomic_store(&left_behind, false);
		free(g);
		return;
	}
	/* It hangs in the driver. Its memory stays with it. */
	atomic_store(&g->plan.abandoned, true);
	sb_samples_forget("gpu");
	sb_samples_forget("gpu_counters");
	say_hang(g, atomic_load(&g->busy_since_ns) ? atomic_load(&g->busy_since_ns) : sb_mono_ns());
}

void sb_gpus_forked(void)
{
	gpu = NULL;
	atomic_store(&left_behind, false);
}
