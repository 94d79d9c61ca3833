/* The lines of the program that time was spent at: sampled stacks by their innermost line that is neither torch's nor
 * the standard library's, with the stage around it. What a sample weighs is the time since the one before. */
#include "analyze/python/line_samples.h"
#include "base/error.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

/* ---- the pass ----------------------------------------------------------- */

/* Every second sample goes, and those that stay weigh twice. */
static void thin(struct sb_line_samples *s)
{
	for (uint32_t i = 0; i < s->count / 2; i++) {
		s->all[i] = s->all[2 * i];
		s->all[i].weight_ns *= 2;
		s->all[i].cpu_ns *= s->all[i].cpu_ns > 0 ? 2 : 1;
	}
	s->count /= 2;
	s->every *= 2;
}

static struct sb_line_sample *add_sample(struct sb_line_samples *s)
{
	if (s->count == SAMPLES_MAX)
		thin(s);
	if (!SB_MAKE_ROOM(s->all, s->count, s->capacity)) {
		s->no_memory = true;
		return NULL;
	}
	return &s->all[s->count++];
}

/* The leaves, and the outermost. */
static void keep_ends(uint32_t *to, const uint32_t *from, uint32_t count)
{
	uint32_t leaves = count < LEAVES ? count : LEAVES, rest = FRAMES - LEAVES;

	if (count <= FRAMES) {
		memcpy(to, from, count * sizeof *to);
		return;
	}
	memcpy(to, from, leaves * sizeof *to);
	memcpy(to + leaves, from + count - rest, rest * sizeof *to);
}

static void see_stack(struct sb_line_samples *s, const struct sb_event *ev)
{
	uint32_t count = ev->stack.frame_count < FRAMES ? ev->stack.frame_count : FRAMES;
	struct sb_line_sample *to;

	if (ev->stack.native || !count || !ev->stack.weight_ns || s->seen++ % s->every)
		return;
	to = add_sample(s);
	if (!to)
		return;
	*to = (struct sb_line_sample){ .at = { .t_ns = ev->t_ns, .track = ev->track },
		.weight_ns = ev->stack.weight_ns * s->every,
		.path = UINT32_MAX,
		.frame_count = count,
		.cpu_ns = ev->stack.cpu_ns < 0 ? -1 : ev->stack.cpu_ns * s->every,
		.stood = ev->stack.stood,
		.ran = ev->stack.ran };
	keep_ends(to->names, ev->stack.names, ev->stack.frame_count);
	keep_ends(to->lines, ev->stack.lines, ev->stack.frame_count);
}

static void see_file(struct sb_line_samples *s, const struct sb_event *ev)
{
	uint32_t known;

	if (sb_map_get(&s->file_of, ev->name, &known))
		return;
	if (!SB_MAKE_ROOM(s->files, s->file_count, s->file_capacity)) {
		s->no_memory = true;
		return;
	}
	s->no_memory |= !sb_map_put(&s->file_of, ev->name, s->file_count);
	s->files[s->file_count++] = sb_model_text(s->model, ev->text);
}

static void see_event(void *self, const struct sb_event *ev)
{
	if (ev->kind == SB_EVENT_STACK)
		see_stack(self, ev);
	else
		see_file(self, ev);
}

const char *sb_lines_file(const struct sb_line_samples *s, uint32_t name)
{
	uint32_t index;

	return sb_map_get(&s->file_of, name, &index) && s->files[index] ? s->files[index] : "";
}

/* ---- the stage around each sample: a second pass ------------------------- */

static bool holds_steps(const struct sb_line_samples *s, const struct sb_zone *z)
{
	return z->role == STROBE_ROLE_GENERATION || z->role == STROBE_ROLE_STEP ||
	       z->role == STROBE_ROLE_BLOCK || z->role == STROBE_ROLE_ITERATION ||
	       sb_role_phase(s->run->names[sb_run_path(s->run, z->path)->name].text) >= 0;
}

static void see_generation(struct sb_line_samples *s, const struct sb_zone *z)
{
	s->first_ns = z->begin_ns < s->first_ns ? z->begin_ns : s->first_ns;
	s->no_memory |= !sb_periods_add(&s->generations, z->track, z->begin_ns, z->end_ns);
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct sb_line_samples *s = self;
	bool between;
	uint32_t first, mark = z->role == STROBE_ROLE_GENERATION ? IN_GENERATION
			       : z->role == STROBE_ROLE_STEP     ? IN_STEP
								 : 0;

	if (z->flags & SB_ZONE_SPAN)
		return;
	if (!z->depth && (double)z->begin_ns / 1e9 >= s->model->stages.startup_end_s &&
		(double)z->end_ns / 1e9 <= s->model->stages.work_end_s)
		s->worked_ns[z->track] += z->end_ns - z->begin_ns;
	if (mark == IN_GENERATION) {
		mark |= z->begin_ns <= s->first_ns ? IN_FIRST : 0;
		see_generation(s, z);
	}
	if (mark == IN_STEP)
		s->no_memory |= !sb_periods_add(&s->steps, z->track, z->begin_ns, z->end_ns);
	first = sb_moments_from(&s->moments, z->track, z->begin_ns);
	between = holds_steps(s, z);
	for (uint32_t i = first; sb_moments_claim(&s->moments, z, &i);) {
		s->all[i].path = z->path;
		s->all[i].flags |= between ? BETWEEN : 0;
	}
	for (uint32_t i = first; mark && sb_moments_are_inside(&s->moments, i, z); i++)
		s->all[i].flags |= mark;
}

