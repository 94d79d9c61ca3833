/* Rows of zones: what they launched, copied, and let the GPU wait. */
#include "analyze/gpu/paths.h"

#include <stdlib.h>
#include <string.h>

#define IDLE_REST_LEAST 0.005 /* of the idle time */

struct paths {
	struct sb_run *run;
	const struct sb_gpu_launches *launches;
	const struct sb_gpu_times *times;
};

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

static int by_total(const void *a, const void *b)
{
	const struct sb_gpu_row *x = a, *y = b;

	if (x->total_s != y->total_s)
		return x->total_s < y->total_s ? 1 : -1;
	return strcmp(x->name, y->name);
}

struct sb_gpu_row *sb_gpu_rows_keep(struct sb_model *model, struct sb_gpu_row *rows, size_t *count)
{
	struct sb_gpu_row *kept;

	if (*count)
		qsort(rows, *count, sizeof *rows, by_total);
	*count = *count < SB_GPU_ROWS ? *count : SB_GPU_ROWS;
	kept = sb_model_alloc(model, *count * sizeof *kept);
	if (kept && *count)
		memcpy(kept, rows, *count * sizeof *kept);
	for (size_t i = 0; kept && i < *count; i++)
		kept[i].gb_per_s = kept[i].bytes > 0 && kept[i].total_s > 0
					   ? kept[i].bytes / kept[i].total_s / 1e9
					   : NAN;
	return kept;
}

/* "denoise > aten::item": the outermost stage and the innermost. */
const char *sb_gpu_path_name(struct sb_run *run, struct sb_model *model, uint32_t path)
{
	uint32_t outer = path;

	if (!path)
		return sb_model_text(model, SB_GPU_OUTSIDE);
	while (sb_run_path(run, outer)->parent)
		outer = sb_run_path(run, outer)->parent;
	if (outer == path)
		return sb_model_text(model, run->names[sb_run_path(run, path)->name].text);
	return sb_model_printf(model, "%s > %s", run->names[sb_run_path(run, outer)->name].text,
		run->names[sb_run_path(run, path)->name].text);
}

enum row_kind { ROWS_BUSY, ROWS_OFFLOAD, ROWS_IDLE };

static bool path_row(const struct paths *p, struct sb_model *model, uint32_t path,
	const struct sb_gpu_path *at, enum row_kind what, struct sb_gpu_row *out)
{
	struct sb_gpu_row row = {
		.busy_s = NAN, .mean_s = NAN, .min_s = NAN, .max_s = NAN, .ratio = NAN, .bytes = NAN
	};
	int64_t whole_ns = what == ROWS_IDLE ? p->times->window_ns - p->times->busy_ns : p->times->busy_ns;
	int64_t part_ns = what == ROWS_IDLE ? at->idle_ns : what == ROWS_BUSY ? at->busy_ns : at->copy_ns;

	if (what == ROWS_BUSY && !at->count)
		return false;
	if (what == ROWS_OFFLOAD && !at->copy_count)
		return false;
	if (what == ROWS_IDLE && !at->idle_ns)
		return false;
	row.total_s = seconds(part_ns);
	row.ratio = whole_ns > 0 ? (double)part_ns / (double)whole_ns : NAN;
	row.count = (int64_t)(what == ROWS_OFFLOAD ? at->copy_count
			      : what == ROWS_IDLE  ? at->gap_count
						   : at->count);
	if (what == ROWS_BUSY)
		row.busy_s = seconds(at->busy_ns);
	if (what == ROWS_OFFLOAD)
		row.bytes = (double)at->copy_bytes;
	row.name = sb_gpu_path_name(p->run, model, path);
	*out = row;
	return true;
}

/* What no path has: gaps that were too short to be kept. False: that is next to nothing. */
static bool idle_rest(
	const struct paths *p, const struct sb_gpu_row *rows, size_t count, struct sb_gpu_row *out)
{
	double idle_s = seconds(p->times->window_ns - p->times->busy_ns), rest_s = idle_s;
	int64_t gaps = p->times->gap_count;

	for (size_t i = 0; i < count; i++) {
		rest_s -= rows[i].total_s;
		gaps -= rows[i].count;
	}
	if (!(rest_s >= IDLE_REST_LEAST * idle_s) || gaps <= 0)
		return false;
	*out = (struct sb_gpu_row){ .name = SB_GPU_SHORTEST,
		.count = gaps,
		.total_s = rest_s,
		.busy_s = NAN,
		.mean_s = NAN,
		.min_s = NAN,
		.max_s = NAN,
		.ratio = rest_s / idle_s,
		.bytes = NAN };
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sb_gpu_row *)a)->name, ((const struct sb_gpu_row *)b)->name);
}

