/* One GPU that is sampled: its columns, its energy over the real time between samples, its throttling, its
 * counters. */
#include "monitor/gpus_watched.h"

#include "record/clock.h"
#include "record/put.h"
#include "strobe.h"

#include <math.h>
#include <stdio.h>

enum { THROTTLE_EVENTS_MAX = 64 };
/* Counters take at most 0.5 % of a core, whatever the interval, and 0.1 % where they are asked for as rarely as in the
 * production preset. */
enum { COUNTERS_COST_FACTOR = 200, RARE_COST_FACTOR = 1000, RARE_S = 5 };
enum {
	EARLY_TRIES = 4,
	EARLY_MS = 250
}; /* the first reading needs two samples, and the driver may be late */

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
	[SB_GPUS_OTHERS_UTILIZATION] = { "others_utilization_percent", SB_MERGE_MEAN },
	[SB_GPUS_PCIE_TX] = { "pcie_tx_gb_per_s", SB_MERGE_MEAN },
	[SB_GPUS_PCIE_RX] = { "pcie_rx_gb_per_s", SB_MERGE_MEAN },
	[SB_GPUS_NVLINK_TX] = { "nvlink_tx_gb_per_s", SB_MERGE_MEAN },
	[SB_GPUS_NVLINK_RX] = { "nvlink_rx_gb_per_s", SB_MERGE_MEAN },
};

