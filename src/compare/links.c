/* Rows of communication, added up collective by collective. */
#include "compare/links.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 64 };

struct sb_links {
	struct sb_communication rows[ROWS_MAX];
	double bus_bytes[ROWS_MAX], exchange_s[ROWS_MAX];
	uint32_t *last; /* ROWS_MAX rows of a count per rank */
	size_t count, rank_count;
};

struct sb_links *sb_links_new(size_t rank_count)
{
	struct sb_links *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	l->rank_count = rank_count;
	l->last = calloc(ROWS_MAX * (rank_count + 1), sizeof *l->last);
	if (l->last)
		return l;
	free(l);
	return NULL;
}

void sb_links_free(struct sb_links *l)
{
	if (l)
		free(l->last);
	free(l);
}

static const char *operation_of(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

static bool is_of(const struct sb_communication *row, const char *group, const char *operation)
{
	if (!group != !row->group || strcmp(row->operation, operation))
		return false;
	return !group || !strcmp(row->group, group);
}

struct sb_communication *sb_links_row(
	struct sb_links *l, const struct sb_meet_part *p, size_t count, const char *group, const char *name)
{
	const char *operation = operation_of(name);
	size_t i = 0;

	while (i < l->count && !is_of(&l->rows[i], group, operation))
		i++;
	if (i == ROWS_MAX)
		i = ROWS_MAX - 1;
	if (i == l->count) {
		l->rows[l->count++] = (struct sb_communication){ .group = group, .operation = operation };
		if (l->count == ROWS_MAX)
			l->rows[i] = (struct sb_communication){ .operation = "other" };
	}
	l->rows[i].collective_count++;
	if (count > l->rows[i].rank_count)
		l->rows[i].rank_count = count;
	return &l->rows[i];
}

/* As nccl-tests count it: what the slowest link has to carry for each byte of the tensor that the
 * call names first. */
static double bus_factor(const char *operation, size_t count)
{
	double n = (double)count;

	if (!strcmp(operation, "all_reduce"))
		return 2 * (n - 1) / n;
	if (!strncmp(operation, "all_gather", 10) || !strncmp(operation, "all_to_all", 10))
		return (n - 1) / n; /* of what all give together */
	if (!strncmp(operation, "reduce_scatter", 14))
		return n - 1; /* of the part that a rank keeps */
	if (!strcmp(operation, "send/recv") || !strcmp(operation, "broadcast") ||
		!strcmp(operation, "reduce"))
		return 1;
	return 0;
}

void sb_links_moved(struct sb_links *l, struct sb_communication *row, const struct sb_meet_part *p,
	size_t count, double exchange_s)
{
	double bytes = p->call->bytes, factor = bus_factor(row->operation, count);
	size_t at = (size_t)(row - l->rows);

	for (size_t i = 1; i < count; i++)
		bytes = fmax(bytes, p[i].call->bytes);
	row->bytes += bytes;
	if (bytes > 0 && factor > 0 && exchange_s > 0) {
		l->bus_bytes[at] += bytes * factor;
		l->exchange_s[at] += exchange_s;
	}
}

void sb_links_last(struct sb_links *l, struct sb_communication *row, uint32_t rank)
{
	l->last[(size_t)(row - l->rows) * l->rank_count + rank]++;
}

static void finish_row(struct sb_links *l, size_t at, const struct sb_aggregate *a)
{
	struct sb_communication *row = &l->rows[at];

	row->bus_bytes_per_s = l->exchange_s[at] > 0 ? l->bus_bytes[at] / l->exchange_s[at] : NAN;
	row->last_rank = -1;
	for (size_t i = 0; i < l->rank_count; i++) {
		size_t times = l->last[at * l->rank_count + i];

		if (times > row->last_count) {
			row->last_count = times;
			row->last_rank = a->ranks[i].rank;
		}
	}
}

static int by_time(const void *x, const void *y)
{
	const struct sb_communication *a = x, *b = y;
	double first = a->late_wait_s + a->transfer_s + a->hidden_s,
	       second = b->late_wait_s + b->transfer_s + b->hidden_s;

	return first > second ? -1 : first < second;
}

int sb_links_finish(struct sb_links *l, struct sb_aggregate *a)
{
	a->communication = calloc(l->count + 1, sizeof *a->communication);
	if (!a->communication)
		return sb_fail(STROBE_ENOMEM, "no memory to aggregate the ranks");
	for (size_t i = 0; i < l->count; i++)
		finish_row(l, i, a);
	memcpy(a->communication, l->rows, l->count * sizeof *l->rows);
	a->communication_count = l->count;
	if (l->count)
		qsort(a->communication, l->count, sizeof *a->communication, by_time);
	return 0;
}
