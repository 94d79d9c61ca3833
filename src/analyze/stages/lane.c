/* stage_lane: what the main thread did for most of each part of the run, by the outermost zone that says it: videos,
 * iterations, blocks and steps are looked through, and so is one zone around nearly everything. */
#include "analyze/analysis.h"

#include "base/error.h"
#include "run/events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX 256u /* places in the tree; those after them are left out */
#define DEPTH_MAX 8u
#define AROUND_RATIO 0.9 /* of all top-level time: a zone around everything */

struct slot {
	uint32_t path, role;
	double total_ns, children_ns;
	bool through; /* looked through: it counts where nothing inside it does */
	float part[SB_STAGE_LANE_BINS]; /* of each part's time */
};

struct stage_lane {
	struct sb_run *run;
	double bin_ns;
	uint32_t at_bin; /* where the last zone ended: the next one mostly lies in it as a whole */
	double at_begin_ns, at_end_ns;
	uint16_t *slot_of; /* by path; 0: none yet, else number + 1 */
	uint32_t path_room;
	struct slot *slots;
	uint32_t count;
};

static bool make_room(struct stage_lane *l, uint32_t path)
{
	uint32_t room = l->path_room ? l->path_room : 256;
	uint16_t *more;

	while (room <= path)
		room *= 2;
	more = realloc(l->slot_of, room * sizeof *more);
	if (!more)
		return false;
	memset(more + l->path_room, 0, (room - l->path_room) * sizeof *more);
	l->slot_of = more;
	l->path_room = room;
	return true;
}

static struct slot *slot_at(struct stage_lane *l, uint32_t path)
{
	if (path >= l->path_room && !make_room(l, path))
		return NULL;
	if (!l->slot_of[path]) {
		if (l->count == SLOTS_MAX)
			return NULL;
		l->slots[l->count] = (struct slot){ .path = path };
		l->slot_of[path] = (uint16_t)++l->count;
	}
	return &l->slots[l->slot_of[path] - 1];
}

static const struct slot *slot_of(const struct stage_lane *l, uint32_t path)
{
	return path < l->path_room && l->slot_of[path] ? &l->slots[l->slot_of[path] - 1] : NULL;
}

static void spread(struct slot *s, double begin, double end)
{
	uint32_t i = begin > 0 ? (uint32_t)fmin(begin, SB_STAGE_LANE_BINS) : 0;

	for (; i < SB_STAGE_LANE_BINS && (double)i < end; i++) {
		double from = begin > (double)i ? begin : (double)i, to = end < i + 1.0 ? end : i + 1.0;

		s->part[i] += (float)(to - from);
	}
}

static void go_to_bin(struct stage_lane *l, double end)
{
	double bin = floor(fmin(fmax(end, 0), SB_STAGE_LANE_BINS - 1)), from_ns = (double)l->run->from_ns;

	l->at_bin = (uint32_t)bin;
	l->at_begin_ns = from_ns + bin * l->bin_ns;
	l->at_end_ns = from_ns + (bin + 1) * l->bin_ns;
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct stage_lane *l = self;
	double begin_ns = (double)z->begin_ns, end_ns = (double)z->end_ns;
	struct slot *s;

	if (!l->run->tracks[z->track].main || z->flags & SB_ZONE_SPAN || z->depth >= DEPTH_MAX)
		return;
	s = slot_at(l, z->path);
	if (!s)
		return;
	s->role = z->role;
	s->total_ns += end_ns - begin_ns;
	if (begin_ns >= l->at_begin_ns && end_ns <= l->at_end_ns) {
		s->part[l->at_bin] += (float)((end_ns - begin_ns) / l->bin_ns);
	} else {
		double from_ns = (double)l->run->from_ns, end = (end_ns - from_ns) / l->bin_ns;

		spread(s, (begin_ns - from_ns) / l->bin_ns, end);
		go_to_bin(l, end);
	}
}

/* ---- which of them say what was done ---- */

static bool holds_others(uint32_t role)
{
	return role == STROBE_ROLE_GENERATION || role == STROBE_ROLE_ITERATION || role == STROBE_ROLE_BLOCK ||
	       role == STROBE_ROLE_STEP;
}

static void look_through(struct stage_lane *l)
{
	double top_ns = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t parent = sb_run_path(l->run, l->slots[i].path)->parent;

		if (!parent)
			top_ns += l->slots[i].total_ns;
		else if (slot_of(l, parent))
			l->slots[l->slot_of[parent] - 1].children_ns += l->slots[i].total_ns;
	}
	for (uint32_t i = 0; i < l->count; i++) {
		struct slot *s = &l->slots[i];
		bool around = !sb_run_path(l->run, s->path)->parent && s->total_ns >= AROUND_RATIO * top_ns;

		s->through = s->children_ns * 2 >= s->total_ns && (around || holds_others(s->role));
	}
}

