/* streaming_analysis and cache_analysis. */
#include "report/panels/panel.h"

#include <stdio.h>

#define EVENTS_SHOWN 12

/* ---- streaming ---------------------------------------------------------- */

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
	const struct sb_streaming_panel *s = &model->streaming;

	if (!s->present)
		return;
	sb_text_heading(out, options, "Streaming");
	if (s->batches)
		sb_buf_printf(out, "  %lld frames in %lld batch%s", (long long)s->frames,
			(long long)s->batches, s->batches == 1 ? "" : "es");
	if (!isnan(s->fps))
		sb_buf_printf(out, ", %.2f frames/s, %.2f batches/s", s->fps, s->bps);
	else if (s->batches > 1)
		sb_buf_puts(out, ", handed in at once: no rate");
	if (s->batches)
		sb_buf_putc(out, '\n');
	if (s->dropped_frames >= 0 && isnan(s->dropped_ratio))
		sb_buf_printf(out, "  %lld frames dropped\n", (long long)s->dropped_frames);
	else if (s->dropped_frames >= 0)
		sb_buf_printf(out, "  %lld frames dropped (%.1f %%)\n", (long long)s->dropped_frames,
			s->dropped_ratio * 100);
	stats_text(out, "encode", &s->encode_ms, 1, "ms");
	stats_text(out, "network", &s->network_ms, 1, "ms");
	stats_text(out, "buffer", &s->buffer_ratio, 100, "%");
}

const struct sb_panel sb_panel_streaming = {
	.name = "streaming",
	.text = streaming_text,
};

/* ---- caches ------------------------------------------------------------- */

static const char *kind_name(int kind)
{
	return kind == STROBE_CACHE_HIT ? "hit" : kind == STROBE_CACHE_MISS ? "miss" : "eviction";
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
		sb_buf_printf(out, "    … and %zu more: strobe report RUN --format json\n",
			c->event_count - EVENTS_SHOWN);
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

const struct sb_panel sb_panel_cache = {
	.name = "cache",
	.text = cache_text,
};
