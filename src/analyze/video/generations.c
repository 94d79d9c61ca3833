/* Generations: one video, one prompt, one request each; else the whole run. */
#include "analyze/video/shared_out.h"
#include "analyze/video/video.h"
#include "base/inorder.h"
#include "format/run_keys.h"

#include "stats/statistics.h"

#include <stdlib.h>
#include <string.h>

#define LISTED_MOST 10000u
#define MOSTLY_OTHERS 2 /* times its own length: readings so long say more of what was beside it */
#define LOOK_BACK 256 /* generations that may run at the same time */

static int by_track_then_begin(const void *a, const void *b)
{
	const struct sb_video_generation *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static int by_begin(const void *a, const void *b)
{
	const struct sb_video_generation *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static void take_missing(int64_t *outer, int64_t inner)
{
	if (*outer < 0)
		*outer = inner;
}

/* One of no length at the begin or end of another may also stand beside it: then it is no deeper. */
static bool is_inside(const struct sb_video_generation *inner, const struct sb_video_generation *outer)
{
	bool at_border = inner->begin_ns == inner->end_ns &&
			 (inner->begin_ns == outer->begin_ns || inner->begin_ns == outer->end_ns);

	return inner->track == outer->track && inner->end_ns <= outer->end_ns &&
	       (!at_border || inner->depth > outer->depth);
}

/* A generation inside another is the same one, marked twice (a session around
 * a pipeline call): the outer one stays and learns what only the inner knew. */
static void drop_nested(struct sb_vec *generations)
{
	struct sb_video_generation *all = generations->items;
	size_t kept = 0;

	qsort(all, generations->count, sizeof *all, by_track_then_begin);
	for (size_t i = 0; i < generations->count; i++) {
		struct sb_video_generation *outer = kept ? &all[kept - 1] : NULL;

		if (!outer || !is_inside(&all[i], outer)) {
			all[kept++] = all[i];
			continue;
		}
		take_missing(&outer->frames, all[i].frames);
		take_missing(&outer->asked_frames, all[i].asked_frames);
		take_missing(&outer->width, all[i].width);
		take_missing(&outer->height, all[i].height);
		take_missing(&outer->latent_frames, all[i].latent_frames);
		if (outer->videos <= 0 &&
			all[i].videos > outer->videos) /* latents are what the next one begins with */
			outer->videos = all[i].videos;
		take_missing(&outer->images, all[i].images);
	}
	generations->count = kept;
	qsort(all, kept, sizeof *all, by_begin);
}

static void take_whole_run(struct sb_video *v)
{
	struct sb_video_generation *n = sb_vec_push(&v->generations, sizeof *n);

	v->whole_run = true;
	if (!n) {
		v->failed = true;
		return;
	}
	n->begin_ns = sb_video_any(v) ? v->warm_ns : v->run->from_ns;
	n->end_ns = v->run->to_ns;
	n->frames = n->asked_frames = n->width = n->height = n->latent_frames = n->decoded = -1;
	n->videos = n->images = -1;
	n->name = "run";
	n->track = UINT32_MAX;
}

/* The generation that a moment on a track belongs to. */
static uint32_t generation_at(const struct sb_video *v, uint32_t track, int64_t t_ns)
{
	const struct sb_video_generation *all = v->generations.items;
	uint32_t found = SB_NO_GENERATION;
	size_t after;

	if (v->whole_run || !v->generations.count)
		return v->whole_run ? 0 : found;
	after = sb_first_after(&all->begin_ns, sizeof *all, v->generations.count, t_ns);
	for (size_t i = after, looked = 0; i-- > 0 && looked < LOOK_BACK; looked++) {
		if (t_ns > all[i].end_ns)
			continue;
		if (all[i].track == track)
			return (uint32_t)i;
		if (found == SB_NO_GENERATION)
			found = (uint32_t)i;
	}
	return found;
}

uint32_t sb_generation_of(
	const struct sb_video *v, uint32_t track, int64_t begin_ns, int64_t end_ns, bool measured)
{
	return generation_at(v, track, measured ? end_ns : begin_ns);
}

/* Of a generation that pads, a pipeline inside it counts what it computes: only the frames that are seen count. */
static void leave_out_padding(struct sb_video *v)
{
	struct sb_video_generation *all = v->generations.items;

	for (size_t i = 0; i < v->generations.count; i++)
		if (all[i].padded && all[i].counted > all[i].frames) {
			v->frames_total -= all[i].counted - all[i].frames;
			all[i].counted = all[i].frames;
		}
}

static void count_frames(struct sb_video *v)
{
	struct sb_video_generation *all = v->generations.items;
	const struct sb_video_frames *frames = v->frames.items;
	struct sb_video_stage *stages = v->stages.items, *encodes = v->encodes.items;

	for (size_t i = 0; i < v->frames.count; i++) {
		uint32_t g = generation_at(v, UINT32_MAX, frames[i].t_ns);

		if (g != SB_NO_GENERATION)
			all[g].counted += frames[i].count;
	}
	leave_out_padding(v);
	for (size_t i = 0; i < v->encodes.count; i++)
		encodes[i].generation = generation_at(v, encodes[i].track, encodes[i].begin_ns);
	for (size_t i = 0; i < v->stages.count; i++) {
		stages[i].generation = generation_at(v, stages[i].track, stages[i].begin_ns);
		if (stages[i].generation == SB_NO_GENERATION || stages[i].work != STROBE_ROLE_VAE_DECODE ||
			stages[i].frames < 0)
			continue;
		all[stages[i].generation].decoded =
			(all[stages[i].generation].decoded < 0 ? 0 : all[stages[i].generation].decoded) +
			stages[i].frames;
	}
}

/* The program caught the error itself: the generation ended, and made nothing where the last one of its decodes or its denoising
 * loops failed. One that was tried again, in tiles, came to its end. */
static void find_caught(struct sb_video *v)
{
	struct sb_video_generation *all = v->generations.items;
	const struct sb_video_stage *stages = v->stages.items;

	for (size_t i = 0; i < v->stages.count; i++) {
		const struct sb_video_stage *s = &stages[i];
		bool decodes = s->work == STROBE_ROLE_VAE_DECODE;
		struct sb_video_generation *of = s->generation == SB_NO_GENERATION ? NULL
										   : &all[s->generation];
		struct sb_last_stage *last = !of ? NULL : decodes ? &of->last_decode : &of->last_denoise;

		if (last && s->end_ns > last->end_ns)
			*last = (struct sb_last_stage){ s->end_ns, s->failed };
	}
	for (size_t i = 0; i < v->generations.count && !v->whole_run; i++) {
		if (all[i].no_video || !(all[i].last_decode.failed || all[i].last_denoise.failed))
			continue;
		all[i].no_video = "failed";
		all[i].frames = -1;
	}
}

static int by_track_and_work(const void *a, const void *b)
{
	const struct sb_video_stage *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

void sb_generations_look_for_steps(struct sb_video *v)
{
	const struct sb_video_step *steps = v->steps.items;
	const struct sb_video_block *blocks = v->blocks.items;
	size_t inside = 0, all = v->steps.count + v->blocks.count;

	for (size_t i = 0; i < v->steps.count; i++)
		inside += sb_generation_of(v, steps[i].track, steps[i].begin_ns, steps[i].end_ns,
				  steps[i].measured) != SB_NO_GENERATION;
	for (size_t i = 0; i < v->blocks.count; i++)
		inside += sb_generation_of(v, blocks[i].track, blocks[i].begin_ns, blocks[i].end_ns,
				  blocks[i].measured) != SB_NO_GENERATION;
	v->outside = all && !inside;
	if (inside && inside < all)
		sb_run_warn(v->run,
			"%zu of %zu steps and blocks are outside every generation: rates are of the others",
			all - inside, all);
}

/* Stages of one kind of work inside each other are one: the outermost stays. */
static void keep_outermost(struct sb_vec *stages)
{
	struct sb_video_stage *all = stages->items;
	int64_t open_until_ns[SB_ROLE_COUNT] = { 0 };
	uint32_t track = UINT32_MAX;
	size_t kept = 0;

	if (!stages->count)
		return;
	qsort(all, stages->count, sizeof *all, by_track_and_work);
	for (size_t i = 0; i < stages->count; i++) {
		if (all[i].track != track)
			memset(open_until_ns, 0, sizeof open_until_ns);
		track = all[i].track;
		if (all[i].end_ns <= open_until_ns[all[i].work])
			continue;
		open_until_ns[all[i].work] = all[i].end_ns;
		all[kept++] = all[i];
	}
	stages->count = kept;
}

/* The work of the generation can be on that GPU. */
static bool is_on(uint64_t devices, const struct sb_series *s)
{
	return !devices || (s->device >= 0 && s->device < 64 && devices >> s->device & 1);
}

static double utilization(const struct sb_model *model, uint64_t devices, double from_s, double to_s)
{
	double busiest = NAN;

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		double mean;

		if (strcmp(s->source, "gpu") != 0 || !is_on(devices, s))
			continue;
		mean = sb_series_mean(s, sb_series_column_find(s, "utilization_percent"), from_s, to_s);
		if (!isnan(mean) && !(mean <= busiest))
			busiest = mean;
	}
	return busiest;
}

/* What the driver says of that GPU; samples say all but NVLink themselves. */
static void read_beside(const struct sb_model *model, const struct sb_generation *row,
	const struct sb_series *counters, enum sb_counter_source source, struct sb_gpu_counters *out)
{
	static const char *const sampled[] = { "engine_active_percent", "pcie_read_bytes_per_s",
		"pcie_write_bytes_per_s" };
	double known_s;

	for (int k = 0; source == SB_COUNTED_PM && k < 3; k++)
		out->beside[k] = sb_series_held_mean(counters, sb_series_column_find(counters, sampled[k]),
					 row->begin_s, row->end_s, &known_s) /
				 (k == SB_BESIDE_UTILIZATION ? 1 : 1e9);
	if (source == SB_COUNTED_PM)
		out->beside[SB_BESIDE_DRAM] =
			(sb_series_held_mean(counters,
				 sb_series_column_find(counters, "dram_read_bytes_per_s"), row->begin_s,
				 row->end_s, &known_s) +
				sb_series_held_mean(counters,
					sb_series_column_find(counters, "dram_write_bytes_per_s"),
					row->begin_s, row->end_s, &known_s)) /
			1e9;
	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		bool same = !strcmp(s->source, "gpu") && s->device == counters->device;

		if (same && source == SB_COUNTED_GPM)
			out->beside[SB_BESIDE_UTILIZATION] = sb_series_mean(s,
				sb_series_column_find(s, sb_gpu_beside_columns[SB_BESIDE_UTILIZATION]),
				row->begin_s, row->end_s);
		for (int k = source == SB_COUNTED_GPM ? SB_BESIDE_PCIE_RX : SB_BESIDE_NVLINK_RX;
			same && k <= SB_BESIDE_NVLINK_TX; k++) /* since the row before, as counters */
			out->beside[k] = sb_series_held_mean(s,
				sb_series_column_find(s, sb_gpu_beside_columns[k]), row->begin_s, row->end_s,
				&known_s);
	}
}

/* Of its GPUs the one whose SMs had most to do. */
static void read_counters(const struct sb_model *model, const struct sb_generation *row, uint64_t devices,
	const char *series, enum sb_counter_source source, struct sb_gpu_counters *out)
{
	double busiest = -1;

	sb_gpu_counters_from_sums(&(struct sb_counter_sums){ 0 }, 0, NULL, out);
	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		double known_s, sm;

		if (strcmp(s->source, series) != 0 || !is_on(devices, s) ||
			sb_series_rows_s(s, row->begin_s, row->end_s) > MOSTLY_OTHERS * row->wall_s)
			continue;
		sm = sb_series_held_mean(
			s, sb_series_column_find(s, "sm_active_percent"), row->begin_s, row->end_s, &known_s);
		if (!(sm > busiest))
			continue;
		busiest = sm;
		out->covered_s = known_s;
		out->covered_ratio = row->wall_s > 0 ? fmin(known_s / row->wall_s, 1) : NAN;
		out->source = sb_counter_source_names[source];
		for (int k = 0; k < SB_COUNTERS; k++)
			out->percent[k] = sb_series_held_mean(s,
				sb_series_column_find(s, sb_gpu_counter_columns[k]), row->begin_s, row->end_s,
				&known_s);
		read_beside(model, row, s, source, out);
	}
}

