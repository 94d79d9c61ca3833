/* What the ranks of a job made, in a line. */
#include "report/ranks/screen.h"

#include <math.h>
#include <string.h>

/* "81 to 162 frames", "1 frame". what: of several. */
static void put_count(struct sb_buf *out, double low, double high, const char *what)
{
	if (low < high)
		sb_buf_printf(out, "%.0f to ", low);
	sb_buf_printf(out, "%.0f %.*s", high, (int)strlen(what) - (high == 1), what);
}

void sb_ranks_put_made(const struct sb_aggregate *a, struct sb_buf *out)
{
	bool together = a->made_count && !isnan(a->made->all);

	for (size_t i = 0; i < a->made_count; i++) {
		const struct sb_job_output *m = &a->made[i];

		sb_buf_puts(out, i ? ", " : together ? "Made by all ranks: " : "Each rank: ");
		put_count(out, together ? m->all : m->least, together ? m->all : m->most, m->what);
	}
	if (a->made_count)
		sb_buf_puts(out, together ? "\n" : " (they may share a video)\n");
}
