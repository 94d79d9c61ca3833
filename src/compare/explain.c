/* Plain sentences about a comparison, each only where its numbers support it:
 * first what may be the cause, then which stages carry the change. */
#include "compare/compare.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SHARE_WORTH_A_WORD 0.05 /* of the total's change */
#define SHIFT_WORTH_A_WORD 0.02 /* of the total, where it did not change */

#define say(c, ...) sb_comparison_say(&(c)->explanations, &(c)->explanation_count, __VA_ARGS__)

struct values {
	double base, now;
	char base_text[32], now_text[32];
};

/* False when either side has no such metric. */
static bool look(const struct sb_comparison *c, enum sb_metric metric, struct values *v)
{
	const struct sb_metric_change *m = (enum sb_metric)c->total.metric == metric ? &c->total : NULL;

	for (size_t i = 0; i < c->metric_count && !m; i++)
		if (c->metrics[i].metric == metric)
			m = &c->metrics[i];
	if (!m || isnan(m->base) || isnan(m->now))
		return false;
	v->base = m->base;
	v->now = m->now;
	sb_metric_text(metric, m->base, v->base_text, sizeof v->base_text);
	sb_metric_text(metric, m->now, v->now_text, sizeof v->now_text);
	return true;
}

static bool slower(const struct sb_comparison *c)
{
	return c->total.now > c->total.base;
}

/* ---- what strobe does to a run ------------------------------------------- */

static const char *or_none(const char *value)
{
	return value && *value ? value : "none";
}

/* Settings with which strobe itself takes time of the program: no cause in it. Before all causes. */
static int recorded_otherwise(struct sb_comparison *c)
{
	static const char *const costs[] = { "gpu_trace", "gpu_counters" };
	char text[256] = "";
	size_t size = 0;

	for (size_t i = 0; i < c->setting_count; i++) {
		const struct sb_setting_change *s = &c->settings[i];

		for (size_t k = 0; k < sizeof costs / sizeof *costs && size < sizeof text; k++)
			if (s->scope == SB_FACT_SETTING && !*s->where && !strcmp(s->key, costs[k]) &&
				strcmp(or_none(s->base), or_none(s->now)))
				size += (size_t)snprintf(text + size, sizeof text - size, "%s%s %s -> %s",
					*text ? ", " : "", s->key, or_none(s->base), or_none(s->now));
	}
	return *text ? say(c, "strobe records with other settings (%s): what they cost is in these times",
			       text)
		     : 0;
}

/* ---- causes ------------------------------------------------------------- */

#define NOTHING_READ 1e6 /* bytes/s: a run whose files are all cached waits for none */

/* Memory that grew pushes files out of the page cache, and reads collapse. */
static int disk_collapsed(struct sb_comparison *c)
{
	static const enum sb_metric kinds[] = { SB_METRIC_RSS_PEAK, SB_METRIC_RAM_PEAK,
		SB_METRIC_GPU_MEMORY_PEAK };
	struct values disk, memory, cached;
	bool grew = false, on_gpu = false;

	if (!look(c, SB_METRIC_DISK_READ, &disk) || !(disk.base > 50e6) || !(disk.now < disk.base / 3) ||
		!(disk.now > NOTHING_READ) || !slower(c))
		return 0;
	if (look(c, SB_METRIC_PAGE_CACHE_PEAK, &cached) && cached.now >= cached.base)
		return 0; /* files had as much room as before */
	for (size_t i = 0; i < 3 && !grew; i++) {
		grew = look(c, kinds[i], &memory) && memory.now > 1.3 * memory.base;
		on_gpu = kinds[i] == SB_METRIC_GPU_MEMORY_PEAK;
	}
	if (grew && on_gpu)
		return say(c,
			"disk reads fell %s -> %s while peak GPU memory rose %s -> %s: what was offloaded "
			"now "
			"stays on the GPU",
			disk.base_text, disk.now_text, memory.base_text, memory.now_text);
	if (!grew)
		return say(c, "disk reads fell %s -> %s: the run waits for its files", disk.base_text,
			disk.now_text);
	return say(c,
		"disk reads fell %s -> %s while peak memory rose %s -> %s: the larger process leaves less "
		"room "
		"for cached files",
		disk.base_text, disk.now_text, memory.base_text, memory.now_text);
}

static int swapped(struct sb_comparison *c)
{
	struct values swap;

	if (!look(c, SB_METRIC_SWAP_PEAK, &swap) || !(swap.now > swap.base + 256e6) || !slower(c))
		return 0;
	return say(c, "swap in use rose %s -> %s: memory ran short", swap.base_text, swap.now_text);
}

