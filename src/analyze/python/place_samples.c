/* Samples by place: see place_samples.h. */
#include "analyze/python/place_samples.h"

#include "analyze/python/moments.h"
#include "base/python_file.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 1 << 20 };

/* ---- samples ------------------------------------------------------------------ */

static const char *file_of(const struct sb_place_samples *p, uint32_t function)
{
	uint32_t index;

	return sb_map_get(&p->files, function, &index) ? p->texts[index - 1] : NULL;
}

/* What a reader would not look into. A function without a file is the program's. */
static bool is_library(const char *file)
{
	return file && sb_python_is_library(file);
}

/* Files whose functions start processes and wait for them: Python's, torchrun's agent, torch.multiprocessing's spawn. */
static bool is_of_launching(const char *file)
{
	static const char *const tails[] = { "/subprocess.py", "/multiprocessing/popen_fork.py",
		"/torch/distributed/elastic/agent/server/api.py", "/torch/multiprocessing/spawn.py" };
	size_t size = file ? strlen(file) : 0;

	for (size_t i = 0; file && i < sizeof tails / sizeof *tails; i++)
		if (size >= strlen(tails[i]) && !strcmp(file + size - strlen(tails[i]), tails[i]))
			return true;
	return false;
}

static bool waits_for_process(const struct sb_place_samples *p, const struct sb_event *e)
{
	for (uint32_t i = 0; i < e->stack.frame_count; i++)
		if (is_of_launching(file_of(p, e->stack.names[i])))
			return true;
	return false;
}

static void take_stack(struct sb_place_samples *p, const struct sb_event *e)
{
	uint32_t at = 0;

	if (e->stack.native || !e->stack.frame_count || p->count == SAMPLES_MAX)
		return;
	if (!SB_MAKE_ROOM(p->all, p->count, p->capacity)) {
		p->no_memory = true;
		return;
	}
	while (at + 1 < e->stack.frame_count && is_library(file_of(p, e->stack.names[at])))
		at++;
	if (is_library(file_of(p, e->stack.names[at])))
		at = 0;
	p->all[p->count++] = (struct sb_place_sample){ .t_ns = e->t_ns,
		.weight_ns = e->stack.weight_ns > 0 ? e->stack.weight_ns : 1,
		.process = e->process,
		.track = e->track,
		.function = e->stack.names[at],
		.line = e->stack.lines[at],
		.leaf = at ? e->stack.names[0] : 0,
		.waits = e->track < p->run->track_count && p->run->tracks[e->track].main &&
			 waits_for_process(p, e) };
}

static void take_file(struct sb_place_samples *p, const struct sb_event *e)
{
	uint32_t known;

	if (sb_map_get(&p->files, e->name, &known))
		return;
	if (!SB_MAKE_ROOM(p->texts, p->text_count, p->text_room)) {
		p->no_memory = true;
		return;
	}
	p->texts[p->text_count++] = sb_model_text(p->model, e->text);
	p->no_memory |= !sb_map_put(&p->files, e->name, p->text_count);
}

void sb_places_see(struct sb_place_samples *p, const struct sb_event *e)
{
	if (e->kind == SB_EVENT_STACK)
		take_stack(p, e);
	else
		take_file(p, e);
}

void sb_places_begin(
	struct sb_place_samples *p, struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	p->run = run;
	p->model = model;
	v->kinds = 1u << SB_EVENT_STACK | 1u << SB_EVENT_CODE_FILE;
	v->roles = 1u << STROBE_ROLE_GENERATION;
}

void sb_places_sort(struct sb_place_samples *p, int (*order)(const void *, const void *))
{
	if (p->count)
		qsort(p->all, p->count, sizeof *p->all, order);
	for (uint32_t i = 0; i < p->count; i++)
		for (int which = 0; which < SB_PLACE_COVERS; which++)
			p->all[i].next[which] = i;
}

static uint32_t next_open(struct sb_place_samples *p, uint32_t i, int which)
{
	return p->count ? sb_next_free(&p->all->next[which], sizeof *p->all, p->count, i) : 0;
}

void sb_places_cover(struct sb_place_samples *p, uint32_t i, int which,
	bool (*is_inside)(const struct sb_place_sample *s, const void *of), const void *of)
{
	for (i = next_open(p, i, which); i < p->count && is_inside(&p->all[i], of);
		i = next_open(p, i, which)) {
		p->all[i].covered[which] = true;
		p->all[i].next[which] = i + 1;
	}
}

/* ---- the lists ------------------------------------------------------------------ */

struct tally {
	uint32_t function, line, leaf; /* of the lines and of what it had called, those with the most time */
	int64_t weight_ns;
};

