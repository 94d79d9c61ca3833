/* unattributed: which Python functions ran while no stage did, inside the generations and in
 * the whole run. Samples are weighed by the time they stand for. */
#include "analyze/analysis.h"
#include "base/error.h"
#include "base/map.h"
#include "base/room.h"
#include "analyze/python/moments.h"
#include "analyze/python/source.h"

#include <stdlib.h>
#include <string.h>

#define WORTH_OF_GENERATIONS 0.05
#define WORTH_OF_RUN 0.10
enum { SAMPLES_MAX = 1 << 20 };

enum { INSIDE, ANYWHERE, COVERS }; /* by stages inside generations; by any zone */

struct sample {
	int64_t t_ns, weight_ns;
	uint32_t process, track;
	uint32_t function, line; /* the program's or the pipeline's */
	uint32_t leaf; /* of a library: what it had called; 0: none */
	bool in_generation;
	bool covered[COVERS];
	uint32_t next[COVERS]; /* nearest sample from here on that is not covered */
};

struct unattributed {
	struct sb_run *run;
	struct sample *samples; /* by time, once there are all */
	uint32_t count, capacity;
	struct sb_map files; /* function -> index of texts, + 1 */
	const char **texts;
	uint32_t text_count, text_room;
	struct sb_map generation_paths; /* path -> 1 */
	struct sb_map generation_tracks; /* track -> 1 */
	struct sb_map under; /* path -> 1: inside a generation's, 0: not */
	struct sb_model *model;
	bool no_memory;
};

/* ---- samples ------------------------------------------------------------------ */

static const char *file_of(const struct unattributed *u, uint32_t function)
{
	uint32_t index;

	return sb_map_get(&u->files, function, &index) ? u->texts[index - 1] : NULL;
}

/* What a reader would not look into. A function without a file is the program's. */
static bool is_library(const char *file)
{
	return file && sb_source_is_library(file);
}

static void take_stack(struct unattributed *u, const struct sb_event *e)
{
	uint32_t at = 0;

	if (e->stack.native || !e->stack.frame_count || u->count == SAMPLES_MAX)
		return;
	if (!SB_MAKE_ROOM(u->samples, u->count, u->capacity)) {
		u->no_memory = true;
		return;
	}
	while (at + 1 < e->stack.frame_count && is_library(file_of(u, e->stack.names[at])))
		at++;
	if (is_library(file_of(u, e->stack.names[at])))
		at = 0;
	u->samples[u->count++] = (struct sample){ .t_ns = e->t_ns,
		.weight_ns = e->stack.weight_ns > 0 ? e->stack.weight_ns : 1,
		.process = e->process,
		.track = e->track,
		.function = e->stack.names[at],
		.line = e->stack.lines[at],
		.leaf = at ? e->stack.names[0] : 0 };
}

static void take_file(struct unattributed *u, const struct sb_event *e)
{
	uint32_t known;

	if (sb_map_get(&u->files, e->name, &known))
		return;
	if (!SB_MAKE_ROOM(u->texts, u->text_count, u->text_room)) {
		u->no_memory = true;
		return;
	}
	u->texts[u->text_count++] = sb_model_text(u->model, e->text);
	u->no_memory |= !sb_map_put(&u->files, e->name, u->text_count);
}

static void see_event(void *self, const struct sb_event *e)
{
	if (e->kind == SB_EVENT_STACK)
		take_stack(self, e);
	else
		take_file(self, e);
}

static void see_generation(void *self, const struct sb_zone *z)
{
	struct unattributed *u = self;

	u->no_memory |= !sb_map_put(&u->generation_paths, z->path, 1) ||
			!sb_map_put(&u->generation_tracks, z->track, 1);
}

/* ---- which of them no stage covers: a second pass, only when there are stacks --- */

static bool is_generation_path(const struct unattributed *u, uint32_t path)
{
	uint32_t unused;

	return sb_map_get(&u->generation_paths, path, &unused);
}

static bool is_under_generation(struct unattributed *u, uint32_t path)
{
	uint32_t known, at = path ? sb_run_path(u->run, path)->parent : 0;

	if (sb_map_get(&u->under, path, &known))
		return known;
	while (at && !is_generation_path(u, at))
		at = sb_run_path(u->run, at)->parent;
	u->no_memory |= !sb_map_put(&u->under, path, at != 0);
	return at != 0;
}

