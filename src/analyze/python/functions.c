/* Sampled stacks: which functions and lines the program was in, and inside which
 * stage. Shares of the time that the samples stand for, never times: a sample is not a
 * measurement. Listed apart: threads that only wait beside those that work, and threads without Python, with the CPU
 * time they used. */
#include "analyze/analysis.h"
#include "analyze/python/moments.h"
#include "format/run_keys.h"
#include "base/error.h"
#include "base/map.h"
#include "base/python_file.h"
#include "base/room.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 1 << 20, LISTED = 20, NATIVES_MAX = 64 };

enum { WORK, WAIT, CLASSES }; /* of a sample */

struct tally {
	uint32_t self, total;
	int64_t self_ns, total_ns; /* what these samples stand for */
};

struct function {
	uint32_t name;
	struct tally tallies[CLASSES];
	uint32_t line, line_count; /* the line seen most often at the top */
	uint32_t last_sample; /* so that recursion counts once */
	const char *file;
	struct sb_map lines; /* line -> samples */
	struct sb_map paths; /* stage path -> samples */
};

struct sample {
	struct sb_moment at;
	uint32_t leaf; /* function index */
	uint32_t wait; /* index of waits + 1; 0: its leaf does not wait */
};

/* A sample whose leaf waits. Whether its thread only waits is known when the zones are. */
struct wait {
	int64_t weight_ns;
	size_t first_frame; /* in frames */
	uint32_t frame_count;
	bool main; /* of the main thread */
	bool in_zone;
};

struct sampled {
	struct sb_run *run;
	struct sb_model *model;
	struct function *functions;
	uint32_t count, capacity;
	struct sb_map by_name;
	struct sample *samples;
	uint32_t sample_count, sample_capacity;
	struct sb_moments moments; /* of samples, once they are complete */
	struct sb_vec waits; /* struct wait */
	struct sb_vec frames; /* uint32_t: function indices, leaf first */
	bool others_generate; /* the main thread makes no video: what it waits for is the one that does */
	uint64_t total;
	uint32_t counted; /* stacks, so far */
	uint64_t class_total[CLASSES];
	int64_t class_ns[CLASSES];
	struct native {
		uint32_t name;
		int64_t cpu_ns;
	} natives[NATIVES_MAX];
	uint32_t native_count;
	bool no_memory;
};

static struct function *function_of(struct sampled *s, uint32_t name)
{
	uint32_t index;

	if (sb_map_get(&s->by_name, name, &index))
		return &s->functions[index];
	if (!SB_MAKE_ROOM(s->functions, s->count, s->capacity))
		return NULL;
	if (!sb_map_put(&s->by_name, name, s->count))
		return NULL;
	s->functions[s->count] = (struct function){ .name = name };
	return &s->functions[s->count++];
}

static void add_one(struct sampled *s, struct sb_map *map, uint64_t key, uint32_t *out_count)
{
	uint32_t count = 0;

	sb_map_get(map, key, &count);
	s->no_memory |= !sb_map_put(map, key, count + 1);
	*out_count = count + 1;
}

static void keep_sample(struct sampled *s, const struct sb_event *ev, uint32_t leaf, uint32_t wait)
{
	if (s->sample_count == SAMPLES_MAX)
		return;
	if (!SB_MAKE_ROOM(s->samples, s->sample_count, s->sample_capacity)) {
		s->no_memory = true;
		return;
	}
	s->samples[s->sample_count++] = (struct sample){ { ev->t_ns, ev->track, 0 }, leaf, wait };
}

static void see_native(struct sampled *s, const struct sb_event *ev)
{
	uint32_t i = 0;

	while (i < s->native_count && s->natives[i].name != ev->stack.names[0])
		i++;
	if (i == NATIVES_MAX)
		return;
	if (i == s->native_count)
		s->natives[s->native_count++] = (struct native){ .name = ev->stack.names[0] };
	s->natives[i].cpu_ns += ev->stack.weight_ns;
}

static void count_frame(struct sampled *s, uint32_t index, int class, bool leaf, int64_t weight_ns)
{
	struct function *f = &s->functions[index];
	struct tally *t = &f->tallies[class];

	if (leaf) {
		t->self++;
		t->self_ns += weight_ns;
	}
	if (f->last_sample != s->counted) {
		t->total++;
		t->total_ns += weight_ns;
	}
	f->last_sample = s->counted;
}