static bool is_started(const struct sb_run *run, uint32_t process)
{
	const struct sb_run_process *it = &run->processes[process];

	if (process == run->main_process || it->tool)
		return false;
	for (uint32_t i = 0; i < run->process_count; i++) {
		const struct sb_run_process *other = &run->processes[i];

		if (i != process && i != run->main_process && !other->tool && other->pid == it->ppid)
			return false;
	}
	return true;
}

static bool is_of_main_thread(const struct sb_run *run, const struct sb_place_sample *s)
{
	const struct sb_run_track *t = &run->tracks[s->track];

	return !t->track && t->tid == run->processes[t->process].reader->head.main_tid;
}

uint32_t sb_places_find_started(struct sb_place_samples *p)
{
	uint32_t count = 0;

	free(p->started);
	p->started = calloc(p->run->process_count, 1);
	p->no_memory |= !p->started;
	for (uint32_t i = 0; i < p->count && p->started; i++) {
		uint32_t process = p->all[i].track < p->run->track_count
					   ? p->run->tracks[p->all[i].track].process
					   : p->run->main_process;

		if (!p->started[process] && process != p->run->main_process &&
			is_of_main_thread(p->run, &p->all[i]) && is_started(p->run, process)) {
			p->started[process] = 1;
			count++;
		}
	}
	return count;
}

static bool is_asked(const struct sb_place_samples *p, const struct sb_place_sample *s)
{
	uint32_t unused;

	if (s->track >= p->run->track_count)
		return false;
	if (p->launcher)
		return p->started && p->started[p->run->tracks[s->track].process] &&
		       is_of_main_thread(p->run, s);
	return p->run->tracks[s->track].main || sb_map_get(&p->generation_tracks, s->track, &unused);
}

static int compare(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_line(const void *a, const void *b)
{
	const struct sb_place_sample *const *x = a, *const *y = b;
	int functions = compare((*x)->function, (*y)->function);

	return functions ? functions : compare((*x)->line, (*y)->line);
}

static int by_leaf(const void *a, const void *b)
{
	const struct sb_place_sample *const *x = a, *const *y = b;
	int functions = compare((*x)->function, (*y)->function);

	return functions ? functions : compare((*x)->leaf, (*y)->leaf);
}

/* The first sample from `from` on that is of another function or, by `part`, another line or leaf. */
static size_t part_end(const struct sb_place_sample **all, size_t count, size_t from,
	int (*part)(const void *, const void *), int64_t *out_ns)
{
	size_t end = from;

	for (*out_ns = 0; end < count && !part(&all[from], &all[end]); end++)
		*out_ns += all[end]->weight_ns;
	return end;
}

/* A tally per function in their order, with its line; without `lines` the leaf is added to those. */
static size_t add_up(const struct sb_place_sample **all, size_t count, bool lines, struct tally *out)
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

static void put_places(struct sb_place_samples *p, const struct tally *all, size_t count, int64_t total_ns,
	double seconds, struct sb_place_list *to)
{
	to->all = sb_model_alloc(p->model, SB_PLACES_MAX * sizeof *to->all);
	for (size_t i = 0; to->all && i < count && i < SB_PLACES_MAX; i++) {
		double ratio = (double)all[i].weight_ns / (double)total_ns;

		to->all[to->count++] = (struct sb_place){ .function = sb_model_text(p->model,
								  p->run->names[all[i].function].text),
			.file = file_of(p, all[i].function),
			.line = all[i].line,
			.inside = all[i].leaf ? sb_model_text(p->model, p->run->names[all[i].leaf].text)
					      : NULL,
			.ratio = ratio,
			.estimate_s = ratio * seconds };
	}
}

void sb_places_list(struct sb_place_samples *p, sb_place_wanted wanted, int which, double seconds,
	struct sb_place_list *to)
{
	const struct sb_place_sample **all = malloc((p->count + 1) * sizeof *all);
	struct tally *tallies = malloc((p->count + 1) * sizeof *tallies);
	int64_t total_ns = 0;
	size_t count = 0;

	p->no_memory |= !all || !tallies;
	for (uint32_t i = 0; all && tallies && i < p->count; i++)
		if (is_asked(p, &p->all[i]) && wanted(p, &p->all[i], which)) {
			all[count++] = &p->all[i];
			total_ns += p->all[i].weight_ns;
		}
	to->sample_count = (int64_t)count;
	to->sampled_s = (double)total_ns / 1e9;
	if (count) {
		size_t functions = add_up(all, count, true, tallies);

		add_up(all, count, false, tallies);
		count = functions;
		qsort(tallies, count, sizeof *tallies, largest_first);
		put_places(p, tallies, count, total_ns, seconds, to);
	}
	free(all);
	free(tallies);
}

void sb_places_done(struct sb_place_samples *p)
{
	sb_map_done(&p->files);
	sb_map_done(&p->generation_tracks);
	free(p->texts);
	free(p->all);
	free(p->started);
}
