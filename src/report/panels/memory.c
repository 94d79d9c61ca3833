/* memory: snapshots, peaks, what stages keep, allocators, the host. */
#include "report/panels/panel.h"

#include "base/memory_units.h"

#include <stdio.h>
#include <string.h>

#define SNAPSHOTS_SHOWN 40
#define STAGES_SHOWN 20
#define LINES_SHOWN 20 /* of each device */

/* ---- text --------------------------------------------------------------- */

static void mb(struct sb_buf *out, int width, double bytes)
{
	if (isnan(bytes))
		sb_buf_printf(out, " %*s", width, "n/a");
	else
		sb_buf_printf(out, " %*.1f", width, bytes / SB_MB);
}

static void snapshots_text(const struct sb_memory_panel *m, bool no_times, struct sb_buf *out)
{
	if (!m->snapshot_count)
		return;
	sb_buf_printf(out, "  %-32s %8s %11s %11s %11s\n", "Snapshot", no_times ? "" : "at s", "allocated",
		"reserved", "peak MB");
	for (size_t i = 0; i < m->snapshot_count && i < SNAPSHOTS_SHOWN; i++) {
		const struct sb_memory_snapshot *s = &m->snapshots[i];
		size_t used;

		sb_buf_puts(out, "  ");
		used = sb_text_name(out, s->label, 32);
		sb_buf_printf(out, "%*s", (int)(32 - used), "");
		if (no_times)
			sb_buf_printf(out, " %8s", "");
		else
			sb_buf_printf(out, " %8.2f", s->t_s);
		mb(out, 11, s->allocated_bytes);
		mb(out, 11, s->reserved_bytes);
		mb(out, 11, s->peak_bytes);
		sb_buf_putc(out, '\n');
	}
	if (m->snapshot_count > SNAPSHOTS_SHOWN)
		sb_buf_printf(
			out, "  … and %zu more in memory_log.json\n", m->snapshot_count - SNAPSHOTS_SHOWN);
}

static void stages_text(const struct sb_memory_panel *m, struct sb_buf *out)
{
	bool unchecked = false;

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
			: s->let_go ? "with the generation"
				    : "NO");
		unchecked |= !s->checked;
	}
	if (m->stages_generation)
		sb_buf_printf(out,
			"  (peaks: in generation %lld; of a stage that it has no call of, in other calls)\n",
			(long long)m->stages_generation);
	if (unchecked)
		sb_buf_puts(out, "  (n/a: memory was not read between that stage and its neighbours)\n");
}

/* "model.py:12 forward"; what is not of the program in words. */
static void line_name(const struct sb_memory_line *l, struct sb_buf *out)
{
	const char *slash = l->file ? strrchr(l->file, '/') : NULL;
	char text[160];

	if (l->file && l->line > 0)
		snprintf(text, sizeof text, "%s:%lld %s", slash ? slash + 1 : l->file, (long long)l->line,
			l->function ? l->function : "");
	else
		snprintf(text, sizeof text, "%s",
			l->function ? l->function : "(allocated before the history)");
	sb_text_name(out, text, 60);
}

static void lines_text(const struct sb_memory_panel *m, struct sb_buf *out)
{
	size_t shown = 0, left = 0;

	if (m->line_count)
		sb_buf_printf(out, "  %-4s %11s %7s %11s  %s\n", m->lines[0].device < 0 ? "on" : "GPU",
			"at peak MB", "count", "at end MB", "allocated by");
	for (size_t i = 0; i < m->line_count; i++) {
		const struct sb_memory_line *l = &m->lines[i];

		shown = i && l->device == m->lines[i - 1].device ? shown + 1 : 1;
		if (shown > LINES_SHOWN) {
			left++;
			continue;
		}
		if (l->device < 0)
			sb_buf_puts(out, "  host");
		else
			sb_buf_printf(out, "  %-4lld", (long long)l->device);
		mb(out, 11, l->peak_bytes);
		sb_buf_printf(out, " %7lld", (long long)l->peak_count);
		mb(out, 11, l->end_bytes);
		sb_buf_puts(out, "  ");
		line_name(l, out);
		if (l->stage) {
			sb_buf_puts(out, ", in ");
			sb_text_name(out, l->stage, 30);
		}
		sb_buf_putc(out, '\n');
	}
	if (left)
		sb_buf_printf(out, "  … and %zu more in the JSON report\n", left);
}

static const char *growth_words(const char *of)
{
	return strcmp(of, "vram") == 0     ? "GPU memory"
	       : strcmp(of, "host") == 0   ? "Host memory"
	       : strcmp(of, "pinned") == 0 ? "Pinned memory"
					   : "Open files";
}

static const char *verdict_words(enum sb_growth_verdict verdict)
{
	return verdict == SB_GROWTH_GROWS      ? "it goes on growing"
	       : verdict == SB_GROWTH_RETURNED ? "given back after the generation"
					       : "settles: a cache that filled up";
}

