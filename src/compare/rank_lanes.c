/* Lanes of ranks: the bins are the job's, the first rank's clock counts. */
#include "compare/rank_lanes.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Ranks of one job overlap; beyond this many times the longest of them it is not one job. */
#define SPREAD_MAX 3

/* On the first rank's clock, since its start. */
static struct sb_lane_span span_of(const struct sb_aggregate *a, const struct sb_aggregate_rank *r)
{
	double begin_s = ((double)r->start_real_ns - (double)a->ranks[0].start_real_ns) / 1e9;

	if (!isnan(r->align.offset_s))
		begin_s += r->align.offset_s;
	return (struct sb_lane_span){ begin_s, begin_s + r->metrics[SB_METRIC_WALL] };
}

/* False: they have no common clock, or no common time. */
static bool whole_range(const struct sb_aggregate *a, struct sb_lane_span *out)
{
	double longest_s = 0;

	*out = (struct sb_lane_span){ 0, 0 };
	for (size_t i = 0; i < a->rank_count; i++) {
		struct sb_lane_span s = span_of(a, &a->ranks[i]);

		if (!a->ranks[i].start_real_ns || isnan(s.end_s))
			return false;
		out->begin_s = fmin(out->begin_s, s.begin_s);
		out->end_s = fmax(out->end_s, s.end_s);
		longest_s = fmax(longest_s, s.end_s - s.begin_s);
	}
	return longest_s > 0 && out->end_s - out->begin_s <= SPREAD_MAX * longest_s;
}

/* Adds to each bin the part of a range that is in it. */
static void spread(const struct sb_rank_lanes *lanes, struct sb_lane_span s, double *bins_s)
{
	double last = (double)lanes->bin_count * lanes->bin_s;

	s.begin_s = fmax(s.begin_s, 0);
	s.end_s = fmin(s.end_s, last);
	if (!(s.begin_s < s.end_s)) /* outside the lanes, by a damaged recording far outside */
		return;
	for (uint32_t i = (uint32_t)(s.begin_s / lanes->bin_s); i < lanes->bin_count; i++) {
		double from = i * lanes->bin_s,
		       part = fmin(s.end_s, from + lanes->bin_s) - fmax(s.begin_s, from);

		if (from >= s.end_s)
			break;
		bins_s[i] += fmax(part, 0);
	}
}

/* Until when a rank's collectives are known, on the lanes' axis: only so many are
 * kept, and a damaged recording may end long before its rank did. */
static double known_until(const struct sb_aggregate_rank *r, struct sb_lane_span rank)
{
	double last_s = rank.begin_s;

	if (!r->damage && r->collective_total <= (int64_t)r->collective_count)
		return rank.end_s;
	for (size_t i = 0; i < r->collective_count; i++)
		last_s = fmax(last_s, rank.begin_s + r->collectives[i].end_s);
	return last_s;
}

static void fill(const struct sb_rank_lanes *lanes, const struct sb_aggregate_rank *r,
	struct sb_lane_span rank, double *ran_s, double *waited_s, uint8_t *out)
{
	double known_s = known_until(r, rank);

	memset(ran_s, 0, lanes->bin_count * sizeof *ran_s);
	memset(waited_s, 0, lanes->bin_count * sizeof *waited_s);
	spread(lanes, rank, ran_s);
	for (size_t i = 0; i < r->collective_count; i++)
		spread(lanes,
			(struct sb_lane_span){
				rank.begin_s + r->collectives[i].begin_s + r->collectives[i].hidden_s,
				rank.begin_s + r->collectives[i].end_s },
			waited_s);
	for (uint32_t i = 0; i < lanes->bin_count; i++) {
		double share = ran_s[i] > 0 ? fmin(1, waited_s[i] / ran_s[i]) : 0;

		if (ran_s[i] <= 0)
			out[i] = SB_LANE_AWAY;
		else if (i * lanes->bin_s >= known_s)
			out[i] = SB_LANE_UNKNOWN;
		else
			out[i] = (uint8_t)(share * 100 + 0.5);
	}
}

int sb_rank_lanes_of(const struct sb_aggregate *a, uint32_t bin_count, struct sb_rank_lanes *out_lanes)
{
	struct sb_rank_lanes lanes = { .bin_count = bin_count };
	struct sb_lane_span whole;
	double *sums;

	*out_lanes = (struct sb_rank_lanes){ 0 };
	if (!a->rank_count || !whole_range(a, &whole))
		return 0;
	lanes.bin_s = (whole.end_s - whole.begin_s) / bin_count;
	lanes.wait_percent = malloc(a->rank_count * bin_count);
	lanes.spans = malloc(a->rank_count * sizeof *lanes.spans);
	sums = malloc(2 * bin_count * sizeof *sums);
	if (!lanes.wait_percent || !lanes.spans || !sums) {
		free(sums);
		sb_rank_lanes_done(&lanes);
		return sb_fail(STROBE_ENOMEM, "no memory for the lanes of %zu ranks", a->rank_count);
	}
	for (size_t i = 0; i < a->rank_count; i++) {
		struct sb_lane_span s = span_of(a, &a->ranks[i]);

		s.begin_s -= whole.begin_s;
		s.end_s -= whole.begin_s;
		lanes.spans[i] = s;
		fill(&lanes, &a->ranks[i], s, sums, sums + bin_count, lanes.wait_percent + i * bin_count);
	}
	free(sums);
	*out_lanes = lanes;
	return 0;
}

void sb_rank_lanes_done(struct sb_rank_lanes *lanes)
{
	free(lanes->wait_percent);
	free(lanes->spans);
	*lanes = (struct sb_rank_lanes){ 0 };
}
