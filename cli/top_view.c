/* The lines of `strobe top`: the head, steps and frames, the foot. */
#include "top_lines.h"

#include "report/panels/panel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_head(struct top_view *v)
{
	const struct sb_session_panel *s = &v->whole->session;
	struct top_facts facts = { .count = 0 };
	char time[32];
	size_t fit;

	sb_text_seconds(time, sizeof time, s->duration_s);
	top_fact(&facts, "strobe top: %s", s->name ? s->name : "run");
	if (v->now)
		top_fact(&facts, "LIVE");
	else if (s->exit_signal > 0)
		top_fact(&facts, "ended by signal %d", (int)s->exit_signal);
	else if (s->exit_code >= 0)
		top_fact(&facts, "ended, exit %d", (int)s->exit_code);
	else
		top_fact(&facts, "%s", s->state ? s->state : "ended");
	top_fact(&facts, "%s", time);
	top_fact(&facts, "pid %lld%s%.40s", (long long)s->pid, s->host ? " on " : "", s->host ? s->host : "");
	fit = top_facts_fitting(&facts, (size_t)v->columns, 3);
	facts.count = fit ? fit : 1;
	top_facts_lines(v, TOP_TITLE, &facts);
}

/* Steps, frames and blocks: now, and over the whole run. */
static void put_video(struct top_view *v)
{
	const struct sb_diffusion_panel *whole = &v->whole->diffusion;
	const struct sb_summary_panel *sum = &v->whole->summary;
	const struct sb_model *now = v->now;
	struct top_facts facts = { .count = 0 };
	char time[32];

	if (now && now->diffusion.steps > 0) {
		sb_text_seconds(time, sizeof time, now->diffusion.step.mean);
		top_fact(&facts, "now: %.2f steps/s (%s each)", (double)now->diffusion.steps / v->window_s,
			time);
	}
	if (now && now->summary.frames > 0)
		top_fact(&facts, "%.2f FPS", (double)now->summary.frames / v->window_s);
	if (now && now->summary.blocks > 0)
		top_fact(&facts, "%.2f BPS", (double)now->summary.blocks / v->window_s);
	if (whole->steps > 0)
		top_fact(&facts, "%s%lld steps", now ? "run: " : "", (long long)whole->steps);
	if (sum->frames > 0)
		top_fact(&facts, "%lld frames", (long long)sum->frames);
	if (sum->blocks > 0)
		top_fact(&facts, "%lld blocks", (long long)sum->blocks);
	if (sum->fps_wall > 0)
		top_fact(&facts, "%.2f FPS end to end", sum->fps_wall);
	if (sum->bps_wall > 0)
		top_fact(&facts, "%.2f BPS", sum->bps_wall);
	if (sum->dropped_frames > 0)
		top_fact(&facts, "%lld frames dropped", (long long)sum->dropped_frames);
	top_facts_lines(v, TOP_PLAIN, &facts);
}

static void put_foot(struct top_view *v)
{
	const struct sb_recording_panel *r = &v->whole->recording;
	static const char *const sorts[] = { "tree", "self time", "rate" };
	struct top_facts facts = { .count = 0 };
	char bytes[32];

	sb_text_bytes(bytes, sizeof bytes, r->bytes);
	top_fact(&facts, "%lld events dropped, %lld zones, %s", (long long)r->dropped_count,
		(long long)r->zones, bytes);
	if (v->with_keys) {
		top_fact(&facts, "q quit");
		top_fact(&facts, "s sort (%s)", sorts[v->sort]);
		if (v->shown < v->stage_count)
			top_fact(&facts, "arrows %zu-%zu of %zu", v->first + 1, v->first + v->shown,
				v->stage_count);
	}
	facts.count = top_facts_fitting(&facts, (size_t)v->columns, 2);
	top_line_begin(v, r->dropped_count > 0 ? TOP_WARN : TOP_DIM);
	for (size_t i = 0; i < facts.count; i++)
		sb_buf_printf(&v->text, "%s%s", i ? "  " : "", facts.text[i]);
	top_line_end(v);
}

void top_view_render(struct top_view *v)
{
	sb_buf_clear(&v->text);
	v->line_count = 0;
	put_head(v);
	put_video(v);
	top_meters(v);
	top_stages(v);
	put_foot(v);
}

void top_view_done(struct top_view *v)
{
	sb_buf_done(&v->text);
	free(v->lines);
	v->lines = NULL;
}
