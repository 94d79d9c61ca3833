/* A finding on the program's lines that were sampled most: whether they were seen often enough, and what was seen. */
#include "advise/blame.h"

#include "advise/weigh.h"

#define SAMPLES_LEAST 3 /* fewer samples may be chance */
#define CROWDING_MOST 4

bool sb_blame_counts(const struct sb_line *l)
{
	return l->main || l->maker || l->generation_s > 0;
}

bool sb_blame_is_seen_enough(const struct sb_model *model, const struct sb_hot *hot)
{
	double least = SAMPLES_LEAST;

	if (hot->line && sb_hot_doing(hot->line) == SB_DOES_COMPUTE)
		least *= fmin(sb_weigh_crowding(model), CROWDING_MOST);
	return hot->line && (double)hot->sample_count >= least;
}

const char *sb_blame_seen(struct sb_advisor *a, const struct sb_hot *hot)
{
	const char *inside = sb_say(a, "%s in %llu samples, of %s of generations%s",
		sb_say_seconds(a, hot->generation_s), (unsigned long long)hot->warm_count,
		sb_say_seconds(a, sb_weigh_work_s(a->model)),
		sb_weigh_leaves_first_out(a->model) ? " after the first" : "");
	const char *outside = sb_say(a, "%s in %llu samples outside of the generations, beside %s of them",
		sb_say_seconds(a, hot->outside_s), (unsigned long long)hot->outside_count,
		sb_say_seconds(a, sb_weigh_work_s(a->model)));

	if (hot->generation_s > 0 && hot->outside_s > 0)
		return sb_say(a, "%s; %s", inside, outside);
	if (hot->outside_s > 0)
		return outside;
	return hot->generation_s > 0 ? inside
				     : sb_say(a, "%s in %llu samples", sb_say_seconds(a, hot->total_s),
					       (unsigned long long)hot->sample_count);
}

struct sb_advice *sb_blame_find(struct sb_advisor *a, const struct sb_hot *hot, double gain_s,
	enum sb_confidence sure, const char *issue)
{
	double percent = sb_weigh_percent(a->model, gain_s);
	struct sb_advice *f;

	if (!sb_blame_is_seen_enough(a->model, hot) || !(percent > a->limit))
		return NULL;
	f = sb_advisor_find(a, percent, gain_s, issue, sb_blame_seen(a, hot));
	sb_finding_cause(f, sb_hot_words(a, hot->line), SB_GAIN_ESTIMATED, sure);
	sb_hot_place(f, hot);
	sb_weigh_priority(a, f);
	return f;
}
