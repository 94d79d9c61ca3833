/* Sums up the calls of every stage path. Rows are made in tree.c
 * and rows.c. */
#include "analyze/stages/stages.h"

#include "run/summed.h"
#include "base/error.h"
#include "base/room.h"
#include "format/digest.h"

#include <stdlib.h>
#include <string.h>

/* ---- GPU spans ------------------------------------------------------------- */

static void add_late(struct sb_stage_sums *s, uint32_t track, uint32_t path, int64_t ns)
{
	struct sb_share_sum *share = sb_stage_share_of(&s->shares, track, path);

	s->all[path].late_ns += ns;
	if (share)
		share->late_ns += ns;
	else
		s->no_memory = true;
}

/* Inside a call of the same stage it is part of that one's already. */
static void take_gpu_span(struct sb_stage_sums *s, const struct sb_zone *z, struct sb_stage_sum *sum)
{
	const struct sb_gpu_span *span = z->gpu;
	int64_t late_ns = 0, end_ns;

	if (!span || z->flags & SB_ZONE_RECURSIVE)
		return;
	sum->gpu_span_ns += (int64_t)span->duration_ns;
	sum->gpu_span_count++;
	if (z->flags & SB_ZONE_SPAN)
		return;
	end_ns = sb_gpu_span_end_ns(span);
	end_ns = end_ns < s->range.to_ns ? end_ns : s->range.to_ns;
	if (!sb_behind_add(&s->behind, z, span->begin_ns, end_ns, &late_ns))
		s->no_memory = true;
	if (late_ns)
		add_late(s, z->track, z->path, late_ns);
}

static void end_generation(struct sb_stage_sums *s, const struct sb_zone *z)
{
	size_t place = 0;
	uint32_t path;
	int64_t ns;

	while (sb_behind_settle(&s->behind, z, &place, &path, &ns))
		add_late(s, z->track, path, ns);
	if (!(z->flags & SB_ZONE_SPAN))
		s->no_memory |= !sb_stage_shares_end(&s->shares, s->run, z);
}

static void see_behind(struct sb_stage_sums *s, const struct sb_zone *z, struct sb_stage_sum *sum)
{
	const bool counts = !(z->flags & (SB_ZONE_SPAN | SB_ZONE_RECURSIVE));
	struct sb_share_sum *share = counts ? sb_stage_share_of(&s->shares, z->track, z->path) : NULL;

	s->no_memory |= counts && !share;
	if (share) {
		int64_t behind_ns = sb_behind_in(&s->behind, z);

		sum->behind_ns += behind_ns;
		share->behind_ns += behind_ns;
		share->called_ns += z->end_ns - z->begin_ns;
	}
	if (z->role == STROBE_ROLE_GENERATION)
		end_generation(s, z);
}

/* The GPU waits for weights from when it has done with what was launched before. */
static int64_t moved_ns(struct sb_stage_sums *s, const struct sb_zone *z)
{
	int64_t ns = z->end_ns - z->begin_ns;

	if (z->gpu)
		return (int64_t)z->gpu->duration_ns;
	return s->spans->list_count ? ns - sb_behind_in(&s->behind, z) : ns;
}

/* What no zone took (its detail was folded) goes to the largest of that name. */
static void gpu_spans_rest(struct sb_stage_sums *s)
{
	for (uint32_t i = 0; i < s->spans->list_count; i++) {
		const struct sb_gpu_span_list *list = &s->spans->lists[i];
		struct sb_stage_sum *best = NULL;

		for (uint32_t p = 1; p < s->count; p++)
			if (sb_run_path(s->run, p)->name == list->name && s->all[p].count &&
				(!best || s->all[p].count > best->count))
				best = &s->all[p];
		for (uint32_t k = 0; best && k < list->count; k++) {
			if (list->all[k].taken)
				continue;
			best->gpu_span_ns += (int64_t)list->all[k].duration_ns;
			best->gpu_span_count++;
		}
	}
}

/* ---- sums ---------------------------------------------------------------- */

static struct sb_stage_sum *sum_of(struct sb_stage_sums *s, uint32_t path)
{
	if (path >= s->count) {
		uint32_t count = s->count ? s->count : 64;
		struct sb_stage_sum *more;

		while (count <= path)
			count *= 2;
		more = realloc(s->all, count * sizeof *more);
		if (!more) {
			s->no_memory = true;
			return NULL;
		}
		memset(more + s->count, 0, (count - s->count) * sizeof *more);
		for (uint32_t i = s->count; i < count; i++) {
			more[i].min_ns = INT64_MAX;
			more[i].max_ns = more[i].last_ns = -1;
			more[i].first_ns = INT64_MAX;
			more[i].end_ns = more[i].last_end_ns = INT64_MIN;
			more[i].last_track = UINT32_MAX;
		}
		s->all = more;
		s->count = count;
	}
	return &s->all[path];
}

