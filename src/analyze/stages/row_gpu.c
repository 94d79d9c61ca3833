/* What the GPU did in a row of the stages: kernels, counters, operations, and of which calls that is judged. */
#include "analyze/stages/rows.h"

#include "base/role.h"

#include <string.h>

#define NONE UINT32_MAX

/* The kernels of all its paths. */
static void fill_kernels(const struct sb_stage_paths *r, struct sb_stage *row)
{
	const struct sb_path_kernels *k = &r->model->gpu.path_kernels;
	size_t class_count = r->model->gpu.class_count, kept = 0;
	struct sb_kernel_share *shares;
	bool any = false;

	for (uint32_t p = r->first; p != NONE && !any && k->at; p = r->next[p])
		any = p < k->path_count && k->at[p] < k->at[p + 1];
	shares = any ? sb_model_alloc(r->model, (class_count + 1) * sizeof *shares) : NULL;
	if (!shares)
		return;
	memcpy(shares, r->model->gpu.classes, class_count * sizeof *shares);
	for (size_t i = 0; i < class_count; i++)
		shares[i].count = 0, shares[i].total_s = 0;
	for (uint32_t p = r->first; p != NONE; p = r->next[p])
		for (uint32_t i = p < k->path_count ? k->at[p] : 0; p < k->path_count && i < k->at[p + 1];
			i++) {
			shares[k->all[i].share].count += k->all[i].count;
			shares[k->all[i].share].total_s += k->all[i].total_s;
		}
	for (size_t i = 0; i < class_count; i++)
		if (shares[i].count)
			shares[kept++] = shares[i];
	sb_kernel_shares_sort(shares, kept);
	row->kernels = shares;
	row->kernel_share_count = kept;
	row->kernel_s = sb_kernel_shares_total_s(shares, kept);
}

/* The operations of all its model calls. */
static void fill_flops(const struct sb_stage_paths *r, struct sb_stage *row)
{
	const struct sb_path_flops *from = &r->model->path_flops;
	double flops = 0, most = 0;

	for (uint32_t p = r->first; p != NONE && from->all; p = r->next[p]) {
		const struct sb_flop_sums *s = p < from->path_count ? &from->all[p] : NULL;

		if (!s)
			continue;
		flops += s->flops;
		row->work.cpu_flops += s->cpu_flops;
		row->work.uncounted_count += s->uncounted_count;
		row->work.cached_count += s->cached_count;
		row->work.why = row->work.why ? row->work.why : s->why;
		if (s->precision && (!row->work.precision || s->precision_flops > most)) {
			most = s->precision_flops;
			row->work.precision = s->precision;
		}
	}
	if (flops > 0)
		row->work.flops = flops;
}

/* ---- warm calls ---- */

/* Of several paths (stages named alike) one alone began the others' work: its first call is the cold one. */
static uint32_t first_path(const struct sb_stage_paths *r)
{
	uint32_t first = r->first;

	for (uint32_t p = r->first; p != NONE; p = r->next[p])
		if (sb_stage_sum_at(r->sums, p)->first_ns < sb_stage_sum_at(r->sums, first)->first_ns)
			first = p;
	return first;
}

/* A stage's calls that are judged: the warm ones; where there are none, all. */
struct judged {
	uint32_t first; /* path */
	bool all;
};

static bool is_judged(const struct judged *j, uint32_t path, enum sb_call_kind kind)
{
	return j->all || kind == SB_CALL_WARM || (kind == SB_CALL_FIRST && path != j->first);
}

static struct sb_call_sum sum_judged(const struct sb_stage_paths *r, const struct judged *j)
{
	const struct sb_call_sums *c = &r->sums->calls;
	struct sb_call_sum sum = { 0 };

	for (uint32_t p = r->first; p != NONE; p = r->next[p])
		for (int kind = 0; p < c->path_room && kind < SB_CALL_KINDS; kind++) {
			const struct sb_call_sum *of = &c->all[p].of[kind];

			if (!is_judged(j, p, (enum sb_call_kind)kind))
				continue;
			sum.count += of->count;
			sum.gpu_span_count += of->gpu_span_count;
			sum.total_ns += of->total_ns;
			sum.gpu_span_ns += of->gpu_span_ns;
			sum.moves_ns += of->moves_ns;
		}
	return sum;
}

static void sum_flops(const struct sb_stage_paths *r, const struct judged *j, struct sb_judged_calls *to)
{
	const struct sb_path_flops *from = &r->model->path_flops;

	for (uint32_t p = r->first; p != NONE && from->calls; p = r->next[p])
		for (int kind = 0; p < from->path_count && kind < SB_CALL_KINDS; kind++)
			if (is_judged(j, p, (enum sb_call_kind)kind)) {
				to->flops += from->calls[p].of[kind];
				to->cpu_flops += from->calls[p].cpu_of[kind];
				to->cached_count += from->calls[p].cached_of[kind];
			}
}

