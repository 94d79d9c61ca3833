/* Where weights lay at a moment. A model that moves says after each move how much of it lies where from then on; while it moves,
 * its bytes go over evenly. Recordings of an older strobe have the lists alone: models that were moved in the generations are
 * left out then, as it is not known where they lay. */
#include "analyze/memory/weights.h"

#include "analyze/memory/residents.h"

#include "base/inorder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_MOST 4096u
#define MOVES_MOST (1u << 18)
#define MOVE_LEAST (1 << 20) /* bytes; of smaller models moves are not recorded */
#define WEIGHTS_OF "weights of "

enum place { KNOWN, BY_MOVES, UNPLACED };

struct listed_weights {
	int64_t t_ns, set, device;
	uint32_t process;
	const char *component, *dtype;
	double bytes;
	enum place place;
};

struct moved_weights {
	int64_t t_ns, device, took_ns;
	uint32_t process;
	const char *component, *dtype;
	double bytes, before; /* before: until then */
};

struct sb_weights_line { /* moves of one dtype of a component, in one place */
	size_t first, count;
};

/* ---- collecting ---- */

static int64_t int_attr(const struct sb_event *e, const char *key, int64_t otherwise)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	return a && a->type == STROBE_TYPE_INT ? a->i : otherwise;
}

static void see_listed(
	struct sb_weights *w, struct sb_model *model, const struct sb_event *e, const char *component)
{
	struct listed_weights *l = w->listed.count == LISTED_MOST ? NULL : sb_vec_push(&w->listed, sizeof *l);

	if (l)
		*l = (struct listed_weights){ e->t_ns, int_attr(e, "set", 0), int_attr(e, "device", -1),
			e->process, component, sb_event_text(model, e, "dtype"),
			(double)int_attr(e, "bytes", 0), KNOWN };
	else
		w->failed |= w->listed.count < LISTED_MOST;
}

static void see_moved(
	struct sb_weights *w, struct sb_model *model, const struct sb_event *e, const char *component)
{
	int64_t bytes = int_attr(e, "bytes", 0), device = int_attr(e, "device", -1);
	struct moved_weights *m = w->moves.count == MOVES_MOST ? NULL : sb_vec_push(&w->moves, sizeof *m);

	w->too_many |= w->moves.count == MOVES_MOST;
	if (m)
		*m = (struct moved_weights){ e->t_ns, device < 0 ? -1 : device, int_attr(e, "took_ns", 0),
			e->process, component, sb_event_text(model, e, "dtype"), (double)bytes,
			(double)int_attr(e, "before_bytes", bytes) };
	else
		w->failed |= !w->too_many;
}

void sb_weights_see(struct sb_weights *w, struct sb_model *model, const struct sb_event *e)
{
	const struct sb_run_attr *at = sb_attr_find(e->attrs, e->attr_count, "at");
	const char *component;

	if (!at || at->type != STROBE_TYPE_STRING)
		return;
	component = sb_event_text(model, e, "component");
	if (component && !strcmp(at->s, "generation"))
		see_listed(w, model, e, component);
	else if (component && !strcmp(at->s, "move"))
		see_moved(w, model, e, component);
}

/* ---- lines of moves ---- */

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_line(const struct moved_weights *x, const struct moved_weights *y)
{
	int order = compare_text(x->component, y->component);

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	order = order ? order : compare_text(x->dtype, y->dtype);
	return order ? order : (x->device > y->device) - (x->device < y->device);
}

