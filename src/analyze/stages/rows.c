/* The figures of a row of the stages: counts, seconds, percentiles, attributes. */
#include "analyze/stages/rows.h"

#include "base/error.h"
#include "base/role.h"
#include "format/digest.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define SAMPLE_MAX 512 /* calls kept of a stage for a comparison */
#define WORTH_SAYING 1.005 /* more at once than the bins' own error */

static int no_memory(const struct sb_stage_paths *r)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the stages of '%s'", r->sums->run->path);
}

static double quantile_of(
	const double *low, const double *high, const uint64_t *counts, uint64_t total, double q)
{
	double rank = q * (double)(total - 1), before = 0;

	for (uint32_t b = 0; b < SB_STAGE_BUCKETS; b++) {
		if (counts[b] && before + (double)counts[b] > rank)
			return (low[b] + high[b]) / 2;
		before += (double)counts[b];
	}
	return NAN;
}

void sb_stage_folded_percentiles(const uint64_t *counts, struct sb_stats *s)
{
	double low[SB_STAGE_BUCKETS], high[SB_STAGE_BUCKETS];
	uint64_t total = 0;
	double *out[] = { &s->p50, &s->p95, &s->p99 };
	const double q[] = { 0.50, 0.95, 0.99 };

	for (uint32_t b = 0; b < SB_STAGE_BUCKETS; b++) {
		sb_digest_bucket_range(b, &low[b], &high[b]);
		total += counts[b];
	}
	for (int i = 0; total && i < 3; i++) {
		*out[i] = quantile_of(low, high, counts, total, q[i]) / 1e9;
		if (*out[i] < s->min)
			*out[i] = s->min;
		if (*out[i] > s->max)
			*out[i] = s->max;
	}
	s->percentile_error_ratio = 1.0 / 16;
}

static void count_buckets(uint64_t *counts, const struct sb_stage_sum *sum)
{
	size_t large_at = 0;

	for (uint32_t b = 0; sum->folded && b < SB_STAGE_BUCKETS; b++)
		counts[b] += sum->folded[b];
	for (size_t i = 0; i < sum->durations.count; i++)
		counts[sb_digest_bucket_of(sb_durations_next(&sum->durations, i, &large_at))]++;
}

/* The calls of a node as a histogram that other runs' can be added to. */
static int fill_histogram(const struct sb_stage_paths *r, struct sb_stage *row)
{
	struct sb_histogram h = { 0 }, *kept = sb_model_alloc(r->model, sizeof *kept);
	bool ok = kept != NULL;

	for (uint32_t p = r->first; p != NONE && ok; p = r->next[p]) {
		const struct sb_stage_sum *sum = sb_stage_sum_at(r->sums, p);
		size_t large_at = 0;

		for (size_t i = 0; i < sum->durations.count && ok; i++)
			ok = sb_histogram_add(&h, sb_durations_next(&sum->durations, i, &large_at), 1);
		for (uint32_t b = 0; sum->folded && b < SB_STAGE_BUCKETS && ok; b++) {
			double low, high;

			sb_digest_bucket_range(b, &low, &high);
			ok = !sum->folded[b] ||
			     sb_histogram_add(&h, (uint64_t)((low + high) / 2), sum->folded[b]);
		}
	}
	if (ok) {
		*kept = h;
		kept->counts = sb_model_alloc(r->model, (h.size + 1) * sizeof *h.counts);
		ok = kept->counts != NULL;
	}
	if (ok && h.size)
		memcpy(kept->counts, h.counts, h.size * sizeof *h.counts);
	sb_histogram_done(&h);
	row->calls = kept;
	return ok ? 0 : no_memory(r);
}

/* What a summary keeps of calls: their count and sum, perhaps the extremes; never a percentile of its own. */
static void leave_unknown(const struct sb_stage_paths *r, struct sb_stage *row)
{
	for (uint32_t p = r->first; p != NONE; p = r->next[p]) {
		const struct sb_stage_sum *sum = sb_stage_sum_at(r->sums, p);
		bool alone = p == r->first && r->next[p] == NONE;

		if (!sum->summed)
			continue;
		row->time.p50 = row->time.median = alone ? sum->summed_median_s : NAN;
		row->time.p95 = row->time.p99 = row->time.std = NAN;
		row->time.min = sum->summed_min_unknown ? NAN : row->time.min;
		row->time.max = sum->summed_max_unknown ? NAN : row->time.max;
	}
}

