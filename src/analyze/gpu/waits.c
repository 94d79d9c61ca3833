/* There are a handful of kinds: they are looked for one by one. */
#include "analyze/gpu/waits.h"

#include "analyze/analysis.h"

#include <stdlib.h>

void sb_gpu_waits_add(struct sb_gpu_waits *w, const struct sb_event *e)
{
	uint32_t i = 0;

	while (i < w->count && i < SB_GPU_WAITS_MAX - 1 && w->names[i] != e->name)
		i++;
	if (i == w->count)
		w->names[w->count++] = e->name;
	sb_gpu_tally_count(&w->tallies[i], e->gpu.duration_ns, 0);
}

static int longest_first(const void *a, const void *b)
{
	const struct sb_gpu_wait *x = a, *y = b;

	return x->total_s > y->total_s ? -1 : x->total_s < y->total_s;
}

void sb_gpu_waits_fill(const struct sb_gpu_waits *w, const struct sb_run *run, struct sb_model *model)
{
	struct sb_gpu_wait *rows = sb_model_alloc(model, (w->count + 1) * sizeof *rows);

	for (uint32_t i = 0; rows && i < w->count; i++) {
		const struct sb_gpu_tally *t = &w->tallies[i];
		bool rest = i == SB_GPU_WAITS_MAX - 1;

		rows[i] = (struct sb_gpu_wait){ sb_model_text(
							model, rest ? "other" : run->names[w->names[i]].text),
			(int64_t)t->count, (double)t->total_ns / 1e9, (double)t->max_ns / 1e9 };
	}
	if (!rows)
		return;
	qsort(rows, w->count, sizeof *rows, longest_first);
	model->gpu.waits = rows;
	model->gpu.wait_count = w->count;
}
