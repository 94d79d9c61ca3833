/* How the ranks and the attempts of a job ended. */
#include "report/ranks/endings.h"

#include "base/filename.h"
#include "report/label.h"

#include <inttypes.h>

enum { RANKS_MOST = 20 };

static bool is_broken(const struct sb_aggregate_rank *r)
{
	return r->failure || r->damage || !r->complete;
}

static void put_broken_rank(const struct sb_aggregate_rank *r, struct sb_buf *out)
{
	if (r->damage)
		sb_label_printf(out, "Damaged: rank %" PRId64 " (%s): %s; the rest of it counts\n", r->rank,
			r->label, r->damage);
	else if (r->live)
		sb_label_printf(out,
			"Incomplete: rank %" PRId64 " (%s) still runs; what was recorded so far counts\n",
			r->rank, r->label);
	else if (!r->complete && !r->failure)
		sb_label_printf(out,
			"Incomplete: rank %" PRId64 " (%s) ended without a stop; what was recorded counts\n",
			r->rank, r->label);
	if (r->failure)
		sb_label_printf(out, "Failed: rank %" PRId64 " (%s): %s; what was recorded counts\n", r->rank,
			r->label, r->failure);
}

void sb_ranks_put_broken(const struct sb_aggregate *a, struct sb_buf *out)
{
	size_t broken = 0;

	for (size_t i = 0; i < a->rank_count; i++)
		if (is_broken(&a->ranks[i]) && broken++ < RANKS_MOST)
			put_broken_rank(&a->ranks[i], out);
	if (broken > RANKS_MOST)
		sb_buf_printf(out, "Failed, incomplete or damaged: %zu more\n", broken - RANKS_MOST);
}

void sb_ranks_put_attempts(const struct sb_aggregate *a, struct sb_buf *out)
{
	for (size_t i = 0; i < a->attempt_count && a->attempt_count > 1; i++) {
		const struct sb_aggregate_attempt *t = &a->attempts[i];
		/* the first one's folder alone would mean the job, which may be a later attempt */
		bool bare = t->number == 1 && !sb_ends_with(t->label, ".1");

		sb_label_printf(out, "Attempt %" PRId64 "%s: %s (%s%s)\n", t->number,
			t->taken ? ", this report" : "", t->what, t->label, bare ? ".1" : "");
	}
}
