/* The GPU thread: asks the providers at the interval, integrates energy over the
 * real time between samples, keeps count of throttling, and may be left behind
 * when the driver hangs. */
#include "monitor/gpus.h"

#include "monitor/samples.h"
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
enum { REASON_BITS = 8, THROTTLE_EVENTS_MAX = 64 };
enum { COUNTERS_COST_FACTOR = 200 }; /* counters take at most 0.5 % of a core, whatever the interval */

static const struct sb_column all_columns[SB_GPUS_COLUMNS] = {
	[SB_GPUS_MEMORY_USED] = { "memory_used_mb", SB_MERGE_MAX },
	[SB_GPUS_MEMORY_TOTAL] = { "memory_total_mb", SB_MERGE_LAST },
	[SB_GPUS_UTILIZATION] = { "utilization_percent", SB_MERGE_MEAN },
	[SB_GPUS_MEMORY_UTILIZATION] = { "memory_utilization_percent", SB_MERGE_MEAN },
	[SB_GPUS_TEMPERATURE] = { "temperature_c", SB_MERGE_MAX },
	[SB_GPUS_POWER] = { "power_w", SB_MERGE_MEAN },
	[SB_GPUS_ENERGY] = { "energy_j", SB_MERGE_LAST },
	[SB_GPUS_SM_CLOCK] = { "sm_clock_mhz", SB_MERGE_MEAN },
	[SB_GPUS_MEMORY_CLOCK] = { "memory_clock_mhz", SB_MERGE_MEAN },
	[SB_GPUS_THROTTLE] = { "throttle_bits_count", SB_MERGE_BITS },
	[SB_GPUS_ENCODER] = { "encoder_percent", SB_MERGE_MEAN },
	[SB_GPUS_DECODER] = { "decoder_percent", SB_MERGE_MEAN },
	[SB_GPUS_PROCESS_MEMORY] = { "process_memory_mb", SB_MERGE_MAX },
	[SB_GPUS_OTHER_PROCESSES] = { "other_process_count", SB_MERGE_MAX },
	[SB_GPUS_PCIE_TX] = { "pcie_tx_gb_per_s", SB_MERGE_MEAN },
	[SB_GPUS_PCIE_RX] = { "pcie_rx_gb_per_s", SB_MERGE_MEAN },
	[SB_GPUS_NVLINK_TX] = { "nvlink_tx_gb_per_s", SB_MERGE_MEAN },
	[SB_GPUS_NVLINK_RX] = { "nvlink_rx_gb_per_s", SB_MERGE_MEAN },
};

static const struct sb_column all_counters[SB_GPUS_COUNTERS] = {
	[SB_GPUS_SM_ACTIVE] = { "sm_active_percent", SB_MERGE_MEAN },
	[SB_GPUS_SM_OCCUPANCY] = { "sm_occupancy_percent", SB_MERGE_MEAN },
	[SB_GPUS_TENSOR_ACTIVE] = { "tensor_active_percent", SB_MERGE_MEAN },
	[SB_GPUS_HMMA_ACTIVE] = { "tensor_float_percent", SB_MERGE_MEAN },
	[SB_GPUS_FP32_ACTIVE] = { "fp32_active_percent", SB_MERGE_MEAN },
	[SB_GPUS_DRAM_ACTIVE] = { "dram_active_percent", SB_MERGE_MEAN },
	[SB_GPUS_IMMA_ACTIVE] = { "tensor_integer_percent", SB_MERGE_MEAN },
	[SB_GPUS_FP64_ACTIVE] = { "fp64_active_percent", SB_MERGE_MEAN },
	[SB_GPUS_FP16_ACTIVE] = { "fp16_active_percent", SB_MERGE_MEAN },
	[SB_GPUS_INTEGER_ACTIVE] = { "integer_active_percent", SB_MERGE_MEAN },
	[SB_GPUS_NVDEC_ACTIVE] = { "nvdec_active_percent", SB_MERGE_MEAN },
};

