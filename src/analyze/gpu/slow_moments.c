/* Slow moments that a watch caught (--gpu-trace=slow:1.5): what each did longer than a normal one. */
#include "analyze/gpu/kernels.h"
#include "analyze/gpu/paths.h"
#include "analyze/gpu/slow_counters.h"
#include "analyze/gpu/slow_keys.h"
#include "analyze/gpu/slow_samples.h"
#include "analyze/gpu/slow_words.h"
#include "analyze/touched_devices.h"
#include "run/gpu_traces.h"

#include "base/error.h"
#include "stats/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MOST 5u /* of each kind */
#define PART_LEAST 0.01 /* of the slow one */
#define IDLE_LEAST_NS 1000 /* shorter is the rounding of ticks, or from one kernel to the next */
#define EDGE_NS 1000000 /* a zone's begin is before its role is known, its end after the watch hears of it */

enum { KERNEL, COPY, STAGE, GARBAGE, KINDS }; /* functions are in `samples` */
static const char *const kind_names[KINDS] = { "kernel", "copy", "stage", "garbage" };

/* How surely a zone is what the moment is about: its thread explains it. */
enum certainty { NONE, SOME_STEP, SAME_ROLE, THE_ONE };

struct side { /* the slow one, or the normal one */
	int64_t begin_ns, end_ns; /* 0, 0: there is none */
	bool traced;
	struct sb_vec tallies[KINDS]; /* struct sb_gpu_tally by name, path */
	struct sb_slow_thread thread; /* that ran it */
	enum certainty certain; /* that it did */
	int64_t overlap_ns; /* of the zone that says so */
	struct sb_union busy;
	int64_t work_ns, first_ns, last_ns;
	struct sb_slow_counters counters; /* of the samples inside */
};

struct caught {
	struct sb_slow_said said;
	int64_t step; /* the pipeline's own number of the slow one; -1: none */
	int64_t step_off_ns; /* how far from the moment's begin that step began */
	int64_t first_step, last_step; /* of a row */
	uint32_t row_track; /* that the first is on */
	struct side sides[2];
};

struct moments {
	struct sb_run *run;
	struct sb_vec all; /* struct caught */
	struct sb_slow_samples samples;
	struct sb_device_numbers numbers;
	int64_t *row_ns; /* by schema: when its row before was */
	bool no_memory;
};

/* ---- which there were ---- */

static bool is_traced(const struct sb_vec *traces, uint32_t process, const struct side *s)
{
	const struct sb_gpu_trace *all = traces->items;

	for (size_t i = 0; i < traces->count; i++)
		if (all[i].process == process && all[i].begin_ns <= s->begin_ns && all[i].end_ns >= s->end_ns)
			return s->end_ns > s->begin_ns;
	return false;
}

static int find_moments(struct moments *m)
{
	struct sb_vec traces = { 0 }, said = { 0 };
	int err = sb_gpu_traces_find(m->run, &traces);

	if (!err)
		err = sb_slow_keys_read(m->run, &said);
	for (size_t i = 0; !err && i < said.count; i++) {
		const struct sb_slow_said *one = (const struct sb_slow_said *)said.items + i;
		struct caught *c = sb_vec_push(&m->all, sizeof *c);

		if (!c) {
			err = STROBE_ENOMEM;
			break;
		}
		*c = (struct caught){ .said = *one, .step = -1, .first_step = -1, .last_step = -1 };
		c->sides[0] = (struct side){ .begin_ns = one->slow_ns[0], .end_ns = one->slow_ns[1] };
		c->sides[1] = (struct side){ .begin_ns = one->normal_ns[0], .end_ns = one->normal_ns[1] };
		for (uint32_t s = 0; s < 2; s++) {
			c->sides[s].traced = is_traced(&traces, one->process, &c->sides[s]);
			c->sides[s].thread = (struct sb_slow_thread){ 2 * (uint32_t)i + s, one->process,
				UINT32_MAX };
		}
	}
	sb_vec_done(&traces);
	sb_vec_done(&said);
	return err;
}

