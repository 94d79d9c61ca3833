/* Clock alignment by meetings. */
#include "analyze/align.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* A rank leaves a meeting when the last one has come; what then separates
 * their ends is the network and the scheduler. Three is the least that lets
 * one of them be wrong. */
#define MATCHES_MIN 3

static const struct sb_fact_meeting *find(
	const struct sb_align_rank *r, const struct sb_fact_meeting *like, size_t hint)
{
	for (size_t i = 0; i < r->meeting_count; i++) {
		const struct sb_fact_meeting *m = &r->meetings[(hint + i) % r->meeting_count];

		if (m->occurrence == like->occurrence && !strcmp(m->name, like->name))
			return m;
	}
	return NULL;
}

/* How much later a rank's clock says each common meeting ended. */
static size_t differences(const struct sb_align_rank *reference, const struct sb_align_rank *r, double *out)
{
	double started_s = ((double)r->start_real_ns - (double)reference->start_real_ns) / 1e9;
	size_t count = 0;

	for (size_t i = 0; i < reference->meeting_count; i++) {
		const struct sb_fact_meeting *mine = &reference->meetings[i], *theirs = find(r, mine, i);

		if (theirs)
			out[count++] = theirs->end_s + started_s - mine->end_s;
	}
	return count;
}

static int align_by_meetings(const struct sb_align_rank *reference, struct sb_align_rank *r, double *scratch)
{
	size_t count = differences(reference, r, scratch);
	struct sb_stats spread;
	double middle;
	int err;

	r->matched_count = count;
	if (count < MATCHES_MIN)
		return 0;
	err = sb_stats_of(scratch, count, &spread);
	if (err)
		return err;
	middle = spread.median;
	for (size_t i = 0; i < count; i++)
		scratch[i] = fabs(scratch[i] - middle);
	err = sb_stats_of(scratch, count, &spread);
	if (err)
		return err;
	r->residual_s = spread.p95;
	if (r->method == SB_ALIGN_SAME_HOST)
		return 0; /* one clock: the ends tell the error, and correct nothing */
	r->method = SB_ALIGN_MEETINGS;
	r->offset_s = -middle;
	return 0;
}

int sb_align(struct sb_align_rank *ranks, size_t count)
{
	double *scratch;
	int err = 0;

	if (!count)
		return 0;
	scratch = malloc((ranks[0].meeting_count + 1) * sizeof *scratch);
	if (!scratch)
		return sb_fail(STROBE_ENOMEM, "no memory to align the clocks");
	for (size_t i = 0; i < count && !err; i++) {
		struct sb_align_rank *r = &ranks[i];
		bool here = !i || (*r->host && !strcmp(r->host, ranks[0].host));

		r->method = here ? SB_ALIGN_SAME_HOST : SB_ALIGN_REAL_TIME;
		r->offset_s = 0;
		r->residual_s = here ? 0 : NAN;
		if (i && r->meeting_count && ranks[0].meeting_count)
			err = align_by_meetings(&ranks[0], r, scratch);
	}
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

const char *sb_align_name(enum sb_align_method method)
{
	static const char *const names[] = { "same_host", "meetings", "real_time" };

	return names[method];
}
