/* Other processes on the program's GPUs: how many there were, and whether they used them. */
#include "advise/sampled.h"
#include "advise/weigh.h"

#define OTHERS_LEAST 0.05 /* on average: fewer round to none */
#define OTHERS_SAMPLES 3 /* fewer samples may all have met the same moment */

/* While this program worked, not while it started. */
struct others {
	double most, mean;
	size_t seen, count; /* samples: with another process, and all */
	double used_percent; /* of the time, on average; NAN: not known */
};

static bool is_meanwhile(const struct sb_model *model, double t_s)
{
	if (model->generations.whole_run && !isfinite(model->stages.startup_end_s))
		return true;
	return sb_weigh_is_warm(model, t_s);
}

/* How much others use the GPU is known only from samples that saw another process: the rest holds a 0 that was not measured. */
static struct others find_meanwhile(const struct sb_model *model, const struct sb_series *s)
{
	const struct sb_series_column *c = sb_series_column_find(s, "other_process_count"),
				      *use = sb_series_column_find(s, "others_utilization_percent");
	struct others o = { .used_percent = NAN };
	double used = 0, known = 0;

	for (size_t i = 0; i < s->count; i++) {
		bool met = c->values[i] > 0;

		if (isnan(c->values[i]) || !is_meanwhile(model, s->t_s[i]))
			continue;
		o.most = fmax(o.most, c->values[i]);
		o.mean += c->values[i];
		o.seen += met;
		o.count++;
		if (met && use && !isnan(use->values[i])) {
			used += use->values[i];
			known++;
		}
	}
	if (known > 0)
		o.used_percent = used / known * (double)o.seen / (double)o.count;
	o.mean = o.count ? o.mean / (double)o.count : c->stats.mean;
	o.most = o.count ? o.most : c->stats.max;
	return o;
}

static const char *use_words(struct sb_advisor *a, const struct others *o)
{
	if (isnan(o->used_percent))
		return "; what it was used for is not known: this driver does not tell it by process";
	return o->used_percent < 0.5
		       ? ", and computed nothing"
		       : sb_say(a, ", and kept it busy for %.0f %% of the time", o->used_percent);
}

static void say(struct sb_advisor *a, int device, const struct others *o)
{
	const char *plural = o->most == 1 ? "" : "es", *use = use_words(a, o);
	bool sampled = o->count >= OTHERS_SAMPLES;
	struct sb_advice *f = sb_advisor_find(a, o->most, NAN,
		sb_say(a, "%.0f other process%s on GPU %d", o->most, plural, device),
		o->count ? sb_say(a, "in %zu of %zu samples of %s, %.1f on average", o->seen, o->count,
				   sb_weigh_words(a->model), o->mean)
			 : sb_say(a, "no sample fell into %s; %.1f on average over the run",
				   sb_weigh_words(a->model), o->mean));

	sb_finding_cause(f,
		sampled ? sb_say(a, "%.0f other process%s had a context on GPU %d, %.0f %% of the time%s",
				  o->most, plural, device, (double)o->seen / (double)o->count * 100, use)
			: sb_say(a, "%.0f other process%s had a context on GPU %d at a time%s", o->most,
				  plural, device, use),
		SB_GAIN_BOUNDED, sampled ? SB_CERTAIN : SB_POSSIBLE);
	if (f && sampled && o->used_percent > 0)
		f->rank_s = sb_weigh_work_s(a->model) * o->used_percent / 100;
	sb_weigh_priority(a, f);
}

void sb_rule_gpu_shared(struct sb_advisor *a)
{
	const struct sb_series *s;

	for (size_t i = 0; (s = sb_sampled_gpu(a->model, &i));) {
		const struct sb_stats *others = sb_sampled_stats(s, "other_process_count");
		struct others o = others && sb_sampled_use(a->model, s) ? find_meanwhile(a->model, s)
									: (struct others){ 0 };

		if (o.most > a->limit && o.mean >= OTHERS_LEAST)
			say(a, s->device, &o);
	}
}