/* By the source that a stage would have. */
static void fill_counters(
	const struct sb_model *model, bool picked, uint64_t devices, struct sb_generation *row)
{
	static const char *const series[] = { [SB_COUNTED_GPM] = "gpu_counters", [SB_COUNTED_PM] = "gpu_pm" };
	struct sb_gpu_counters read[SB_COUNTER_SOURCES];
	struct sb_counter_sums sums[SB_COUNTER_SOURCES] = { { 0 } };

	for (int i = 0; i < SB_COUNTER_SOURCES; i++) {
		read_counters(
			model, row, devices, i == SB_COUNTED_PM && picked ? "" : series[i], i, &read[i]);
		sums[i].covered_s = read[i].covered_s;
	}
	row->counters = read[sb_counter_source_better(sums)];
}

static void fill_row(const struct sb_video *v, const struct sb_video_generation *n, struct sb_model *model,
	struct sb_generation *row)
{
	double wall_s = (double)(n->end_ns - n->begin_ns) / 1e9;
	uint64_t devices = sb_devices_of_zone(&model->devices.touched, n->devices);

	row->name = sb_model_text(model, n->name);
	row->begin_s = (double)n->begin_ns / 1e9;
	row->end_s = (double)n->end_ns / 1e9;
	row->wall_s = row->end_s - row->begin_s;
	row->width = n->width;
	row->height = n->height;
	row->steps = row->blocks = row->faster_count = -1;
	row->step_median_s = row->step_max_s = NAN;
	row->frames = n->counted > 0 ? n->counted : n->frames >= 0 ? n->frames : n->decoded;
	row->fps = row->frames >= 0 && wall_s > 0 ? (double)row->frames / wall_s : NAN;
	row->denoise_s = row->vae_s = row->cost = NAN;
	row->utilization_percent = utilization(model, devices, row->begin_s, row->end_s);
	fill_counters(model, v->picked, devices, row);
	row->track = n->track;
	row->open = n->open;
	row->cut = n->cut;
	row->state = n->open ? "open" : n->cut ? "cut" : n->no_video;
}