/* Every n-th call in order: none is chosen for its size. */
static int fill_sample(const struct sb_stage_paths *r, struct sb_stage *row, const struct sb_durations *all)
{
	size_t stride = (all->count + SAMPLE_MAX - 1) / SAMPLE_MAX, large_at = 0;

	row->sample_s = sb_model_alloc(r->model, (SAMPLE_MAX + 1) * sizeof *row->sample_s);
	if (!row->sample_s)
		return no_memory(r);
	for (size_t i = 0; i < all->count; i++) {
		double seconds = (double)sb_durations_next(all, i, &large_at) / 1e9;

		if (i % stride == 0)
			row->sample_s[row->sample_count++] = seconds;
	}
	return 0;
}

/* Mean, min, max, percentiles of the whole calls, over all the node's paths. */
static int fill_time(const struct sb_stage_paths *r, struct sb_stage *row, int64_t whole_ns)
{
	uint64_t counts[SB_STAGE_BUCKETS] = { 0 };
	const struct sb_stage_sum *only = sb_stage_sum_at(r->sums, r->first);
	struct sb_durations joined = { 0 };
	int64_t min_ns = INT64_MAX, max_ns = -1;
	bool folded = false;
	int err;

	for (uint32_t p = r->first; p != NONE; p = r->next[p]) {
		const struct sb_stage_sum *sum = sb_stage_sum_at(r->sums, p);

		folded |= sum->folded != NULL;
		min_ns = sum->min_ns < min_ns ? sum->min_ns : min_ns;
		max_ns = sum->max_ns > max_ns ? sum->max_ns : max_ns;
		if (r->next[r->first] != NONE && !sb_durations_append(&joined, &sum->durations)) {
			sb_durations_done(&joined);
			return no_memory(r);
		}
	}
	err = sb_durations_stats(joined.count ? &joined : &only->durations, &row->time);
	if (!err && sb_model_build_options(r->model)->calls && !folded)
		err = fill_sample(r, row, joined.count ? &joined : &only->durations);
	sb_durations_done(&joined);
	row->time.count = row->count;
	row->time.total = (double)whole_ns / 1e9;
	row->time.mean = row->count ? (double)whole_ns / 1e9 / (double)row->count : NAN;
	row->time.min = max_ns < 0 ? NAN : (double)min_ns / 1e9;
	row->time.max = max_ns < 0 ? NAN : (double)max_ns / 1e9;
	if (folded) {
		for (uint32_t p = r->first; p != NONE; p = r->next[p])
			count_buckets(counts, sb_stage_sum_at(r->sums, p));
		row->time.std = NAN;
		sb_stage_folded_percentiles(counts, &row->time);
	}
	leave_unknown(r, row);
	if (!err && sb_model_build_options(r->model)->calls)
		err = fill_histogram(r, row);
	return err;
}

static void merge_attr(struct sb_model *m, struct sb_stage_attr *to, const struct sb_stage_sum_attr *from)
{
	to->min = to->count && to->min < from->min ? to->min : from->min;
	to->max = to->count && to->max > from->max ? to->max : from->max;
	to->sum += from->sum;
	to->last = from->last;
	to->count += (int64_t)from->count;
	if (*from->text)
		to->text = sb_model_text(m, from->text);
}

static void fill_attrs(const struct sb_stage_paths *r, struct sb_stage *row)
{
	struct sb_stage_attr *all = NULL;
	size_t count = 0;

	for (uint32_t p = r->first; p != NONE; p = r->next[p])
		count += sb_stage_sum_at(r->sums, p)->attr_count;
	if (!count || !(all = sb_model_alloc(r->model,
				(count < SB_STAGE_ATTRS_MAX ? count : SB_STAGE_ATTRS_MAX) * sizeof *all)))
		return;
	for (uint32_t p = r->first; p != NONE; p = r->next[p])
		for (uint32_t i = 0; i < sb_stage_sum_at(r->sums, p)->attr_count; i++) {
			const struct sb_stage_sum_attr *from = &sb_stage_sum_at(r->sums, p)->attrs[i];
			size_t k = 0;

			while (k < row->attr_count && strcmp(all[k].key, from->key))
				k++;
			if (k == SB_STAGE_ATTRS_MAX)
				continue;
			if (k == row->attr_count) {
				all[k].key = sb_model_text(r->model, from->key);
				row->attr_count++;
			}
			merge_attr(r->model, &all[k], from);
		}
	row->attrs = all;
}