/* On average over the runs of one side; NaN: not known of all. */
static double mean_of(const struct sb_facts *const *runs, size_t count, size_t offset)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += *(const double *)((const char *)runs[i] + offset);
	return count ? sum / (double)count : NAN;
}
#define BASE_MEAN(member) mean_of(c->base, c->base_count, offsetof(struct sb_facts, member))
#define NOW_MEAN(member) mean_of(c->now, c->now_count, offsetof(struct sb_facts, member))

#define HELD_BACK 0.05 /* more of the time than before */

/* A clock falls when there is nothing to do: of a longer start-up the mean of all readings is lower. */
static int clocked_down(struct sb_comparison *c)
{
	struct values clock = { .base = BASE_MEAN(gpu_busy_clock_mhz), .now = NOW_MEAN(gpu_busy_clock_mhz) },
		      temperature;
	double held = NOW_MEAN(gpu_throttled_ratio), more_held = held - BASE_MEAN(gpu_throttled_ratio);
	double capped = NOW_MEAN(gpu_capped_ratio), more_capped = capped - BASE_MEAN(gpu_capped_ratio);

	if (!(clock.now < 0.95 * clock.base) || !slower(c))
		return 0;
	sb_metric_text(SB_METRIC_GPU_CLOCK, clock.base, clock.base_text, sizeof clock.base_text);
	sb_metric_text(SB_METRIC_GPU_CLOCK, clock.now, clock.now_text, sizeof clock.now_text);
	if (more_held > HELD_BACK)
		return say(c,
			"the clock of the GPU while it works fell %s -> %s: it throttled for %.0f %% of that "
			"time",
			clock.base_text, clock.now_text, held * 100);
	if (more_capped > HELD_BACK)
		return say(c,
			"the clock of the GPU while it works fell %s -> %s: it was at its power limit for "
			"%.0f %% of that time",
			clock.base_text, clock.now_text, capped * 100);
	if (isnan(held) && look(c, SB_METRIC_GPU_TEMPERATURE, &temperature) &&
		temperature.now > temperature.base + 3)
		return say(c,
			"the clock of the GPU while it works fell %s -> %s while its temperature rose %s -> "
			"%s: it throttled",
			clock.base_text, clock.now_text, temperature.base_text, temperature.now_text);
	return say(c, "the clock of the GPU while it works fell %s -> %s", clock.base_text, clock.now_text);
}

static int gpu_waits(struct sb_comparison *c)
{
	struct values busy;

	if (!look(c, SB_METRIC_GPU_UTILIZATION, &busy) || !(busy.now < busy.base - 10) || !slower(c))
		return 0;
	return say(c, "GPU utilisation fell %s -> %s: the added time is spent waiting, not computing",
		busy.base_text, busy.now_text);
}

static int cache_misses(struct sb_comparison *c)
{
	struct values hits;

	if (!look(c, SB_METRIC_CACHE_HITS, &hits) || !(hits.now < hits.base - 0.05) || !slower(c))
		return 0;
	return say(c, "the cache hit rate fell %s -> %s: more steps were computed", hits.base_text,
		hits.now_text);
}

static int nearly_full(struct sb_comparison *c)
{
	struct values peak, total;

	if (!look(c, SB_METRIC_GPU_MEMORY_PEAK, &peak) || !look(c, SB_METRIC_GPU_MEMORY_TOTAL, &total) ||
		!slower(c) || !(peak.now > 0.95 * total.now) || peak.base > 0.95 * total.base)
		return 0;
	return say(c, "peak GPU memory rose %s -> %s of %s: the allocator frees and retries", peak.base_text,
		peak.now_text, total.now_text);
}

static int more_offload(struct sb_comparison *c)
{
	struct values offload;

	if (!look(c, SB_METRIC_OFFLOAD, &offload) ||
		fabs(offload.now - offload.base) < SHARE_WORTH_A_WORD * fabs(c->total.now - c->total.base) ||
		(offload.now > offload.base) != slower(c))
		return 0;
	return say(c, "offload (moving weights) went %s -> %s", offload.base_text, offload.now_text);
}

