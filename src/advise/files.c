/* Rules on what goes out and what comes in: results that are written, input that is waited for. */
#include "advise/blame.h"
#include "advise/weigh.h"

#include "base/role.h"

#include <string.h>

static bool is_export_stage(const struct sb_line *l)
{
	return l->stage && sb_role_work(l->stage, 0) == STROBE_ROLE_EXPORT;
}

static bool is_export(const struct sb_model *model, const struct sb_line *l)
{
	enum sb_doing doing = sb_hot_doing(l);
	bool stage = is_export_stage(l);

	if (!sb_blame_counts(l) || l->step_s > 0 || (!stage && l->among_s > 0) ||
		((doing == SB_DOES_WAIT_GPU || doing == SB_DOES_COPY) && sb_weigh_has_gpu(model)))
		return false;
	if (doing == SB_DOES_COMPUTE && sb_hot_only_waits(model, l))
		return false; /* what the line does is not known, where its file is not at hand */
	return stage || (doing == SB_DOES_WRITE && (l->generation_s > 0 || l->outside_s > 0));
}

/* Pictures and videos; a line that writes otherwise may write a log. */
static bool writes_frames(const struct sb_line *l)
{
	static const char *const words[] = { "compress(", ".save(", "imwrite(", "export_to", "write_video(",
		"append_data(", "mimsave(", "mimwrite(" };
	static const char *const inner[] = { "PngImagePlugin.", "ImageFile.", "Image.save", "imageio" };

	for (size_t i = 0; l->text && i < sizeof words / sizeof *words; i++)
		if (strstr(l->text, words[i]))
			return true;
	for (size_t i = 0; l->inner && i < sizeof inner / sizeof *inner; i++)
		if (strstr(l->inner, inner[i]))
			return true;
	return is_export_stage(l);
}

/* Written while the next generation is made, all exports but the last cost nothing. */
static void weigh_export(struct sb_advisor *a, struct sb_advice *f, const struct sb_hot *hot)
{
	const struct sb_generations_panel *g = &a->model->generations;
	double count = (double)g->count, all_s;

	if (!f || g->whole_run)
		return;
	if (g->count < 2) {
		f->suggestion = "Use a faster format (H.264 by NVENC, PNG level 1, raw frames through a "
				"pipe), or write each frame as soon as it is decoded.";
		sb_finding_cause(f, f->cause, SB_GAIN_BOUNDED, SB_LIKELY);
		return;
	}
	all_s = hot->generation_s / sb_weigh_warm_share(a->model) + hot->outside_s;
	f->saves_s = f->rank_s = fmin(all_s * (count - 1) / count, a->model->stages.wall_s);
	f->evidence = sb_say(a, "%s; all but the last of %zu can be written while the next one is made",
		f->evidence, g->count);
	sb_weigh_priority(a, f);
}

static const char *export_issue(struct sb_advisor *a, const struct sb_hot *hot)
{
	const char *what = hot->line && writes_frames(hot->line) ? "writing the results" : "writing to files";

	if (hot->outside_s > hot->generation_s)
		return sb_say(a, "%s takes %s %s", what, sb_say_seconds(a, hot->outside_s),
			a->model->generations.count < 2 ? "after the generation" : "beside the generations");
	return sb_say(a, "%s takes %.0f %% of %s", what, sb_weigh_percent(a->model, hot->generation_s),
		sb_weigh_words(a->model));
}

void sb_rule_slow_export(struct sb_advisor *a)
{
	struct sb_hot hot = sb_hot_find(a->model, is_export);
	struct sb_advice *f;

	hot.generation_s *= 1 - sb_hot_ahead_ratio(a->model, hot.line);
	f = sb_blame_find(a, &hot, hot.generation_s + hot.outside_s, SB_LIKELY, export_issue(a, &hot));
	weigh_export(a, f, &hot);
	sb_hot_say_ahead(a, f, &hot);
	if (f && hot.line->text && strstr(hot.line->text, "fsync("))
		f->suggestion = "Leave fsync() to the end of the run: it waits for the disk each time.";
	else if (f && !writes_frames(hot.line))
		f->suggestion = "Write in a thread of its own while the next generation runs, less often, or "
				"not at all.";
}

static double first_begin_s(const struct sb_model *model)
{
	return model->generations.count && !model->generations.whole_run ? model->generations.all[0].begin_s
									 : INFINITY;
}

/* After the first generation has begun: what comes before is the start. */
static bool is_input(const struct sb_model *model, const struct sb_line *l)
{
	return l->main && l->to_s > first_begin_s(model) && sb_hot_doing(l) == SB_DOES_WAIT_INPUT && l->stage;
}

void sb_rule_input_starved(struct sb_advisor *a)
{
	struct sb_hot hot = sb_hot_find(a->model, is_input);
	double spent_s = hot.generation_s + hot.outside_s;
	struct sb_advice *f = sb_blame_find(a, &hot, spent_s, SB_LIKELY,
		sb_say(a, "the generations wait for their input: %.0f %% beside their own time",
			spent_s / sb_weigh_work_s(a->model) * 100));

	if (f)
		f->stage = f->where.stage;
}
