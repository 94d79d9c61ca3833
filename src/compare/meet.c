/* Matching by sorting: no call is looked for in another rank's list. */
#include "compare/meet.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory to match the collectives");
}

/* Without a group the name has to do: recordings of programs that mark collectives by hand. */
static int compare_identity(const struct sb_fact_collective *a, const struct sb_fact_collective *b)
{
	int order;

	if (!a->group != !b->group)
		return a->group ? 1 : -1;
	order = a->group && a->group != b->group ? strcmp(a->group, b->group) : 0;
	if (!order && a->occurrence != b->occurrence)
		order = a->occurrence < b->occurrence ? -1 : 1;
	/* a point-to-point pair has two names for one exchange */
	if (!order && a->name != b->name && a->kind < SB_MEET_SEND)
		order = strcmp(a->name, b->name);
	return order;
}

static int by_identity(const void *a, const void *b)
{
	const struct sb_meet_part *x = a, *y = b;
	int order = compare_identity(x->call, y->call);

	return order ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int gather(const struct sb_align_rank *ranks, size_t count, struct sb_meet *m)
{
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += ranks[i].collective_count;
	m->parts = malloc((total + 1) * sizeof *m->parts);
	if (!m->parts)
		return no_memory();
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ranks[i].collective_count; k++)
			m->parts[m->part_count++] = (struct sb_meet_part){ &ranks[i].collectives[k],
				(uint32_t)i };
	if (total)
		qsort(m->parts, total, sizeof *m->parts, by_identity);
	return 0;
}

/* A rank that says one number twice was recorded wrongly: nothing can be matched with it. */
static bool is_sound(const struct sb_meet *m, size_t first, size_t count)
{
	for (size_t i = first + 1; i < first + count; i++)
		if (m->parts[i].rank == m->parts[i - 1].rank)
			return false;
	return count > 1;
}

int sb_meet_match(const struct sb_align_rank *ranks, size_t count, struct sb_meet *out_meet)
{
	struct sb_meet m = { 0 };
	int err = gather(ranks, count, &m);

	m.all = err ? NULL : malloc((m.part_count / 2 + 1) * sizeof *m.all);
	if (!err && !m.all)
		err = no_memory();
	for (size_t first = 0; !err && first < m.part_count;) {
		size_t end = first + 1;

		while (end < m.part_count && !compare_identity(m.parts[first].call, m.parts[end].call))
			end++;
		if (is_sound(&m, first, end - first))
			m.all[m.count++] = (struct sb_met){ first, end - first };
		first = end;
	}
	if (err) {
		sb_meet_done(&m);
		return err;
	}
	*out_meet = m;
	return 0;
}

void sb_meet_done(struct sb_meet *m)
{
	free(m->parts);
	free(m->all);
	memset(m, 0, sizeof *m);
}
