/* Kernels by name: how often each ran, and how long. */
#include "analyze/gpu/kernels.h"

#include "analyze/gpu/kernel_names.h"
#include "analyze/gpu/paths.h"
#include "analyze/gpu/short_names.h"
#include "base/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

void sb_gpu_tally_count(struct sb_gpu_tally *t, int64_t duration_ns, int64_t bytes)
{
	if (!t->count || duration_ns < t->min_ns)
		t->min_ns = duration_ns;
	if (duration_ns > t->max_ns)
		t->max_ns = duration_ns;
	t->count++;
	t->total_ns += duration_ns;
	t->bytes += bytes > 0 ? bytes : 0;
}

static struct sb_gpu_row row_of(
	struct sb_model *model, const char *name, const struct sb_gpu_tally *t, double whole_s)
{
	return (struct sb_gpu_row){ .name = sb_model_text(model, name),
		.count = (int64_t)t->count,
		.total_s = seconds(t->total_ns),
		.busy_s = NAN,
		.mean_s = seconds(t->total_ns) / (double)t->count,
		.min_s = seconds(t->min_ns),
		.max_s = seconds(t->max_ns),
		.ratio = whole_s > 0 ? seconds(t->total_ns) / whole_s : NAN,
		.bytes = NAN };
}

static void classify(struct sb_gpu_row *row)
{
	struct sb_kernel_class class = sb_kernel_classify(row->name);

	row->family = class.family ? sb_kernel_family_name(class.family) : NULL;
	row->kind = class.kind;
	row->precision = class.precision;
}

/* Of all kernels of the run, before the largest are kept: the timeline calls each the same. */
static int put_short_names(struct sb_model *model, struct sb_gpu_row *rows, size_t count)
{
	const char **names = malloc((count + 1) * sizeof *names);
	size_t *at = malloc((count + 1) * sizeof *at);
	struct sb_buf text = { 0 };
	int err = names && at ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the names of kernels");

	for (size_t i = 0; !err && i < count; i++)
		names[i] = rows[i].name;
	if (!err)
		err = sb_kernel_short_names(names, count, &text, at);
	for (size_t i = 0; !err && i < count; i++)
		if (at[i] != SIZE_MAX)
			rows[i].short_name = sb_model_text(model, text.data + at[i]);
	sb_buf_done(&text);
	free(names);
	free(at);
	return err;
}

int sb_gpu_kernels_fill(const struct sb_gpu_kernels *g, struct sb_model *model)
{
	struct sb_gpu_row *rows = malloc((g->room + 1) * sizeof *rows);
	size_t n = 0;
	int err;

	if (!rows)
		return sb_fail(STROBE_ENOMEM, "no memory for the GPU trace");
	for (uint32_t i = 0; i < g->room; i++)
		if (g->all[i].count)
			rows[n++] = row_of(model, g->run->names[i].text, &g->all[i], seconds(g->total_ns));
	err = put_short_names(model, rows, n);
	model->gpu.top_kernels = sb_gpu_rows_keep(model, rows, &n);
	model->gpu.top_kernel_count = n;
	for (size_t i = 0; model->gpu.top_kernels && i < n; i++)
		classify(&model->gpu.top_kernels[i]);
	free(rows);
	return err;
}

static void merge(struct sb_gpu_tally *into, const struct sb_gpu_tally *t)
{
	if (!into->count || t->min_ns < into->min_ns)
		into->min_ns = t->min_ns;
	if (t->max_ns > into->max_ns)
		into->max_ns = t->max_ns;
	into->count += t->count;
	into->total_ns += t->total_ns;
}

struct sb_gpu_row *sb_gpu_kernels_by_kind(const struct sb_gpu_kernels *g, struct sb_model *model,
	const char *(*kind_of)(const char *), size_t *out_count)
{
	const char *kinds[16];
	struct sb_gpu_tally sums[16] = { { 0 } };
	struct sb_gpu_row rows[16];
	size_t n = 0;

	for (uint32_t i = 0; i < g->room; i++) {
		const char *kind = g->all[i].count ? kind_of(g->run->names[i].text) : NULL;
		size_t k = 0;

		if (!kind)
			continue;
		while (k < n && strcmp(kinds[k], kind))
			k++;
		if (k == 16)
			continue;
		kinds[k] = kind;
		n = k == n ? n + 1 : n;
		merge(&sums[k], &g->all[i]);
	}
	for (size_t k = 0; k < n; k++)
		rows[k] = row_of(model, kinds[k], &sums[k], seconds(g->total_ns));
	*out_count = n;
	return sb_gpu_rows_keep(model, rows, out_count);
}
