/* Memory over time: VRAM, RAM, swap and page cache side by side. */
#include "analyze/memory/collected.h"

#include "base/memory_units.h"
#include "analyze/sampled.h"

#include <string.h>

static double column_max_bytes(const struct sb_model *model, const char *source, const char *column)
{
	const struct sb_series *s = sb_model_series(model, source, -2);
	const struct sb_series_column *c = s ? sb_series_column_find(s, column) : NULL;

	return c ? c->stats.max * SB_MB : NAN;
}

static void fill_host(struct sb_model *model)
{
	struct sb_memory_panel *panel = &model->memory;
	const struct sb_series *s = sb_model_series(model, "memory", -2);
	const struct sb_series_column *swap = s ? sb_series_column_find(s, "swap_used_mb") : NULL;
	double limit = column_max_bytes(model, "memory", "limit_mb");

	panel->ram_peak_bytes = column_max_bytes(model, "memory", "used_mb");
	panel->swap_peak_bytes = column_max_bytes(model, "memory", "swap_used_mb");
	panel->swap_first_bytes = swap ? swap->first * SB_MB : NAN;
	panel->page_cache_peak_bytes = column_max_bytes(model, "memory", "page_cache_mb");
	panel->rss_peak_bytes = column_max_bytes(model, "process", "rss_mb");
	for (size_t i = 0; i < panel->snapshot_count; i++)
		if (panel->snapshots[i].device < 0)
			panel->rss_peak_bytes = fmax(panel->rss_peak_bytes, panel->snapshots[i].peak_bytes);
	panel->ram_total_bytes = column_max_bytes(model, "memory", "total_mb");
	if (limit > 0 && !(limit >= panel->ram_total_bytes)) { /* a container: its own limit, its own use */
		double group = column_max_bytes(model, "memory", "group_used_mb");

		panel->ram_total_bytes = limit;
		panel->ram_peak_bytes = isnan(group) ? panel->ram_peak_bytes : group;
		panel->ram_of_group = !isnan(group);
	}
}

static double vram_at(const struct sb_model *model, double t_s)
{
	double sum = NAN;

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		double mb;

		if (strcmp(s->source, "gpu") != 0)
			continue;
		mb = sb_series_at(s, sb_series_column_find(s, "memory_used_mb"), t_s);
		if (!isnan(mb))
			sum = isnan(sum) ? mb : sum + mb;
	}
	return sum;
}

/* The last snapshot up to t_s, summed over devices is not wanted: the peak's
 * device alone. *at only moves forward. */
static const struct sb_memory_snapshot *snapshot_at(
	const struct sb_memory_panel *panel, double t_s, size_t *at, const struct sb_memory_snapshot *before)
{
	for (; *at < panel->snapshot_count && panel->snapshots[*at].t_s <= t_s; (*at)++) {
		if (panel->snapshots[*at].device == panel->peak_device)
			before = &panel->snapshots[*at];
	}
	return before;
}

static void fill_timeline(struct sb_memory_collected *m, struct sb_model *model)
{
	static const char *const columns[] = { "vram_used_mb", "vram_allocated_mb", "vram_reserved_mb",
		"ram_used_mb", "rss_mb", "swap_used_mb", "page_cache_mb" };
	struct sb_memory_panel *panel = &model->memory;
	const struct sb_series *memory = sb_model_series(model, "memory", -2),
			       *gpu = sb_model_series(model, "gpu", -2);
	const struct sb_series *process = sb_model_series(model, "process", -2),
			       *axis = memory ? memory : gpu;
	const struct sb_memory_snapshot *snapshot = NULL;
	struct sb_sampled rows;
	size_t at = 0;

	if (sb_sampled_init(&rows, columns, 7, m->points) != 0)
		m->failed = true;
	for (size_t i = 0; !m->failed && i < (axis ? axis->count : panel->snapshot_count); i++) {
		double t_s = axis ? axis->t_s[i] : panel->snapshots[i].t_s, row[7];

		snapshot = snapshot_at(panel, t_s, &at, snapshot);
		row[0] = vram_at(model, t_s);
		row[1] = snapshot ? snapshot->allocated_bytes / SB_MB : NAN;
		row[2] = snapshot ? snapshot->reserved_bytes / SB_MB : NAN;
		row[3] = memory ? sb_series_at(memory, sb_series_column_find(memory, "used_mb"), t_s) : NAN;
		row[4] = process ? sb_series_at(process, sb_series_column_find(process, "rss_mb"), t_s) : NAN;
		row[5] = memory ? sb_series_at(memory, sb_series_column_find(memory, "swap_used_mb"), t_s)
				: NAN;
		row[6] = memory ? sb_series_at(memory, sb_series_column_find(memory, "page_cache_mb"), t_s)
				: NAN;
		if (sb_sampled_add(&rows, t_s, row) != 0)
			m->failed = true;
	}
	if (!m->failed && sb_sampled_store(&rows, model, &panel->timeline) != 0)
		m->failed = true;
	sb_sampled_done(&rows);
}

void sb_memory_timeline_fill(struct sb_memory_collected *m, struct sb_model *model)
{
	fill_host(model);
	fill_timeline(m, model);
}