const struct sb_stage_sum *sb_stage_sum_at(const struct sb_stage_sums *sums, uint32_t path)
{
	static const struct sb_stage_sum nothing = { .min_ns = INT64_MAX,
		.max_ns = -1,
		.first_ns = INT64_MAX,
		.end_ns = INT64_MIN,
		.last_end_ns = INT64_MIN,
		.last_ns = -1 };

	return path < sums->count ? &sums->all[path] : &nothing;
}

static struct sb_stage_sum_attr *attr_of(struct sb_stage_sums *s, struct sb_stage_sum *sum, const char *key)
{
	struct sb_stage_sum_attr *more;

	for (uint32_t i = 0; i < sum->attr_count; i++)
		if (sum->attrs[i].key == key)
			return &sum->attrs[i];
	if (sum->attr_count >= SB_STAGE_ATTRS_MAX)
		return NULL;
	more = realloc(sum->attrs, (sum->attr_count + 1) * sizeof *more);
	if (!more) {
		s->no_memory = true;
		return NULL;
	}
	sum->attrs = more;
	more = &sum->attrs[sum->attr_count++];
	memset(more, 0, sizeof *more);
	more->key = key;
	return more;
}

static void add_attr(struct sb_stage_sums *s, struct sb_stage_sum *sum, const struct sb_run_attr *a)
{
	struct sb_stage_sum_attr *to = attr_of(s, sum, a->key);
	double value = a->type == STROBE_TYPE_FLOAT ? a->f : (double)a->i;

	if (!to)
		return;
	if (a->type == STROBE_TYPE_STRING) {
		strncpy(to->text, a->s, sizeof to->text - 1);
		to->count++;
		return;
	}
	to->min = to->count && to->min < value ? to->min : value;
	to->max = to->count && to->max > value ? to->max : value;
	to->sum += value;
	to->last = value;
	to->count++;
}

static bool is_untimed(const struct sb_zone *z)
{
	double untimed = z->attr_count ? sb_attr_number(z->attrs, z->attr_count, "untimed") : 0;

	return untimed > 0; /* NaN: not given */
}

static void add_duration(
	struct sb_stage_sums *s, struct sb_stage_sum *sum, const struct sb_zone *z, int64_t ns)
{
	if (z->flags & (SB_ZONE_CLIPPED | SB_ZONE_OPEN)) {
		sum->open_count += (z->flags & SB_ZONE_OPEN) != 0;
		sum->cut_count += !(z->flags & SB_ZONE_OPEN);
		sum->unfinished_ns += ns;
		return;
	}
	if (z->end_ns >= sum->last_end_ns) {
		sum->last_end_ns = z->end_ns;
		sum->last_ns = ns;
	}
	if (ns < sum->min_ns)
		sum->min_ns = ns;
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	if (!sb_durations_add(&sum->durations, ns))
		s->no_memory = true;
}

/* A zone that a summary made of several calls: they count, their times are not known. */
static bool add_summed(struct sb_stage_sum *sum, const struct sb_zone *z)
{
	struct sb_summed summed;

	if (!sb_summed_of(z, &summed))
		return false;
	sum->summed = true;
	sum->summed_count += (uint64_t)summed.calls - 1;
	sum->summed_median_s = sum->count == 1 ? summed.median_s : NAN;
	sum->summed_min_unknown |= !(summed.min_s >= 0);
	sum->summed_max_unknown |= !(summed.max_s >= 0);
	if (summed.min_s >= 0 && summed.min_s < 1e9 && (int64_t)(summed.min_s * 1e9 + 0.5) < sum->min_ns)
		sum->min_ns = (int64_t)(summed.min_s * 1e9 + 0.5);
	if (summed.max_s >= 0 && summed.max_s < 1e9 && (int64_t)(summed.max_s * 1e9 + 0.5) > sum->max_ns)
		sum->max_ns = (int64_t)(summed.max_s * 1e9 + 0.5);
	return true;
}

