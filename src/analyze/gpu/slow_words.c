/* Where the time of a slow moment went, in a sentence. */
#include "analyze/gpu/slow_words.h"

#include "analyze/gpu/short_names.h"
#include "stats/seconds.h"

#include <math.h>
#include <string.h>

#define NAME_MOST 64u

static const struct sb_slow_part *first_part(const struct sb_slow_moment *s, const char *kind)
{
	for (size_t i = 0; i < s->part_count; i++)
		if (!strcmp(s->parts[i].kind, kind))
			return &s->parts[i];
	return NULL;
}

/* Kernels or copies, whichever took longer. */
static const struct sb_slow_part *most_work(const struct sb_slow_moment *s)
{
	const struct sb_slow_part *kernel = first_part(s, "kernel"), *copy = first_part(s, "copy");

	return !kernel || (copy && copy->more_s > kernel->more_s) ? copy : kernel;
}

/* A kernel's name may be a hundred letters long: the list below has all of it. */
static const char *brief(struct sb_model *model, const char *name)
{
	char short_name[SB_SHORT_NAME_SIZE];
	int most = NAME_MOST - 1;

	if (sb_kernel_short_name(name, false, short_name))
		name = short_name;
	if (strlen(name) <= NAME_MOST)
		return sb_model_text(model, name);
	while (most > 0 && ((unsigned char)name[most] & 0xc0) == 0x80)
		most--;
	return sb_model_printf(model, "%.*s…", most, name);
}

static const char *plus(struct sb_model *model, double s)
{
	char text[32];

	sb_text_seconds(text, sizeof text, s);
	return sb_model_text(model, text);
}

/* ", 20 instead of 0 calls"; of as many as usual nothing is said. */
static const char *counts_of(struct sb_model *model, const struct sb_slow_part *p, const char *calls)
{
	if (p->count == p->normal_count)
		return "";
	return sb_model_printf(
		model, ", %lld instead of %lld%s", (long long)p->count, (long long)p->normal_count, calls);
}

/* "; Python was at f (x.py:12), in threading.Condition.wait", where it was there for half of what is to be explained. Where it
 * collected garbage for as long no place is to blame. */
static const char *at_place(
	struct sb_model *model, const struct sb_slow_moment *s, const char *lead, double explained_s)
{
	const struct sb_slow_part *f = first_part(s, "function"), *g = first_part(s, "garbage");

	if (g && g->more_s >= explained_s / 2)
		return sb_model_printf(model, "%s Python collected garbage for %s", *lead == ';' ? ";" : ",",
			plus(model, g->total_s));
	if (!f || f->more_s < explained_s / 2)
		return "";
	return sb_model_printf(model, "%s%.200s%s%.80s", lead, f->place, f->inside ? ", in " : "",
		f->inside ? f->inside : "");
}

/* No stage explains it: what Python did, or where no sample tells, that it was between two steps. */
static const char *outside_stages(struct sb_model *model, const struct sb_slow_moment *s, double more_s)
{
	const struct sb_slow_part *function = first_part(s, "function"), *garbage = first_part(s, "garbage");

	if (garbage && garbage->more_s >= more_s / 2)
		return sb_model_printf(
			model, "Python collected garbage for %s", plus(model, garbage->total_s));
	if (function)
		return sb_model_printf(model, "%.200s%s%.80s took %s longer", function->place,
			function->inside ? ", in " : "", function->inside ? function->inside : "",
			plus(model, function->more_s));
	if (s->judged_by && !strcmp(s->judged_by, "pause"))
		return sb_model_printf(model, "the pause after the step took %s longer, outside all zones",
			plus(model, more_s));
	return NULL;
}

/* Half of what it took longer names the place; else the largest stage. */
const char *sb_slow_words(struct sb_model *model, const struct sb_slow_moment *s)
{
	double more_s = fmax(s->duration_s - s->normal_s, s->work_s - s->normal_work_s);
	const struct sb_slow_part *work = most_work(s), *stage = first_part(s, "stage");

	if (isnan(s->normal_s) || !(more_s > 0))
		return NULL; /* of what was asked for the rest was still to come */
	if (work && s->work_s - s->normal_work_s >= more_s / 2)
		return sb_model_printf(model, "the GPU worked %s longer: %s %s more%s%s",
			plus(model, s->work_s - s->normal_work_s), brief(model, work->name),
			plus(model, work->more_s), counts_of(model, work, ""),
			at_place(model, s, "; Python was at ", more_s));
	if (s->idle_s - s->normal_idle_s >= more_s / 2)
		return sb_model_printf(model, "the GPU waited %s longer%s%.160s%s",
			plus(model, s->idle_s - s->normal_idle_s), stage ? "; the CPU was in " : "",
			stage ? stage->name : "",
			at_place(model, s, stage ? ", at " : "; Python was at ", more_s));
	if (stage)
		return sb_model_printf(model, "%.160s took %s longer%s%s", stage->name,
			plus(model, stage->more_s), counts_of(model, stage, " calls"),
			at_place(model, s, ", at ", stage->more_s));
	return outside_stages(model, s, more_s);
}

const char *sb_slow_row_words(struct sb_model *model, const char *what, const struct sb_slow_row *row)
{
	const char *ratio = "";

	if (row->slowest_ratio >= 1)
		ratio = sb_model_printf(model, "slowest %.1f x", row->slowest_ratio);
	if (row->first_step >= 0 && row->last_step - row->first_step == row->count - 1)
		return sb_model_printf(model, "steps %lld-%lld (%lld in a row%s%s)",
			(long long)row->first_step, (long long)row->last_step, (long long)row->count,
			*ratio ? "; " : "", ratio);
	return sb_model_printf(model, "%lld %.20ss in a row%s%s%s", (long long)row->count, what,
		*ratio ? " (" : "", ratio, *ratio ? ")" : "");
}
