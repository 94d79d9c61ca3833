/* The lines of the program that time was spent at: sampled stacks by their innermost line that is neither torch's nor
 * the standard library's, with the stage around it. What a sample weighs is the time since the one before. */
#include "analyze/analysis.h"
#include "analyze/python/moments.h"
#include "analyze/python/own_frame.h"
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
	IN_HOOK = 64
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

struct generation { /* or a step */
	uint32_t track;
	int64_t begin_ns, end_ns;
};

struct sampled {
	struct sb_model *model;
	struct sb_run *run;
	struct sample *all;
	uint32_t count, capacity;
	struct sb_moments moments; /* of all, once they are complete */
	uint32_t every, seen; /* one of `every` is kept */
	int64_t first_ns; /* begin of the first generation; INT64_MAX: none yet */
	struct generation *generations;
	uint32_t generation_count, generation_capacity;
	uint32_t maker; /* the track of all generations; UINT32_MAX: there are several, or none */
	struct generation *steps;
	uint32_t step_count, step_capacity;
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
	if (!SB_MAKE_ROOM(s->generations, s->generation_count, s->generation_capacity)) {
		s->no_memory = true;
		return;
	}
	s->generations[s->generation_count++] = (struct generation){ z->track, z->begin_ns, z->end_ns };
}

static void see_step(struct sampled *s, const struct sb_zone *z)
{
	if (!SB_MAKE_ROOM(s->steps, s->step_count, s->step_capacity)) {
		s->no_memory = true;
		return;
	}
	s->steps[s->step_count++] = (struct generation){ z->track, z->begin_ns, z->end_ns };
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
		see_step(s, z);
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

static int by_begin(const void *a, const void *b)
{
	const struct generation *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* How many of them stand before the moment, in the order of by_begin. */
static uint32_t count_until(const struct generation *all, uint32_t count, const struct sb_moment *at)
{
	const struct generation wanted = { at->track, at->t_ns, at->t_ns };
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (by_begin(&all[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first of several generations is cold: what it does once costs the others nothing. */
static bool are_warm_apart(const struct sampled *s)
{
	return s->generation_count >= SB_WARM_LEAST;
}

/* A weight reaches back, over several generations where they are shorter than the time between two samples: what lies
 * between them is none of their time. */
static int64_t inside_ns(const struct sampled *s, const struct sample *at)
{
	int64_t from_ns = at->at.t_ns - at->weight_ns, until_ns = at->at.t_ns, sum_ns = 0;

	for (uint32_t i = count_until(s->generations, s->generation_count, &at->at);
		i > 0 && until_ns > from_ns; i--) {
		const struct generation *g = &s->generations[i - 1];
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
	uint32_t g = count_until(s->generations, s->generation_count, &at->at),
		 next = count_until(s->steps, s->step_count, &at->at);
	const struct generation *in = g ? &s->generations[g - 1] : NULL;
	const struct generation *before = next ? &s->steps[next - 1] : NULL,
				*after = next < s->step_count ? &s->steps[next] : NULL;

	if (at->flags & IN_STEP)
		return true;
	return in && before && after && before->track == at->at.track && after->track == at->at.track &&
	       before->begin_ns >= in->begin_ns && after->begin_ns < in->end_ns;
}

static void sort(struct generation *all, uint32_t count)
{
	if (count)
		qsort(all, count, sizeof *all, by_begin);
}

/* True where a generation runs: of its own thread, or of the one that makes them all. */
static bool is_in_generation(const struct sampled *s, const struct sample *at)
{
	const struct sb_moment there = { .t_ns = at->at.t_ns, .track = s->maker };
	uint32_t until;

	if (at->flags & IN_GENERATION || s->maker == UINT32_MAX)
		return at->flags & IN_GENERATION;
	until = count_until(s->generations, s->generation_count, &there);
	return until && s->generations[until - 1].end_ns > at->at.t_ns;
}

static void weigh(struct sampled *s)
{
	sort(s->generations, s->generation_count);
	sort(s->steps, s->step_count);
	s->maker = s->generation_count ? s->generations[0].track : UINT32_MAX;
	if (s->generation_count && s->generations[s->generation_count - 1].track != s->maker)
		s->maker = UINT32_MAX;
	for (uint32_t i = 0; i < s->count; i++) {
		if (!(s->all[i].flags & IN_GENERATION))
			continue;
		s->all[i].inside_ns = inside_ns(s, &s->all[i]);
		s->all[i].flags |= is_among_steps(s, &s->all[i]) ? AMONG_STEPS : 0;
	}
}

/* ---- lines -------------------------------------------------------------- */

/* What a module calls by another name than its forward: a hook on it. */
static bool is_hook(const struct sampled *s, const struct sample *at, const char *file, uint32_t frame)
{
	const char *name = s->run->names[at->names[frame]].text;

	return !sb_python_is_installed(file) && !strstr(name, "forward") && !strstr(name, "__call__");
}

static void find_own(const struct sampled *s, struct sample *at)
{
	const char *files[FRAMES];
	uint32_t called;

	for (uint32_t i = 0; i < at->frame_count; i++)
		files[i] = file_of(s, at->names[i]);
	at->own = sb_own_frame(files, at->frame_count, at->flags & IN_GENERATION);
	called = sb_module_frame(files, at->frame_count, at->own);
	if (called == UINT32_MAX)
		return;
	at->flags |= IN_MODULE | (is_hook(s, at, files[called], called) ? IN_HOOK : 0);
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

static bool is_cold(const struct sampled *s, const struct sample *at)
{
	return are_warm_apart(s) && at->flags & IN_FIRST;
}

static void add_to(const struct sampled *s, struct sb_line *line, const struct sample *at)
{
	bool warm = !is_cold(s, at), outside = at->at.t_ns > s->first_ns && !is_in_generation(s, at);
	double weight_s = (double)at->weight_ns / 1e9, t_s = (double)at->at.t_ns / 1e9;
	double inside_s = (double)at->inside_ns / 1e9;
	double work_s = s->generation_count ? warm * inside_s : weight_s; /* a model may run in none */

	line->total_s += weight_s;
	line->generation_s += warm && at->flags & IN_GENERATION ? inside_s : 0;
	line->step_s += warm && at->flags & IN_STEP ? inside_s : 0;
	line->among_s += warm && at->flags & AMONG_STEPS ? inside_s : 0;
	line->module_s += at->flags & IN_MODULE ? work_s : 0;
	line->hook_s += at->flags & IN_HOOK ? work_s : 0;
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
	free(s->generations);
	free(s->steps);
	free(s->all);
	free(s);
}

const struct sb_analysis sb_analysis_lines = {
	.name = "lines",
	.begin = begin,
	.finish = finish,
	.done = done,
};
