/* The lines of the program that time was spent at: sampled stacks by their innermost line that is neither torch's nor
 * the standard library's, with the stage around it. What a sample weighs is the time since the one before. */
#include "analyze/analysis.h"
#include "analyze/python/hooks.h"
#include "analyze/python/moments.h"
#include "analyze/python/own_frame.h"
#include "analyze/python/periods.h"
#include "analyze/python/source.h"
#include "base/error.h"
#include "base/map.h"
#include "base/python_file.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

/* Of a deeper stack both ends: copying a model calls itself for each of its parts. */
enum { FRAMES = 32, LEAVES = 12, SAMPLES_MAX = 1 << 16, LISTED = 48 };
enum {
	IN_GENERATION = 1,
	IN_STEP = 2,
	BETWEEN = 4,
	IN_FIRST = 8,
	AMONG_STEPS = 16,
	IN_MODULE = 32,
	IN_HOOK = 64,
	SURELY_IN_HOOK = 128
};

struct sample {
	struct sb_moment at;
	int64_t weight_ns;
	int64_t inside_ns; /* of the weight, in generations of its track that count */
	uint32_t path; /* UINT32_MAX: in no zone */
	uint32_t flags;
	uint32_t frame_count;
	uint32_t names[FRAMES], lines[FRAMES]; /* leaf first */
	uint32_t own; /* the frame that is blamed */
	int64_t cpu_ns; /* -1: not known */
	bool stood, ran; /* while the sampler had the GIL */
};

struct sampled {
	struct sb_model *model;
	struct sb_run *run;
	struct sample *all;
	uint32_t count, capacity;
	struct sb_moments moments; /* of all, once they are complete */
	uint32_t every, seen; /* one of `every` is kept */
	int64_t first_ns; /* begin of the first generation; INT64_MAX: none yet */
	struct sb_periods generations, steps;
	uint32_t maker; /* the track of all generations; UINT32_MAX: there are several, or none */
	struct sb_hooks hooks;
	struct sb_map file_of; /* name -> index of files */
	const char **files;
	uint32_t file_count, file_capacity;
	bool no_memory;
};

/* ---- the pass ----------------------------------------------------------- */

/* Every second sample goes, and those that stay weigh twice. */
static void thin(struct sampled *s)
{
	for (uint32_t i = 0; i < s->count / 2; i++) {
		s->all[i] = s->all[2 * i];
		s->all[i].weight_ns *= 2;
		s->all[i].cpu_ns *= s->all[i].cpu_ns > 0 ? 2 : 1;
	}
	s->count /= 2;
	s->every *= 2;
}

static struct sample *add_sample(struct sampled *s)
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

static void see_stack(struct sampled *s, const struct sb_event *ev)
{
	uint32_t count = ev->stack.frame_count < FRAMES ? ev->stack.frame_count : FRAMES;
	struct sample *to;

	if (ev->stack.native || !count || !ev->stack.weight_ns || s->seen++ % s->every)
		return;
	to = add_sample(s);
	if (!to)
		return;
	*to = (struct sample){ .at = { .t_ns = ev->t_ns, .track = ev->track },
		.weight_ns = ev->stack.weight_ns * s->every,
		.path = UINT32_MAX,
		.frame_count = count,
		.cpu_ns = ev->stack.cpu_ns < 0 ? -1 : ev->stack.cpu_ns * s->every,
		.stood = ev->stack.stood,
		.ran = ev->stack.ran };
	keep_ends(to->names, ev->stack.names, ev->stack.frame_count);
	keep_ends(to->lines, ev->stack.lines, ev->stack.frame_count);
}

static void see_file(struct sampled *s, const struct sb_event *ev)
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

static const char *file_of(const struct sampled *s, uint32_t name)
{
	uint32_t index;

	return sb_map_get(&s->file_of, name, &index) && s->files[index] ? s->files[index] : "";
}

/* ---- the stage around each sample: a second pass ------------------------- */

