/* Streaming: batches as they left, frames dropped, encode and network time. */
#include "analyze/video/streaming.h"

#include "analyze/sampled.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define REPORTED_LEAST 0.5 /* of the time that the batches took: clocks and rounding may differ */
#define GAP_LEAST_S 1e-4 /* between batches that say nothing of their time: no stream sends 10 000 a second */

struct streaming {
	struct sb_run *run;
	struct sb_sampled rows;
	int64_t batches, batch_frames;
	int64_t frames, dropped; /* counters; -1: never */
	int64_t first_ns, last_ns, first_frames;
	double encode_s, network_s; /* of all batches but the first */
	int err;
};

static const char *const columns[] = { "frames_count", "encode_ms", "network_ms", "buffer_ratio" };

static void see_batch(struct streaming *s, const struct sb_event *e)
{
	double row[] = { (double)e->stream.frames, e->stream.encode_ms, e->stream.network_ms,
		e->stream.buffer_ratio };
	int err;

	if (e->t_ns < s->run->from_ns || e->t_ns > s->run->to_ns)
		return;
	if (!s->batches) {
		s->first_ns = e->t_ns;
		s->first_frames = e->stream.frames;
	} else {
		s->encode_s += e->stream.encode_ms > 0 ? e->stream.encode_ms / 1e3 : 0;
		s->network_s += e->stream.network_ms > 0 ? e->stream.network_ms / 1e3 : 0;
	}
	s->last_ns = e->t_ns;
	s->batches++;
	s->batch_frames += e->stream.frames;
	err = sb_sampled_add(&s->rows, (double)e->t_ns / 1e9, row);
	s->err = s->err ? s->err : err;
}

static void add_count(struct streaming *s, const char *name, int64_t delta)
{
	int64_t *sum = strcmp(name, "frames") == 0           ? &s->frames
		       : strcmp(name, "frames_dropped") == 0 ? &s->dropped
							     : NULL;

	if (sum)
		*sum = (*sum < 0 ? 0 : *sum) + delta;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct streaming *s = self;

	if (e->kind == SB_EVENT_STREAM)
		see_batch(s, e);
	else if (e->kind == SB_EVENT_COUNT)
		add_count(s, s->run->names[e->name].text, e->delta);
	else if (e->kind == SB_EVENT_DIGEST_SUM && !e->path && e->digest_sum.what == SB_SUM_COUNT)
		add_count(s, s->run->names[e->name].text, e->digest_sum.sum_int);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct streaming *s = calloc(1, sizeof *s);

	if (!s)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse streaming");
	s->run = run;
	s->frames = s->dropped = -1;
	v->self = s;
	v->kinds = 1u << SB_EVENT_STREAM | 1u << SB_EVENT_COUNT | 1u << SB_EVENT_DIGEST_SUM;
	v->event = see_event;
	return sb_sampled_init(&s->rows, columns, 4, sb_model_points(model, run));
}

static void take_stats(const struct sb_series *series, const char *name, struct sb_stats *out)
{
	const struct sb_series_column *c = sb_series_column_find(series, name);

	if (!c)
		return;
	*out = c->stats;
	out->mean = out->total / (double)out->count; /* per batch, not per second */
}

/* Frames that left, where they were counted or sent in batches; else those that were made hold
 * the dropped ones too. NaN: not known. */
static double dropped_ratio(const struct streaming *s, int64_t made)
{
	int64_t left = s->frames >= 0 ? s->frames : s->batches ? s->batch_frames : -1;

	if (s->dropped < 0)
		return s->batches ? 0 : NAN;
	if (left >= 0)
		return left + s->dropped > 0 ? (double)s->dropped / (double)(left + s->dropped) : NAN;
	return made > 0 ? fmin(1, (double)s->dropped / (double)made) : NAN;
}

/* Whether the batches were reported as they left. Some programs hand in all of them at the end: then they lie closer
 * together than encoding or sending took, which run side by side at best. */
static bool reported_as_they_left(const struct streaming *s, double span_s)
{
	double least_s = fmax(s->encode_s, s->network_s);

	if (least_s > 0)
		return span_s >= least_s * REPORTED_LEAST;
	return span_s >= (double)(s->batches - 1) * GAP_LEAST_S;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct streaming *s = self;
	struct sb_streaming_panel *panel = &model->streaming;
	double span_s = (double)(s->last_ns - s->first_ns) / 1e9;
	int err = s->err;

	panel->fps = panel->bps = panel->dropped_ratio = NAN;
	panel->frames = panel->dropped_frames = -1;
	if (err || (!s->batches && s->dropped < 0))
		return err;
	panel->present = true;
	panel->batches = s->batches;
	panel->dropped_frames = s->dropped;
	if (s->batches) {
		panel->frames = s->batch_frames;
		err = sb_sampled_store(&s->rows, model, &panel->series);
		take_stats(&panel->series, "encode_ms", &panel->encode_ms);
		take_stats(&panel->series, "network_ms", &panel->network_ms);
		take_stats(&panel->series, "buffer_ratio", &panel->buffer_ratio);
	}
	if (span_s > 0 &&
		reported_as_they_left(s,
			span_s)) { /* between the first and the last batch: the first one's frames were made before */
		panel->fps = (double)(s->batch_frames - s->first_frames) / span_s;
		panel->bps = (double)(s->batches - 1) / span_s;
	}
	panel->dropped_ratio = dropped_ratio(s, model->diffusion.frames);
	return err;
}

static void done(void *self)
{
	struct streaming *s = self;

	if (!s)
		return;
	sb_sampled_done(&s->rows);
	free(s);
}

const struct sb_analysis sb_analysis_streaming = {
	.name = "streaming",
	.begin = begin,
	.finish = finish,
	.done = done,
};