/* ---- what happened in them ---- */

static struct sb_gpu_tally *tally_at(struct moments *m, struct sb_vec *v, uint32_t id)
{
	while (v->count <= id)
		if (!sb_vec_push(v, sizeof(struct sb_gpu_tally))) {
			m->no_memory = true;
			return NULL;
		}
	return (struct sb_gpu_tally *)v->items + id;
}

static void count_in(struct moments *m, struct side *s, int kind, uint32_t id, int64_t ns)
{
	struct sb_gpu_tally *t = tally_at(m, &s->tallies[kind], id);

	if (t)
		sb_gpu_tally_count(t, ns, 0);
}

static void take_work(struct moments *m, struct side *s, const struct sb_event *e)
{
	int64_t end_ns = e->t_ns + e->gpu.duration_ns;

	count_in(m, s, e->gpu.kind == SB_GPU_KERNEL ? KERNEL : COPY, e->name, e->gpu.duration_ns);
	if (!sb_union_add(&s->busy, e->t_ns, end_ns))
		m->no_memory = true;
	if (!s->work_ns || e->t_ns < s->first_ns)
		s->first_ns = e->t_ns;
	if (!s->work_ns || end_ns > s->last_ns)
		s->last_ns = end_ns;
	s->work_ns += e->gpu.duration_ns;
}

static bool is_in(const struct side *s, int64_t t_ns)
{
	return s->end_ns > s->begin_ns && t_ns >= s->begin_ns && t_ns <= s->end_ns;
}

/* All threads of Python wait for it, whichever began it. */
static void take_collection(struct moments *m, struct side *s, const struct sb_event *e)
{
	double duration_s = sb_attr_number(e->attrs, e->attr_count, "duration_s");

	if (is_in(s, e->t_ns) && duration_s >= 0 && duration_s < 1e6 &&
		!strcmp(m->run->names[e->name].text, "garbage collection"))
		count_in(m, s, GARBAGE, e->name, (int64_t)(duration_s * 1e9));
}

static void take_event_in(struct moments *m, struct side *s, const struct sb_event *e)
{
	if (e->kind == SB_EVENT_EVENT)
		take_collection(m, s, e);
	else if (e->kind == SB_EVENT_STACK && is_in(s, e->t_ns))
		sb_slow_samples_take(&m->samples, s->thread.side, s->begin_ns, e);
	if (e->kind == SB_EVENT_GPU && s->traced && e->gpu.kind >= SB_GPU_KERNEL &&
		e->gpu.kind <= SB_GPU_MEMSET && e->gpu.duration_ns > 0 &&
		is_in(s, e->gpu.launch_ns != INT64_MIN ? e->gpu.launch_ns : e->t_ns))
		take_work(m, s, e);
}

static void take_row_in(struct moments *m, struct side *s, const struct sb_event *e, int64_t from_ns)
{
	int device = sb_device_number(&m->numbers, e->process, e->sample.schema->device);

	if (is_in(s, from_ns + (e->t_ns - from_ns) / 2) &&
		!sb_slow_counters_take(&s->counters, device, e, (double)(e->t_ns - from_ns) / 1e9))
		m->no_memory = true;
}

/* A row is of the time since the row before it. */
static void take_row(struct moments *m, const struct sb_event *e)
{
	int64_t *row_ns = &m->row_ns[e->sample.schema - m->run->schemas], from_ns = *row_ns;
	struct caught *all = m->all.items;

	if (e->t_ns > from_ns)
		*row_ns = e->t_ns;
	for (size_t i = 0; from_ns > INT64_MIN && e->t_ns > from_ns && i < m->all.count; i++)
		for (int s = 0; s < 2; s++)
			if (all[i].said.process == e->process)
				take_row_in(m, &all[i].sides[s], e, from_ns);
}