/* ---- what of a sample's weight lies in generations ----------------------- */

bool sb_lines_are_warm_apart(const struct sb_line_samples *s)
{
	return s->generations.count >= SB_WARM_LEAST;
}

/* A weight reaches back, over several generations where they are shorter than the time between two samples: what lies
 * between them is none of their time. */
static int64_t inside_ns(const struct sb_line_samples *s, const struct sb_line_sample *at)
{
	int64_t from_ns = at->at.t_ns - at->weight_ns, until_ns = at->at.t_ns, sum_ns = 0;

	for (uint32_t i = sb_periods_until(&s->generations, at->at.track, at->at.t_ns);
		i > 0 && until_ns > from_ns; i--) {
		const struct sb_period *g = &s->generations.all[i - 1];
		int64_t begin_ns = g->begin_ns > from_ns ? g->begin_ns : from_ns;
		int64_t end_ns = g->end_ns < until_ns ? g->end_ns : until_ns;

		if (g->track != at->at.track || g->end_ns <= from_ns)
			break;
		if (end_ns > begin_ns && !(sb_lines_are_warm_apart(s) && g->begin_ns <= s->first_ns))
			sum_ns += end_ns - begin_ns;
		until_ns = begin_ns < until_ns ? begin_ns : until_ns;
	}
	return sum_ns;
}

/* True in a step, and where its generation has steps before and after it: a step's callback may be in none. */
static bool is_among_steps(const struct sb_line_samples *s, const struct sb_line_sample *at)
{
	uint32_t g = sb_periods_until(&s->generations, at->at.track, at->at.t_ns),
		 next = sb_periods_until(&s->steps, at->at.track, at->at.t_ns);
	const struct sb_period *in = g ? &s->generations.all[g - 1] : NULL;
	const struct sb_period *before = next ? &s->steps.all[next - 1] : NULL,
			       *after = next < s->steps.count ? &s->steps.all[next] : NULL;

	if (at->flags & IN_STEP)
		return true;
	return in && before && after && before->track == at->at.track && after->track == at->at.track &&
	       before->begin_ns >= in->begin_ns && after->begin_ns < in->end_ns;
}

bool sb_lines_in_generation(const struct sb_line_samples *s, const struct sb_line_sample *at)
{
	uint32_t until;

	if (at->flags & IN_GENERATION || s->maker == UINT32_MAX)
		return at->flags & IN_GENERATION;
	until = sb_periods_until(&s->generations, s->maker, at->at.t_ns);
	return until && s->generations.all[until - 1].end_ns > at->at.t_ns;
}

/* The main thread, if no other one calls more. */
static uint32_t find_loop(const struct sb_line_samples *s)
{
	uint32_t most = UINT32_MAX;

	for (uint32_t i = 0; i < s->run->track_count; i++)
		if (most == UINT32_MAX || s->worked_ns[i] > s->worked_ns[most] ||
			(s->worked_ns[i] == s->worked_ns[most] && s->run->tracks[i].main))
			most = i;
	return most;
}

static void weigh(struct sb_line_samples *s)
{
	uint32_t count = s->generations.count;

	s->loop = find_loop(s);

	sb_periods_sort(&s->generations);
	sb_periods_sort(&s->steps);
	s->maker = count ? s->generations.all[0].track : UINT32_MAX;
	if (count && s->generations.all[count - 1].track != s->maker)
		s->maker = UINT32_MAX;
	for (uint32_t i = 0; i < s->count; i++) {
		if (!(s->all[i].flags & IN_GENERATION))
			continue;
		s->all[i].inside_ns = inside_ns(s, &s->all[i]);
		s->all[i].flags |= is_among_steps(s, &s->all[i]) ? AMONG_STEPS : 0;
	}
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct sb_line_samples *s = calloc(1, sizeof *s);

	if (!s)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled lines of '%s'", run->path);
	s->model = model;
	s->every = 1;
	s->first_ns = INT64_MAX;
	v->self = s;
	v->kinds = 1u << SB_EVENT_STACK | 1u << SB_EVENT_CODE_FILE;
	v->event = see_event;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sb_line_samples *s = self;
	int err;

	if (!s->count)
		return 0;
	s->run = run;
	s->worked_ns = calloc(run->track_count + 1, sizeof *s->worked_ns);
	if (!s->worked_ns)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled lines of '%s'", run->path);
	s->moments = (struct sb_moments){ s->all, s->count, sizeof *s->all };
	err = sb_moments_visit(&s->moments, run, see_zone, s);
	if (err)
		return err;
	if (s->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled lines of '%s'", run->path);
	weigh(s);
	return sb_lines_list(s, run, model);
}

static void done(void *self)
{
	struct sb_line_samples *s = self;

	if (!s)
		return;
	sb_map_done(&s->file_of);
	free(s->files);
	free(s->worked_ns);
	sb_periods_done(&s->generations);
	sb_periods_done(&s->steps);
	free(s->all);
	free(s);
}

const struct sb_analysis sb_analysis_lines = {
	.name = "lines",
	.begin = begin,
	.finish = finish,
	.done = done,
};
