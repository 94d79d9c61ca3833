/* diffusion_analysis and block_analysis: steps, blocks, frames per second. */
#include "report/sections/section.h"
#include "report/sections/series_json.h"

#include <stdio.h>
#include <string.h>

/* ---- JSON --------------------------------------------------------------- */

static void rates_json(const struct sb_diffusion_section *d, struct sb_json *j)
{
	sb_json_array_begin(j, "rates");
	for (size_t i = 0; i < d->rate_count; i++) {
		const struct sb_rate *r = &d->rates[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "scope", r->scope);
		sb_json_opt(j, "wall_s", r->wall_s);
		sb_json_opt(j, "compute_s", r->compute_s);
		sb_json_opt(j, "wall_fps", r->fps_wall);
		sb_json_opt(j, "compute_fps", r->fps_compute);
		sb_json_opt(j, "wall_bps", r->bps_wall);
		sb_json_opt(j, "compute_bps", r->bps_compute);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static const struct {
	const char *part, *words;
	size_t offset;
} split[] = {
	{ "denoise", "denoise", offsetof(struct sb_diffusion_section, denoise_s) },
	{ "vae_decode", "VAE decode", offsetof(struct sb_diffusion_section, vae_s) },
	{ "vae_encode", "VAE encode", offsetof(struct sb_diffusion_section, vae_encode_s) },
	{ "text_encode", "text encode", offsetof(struct sb_diffusion_section, text_encode_s) },
	{ "offload", "offload", offsetof(struct sb_diffusion_section, offload_s) },
	{ "other", "other stages", offsetof(struct sb_diffusion_section, other_s) },
	{ "unattributed", "unattributed", offsetof(struct sb_diffusion_section, unattributed_s) },
};

static double split_s(const struct sb_diffusion_section *d, size_t i)
{
	return *(const double *)((const char *)d + split[i].offset);
}

static void split_json(const struct sb_model *model, struct sb_json *j)
{
	sb_json_array_begin(j, "split");
	for (size_t i = 0; i < sizeof split / sizeof *split; i++) {
		double s = split_s(&model->diffusion, i);

		if (!(s > 0))
			continue;
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "part", split[i].part);
		sb_json_double(j, "self_s", s);
		sb_json_opt(j, "wall_ratio", s / model->summary.generation_s);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void groups_json(struct sb_json *j, const char *key, const struct sb_step_group *groups, size_t count,
	const char *counted)
{
	if (!count)
		return;
	sb_json_array_begin(j, key);
	for (size_t i = 0; i < count; i++) {
		const struct sb_stats *t = &groups[i].time;

		sb_json_object_begin(j, NULL);
		sb_json_int(j, "block_size_frames_count", groups[i].key);
		sb_json_int(j, counted, t->count);
		sb_json_double(j, "total_s", t->total);
		sb_json_double(j, "mean_s", t->mean);
		sb_json_opt(j, "std_s", t->std);
		sb_json_opt(j, "p50_s", t->p50);
		sb_json_opt(j, "p95_s", t->p95);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void slow_json(const struct sb_diffusion_section *d, struct sb_json *j)
{
	if (!d->slow_step_count)
		return;
	sb_json_int(j, "slow_step_count", d->slow_step_total);
	sb_json_opt(j, "slow_step_excess_s", d->slow_step_excess_s);
	sb_json_array_begin(j, "slow_steps");
	for (size_t i = 0; i < d->slow_step_count; i++) {
		const struct sb_slow_step *s = &d->slow_steps[i];

		sb_json_object_begin(j, NULL);
		sb_json_int(j, "step_index", s->step);
		sb_json_int(j, "iteration_index", s->ordinal);
		sb_json_opt_count(j, "block_index", s->block);
		sb_json_double(j, "t_s", s->t_s);
		sb_json_double(j, "duration_s", s->duration_s);
		sb_json_double(j, "peer_median_s", s->peer_s);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void offload_json(const struct sb_diffusion_section *d, struct sb_json *j)
{
	if (!d->offload_count)
		return;
	sb_json_array_begin(j, "offload");
	for (size_t i = 0; i < d->offload_count; i++) {
		const struct sb_offload *o = &d->offloads[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", o->name);
		sb_json_int(j, "count", o->count);
		sb_json_double(j, "total_s", o->total_s);
		sb_json_opt(j, "moved_bytes", o->bytes);
		sb_json_opt(j, "gb_per_s", o->gb_per_s);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static void steps_json(const struct sb_diffusion_section *d, struct sb_json *j)
{
	if (!d->step.count)
		return;
	sb_json_opt_count(j, "steps_per_chain_count", d->steps_per_chain);
	sb_json_opt(j, "steps_per_video_mean_count", d->steps_per_video);
	sb_json_opt(j, "steps_per_block_mean_count", d->steps_per_block);
	sb_json_opt(j, "forwards_per_step_mean_count", d->forwards_per_step);
	sb_json_opt(j, "first_step_s", d->first_step_s);
	sb_json_stats(j, "step", &d->step, "_s");
	if (d->warm_step.count)
		sb_json_stats(j, "warm_step", &d->warm_step, "_s");
	if (d->cached_steps > 0) {
		sb_json_object_begin(j, "cached");
		sb_json_int(j, "steps", d->cached_steps);
		sb_json_double(j, "step_ratio", d->cached_ratio);
		sb_json_stats(j, "step", &d->cached_step, "_s");
		sb_json_object_end(j);
	}
	groups_json(j, "by_block_size", d->by_block_size, d->by_block_size_count, "steps");
	if (d->trace_edge_steps)
		sb_json_int(j, "trace_edge_step_count", d->trace_edge_steps);
	slow_json(d, j);
	sb_json_series(j, "series", &d->series);
}

static void diffusion_json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_diffusion_section *d = &model->diffusion;

	if (!d->present && !d->offload_count)
		return;
	sb_json_object_begin(j, "diffusion_analysis");
	sb_json_opt(j, "fps", d->fps);
	sb_json_opt(j, "bps", d->bps);
	sb_json_opt_count(j, "frames", d->frames);
	if (d->frames >= 0)
		sb_json_string(j, "frames_source", sb_frames_source_name(d->frames_source));
	sb_json_opt_count(j, "latent_frames_count", d->latent_frames);
	sb_json_opt_count(j, "blocks", d->blocks);
	sb_json_opt_count(j, "steps", d->steps);
	sb_json_opt_count(j, "vae_tiles_count", d->tiles);
	rates_json(d, j);
	split_json(model, j);
	steps_json(d, j);
	offload_json(d, j);
	sb_json_object_end(j);
}

static void block_json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_block_section *b = &model->blocks;

	if (!b->present)
		return;
	sb_json_object_begin(j, "block_analysis");
	sb_json_opt(j, "fps", b->fps);
	sb_json_opt(j, "bps", b->bps);
	sb_json_opt_count(j, "frames", b->frames);
	sb_json_opt_count(j, "blocks", b->blocks);
	sb_json_opt_count(j, "steps", b->steps);
	sb_json_opt(j, "block_size_mean_frames_count", b->mean_frames);
	sb_json_opt(j, "first_block_latency_s", b->first_block_s);
	sb_json_opt(j, "first_block_s", b->first_block_time_s);
	sb_json_opt(j, "later_block_s", b->later_block_time_s);
	sb_json_stats(j, "block", &b->time, "_s");
	groups_json(j, "by_block_size", b->by_size, b->by_size_count, "blocks");
	sb_json_array_begin(j, "items");
	for (size_t i = 0; i < b->listed; i++) {
		sb_json_object_begin(j, NULL);
		sb_json_opt_count(j, "index", b->all[i].index);
		sb_json_opt_count(j, "frames", b->all[i].frames);
		sb_json_fixed(j, "t_s", b->all[i].t_s, 6);
		sb_json_fixed(j, "duration_s", b->all[i].duration_s, 6);
		sb_json_opt(j, "memory_bytes", b->all[i].memory_bytes);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	sb_json_object_end(j);
}

static void video_json(const struct sb_model *model, struct sb_json *j)
{
	diffusion_json(model, j);
	block_json(model, j);
}

/* ---- text --------------------------------------------------------------- */

static void number(struct sb_buf *out, int width, double value, int decimals)
{
	if (isnan(value))
		sb_buf_printf(out, " %*s", width, "n/a");
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

static void rates_text(const struct sb_diffusion_section *d, struct sb_buf *out)
{
	if (d->frames < 0 && d->blocks < 0)
		return;
	sb_buf_printf(out, "  %-14s %10s %12s %10s %12s\n", "Throughput", "wall", "frames/s", "compute",
		"frames/s");
	for (size_t i = 0; i < d->rate_count; i++) {
		const struct sb_rate *r = &d->rates[i];

		sb_buf_printf(out, "  %-14s", scope_words(r->scope));
		duration(out, r->wall_s);
		number(out, 12, r->fps_wall, 2);
		duration(out, r->compute_s);
		number(out, 12, r->fps_compute, 2);
		sb_buf_putc(out, '\n');
	}
	if (d->frames >= 0)
		sb_buf_printf(out, "  %lld frames (%s)", (long long)d->frames,
			sb_frames_source_name(d->frames_source));
	if (d->latent_frames >= 0)
		sb_buf_printf(out, ", %lld latent frames", (long long)d->latent_frames);
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
	const struct sb_diffusion_section *d = &model->diffusion;
	const struct sb_block_section *b = &model->blocks;
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
		sb_text_seconds(peers, sizeof peers, d->warm_step.mean);
		sb_buf_printf(out, "  first step %s%s; warm steps %s\n", took,
			d->first_step_s > d->warm_step.mean * 1.2 ? " (warm-up)" : "", peers);
	}
	if (d->steps_per_chain > 0)
		sb_buf_printf(out, "  %lld steps, %lld per %s", (long long)d->steps,
			(long long)d->steps_per_chain, d->blocks > 0 ? "block" : "video");
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
		sb_buf_printf(out,
			"  not judged as slow: %lld step%s in which strobe began or ended its GPU trace\n",
			(long long)d->trace_edge_steps, d->trace_edge_steps == 1 ? "" : "s");
}

static void split_text(const struct sb_model *model, struct sb_buf *out)
{
	const struct sb_diffusion_section *d = &model->diffusion;

	sb_buf_printf(out, "  %-14s %10s %9s\n", model->generations.whole_run ? "Run" : "Generations", "time",
		"share");
	for (size_t i = 0; i < sizeof split / sizeof *split; i++) {
		double s = split_s(d, i);

		if (!(s > 0))
			continue;
		sb_buf_printf(out, "  %-14s", split[i].words);
		duration(out, s);
		sb_buf_printf(out, " %7.1f %%\n", s / model->summary.generation_s * 100);
	}
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
	const struct sb_diffusion_section *d = &model->diffusion;

	if (!d->present && !d->offload_count)
		return;
	sb_text_heading(out, options, "Video");
	rates_text(d, out);
	split_text(model, out);
	steps_text(model, out);
	if (d->tiles > 0)
		sb_buf_printf(out, "  %lld VAE tiles\n", (long long)d->tiles);
}

const struct sb_section sb_section_video = {
	.name = "video",
	.json = video_json,
	.text = video_text,
};