static const struct sb_column all_counters[SB_GPUS_COUNTERS] = {
	[SB_GPUS_SM_ACTIVE] = { "sm_active_percent", SB_MERGE_MEAN },
	[SB_GPUS_OCCUPANCY] = { "occupancy_percent", SB_MERGE_MEAN },
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

void sb_gpus_note(const struct sb_gpus_device *d, const char *what, const char *value)
{
	char key[48];

	if (!*value)
		return;
	snprintf(key, sizeof key, "gpu%d.%s", d->number, what);
	sb_keep_meta_string(SB_META_SYSTEM, key, value);
}

static void say_unsupported(const struct sb_gpus_watched *w, uint32_t lost)
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
static void open_series(struct sb_gpus_plan *plan, struct sb_gpus_watched *w)
{
	struct sb_column columns[SB_GPUS_COLUMNS];
	uint32_t count = 0;

	if (!(w->wanted & SB_GPUS_BIT(SB_GPUS_POWER)))
		w->wanted &= ~SB_GPUS_BIT(SB_GPUS_ENERGY);
	w->recorded = w->wanted;
	for (int c = 0; c < SB_GPUS_COLUMNS; c++)
		if (w->recorded & SB_GPUS_BIT(c))
			columns[count++] = all_columns[c];
	say_unsupported(w, plan->wanted & ~w->wanted);
	sb_samples_open(&w->series, "gpu", w->device.number, columns, count, plan->point_limit);
}

static void add_energy(struct sb_gpus_watched *w, double *values, double elapsed_s)
{
	double power_w = values[SB_GPUS_POWER];

	if (w->last_ns && !isnan(power_w) && !isnan(w->power_w))
		w->energy_j += 0.5 * (power_w + w->power_w) * elapsed_s;
	w->power_w = power_w;
	values[SB_GPUS_ENERGY] = w->energy_j;
}

static void say_throttle(struct sb_gpus_watched *w, uint64_t bits)
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

static void add_throttle(struct sb_gpus_watched *w, double value, double elapsed_s)
{
	uint64_t bits = isnan(value) ? 0 : (uint64_t)value & sb_gpus_throttle_mask();

	for (int i = 0; i < SB_GPUS_REASON_BITS; i++)
		if (bits >> i & 1)
			w->throttle_s[i] += elapsed_s;
	w->throttle_seen |= bits;
	if (bits != w->throttle_bits)
		say_throttle(w, bits);
	w->throttle_bits = bits;
}

static void lose(struct sb_gpus_plan *plan, struct sb_gpus_watched *w)
{
	char what[80];

	snprintf(what, sizeof what, "GPU %d after %.1f s", w->device.number,
		(double)(sb_mono_ns() - plan->start_ns) * 1e-9);
	sb_samples_missing(what, "the GPU was lost while recording",
		"see 'dmesg' for Xid errors; the machine may need a reset");
	w->gone = true;
	sb_samples_end(&w->series, sb_clock_ticks());
	sb_samples_end(&w->counters, sb_clock_ticks());
}

void sb_gpus_sample(struct sb_gpus_plan *plan, struct sb_gpus_watched *w)
{
	double values[SB_GPUS_COLUMNS], row[SB_GPUS_COLUMNS], elapsed_s;
	uint32_t count = 0;
	uint64_t now_ns;
	enum sb_gpus_state state;

	for (int i = 0; i < SB_GPUS_COLUMNS; i++)
		values[i] = NAN;
	state = w->vendor->read(&w->device, &w->wanted, values);
	if (atomic_load(&plan->abandoned))
		return;
	if (state == SB_GPUS_GONE) {
		lose(plan, w);
		return;
	}
	now_ns = sb_mono_ns();
	elapsed_s = w->last_ns ? (double)(now_ns - w->last_ns) * 1e-9 : 0;
	add_energy(w, values, elapsed_s);
	add_throttle(w, values[SB_GPUS_THROTTLE], elapsed_s);
	w->last_ns = now_ns;
	if (!w->series.open && !w->recorded)
		open_series(plan, w);
	for (int c = 0; c < SB_GPUS_COLUMNS; c++)
		if (w->recorded & SB_GPUS_BIT(c))
			row[count++] = values[c];
	sb_samples_push(&w->series, sb_clock_ticks(), row);
}

static void say_counters(const struct sb_gpus_watched *w, const char *when, const char *why)
{
	char what[96];

	snprintf(what, sizeof what, "GPU %d%s: SM, tensor core and DRAM activity", w->device.number, when);
	sb_samples_missing(
		what, *w->device.uncounted ? w->device.uncounted : why, "--gpu-trace shows what kernels do");
}

/* That there are none is said of one GPU; why they cannot be read, of each. */
static void have_none(struct sb_gpus_plan *plan, struct sb_gpus_watched *w)
{
	char when[32];

	w->counted = 0;
	if (w->counters.open) {
		snprintf(when, sizeof when, " after %.1f s", (double)(sb_mono_ns() - plan->start_ns) * 1e-9);
		say_counters(w, when, "the driver counts it no longer");
		sb_samples_end(&w->counters, sb_clock_ticks());
	} else if (!plan->counters_said || *w->device.uncounted) {
		plan->counters_said |= !*w->device.uncounted;
		say_counters(w, "", "this GPU or driver does not count it (NVIDIA Hopper and newer do)");
	}
}

void sb_gpus_say_uncounted(const struct sb_gpus_watched *w)
{
	if (w->counted && !w->gone && w->fruitless > 1)
		say_counters(w, "", "the driver gave no reading of it");
}

static void open_counters(struct sb_gpus_plan *plan, struct sb_gpus_watched *w)
{
	struct sb_column columns[SB_GPUS_COUNTERS];
	uint32_t count = 0;

	for (int c = 0; c < SB_GPUS_COUNTERS; c++)
		if (w->counted & SB_GPUS_BIT(c))
			columns[count++] = all_counters[c];
	if (count)
		sb_samples_open(
			&w->counters, "gpu_counters", w->device.number, columns, count, plan->point_limit);
}

/* Beginning takes long once, and one call may have waited for the driver: what counts is the shorter of the last two. */
uint64_t sb_gpus_count_wait_ns(
	struct sb_gpus_watched *w, uint64_t interval_ns, uint64_t cost_ns, enum sb_gpus_counting counting)
{
	uint64_t early_ns = EARLY_MS * 1000000ull, least_ns;

	if (counting == SB_GPUS_COUNT_LATER && !w->counters.open && w->early_tries++ < EARLY_TRIES)
		return interval_ns < early_ns ? interval_ns : early_ns;
	least_ns = (cost_ns < w->count_cost_ns ? cost_ns : w->count_cost_ns) *
		   (interval_ns < RARE_S * 1000000000ull ? COUNTERS_COST_FACTOR : RARE_COST_FACTOR);
	w->count_cost_ns = cost_ns;
	return interval_ns > least_ns ? interval_ns : least_ns;
}

static bool any_known(const double *values)
{
	for (int c = 0; c < SB_GPUS_COUNTERS; c++)
		if (!isnan(values[c]))
			return true;
	return false;
}

/* A reading is of the time since the one before. */
void sb_gpus_count(struct sb_gpus_plan *plan, struct sb_gpus_watched *w)
{
	double values[SB_GPUS_COUNTERS];
	uint64_t begin_ns = sb_mono_ns(), cost_ns;
	uint32_t asked = w->counted, count = 0;
	enum sb_gpus_counting counting;

	if (!w->counted || w->gone || (begin_ns < w->count_next_ns && !w->device.last))
		return;
	for (int c = 0; c < SB_GPUS_COUNTERS; c++)
		values[c] = NAN;
	counting = w->vendor->count ? w->vendor->count(&w->device, &w->counted, values) : SB_GPUS_UNCOUNTED;
	if (atomic_load(&plan->abandoned))
		return;
	cost_ns = sb_mono_ns() - begin_ns;
	w->count_next_ns = begin_ns + sb_gpus_count_wait_ns(w, plan->counters_interval_ns, cost_ns, counting);
	if (counting == SB_GPUS_COUNTED && w->counters.open)
		w->counted = asked; /* its columns stay: what is not known now is NaN */
	if (counting == SB_GPUS_UNCOUNTED || !w->counted)
		have_none(plan, w);
	if (!w->counters.open && !any_known(values))
		counting = SB_GPUS_COUNT_LATER;
	w->fruitless = counting == SB_GPUS_COUNTED || w->counters.open ? 0 : w->fruitless + 1;
	if (counting != SB_GPUS_COUNTED || !w->counted)
		return;
	if (!w->counters.open)
		open_counters(plan, w);
	for (int c = 0; c < SB_GPUS_COUNTERS; c++)
		if (w->counted & SB_GPUS_BIT(c))
			w->count_row[count++] = values[c];
	w->count_read = true;
}

void sb_gpus_push_counted(struct sb_gpus_watched *w)
{
	if (w->count_read)
		sb_samples_push(&w->counters, sb_clock_ticks(), w->count_row);
	w->count_read = false;
}

int sb_gpus_throttled_text(const struct sb_gpus_watched *w, char *out, int size)
{
	char words[64];
	int used = 0;

	out[0] = 0;
	for (int i = 0; i < SB_GPUS_REASON_BITS && used < size; i++) {
		if (!(w->throttle_seen >> i & 1))
			continue;
		sb_gpus_throttle_words(1ull << i, words, sizeof words);
		used += snprintf(out + used, (size_t)(size - used), "%s%s %.1f s", used ? ", " : "", words,
			w->throttle_s[i]);
	}
	return used;
}

void sb_gpus_say_throttled(const struct sb_gpus_watched *w)
{
	char text[300];

	if (sb_gpus_throttled_text(w, text, sizeof text))
		sb_gpus_note(&w->device, "throttled", text);
}