static int work_changed(struct sb_comparison *c)
{
	static const enum sb_metric counts[] = { SB_METRIC_FRAMES, SB_METRIC_STEPS };
	struct values v;
	int err = 0;

	for (size_t i = 0; i < 2 && !err && !c->per_generation; i++)
		if (look(c, counts[i], &v) && v.base != v.now)
			err = say(c, "the work differs: %s %s -> %s",
				counts[i] == SB_METRIC_FRAMES ? "frames" : "steps", v.base_text, v.now_text);
	return err;
}

/* ---- which stages ------------------------------------------------------- */

static const struct sb_setting_change *setting_of(const struct sb_comparison *c, const char *label)
{
	for (size_t i = 0; i < c->setting_count; i++)
		if (!strcmp(c->settings[i].where, label))
			return &c->settings[i];
	return NULL;
}

/* "13.32 s"; of what is shorter than a second in a unit that keeps its digits. */
static const char *took(double seconds, double beside_s, char *out, size_t size)
{
	if (fmax(seconds, beside_s) >= 1)
		snprintf(out, size, "%.2f s", seconds);
	else
		sb_metric_text(SB_METRIC_WALL, seconds, out, size);
	return out;
}

/* "116.33 -> 129.65 s", "30.1 ms -> 38.2 ms". */
static const char *from_to(double base_s, double now_s, char *out, size_t size)
{
	char base[32], now[32];

	if (fmax(base_s, now_s) >= 1)
		snprintf(out, size, "%.2f -> %.2f s", base_s, now_s);
	else
		snprintf(out, size, "%s -> %s", took(base_s, 0, base, sizeof base),
			took(now_s, 0, now, sizeof now));
	return out;
}

static void describe(const struct sb_comparison *c, const struct sb_stage_change *s, char *out, size_t size)
{
	const struct sb_setting_change *setting;
	char label[200], why[128] = "", change[32], more[32], times[80];

	sb_stage_label(s->code, s->name, label, sizeof label);
	sb_change_text(s->base_s, s->now_s, change, sizeof change);
	took(fabs(s->contribution_s), fmax(s->base_s, s->now_s), more, sizeof more);
	setting = setting_of(c, label);
	if (setting && setting->base && setting->now)
		snprintf(why, sizeof why, ", with %s %s -> %s", setting->key, setting->base, setting->now);
	else if (s->base_count > 0 && s->now_count > 0 && s->base_count != s->now_count)
		snprintf(why, sizeof why, ", in %.0f -> %.0f calls", s->base_count, s->now_count);
	if (isnan(s->base_s))
		snprintf(out, size, "%s is new and took %s", label, took(s->now_s, 0, more, sizeof more));
	else if (isnan(s->now_s))
		snprintf(out, size, "%s is gone: %s saved", label, took(s->base_s, 0, more, sizeof more));
	else if (s->base_self_s < 0.999 * s->base_s || s->now_self_s < 0.999 * s->now_s)
		snprintf(out, size, "%s itself, not counting the %s inside it, took %s %s (%s)", label,
			strncmp(s->name, "import ", 7) ? "stages" : "imports", more,
			s->contribution_s > 0 ? "longer" : "less",
			from_to(s->base_self_s, s->now_self_s, times, sizeof times));
	else
		snprintf(out, size, "%s took %s %s (%s, %s%s)", label, more,
			s->contribution_s > 0 ? "longer" : "less",
			from_to(s->base_s, s->now_s, times, sizeof times), change, why);
}

/* Neither new nor gone, as it seems: it stands in the place of another, or another in its place. */
static bool seems_renamed(const struct sb_stage_change *s)
{
	return s->counterpart && (isnan(s->base_s) || isnan(s->now_s));
}

static const struct sb_stage_change *old_of(const struct sb_comparison *c, const struct sb_stage_change *s)
{
	for (size_t i = 0; i < c->stage_count; i++)
		if (isnan(c->stages[i].now_s) && c->stages[i].counterpart &&
			!strcmp(c->stages[i].counterpart, s->name) &&
			!strcmp(c->stages[i].name, s->counterpart))
			return &c->stages[i];
	return NULL;
}

/* Stages that seem to have another name now, at most three. */
static int renamed(struct sb_comparison *c)
{
	size_t told = 0;
	int err = 0;

	for (size_t i = 0; i < c->stage_count && told < 3 && !err; i++) {
		const struct sb_stage_change *s = &c->stages[i],
					     *old = seems_renamed(s) ? old_of(c, s) : NULL;
		char times[80];

		if (!old || !isnan(s->base_s))
			continue;
		err = say(c, "'%s' stands in the place of '%s', with as many calls (%s): renamed?", s->name,
			old->name, from_to(old->base_s, s->now_s, times, sizeof times));
		told++;
	}
	return err;
}

