/* What ran while no stage did, and in the stages around the steps. */
#include "report/panels/panel.h"
#include "report/place.h"

static void put_exit(const struct sb_place_list *list, struct sb_buf *out)
{
	char took[32];

	if (!(list->exit_s > 0))
		return;
	sb_text_seconds(took, sizeof took, list->exit_s);
	sb_buf_printf(out, "  %6.1f %% %10s  the end of the process, after the program's last line\n",
		100 * list->exit_s / list->unattributed_s, took);
}

/* What ran there before Python began to be sampled is not known. */
static void put_unsampled(const struct sb_place_list *list, struct sb_buf *out)
{
	char took[32];

	if (list->sample_count < SB_SHARE_SAMPLES_LEAST || !(list->unsampled_s > 0))
		return;
	sb_text_seconds(took, sizeof took, list->unsampled_s);
	sb_buf_printf(out, "  %6.1f %% %10s  %s\n", 100 * list->unsampled_s / list->unattributed_s, took,
		list->launcher ? "not sampled in them" : "not sampled (as before Python began)");
}

static void put_list(
	const struct sb_place_list *list, const char *where, const char *what, struct sb_buf *out)
{
	char took[32];

	if (!list->count && !list->launcher && !(list->exit_s > 0))
		return;
	sb_text_seconds(took, sizeof took, list->unattributed_s);
	sb_buf_printf(out, "  %s: %s (%.1f %%) %s; %s\n", where, took, 100 * list->ratio, what,
		!list->launcher ? "there ran"
		: list->count   ? "the launcher waited for its processes, in which ran"
				: "the launcher waited for its processes");
	for (size_t i = 0; i < list->count; i++)
		sb_place_row(&list->all[i], list->sample_count >= SB_SHARE_SAMPLES_LEAST, out);
	put_exit(list, out);
	put_unsampled(list, out);
}

static void put_around(
	const struct sb_unattributed_panel *u, const struct sb_text_options *options, struct sb_buf *out)
{
	static const char *const phases[] = { "before the steps", "between the steps", "after the steps" };
	bool any = false;

	for (int i = 0; i < SB_PHASE_COUNT; i++) {
		if (u->around[i].count && !any)
			sb_text_heading(out, options, "Around the steps");
		any |= u->around[i].count > 0;
		put_list(&u->around[i], phases[i], "of the generations", out);
	}
}

static void text(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out)
{
	const struct sb_unattributed_panel *u = &model->unattributed;
	int64_t samples;

	put_around(u, options, out);
	if (!u->generations.count && !u->run.count && !u->run.launcher && !(u->run.exit_s > 0))
		return;
	sb_text_heading(out, options, "Unattributed");
	put_list(&u->generations, "in generations", "belong to no stage", out);
	put_list(&u->run, "in the run", "belong to no stage", out);
	if (!u->generations.count && !u->run.count)
		return;
	samples = u->generations.count ? u->generations.sample_count : u->run.sample_count;
	sb_buf_printf(out, "  %s %lld sampled stack%s%s\n",
		samples < SB_SHARE_SAMPLES_LEAST ? "seen in" : "estimated from", (long long)samples,
		samples == 1 ? "" : "s", samples < SB_SHARE_SAMPLES_LEAST ? ": too few for shares" : "");
}

const struct sb_panel sb_panel_unattributed = { .name = "unattributed", .text = text };
