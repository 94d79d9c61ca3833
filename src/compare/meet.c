/* Matching by hashing, then one sort of the different collectives: no call is looked for in another rank's list. */
#include "compare/meet.h"

#include "base/error.h"
#include "base/map.h"
#include "base/room.h"

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

/* ---- which collective each call is of ---- */

struct identity {
	const struct sb_fact_collective *call; /* the first of its calls */
	size_t count, next; /* of its parts; where the next one goes */
	uint32_t same_hash; /* number of the one before it with this hash, from 1; 0: none */
};

struct identities {
	struct identity *all;
	size_t count, room;
	struct sb_map by_hash;
	uint32_t *of_calls; /* index in all, call by call */
};

static void identities_done(struct identities *s)
{
	free(s->all);
	free(s->of_calls);
	sb_map_done(&s->by_hash);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

/* Equal for calls that compare_identity() finds equal. */
static uint64_t hash_of(const struct sb_fact_collective *c)
{
	uint64_t hash = hash_text(sb_hash64((uint64_t)c->occurrence + 1), c->group ? c->group : "");

	return c->kind < SB_MEET_SEND ? hash_text(hash, c->name) : hash;
}

/* False: no memory. */
static bool identify(struct identities *s, const struct sb_fact_collective *call, uint32_t *out_index)
{
	uint64_t hash = hash_of(call);
	uint32_t number = 0;

	sb_map_get(&s->by_hash, hash, &number);
	for (uint32_t i = number; i; i = s->all[i - 1].same_hash)
		if (!compare_identity(s->all[i - 1].call, call)) {
			*out_index = i - 1;
			return true;
		}
	if (!SB_MAKE_ROOM(s->all, s->count, s->room) ||
		!sb_map_put(&s->by_hash, hash, (uint32_t)s->count + 1))
		return false;
	s->all[s->count] = (struct identity){ .call = call, .same_hash = number };
	*out_index = (uint32_t)s->count++;
	return true;
}

static bool identify_all(const struct sb_align_rank *ranks, size_t count, size_t total, struct identities *s)
{
	size_t at = 0;

	s->of_calls = malloc((total + 1) * sizeof *s->of_calls);
	for (size_t i = 0; s->of_calls && i < count; i++)
		for (size_t k = 0; k < ranks[i].collective_count; k++, at++) {
			if (!identify(s, &ranks[i].collectives[k], &s->of_calls[at]))
				return false;
			s->all[s->of_calls[at]].count++;
		}
	return s->of_calls;
}

/* ---- their parts, side by side ---- */

static int by_identity(const void *a, const void *b)
{
	const struct identity *const *x = a, *const *y = b;

	return compare_identity((*x)->call, (*y)->call);
}

/* Says where the parts of each collective begin. */
static bool place(struct identities *s)
{
	struct identity **order = malloc((s->count + 1) * sizeof(struct identity *));
	size_t first = 0;

	if (!order)
		return false;
	for (size_t i = 0; i < s->count; i++)
		order[i] = &s->all[i];
	qsort(order, s->count, sizeof(struct identity *), by_identity);
	for (size_t i = 0; i < s->count; i++) {
		order[i]->next = first;
		first += order[i]->count;
	}
	free(order);
	return true;
}

static int gather(const struct sb_align_rank *ranks, size_t count, struct sb_meet *m)
{
	struct identities s = { 0 };
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		m->part_count += ranks[i].collective_count;
	m->parts = malloc((m->part_count + 1) * sizeof *m->parts);
	if (!m->parts || m->part_count >= UINT32_MAX || !identify_all(ranks, count, m->part_count, &s) ||
		!place(&s)) {
		identities_done(&s);
		return no_memory();
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ranks[i].collective_count; k++, at++)
			m->parts[s.all[s.of_calls[at]].next++] =
				(struct sb_meet_part){ &ranks[i].collectives[k], (uint32_t)i };
	identities_done(&s);
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
