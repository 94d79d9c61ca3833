/* How much of the run's time a stage covers, however many of its calls run at
 * once: the run in equal bins, and how much of each was filled. */
#ifndef SB_STATS_COVERAGE_H
#define SB_STATS_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#define SB_COVERAGE_BINS 1024u
#define SB_COVERAGE_PIECE 64u /* bins */

/* In pieces, made when a call comes that lies there: those of many stages at one time then lie side by side in memory. */
struct sb_coverage {
	float **pieces; /* SB_COVERAGE_BINS / SB_COVERAGE_PIECE, of SB_COVERAGE_PIECE each; NULL: nothing yet */
	float *last; /* the piece that was filled last, and which it is */
	uint32_t last_piece;
};

/* The time range that the bins divide. */
struct sb_coverage_range {
	int64_t from_ns, to_ns;
};

/* A call; what lies outside the range is left out. False: no memory. */
bool sb_coverage_add(
	struct sb_coverage *c, const struct sb_coverage_range *range, int64_t begin_ns, int64_t end_ns);
/* Adds `total_ns` of calls between two times when it is not known where exactly. */
bool sb_coverage_spread(struct sb_coverage *c, const struct sb_coverage_range *range, int64_t begin_ns,
	int64_t end_ns, int64_t total_ns);
/* Adds the calls of `from`. False: no memory. */
bool sb_coverage_join(struct sb_coverage *to, const struct sb_coverage *from);
/* The time in which at least one call ran: exact if calls are longer than a bin or never overlap, else an
 * upper bound. */
int64_t sb_coverage_ns(const struct sb_coverage *c, const struct sb_coverage_range *range);
/* The part of that before a time, to within a bin. */
int64_t sb_coverage_until_ns(
	const struct sb_coverage *c, const struct sb_coverage_range *range, int64_t until_ns);
void sb_coverage_done(struct sb_coverage *c);

/* ---- disjoint intervals, for calls that come in the order of their ends ---- */

#define SB_COVERED_MAX 4096u

struct sb_covered {
	struct sb_covered_part {
		int64_t begin_ns, end_ns;
	} * parts; /* in order */
	uint32_t count;
	int64_t floor_ns; /* older parts are forgotten: nothing before this is counted again */
};

/* How much of begin..end was not covered before. */
int64_t sb_covered_add(struct sb_covered *c, int64_t begin_ns, int64_t end_ns);
void sb_covered_done(struct sb_covered *c);

/* ---- a union of intervals that come in any order ---- */

#define SB_UNION_MAX 65536u

struct sb_union {
	struct sb_covered_part *parts; /* unordered until asked */
	uint32_t count, room;
};

/* False: no memory. Past SB_UNION_MAX disjoint intervals the smallest gaps count as covered. */
bool sb_union_add(struct sb_union *u, int64_t begin_ns, int64_t end_ns);
int64_t sb_union_ns(struct sb_union *u);
void sb_union_done(struct sb_union *u);

#endif