static const struct sb_gpus_provider *const providers[] = {
#define PROVIDER_(name) &sb_gpus_##name,
	SB_GPUS_VENDORS(PROVIDER_)
#undef PROVIDER_
};
enum { PROVIDERS = sizeof providers / sizeof providers[0] };

struct watched {
	const struct sb_gpus_provider *provider;
	struct sb_gpus_device device;
	struct sb_samples series;
	uint32_t wanted;
	uint32_t recorded; /* the series' columns */
	bool gone;
	double power_w; /* of the last sample */
	uint64_t last_ns;
	double energy_j;
	uint64_t throttle_bits;
	double throttle_s[REASON_BITS];
	uint32_t throttle_events;
	/* the counters: a series of their own, read less often */
	struct sb_samples counters;
	uint32_t counted; /* columns; 0: none, or none any more */
	uint64_t count_next_ns;
};

struct gpu_thread {
	struct sb_thread thread;
	uint64_t interval_ns;
	uint64_t start_ns;
	uint32_t wanted;
	uint32_t point_limit;
	uint32_t counters; /* wanted; 0: off */
	uint64_t counters_interval_ns;
	bool counters_said; /* that a GPU has none */
	bool shares_table; /* a driver's descriptors are the program's too */
	bool usable[PROVIDERS]; /* open, and its library still has what it opened */
	int count;
	struct watched watched[SB_GPUS_DEVICES_MAX];
	_Atomic uint64_t busy_since_ns; /* 0: not inside the driver */
	bool hang_said;
	atomic_bool abandoned;
};

static struct gpu_thread *gpu;
static atomic_bool left_behind;

static int local_rank = -1; /* -1: not one of several */