static uint32_t first_from(const struct unattributed *u, int64_t t_ns)
{
	uint32_t low = 0, high = u->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (u->samples[middle].t_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The nearest sample that is not covered. */
static uint32_t next_open(struct unattributed *u, uint32_t i, int which)
{
	return u->count ? sb_next_free(&u->samples->next[which], sizeof *u->samples, u->count, i) : 0;
}

/* Stages of any track cover wall time. */
static void cover(struct unattributed *u, const struct sb_zone *z, int which)
{
	for (uint32_t i = next_open(u, first_from(u, z->begin_ns), which);
		i < u->count && u->samples[i].t_ns <= z->end_ns; i = next_open(u, i, which)) {
		u->samples[i].covered[which] = true;
		u->samples[i].next[which] = i + 1;
	}
}

static void mark_generation(struct unattributed *u, const struct sb_zone *z)
{
	for (uint32_t i = first_from(u, z->begin_ns); i < u->count && u->samples[i].t_ns <= z->end_ns; i++)
		if (u->samples[i].process == z->process)
			u->samples[i].in_generation = true;
}

/* A frame around the stages that a reader asks for: see stages/split.c. */
static bool is_frame(const struct sb_zone *z)
{
	return z->role == STROBE_ROLE_GENERATION || (z->role == STROBE_ROLE_BLOCK && z->child_ns > 0);
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct unattributed *u = self;
	bool under = is_under_generation(u, z->path);

	if (z->role == STROBE_ROLE_GENERATION && !under)
		mark_generation(u, z);
	if (under && !is_frame(z))
		cover(u, z, INSIDE);
	if (!z->depth)
		cover(u, z, ANYWHERE);
}

static int by_time(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static int find_uncovered(struct unattributed *u)
{
	struct sb_visitor v = { .self = u, .roles = SB_EVERY_ZONE, .zone = see_zone };

	qsort(u->samples, u->count, sizeof *u->samples, by_time);
	for (uint32_t i = 0; i < u->count; i++)
		u->samples[i].next[INSIDE] = u->samples[i].next[ANYWHERE] = i;
	return sb_run_visit(u->run, &v, 1);
}

/* ---- the lists ------------------------------------------------------------------ */

struct tally {
	uint32_t function, line, leaf; /* of the lines and of what it had called, those with the most time */
	int64_t weight_ns;
};

/* A pool's thread that waits says nothing: the main thread, and those that generate. */
static bool is_asked(const struct unattributed *u, const struct sample *s)
{
	uint32_t unused;

	if (s->track >= u->run->track_count)
		return false;
	return u->run->tracks[s->track].main || sb_map_get(&u->generation_tracks, s->track, &unused);
}

static bool is_wanted(const struct unattributed *u, const struct sample *s, int which)
{
	if (!is_asked(u, s) || s->covered[which])
		return false;
	return which == ANYWHERE || s->in_generation;
}

static int compare(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_line(const void *a, const void *b)
{
	const struct sample *const *x = a, *const *y = b;
	int functions = compare((*x)->function, (*y)->function);

	return functions ? functions : compare((*x)->line, (*y)->line);
}

static int by_leaf(const void *a, const void *b)
{
	const struct sample *const *x = a, *const *y = b;
	int functions = compare((*x)->function, (*y)->function);

	return functions ? functions : compare((*x)->leaf, (*y)->leaf);
}

/* The first sample from `from` on that is of another function or, by `part`, another line or leaf. */
static size_t part_end(const struct sample **all, size_t count, size_t from,
	int (*part)(const void *, const void *), int64_t *out_ns)
{
	size_t end = from;

	for (*out_ns = 0; end < count && !part(&all[from], &all[end]); end++)
		*out_ns += all[end]->weight_ns;
	return end;
}

/* A tally per function in their order, with its line; without `lines` the leaf is added to those. */
static size_t add_up(const struct sample **all, size_t count, bool lines, struct tally *out)
{
	int (*part)(const void *, const void *) = lines ? by_line : by_leaf;
	size_t used = 0, end;
	int64_t most_ns = 0, part_ns;

	qsort(all, count, sizeof *all, part);
	for (size_t i = 0; i < count; i = end) {
		bool first = !i || all[i - 1]->function != all[i]->function;

		if (first && lines)
			out[used] = (struct tally){ .function = all[i]->function };
		used += first;
		most_ns = first ? 0 : most_ns;
		end = part_end(all, count, i, part, &part_ns);
		if (lines)
			out[used - 1].weight_ns += part_ns;
		if (part_ns <= most_ns)
			continue;
		most_ns = part_ns;
		*(lines ? &out[used - 1].line : &out[used - 1].leaf) = lines ? all[i]->line : all[i]->leaf;
	}
	return used;
}

static int largest_first(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->weight_ns > y->weight_ns ? -1 : x->weight_ns < y->weight_ns;
}

static void put_places(struct unattributed *u, const struct tally *all, size_t count, int64_t total_ns,
	struct sb_place_list *to)
{
	to->all = sb_model_alloc(u->model, SB_PLACES_MAX * sizeof *to->all);
	for (size_t i = 0; to->all && i < count && i < SB_PLACES_MAX; i++) {
		double ratio = (double)all[i].weight_ns / (double)total_ns;

		to->all[to->count++] = (struct sb_place){ .function = sb_model_text(u->model,
								  u->run->names[all[i].function].text),
			.file = file_of(u, all[i].function),
			.line = all[i].line,
			.inside = all[i].leaf ? sb_model_text(u->model, u->run->names[all[i].leaf].text)
					      : NULL,
			.ratio = ratio,
			.estimate_s = ratio * to->unattributed_s };
	}
}

static void list(struct unattributed *u, int which, struct sb_place_list *to)
{
	const struct sample **all = malloc((u->count + 1) * sizeof *all);
	struct tally *tallies = malloc((u->count + 1) * sizeof *tallies);
	int64_t total_ns = 0;
	size_t count = 0;

	u->no_memory |= !all || !tallies;
	for (uint32_t i = 0; all && tallies && i < u->count; i++)
		if (is_wanted(u, &u->samples[i], which)) {
			all[count++] = &u->samples[i];
			total_ns += u->samples[i].weight_ns;
		}
	to->sample_count = (int64_t)count;
	if (count) {
		size_t functions = add_up(all, count, true, tallies);

		add_up(all, count, false, tallies);
		count = functions;
		qsort(tallies, count, sizeof *tallies, largest_first);
		put_places(u, tallies, count, total_ns, to);
	}
	free(all);
	free(tallies);
}

static bool is_worth(struct sb_place_list *to, double unattributed_s, double of_s, double worth)
{
	to->unattributed_s = unattributed_s > 0 ? unattributed_s : 0;
	to->ratio = of_s > 0 ? fmin(1, to->unattributed_s / of_s) : 0;
	return to->ratio > worth;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct unattributed *u = calloc(1, sizeof *u);

	if (!u)
		return sb_fail(STROBE_ENOMEM, "no memory for the sampled stacks of '%s'", run->path);
	u->run = run;
	u->model = model;
	v->self = u;
	v->kinds = 1u << SB_EVENT_STACK | 1u << SB_EVENT_CODE_FILE;
	v->event = see_event;
	v->roles = 1u << STROBE_ROLE_GENERATION;
	v->zone = see_generation;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sb_unattributed_panel *to = &model->unattributed;
	struct unattributed *u = self;
	bool generations = !model->generations.whole_run &&
			   is_worth(&to->generations, model->summary.unattributed_s,
				   model->summary.generation_s, WORTH_OF_GENERATIONS);
	bool all = is_worth(&to->run, model->stages.unattributed_s, model->stages.wall_s, WORTH_OF_RUN);
	int err;

	if (!u->count || (!generations && !all))
		return 0;
	err = find_uncovered(u);
	if (err)
		return err;
	if (generations)
		list(u, INSIDE, &to->generations);
	if (all)
		list(u, ANYWHERE, &to->run);
	return u->no_memory ? sb_fail(STROBE_ENOMEM, "no memory for the sampled stacks of '%s'", run->path)
			    : 0;
}

static void done(void *self)
{
	struct unattributed *u = self;

	if (!u)
		return;
	sb_map_done(&u->files);
	sb_map_done(&u->generation_paths);
	sb_map_done(&u->generation_tracks);
	sb_map_done(&u->under);
	free(u->texts);
	free(u->samples);
	free(u);
}

const struct sb_analysis sb_analysis_unattributed = {
	.name = "unattributed",
	.begin = begin,
	.finish = finish,
	.done = done,
};
