/* diffusion_analysis and block_analysis: steps, blocks, frames per second. */
#include "report/panels/panel.h"
#include "report/panels/stages.h"

#include <stdio.h>
#include <string.h>

/* ---- text --------------------------------------------------------------- */

static void number(struct sb_buf *out, int width, double value, int decimals)
{
	if (isnan(value))
		sb_buf_printf(out, " %*s", width, "n/a");
	else if (value > 0 && decimals == 1 && value < 0.0995) /* small, not nothing */
		sb_buf_printf(out, " %*.*f", width, value < 0.00995 ? 4 : 3, value);
	else
		sb_buf_printf(out, " %*.*f", width, decimals, value);
}

static void duration(struct sb_buf *out, double seconds)
{
	char text[32];

	sb_text_seconds(text, sizeof text, seconds);
	sb_buf_printf(out, " %10s", text);
}

static const char *scope_words(const char *scope)
{
	return strcmp(scope, "denoise") == 0       ? "denoise"
	       : strcmp(scope, "denoise_vae") == 0 ? "denoise + VAE"
						   : "end to end";
}

static bool has_block_rates(const struct sb_diffusion_panel *d)
{
	for (size_t i = 0; i < d->rate_count; i++) {
		if (d->rates[i].bps_wall > 0 || d->rates[i].bps_compute > 0)
			return true;
	}
	return false;
}

static void rate_heading(struct sb_buf *out, const char *time, bool blocks)
{
	sb_buf_printf(out, blocks ? " %10s %9s %9s" : " %10s %12s", time, "frames/s", "blocks/s");
}

static void rate_cells(struct sb_buf *out, double seconds, double fps, double bps, bool blocks)
{
	duration(out, seconds);
	number(out, blocks ? 9 : 12, fps, 2);
	if (blocks)
		number(out, 9, bps, 2);
}

static void rates_text(const struct sb_diffusion_panel *d, struct sb_buf *out)
{
	bool blocks = has_block_rates(d);
	char moved[32];

	if (d->frames < 0 && d->blocks < 0)
		return;

	sb_buf_printf(out, "  %-14s", "Throughput");
	rate_heading(out, "wall", blocks);
	rate_heading(out, "compute", blocks);
	sb_buf_putc(out, '\n');
	for (size_t i = 0; i < d->rate_count; i++) {
		const struct sb_rate *r = &d->rates[i];

		sb_buf_printf(out, "  %-14s", scope_words(r->scope));
		rate_cells(out, r->wall_s, r->fps_wall, r->bps_wall, blocks);
		rate_cells(out, r->compute_s, r->fps_compute, r->bps_compute, blocks);
		sb_buf_putc(out, '\n');
	}
	if (d->moving_s > 0) {
		sb_text_seconds(moved, sizeof moved, d->moving_s);
		sb_buf_printf(out, "  weights moved during %s of the end to end compute time\n", moved);
	}
	if (d->frames >= 0)
		sb_buf_printf(out, "  %lld frames (%s)", (long long)d->frames,
			sb_frames_source_name(d->frames_source));
	if (d->latent_frames >= 0)
		sb_buf_printf(out, ", %lld latent frames", (long long)d->latent_frames);
	if (d->frames >= 0 && d->unrated_count)
		sb_buf_printf(out, "; without the time of %lld unfinished or failed generation%s",
			(long long)d->unrated_count, d->unrated_count == 1 ? "" : "s");
	if (d->frames >= 0)
		sb_buf_putc(out, '\n');
}

static void stats_text(struct sb_buf *out, const char *words, const struct sb_stats *s)
{
	if (!s->count)
		return;
	sb_buf_printf(out, "  %-14s %7lld", words, (long long)s->count);
	number(out, 9, s->mean * 1e3, 1);
	number(out, 8, s->std * 1e3, 1);
	number(out, 8, s->min * 1e3, 1);
	number(out, 8, s->p50 * 1e3, 1);
	number(out, 8, s->p95 * 1e3, 1);
	number(out, 8, s->max * 1e3, 1);
	sb_buf_putc(out, '\n');
}