static void take_event(void *self, const struct sb_event *e)
{
	struct moments *m = self;
	struct caught *all = m->all.items;

	if (e->kind == SB_EVENT_SAMPLE) {
		if (!strcmp(e->sample.schema->source, "gpu_pm"))
			take_row(m, e);
		return;
	}
	if (e->kind == SB_EVENT_CODE_FILE) {
		sb_slow_samples_file(&m->samples, e);
		return;
	}
	for (size_t i = 0; i < m->all.count; i++)
		for (int s = 0; s < 2; s++)
			if (all[i].said.process == e->process)
				take_event_in(m, &all[i].sides[s], e);
}

static enum certainty certainty_of(const struct caught *c, const struct side *s, const struct sb_zone *z)
{
	bool step = z->role == STROBE_ROLE_STEP, generation = z->role == STROBE_ROLE_GENERATION;

	if (!step && !generation)
		return NONE;
	if (strcmp(c->said.what, step ? "step" : "generation") != 0)
		return SOME_STEP;
	return llabs(z->begin_ns - s->begin_ns) <= EDGE_NS ? THE_ONE : SAME_ROLE;
}

/* Generations may run beside each other: the surest zone tells the thread, of several the one that covers most. */
static void find_thread(struct moments *m, const struct caught *c, struct side *s, const struct sb_zone *z)
{
	int64_t begin_ns = z->begin_ns > s->begin_ns ? z->begin_ns : s->begin_ns;
	int64_t overlap_ns = (z->end_ns < s->end_ns ? z->end_ns : s->end_ns) - begin_ns;
	enum certainty certain = overlap_ns > 0 ? certainty_of(c, s, z) : NONE;

	if (certain == NONE || certain < s->certain || (certain == s->certain && overlap_ns <= s->overlap_ns))
		return;
	s->certain = certain;
	s->overlap_ns = overlap_ns;
	s->thread.track = z->track;
	s->counters.named = sb_device_number_bits(&m->numbers, z->process, z->gpu_devices);
}

static int64_t step_of(const struct sb_zone *z)
{
	double step = z->role == STROBE_ROLE_STEP ? sb_attr_number(z->attrs, z->attr_count, "step") : NAN;

	return step >= 0 && step < 1e15 ? (int64_t)step : -1;
}

/* Steps run beside each other, too: the one that began with the moment is meant. */
static void take_step(struct caught *c, const struct sb_zone *z, int64_t step)
{
	int64_t off_ns = llabs(z->begin_ns - c->sides[0].begin_ns);

	if (step < 0 || !strcmp(c->said.what, "generation") || (c->step >= 0 && off_ns > c->step_off_ns))
		return;
	c->step = step;
	c->step_off_ns = off_ns;
}

/* Zones come thread by thread, each in time order. */
static void take_step_of_row(struct caught *c, const struct sb_zone *z)
{
	int64_t step = c->said.row.count > 1 && !strcmp(c->said.what, "step") ? step_of(z) : -1;

	if (step < 0)
		return;
	if (llabs(z->begin_ns - c->said.row.ns[0]) <= EDGE_NS) {
		c->first_step = c->last_step = step;
		c->row_track = z->track;
	} else if (c->first_step >= 0 && z->track == c->row_track && z->begin_ns > c->said.row.ns[0] &&
		   z->begin_ns < c->said.row.ns[1] - EDGE_NS) {
		c->last_step = step;
	}
}

static void take_zone_in(struct moments *m, struct caught *c, int side, const struct sb_zone *z)
{
	struct side *s = &c->sides[side];

	find_thread(m, c, s, z);
	if (!side && llabs(z->begin_ns - s->begin_ns) <= EDGE_NS)
		take_step(c, z, step_of(z)); /* also of one that went on after it was asked for */
	if (s->end_ns <= s->begin_ns || z->end_ns <= s->begin_ns || z->begin_ns >= s->end_ns ||
		z->begin_ns < s->begin_ns - EDGE_NS || z->end_ns > s->end_ns + EDGE_NS)
		return;
	count_in(m, s, STAGE, z->path, z->end_ns - z->begin_ns - z->child_ns);
	if (!side)
		take_step(c, z, step_of(z));
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct moments *m = self;
	struct caught *all = m->all.items;

	for (size_t i = 0; i < m->all.count; i++) {
		if (all[i].said.process != z->process)
			continue;
		take_step_of_row(&all[i], z);
		for (int s = 0; s < 2; s++)
			take_zone_in(m, &all[i], s, z);
	}
}