static bool holds_steps(const struct sampled *s, const struct sb_zone *z)
{
	return z->role == STROBE_ROLE_GENERATION || z->role == STROBE_ROLE_STEP ||
	       z->role == STROBE_ROLE_BLOCK || z->role == STROBE_ROLE_ITERATION ||
	       sb_role_phase(s->run->names[sb_run_path(s->run, z->path)->name].text) >= 0;
}

static void see_generation(struct sampled *s, const struct sb_zone *z)
{
	s->first_ns = z->begin_ns < s->first_ns ? z->begin_ns : s->first_ns;
	s->no_memory |= !sb_periods_add(&s->generations, z->track, z->begin_ns, z->end_ns);
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct sampled *s = self;
	bool between;
	uint32_t first, mark = z->role == STROBE_ROLE_GENERATION ? IN_GENERATION
			       : z->role == STROBE_ROLE_STEP     ? IN_STEP
								 : 0;

	if (z->flags & SB_ZONE_SPAN)
		return;
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

/* The first of several generations is cold: what it does once costs the others nothing. */
static bool are_warm_apart(const struct sampled *s)
{
	return s->generations.count >= SB_WARM_LEAST;
}

/* A weight reaches back, over several generations where they are shorter than the time between two samples: what lies
 * between them is none of their time. */
static int64_t inside_ns(const struct sampled *s, const struct sample *at)
{
	int64_t from_ns = at->at.t_ns - at->weight_ns, until_ns = at->at.t_ns, sum_ns = 0;

	for (uint32_t i = sb_periods_until(&s->generations, at->at.track, at->at.t_ns);
		i > 0 && until_ns > from_ns; i--) {
		const struct sb_period *g = &s->generations.all[i - 1];
		int64_t begin_ns = g->begin_ns > from_ns ? g->begin_ns : from_ns;
		int64_t end_ns = g->end_ns < until_ns ? g->end_ns : until_ns;

		if (g->track != at->at.track || g->end_ns <= from_ns)
			break;
		if (end_ns > begin_ns && !(are_warm_apart(s) && g->begin_ns <= s->first_ns))
			sum_ns += end_ns - begin_ns;
		until_ns = begin_ns < until_ns ? begin_ns : until_ns;
	}
	return sum_ns;
}

/* True in a step, and where its generation has steps before and after it: a step's callback may be in none. */
static bool is_among_steps(const struct sampled *s, const struct sample *at)
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

/* True where a generation runs: of its own thread, or of the one that makes them all. */
static bool is_in_generation(const struct sampled *s, const struct sample *at)
{
	uint32_t until;

	if (at->flags & IN_GENERATION || s->maker == UINT32_MAX)
		return at->flags & IN_GENERATION;
	until = sb_periods_until(&s->generations, s->maker, at->at.t_ns);
	return until && s->generations.all[until - 1].end_ns > at->at.t_ns;
}

static void weigh(struct sampled *s)
{
	uint32_t count = s->generations.count;

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

/* ---- lines -------------------------------------------------------------- */

/* The line of torch's module that called that frame, through a decorator of torch's perhaps. */
static uint32_t caller_of(const char *const *files, uint32_t count, uint32_t called)
{
	uint32_t i = called + 1;

	while (i + 1 < count && !strstr(files[i], "/torch/nn/modules/module.py"))
		i++;
	return i;
}

static void find_hook(struct sampled *s, struct sample *at, const char *const *files, uint32_t called)
{
	uint32_t caller = caller_of(files, at->frame_count, called);
	enum sb_hook is = SB_HOOK_NOT;

	if (!sb_python_is_package(files[called]))
		is = sb_hook_called(&s->hooks, s->model, files[caller], at->lines[caller],
			s->run->names[at->names[called]].text);
	at->flags |= is == SB_HOOK_NOT ? 0 : is == SB_HOOK_CERTAIN ? IN_HOOK | SURELY_IN_HOOK : IN_HOOK;
}

static void find_own(struct sampled *s, struct sample *at)
{
	const char *files[FRAMES];
	uint32_t called;

	for (uint32_t i = 0; i < at->frame_count; i++)
		files[i] = file_of(s, at->names[i]);
	at->own = sb_own_frame(files, at->frame_count, at->flags & IN_GENERATION);
	called = sb_module_frame(files, at->frame_count, at->own);
	if (called == UINT32_MAX)
		return;
	at->flags |= IN_MODULE;
	find_hook(s, at, files, called);
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_line(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int order = compare_u32(x->names[x->own], y->names[y->own]);

	order = order ? order : compare_u32(x->lines[x->own], y->lines[y->own]);
	order = order ? order : compare_u32(x->path, y->path);
	order = order ? order : compare_u32(x->names[0], y->names[0]);
	return order ? order : compare_u32(x->at.track, y->at.track);
}

/* Python adds instructions that have no line: they count at the line where their function was seen most. Sorted by_line. */
static void lend_lines(struct sampled *s)
{
	for (uint32_t i = 0, end; i < s->count; i = end) {
		uint32_t name = s->all[i].names[s->all[i].own], most = 0, most_count = 0, same = 0;

		for (end = i; end < s->count && s->all[end].names[s->all[end].own] == name; end++) {
			uint32_t line = s->all[end].lines[s->all[end].own];

			same = end > i && line == s->all[end - 1].lines[s->all[end - 1].own] ? same + 1 : 1;
			most = line && same > most_count ? line : most;
			most_count = line && same > most_count ? same : most_count;
		}
		for (uint32_t k = i; k < end && !s->all[k].lines[s->all[k].own]; k++)
			s->all[k].lines[s->all[k].own] = most;
	}
}

static bool is_cold(const struct sampled *s, const struct sample *at)
{
	return are_warm_apart(s) && at->flags & IN_FIRST;
}

/* Of a program that calls its models in a loop of its own: what it does between the calls. */
static double in_loop_s(const struct sampled *s, const struct sb_line *line, const struct sample *at)
{
	double t_s = (double)at->at.t_ns / 1e9, from_s = s->model->stages.startup_end_s;
	bool in_loop = !s->generations.count && line->main && at->path == UINT32_MAX;

	return in_loop && t_s > from_s && t_s < s->model->stages.work_end_s
		       ? fmin((double)at->weight_ns / 1e9, t_s - from_s)
		       : 0;
}

static void add_to(const struct sampled *s, struct sb_line *line, const struct sample *at)
{
	bool warm = !is_cold(s, at), outside = at->at.t_ns > s->first_ns && !is_in_generation(s, at);
	double weight_s = (double)at->weight_ns / 1e9, t_s = (double)at->at.t_ns / 1e9,
	       inside_s = (double)at->inside_ns / 1e9;
	double work_s = s->generations.count ? warm * inside_s : weight_s; /* a model may run in none */

	line->total_s += weight_s;
	line->generation_s += warm && at->flags & IN_GENERATION ? inside_s : 0;
	line->loop_s += in_loop_s(s, line, at);
	line->step_s += warm && at->flags & IN_STEP ? inside_s : 0;
	line->among_s += warm && at->flags & AMONG_STEPS ? inside_s : 0;
	line->module_s += at->flags & IN_MODULE ? work_s : 0;
	line->hook_s += at->flags & IN_HOOK ? work_s : 0;
	line->hook |= (at->flags & SURELY_IN_HOOK) != 0;
	line->warm_count += warm && at->flags & IN_GENERATION;
	line->outside_s += outside ? weight_s : 0;
	line->outside_count += outside;
	line->outside_from_s = outside ? fmin(line->outside_from_s, fmax(0, t_s - weight_s))
				       : line->outside_from_s;
	line->outside_to_s = outside ? fmax(line->outside_to_s, t_s) : line->outside_to_s;
	line->between = at->flags & BETWEEN;
	line->sample_count++;
	line->stood_count += at->stood && !at->ran;
	line->ran_count += at->ran && !at->stood;
	line->without_count += at->stood && at->ran;
	line->cpu_s += at->cpu_ns > 0 ? (double)at->cpu_ns / 1e9 : 0;
	line->cpu_of_s += at->cpu_ns >= 0 ? weight_s : 0;
	line->from_s = line->sample_count == 1 ? fmax(0, t_s - weight_s)
					       : fmin(line->from_s, fmax(0, t_s - weight_s));
	line->to_s = fmax(line->to_s, t_s);
}

static void describe(struct sampled *s, struct sb_run *run, const struct sample *at, struct sb_line *line)
{
	line->function = sb_model_text(s->model, run->names[at->names[at->own]].text);
	line->file = file_of(s, at->names[at->own]);
	line->line = at->lines[at->own];
	line->library = sb_python_is_library(line->file);
	line->inner = at->own ? sb_model_text(s->model, run->names[at->names[0]].text) : NULL;
	line->inner_file = at->own ? file_of(s, at->names[0]) : NULL;
	line->stage = at->path == UINT32_MAX
			      ? NULL
			      : sb_model_text(s->model, run->names[sb_run_path(run, at->path)->name].text);
	line->outside_from_s = INFINITY;
	line->main = at->at.track < run->track_count && run->tracks[at->at.track].main;
	line->maker = s->maker != UINT32_MAX && at->at.track == s->maker;
}

static int largest_first(const void *a, const void *b)
{
	const struct sb_line *x = a, *y = b;

	double x_s = x->generation_s + x->outside_s, y_s = y->generation_s + y->outside_s;

	if (x_s != y_s) /* the start may be much longer */
		return x_s < y_s ? 1 : -1;
	return x->total_s < y->total_s ? 1 : x->total_s > y->total_s ? -1 : 0;
}

/* The source as it ran: a line of a file that was edited since would be another one. */
static void take_text(const struct sb_run *run, struct sb_model *model, struct sb_line *line)
{
	line->changed = sb_source_changed(line->file, run->start_real_ns);
	if (!line->changed && !line->line)
		line->line = sb_source_line_of(line->file, line->function);
	if (!line->changed)
		line->text = sb_source_line(model, line->file, line->line);
}

/* Groups of equal lines; of more than are listed the largest. */
static int list(struct sampled *s, struct sb_run *run, struct sb_model *model)
{
	struct sb_line *groups = calloc(s->count ? s->count : 1, sizeof *groups);
	uint32_t count = 0;

	if (!groups)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled lines of '%s'", run->path);
	for (uint32_t i = 0; i < s->count; i++)
		find_own(s, &s->all[i]);
	qsort(s->all, s->count, sizeof *s->all, by_line);
	lend_lines(s);
	qsort(s->all, s->count, sizeof *s->all, by_line);
	for (uint32_t i = 0; i < s->count; i++) {
		if (!i || by_line(&s->all[i - 1], &s->all[i]))
			describe(s, run, &s->all[i], &groups[count++]);
		add_to(s, &groups[count - 1], &s->all[i]);
	}
	qsort(groups, count, sizeof *groups, largest_first);
	model->lines.count = count < LISTED ? count : LISTED;
	model->lines.all = sb_model_alloc(model, (model->lines.count + 1) * sizeof *groups);
	for (size_t i = 0; model->lines.all && i < model->lines.count; i++) {
		model->lines.all[i] = groups[i];
		take_text(run, model, &model->lines.all[i]);
	}
	free(groups);
	return 0;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct sampled *s = calloc(1, sizeof *s);

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
	struct sampled *s = self;
	int err;

	if (!s->count)
		return 0;
	s->run = run;
	s->moments = (struct sb_moments){ s->all, s->count, sizeof *s->all };
	err = sb_moments_visit(&s->moments, run, see_zone, s);
	if (err)
		return err;
	if (s->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled lines of '%s'", run->path);
	weigh(s);
	return list(s, run, model);
}

static void done(void *self)
{
	struct sampled *s = self;

	if (!s)
		return;
	sb_map_done(&s->file_of);
	free(s->files);
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
