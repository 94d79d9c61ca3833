/* memory: snapshots, peaks, what stages keep, allocators, the host. */
#include "report/sections/section.h"
#include "report/sections/series_json.h"

#include "base/memory_units.h"

#include <stdio.h>
#include <string.h>

#define SNAPSHOTS_SHOWN 40
#define STAGES_SHOWN 20

/* ---- JSON --------------------------------------------------------------- */

static void opt_mb(struct sb_json *j, const char *key, double bytes)
{
	if (!isnan(bytes))
		sb_json_fixed(j, key, bytes / SB_MB, 1);
}

static void device_json(struct sb_json *j, int device)
{
	char name[24];

	snprintf(name, sizeof name, "gpu:%d", device);
	sb_json_string(j, "device", device < 0 ? "host" : name);
}

static void snapshots_json(const struct sb_memory_section *m, struct sb_json *j)
{
	if (!m->snapshot_count)
		return;
	sb_json_int(j, "snapshot_count", m->snapshot_total);
	sb_json_array_begin(j, "snapshots");
	for (size_t i = 0; i < m->snapshot_count; i++) {
		const struct sb_memory_snapshot *s = &m->snapshots[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "label", s->label);
		sb_json_fixed(j, "t_s", s->t_s, 6);
		device_json(j, s->device);
		opt_mb(j, "allocated_mb", s->allocated_bytes);
		opt_mb(j, "reserved_mb", s->reserved_bytes);
		opt_mb(j, "peak_mb", s->peak_bytes);
		sb_json_opt_string(j, "stage", s->stage);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void peaks_json(const struct sb_memory_section *m, struct sb_json *j)
{
	opt_mb(j, "peak_mb", m->peak_bytes);
	if (!isnan(m->peak_bytes)) {
		sb_json_opt(j, "peak_t_s", m->peak_t_s);
		sb_json_opt_string(j, "peak_stage", m->peak_stage);
		sb_json_opt_string(j, "peak_source", m->peak_source);
		sb_json_int(j, "peak_device_index", m->peak_device);
	}
	opt_mb(j, "reserved_peak_mb", m->reserved_peak_bytes);
	opt_mb(j, "device_total_mb", m->device_total_bytes);
	if (!isnan(m->fragmentation_ratio)) {
		sb_json_object_begin(j, "fragmentation");
		sb_json_opt(j, "unused_ratio", m->fragmentation_ratio);
		opt_mb(j, "unused_mb", m->fragmentation_bytes);
		opt_mb(j, "reserved_mb", m->fragmentation_reserved_bytes);
		sb_json_opt_string(j, "label", m->fragmentation_label);
		sb_json_object_end(j);
	}
	if (!isnan(m->spike_bytes)) {
		sb_json_object_begin(j, "spike");
		opt_mb(j, "rise_mb", m->spike_bytes);
		sb_json_opt(j, "t_s", m->spike_t_s);
		sb_json_opt_string(j, "stage", m->spike_stage);
		sb_json_object_end(j);
	}
}

static void stages_json(const struct sb_memory_section *m, struct sb_json *j)
{
	if (!m->stage_count)
		return;
	sb_json_array_begin(j, "stages");
	for (size_t i = 0; i < m->stage_count; i++) {
		const struct sb_memory_stage *s = &m->stages[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", s->stage);
		sb_json_int(j, "count", s->count);
		opt_mb(j, "peak_mb", s->peak_bytes);
		opt_mb(j, "before_mb", s->before_bytes);
		opt_mb(j, "after_mb", s->after_bytes);
		opt_mb(j, "kept_mb", s->kept_bytes);
		if (s->checked)
			sb_json_bool(j, "freed", s->freed);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void allocators_json(const struct sb_memory_section *m, struct sb_json *j)
{
	if (!m->allocator_count)
		return;
	sb_json_array_begin(j, "allocators");
	for (size_t i = 0; i < m->allocator_count; i++) {
		const struct sb_memory_allocator *a = &m->allocators[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", a->allocator);
		sb_json_int(j, "alloc_count", a->alloc_count);
		sb_json_int(j, "alloc_bytes", (int64_t)a->allocated_bytes);
		sb_json_int(j, "free_count", a->free_count);
		sb_json_int(j, "free_bytes", (int64_t)a->freed_bytes);
		sb_json_int(j, "live_bytes", (int64_t)a->live_bytes);
		sb_json_int(j, "live_peak_bytes", (int64_t)a->peak_bytes);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void host_json(const struct sb_memory_section *m, struct sb_json *j)
{
	if (isnan(m->ram_peak_bytes) && isnan(m->rss_peak_bytes))
		return;
	sb_json_object_begin(j, "host");
	opt_mb(j, "ram_peak_mb", m->ram_peak_bytes);
	opt_mb(j, "ram_total_mb", m->ram_total_bytes);
	opt_mb(j, "rss_peak_mb", m->rss_peak_bytes);
	opt_mb(j, "swap_peak_mb", m->swap_peak_bytes);
	opt_mb(j, "page_cache_peak_mb", m->page_cache_peak_bytes);
	sb_json_object_end(j);
}

static void memory_json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_memory_section *m = &model->memory;

	if (!m->present)
		return;
	sb_json_object_begin(j, "memory");
	peaks_json(m, j);
	snapshots_json(m, j);
	stages_json(m, j);
	allocators_json(m, j);
	host_json(m, j);
	sb_json_series(j, "timeline", &m->timeline);
	sb_json_object_end(j);
}

/* ---- text --------------------------------------------------------------- */

static void mb(struct sb_buf *out, int width, double bytes)
{
	if (isnan(bytes))
		sb_buf_printf(out, " %*s", width, "n/a");
	else
		sb_buf_printf(out, " %*.1f", width, bytes / SB_MB);
}

static void snapshots_text(const struct sb_memory_section *m, struct sb_buf *out)
{
	if (!m->snapshot_count)
		return;
	sb_buf_printf(
		out, "  %-32s %8s %11s %11s %11s\n", "Snapshot", "at s", "allocated", "reserved", "peak MB");
	for (size_t i = 0; i < m->snapshot_count && i < SNAPSHOTS_SHOWN; i++) {
		const struct sb_memory_snapshot *s = &m->snapshots[i];
		size_t used;

		sb_buf_puts(out, "  ");
		used = sb_text_name(out, s->label, 32);
		sb_buf_printf(out, "%*s %8.2f", (int)(32 - used), "", s->t_s);
		mb(out, 11, s->allocated_bytes);
		mb(out, 11, s->reserved_bytes);
		mb(out, 11, s->peak_bytes);
		sb_buf_putc(out, '\n');
	}
	if (m->snapshot_count > SNAPSHOTS_SHOWN)
		sb_buf_printf(
			out, "  … and %zu more in memory_log.json\n", m->snapshot_count - SNAPSHOTS_SHOWN);
}

static void stages_text(const struct sb_memory_section *m, struct sb_buf *out)
{
	if (!m->stage_count)
		return;
	sb_buf_printf(out, "  %-30s %8s %11s %11s  %s\n", "Stage", "calls", "peak MB", "kept MB", "freed?");
	for (size_t i = 0; i < m->stage_count && i < STAGES_SHOWN; i++) {
		const struct sb_memory_stage *s = &m->stages[i];
		size_t used;

		sb_buf_puts(out, "  ");
		used = sb_text_name(out, s->stage, 30);
		sb_buf_printf(out, "%*s %8lld", (int)(30 - used), "", (long long)s->count);
		mb(out, 11, s->peak_bytes);
		mb(out, 11, s->kept_bytes);
		sb_buf_printf(out, "  %s\n",
			!s->checked ? "n/a"
			: s->freed  ? "yes"
			: s->holds  ? "no (weights)"
				    : "NO");
	}
}

static const char *source_words(const char *source)
{
	return strcmp(source, "allocated") == 0 ? "allocated"
	       : strcmp(source, "process") == 0 ? "of this run, sampled"
						: "of the whole device, sampled";
}

static void memory_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_memory_section *m = &model->memory;

	if (!m->present)
		return;
	sb_text_heading(out, options, "Memory");
	if (!isnan(m->peak_bytes)) {
		sb_buf_printf(out, "  VRAM peak %.1f", m->peak_bytes / SB_MB);
		if (!isnan(m->device_total_bytes))
			sb_buf_printf(out, " of %.1f", m->device_total_bytes / SB_MB);
		sb_buf_printf(out, " MB on GPU %d (%s", m->peak_device, source_words(m->peak_source));
		if (!isnan(m->reserved_peak_bytes))
			sb_buf_printf(out, "; reserved %.1f MB", m->reserved_peak_bytes / SB_MB);
		sb_buf_puts(out, ")\n    in ");
		sb_text_name(out, m->peak_stage ? m->peak_stage : "no stage", 40);
		sb_buf_printf(out, ", seen at %.2f s\n", m->peak_t_s);
	}
	if (!isnan(m->spike_bytes))
		sb_buf_printf(
			out, "  Steepest rise %.1f MB at %.2f s, in ", m->spike_bytes / SB_MB, m->spike_t_s);
	if (!isnan(m->spike_bytes)) {
		sb_text_name(out, m->spike_stage ? m->spike_stage : "no stage", 32);
		sb_buf_putc(out, '\n');
	}
	if (!isnan(m->fragmentation_ratio)) {
		sb_buf_printf(out, "  Fragmentation: %.1f of %.1f MB reserved unused (%.1f %%)\n    at ",
			m->fragmentation_bytes / SB_MB, m->fragmentation_reserved_bytes / SB_MB,
			m->fragmentation_ratio * 100);
		sb_text_name(out, m->fragmentation_label, 60);
		sb_buf_putc(out, '\n');
	}
	if (!isnan(m->ram_peak_bytes))
		sb_buf_printf(out, "  RAM peak %.1f of %.1f MB", m->ram_peak_bytes / SB_MB,
			m->ram_total_bytes / SB_MB);
	if (!isnan(m->ram_peak_bytes) && m->swap_peak_bytes > 0)
		sb_buf_printf(out, ", swap peak %.1f MB", m->swap_peak_bytes / SB_MB);
	if (!isnan(m->ram_peak_bytes))
		sb_buf_putc(out, '\n');
	snapshots_text(m, out);
	stages_text(m, out);
	if (m->allocator_count)
		sb_buf_printf(out, "  %-24s %9s %12s %9s %10s %9s\n", "Allocator", "allocs", "MB", "frees",
			"MB", "live MB");
	for (size_t i = 0; i < m->allocator_count; i++) {
		const struct sb_memory_allocator *a = &m->allocators[i];

		size_t used;

		sb_buf_puts(out, "  ");
		used = sb_text_name(out, a->allocator, 24);
		sb_buf_printf(out, "%*s %9lld %12.1f %9lld %10.1f %9.1f\n", (int)(24 - used), "",
			(long long)a->alloc_count, a->allocated_bytes / SB_MB, (long long)a->free_count,
			a->freed_bytes / SB_MB, a->live_bytes / SB_MB);
	}
}

const struct sb_section sb_section_memory = {
	.name = "memory",
	.json = memory_json,
	.text = memory_text,
};