/* ---- beside each other ---- */

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

static int by_more(const void *a, const void *b)
{
	const struct sb_slow_part *x = a, *y = b;

	if (x->more_s != y->more_s)
		return x->more_s < y->more_s ? 1 : -1;
	return strcmp(x->name, y->name);
}

static struct sb_gpu_tally tally_of(const struct side *s, int kind, size_t id)
{
	const struct sb_vec *v = &s->tallies[kind];

	return id < v->count ? ((const struct sb_gpu_tally *)v->items)[id] : (struct sb_gpu_tally){ 0 };
}

static const char *name_of(struct moments *m, struct sb_model *model, int kind, uint32_t id)
{
	return kind == STAGE ? sb_gpu_path_name(m->run, model, id)
			     : sb_model_text(model, m->run->names[id].text);
}

static void add_parts(struct moments *m, struct sb_model *model, const struct caught *c, int kind,
	struct sb_slow_moment *out)
{
	size_t count = c->sides[0].tallies[kind].count, n = 0;
	struct sb_slow_part *rows = calloc(count + 1, sizeof *rows);

	for (size_t i = 0; rows && i < count; i++) {
		struct sb_gpu_tally slow = tally_of(&c->sides[0], kind, i);
		struct sb_gpu_tally normal = tally_of(&c->sides[1], kind, i);
		double more_s = seconds(slow.total_ns - normal.total_ns);

		if (!slow.count || more_s <= 0 || more_s < out->duration_s * PART_LEAST)
			continue;
		rows[n++] = (struct sb_slow_part){ .kind = kind_names[kind],
			.name = name_of(m, model, kind, (uint32_t)i),
			.count = (int64_t)slow.count,
			.normal_count = (int64_t)normal.count,
			.total_s = seconds(slow.total_ns),
			.normal_s = seconds(normal.total_ns),
			.more_s = more_s };
	}
	if (rows && n)
		qsort(rows, n, sizeof *rows, by_more);
	for (size_t i = 0; rows && i < n && i < PARTS_MOST; i++)
		out->parts[out->part_count++] = rows[i];
	m->no_memory = m->no_memory || !rows;
	free(rows);
}

static void fill_work(struct side *s, double *out_work_s, double *out_idle_s)
{
	int64_t idle_ns = s->work_ns ? s->last_ns - s->first_ns - sb_union_ns(&s->busy) : 0;

	*out_work_s = s->traced ? seconds(s->work_ns) : NAN;
	*out_idle_s = !s->traced ? NAN : idle_ns < IDLE_LEAST_NS ? 0 : seconds(idle_ns);
}

static void fill_row(struct sb_model *model, const struct caught *c, struct sb_slow_moment *out)
{
	out->row = (struct sb_slow_row){ .count = c->said.row.count,
		.first_step = c->first_step,
		.last_step = c->last_step,
		.t_s = seconds(c->said.row.ns[0]),
		.duration_s = seconds(c->said.row.ns[1] - c->said.row.ns[0]),
		.slowest_ratio = c->said.row.slowest_ratio };
	if (out->row.count > 1)
		out->row.words = sb_slow_row_words(model, out->what, &out->row);
}

static void fill_moment(
	struct moments *m, struct sb_model *model, struct caught *c, struct sb_slow_moment *out)
{
	struct side *slow = &c->sides[0], *normal = &c->sides[1];