/* Wall time with at least one of them running; they come ordered by begin. */
static double union_s(const struct sb_vec *generations)
{
	const struct sb_video_generation *all = generations->items;
	int64_t sum_ns = 0, until_ns = INT64_MIN;

	for (size_t i = 0; i < generations->count; i++) {
		int64_t from_ns = all[i].begin_ns > until_ns ? all[i].begin_ns : until_ns;

		if (all[i].end_ns <= from_ns)
			continue;
		sum_ns += all[i].end_ns - from_ns;
		until_ns = all[i].end_ns;
	}
	return (double)sum_ns / 1e9;
}

/* How many of the finished ones took less time; they come in the order of their times. */
static int64_t faster_than(const double *walls_s, size_t count, double wall_s)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (walls_s[mid] < wall_s)
			low = mid + 1;
		else
			high = mid;
	}
	return count ? (int64_t)low : -1;
}

/* The first one pays for compiling and caches: it is the median only where no other is whole. Of two in the
 * middle the longer one: with a slow first one it is the median of all, too. */
static int64_t median_of_warm(const struct sb_generations_panel *panel, double *room_s)
{
	size_t count = 0;

	for (size_t i = 1; i < panel->count; i++)
		if (!panel->all[i].state)
			room_s[count++] = panel->all[i].wall_s;
	if (!count)
		return panel->count ? 0 : -1;
	sb_stats_sort(room_s, count);
	for (size_t i = 1; i < panel->count; i++)
		if (!panel->all[i].state && panel->all[i].wall_s == room_s[count / 2])
			return (int64_t)i;
	return 0;
}