/* The readings inside calls of these lots: all of them, or those that are judged. */
static void sum_counters(const struct sb_stage_paths *r, const struct judged *j, struct sb_counter_sums *sums)
{
	static const enum sb_counter_lot lots[] = {
		[SB_CALL_WARM] = SB_COUNTER_WARM, [SB_CALL_FIRST] = SB_COUNTER_FIRST
	};
	const struct sb_path_counters *from = &r->model->path_counters;

	for (uint32_t p = r->first; p != NONE; p = r->next[p])
		for (int i = 0; i < SB_COUNTER_SOURCES && p < from->path_count; i++) {
			if (j->all && from->of[i][SB_COUNTER_ALL])
				sb_counter_sums_add(&sums[i], &from->of[i][SB_COUNTER_ALL][p]);
			for (int kind = 0; !j->all && kind < SB_CALL_COLD; kind++)
				if (from->of[i][lots[kind]] && is_judged(j, p, (enum sb_call_kind)kind))
					sb_counter_sums_add(&sums[i], &from->of[i][lots[kind]][p]);
		}
}

static void fill_from(const struct sb_counter_sums *sums, enum sb_counter_source source, double whole_s,
	struct sb_gpu_counters *out)
{
	sb_gpu_counters_from_sums(&sums[source], whole_s, sb_counter_source_names[source], out);
}

static void fill_counters(
	const struct sb_stage_paths *r, const struct judged *j, double judged_s, struct sb_stage *row)
{
	struct sb_counter_sums all[SB_COUNTER_SOURCES] = { { 0 } }, judged[SB_COUNTER_SOURCES] = { { 0 } };

	sum_counters(r, &(struct judged){ .all = true }, all);
	sum_counters(r, j, judged);
	fill_from(all, sb_counter_source_better(all), row->total_s, &row->counters);
	fill_from(all, SB_COUNTED_PM, row->total_s, &row->sampled_counters);
	fill_from(judged, sb_counter_source_better(judged), judged_s, &row->warm_counters);
}

static void fill_judged(const struct sb_stage_paths *r, struct sb_stage *row)
{
	struct sb_judged_calls *to = &row->judged;
	struct judged j = { .first = first_path(r) };
	struct sb_call_sum sum = sum_judged(r, &j);
	bool timed;

	if (sb_role_uses_gpu(row->name, row->role))
		fill_counters(r, &j, (double)sum.total_ns / 1e9, row);
	j.all = !sum.count;
	if (j.all)
		sum = sum_judged(r, &j);
	timed = sum.count && sum.gpu_span_count == sum.count;
	to->warm = !j.all;
	to->count = j.all ? sb_stage_calls(row) : (int64_t)sum.count;
	to->moves_s = (double)sum.moves_ns / 1e9;
	if (j.all) {
		timed = row->gpu_span_count > 0 && !sb_stage_gpu_partial(row) && row->gpu_span_s > 0;
		to->time_s = timed ? row->gpu_span_s : row->covered_s;
		to->flops = row->work.flops > 0 ? row->work.flops : 0;
		to->cpu_flops = row->work.cpu_flops;
		to->cached_count = row->work.cached_count;
		return;
	}
	to->time_s = timed ? (double)sum.gpu_span_ns / 1e9 : (double)sum.total_ns / 1e9;
	if (!timed && row->total_s > 0)
		to->time_s *= row->covered_s / row->total_s; /* at the same time: once */
	sum_flops(r, &j, to);
}

static void add_traced(struct sb_traced_calls *to, const struct sb_traced_calls *more)
{
	to->count += more->count;
	to->kernel_count += more->kernel_count;
	to->time_s += more->time_s;
	to->busy_s += more->busy_s;
	to->kernel_s += more->kernel_s;
	to->communication_s += more->communication_s;
	to->moves_idle_s += more->moves_idle_s;
}

/* The trace may have seen none of the warm calls. */
static void fill_traced(const struct sb_stage_paths *r, struct sb_stage *row)
{
	const struct sb_path_traced *from = r->model->gpu.path_traced;
	struct judged j = { .first = first_path(r) };

	for (int turn = 0; from && turn < 2 && !row->traced.count; turn++) {
		j.all = turn > 0;
		row->traced_warm = !j.all;
		for (uint32_t p = r->first; p != NONE; p = r->next[p])
			for (int kind = 0; p < r->model->gpu.path_count && kind < SB_CALL_KINDS; kind++)
				if (is_judged(&j, p, (enum sb_call_kind)kind))
					add_traced(&row->traced, &from[p].of[kind]);
	}
}

void sb_stage_row_gpu(const struct sb_stage_paths *r, struct sb_stage *row)
{
	fill_kernels(r, row);
	fill_flops(r, row);
	fill_judged(r, row);
	fill_traced(r, row);
}