static void count_stack(
	struct sampled *s, const uint32_t *frames, uint32_t count, int class, int64_t weight_ns)
{
	s->counted++;
	s->class_total[class]++;
	s->class_ns[class] += weight_ns;
	for (uint32_t i = 0; i < count; i++)
		count_frame(s, frames[i], class, i == 0, weight_ns);
}

static void see_line(struct sampled *s, struct function *f, uint32_t line)
{
	uint32_t seen;

	add_one(s, &f->lines, line, &seen);
	if (seen > f->line_count) {
		f->line_count = seen;
		f->line = line;
	}
}

static bool is_main_thread(const struct sampled *s, const struct sb_event *ev)
{
	return ev->stack.tid == s->run->processes[ev->process].reader->head.main_tid;
}

/* The frames' functions at the end of s->frames; false: no memory. */
static bool find_functions(struct sampled *s, const struct sb_event *ev)
{
	for (uint32_t i = 0; i < ev->stack.frame_count; i++) {
		struct function *f = function_of(s, ev->stack.names[i]);
		uint32_t *index = f ? sb_vec_push(&s->frames, sizeof *index) : NULL;

		if (!index)
			return false;
		*index = (uint32_t)(f - s->functions);
	}
	return true;
}

/* Leaves the frames where they are. */
static uint32_t keep_wait(struct sampled *s, const struct sb_event *ev, size_t first, int64_t weight_ns)
{
	struct wait *w = sb_vec_push(&s->waits, sizeof *w);

	s->no_memory |= !w;
	if (w)
		*w = (struct wait){ weight_ns, first, ev->stack.frame_count, is_main_thread(s, ev), false };
	return (uint32_t)s->waits.count;
}

static void see_stack(struct sampled *s, const struct sb_event *ev)
{
	int64_t weight_ns = ev->stack.weight_ns > 0 ? ev->stack.weight_ns : 1;
	size_t first = s->frames.count;
	const uint32_t *frames;
	bool waits;

	s->total++;
	if (!find_functions(s, ev)) {
		s->no_memory = true;
		return;
	}
	frames = (const uint32_t *)s->frames.items + first;
	see_line(s, &s->functions[frames[0]], ev->stack.lines[0]);
	waits = sb_python_waits(s->run->names[ev->stack.names[0]].text, s->functions[frames[0]].file);
	if (waits && s->sample_count < SAMPLES_MAX) {
		keep_sample(s, ev, frames[0], keep_wait(s, ev, first, weight_ns));
		return;
	}
	keep_sample(s, ev, frames[0], 0);
	count_stack(
		s, frames, ev->stack.frame_count, waits && !is_main_thread(s, ev) ? WAIT : WORK, weight_ns);
	s->frames.count = first;
}

static void see_event(void *self, const struct sb_event *ev)
{
	struct sampled *s = self;
	struct function *f;

	if (ev->kind == SB_EVENT_STACK && ev->stack.frame_count) {
		(ev->stack.native ? see_native : see_stack)(s, ev);
		return;
	}
	if (ev->kind == SB_EVENT_STACK)
		return;
	f = function_of(s, ev->name);
	s->no_memory |= !f;
	if (f && !f->file)
		f->file = sb_model_text(s->model, ev->text);
}

/* ---- inside which stage: a second pass, only when there are stacks ---------- */

static void see_zone(void *self, const struct sb_zone *z)
{
	struct sampled *s = self;
	uint32_t i, unused;

	if (z->flags & SB_ZONE_SPAN)
		return;
	s->others_generate |= z->role == STROBE_ROLE_GENERATION && z->track < s->run->track_count &&
			      !s->run->tracks[z->track].main && !s->run->tracks[z->track].main_task;
	i = sb_moments_from(&s->moments, z->track, z->begin_ns);
	while (sb_moments_claim(&s->moments, z, &i)) {
		add_one(s, &s->functions[s->samples[i].leaf].paths, z->path, &unused);
		if (s->samples[i].wait)
			((struct wait *)s->waits.items)[s->samples[i].wait - 1].in_zone = true;
	}
}

/* A wait inside a stage is the stage's time, and one of the main thread the program's. */
static void count_waits(struct sampled *s)
{
	const struct wait *all = s->waits.items;

	for (size_t i = 0; i < s->waits.count; i++)
		count_stack(s, (const uint32_t *)s->frames.items + all[i].first_frame, all[i].frame_count,
			all[i].in_zone || (all[i].main && !s->others_generate) ? WORK : WAIT,
			all[i].weight_ns);
}

/* ---- the panel ------------------------------------------------------------ */