/* "  Host memory +12.0 MB per step (40 steps; p = 0.0004), in transformer: it goes on growing" */
static void growth_text(const struct sb_memory_panel *m, struct sb_buf *out)
{
	for (size_t i = 0; i < m->growth_count; i++) {
		const struct sb_growth *g = &m->growth[i];
		bool files = strcmp(g->of, "open_files") == 0;

		if (g->verdict == SB_GROWTH_STEADY)
			continue;
		sb_buf_printf(out, "  %s +%.1f%s per ", growth_words(g->of),
			files ? g->per_unit : g->per_unit / SB_MB, files ? "" : " MB");
		if (g->stage) {
			sb_buf_puts(out, "call of ");
			sb_text_name(out, g->stage, 30);
		} else {
			sb_buf_puts(out, g->per);
		}
		sb_buf_printf(out, " (%lld %ss; p = %.2g)", (long long)g->unit_count, g->per, g->p);
		if (g->where) {
			sb_buf_puts(out, ", in ");
			sb_text_name(out, g->where, 30);
		}
		sb_buf_printf(out, ": %s\n", verdict_words(g->verdict));
	}
}

static const char *source_words(const char *source)
{
	return strcmp(source, "allocated") == 0 ? "allocated"
	       : strcmp(source, "process") == 0 ? "of this run, sampled"
						: "of the whole device, sampled";
}

/* Of a peak that is no tensor's: the allocator had kept what another stage took, or could not use the pieces. */
static void tensors_text(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_memory_panel *m = &model->memory;
	const struct sb_generations_panel *g = &model->generations;

	sb_buf_printf(out, "  Tensors held at most %.1f MB of it, ", m->tensors_peak_bytes / SB_MB);
	if (m->tensors_peak_stage) {
		sb_buf_puts(out, "in ");
		sb_text_name(out, m->tensors_peak_stage, 40);
		sb_buf_printf(out, " at %.2f s\n", m->tensors_peak_t_s);
	} else if (g->count && !g->whole_run && m->tensors_peak_t_s <= g->all[0].begin_s) {
		sb_buf_puts(out, "before the first generation, in no stage\n");
	} else {
		sb_buf_printf(out, "in no known stage, seen at %.2f s\n", m->tensors_peak_t_s);
	}
}

/* Where the peak is of the same tensors, it says all of that. */
static bool has_tensors_text(const struct sb_model *model)
{
	const struct sb_memory_panel *m = &model->memory;

	if (isnan(m->tensors_peak_bytes) || !m->peak_stage)
		return false;
	return m->tensors_peak_stage ? strcmp(m->tensors_peak_stage, m->peak_stage) != 0
				     : !model->session.no_times;
}

/* Where times are made up, the snapshot says where it was. */
static void spike_text(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_memory_panel *m = &model->memory;

	sb_buf_printf(out, "  Steepest rise %.1f MB", m->spike_bytes / SB_MB);
	if (!model->session.no_times) {
		sb_buf_printf(out, " at %.2f s, in ", m->spike_t_s);
		sb_text_name(out, m->spike_stage ? m->spike_stage : "no stage", 32);
	}
	for (size_t i = 0; model->session.no_times && i < m->snapshot_count; i++)
		if (m->snapshots[i].t_s == m->spike_t_s) {
			sb_buf_puts(out, " at ");
			sb_text_name(out, m->snapshots[i].label, 60);
			break;
		}
	sb_buf_putc(out, '\n');
}

static void memory_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_memory_panel *m = &model->memory;

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
		sb_buf_puts(out, model->session.no_times ? ")\n" : ")\n    in ");
		if (!model->session.no_times) {
			sb_text_name(out, m->peak_stage ? m->peak_stage : "no stage", 40);
			sb_buf_printf(out, ", seen at %.2f s", m->peak_t_s);
			if (m->peak_used_bytes > m->peak_bytes)
				sb_buf_printf(out, "; %.1f MB in use in all", m->peak_used_bytes / SB_MB);
			sb_buf_putc(out, '\n');
		}
	}
	if (has_tensors_text(model))
		tensors_text(model, out);
	if (!isnan(m->spike_bytes))
		spike_text(model, out);
	if (!isnan(m->fragmentation_ratio)) {
		sb_buf_printf(out, "  Fragmentation: %.1f of %.1f MB reserved unused (%.1f %%)\n    at ",
			m->fragmentation_bytes / SB_MB, m->fragmentation_reserved_bytes / SB_MB,
			m->fragmentation_ratio * 100);
		sb_text_name(out, m->fragmentation_label, 60);
		sb_buf_putc(out, '\n');
	}
	if (!isnan(m->ram_peak_bytes))
		sb_buf_printf(out, "  RAM in use %s, peak %.1f of %.1f MB",
			m->ram_of_group ? "in the cgroup" : "on the machine", m->ram_peak_bytes / SB_MB,
			m->ram_total_bytes / SB_MB);
	if (!isnan(m->ram_peak_bytes) && m->swap_peak_bytes > 0)
		sb_buf_printf(out, ", swap peak %.1f MB", m->swap_peak_bytes / SB_MB);
	if (!isnan(m->ram_peak_bytes))
		sb_buf_putc(out, '\n');
	growth_text(m, out);
	lines_text(m, out);
	snapshots_text(m, model->session.no_times, out);
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

const struct sb_panel sb_panel_memory = {
	.name = "memory",
	.text = memory_text,
};