	out->what = sb_model_text(model, c->said.what);
	out->judged_by = strcmp(c->said.by, "-") ? sb_model_text(model, c->said.by) : NULL;
	out->why = *c->said.why ? sb_model_text(model, c->said.why) : NULL;
	out->step = c->step;
	out->t_s = seconds(slow->begin_ns);
	out->duration_s = seconds(slow->end_ns - slow->begin_ns);
	out->normal_t_s = normal->end_ns > normal->begin_ns ? seconds(normal->begin_ns) : NAN;
	out->normal_s = normal->end_ns > normal->begin_ns ? seconds(normal->end_ns - normal->begin_ns) : NAN;
	out->peer_s = c->said.median_ns > 0 ? seconds(c->said.median_ns) : NAN;
	fill_row(model, c, out);
	fill_work(slow, &out->work_s, &out->idle_s);
	fill_work(normal, &out->normal_work_s, &out->normal_idle_s);
	sb_slow_counters_fill(model, &slow->counters, &normal->counters, out);
	out->parts = sb_model_alloc(model, (KINDS + 1) * PARTS_MOST * sizeof *out->parts);
	for (int kind = 0; out->parts && kind < KINDS; kind++)
		if ((kind != KERNEL && kind != COPY) || normal->traced)
			add_parts(m, model, c, kind, out);
	if (out->parts)
		out->part_count += sb_slow_samples_parts(&m->samples, &slow->thread, &normal->thread,
			out->duration_s * PART_LEAST, out->parts + out->part_count, PARTS_MOST);
	out->words = sb_slow_words(model, out);
}

/* ---- the analysis ---- */

static void done(void *self)
{
	struct moments *m = self;

	for (size_t i = 0; m && i < m->all.count; i++)
		for (int s = 0; s < 2; s++) {
			struct side *side = &((struct caught *)m->all.items)[i].sides[s];

			for (int kind = 0; kind < KINDS; kind++)
				sb_vec_done(&side->tallies[kind]);
			sb_union_done(&side->busy);
			sb_slow_counters_done(&side->counters);
		}
	if (m) {
		sb_vec_done(&m->all);
		sb_slow_samples_done(&m->samples);
		free(m->row_ns);
	}
	free(m);
}

static int make_rows(struct moments *m)
{
	m->row_ns = calloc(m->run->schema_count + 1, sizeof *m->row_ns);
	for (uint32_t i = 0; m->row_ns && i < m->run->schema_count; i++)
		m->row_ns[i] = INT64_MIN;
	return m->row_ns ? 0 : STROBE_ENOMEM;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct moments *m = calloc(1, sizeof *m);
	int err = m ? 0 : STROBE_ENOMEM;

	if (m) {
		m->run = m->samples.run = run;
		m->numbers.run = run;
		m->samples.model = model;
		err = find_moments(m);
	}
	if (!err && m->all.count)
		err = make_rows(m);
	if (err || !m->all.count) {
		done(m);
		return err ? sb_fail(err, "no memory for the slow moments of '%s'", run->path) : 0;
	}
	*v = (struct sb_visitor){ .self = m,
		.kinds = 1u << SB_EVENT_GPU | 1u << SB_EVENT_STACK | 1u << SB_EVENT_SAMPLE |
			 1u << SB_EVENT_CODE_FILE | 1u << SB_EVENT_EVENT,
		.roles = SB_EVERY_ZONE,
		.gpu_spans = true,
		.event = take_event,
		.zone = take_zone };
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct moments *m = self;

	if (!m)
		return 0;
	model->slow_moments.all = sb_model_alloc(model, m->all.count * sizeof *model->slow_moments.all);
	for (size_t i = 0; model->slow_moments.all && i < m->all.count; i++)
		fill_moment(m, model, (struct caught *)m->all.items + i,
			&model->slow_moments.all[model->slow_moments.count++]);
	return m->no_memory || m->samples.no_memory
		       ? sb_fail(STROBE_ENOMEM, "no memory for the slow moments of '%s'", run->path)
		       : 0;
}

const struct sb_analysis sb_analysis_slow_moments = {
	.name = "slow_moments", .begin = begin, .finish = finish, .done = done
};
