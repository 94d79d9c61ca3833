/* Memory of the process tree: resident size at every sample; its parts and the open files as often
 * as they are cheap; the proportional size rarely, because the kernel walks every page table for it. */
#include "monitor/source.h"

#include "monitor/samples.h"
#include "monitor/tree.h"

#include <math.h>
#include <string.h>

#define PSS_FIRST_NS 1000000000ull
#define PSS_SPACING_NS 15000000000ull

enum { RSS, PSS, PROCESSES, THREADS, ANON, MAPPED, SHARED, PINNED, FILES, COLUMNS };
static const struct sb_column columns[COLUMNS] = {
	[RSS] = { "rss_mb", SB_MERGE_MAX },
	[PSS] = { "pss_mb", SB_MERGE_MAX },
	[PROCESSES] = { "process_count", SB_MERGE_MAX },
	[THREADS] = { "thread_count", SB_MERGE_MAX },
	[ANON] = { "anon_mb", SB_MERGE_MAX },
	[MAPPED] = { "file_mb", SB_MERGE_MAX },
	[SHARED] = { "shared_mb", SB_MERGE_MAX },
	[PINNED] = { "pinned_mb", SB_MERGE_MAX },
	[FILES] = { "open_file_count", SB_MERGE_MAX },
};

static struct {
	struct sb_samples series;
	struct sb_pace pss, details;
	uint64_t first_ns;
} process;

static bool wanted(const struct sb_settings *s)
{
	return s->monitor_system_memory;
}

static void start(const struct sb_settings *settings)
{
	memset(&process, 0, sizeof process);
	sb_samples_open(&process.series, "process", -1, columns, COLUMNS, settings->max_data_points);
}

/* A program that has just begun soon has another size. */
static uint64_t pss_spacing_ns(uint64_t mono_ns)
{
	uint64_t age_ns = mono_ns - process.first_ns;

	return age_ns < PSS_FIRST_NS ? PSS_FIRST_NS : age_ns > PSS_SPACING_NS ? PSS_SPACING_NS : age_ns;
}

static void sample_details(const struct sb_tick *tick, double *v)
{
	struct sb_tree_details d = { NAN, NAN, NAN, NAN, NAN };

	if (sb_pace_due(&process.details, tick->mono_ns)) {
		uint64_t start_ns = sb_mono_ns();

		sb_tree_details(&d);
		sb_pace_done(&process.details, tick->mono_ns, sb_mono_ns() - start_ns, 0);
	}
	v[ANON] = d.anon_mb;
	v[MAPPED] = d.file_mb;
	v[SHARED] = d.shared_mb;
	v[PINNED] = d.pinned_mb;
	v[FILES] = d.open_file_count;
}

static void sample(const struct sb_tick *tick)
{
	struct sb_tree_totals totals;
	double v[COLUMNS];

	sb_tree_totals(&totals);
	if (!totals.process_count)
		return;
	v[RSS] = (double)totals.rss_bytes / 1048576;
	v[PROCESSES] = totals.process_count;
	v[THREADS] = totals.thread_count;
	v[PSS] = NAN;
	sample_details(tick, v);
	if (!process.first_ns)
		process.first_ns = tick->mono_ns;
	if (sb_pace_due(&process.pss, tick->mono_ns)) {
		uint64_t start_ns = sb_mono_ns();

		v[PSS] = sb_tree_pss_mb();
		sb_pace_done(
			&process.pss, tick->mono_ns, sb_mono_ns() - start_ns, pss_spacing_ns(tick->mono_ns));
	}
	sb_samples_push(&process.series, tick->ticks, v);
}

static void finish(const struct sb_tick *tick)
{
	sb_samples_close(&process.series, tick->ticks);
}

const struct sb_source sb_source_process = { "process", wanted, start, sample, finish };