static int by_member_total(const void *a, const void *b)
{
	const struct sb_stage_member *x = a, *y = b;

	if (x->total_s != y->total_s)
		return x->total_s > y->total_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Who is inside a group, by name. A node's paths of one name are neighbours. */
static int fill_members(const struct sb_stage_paths *r, struct sb_stage *row)
{
	struct sb_stage_member *all;
	size_t count = 0;
	uint32_t last = 0;

	for (uint32_t p = r->first; p != NONE; p = r->next[p])
		count++;
	all = calloc(count, sizeof *all);
	if (!all)
		return no_memory(r);
	count = 0;
	for (uint32_t p = r->first; p != NONE; p = r->next[p]) {
		uint32_t name = sb_run_path(r->sums->run, p)->name;

		if (!count || name != last)
			all[count++].name = r->sums->run->names[name].text;
		last = name;
		all[count - 1].count += (int64_t)sb_stage_sum_whole(sb_stage_sum_at(r->sums, p));
		all[count - 1].total_s += (double)sb_stage_sum_at(r->sums, p)->total_ns / 1e9;
	}
	qsort(all, count, sizeof *all, by_member_total);
	row->member_total = count;
	row->member_count = count < SB_MEMBERS_MAX ? count : SB_MEMBERS_MAX;
	row->members = sb_model_alloc(r->model, row->member_count * sizeof *all);
	for (size_t i = 0; row->members && i < row->member_count; i++) {
		row->members[i] = all[i];
		row->members[i].name = sb_model_text(r->model, all[i].name);
	}
	free(all);
	return 0;
}

/* Calls on one thread follow one another; those of several, or of tasks, may not. */
static int fill_covered(const struct sb_stage_paths *r, struct sb_stage *row, int64_t total_ns)
{
	struct sb_coverage all = { 0 };
	bool several = row->thread_count > 1 || row->span;
	uint32_t track = UINT32_MAX;

	for (uint32_t p = r->first; p != NONE; p = r->next[p]) {
		const struct sb_stage_sum *s = sb_stage_sum_at(r->sums, p);

		several |= s->count && track != UINT32_MAX && track != s->last_track;
		track = s->count ? s->last_track : track;
		if (!sb_coverage_join(&all, &s->coverage)) {
			sb_coverage_done(&all);
			return no_memory(r);
		}
	}
	row->covered_s = row->total_s;
	row->at_once_mean = NAN;
	if (several && all.pieces) {
		int64_t covered_ns = sb_coverage_ns(&all, &r->sums->range);

		row->covered_s = (double)(covered_ns < total_ns ? covered_ns : total_ns) / 1e9;
		row->before_run = row->first_s < (double)r->sums->range.from_ns / 1e9;
		if (covered_ns > 0 && !row->before_run &&
			(double)total_ns > WORTH_SAYING * (double)covered_ns)
			row->at_once_mean = (double)total_ns / (double)covered_ns;
	}
	sb_coverage_done(&all);
	return 0;
}

/* What is added up over a row's paths before it is put into seconds. */
struct totals {
	int64_t total_ns, self_ns, unfinished_ns, gpu_ns, late_ns, behind_ns;
	int64_t first_ns, end_ns, last_end_ns, last_ns;
	uint64_t zone_count, untimed_count;
	bool summed;
};

static void add_counts(struct sb_stage *row, const struct sb_stage_sum *s)
{
	row->count += (int64_t)sb_stage_sum_whole(s);
	row->recursive_count += (int64_t)s->recursive_count;
	row->open_count += (int64_t)s->open_count;
	row->cut_count += (int64_t)s->cut_count;
	row->folded_count += (int64_t)s->folded_count;
	row->gpu_span_count += (int64_t)s->gpu_span_count;
	row->thread_count = row->thread_count > s->track_count ? row->thread_count : s->track_count;
	row->main_thread |= s->main;
	row->span |= s->span;
	row->role = s->role ? s->role : row->role;
}

static void add_times(struct totals *t, const struct sb_stage_sum *s)
{
	t->zone_count += s->count;
	t->summed |= s->summed;
	t->untimed_count += s->untimed_count;
	t->total_ns += s->total_ns;
	t->self_ns += s->self_ns;
	t->unfinished_ns += s->unfinished_ns;
	t->gpu_ns += s->gpu_span_ns;
	t->late_ns += s->late_ns;
	t->behind_ns += s->behind_ns;
	t->first_ns = s->first_ns < t->first_ns ? s->first_ns : t->first_ns;
	t->end_ns = s->end_ns > t->end_ns ? s->end_ns : t->end_ns;
	if (s->last_end_ns > t->last_end_ns) {
		t->last_end_ns = s->last_end_ns;
		t->last_ns = s->last_ns;
	}
}

static struct totals add_up(const struct sb_stage_paths *r, struct sb_stage *row)
{
	struct totals t = {
		.first_ns = INT64_MAX, .end_ns = INT64_MIN, .last_end_ns = INT64_MIN, .last_ns = -1
	};
	double busy_s = 0;

	for (uint32_t p = r->first; p != NONE; p = r->next[p]) {
		add_counts(row, sb_stage_sum_at(r->sums, p));
		add_times(&t, sb_stage_sum_at(r->sums, p));
		if (p >= r->model->gpu.path_count)
			continue;
		busy_s += r->model->gpu.path_busy_s[p];
		row->gpu_read_s += r->model->gpu.path_read_s[p];
		row->gpu_copy_s += r->model->gpu.path_copy_s[p];
		row->gpu_read_count += (int64_t)r->model->gpu.path_read_count[p];
		row->gpu_call_count += (int64_t)r->model->gpu.path_call_count[p];
	}
	if (row->thread_count > r->sums->run->track_count)
		row->thread_count = r->sums->run->track_count;
	row->gpu_span_s = row->gpu_span_count ? (double)t.gpu_ns / 1e9 : NAN;
	row->gpu_busy_s = busy_s > 0 ? busy_s : NAN;
	row->gpu_late_s = (double)(t.late_ns > 0 ? t.late_ns : 0) / 1e9;
	row->gpu_behind_s = (double)(t.behind_ns > 0 ? t.behind_ns : 0) / 1e9;
	return t;
}

/* Calls of one path are kept as they ended; of the paths, the one that began first. */
static double first_call_s(const struct sb_stage_paths *r, int64_t first_ns)
{
	size_t large_at = 0;

	for (uint32_t p = r->first; p != NONE; p = r->next[p]) {
		const struct sb_stage_sum *s = sb_stage_sum_at(r->sums, p);

		if (s->first_ns == first_ns && s->durations.count && !s->folded_count)
			return (double)sb_durations_next(&s->durations, 0, &large_at) / 1e9;
	}
	return 0;
}

void sb_stage_row_clear(struct sb_stage *row)
{
	row->gpu_span_s = row->gpu_busy_s = row->kernel_s = row->unattributed_s = row->outside_s =
		row->own_outside_s = row->real_s = row->real_ratio = NAN;
	row->work = (struct sb_stage_work){ .flops = NAN,
		.tflops = NAN,
		.time_s = NAN,
		.work_mfu_ratio = NAN,
		.peak_tflops = NAN,
		.mfu_ratio = NAN,
		.floor_s = NAN,
		.bytes = NAN,
		.intensity = NAN };
}

int sb_stage_row_fill(const struct sb_stage_paths *r, bool grouped, struct sb_stage *row)
{
	double wall_s = r->model->stages.wall_s;
	struct totals t = add_up(r, row);

	row->total_s = (double)t.total_ns / 1e9;
	row->unfinished_s = (double)t.unfinished_ns / 1e9;
	row->self_s = (double)(t.self_ns > 0 ? t.self_ns : 0) / 1e9;
	row->first_s = (double)t.first_ns / 1e9;
	row->first_call_s = first_call_s(r, t.first_ns);
	row->end_s = (double)t.end_ns / 1e9;
	if (fill_covered(r, row, t.total_ns))
		return STROBE_ENOMEM;
	row->wall_ratio = wall_s > 0 ? row->covered_s / wall_s : 0;
	row->self_ratio = row->total_s > 0 ? row->wall_ratio * row->self_s / row->total_s : 0;
	row->state = row->open_count                                      ? SB_STAGE_OPEN
		     : t.untimed_count && t.untimed_count == t.zone_count ? SB_STAGE_UNTIMED
									  : SB_STAGE_NORMAL;
	sb_stage_row_gpu(r, row);
	fill_attrs(r, row);
	if (grouped && fill_members(r, row))
		return STROBE_ENOMEM;
	if (fill_time(r, row, t.total_ns - t.unfinished_ns))
		return STROBE_ENOMEM;
	row->time.last = t.last_ns < 0 || t.summed ? NAN : (double)t.last_ns / 1e9;
	return 0;
}

void sb_stage_row_skip(
	const struct sb_stage_sums *sums, uint32_t skip, struct sb_model *model, struct sb_stage *row)
{
	row->state = SB_STAGE_SKIPPED;
	row->skip_reason = sb_model_text(model, sums->skips.all[skip].reason);
	row->first_s = row->end_s = (double)sums->skips.all[skip].t_ns / 1e9;
	row->total_s = row->self_s = 0;
	row->wall_ratio = row->self_ratio = row->covered_s = 0;
	row->at_once_mean = NAN;
	row->time = SB_STATS_NONE;
}
