/* The longest times that no stage covers, and the one among them that comes once. */
#include "analyze/stages/split.h"
#include "stats/longest.h"

enum { GAPS_MOST = 20 };

#define PEERS_LEAST 3 /* fewer do not tell what is usual */
#define FAR_LONGER 4 /* times as long as the longest of its peers */

static void offer(struct sb_stages_panel *s, double t_s, double duration_s)
{
	const struct sb_longest list = { s->gaps, sizeof *s->gaps, offsetof(struct sb_uncovered, duration_s),
		GAPS_MOST };
	struct sb_uncovered *place = sb_longest_place(&list, &s->gap_count, duration_s);

	if (place)
		*place = (struct sb_uncovered){ t_s, duration_s };
}

void sb_stages_find_gaps(struct sb_stage_sums *sums, struct sb_model *model)
{
	struct sb_stages_panel *s = &model->stages;
	int64_t at_ns = sb_run_pass(sums->run)->folded_until_ns, end_ns = sums->range.to_ns;

	if (at_ns < sums->range.from_ns)
		at_ns = sums->range.from_ns;
	s->gaps = sb_model_alloc(model, GAPS_MOST * sizeof *s->gaps);
	if (!s->gaps || s->unattributed_s <= 0)
		return;
	sb_union_ns(&sums->top); /* puts it in order */
	for (uint32_t i = 0; i <= sums->top.count; i++) {
		int64_t next_ns = i < sums->top.count ? sums->top.parts[i].begin_ns : end_ns;

		if (next_ns > at_ns)
			offer(s, (double)at_ns / 1e9, (double)(next_ns - at_ns) / 1e9);
		if (i < sums->top.count && sums->top.parts[i].end_ns > at_ns)
			at_ns = sums->top.parts[i].end_ns;
	}
}

static bool is_in_loop(const struct sb_stages_panel *s, const struct sb_uncovered *gap)
{
	return gap->t_s >= s->startup_end_s && gap->t_s + gap->duration_s <= s->work_end_s;
}

void sb_stages_find_once(struct sb_stages_panel *s)
{
	struct sb_uncovered in_loop[GAPS_MOST]; /* the longest first */
	size_t count = 0;

	for (size_t i = 0; i < s->gap_count; i++)
		if (is_in_loop(s, &s->gaps[i]))
			in_loop[count++] = s->gaps[i];
	s->once = (struct sb_uncovered){ 0 };
	s->once_more_s = 0;
	if (count <= PEERS_LEAST || !(in_loop[0].duration_s > FAR_LONGER * in_loop[1].duration_s))
		return;
	s->once = in_loop[0];
	s->once_more_s = in_loop[0].duration_s - in_loop[(count + 1) / 2].duration_s;
}
