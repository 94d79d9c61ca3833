/* Sampled stacks: which functions and lines the program was in, and inside which
 * stage. Shares of the time that the samples stand for, never times: a sample is not a
 * measurement. Threads without Python are listed apart, with the CPU time they used. */
#include "analyze/analysis.h"
#include "analyze/python/moments.h"
#include "format/run_keys.h"
#include "base/error.h"
#include "base/map.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 1 << 20, LISTED = 20, NATIVES_MAX = 64 };

struct function {
	uint32_t name;
	uint32_t self, total;
	int64_t self_ns, total_ns; /* what these samples stand for */
	uint32_t line, line_count; /* the line seen most often at the top */
	uint32_t last_sample; /* so that recursion counts once */
	const char *file;
	struct sb_map lines; /* line -> samples */
	struct sb_map paths; /* stage path -> samples */
};

struct sample {
	struct sb_moment at;
	uint32_t leaf; /* function index */
};

struct sampled {
	struct sb_model *model;
	struct function *functions;
	uint32_t count, capacity;
	struct sb_map by_name;
	struct sample *samples;
	uint32_t sample_count, sample_capacity;
	struct sb_moments moments; /* of samples, once they are complete */
	uint64_t total;
	int64_t total_ns;
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

static void keep_sample(struct sampled *s, const struct sb_event *ev, uint32_t leaf)
{
	if (s->sample_count == SAMPLES_MAX)
		return;
	if (!SB_MAKE_ROOM(s->samples, s->sample_count, s->sample_capacity)) {
		s->no_memory = true;
		return;
	}
	s->samples[s->sample_count++] = (struct sample){ { ev->t_ns, ev->track, 0 }, leaf };
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

static void see_stack(struct sampled *s, const struct sb_event *ev)
{
	int64_t weight_ns = ev->stack.weight_ns > 0 ? ev->stack.weight_ns : 1;

	s->total++;
	s->total_ns += weight_ns;
	for (uint32_t i = 0; i < ev->stack.frame_count; i++) {
		struct function *f = function_of(s, ev->stack.names[i]);
		uint32_t seen;

		s->no_memory |= !f;
		if (!f)
			return;
		if (i == 0) {
			f->self++;
			f->self_ns += weight_ns;
			add_one(s, &f->lines, ev->stack.lines[0], &seen);
			if (seen > f->line_count) {
				f->line_count = seen;
				f->line = ev->stack.lines[0];
			}
			keep_sample(s, ev, (uint32_t)(f - s->functions));
		}
		if (f->last_sample != s->total) {
			f->total++;
			f->total_ns += weight_ns;
		}
		f->last_sample = (uint32_t)s->total;
	}
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
	i = sb_moments_from(&s->moments, z->track, z->begin_ns);
	while (sb_moments_claim(&s->moments, z, &i))
		add_one(s, &s->functions[s->samples[i].leaf].paths, z->path, &unused);
}

/* ---- the panel ------------------------------------------------------------ */

static int most_often_first(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	return x->total_ns > y->total_ns ? -1 : x->total_ns < y->total_ns;
}

static const char *main_stage(const struct function *f, struct sb_run *run)
{
	const struct sb_map_slot *best = NULL;

	for (uint32_t i = 0; i < f->paths.capacity; i++)
		if (f->paths.slots[i].used && (!best || f->paths.slots[i].value > best->value))
			best = &f->paths.slots[i];
	return best ? run->names[sb_run_path(run, (uint32_t)best->key)->name].text : NULL;
}

static void list(struct sampled *s, struct sb_run *run, struct sb_model *model)
{
	struct sb_functions_panel *to = &model->functions;

	qsort(s->functions, s->count, sizeof *s->functions, most_often_first);
	to->sample_count = s->total;
	to->all = sb_model_alloc(model, LISTED * sizeof *to->all);
	for (uint32_t i = 0; to->all && i < s->count && to->count < LISTED && s->functions[i].self; i++) {
		const struct function *f = &s->functions[i];
		const char *stage = main_stage(f, run);

		to->all[to->count++] = (struct sb_function){ .name = sb_model_text(
								     model, run->names[f->name].text),
			.file = f->file,
			.line = f->line,
			.stage = stage ? sb_model_text(model, stage) : NULL,
			.self_count = f->self,
			.total_count = f->total,
			.self_ratio = (double)f->self_ns / (double)s->total_ns,
			.total_ratio = (double)f->total_ns / (double)s->total_ns };
	}
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
	if (s->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled stacks of '%s'", run->path);
	list(s, run, model);
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
