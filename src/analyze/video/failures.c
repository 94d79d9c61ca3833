/* Generations that an error ended, or one of their decodes: which error, what it says, and the innermost stage that it left. The stage follows
 * from the zones: every zone that an error leaves has the attribute `error`. */
#include "analyze/analysis.h"
#include "base/error.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define FAILURES_MOST (1u << 16) /* with their words */
#define LINE_MOST 1e9

struct failure {
	double begin_s, end_s; /* as the generation's row has them */
	uint32_t track;
	const char *error, *message, *file, *stage; /* NULL: not known */
	int64_t line; /* -1: not known */
	bool inside; /* of a stage: the program may have caught the error */
};

/* The zone of a track that ended last, if an error ended it. */
struct left {
	uint64_t error; /* its hash; 0: none, or the zone ended well */
	uint32_t depth;
	uint32_t stage; /* name of the innermost zone that the error left */
};

struct failures {
	struct sb_run *run;
	struct sb_model *model; /* owns the texts */
	struct sb_vec all; /* struct failure */
	struct sb_vec tracks; /* struct left by track, up to the highest one with an error */
	bool any; /* a generation has an error */
	bool no_memory;
};

static uint64_t hash_of(const struct sb_run_attr *error)
{
	uint64_t hash = 14695981039346656037u;

	if (error->type != STROBE_TYPE_STRING)
		return hash;
	for (const char *c = error->s; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211u;
	return hash ? hash : 1;
}

static struct left *left_on(struct failures *f, uint32_t track)
{
	while (f->tracks.count <= track) {
		if (!sb_vec_push(&f->tracks, sizeof(struct left))) {
			f->no_memory = true;
			return NULL;
		}
	}
	return (struct left *)f->tracks.items + track;
}

static const char *text_of(struct failures *f, const struct sb_zone *z, const char *key)
{
	const struct sb_run_attr *attr = sb_attr_find(z->attrs, z->attr_count, key);

	return attr && attr->type == STROBE_TYPE_STRING ? sb_model_text(f->model, attr->s) : NULL;
}

/* A framework that catches the error itself says in which of its parts it was. */
static const char *stage_of(struct failures *f, const struct sb_zone *z, const struct left *inner)
{
	const char *told = text_of(f, z, "error_stage");

	if (told || (!inner && z->role == STROBE_ROLE_GENERATION))
		return told;
	return sb_model_text(f->model, f->run->names[inner ? inner->stage : z->name].text);
}

static void add_failure(struct failures *f, const struct sb_zone *z, const struct left *inner)
{
	double line = sb_attr_number(z->attrs, z->attr_count, "error_line");
	struct failure *n;

	if (z->flags & (SB_ZONE_OPEN | SB_ZONE_CLIPPED | SB_ZONE_WARMING) || f->all.count == FAILURES_MOST)
		return;
	n = sb_vec_push(&f->all, sizeof *n);
	if (!n) {
		f->no_memory = true;
		return;
	}
	n->begin_s = (double)z->begin_ns / 1e9;
	n->end_s = (double)z->end_ns / 1e9;
	n->track = z->track;
	n->error = text_of(f, z, "error");
	n->message = text_of(f, z, "error_message");
	n->file = text_of(f, z, "error_file");
	n->stage = stage_of(f, z, inner);
	n->inside = z->role != STROBE_ROLE_GENERATION;
	n->line = line >= 0 && line < LINE_MOST ? (int64_t)line : -1;
}

/* Zones come as they end, inner ones first. An error that leaves a zone has left the inner one that ended last as well,
 * if that one has the same error. After an inner zone that ended well, the error is taken as the outer zone's own: the
 * program may have caught an earlier one. */
static void see_error(struct failures *f, const struct sb_zone *z, const struct sb_run_attr *error)
{
	struct left *last = left_on(f, z->track);
	uint64_t hash = hash_of(error);
	bool is_inner;

	if (!last)
		return;
	is_inner = last->error == hash && last->depth > z->depth;
	add_failure(f, z, is_inner ? last : NULL);
	*last = (struct left){ hash, z->depth, is_inner ? last->stage : z->name };
}

static void see_zone(void *self, const struct sb_zone *z)
{
	const struct sb_run_attr *error = z->attr_count ? sb_attr_find(z->attrs, z->attr_count, "error")
							: NULL;
	struct failures *f = self;

	if (z->flags & SB_ZONE_SPAN) { /* it may overlap others: nothing is inside it */
		if (error && z->role == STROBE_ROLE_GENERATION)
			add_failure(f, z, NULL);
	} else if (error) {
		see_error(f, z, error);
	} else if (z->track < f->tracks.count) {
		((struct left *)f->tracks.items)[z->track].error = 0;
	}
}

/* ---- the analysis ---------------------------------------------------------- */

static void see_generation(void *self, const struct sb_zone *z)
{
	struct failures *f = self;

	f->any = f->any || sb_attr_find(z->attrs, z->attr_count, "error");
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *visitor)
{
	struct failures *f = calloc(1, sizeof *f);

	if (!f)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse generations");
	f->run = run;
	f->model = model;
	*visitor = (struct sb_visitor){
		.self = f,
		.roles = SB_EVERY_ZONE,
		.only_with_attrs = true,
		.zone = see_generation,
	};
	return 0;
}

/* A pass of its own, so that a run in which no generation failed does not pay for a look at every zone. */
static int find_failures(struct failures *f)
{
	struct sb_visitor v = { .self = f, .roles = SB_EVERY_ZONE, .zone = see_zone };
	int err = f->any ? sb_run_visit(f->run, &v, 1) : 0;

	return !err && f->no_memory ? sb_fail(STROBE_ENOMEM, "no memory to analyse generations") : err;
}

static int by_time_and_track(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	if (x->begin_s != y->begin_s)
		return x->begin_s < y->begin_s ? -1 : 1;
	if (x->end_s != y->end_s)
		return x->end_s < y->end_s ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->inside - y->inside;
}

/* Of a generation that caught the error itself: the last stage that an error left, the outermost one. */
static const struct failure *inside_of(const struct failures *f, const struct sb_generation *row)
{
	const struct failure *all = f->all.items, *found = NULL;
	size_t low = 0, high = f->all.count;

	while (low < high) { /* the first that begins in it */
		size_t middle = low + (high - low) / 2;

		if (all[middle].begin_s < row->begin_s)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i < f->all.count && all[i].begin_s <= row->end_s; i++)
		if (all[i].inside && all[i].end_s <= row->end_s && (!found || all[i].begin_s >= found->end_s))
			found = &all[i];
	return found;
}

static void tell(struct sb_model *model, const struct failure *f, struct sb_generation *row)
{
	const char *file = f->file && strrchr(f->file, '/') ? strrchr(f->file, '/') + 1 : f->file;
	bool placed = file && f->line >= 0;

	row->error = f->error ? f->error : "error";
	row->error_message = f->message;
	row->error_stage = f->stage;
	row->error_place = placed ? sb_model_printf(model, "%s:%lld", f->file, (long long)f->line) : NULL;
	row->failure = sb_model_printf(model, "%s%s%s%s%s%s", row->error, f->message ? ": " : "",
		f->message ? f->message : "",
		placed ? sb_model_printf(model, " (%s:%lld)", file, (long long)f->line) : "",
		f->stage ? " in " : "", f->stage ? f->stage : "");
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	static const struct failure unknown = { .line = -1 };
	struct failures *f = self;
	int err = find_failures(f);

	(void)run;
	if (err)
		return err;
	if (f->all.count)
		qsort(f->all.items, f->all.count, sizeof unknown, by_time_and_track);
	for (size_t i = 0; i < model->generations.count; i++) {
		struct sb_generation *row = &model->generations.all[i];
		struct failure key = { .begin_s = row->begin_s, .end_s = row->end_s, .track = row->track };
		const struct failure *found;

		if (!row->state || strcmp(row->state, "failed") != 0)
			continue;
		found = f->all.count
				? bsearch(&key, f->all.items, f->all.count, sizeof key, by_time_and_track)
				: NULL;
		found = found ? found : inside_of(f, row);
		tell(model, found ? found : &unknown, row);
	}
	return 0;
}

static void done(void *self)
{
	struct failures *f = self;

	if (!f)
		return;
	sb_vec_done(&f->all);
	sb_vec_done(&f->tracks);
	free(f);
}

const struct sb_analysis sb_analysis_failures = {
	.name = "failures",
	.begin = begin,
	.finish = finish,
	.done = done,
};
