/* Generations or steps on their tracks, to look up which one a moment is in. */
#ifndef SB_ANALYZE_PYTHON_PERIODS_H
#define SB_ANALYZE_PYTHON_PERIODS_H

#include <stdbool.h>
#include <stdint.h>

struct sb_period {
	uint32_t track;
	int64_t begin_ns, end_ns;
};

struct sb_periods { /* zeroed: none */
	struct sb_period *all;
	uint32_t count, capacity;
};

/* False: no memory. */
bool sb_periods_add(struct sb_periods *p, uint32_t track, int64_t begin_ns, int64_t end_ns);
void sb_periods_sort(struct sb_periods *p); /* by track and begin, once all are added */
/* How many of them, sorted, begin on tracks before this one, or on it and not after the moment. */
uint32_t sb_periods_until(const struct sb_periods *p, uint32_t track, int64_t t_ns);
void sb_periods_done(struct sb_periods *p);

#endif
