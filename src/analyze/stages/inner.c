/* Calls inside another call of their own row, where rows are made of names: --combine, and
 * the rows that stages of one name share. Their time is that of the call around them. */
#include "analyze/stages/rows.h"

static bool is_inside_its_own(const struct sb_stage_sums *sums, const uint32_t *row_of, uint32_t path)
{
	for (uint32_t up = sb_run_path(sums->run, path)->parent; up; up = sb_run_path(sums->run, up)->parent)
		if (row_of[up] == row_of[path])
			return true;
	return false;
}

struct sb_stage_inner sb_stage_take_inner(
	const struct sb_stage_sums *sums, const uint32_t *row_of, uint32_t *first, uint32_t *next)
{
	struct sb_stage_inner inner = { 0 };

	while (*first != UINT32_MAX) {
		const struct sb_stage_sum *sum = sb_stage_sum_at(sums, *first);

		if (!is_inside_its_own(sums, row_of, *first)) {
			first = &next[*first];
			continue;
		}
		inner.total_ns += sum->total_ns;
		inner.self_ns += sum->self_ns;
		inner.count += (int64_t)(sum->count + sum->summed_count);
		*first = next[*first];
	}
	return inner;
}

void sb_stage_row_add_inner(struct sb_stage *row, double self_s, int64_t count)
{
	row->self_s += self_s > 0 ? self_s : 0;
	row->recursive_count += count;
	row->self_ratio = row->total_s > 0 ? row->wall_ratio * row->self_s / row->total_s : 0;
}
