/* streaming_analysis and cache_analysis. */
#include "report/sections/section.h"
#include "report/sections/series_json.h"

#include <stdio.h>

#define EVENTS_SHOWN 12

/* ---- streaming ---------------------------------------------------------- */

static void streaming_json(const struct sb_model *model, struct sb_json *j)
{
	const struct sb_streaming_section *s = &model->streaming;

	if (!s->present)
		return;
	sb_json_object_begin(j, "streaming_analysis");
	sb_json_int(j, "batch_count", s->batches);
	sb_json_opt_count(j, "frames", s->frames);
	sb_json_opt_count(j, "dropped_count", s->dropped_frames);
	sb_json_opt(j, "dropped_ratio", s->dropped_ratio);
	sb_json_opt(j, "fps", s->fps);
	sb_json_opt(j, "batches_per_s", s->bps);
	if (s->encode_ms.count)
		sb_json_stats(j, "encode", &s->encode_ms, "_ms");
	if (s->network_ms.count)
		sb_json_stats(j, "network", &s->network_ms, "_ms");
	if (s->buffer_ratio.count)
		sb_json_stats(j, "buffer", &s->buffer_ratio, "_ratio");
	sb_json_series(j, "series", &s->series);
	sb_json_object_end(j);
}

static void stats_text(
	struct sb_buf *out, const char *words, const struct sb_stats *s, double scale, const char *unit)
{
	if (s->count)
		sb_buf_printf(out, "  %-10s mean %8.2f  p95 %8.2f  max %8.2f %s\n", words, s->mean * scale,
			s->p95 * scale, s->max * scale, unit);
}

static void streaming_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_streaming_section *s = &model->streaming;

	if (!s->present)
		return;
	sb_text_heading(out, options, "Streaming");
	if (s->batches)
		sb_buf_printf(out, "  %lld frames in %lld batch%s", (long long)s->frames,
			(long long)s->batches, s->batches == 1 ? "" : "es");
	if (!isnan(s->fps))
		sb_buf_printf(out, ", %.2f frames/s, %.2f batches/s", s->fps, s->bps);
	if (s->batches)
		sb_buf_putc(out, '\n');
	if (s->dropped_frames >= 0)
		sb_buf_printf(out, "  %lld frames dropped (%.1f %%)\n", (long long)s->dropped_frames,
			s->dropped_ratio * 100);
	stats_text(out, "encode", &s->encode_ms, 1, "ms");
	stats_text(out, "network", &s->network_ms, 1, "ms");
	stats_text(out, "buffer", &s->buffer_ratio, 100, "%");
}

const struct sb_section sb_section_streaming = {
	.name = "streaming",
	.json = streaming_json,
	.text = streaming_text,
};

/* ---- caches ------------------------------------------------------------- */

static const char *kind_name(int kind)
{
	return kind == STROBE_CACHE_HIT ? "hit" : kind == STROBE_CACHE_MISS ? "miss" : "eviction";
}

static void cache_entry_json(const struct sb_cache_entry *c, struct sb_json *j)
{
	sb_json_object_begin(j, NULL);
	sb_json_string(j, "name", c->cache);
	sb_json_int(j, "hit_count", c->hits);
	sb_json_int(j, "miss_count", c->misses);
	sb_json_int(j, "eviction_count", c->evictions);
	sb_json_opt(j, "hit_ratio", c->hit_ratio);
	sb_json_opt(j, "size_bytes", c->size_bytes);
	sb_json_opt(j, "size_peak_bytes", c->size_peak_bytes);
	sb_json_opt(j, "threshold_value", c->threshold);
	sb_json_opt(j, "score_mean_value", c->score_mean);
	if (c->scored_misses) {
		sb_json_int(j, "scored_miss_count", c->scored_misses);
		sb_json_int(j, "near_miss_count", c->near_misses);
		sb_json_opt(j, "miss_score_median_value", c->miss_score_median);
	}
	sb_json_array_begin(j, "timeline");
	for (size_t i = 0; i < c->event_count; i++) {
		const struct sb_cache_event_row *e = &c->events[i];

		sb_json_object_begin(j, NULL);
		sb_json_fixed(j, "t_s", e->t_s, 6);
		sb_json_string(j, "kind", kind_name(e->kind));
		sb_json_int(j, "count", e->count);
		sb_json_opt_count(j, "chunk_index", e->chunk);
		sb_json_opt(j, "frame_index", e->frame);
		sb_json_opt(j, "score_value", e->score);
		sb_json_opt(j, "threshold_value", e->threshold);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	sb_json_object_end(j);
}

static void cache_json(const struct sb_model *model, struct sb_json *j)
{
	if (!model->caches.present)
		return;
	sb_json_object_begin(j, "cache_analysis");
	sb_json_array_begin(j, "caches");
	for (size_t i = 0; i < model->caches.cache_count; i++)
		cache_entry_json(&model->caches.caches[i], j);
	sb_json_array_end(j);
	sb_json_object_end(j);
}

static void events_text(const struct sb_cache_entry *c, struct sb_buf *out)
{
	if (!c->event_count)
		return;
	sb_buf_printf(out, "    %9s %7s %9s  %-8s %10s %10s\n", "at s", "chunk", "frame", "event", "score",
		"threshold");
	for (size_t i = 0; i < c->event_count && i < EVENTS_SHOWN; i++) {
		const struct sb_cache_event_row *e = &c->events[i];
		char chunk[24] = "", frame[24] = "", score[24] = "", threshold[24] = "";

		if (e->chunk >= 0)
			snprintf(chunk, sizeof chunk, "%lld", (long long)e->chunk);
		if (!isnan(e->frame))
			snprintf(frame, sizeof frame, "%.1f", e->frame);
		if (!isnan(e->score))
			snprintf(score, sizeof score, "%.4g", e->score);
		if (!isnan(e->threshold))
			snprintf(threshold, sizeof threshold, "%.4g", e->threshold);
		sb_buf_printf(out, "    %9.3f %7s %9s  %-8s %10s %10s\n", e->t_s, chunk, frame,
			kind_name(e->kind), score, threshold);
	}
	if (c->event_count > EVENTS_SHOWN)
		sb_buf_printf(
			out, "    … and %zu more in profiling_report.json\n", c->event_count - EVENTS_SHOWN);
}

static void cache_text(
	const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	if (!model->caches.present)
		return;
	sb_text_heading(out, options, "Caches");
	for (size_t i = 0; i < model->caches.cache_count; i++) {
		const struct sb_cache_entry *c = &model->caches.caches[i];

		sb_buf_puts(out, "  ");
		sb_text_name(out, c->cache, 30);
		sb_buf_printf(out, ": %lld hit%s, %lld miss%s, %lld eviction%s", (long long)c->hits,
			c->hits == 1 ? "" : "s", (long long)c->misses, c->misses == 1 ? "" : "es",
			(long long)c->evictions, c->evictions == 1 ? "" : "s");
		if (!isnan(c->hit_ratio))
			sb_buf_printf(out, ", hit rate %.1f %%", c->hit_ratio * 100);
		sb_buf_putc(out, '\n');
		if (!isnan(c->size_peak_bytes))
			sb_buf_printf(out, "    size %.1f MB, %.1f at the most\n", c->size_bytes / 1048576,
				c->size_peak_bytes / 1048576);
		events_text(c, out);
	}
}

const struct sb_section sb_section_cache = {
	.name = "cache",
	.json = cache_json,
	.text = cache_text,
};