static void steps_text(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_diffusion_panel *d = &model->diffusion;
	const struct sb_block_panel *b = &model->blocks;
	char words[32], took[32], peers[32];

	if (!d->step.count && !b->present)
		return;
	sb_buf_printf(out, "  %-14s %7s %9s %8s %8s %8s %8s %8s\n", "Times in ms", "count", "mean", "std",
		"min", "p50", "p95", "max");
	stats_text(out, "step", &d->step);
	if (d->warm_step.count && d->warm_step.count != d->step.count)
		stats_text(out, "  warm", &d->warm_step);
	stats_text(out, "  cached", &d->cached_step);
	for (size_t i = 0; d->by_block_size_count > 1 && i < d->by_block_size_count; i++) {
		snprintf(words, sizeof words, "  of %lld frames", (long long)d->by_block_size[i].key);
		stats_text(out, words, &d->by_block_size[i].time);
	}
	if (b->present)
		stats_text(out, "block", &b->time);
	for (size_t i = 0; b->by_size_count > 1 && i < b->by_size_count; i++) {
		snprintf(words, sizeof words, "  of %lld frames", (long long)b->by_size[i].key);
		stats_text(out, words, &b->by_size[i].time);
	}
	if (!isnan(d->first_step_s) && d->warm_step.count) {
		sb_text_seconds(took, sizeof took, d->first_step_s);
		sb_text_seconds(peers, sizeof peers, d->warm_step.p50);
		sb_buf_printf(out, "  %s %s%s; warm steps %s\n",
			model->generations.count > 1 ? "first steps, median" : "first step", took,
			d->first_step_s > d->warm_step.p50 * 1.2 ? " (warm-up)" : "", peers);
	}
	if (d->steps_per_chain > 0) {
		sb_buf_printf(out, "  %lld steps, ", (long long)d->steps);
		if (d->steps_per_chain_min > 0)
			sb_buf_printf(out, "%lld to ", (long long)d->steps_per_chain_min);
		sb_buf_printf(out, "%lld per %s", (long long)d->steps_per_chain,
			d->blocks > 0                    ? "block"
			: model->summary.image_count > 0 ? "generation"
							 : "video");
	}
	if (d->steps_per_chain > 0 && !isnan(d->forwards_per_step))
		sb_buf_printf(out, ", %.1f model calls per step", d->forwards_per_step);
	if (d->steps_per_chain > 0)
		sb_buf_putc(out, '\n');
	if (d->cached_steps > 0)
		sb_buf_printf(out, "  %lld steps served by a cache (%.1f %%)\n", (long long)d->cached_steps,
			d->cached_ratio * 100);
	if (b->present && !isnan(b->first_block_s)) {
		sb_text_seconds(took, sizeof took, b->first_block_s);
		sb_buf_printf(out, "  first block after %s\n", took);
	}
	for (size_t i = 0; i < d->slow_step_count && i < 5; i++) {
		sb_text_seconds(took, sizeof took, d->slow_steps[i].duration_s);
		sb_text_seconds(peers, sizeof peers, d->slow_steps[i].peer_s);
		sb_buf_printf(out, "  slow: number %lld", (long long)d->slow_steps[i].ordinal + 1);
		if (d->slow_steps[i].step >= 0)
			sb_buf_printf(out, " (step_index %lld)", (long long)d->slow_steps[i].step);
		sb_buf_printf(out, " at %.2f s took %s, its peers %s\n", d->slow_steps[i].t_s, took, peers);
	}
	if (d->trace_edge_steps)
		sb_buf_printf(out, "  not judged as slow: %lld step%s in which strobe traced the GPU\n",
			(long long)d->trace_edge_steps, d->trace_edge_steps == 1 ? "" : "s");
}

static void split_text(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_diffusion_panel *d = &model->diffusion;
	char share[32];

	sb_buf_printf(out, "  %-14s %10s %9s\n", model->generations.whole_run ? "Run" : "Generations", "time",
		"share");
	for (size_t i = 0; i < d->split_count; i++) {
		sb_buf_printf(out, "  %-14s", d->split[i].words);
		duration(out, d->split[i].self_s);
		sb_text_share(share, sizeof share, d->split[i].wall_ratio, " ");
		sb_buf_printf(out, " %9s\n", share);
	}
	if (d->split_count && sb_stages_moved(&model->stages, model->summary.generation_s))
		sb_buf_puts(out,
			"  (time: as the GPU went through the stages; the stage tree has the CPU's times)\n");
	for (size_t i = 0; i < d->offload_count && i < 8; i++) {
		const struct sb_offload *o = &d->offloads[i];

		sb_buf_puts(out, "  ");
		sb_text_name(out, o->name, 40);
		sb_buf_printf(out, ": %.2f s in %lld call%s", o->total_s, (long long)o->count,
			o->count == 1 ? "" : "s");
		if (!isnan(o->bytes))
			sb_buf_printf(out, ", %.1f GB at %.2f GB/s", o->bytes / 1e9, o->gb_per_s);
		sb_buf_putc(out, '\n');
	}
}

static void video_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_diffusion_panel *d = &model->diffusion;

	if (!d->present && !d->offload_count)
		return;
	sb_text_heading(out, options, "Video");
	rates_text(d, out);
	split_text(model, out);
	steps_text(model, out);
	if (d->tiles > 0)
		sb_buf_printf(out, "  %lld VAE tiles\n", (long long)d->tiles);
}

const struct sb_panel sb_panel_video = {
	.name = "video",
	.text = video_text,
};