static void count_other(struct sb_generations_panel *panel, const struct sb_video_generation *n)
{
	if (n->open || n->cut)
		panel->unfinished_count++;
	else if (n->no_video && !strcmp(n->no_video, "failed"))
		panel->failed_count++;
}

void sb_generations_fill(struct sb_video *v, struct sb_model *model)
{
	struct sb_generations_panel *panel = &model->generations;
	const struct sb_video_generation *all;
	double *walls_s;
	size_t whole = 0;

	if (v->generations.count)
		drop_nested(&v->generations);
	else
		take_whole_run(v);
	keep_outermost(&v->stages);
	count_frames(v);
	find_caught(v);
	all = v->generations.items;
	panel->whole_run = v->whole_run;
	panel->union_s = union_s(&v->generations);
	panel->in_turn_ratio = NAN;
	panel->total = v->whole_run ? 0 : (int64_t)v->generations.count;
	panel->count = v->generations.count < LISTED_MOST ? v->generations.count : LISTED_MOST;
	panel->all = sb_model_alloc(model, panel->count * sizeof *panel->all);
	walls_s = malloc((v->generations.count + 1) * sizeof *walls_s);
	if (!panel->all || !walls_s) {
		panel->count = 0;
		v->failed = true;
		free(walls_s);
		return;
	}
	for (size_t i = 0; i < v->generations.count; i++) {
		double wall_s = (double)(all[i].end_ns - all[i].begin_ns) / 1e9;

		panel->total_s += wall_s;
		if (!v->whole_run)
			count_other(panel, &all[i]);
		if (!all[i].open && !all[i].cut && !all[i].no_video) {
			walls_s[whole++] = wall_s;
			if (all[i].images > 0 && all[i].frames <= 0)
				panel->image_count += all[i].images;
			else if (all[i].videos || all[i].frames > 0) /* latents are none */
				panel->video_count += all[i].videos > 1 ? all[i].videos : 1;
		}
	}
	if (sb_stats_of(walls_s, whole, &panel->time) != 0)
		v->failed = true;
	sb_stats_sort(walls_s, whole);
	for (size_t i = 0; i < panel->count; i++) {
		fill_row(v, &all[i], model, &panel->all[i]);
		panel->all[i].faster_count = faster_than(
			walls_s, whole, (double)(all[i].end_ns - all[i].begin_ns) / 1e9);
	}
	panel->median = v->whole_run ? -1 : median_of_warm(panel, walls_s);
	free(walls_s);
	if (!v->whole_run && panel->union_s < panel->total_s * (1 - 1e-6))
		panel->in_turn_ratio = sb_generations_in_turn_ratio(&v->generations);
	sb_generations_share_out(model);
	panel->listed = v->whole_run ? 0 : panel->count;
}