static bool is_shown(const struct stage_lane *l, const struct slot *s)
{
	for (uint32_t path = sb_run_path(l->run, s->path)->parent; path;
		path = sb_run_path(l->run, path)->parent) {
		const struct slot *around = slot_of(l, path);

		if (!around || !around->through)
			return false;
	}
	return true;
}

static int longest_first(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->total_ns > y->total_ns ? -1 : x->total_ns < y->total_ns;
}

/* The shown ones to the front, the longest first. */
static void keep_shown(struct stage_lane *l)
{
	bool shown[SLOTS_MAX];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->count; i++)
		shown[i] = is_shown(l, &l->slots[i]);
	for (uint32_t i = 0; i < l->count; i++)
		if (shown[i])
			l->slots[kept++] = l->slots[i];
	l->count = kept;
	qsort(l->slots, l->count, sizeof *l->slots, longest_first);
}

/* ---- the lane ---- */

static uint8_t name_number(struct sb_stage_lane *out, struct sb_model *model, const char *name)
{
	bool full = out->name_count == SB_STAGE_LANE_NAMES - 1;

	for (size_t i = 0; i < out->name_count; i++)
		if (!strcmp(out->names[i], name))
			return (uint8_t)i;
	if (out->name_count == SB_STAGE_LANE_NAMES)
		return (uint8_t)(SB_STAGE_LANE_NAMES - 1);
	out->names[out->name_count] = sb_model_text(model, full ? "(other stages)" : name);
	if (!out->names[out->name_count])
		return SB_STAGE_LANE_NONE;
	return (uint8_t)out->name_count++;
}

/* Of equals the inner one, whose total is less. */
static const struct slot *longest(const struct stage_lane *l, uint32_t bin, bool through)
{
	const struct slot *best = NULL;

	for (uint32_t i = 0; i < l->count; i++) {
		const struct slot *s = &l->slots[i];

		if (s->through == through && s->part[bin] > 0 && (!best || s->part[bin] >= best->part[bin]))
			best = s;
	}
	return best;
}

/* What most of a part is in: a stage, only what is around stages, or nothing (NULL). */
static const struct slot *most_of(const struct stage_lane *l, uint32_t bin)
{
	const struct slot *stage = longest(l, bin, false), *around = longest(l, bin, true);
	float in_stages = 0, in_stage = stage ? stage->part[bin] : 0,
	      in_around = around ? around->part[bin] : 0;
	float in_none;

	for (uint32_t i = 0; i < l->count; i++)
		in_stages += l->slots[i].through ? 0 : l->slots[i].part[bin];
	in_none = 1 - (in_around > in_stages ? in_around : in_stages);
	in_around -= in_stages;
	if (in_none > in_stage && in_none > in_around)
		return NULL;
	return in_stage >= in_around ? stage : around;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct stage_lane *l = self;
	struct sb_stage_lane *out = &model->stage_lane;

	if (!l || !l->count)
		return 0;
	look_through(l);
	keep_shown(l);
	out->names = sb_model_alloc(model, SB_STAGE_LANE_NAMES * sizeof *out->names);
	out->bins = sb_model_alloc(model, SB_STAGE_LANE_BINS);
	if (!out->names || !out->bins)
		return sb_fail(STROBE_ENOMEM, "no memory for the lane of stages");
	for (uint32_t i = 0; i < SB_STAGE_LANE_BINS; i++) {
		const struct slot *s = most_of(l, i);

		out->bins[i] = s ? name_number(out, model, run->names[sb_run_path(run, s->path)->name].text)
				 : SB_STAGE_LANE_NONE;
	}
	return 0;
}

static void free_lane(void *self)
{
	struct stage_lane *l = self;

	if (!l)
		return;
	free(l->slot_of);
	free(l->slots);
	free(l);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct stage_lane *l;

	(void)model;
	if (run->to_ns <= run->from_ns)
		return 0;
	l = calloc(1, sizeof *l);
	if (l)
		l->slots = malloc(SLOTS_MAX * sizeof *l->slots);
	if (!l || !l->slots) {
		free_lane(l);
		return sb_fail(STROBE_ENOMEM, "no memory for the lane of stages");
	}
	l->run = run;
	l->bin_ns = ((double)run->to_ns - (double)run->from_ns) / SB_STAGE_LANE_BINS;
	*v = (struct sb_visitor){ .self = l, .roles = SB_EVERY_ZONE, .zone = take_zone };
	return 0;
}

const struct sb_analysis sb_analysis_stage_lane = { "stage_lane", begin, finish, free_lane };