/* Paths that read alike (the same zone by another way) are one row. */
static size_t merge_alike(struct sb_gpu_row *rows, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(rows, count, sizeof *rows, by_name);
	for (size_t i = 0; i < count; i++) {
		struct sb_gpu_row *into = &rows[kept ? kept - 1 : 0];

		if (!kept || strcmp(into->name, rows[i].name)) {
			rows[kept++] = rows[i];
			continue;
		}
		into->count += rows[i].count;
		into->total_s += rows[i].total_s;
		into->busy_s += rows[i].busy_s;
		into->ratio += rows[i].ratio;
		into->bytes += rows[i].bytes;
	}
	return kept;
}

static struct sb_gpu_row *fill_rows(
	const struct paths *p, struct sb_model *model, enum row_kind what, size_t *out_count)
{
	uint32_t count;
	const struct sb_gpu_path *paths = sb_gpu_launches_paths(p->launches, &count);
	struct sb_gpu_row *rows = malloc((count + 1) * sizeof *rows), *kept;

	*out_count = 0;
	if (!rows) {
		model->failed = true;
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		if (path_row(p, model, i, &paths[i], what, &rows[*out_count]))
			++*out_count;
	if (model->failed) { /* names may be missing */
		*out_count = 0;
		free(rows);
		return NULL;
	}
	*out_count = merge_alike(rows, *out_count);
	*out_count += what == ROWS_IDLE && idle_rest(p, rows, *out_count, &rows[*out_count]);
	kept = sb_gpu_rows_keep(model, rows, out_count);
	free(rows);
	return kept;
}

static struct sb_traced_calls traced_of(const struct sb_gpu_calls *c)
{
	return (struct sb_traced_calls){ .count = (int64_t)c->call_count,
		.kernel_count = (double)c->kernel_count,
		.time_s = seconds(c->time_ns),
		.busy_s = seconds(c->busy_ns),
		.kernel_s = seconds(c->kernel_ns),
		.communication_s = seconds(c->communication_ns),
		.moves_idle_s = seconds(c->moves_idle_ns) };
}

/* What a zone's children launched is the zone's too; copies are those of the zone alone. */
static void fill_paths(const struct paths *p, struct sb_model *model)
{
	uint32_t count, path_count = sb_run_path_count(p->run);
	const struct sb_gpu_path *paths = sb_gpu_launches_paths(p->launches, &count);
	double *busy = sb_model_alloc(model, (path_count + 1) * sizeof *busy);
	double *read = sb_model_alloc(model, (path_count + 1) * sizeof *read);
	double *copied = sb_model_alloc(model, (path_count + 1) * sizeof *copied);
	struct sb_path_traced *traced = sb_model_alloc(model, (path_count + 1) * sizeof *traced);
	uint64_t *reads = sb_model_alloc(model, (path_count + 1) * sizeof *reads);
	uint64_t *calls = sb_model_alloc(model, (path_count + 1) * sizeof *calls);

	if (!busy || !read || !copied || !traced || !reads || !calls)
		return;
	for (uint32_t i = 0; i < path_count; i++) {
		busy[i] = i < count ? seconds(paths[i].busy_ns) : 0;
		read[i] = i < count ? seconds(paths[i].read_ns) : 0;
		copied[i] = i < count ? seconds(paths[i].copy_ns) : 0;
		for (int kind = 0; i < count && kind < SB_CALL_KINDS; kind++)
			traced[i].of[kind] = traced_of(&paths[i].of[kind]);
		reads[i] = i < count ? paths[i].read_count : 0;
		calls[i] = i < count ? paths[i].call_count : 0;
	}
	model->gpu.unattributed_busy_s = path_count ? busy[0] : 0;
	model->gpu.moves_idle_s = count ? seconds(paths[0].open.moves_idle_ns)
					: 0; /* top-level zones end in it */
	for (uint32_t i = path_count; i-- > 1;) {
		uint32_t parent = sb_run_path(p->run, i)->parent;

		busy[parent] += busy[i];
		read[parent] += read[i];
		reads[parent] += reads[i];
	}
	model->gpu.path_busy_s = busy;
	model->gpu.path_read_s = read;
	model->gpu.path_copy_s = copied;
	model->gpu.path_traced = traced;
	model->gpu.path_read_count = reads;
	model->gpu.path_call_count = calls;
	model->gpu.path_count = path_count;
}

void sb_gpu_paths_fill(struct sb_run *run, const struct sb_gpu_launches *launches,
	const struct sb_gpu_times *times, struct sb_model *model)
{
	struct paths p = { run, launches, times };
	struct sb_gpu_panel *s = &model->gpu;

	s->top_zones = fill_rows(&p, model, ROWS_BUSY, &s->top_zone_count);
	s->offload = fill_rows(&p, model, ROWS_OFFLOAD, &s->offload_count);
	s->idle_zones = fill_rows(&p, model, ROWS_IDLE, &s->idle_zone_count);
	fill_paths(&p, model);
}
