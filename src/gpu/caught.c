/* The books of a watch for slow moments. The worst ones of a run are worth keeping, not the first ones. What was written of a
 * moment stays written, so how often one gives way is bounded: in a run that gets slower and slower, later to one that cost
 * clearly more. Slow ones that come in any order never get there. */
#include "gpu/caught.h"

#include "record/clock.h"

#include <string.h>

void sb_caught_init(struct sb_caught_list *list, uint32_t places)
{
	memset(list, 0, sizeof *list);
	list->places = places < SB_TRACE_MOMENTS_MAX ? places : SB_TRACE_MOMENTS_MAX;
}

/* The one comes right after the row's last, or is the same as that. */
static bool continues(const struct sb_caught *c, const struct sb_slow_one *one)
{
	return c->count && !c->first.asked && !strcmp(c->first.what, one->what) && c->first.tid == one->tid &&
	       c->first.generation_ticks == one->generation_ticks &&
	       (one->index == c->last_index || one->index == c->last_index + 1);
}

static bool is_next(const struct sb_caught *c, const struct sb_slow_one *one)
{
	return !c->gone && continues(c, one);
}

/* Asked for again, while the same step runs; where no step is known, within a second. */
static bool is_again(const struct sb_caught *c, const struct sb_slow_one *one)
{
	return c->kept && c->first.asked && !strcmp(c->first.what, one->what) && c->first.tid == one->tid &&
	       c->first.begin_ticks == one->begin_ticks &&
	       (one->begin_ticks || one->end_ticks < c->last_end_ticks + sb_clock_hz());
}

/* What a row that gave way had cost when this one goes on with it. */
static uint64_t cost_before(const struct sb_caught_list *list, const struct sb_slow_one *one)
{
	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++) {
		const struct sb_caught *c = &list->all[i];

		if (c->gone && continues(c, one))
			return c->cost_ticks + c->before_ticks;
	}
	return 0;
}

static struct sb_caught *row_of(struct sb_caught_list *list, const struct sb_slow_one *one)
{
	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++)
		if (one->asked ? is_again(&list->all[i], one) : is_next(&list->all[i], one))
			return &list->all[i];
	return NULL;
}

static void grow(struct sb_caught *c, const struct sb_slow_one *one)
{
	bool same = one->index == c->last_index;
	uint64_t before = same ? c->last_over_ticks : 0;
	uint64_t over = one->over_ticks > before ? one->over_ticks : before;

	c->count += !same;
	c->last_index = one->index;
	c->last_over_ticks = over;
	c->cost_ticks += over - before;
	if (one->end_ticks > c->last_end_ticks)
		c->last_end_ticks = one->end_ticks;
	if (one->over_ticks > c->slowest.over_ticks || (one->asked && one->end_ticks > c->slowest.end_ticks))
		c->slowest = *one;
}

/* A free entry, else that of the oldest moment that was not kept. */
static struct sb_caught *begin(struct sb_caught_list *list, const struct sb_slow_one *one)
{
	struct sb_caught *entry = NULL;
	uint64_t before_ticks = one->asked ? 0 : cost_before(list, one);

	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++) {
		struct sb_caught *c = &list->all[i];

		if (!c->kept && (!entry || c->order < entry->order))
			entry = c;
	}
	if (entry->count && entry->cost_ticks + entry->before_ticks > list->lost_ticks)
		list->lost_ticks = entry->cost_ticks + entry->before_ticks;
	*entry = (struct sb_caught){ .first = *one,
		.slowest = *one,
		.count = 1,
		.last_index = one->index,
		.last_end_ticks = one->end_ticks,
		.last_over_ticks = one->over_ticks,
		.cost_ticks = one->over_ticks,
		.before_ticks = before_ticks,
		.order = ++list->taken };
	list->unkept_count++;
	return entry;
}

/* Which of those that are kept cost least; SB_CAUGHT_MOST: all of them were asked for. */
static uint32_t least(const struct sb_caught_list *list)
{
	uint32_t found = SB_CAUGHT_MOST;

	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++) {
		const struct sb_caught *c = &list->all[i];

		if (c->kept && !c->first.asked &&
			(found == SB_CAUGHT_MOST || c->cost_ticks < list->all[found].cost_ticks))
			found = i;
	}
	return found;
}

static void keep(struct sb_caught_list *list, struct sb_caught *c)
{
	c->kept = true;
	list->kept_count++;
	list->unkept_count--;
}

/* So much it takes to have the other's place. */
static bool is_worse(
	const struct sb_caught_list *list, const struct sb_caught *c, const struct sb_caught *other)
{
	uint64_t more = list->displaced_count < (uint64_t)list->places * SB_CAUGHT_FREE_SWAPS
				? 0
				: other->cost_ticks / SB_CAUGHT_MORE_DIVISOR;

	return c->cost_ticks > other->cost_ticks && c->cost_ticks - other->cost_ticks > more;
}

enum sb_caught_as sb_caught_take(struct sb_caught_list *list, const struct sb_slow_one *one,
	struct sb_caught **out_moment, struct sb_slow_one *out_displaced)
{
	struct sb_caught *c = row_of(list, one), *other;
	uint32_t at;

	if (c)
		grow(c, one);
	else
		c = begin(list, one);
	*out_moment = c;
	if (c->kept)
		return SB_CAUGHT_LONGER;
	if (list->kept_count < list->places) {
		keep(list, c);
		return SB_CAUGHT_NEW;
	}
	at = least(list);
	if (at == SB_CAUGHT_MOST)
		return SB_CAUGHT_NOT;
	other = &list->all[at];
	if (!one->asked && !is_worse(list, c, other))
		return SB_CAUGHT_NOT;
	list->displaced_count++;
	*out_displaced = other->first;
	other->kept = false;
	other->gone = true;
	list->kept_count--;
	keep(list, c);
	return SB_CAUGHT_INSTEAD;
}

uint64_t sb_caught_cost_ticks(const struct sb_caught_list *list, uint32_t tid, uint64_t generation_ticks)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; generation_ticks && i < SB_CAUGHT_MOST; i++) {
		const struct sb_caught *c = &list->all[i];

		if (c->count && c->first.tid == tid && c->first.generation_ticks == generation_ticks)
			sum += c->cost_ticks;
	}
	return sum;
}

bool sb_caught_lost_slower(const struct sb_caught_list *list)
{
	uint32_t kept = least(list);
	uint64_t lost_ticks = list->lost_ticks;

	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++) {
		const struct sb_caught *c = &list->all[i];

		if (!c->kept && c->count && c->cost_ticks + c->before_ticks > lost_ticks)
			lost_ticks = c->cost_ticks + c->before_ticks;
	}
	return lost_ticks > (kept < SB_CAUGHT_MOST ? list->all[kept].cost_ticks : 0);
}

bool sb_caught_full(const struct sb_caught_list *list)
{
	for (uint32_t i = 0; i < SB_CAUGHT_MOST; i++)
		if (list->all[i].kept && !list->all[i].first.asked)
			return false;
	return list->kept_count >= list->places;
}
