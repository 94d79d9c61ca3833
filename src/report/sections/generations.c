/* summary and generations: what was made, how fast, at what cost. */
#include "report/sections/section.h"

#define SHOWN 20

/* ---- JSON --------------------------------------------------------------- */

static void outside_json(const struct sb_summary_section *s, struct sb_json *j)
{
	if (!s->outside_count)
		return;
	sb_json_array_begin(j, "outside");
	for (size_t i = 0; i < s->outside_count; i++) {
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", s->outside[i].what);
		sb_json_double(j, "total_s", s->outside[i].total_s);
		sb_json_opt(j, "moved_bytes", s->outside[i].bytes);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void summary_json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_summary_section *s = &model->summary;

	sb_json_object_begin(j, "summary");
	sb_json_double(j, "wall_s", model->stages.wall_s);
	sb_json_int(j, "generation_count", s->generation_count);
	sb_json_opt(j, "generation_s", s->generation_s);
	sb_json_opt(j, "outside_s", s->outside_s);
	sb_json_opt_count(j, "frames", s->frames);
	sb_json_opt_count(j, "steps", s->steps);
	sb_json_opt_count(j, "blocks", s->blocks);
	sb_json_opt_count(j, "dropped_frames_count", s->dropped_frames);
	sb_json_opt_count(j, "width_px", s->width);
	sb_json_opt_count(j, "height_px", s->height);
	sb_json_opt(j, "fps", s->fps_wall);
	sb_json_opt(j, "compute_fps", s->fps_compute);
	sb_json_opt(j, "bps", s->bps_wall);
	sb_json_opt(j, "compute_bps", s->bps_compute);
	sb_json_opt(j, "first_block_latency_s", s->first_block_s);
	sb_json_opt(j, "energy_wh", s->energy_wh);
	sb_json_opt(j, "video_energy_wh", s->energy_wh_per_video);
	sb_json_opt(j, "run_energy_wh", s->run_energy_wh);
	sb_json_opt(j, "gpu_cost", s->cost);
	sb_json_opt(j, "video_gpu_cost", s->cost_per_video);
	sb_json_opt(j, "run_gpu_cost", s->run_cost);
	sb_json_opt(j, "gpu_memory_peak_bytes", s->gpu_peak_bytes);
	sb_json_opt(j, "gpu_memory_reserved_peak_bytes", s->gpu_reserved_peak_bytes);
	sb_json_opt(j, "gpu_memory_total_bytes", s->gpu_total_bytes);
	sb_json_opt_string(j, "gpu_memory_peak_stage", s->gpu_peak_stage);
	sb_json_opt(j, "ram_peak_bytes", s->ram_peak_bytes);
	sb_json_opt(j, "ram_total_bytes", s->ram_total_bytes);
	sb_json_opt(j, "gpu_utilization_mean_percent", s->gpu_utilization_mean_percent);
	if (s->target_fps > 0) {
		sb_json_double(j, "target_fps", s->target_fps);
		if (!isnan(s->fps_wall))
			sb_json_bool(j, "target_reached", s->fps_wall >= s->target_fps);
	}
	outside_json(s, j);
	sb_json_object_end(j);
}

static void generation_json(const struct sb_generation *g, struct sb_json *j)
{
	sb_json_object_begin(j, NULL);
	sb_json_string(j, "name", g->name);
	sb_json_double(j, "start_s", g->begin_s);
	sb_json_double(j, "wall_s", g->end_s - g->begin_s);
	sb_json_opt_count(j, "frames", g->frames);
	sb_json_opt_count(j, "steps", g->steps);
	sb_json_opt_count(j, "blocks", g->blocks);
	sb_json_opt_count(j, "width_px", g->width);
	sb_json_opt_count(j, "height_px", g->height);
	sb_json_opt(j, "fps", g->fps);
	sb_json_opt(j, "denoise_s", g->denoise_s);
	sb_json_opt(j, "vae_decode_s", g->vae_s);
	sb_json_opt(j, "energy_wh", g->energy_wh);
	sb_json_opt(j, "gpu_cost", g->cost);
	sb_json_opt(j, "utilization_percent", g->utilization_percent);
	if (g->open || g->cut)
		sb_json_string(j, "state", g->open ? "open" : "cut");
	sb_json_object_end(j);
}

static void generations_json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_generations_section *g = &model->generations;

	summary_json(model, j);
	sb_json_object_begin(j, "generations");
	sb_json_int(j, "count", g->total);
	sb_json_bool(j, "whole_run", g->whole_run);
	if (g->total > 0) {
		sb_json_double(j, "union_s", g->union_s);
		if (g->time.count)
			sb_json_stats(j, "wall", &g->time, "_s");
	}
	sb_json_array_begin(j, "items");
	for (size_t i = 0; !g->whole_run && i < g->count; i++)
		generation_json(&g->all[i], j);
	sb_json_array_end(j);
	sb_json_object_end(j);
}

/* ---- text --------------------------------------------------------------- */

static void number(struct sb_buf *out, int width, double value, int decimals)
{
	if (isnan(value))
		sb_buf_printf(out, " %*s", width, "n/a");
	else
		sb_buf_printf(out, " %*.*f", width, decimals, value);
}

static void count(struct sb_buf *out, int width, int64_t value)
{
	if (value < 0)
		sb_buf_printf(out, " %*s", width, "n/a");
	else
		sb_buf_printf(out, " %*lld", width, (long long)value);
}

static void generations_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_generations_section *g = &model->generations;

	if (g->whole_run)
		return;
	sb_text_heading(out, options, "Generations");
	if (g->time.count > 1)
		sb_buf_printf(out, "  %lld, p50 %.2f s, p95 %.2f s, min %.2f s, max %.2f s\n",
			(long long)g->time.count, g->time.p50, g->time.p95, g->time.min, g->time.max);
	sb_buf_printf(out, "  %-14s %8s %8s %7s %6s %9s %7s %5s\n", "Name", "at s", "wall s", "frames",
		"steps", "frames/s", "Wh", "GPU %");
	for (size_t i = 0; i < g->count && i < SHOWN; i++) {
		const struct sb_generation *row = &g->all[i];
		size_t used;

		sb_buf_puts(out, "  ");
		used = sb_text_name(out, row->name, 14);
		sb_buf_printf(out, "%*s %8.2f %8.2f", (int)(14 - used), "", row->begin_s,
			row->end_s - row->begin_s);
		count(out, 7, row->frames);
		count(out, 6, row->steps);
		number(out, 9, row->fps, 2);
		number(out, 7, row->energy_wh, 2);
		number(out, 5, row->utilization_percent, 0);
		sb_buf_puts(out, row->open ? " (open)\n" : row->cut ? " (cut)\n" : "\n");
	}
	if (g->total > SHOWN)
		sb_buf_printf(out, "  … and %lld more\n", (long long)g->total - SHOWN);
}

const struct sb_section sb_section_generations = {
	.name = "generations",
	.json = generations_json,
	.text = generations_text,
};
