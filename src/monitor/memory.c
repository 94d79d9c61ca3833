/* RAM, swap, page cache of the machine, and the control group's limit. */
#include "monitor/source.h"

#include "monitor/cgroup.h"
#include "monitor/procfile.h"
#include "monitor/samples.h"

#include <math.h>
#include <string.h>

#define SECOND_NS 1000000000ull

enum { TOTAL, USED, AVAILABLE, SWAP, CACHE, LIMIT, GROUP, COLUMNS };
static const struct sb_column columns[COLUMNS] = {
	[TOTAL] = { "total_mb", SB_MERGE_LAST },
	[USED] = { "used_mb", SB_MERGE_MAX },
	[AVAILABLE] = { "available_mb", SB_MERGE_MIN },
	[SWAP] = { "swap_used_mb", SB_MERGE_MAX },
	[CACHE] = { "page_cache_mb", SB_MERGE_MEAN },
	[LIMIT] = { "limit_mb", SB_MERGE_LAST },
	[GROUP] = { "group_used_mb", SB_MERGE_MAX },
};

static struct {
	struct sb_samples series;
	struct sb_procfile meminfo;
	struct sb_cgroup cgroup;
	struct sb_pace limit;
	double limit_mb;
} memory;

static bool wanted(const struct sb_settings *s)
{
	return s->monitor_system_memory;
}

static void start(const struct sb_settings *settings)
{
	memset(&memory, 0, sizeof memory);
	memory.limit_mb = NAN;
	sb_cgroup_find(&memory.cgroup);
	/* Without a limit the group's use says nothing: the column stays out. */
	sb_samples_open(&memory.series, "memory", -1, columns,
		sb_cgroup_memory_limit(&memory.cgroup) ? COLUMNS : GROUP, settings->max_data_points);
}

static double field_mb(const char *text, const char *key)
{
	uint64_t kb;

	return sb_procfile_field(text, key, &kb) ? (double)kb / 1024 : NAN;
}

static void sample(const struct sb_tick *tick)
{
	double v[COLUMNS];
	char text[8192];

	if (sb_procfile_read_proc(&memory.meminfo, "meminfo", text, sizeof text) <= 0)
		return;
	if (sb_pace_due(&memory.limit, tick->mono_ns)) {
		uint64_t limit = sb_cgroup_memory_limit(&memory.cgroup);

		memory.limit_mb = limit ? (double)limit / 1048576 : NAN;
		sb_pace_done(&memory.limit, tick->mono_ns, 0, 30 * SECOND_NS);
	}
	v[TOTAL] = field_mb(text, "MemTotal:");
	v[AVAILABLE] = field_mb(text, "MemAvailable:");
	v[USED] = v[TOTAL] - v[AVAILABLE];
	v[SWAP] = field_mb(text, "SwapTotal:") - field_mb(text, "SwapFree:");
	v[CACHE] = field_mb(text, "Cached:") + field_mb(text, "Buffers:");
	v[LIMIT] = memory.limit_mb;
	v[GROUP] = NAN;
	if (memory.series.column_count == COLUMNS)
		v[GROUP] = (double)sb_cgroup_memory_used(&memory.cgroup) / 1048576;
	sb_samples_push(&memory.series, tick->ticks, v);
}

static void finish(const struct sb_tick *tick)
{
	sb_samples_close(&memory.series, tick->ticks);
	sb_procfile_close(&memory.meminfo);
}

const struct sb_source sb_source_memory = { "memory", wanted, start, sample, finish };