static int by_line_and_time(const void *a, const void *b)
{
	const struct moved_weights *x = a, *y = b;
	int order = by_line(x, y);

	return order ? order : (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static void find_lines(struct sb_weights *w)
{
	const struct moved_weights *all = w->moves.items;
	struct sb_weights_line *line = NULL;

	if (w->moves.count)
		qsort(w->moves.items, w->moves.count, sizeof *all, by_line_and_time);
	for (size_t i = 0; i < w->moves.count && !w->failed; i++) {
		if (!line || by_line(&all[line->first], &all[i])) {
			line = sb_vec_push(&w->lines, sizeof *line);
			w->failed |= !line;
			if (line)
				line->first = i;
		}
		if (line)
			line->count++;
	}
}

static bool has_moves(const struct sb_weights *w, const struct listed_weights *l)
{
	const struct moved_weights *all = w->moves.items;
	const struct sb_weights_line *lines = w->lines.items;

	for (size_t i = 0; i < w->lines.count; i++)
		if (all[lines[i].first].process == l->process &&
			!strcmp(all[lines[i].first].component, l->component))
			return true;
	return false;
}

/* Offloaded or fetched in the generations, as their stages say. */
static bool is_offloaded(const struct sb_model *model, const char *component)
{
	const struct sb_stage *s;
	char name[256];

	if (strncmp(component, WEIGHTS_OF, strlen(WEIGHTS_OF)) != 0)
		return false;
	snprintf(name, sizeof name, "offload:%s", component + strlen(WEIGHTS_OF));
	s = sb_model_stage(model, name);
	return s && s->in_generation;
}

static void add_unplaced(struct sb_weights *w, struct sb_model *model, const char *component)
{
	for (size_t i = 0; i < w->unplaced_count; i++)
		if (!strcmp(w->unplaced[i], component))
			return;
	if (!w->unplaced)
		w->unplaced = sb_model_alloc(model, w->listed.count * sizeof *w->unplaced);
	w->failed |= !w->unplaced;
	if (w->unplaced)
		w->unplaced[w->unplaced_count++] = component;
}

void sb_weights_prepare(struct sb_weights *w, struct sb_model *model)
{
	struct listed_weights *all = w->listed.items;

	if (w->too_many) /* the last ones are missing, so none says where anything lies at the end */
		w->moves.count = 0;
	find_lines(w);
	for (size_t i = 0; i < w->listed.count && !w->failed; i++) {
		if (has_moves(w, &all[i]))
			all[i].place = BY_MOVES;
		else if (is_offloaded(model, all[i].component) &&
			 (!w->moves.count || all[i].bytes >= MOVE_LEAST))
			all[i].place = UNPLACED;
		if (all[i].place == UNPLACED)
			add_unplaced(w, model, all[i].component);
	}
}

bool sb_weights_any(const struct sb_weights *w)
{
	return w->listed.count || w->moves.count;
}

/* ---- at a moment ---- */

static void add(struct sb_weights_held *h, const char *component, const char *dtype, double bytes)
{
	size_t i = 0;

	if (!(bytes > 0))
		return;
	while (i < h->count && (strcmp(h->parts[i].component, component) != 0 ||
				       compare_text(h->parts[i].dtype, dtype) != 0))
		i++;
	if (i == SB_WEIGHTS_MOST)
		return;
	if (i == h->count)
		h->parts[h->count++] = (struct sb_resident){ component, dtype, 0 };
	h->parts[i].bytes += bytes;
	h->sum += bytes;
}

/* The number of a list; -1: there is none. */
static int64_t set_at(const struct sb_weights *w, double t_s, bool nearest)
{
	const struct listed_weights *all = w->listed.items;
	double best = INFINITY;
	int64_t set = w->listed.count ? all[0].set : -1;

	for (size_t i = 0; i < w->listed.count; i++) {
		double ago = t_s - (double)all[i].t_ns / 1e9, off = nearest ? fabs(ago) : ago;

		if (off >= 0 && (nearest ? off < best : off <= best)) {
			best = off;
			set = all[i].set;
		}
	}
	return set;
}

static double moved_at(const struct moved_weights *line, size_t count, double t_s)
{
	int64_t t_ns = t_s < (double)INT64_MAX / 1e9 ? (int64_t)llround(t_s * 1e9) : INT64_MAX;
	size_t after = sb_first_after(&line->t_ns, sizeof *line, count, t_ns);
	double begin_s, done;

	if (after == count)
		return line[count - 1].bytes;
	begin_s = (double)(line[after].t_ns - line[after].took_ns) / 1e9;
	if (t_s <= begin_s || !line[after].took_ns)
		return line[after].before;
	done = (t_s - begin_s) / ((double)line[after].took_ns / 1e9);
	return line[after].before + done * (line[after].bytes - line[after].before);
}

void sb_weights_at(
	const struct sb_weights *w, int64_t device, double t_s, bool nearest, struct sb_weights_held *out)
{
	const struct listed_weights *all = w->listed.items;
	const struct moved_weights *moves = w->moves.items;
	const struct sb_weights_line *lines = w->lines.items;
	int64_t set = set_at(w, t_s, nearest);

	out->count = 0;
	out->sum = 0;
	for (size_t i = 0; i < w->listed.count; i++)
		if (all[i].set == set && all[i].device == device && all[i].place == KNOWN)
			add(out, all[i].component, all[i].dtype, all[i].bytes);
	for (size_t i = 0; i < w->lines.count; i++) {
		const struct moved_weights *line = &moves[lines[i].first];

		if (line->device == device)
			add(out, line->component, line->dtype, moved_at(line, lines[i].count, t_s));
	}
}

void sb_weights_done(struct sb_weights *w)
{
	sb_vec_done(&w->listed);
	sb_vec_done(&w->moves);
	sb_vec_done(&w->lines);
}