/* Nothing else pushes further the same way: no stage before it, sure or not, nor the time outside of all. */
static bool is_largest(const struct sb_comparison *c, const struct sb_stage_change *s)
{
	for (const struct sb_stage_change *other = c->stages; other < s; other++)
		if (other->contribution_s != 0 && (other->contribution_s > 0) == (s->contribution_s > 0))
			return false;
	for (size_t i = 0; i < c->metric_count; i++) {
		const struct sb_metric_change *m = &c->metrics[i];
		double change = m->now - m->base;

		if (m->metric == SB_METRIC_UNATTRIBUTED && (change > 0) == (s->contribution_s > 0) &&
			fabs(change) > fabs(s->contribution_s))
			return false;
	}
	return true;
}

/* The stages that push in one direction, at most three. */
static int carriers(struct sb_comparison *c, bool same_direction)
{
	double change = c->total.now - c->total.base;
	size_t told = 0;
	int err = 0;

	for (size_t i = 0; i < c->stage_count && told < 3 && !err; i++) {
		const struct sb_stage_change *s = &c->stages[i];
		bool same = (s->contribution_s > 0) == (change > 0);
		char text[512];

		if (s->contribution_s == 0 || seems_renamed(s) || same != same_direction ||
			(s->verdict == SB_VERDICT_UNCERTAIN && !sb_stage_calls_changed(s)) ||
			fabs(s->contribution_s) < SHARE_WORTH_A_WORD * fabs(change) ||
			fabs(s->contribution_s) < c->tolerance.absolute)
			continue;
		describe(c, s, text, sizeof text);
		if (!told && same && is_largest(c, s))
			err = say(c, "%s: the largest contribution to the change", text);
		else
			err = say(c, "%s%s", same ? "" : "against it: ", text);
		told++;
	}
	return err;
}

/* The total stayed: what moved inside it? */
static int shifts(struct sb_comparison *c)
{
	size_t told = 0;
	int err = 0;

	for (size_t i = 0; i < c->stage_count && told < 3 && !err; i++) {
		const struct sb_stage_change *s = &c->stages[i];
		char text[512];

		if (fabs(s->contribution_s) < SHIFT_WORTH_A_WORD * c->total.base ||
			fabs(s->contribution_s) <= c->tolerance.absolute)
			break;
		if (seems_renamed(s))
			continue;
		describe(c, s, text, sizeof text);
		err = say(c, "%s%s", told ? "" : "the total stayed, but inside it ", text);
		told++;
	}
	return err;
}

static int outside(struct sb_comparison *c)
{
	double change = c->total.now - c->total.base;
	char times[80], more[32];

	for (size_t i = 0; i < c->metric_count; i++) {
		const struct sb_metric_change *m = &c->metrics[i];

		if (m->metric != SB_METRIC_UNATTRIBUTED || isnan(m->base) || isnan(m->now))
			continue;
		c->unattributed_change_s = m->now - m->base;
		if (fabs(c->unattributed_change_s) > 2 * SHARE_WORTH_A_WORD * fabs(change) &&
			fabs(c->unattributed_change_s) > c->tolerance.absolute)
			return say(c,
				"time %soutside every stage went %s (%s%s): no stage says what it was spent "
				"on",
				m->per_generation ? "of a generation " : "",
				from_to(m->base, m->now, times, sizeof times),
				c->unattributed_change_s < 0 ? "-" : "+",
				took(fabs(c->unattributed_change_s), fmax(m->base, m->now), more,
					sizeof more));
	}
	return 0;
}

int sb_compare_explain(struct sb_comparison *c)
{
	static int (*const rules[])(struct sb_comparison *) = { work_changed, disk_collapsed, swapped,
		clocked_down, nearly_full, cache_misses, gpu_waits, more_offload };
	int err = 0;

	if (isnan(c->total.base) || isnan(c->total.now))
		return 0;
	if (c->total.verdict != SB_VERDICT_SAME)
		err = recorded_otherwise(c);
	if (!err)
		err = renamed(c);
	if (c->total.verdict == SB_VERDICT_SAME) /* 0: texts without a time of their own */
		return err || !(c->total.base > 0) ? err : shifts(c);
	for (size_t i = 0; i < sizeof rules / sizeof rules[0] && !err; i++)
		err = rules[i](c);
	if (!err)
		err = carriers(c, true);
	if (!err)
		err = outside(c);
	if (!err)
		err = carriers(c, false);
	return err;
}