static int by_tally(const struct tally *x, const struct tally *y)
{
	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	return x->total_ns > y->total_ns ? -1 : x->total_ns < y->total_ns;
}

static int most_work_first(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return by_tally(&x->tallies[WORK], &y->tallies[WORK]);
}

static int most_waits_first(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return by_tally(&x->tallies[WAIT], &y->tallies[WAIT]);
}

static const char *main_stage(const struct function *f, struct sb_run *run)
{
	const struct sb_map_slot *best = NULL;

	for (uint32_t i = 0; i < f->paths.capacity; i++)
		if (f->paths.slots[i].used && (!best || f->paths.slots[i].value > best->value))
			best = &f->paths.slots[i];
	return best ? run->names[sb_run_path(run, (uint32_t)best->key)->name].text : NULL;
}

static size_t list(struct sampled *s, struct sb_run *run, int class, struct sb_function **out_all)
{
	struct sb_function *all = sb_model_alloc(s->model, LISTED * sizeof *all);
	size_t count = 0;

	qsort(s->functions, s->count, sizeof *s->functions,
		class == WORK ? most_work_first : most_waits_first);
	for (uint32_t i = 0; all && i < s->count && count < LISTED; i++) {
		const struct function *f = &s->functions[i];
		const struct tally *t = &f->tallies[class];
		const char *stage = class == WORK ? main_stage(f, run) : NULL;

		if (!t->self)
			break;
		all[count++] = (struct sb_function){ .name = sb_model_text(
							     s->model, run->names[f->name].text),
			.file = f->file,
			.line = f->line,
			.stage = stage ? sb_model_text(s->model, stage) : NULL,
			.self_count = t->self,
			.total_count = t->total,
			.self_ratio = (double)t->self_ns / (double)s->class_ns[class],
			.total_ratio = (double)t->total_ns / (double)s->class_ns[class] };
	}
	*out_all = all;
	return count;
}

static void list_both(struct sampled *s, struct sb_run *run)
{
	struct sb_functions_panel *to = &s->model->functions;

	to->sample_count = s->total;
	to->waiting_count = s->class_total[WAIT];
	to->count = list(s, run, WORK, &to->all);
	to->waiting_listed = list(s, run, WAIT, &to->waiting);
}

static int most_cpu_first(const void *a, const void *b)
{
	const struct native *x = a, *y = b;

	return x->cpu_ns > y->cpu_ns ? -1 : x->cpu_ns < y->cpu_ns;
}

static void list_natives(struct sampled *s, struct sb_run *run, struct sb_model *model)
{
	struct sb_functions_panel *to = &model->functions;

	qsort(s->natives, s->native_count, sizeof *s->natives, most_cpu_first);
	to->natives = sb_model_alloc(model, NATIVES_MAX * sizeof *to->natives);
	for (uint32_t i = 0; to->natives && i < s->native_count && i < LISTED; i++)
		to->natives[to->native_count++] =
			(struct sb_native_thread){ sb_model_text(model, run->names[s->natives[i].name].text),
				(double)s->natives[i].cpu_ns / 1e9 };
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct sampled *s = calloc(1, sizeof *s);

	if (!s)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled stacks of '%s'", run->path);
	s->run = run;
	s->model = model;
	v->self = s;
	v->kinds = 1u << SB_EVENT_STACK | 1u << SB_EVENT_CODE_FILE;
	v->event = see_event;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sampled *s = self;
	int err;

	if (s->native_count)
		list_natives(s, run, model);
	if (!s->total || !s->count) /* stacks may be empty */
		return 0;
	s->moments = (struct sb_moments){ s->samples, s->sample_count, sizeof *s->samples };
	err = sb_moments_visit(&s->moments, run, see_zone, s);
	if (err)
		return err;
	count_waits(s);
	if (s->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled stacks of '%s'", run->path);
	list_both(s, run);
	if (!model->stages.stage_count) /* from outside strobe run cannot tell: stacks are recorded, too */
		sb_model_missing(model, "stages", SB_NO_STAGES, SB_NO_STAGES_HOW);
	return 0;
}

static void done(void *self)
{
	struct sampled *s = self;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++) {
		sb_map_done(&s->functions[i].lines);
		sb_map_done(&s->functions[i].paths);
	}
	sb_map_done(&s->by_name);
	sb_vec_done(&s->waits);
	sb_vec_done(&s->frames);
	free(s->functions);
	free(s->samples);
	free(s);
}

const struct sb_analysis sb_analysis_functions = {
	.name = "functions",
	.begin = begin,
	.finish = finish,
	.done = done,
};
