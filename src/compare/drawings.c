/* What is shown of many ranks: who comes first in the list of stragglers, a heat map of stage by rank,
 * when each rank waited and what it did. */
#include "compare/aggregate.h"
#include "compare/rank_lanes.h"
#include "compare/rank_stages.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAT_STAGES_MAX 40u
#define LANE_BINS 240u

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the drawings of the ranks");
}

static bool heat_row(
	const struct sb_aggregate *a, const struct sb_aggregate_stage *s, struct sb_heat_row *row)
{
	row->name = s->name;
	row->median_s = s->total_s.median;
	row->total_s = calloc(a->rank_count + 1, sizeof *row->total_s);
	row->rank_count = row->total_s ? a->rank_count : 0;
	for (size_t r = 0; r < row->rank_count; r++)
		row->total_s[r] = r < s->rank_room ? s->totals[r] : NAN;
	return row->total_s;
}

/* Rows of the largest imbalance. */
static int draw_heat(struct sb_aggregate *a)
{
	struct sb_heat_map *h = &a->heat_map;
	size_t shown = a->stage_count < HEAT_STAGES_MAX ? a->stage_count : HEAT_STAGES_MAX;

	h->ranks = calloc(a->rank_count + 1, sizeof *h->ranks);
	h->stages = calloc(shown + 1, sizeof *h->stages);
	if (!h->ranks || !h->stages)
		return no_memory();
	for (size_t i = 0; i < a->rank_count; i++)
		h->ranks[h->rank_count++] = a->ranks[i].rank;
	for (size_t i = 0; i < shown; i++)
		if (!heat_row(a, &a->stages[i], &h->stages[h->stage_count++]))
			return no_memory();
	return 0;
}

/* '.' the rank was not running, '?' not known, 'a' it did not wait, ... 'k' it only waited: tenths. */
static char letter_of(uint8_t percent)
{
	return (char)(percent == SB_LANE_AWAY      ? '.'
		      : percent == SB_LANE_UNKNOWN ? '?'
						   : 'a' + (percent + 5) / 10);
}

static int write_letters(const struct sb_rank_lanes *lanes, size_t rank_count, struct sb_lane_letters *out)
{
	out->bin_s = lanes->bin_s;
	out->wait_tenths = calloc(rank_count + 1, sizeof *out->wait_tenths);
	for (size_t r = 0; out->wait_tenths && r < rank_count; r++) {
		char *letters = calloc(LANE_BINS + 1, 1);

		if (!letters)
			return no_memory();
		for (uint32_t i = 0; i < LANE_BINS; i++)
			letters[i] = letter_of(lanes->wait_percent[r * LANE_BINS + i]);
		out->wait_tenths[out->rank_count++] = letters;
	}
	return out->wait_tenths ? 0 : no_memory();
}

/* The furthest behind first; of the same work by rank. */
static void list_stragglers(struct sb_aggregate *a)
{
	size_t count = 0;

	for (size_t i = 0; i < a->rank_count; i++) {
		struct sb_aggregate_rank *r = &a->ranks[i];
		size_t at = count;

		r->works_more = sb_shows_more_work(r->behind_s);
		if (!r->straggler)
			continue;
		for (; at && r->behind_s > a->ranks[a->stragglers[at - 1]].behind_s; at--)
			a->stragglers[at] = a->stragglers[at - 1];
		a->stragglers[at] = (int64_t)i;
		count++;
	}
	a->straggler_count = count;
}

static const char *memory_metric(const struct sb_aggregate *a)
{
	static const enum sb_metric wanted[] = { SB_METRIC_GPU_MEMORY_PEAK, SB_METRIC_RSS_PEAK };

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (a->metrics[wanted[i]].count)
			return sb_metric_infos[wanted[i]].key;
	return NULL;
}

int sb_aggregate_draw(struct sb_aggregate *a)
{
	struct sb_rank_lanes lanes;
	int err;

	sb_aggregate_drawings_done(a);
	a->stragglers = calloc(a->rank_count + 1, sizeof *a->stragglers);
	if (!a->stragglers)
		return no_memory();
	list_stragglers(a);
	a->memory_metric = memory_metric(a);
	err = draw_heat(a);
	for (size_t i = 0; i < a->rank_count; i++)
		a->ranks[i].report_index = i;
	if (err || sb_rank_lanes_of(a, LANE_BINS, &lanes) || !lanes.bin_count)
		return err;
	err = write_letters(&lanes, a->rank_count, &a->lanes);
	if (!err)
		err = sb_rank_stages_of(a, &lanes, &a->lanes);
	sb_rank_lanes_done(&lanes);
	return err;
}

void sb_aggregate_drawings_done(struct sb_aggregate *a)
{
	for (size_t i = 0; i < a->heat_map.stage_count; i++)
		free(a->heat_map.stages[i].total_s);
	for (size_t i = 0; i < a->lanes.rank_count; i++)
		free(a->lanes.wait_tenths[i]);
	free(a->stragglers);
	for (size_t i = 0; i < a->lanes.stage_rank_count; i++)
		free(a->lanes.stages[i]);
	free(a->lanes.stages);
	free(a->lanes.stage_names);
	free(a->heat_map.ranks);
	free(a->heat_map.stages);
	free(a->lanes.wait_tenths);
	a->stragglers = NULL;
	memset(&a->heat_map, 0, sizeof a->heat_map);
	memset(&a->lanes, 0, sizeof a->lanes);
}