void sb_gpus_read_environment(void)
{
	struct sb_rank rank;

	for (int i = 0; i < PROVIDERS; i++)
		if (providers[i]->environment)
			providers[i]->environment();
	sb_rank_detect(&rank);
	local_rank = rank.rank >= 0 ? rank.local_rank : -1;
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
			  SB_GPUS_BIT(SB_GPUS_DECODER) | SB_GPUS_BIT(SB_GPUS_PCIE_TX) |
			  SB_GPUS_BIT(SB_GPUS_PCIE_RX) | SB_GPUS_BIT(SB_GPUS_NVLINK_TX) |
			  SB_GPUS_BIT(SB_GPUS_NVLINK_RX);
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

static void note(const struct sb_gpus_device *d, const char *what, const char *value)
{
	char key[48];

	if (!*value)
		return;
	snprintf(key, sizeof key, "gpu%d.%s", d->number, what);
	sb_keep_meta_string(SB_META_SYSTEM, key, value);
}

/* first_number: of the vendor's first GPU, behind those of the vendors before it. */
static void watch_devices(struct gpu_thread *g, const struct sb_gpus_provider *provider,
	const struct sb_gpus_device *devices, int count, int first_number)
{
	char driver[96];

	provider->driver(driver, sizeof driver);
	for (int i = 0; i < count; i++) {
		struct watched *w = &g->watched[g->count++];

		w->provider = provider;
		w->device = devices[i];
		w->device.number += first_number;
		w->wanted = g->wanted;
		w->power_w = NAN;
		w->counted = provider->count ? g->counters : 0;
		g->counters_said |= !provider->count && g->counters;
		note(&w->device, "name", w->device.name);
		note(&w->device, "uuid", w->device.uuid);
		note(&w->device, "driver", driver);
	}
}

/* Every vendor's GPUs; a rank has one, of the first vendor that has any. */
static bool open_providers(struct gpu_thread *g)
{
	struct sb_gpus_device devices[SB_GPUS_DEVICES_MAX];
	const char *first_why = NULL, *first_how = "";
	int next_number = 0;

	for (int i = 0; i < PROVIDERS && !(local_rank >= 0 && g->count); i++) {
		const char *why = "", *how = "";
		int count = providers[i]->open(devices, SB_GPUS_DEVICES_MAX - g->count, &why, &how);

		if (count > 0) {
			int last_number = devices[count - 1].number;

			g->usable[i] = true;
			watch_devices(g, providers[i], devices, keep_own(devices, count), next_number);
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

static void say_unsupported(const struct watched *w, uint32_t lost)
{
	static const struct {
		enum sb_gpus_column column;
		const char *what;
	} told[] = {
		{ SB_GPUS_MEMORY_USED, "memory" },
		{ SB_GPUS_UTILIZATION, "utilisation" },
		{ SB_GPUS_TEMPERATURE, "temperature" },
		{ SB_GPUS_POWER, "power" },
		{ SB_GPUS_SM_CLOCK, "clocks" },
		{ SB_GPUS_THROTTLE, "throttling" },
		{ SB_GPUS_PROCESS_MEMORY, "processes" },
	};
	char what[160];
	int used = snprintf(what, sizeof what, "GPU %d: ", w->device.number), head = used;

	for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
		if (lost & SB_GPUS_BIT(told[i].column))
			used += snprintf(what + used, sizeof what - (size_t)used, "%s%s",
				used > head ? ", " : "", told[i].what);
	if (used > head)
		sb_samples_missing(what, "this GPU or driver does not offer it", "");
}

/* After the first reading it is known which columns there will be. */
static void open_series(struct gpu_thread *g, struct watched *w)
{
	struct sb_column columns[SB_GPUS_COLUMNS];
	uint32_t count = 0;

	if (!(w->wanted & SB_GPUS_BIT(SB_GPUS_POWER)))
		w->wanted &= ~SB_GPUS_BIT(SB_GPUS_ENERGY);
	w->recorded = w->wanted;
	for (int c = 0; c < SB_GPUS_COLUMNS; c++)
		if (w->recorded & SB_GPUS_BIT(c))
			columns[count++] = all_columns[c];
	say_unsupported(w, g->wanted & ~w->wanted);
	sb_samples_open(&w->series, "gpu", w->device.number, columns, count, g->point_limit);
}

/* ---- sampling ------------------------------------------------------------------- */

static void add_energy(struct watched *w, double *values, double elapsed_s)
{
	double power_w = values[SB_GPUS_POWER];

	if (w->last_ns && !isnan(power_w) && !isnan(w->power_w))
		w->energy_j += 0.5 * (power_w + w->power_w) * elapsed_s;
	w->power_w = power_w;
	values[SB_GPUS_ENERGY] = w->energy_j;
}

static void say_throttle(struct watched *w, uint64_t bits)
{
	struct strobe_attr attrs[2] = { { "device", STROBE_TYPE_INT, { .i = w->device.number } },
		{ "reasons", STROBE_TYPE_STRING, { .s = "none" } } };
	char words[160];

	if (w->throttle_events++ >= THROTTLE_EVENTS_MAX)
		return;
	sb_gpus_throttle_words(bits, words, sizeof words);
	if (*words)
		attrs[1].value.s = words;
	strobe_event("gpu_throttle", attrs, 2);
}

static void add_throttle(struct watched *w, double value, double elapsed_s)
{
	uint64_t bits = isnan(value) ? 0 : (uint64_t)value & sb_gpus_throttle_mask();

	for (int i = 0; i < REASON_BITS; i++)
		if (bits >> i & 1)
			w->throttle_s[i] += elapsed_s;
	if (bits != w->throttle_bits)
		say_throttle(w, bits);
	w->throttle_bits = bits;
}

static void lose(struct gpu_thread *g, struct watched *w)
{
	char what[80];

	snprintf(what, sizeof what, "GPU %d after %.1f s", w->device.number,
		(double)(sb_mono_ns() - g->start_ns) * 1e-9);
	sb_samples_missing(what, "the GPU was lost while recording",
		"see 'dmesg' for Xid errors; the machine may need a reset");
	w->gone = true;
	sb_samples_forget_latest(&w->series);
	sb_samples_forget_latest(&w->counters);
}

static void sample_device(struct gpu_thread *g, struct watched *w)
{
	double values[SB_GPUS_COLUMNS], row[SB_GPUS_COLUMNS], elapsed_s;
	uint32_t count = 0;
	uint64_t now_ns;
	enum sb_gpus_state state;

	for (int i = 0; i < SB_GPUS_COLUMNS; i++)
		values[i] = NAN;
	state = w->provider->read(&w->device, &w->wanted, values);
	if (atomic_load(&g->abandoned))
		return;
	if (state == SB_GPUS_GONE) {
		lose(g, w);
		return;
	}
	now_ns = sb_mono_ns();
	elapsed_s = w->last_ns ? (double)(now_ns - w->last_ns) * 1e-9 : 0;
	add_energy(w, values, elapsed_s);
	add_throttle(w, values[SB_GPUS_THROTTLE], elapsed_s);
	w->last_ns = now_ns;
	if (!w->series.open && !w->recorded)
		open_series(g, w);
	for (int c = 0; c < SB_GPUS_COLUMNS; c++)
		if (w->recorded & SB_GPUS_BIT(c))
			row[count++] = values[c];
	sb_samples_push(&w->series, sb_clock_ticks(), row);
}

/* ---- counters --------------------------------------------------------------------- */

static void have_none(struct gpu_thread *g, struct watched *w)
{
	char what[80];

	w->counted = 0;
	if (g->counters_said)
		return;
	g->counters_said = true;
	snprintf(what, sizeof what, "GPU %d: SM, tensor core and DRAM activity", w->device.number);
	sb_samples_missing(what, "this GPU or driver does not count it (NVIDIA Hopper and newer do)",
		"--gpu-trace shows what kernels do");
}

static void open_counters(struct gpu_thread *g, struct watched *w)
{
	struct sb_column columns[SB_GPUS_COUNTERS];
	uint32_t count = 0;

	for (int c = 0; c < SB_GPUS_COUNTERS; c++)
		if (w->counted & SB_GPUS_BIT(c))
			columns[count++] = all_counters[c];
	if (count)
		sb_samples_open(
			&w->counters, "gpu_counters", w->device.number, columns, count, g->point_limit);
}

/* A reading is of the time since the one before: what took longer waits longer. */
static void count_device(struct gpu_thread *g, struct watched *w)
{
	double values[SB_GPUS_COUNTERS], row[SB_GPUS_COUNTERS];
	uint64_t begin_ns = sb_mono_ns(), cost_ns;
	uint32_t asked = w->counted, count = 0;
	enum sb_gpus_counting counting;

	if (!w->counted || w->gone || (begin_ns < w->count_next_ns && !w->device.last))
		return;
	for (int c = 0; c < SB_GPUS_COUNTERS; c++)
		values[c] = NAN;
	counting = w->provider->count(&w->device, &w->counted, values);
	if (atomic_load(&g->abandoned))
		return;
	cost_ns = sb_mono_ns() - begin_ns;
	w->count_next_ns = begin_ns + g->counters_interval_ns;
	if (cost_ns * COUNTERS_COST_FACTOR > g->counters_interval_ns)
		w->count_next_ns = begin_ns + cost_ns * COUNTERS_COST_FACTOR;
	if (counting == SB_GPUS_UNCOUNTED || (counting == SB_GPUS_COUNTED && !w->counted))
		have_none(g, w);
	if (counting != SB_GPUS_COUNTED || !w->counted)
		return;
	if (!w->counters.open)
		open_counters(g, w);
	else
		w->counted = asked; /* its columns stay: what is not known now is NaN */
	for (int c = 0; c < SB_GPUS_COUNTERS; c++)
		if (w->counted & SB_GPUS_BIT(c))
			row[count++] = values[c];
	sb_samples_push(&w->counters, sb_clock_ticks(), row);
}

static void sample_all(struct gpu_thread *g, bool last)
{
	for (int i = 0; i < g->count && !atomic_load(&g->abandoned); i++) {
		g->watched[i].device.last = last;
		if (!g->watched[i].gone)
			sample_device(g, &g->watched[i]);
		if (!atomic_load(&g->abandoned))
			count_device(g, &g->watched[i]);
	}
}

static void say_throttled_time(const struct watched *w)
{
	char text[300], words[64];
	int used = 0;

	for (int i = 0; i < REASON_BITS; i++)
		if (w->throttle_s[i] > 0) {
			sb_gpus_throttle_words(1ull << i, words, sizeof words);
			used += snprintf(text + used, sizeof text - (size_t)used, "%s%s %.1f s",
				used ? ", " : "", words, w->throttle_s[i]);
		}
	if (used)
		note(&w->device, "throttled", text);
}

static void close_devices(struct gpu_thread *g)
{
	for (int i = 0; i < g->count; i++) {
		say_throttled_time(&g->watched[i]);
		sb_samples_close(&g->watched[i].series, sb_clock_ticks());
		sb_samples_close(&g->watched[i].counters, sb_clock_ticks());
	}
}

static void leave_devices(struct gpu_thread *g, const struct sb_gpus_provider *provider)
{
	for (int i = 0; i < g->count; i++)
		if (g->watched[i].provider == provider)
			g->watched[i].gone = true;
}

/* Leaves alone every vendor whose library has lost its descriptors to the program; true:
 * there is another. */
static bool any_usable(struct gpu_thread *g)
{
	bool any = false;

	for (int i = 0; i < PROVIDERS; i++) {
		if (g->usable[i] && providers[i]->intact && !providers[i]->intact()) {
			sb_samples_missing("GPU metrics",
				"the program closed the descriptors of the GPU driver's library",
				"start recording after the program has closed what it inherited");
			g->usable[i] = false;
			leave_devices(g, providers[i]);
		}
		any |= g->usable[i];
	}
	return any;
}

static void close_providers(struct gpu_thread *g)
{
	any_usable(g);
	for (int i = 0; i < PROVIDERS; i++)
		if (g->usable[i])
			providers[i]->close();
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
	opened = open_providers(g);
	leave_driver(g);
	while (!atomic_load(&g->abandoned) && any_usable(g)) {
		bool last = sb_thread_stopping(thread);

		enter_driver(g);
		sample_all(g, last);
		leave_driver(g);
		if (last)
			break;
		sb_thread_wait(thread, g->interval_ns);
	}
	if (opened && !atomic_load(&g->abandoned)) {
		close_devices(g);
		enter_driver(g);
		close_providers(g);
		leave_driver(g);
	}
	sb_descriptor_table_leave();
	atomic_store(&left_behind, false);
}

/* Loading looks through folders and opens files: the helper does it. It stays loaded. */
static int load_libraries(void *unused)
{
	bool shared = false;

	for (int i = 0; i < PROVIDERS; i++)
		shared |= providers[i]->load && providers[i]->load();
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
	gpu->start_ns = sb_mono_ns();
	gpu->wanted = columns_wanted(s);
	gpu->point_limit = s->max_data_points;
	gpu->counters = s->gpu_counters_interval_s > 0 ? SB_GPUS_COUNTERS_USUAL : 0;
	gpu->counters_interval_ns = (uint64_t)(s->gpu_counters_interval_s * 1e9);
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
		(double)(since_ns - g->start_ns) * 1e-9);
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
	atomic_store(&g->abandoned, true);
	sb_samples_forget("gpu");
	sb_samples_forget("gpu_counters");
	say_hang(g, atomic_load(&g->busy_since_ns) ? atomic_load(&g->busy_since_ns) : sb_mono_ns());
}

void sb_gpus_forked(void)
{
	gpu = NULL;
	atomic_store(&left_behind, false);
}