/* A duration that was handed in may begin before the run. */
static bool add_top(struct sb_stage_sums *s, int64_t begin_ns, int64_t end_ns)
{
	return sb_union_add(&s->top, begin_ns > s->range.from_ns ? begin_ns : s->range.from_ns,
		end_ns < s->range.to_ns ? end_ns : s->range.to_ns);
}

/* A turn of a loop that was measured lies over the stages inside it: it is an iteration and no stage. */
static bool is_turn(uint32_t role, uint32_t flags)
{
	return role == STROBE_ROLE_ITERATION && flags & SB_ZONE_SPAN;
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct sb_stage_sums *s = self;
	struct sb_stage_sum *sum = is_turn(z->role, z->flags) ? NULL
				   : z->path < s->count       ? &s->all[z->path]
							      : sum_of(s, z->path);
	int64_t ns = z->end_ns - z->begin_ns;

	if (!sum)
		return;
	sum->count++;
	sum->self_ns += ns - z->child_ns;
	if (z->flags & SB_ZONE_RECURSIVE) {
		sum->recursive_count++;
	} else {
		sum->total_ns += ns;
		if (!s->imported || !z->attr_count || !add_summed(sum, z))
			add_duration(s, sum, z, ns);
		if ((s->run->track_count > 1 || z->flags & SB_ZONE_SPAN || !z->depth ||
			    z->role == STROBE_ROLE_GENERATION) &&
			!sb_coverage_add(&sum->coverage, &s->range, z->begin_ns, z->end_ns))
			s->no_memory = true;
		if (!z->depth && !add_top(s, z->begin_ns, z->end_ns))
			s->no_memory = true;
	}
	if (z->end_ns > sum->end_ns)
		sum->end_ns = z->end_ns;
	if (z->begin_ns < sum->first_ns)
		sum->first_ns = z->begin_ns;
	if (z->track != sum->last_track) {
		sum->last_track = z->track;
		sum->track_count++;
		sum->main |= s->run->tracks[z->track].main || s->run->tracks[z->track].main_task;
	}
	if (z->role)
		sum->role = z->role;
	sum->span |= (z->flags & SB_ZONE_SPAN) != 0;
	if (z->attr_count) {
		for (uint32_t i = 0; i < z->attr_count; i++)
			if (!s->imported || strncmp(z->attrs[i].key, "strobe.", 7))
				add_attr(s, sum, &z->attrs[i]);
		sum->untimed_count += is_untimed(z);
	}
	if (s->spans->list_count) {
		take_gpu_span(s, z, sum);
		see_behind(s, z, sum);
	}
	s->no_memory |= !sb_call_sums_take(
		&s->calls, s->run, z, z->role == STROBE_ROLE_OFFLOAD ? moved_ns(s, z) : 0);
	if (sb_stage_skips_touch(&s->skips, z))
		sb_stage_skips_place(&s->skips, z);
}

/* ---- what was folded ----------------------------------------------------- */

static void add_folded(struct sb_stage_sums *s, const struct sb_event *e)
{
	struct sb_stage_sum *sum = is_turn(e->digest.role, e->digest.flags) ? NULL : sum_of(s, e->path);

	if (!sum)
		return;
	sum->count += e->digest.count;
	sum->folded_count += e->digest.count;
	sum->self_ns += e->digest.self_ns;
	sum->role = e->digest.role ? e->digest.role : sum->role;
	sum->span |= (e->digest.flags & SB_ZONE_SPAN) != 0;
	sum->main |= s->run->tracks[e->track].main && !e->digest.on_task;
	if (e->track != sum->last_track) {
		sum->last_track = e->track;
		sum->track_count++;
	}
	if (e->digest.first_ns < sum->first_ns)
		sum->first_ns = e->digest.first_ns;
	if (e->digest.last_ns > sum->end_ns)
		sum->end_ns = e->digest.last_ns;
	if (e->digest.flags & SB_ZONE_RECURSIVE) {
		sum->recursive_count += e->digest.count;
		sum->folded_recursive_count += e->digest.count;
		return;
	}
	if (e->digest.last_ns > sum->last_end_ns) {
		sum->last_end_ns = e->digest.last_ns;
		sum->last_ns = -1;
	}
	sum->total_ns += e->digest.total_ns;
	s->top_folded |= !sb_run_path(s->run, e->path)->parent;
	if ((s->run->track_count > 1 || e->digest.role == STROBE_ROLE_GENERATION ||
		    !sb_run_path(s->run, e->path)->parent) &&
		!sb_coverage_spread(
			&sum->coverage, &s->range, e->digest.first_ns, e->digest.last_ns, e->digest.total_ns))
		s->no_memory = true;
	if (e->digest.min_ns < sum->min_ns)
		sum->min_ns = e->digest.min_ns;
	if (e->digest.max_ns > sum->max_ns)
		sum->max_ns = e->digest.max_ns;
	if (!sum->folded)
		sum->folded = calloc(SB_STAGE_BUCKETS, sizeof *sum->folded);
	if (!sum->folded) {
		s->no_memory = true;
		return;
	}
	for (uint32_t i = 0; i < e->digest.bucket_count; i++) {
		const struct sb_digest_bucket *b = &e->digest.buckets[i];

		sum->folded[sb_digest_bucket_of((uint64_t)((b->low_ns + b->high_ns) / 2))] += b->count;
	}
}

