/* Each rank names its own stages: the job's names are those of the most time on all of them. */
#include "compare/rank_stages.h"

#include "base/error.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

struct name {
	const char *text;
	size_t bins; /* of all ranks */
};

struct names {
	struct name *all;
	size_t count, capacity;
};

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the stages of the ranks");
}

static size_t place_of(const struct names *n, const char *text)
{
	size_t i = 0;

	while (i < n->count && strcmp(n->all[i].text, text) != 0)
		i++;
	return i;
}

/* Only what was in some part for most of it is a name. */
static int count_names(struct names *n, const struct sb_stage_lane *lane)
{
	for (uint32_t bin = 0; bin < SB_STAGE_LANE_BINS; bin++) {
		uint8_t number = lane->bins[bin];
		size_t at;

		if (number >= lane->name_count)
			continue;
		at = place_of(n, lane->names[number]);
		if (at == n->count) {
			if (!SB_MAKE_ROOM(n->all, n->count, n->capacity))
				return no_memory();
			n->all[n->count++] = (struct name){ lane->names[number], 0 };
		}
		n->all[at].bins++;
	}
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return x->bins != y->bins ? (x->bins > y->bins ? -1 : 1) : strcmp(x->text, y->text);
}

static int fill_names(const struct names *n, struct sb_lane_letters *letters)
{
	size_t count = n->count < SB_RANK_STAGES_MAX ? n->count : SB_RANK_STAGES_MAX;

	letters->stage_names = calloc(count + 1, sizeof *letters->stage_names);
	if (!letters->stage_names)
		return no_memory();
	for (size_t i = 0; i < count; i++)
		letters->stage_names[i] = n->count > count && i == count - 1 ? "(other stages)"
									     : n->all[i].text;
	letters->stage_name_count = count;
	return 0;
}

/* By the stage at the middle of the part; the rank's own parts are as long as the job's, or shorter. */
static char letter_at(
	const struct names *n, const struct sb_stage_lane *lane, struct sb_lane_span span, double at_s)
{
	double bin = (at_s - span.begin_s) / (span.end_s - span.begin_s) * SB_STAGE_LANE_BINS;
	uint8_t number;
	size_t place;

	if (!(bin >= 0 && bin < SB_STAGE_LANE_BINS))
		return '.';
	if (!lane->name_count)
		return '?';
	number = lane->bins[(uint32_t)bin];
	if (number >= lane->name_count)
		return '-';
	place = place_of(n, lane->names[number]);
	return (char)('a' + (place < SB_RANK_STAGES_MAX ? place : SB_RANK_STAGES_MAX - 1));
}

static int fill_letters(const struct sb_aggregate *a, const struct sb_rank_lanes *lanes,
	const struct names *n, struct sb_lane_letters *letters)
{
	letters->stages = calloc(a->rank_count + 1, sizeof *letters->stages);
	for (size_t r = 0; letters->stages && r < a->rank_count; r++) {
		char *text = calloc(lanes->bin_count + 1, 1);

		if (!text)
			return no_memory();
		for (uint32_t i = 0; i < lanes->bin_count; i++)
			text[i] = letter_at(
				n, &a->ranks[r].stage_lane, lanes->spans[r], (i + 0.5) * lanes->bin_s);
		letters->stages[letters->stage_rank_count++] = text;
	}
	return letters->stages ? 0 : no_memory();
}

int sb_rank_stages_of(
	const struct sb_aggregate *a, const struct sb_rank_lanes *lanes, struct sb_lane_letters *letters)
{
	struct names n = { 0 };
	int err = 0;

	for (size_t r = 0; !err && r < a->rank_count; r++)
		if (a->ranks[r].stage_lane.name_count)
			err = count_names(&n, &a->ranks[r].stage_lane);
	if (!err && n.count) {
		qsort(n.all, n.count, sizeof *n.all, most_first);
		err = fill_names(&n, letters);
		if (!err)
			err = fill_letters(a, lanes, &n, letters);
	}
	free(n.all);
	return err;
}
