/* Clock alignment by collectives. */
#include "compare/align.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* A rank leaves a collective when the last one has come; what then separates
 * their ends is the network and the scheduler. Three is the least that lets
 * one of them be wrong. */
#define MATCHES_MIN 3

static const struct sb_fact_collective *find(
	const struct sb_align_rank *r, const struct sb_fact_collective *like, size_t hint)
{
	for (size_t i = 0; i < r->collective_count; i++) {
		const struct sb_fact_collective *m = &r->collectives[(hint + i) % r->collective_count];

		if (m->occurrence == like->occurrence && !strcmp(m->name, like->name))
			return m;
	}
	return NULL;
}

/* How much later a rank's clock says each common collective ended. */
static size_t differences(const struct sb_align_rank *reference, const struct sb_align_rank *r, double *out)
{
	double started_s = ((double)r->start_real_ns - (double)reference->start_real_ns) / 1e9;
	size_t count = 0;

	for (size_t i = 0; i < reference->collective_count; i++) {
		const struct sb_fact_collective *mine = &reference->collectives[i],
						*theirs = find(r, mine, i);

		if (theirs)
			out[count++] = theirs->end_s + started_s - mine->end_s;
	}
	return count;
}

void sb_align_settle(struct sb_align_rank *r, const char *first_host, size_t matched_count, double later_s,
	double scatter_s)
{
	bool here = *r->host && !strcmp(r->host, first_host);

	r->method = here ? SB_ALIGN_SAME_HOST : SB_ALIGN_REAL_TIME;
	r->offset_s = 0;
	r->residual_s = here ? 0 : NAN;
	r->matched_count = matched_count;
	if (matched_count < MATCHES_MIN)
		return;
	r->residual_s = scatter_s;
	if (here)
		return; /* one clock: the ends tell the error, and correct nothing */
	r->method = SB_ALIGN_COLLECTIVES;
	r->offset_s = -later_s;
}

static int align_by_collectives(
	const struct sb_align_rank *reference, struct sb_align_rank *r, double *scratch)
{
	size_t count = differences(reference, r, scratch);
	struct sb_stats later = { .median = NAN }, scatter = { .p95 = NAN };
	int err = count ? sb_stats_of(scratch, count, &later) : 0;

	for (size_t i = 0; i < count && !err; i++)
		scratch[i] = fabs(scratch[i] - later.median);
	if (count && !err)
		err = sb_stats_of(scratch, count, &scatter);
	if (!err)
		sb_align_settle(r, reference->host, count, later.median, scatter.p95);
	return err;
}

int sb_align(struct sb_align_rank *ranks, size_t count)
{
	double *scratch;
	int err = 0;

	if (!count)
		return 0;
	scratch = malloc((ranks[0].collective_count + 1) * sizeof *scratch);
	if (!scratch)
		return sb_fail(STROBE_ENOMEM, "no memory to align the clocks");
	ranks[0].method = SB_ALIGN_SAME_HOST;
	ranks[0].offset_s = ranks[0].residual_s = 0;
	for (size_t i = 1; i < count && !err; i++)
		err = align_by_collectives(&ranks[0], &ranks[i], scratch);
	free(scratch);
	return err;
}

double sb_align_residual(const struct sb_align_rank *ranks, size_t count)
{
	double worst = NAN;

	for (size_t i = 1; i < count; i++)
		worst = fmax(worst, ranks[i].residual_s);
	return count == 1 ? 0 : worst;
}

const char *const sb_align_names[] = { "same_host", "collectives", "real_time", SB_NAMES_END };

const char *sb_align_name(enum sb_align_method method)
{
	return sb_align_names[method];
}