static void add_folded_attr(struct sb_stage_sums *s, const struct sb_event *e)
{
	struct sb_stage_sum *sum = e->path ? sum_of(s, e->path) : NULL;
	struct sb_stage_sum_attr *a = sum ? attr_of(s, sum, s->run->names[e->name].text) : NULL;

	if (!a || !e->digest_sum.count)
		return;
	if (!a->count) {
		a->min = a->max = e->digest_sum.sum_float / (double)e->digest_sum.count;
		a->last = e->digest_sum.last;
	}
	a->sum += e->digest_sum.sum_float;
	a->count += e->digest_sum.count;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct sb_stage_sums *s = self;

	switch (e->kind) {
	case SB_EVENT_SKIPPED: sb_stage_skips_add(&s->skips, e); break;
	case SB_EVENT_DIGEST_NODE: add_folded(s, e); break;
	case SB_EVENT_DIGEST_SUM: add_folded_attr(s, e); break;
	default: break;
	}
}

/* Without that of the stages inside it. Parents have the smaller numbers. */
static void leave_own_behind(struct sb_stage_sums *s)
{
	for (uint32_t p = 1; s->spans->list_count && p < s->count; p++)
		s->all[sb_run_path(s->run, p)->parent].behind_ns -= s->all[p].behind_ns;
}

/* ---- the analysis -------------------------------------------------------- */

static void done(void *self)
{
	struct sb_stage_sums *s = self;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++) {
		sb_durations_done(&s->all[i].durations);
		sb_coverage_done(&s->all[i].coverage);
		free(s->all[i].folded);
		free(s->all[i].attrs);
	}
	sb_union_done(&s->top);
	sb_stage_skips_done(&s->skips);
	sb_behind_done(&s->behind);
	sb_stage_shares_done(&s->shares);
	sb_call_sums_done(&s->calls);
	free(s->all);
	free(s);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct sb_stage_sums *s = calloc(1, sizeof *s);
	int err = s ? sb_warm_calls_init(&s->calls.warm, run, model)
		    : sb_fail(STROBE_ENOMEM, "no memory for the stages of '%s'", run->path);

	if (err) {
		done(s);
		return err;
	}
	s->run = run;
	s->range = (struct sb_coverage_range){ run->from_ns, run->to_ns };
	s->imported = sb_summed_possible(run);
	sb_stage_skips_init(&s->skips);
	v->self = s;
	v->roles = SB_EVERY_ZONE;
	v->zone = see_zone;
	v->kinds = 1u << SB_EVENT_SKIPPED | 1u << SB_EVENT_DIGEST_NODE | 1u << SB_EVENT_DIGEST_SUM;
	v->gpu_spans = true;
	s->spans = sb_run_gpu_spans(run);
	v->event = see_event;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sb_stage_sums *s = self;
	uint32_t kept;

	gpu_spans_rest(s);
	leave_own_behind(s);
	if (s->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the stages of '%s'", run->path);
	kept = s->skips.count;
	if (!sb_stage_skips_merge(&s->skips))
		return sb_fail(STROBE_ENOMEM, "no memory for the stages of '%s'", run->path);
	if (s->skips.left_out_count)
		sb_model_missing(model, "skipped stages",
			sb_model_printf(model,
				"%llu skips past %u were not looked at: a stage that was skipped only then "
				"is "
				"not listed",
				(unsigned long long)s->skips.left_out_count, kept),
			"");
	return sb_stage_tree_build(s, model);
}

const struct sb_analysis sb_analysis_stages = {
	.name = "stages",
	.begin = begin,
	.finish = finish,
	.done = done,
};
