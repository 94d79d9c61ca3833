/* What a watch for slow moments (--gpu-trace=slow:1.5) looked at: a run in which nothing was slow says so. And which generations
 * those that were lie in. */
#include "analyze/analysis.h"
#include "analyze/gpu/slow_keys.h"

#include "format/run_keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void take_watch(struct sb_slow_watch *w, double ratio)
{
	if (!(ratio > 1 && ratio <= 1e6)) /* as --gpu-trace takes it */
		return;
	w->known = true;
	w->ratio = ratio > w->ratio ? ratio : w->ratio;
}

static void add(int64_t *sum, int64_t more)
{
	*sum = (*sum < 0 ? 0 : *sum) + more;
}

static void take_judged(struct sb_slow_watch *w, const char *text)
{
	int64_t n[4];

	if (sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &n[0], &n[1], &n[2], &n[3]) != 4)
		return;
	for (int i = 0; i < 4; i++)
		if (n[i] < 0 || n[i] > INT32_MAX)
			return;
	add(&w->steps, n[0]);
	add(&w->steps_judged, n[1]);
	add(&w->generations, n[2]);
	add(&w->generations_judged, n[3]);
}

static const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* "60 of 64 steps", "40 of 44 steps and 3 of 8 generations". */
static const char *judged_words(struct sb_model *model, const struct sb_slow_watch *w)
{
	const char *steps = "", *generations = "";

	if (w->steps_judged)
		steps = sb_model_printf(model, "%" PRId64 " of %" PRId64 " step%s", w->steps_judged, w->steps,
			plural(w->steps));
	if (w->generations_judged)
		generations = sb_model_printf(model, "%" PRId64 " of %" PRId64 " generation%s",
			w->generations_judged, w->generations, plural(w->generations));
	return sb_model_printf(model, "%s%s%s", steps, *steps && *generations ? " and " : "", generations);
}

/* ", 2 gave way to slower ones, 1 to what was asked for" */
static const char *displaced_words(struct sb_model *model, const struct sb_slow_left_out *l)
{
	int64_t to_slower = l->displaced - l->to_asked;
	const char *slower = "", *asked = "";

	if (to_slower)
		slower = sb_model_printf(model, ", %" PRId64 " gave way to %s", to_slower,
			to_slower == 1 ? "a slower one" : "slower ones");
	if (l->to_asked)
		asked = sb_model_printf(model, ", %" PRId64 "%s to what was asked for", l->to_asked,
			to_slower ? "" : " gave way");
	return sb_model_printf(model, "%s%s", slower, asked);
}

/* ", 4 more, none of them slower, were not kept"; each process keeps its own worst ones. */
static const char *unkept_words(struct sb_model *model, const struct sb_slow_left_out *l)
{
	const char *were = l->unkept == 1 ? "was" : "were";

	if (l->unkept < 1)
		return "";
	if (l->order == SB_SLOW_ORDER_UNKNOWN)
		return sb_model_printf(model, ", %" PRId64 " more %s not kept", l->unkept, were);
	if (l->order == SB_SLOW_SLOWER_LOST)
		return sb_model_printf(model,
			", %" PRId64 " more %s not kept (some that were slower were lost)", l->unkept, were);
	return sb_model_printf(model, ", %" PRId64 " more, %s slower%s, %s not kept", l->unkept,
		l->unkept == 1 ? "no" : "none of them",
		l->processes > 1 ? " than those of the same process" : "", were);
}

static const char *kept_words(struct sb_model *model, int64_t count)
{
	return count ? sb_model_printf(
			       model, "%" PRId64 " slow %s kept", count, count == 1 ? "one was" : "ones were")
		     : "no slow one was kept";
}

static const char *result_of(
	struct sb_model *model, const struct sb_slow_watch *w, const struct sb_slow_left_out *left_out)
{
	int64_t judged = w->steps_judged + w->generations_judged;

	if (w->steps < 0)
		return "the program ended before the watch did, what it judged is not known";
	if (!w->steps && !w->generations)
		return "no step and no generation was seen, so nothing could be judged";
	if (!judged)
		return sb_model_printf(model,
			"%" PRId64 " step%s and %" PRId64
			" generation%s are too few to judge any (each needs four before it, of its kind)",
			w->steps, plural(w->steps), w->generations, plural(w->generations));
	if (!w->slow_count && !left_out->displaced && left_out->unkept < 1)
		return sb_model_printf(model, "%s judged, none was slow", judged_words(model, w));
	return sb_model_printf(model, "%s judged, %s%s%s", judged_words(model, w),
		kept_words(model, w->slow_count), displaced_words(model, left_out),
		unkept_words(model, left_out));
}

/* The one generation that it lies in. */
static int64_t generation_of(const struct sb_model *model, const struct sb_slow_moment *s)
{
	const struct sb_generations_panel *g = &model->generations;
	double middle_s = s->t_s + s->duration_s / 2;
	int64_t found = -1;

	for (size_t i = 0; isnan(model->session.cut_to_s) && i < g->listed; i++) {
		if (g->all[i].begin_s > middle_s || g->all[i].end_s < middle_s)
			continue;
		if (found >= 0)
			return -1;
		found = (int64_t)i + 1;
	}
	return found;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sb_slow_watch *w = &model->slow_moments.watch;
	struct sb_slow_left_out left_out;

	(void)self;
	w->steps = w->steps_judged = w->generations = w->generations_judged = -1;
	for (uint32_t i = 0; i < run->meta_count; i++) {
		const struct sb_run_meta *m = &run->metas[i];

		if (m->scope != SB_META_RUN)
			continue;
		if (m->attr.type == STROBE_TYPE_FLOAT && !strcmp(m->attr.key, SB_RUN_SLOW_WATCH))
			take_watch(w, m->attr.f);
		else if (m->attr.type == STROBE_TYPE_STRING && m->attr.s &&
			 !strcmp(m->attr.key, SB_RUN_SLOW_JUDGED))
			take_judged(w, m->attr.s);
	}
	if (sb_slow_keys_left_out(run, &left_out))
		return STROBE_ENOMEM;
	w->displaced = left_out.displaced;
	w->unkept = left_out.unkept;
	for (size_t i = 0; i < model->slow_moments.count; i++) {
		struct sb_slow_moment *s = &model->slow_moments.all[i];

		s->generation = generation_of(model, s);
		w->slow_count += s->judged_by != NULL;
	}
	if (w->known)
		w->words = sb_model_printf(model, "watched for what takes more than %g times its peers: %s",
			w->ratio, result_of(model, w, &left_out));
	return 0;
}

const struct sb_analysis sb_analysis_slow_watch = { .name = "slow_watch", .finish = finish };
