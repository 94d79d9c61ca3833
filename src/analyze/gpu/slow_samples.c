/* Samples of slow moments by place: see slow_samples.h. A thread that only waits beside the one that steps says
 * nothing about a slow step, and is left out. */
#include "analyze/gpu/slow_samples.h"

#include "base/python_file.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES_MOST (1u << 20)
#define SAMPLES_LEAST 2

struct sample {
	int64_t weight_ns;
	uint32_t side, track;
	uint32_t function, line; /* the program's or the pipeline's */
	uint32_t leaf; /* of a library: what it had called; 0: none */
};

static const char *file_of(const struct sb_slow_samples *s, uint32_t function)
{
	uint32_t index;

	return sb_map_get(&s->files, function, &index) ? ((const char **)s->texts.items)[index] : NULL;
}

void sb_slow_samples_file(struct sb_slow_samples *s, const struct sb_event *e)
{
	const char **text;

	if (file_of(s, e->name))
		return;
	text = sb_vec_push(&s->texts, sizeof *text);
	if (text)
		*text = sb_model_text(s->model, e->text);
	s->no_memory |= !text || !sb_map_put(&s->files, e->name, (uint32_t)s->texts.count - 1);
}

static bool is_library(const struct sb_slow_samples *s, uint32_t function)
{
	const char *file = file_of(s, function);

	return file && sb_python_is_library(file);
}

void sb_slow_samples_take(
	struct sb_slow_samples *s, uint32_t side, int64_t begin_ns, const struct sb_event *e)
{
	int64_t inside_ns = e->t_ns - begin_ns;
	uint32_t at = 0;
	struct sample *sample;

	if (e->stack.native || !e->stack.frame_count || s->all.count == SAMPLES_MOST)
		return;
	while (at + 1 < e->stack.frame_count && is_library(s, e->stack.names[at]))
		at++;
	if (is_library(s, e->stack.names[at]))
		at = 0;
	sample = sb_vec_push(&s->all, sizeof *sample);
	s->no_memory |= !sample;
	if (sample)
		*sample = (struct sample){ e->stack.weight_ns < inside_ns ? e->stack.weight_ns : inside_ns,
			side, e->track, e->stack.names[at], e->stack.lines[at], at ? e->stack.names[0] : 0 };
}

/* ---- whose they are ---- */

static bool is_of(const struct sb_slow_samples *s, const struct sb_slow_thread *of, const struct sample *it)
{
	const struct sb_run_track *t;

	if (it->side != of->side)
		return false;
	if (of->track != UINT32_MAX)
		return it->track == of->track;
	t = it->track < s->run->track_count ? &s->run->tracks[it->track] : NULL;
	return t && !t->track && t->process == of->process &&
	       t->tid == s->run->processes[t->process].reader->head.main_tid;
}

/* ---- by place ---- */

static int by_function(const void *a, const void *b)
{
	const struct sample *const *x = a, *const *y = b;

	return (*x)->function < (*y)->function ? -1 : (*x)->function > (*y)->function;
}

static int by_line(const void *a, const void *b)
{
	const struct sample *const *x = a, *const *y = b;

	return (*x)->line < (*y)->line ? -1 : (*x)->line > (*y)->line;
}

static int by_leaf(const void *a, const void *b)
{
	const struct sample *const *x = a, *const *y = b;

	return (*x)->leaf < (*y)->leaf ? -1 : (*x)->leaf > (*y)->leaf;
}

/* Of the samples of one function in the slow side, one of those whose line or leaf has the most time. */
static const struct sample *most_of(
	const struct sample **all, size_t count, uint32_t side, int (*order)(const void *, const void *))
{
	const struct sample *best = all[0];
	int64_t best_ns = -1, ns = 0;

	qsort(all, count, sizeof *all, order);
	for (size_t i = 0; i < count; i++) {
		if (!i || order(&all[i - 1], &all[i]))
			ns = 0;
		ns += all[i]->side == side ? all[i]->weight_ns : 0;
		if (all[i]->side == side && ns > best_ns) {
			best_ns = ns;
			best = all[i];
		}
	}
	return best;
}

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

/* "WanPipeline.__call__ (pipeline_wan.py:580)"; the module is named once. */
static const char *place_of(struct sb_model *model, const struct sb_slow_part *p)
{
	const char *base = p->file ? base_name(p->file) : "", *name = p->name;
	size_t stem = strcspn(base, ".");

	if (stem && !strncmp(name, base, stem) && name[stem] == '.')
		name += stem + 1;
	if (!p->line)
		return p->name;
	return p->file ? sb_model_printf(model, "%.120s (%.60s:%u)", name, base, (unsigned)p->line)
		       : sb_model_printf(model, "%.120s:%u", name, (unsigned)p->line);
}

/* The samples are of one function. */
static struct sb_slow_part add_up(
	struct sb_slow_samples *s, const struct sample **all, size_t count, uint32_t slow_side)
{
	struct sb_slow_part p = { .kind = "function" };
	uint32_t leaf;

	for (size_t i = 0; i < count; i++) {
		bool slow = all[i]->side == slow_side;

		*(slow ? &p.count : &p.normal_count) += 1;
		*(slow ? &p.total_s : &p.normal_s) += (double)all[i]->weight_ns / 1e9;
	}
	p.more_s = p.total_s - p.normal_s;
	p.name = sb_model_text(s->model, s->run->names[all[0]->function].text);
	p.file = file_of(s, all[0]->function);
	p.line = most_of(all, count, slow_side, by_line)->line;
	leaf = most_of(all, count, slow_side, by_leaf)->leaf;
	p.inside = leaf ? sb_model_text(s->model, s->run->names[leaf].text) : NULL;
	p.place = place_of(s->model, &p);
	return p;
}

static int by_more(const void *a, const void *b)
{
	const struct sb_slow_part *x = a, *y = b;

	if (x->more_s != y->more_s)
		return x->more_s < y->more_s ? 1 : -1;
	return strcmp(x->name, y->name);
}

static size_t keep_largest(struct sb_slow_part *rows, size_t count, struct sb_slow_part *out, size_t most)
{
	if (count)
		qsort(rows, count, sizeof *rows, by_more);
	count = count < most ? count : most;
	memcpy(out, rows, count * sizeof *rows);
	return count;
}

size_t sb_slow_samples_parts(struct sb_slow_samples *s, const struct sb_slow_thread *slow,
	const struct sb_slow_thread *normal, double least_s, struct sb_slow_part *out, size_t most)
{
	const struct sample *samples = s->all.items, **of = malloc((s->all.count + 1) * sizeof *of);
	struct sb_slow_part *rows = malloc((s->all.count + 1) * sizeof *rows);
	size_t count = 0, used = 0, end;

	s->no_memory |= !of || !rows;
	for (size_t i = 0; of && rows && i < s->all.count; i++)
		if (is_of(s, slow, &samples[i]) || is_of(s, normal, &samples[i]))
			of[count++] = &samples[i];
	if (count)
		qsort(of, count, sizeof *of, by_function);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && of[end]->function == of[i]->function; end++)
			;
		rows[used] = add_up(s, &of[i], end - i, slow->side);
		used += rows[used].count >= SAMPLES_LEAST && rows[used].more_s > 0 &&
			rows[used].more_s >= least_s;
	}
	used = rows ? keep_largest(rows, used, out, most) : 0;
	free(of);
	free(rows);
	return used;
}

void sb_slow_samples_done(struct sb_slow_samples *s)
{
	sb_map_done(&s->files);
	sb_vec_done(&s->texts);
	sb_vec_done(&s->all);
}
