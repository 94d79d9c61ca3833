/* What the video analyses look at, collected in one pass. */
#include "analyze/video/video.h"

#include "run/gpu_spans.h"
#include "base/error.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MOST 1e15
#define COLLECTED_MOST (1u << 20) /* of a kind; beyond that only sums */

/* Counts and indices: negative and absurdly large values count as absent. */
static int64_t number_or(const struct sb_zone *z, const char *key, int64_t absent)
{
	double value = sb_attr_number(z->attrs, z->attr_count, key);

	return value >= 0 && value < COUNT_MOST ? (int64_t)value : absent;
}

/* What has not ended, or reaches out of the selected part, has made nothing yet. */
static bool is_whole(const struct sb_zone *z)
{
	return !(z->flags & (SB_ZONE_OPEN | SB_ZONE_CLIPPED));
}

/* What a zone says of its frames is what it made: it came to its end, and without an error. */
static int64_t made(const struct sb_zone *z, const char *what)
{
	return is_whole(z) && !sb_zone_failed(z) ? number_or(z, what, -1) : -1;
}

static void count_rest(struct sb_video_rest *rest, const struct sb_zone *z, int64_t frames)
{
	double s = (double)(z->end_ns - z->begin_ns) / 1e9;

	rest->min_s = rest->count && rest->min_s < s ? rest->min_s : s;
	rest->max_s = rest->max_s > s ? rest->max_s : s;
	rest->total_s += s;
	rest->frames += frames;
	rest->count++;
}

/* Counted as the loop of that name counts: not inside one of its own. */
static int64_t ordinal_of(struct sb_video *v, const struct sb_zone *z)
{
	uint32_t count = 0;

	sb_map_get(&v->ordinals, z->name, &count);
	if (!(z->flags & SB_ZONE_RECURSIVE))
		sb_map_put(&v->ordinals, z->name, count + 1);
	return count;
}

static void find_on_gpu(const struct sb_zone *z, int64_t *begin_ns, int64_t *end_ns)
{
	if (z->gpu) {
		*begin_ns = z->gpu->begin_ns;
		*end_ns = sb_gpu_span_end_ns(z->gpu);
	}
}

static bool is_warm(struct sb_video *v, const struct sb_zone *z)
{
	enum sb_call_kind kind = SB_CALL_COLD;

	if (sb_warm_calls_counts(z) && !sb_warm_calls_kind(&v->warm, z, &kind))
		v->failed = true;
	return kind != SB_CALL_COLD;
}

static void add_step(struct sb_video *v, const struct sb_zone *z)
{
	struct sb_video_step *n;
	double forwards = sb_attr_number(z->attrs, z->attr_count, "forwards");
	double flops = sb_attr_number(z->attrs, z->attr_count, "flops");

	bool warm = is_warm(v, z);

	if (forwards > 0 && forwards < COUNT_MOST)
		v->forward_count += (int64_t)forwards;
	if (flops > 0)
		v->flops += flops;
	if (v->steps.count == COLLECTED_MOST) {
		count_rest(&v->rest_steps, z, 0);
		return;
	}
	n = sb_vec_push(&v->steps, sizeof *n);
	if (!n) {
		v->failed = true;
		return;
	}
	n->begin_ns = z->begin_ns;
	n->end_ns = z->end_ns;
	find_on_gpu(z, &n->gpu_begin_ns, &n->gpu_end_ns);
	n->name = z->name;
	n->ordinal = ordinal_of(v, z);
	n->step = number_or(z, "step", number_or(z, "index", -1));
	n->block_size = number_or(z, "block_size", 0);
	n->block = -1;
	n->timestep = sb_attr_number(z->attrs, z->attr_count, "timestep");
	n->track = z->track;
	n->measured = z->flags & SB_ZONE_SPAN;
	n->warm = warm;
	n->cached = number_or(z, "cached", 0) != 0;
}

static void add_block(struct sb_video *v, const struct sb_zone *z)
{
	int64_t frames = number_or(z, "frames", number_or(z, "block_size", 0));
	struct sb_video_block *n;

	if (v->blocks.count == COLLECTED_MOST) {
		count_rest(&v->rest_blocks, z, frames);
		return;
	}
	n = sb_vec_push(&v->blocks, sizeof *n);
	if (!n) {
		v->failed = true;
		return;
	}
	n->begin_ns = z->begin_ns;
	n->end_ns = z->end_ns;
	n->index = number_or(z, "index", -1);
	n->frames = frames;
	n->memory_bytes = number_or(z, "memory_bytes", -1);
	n->track = z->track;
	n->measured = z->flags & SB_ZONE_SPAN;
}

static void add_generation(struct sb_video *v, const struct sb_zone *z)
{
	struct sb_video_generation *n = v->generations.count < COLLECTED_MOST
						? sb_vec_push(&v->generations, sizeof *n)
						: NULL;

	if (!n) {
		v->failed = v->generations.count < COLLECTED_MOST;
		return;
	}
	n->begin_ns = z->begin_ns;
	n->end_ns = z->end_ns;
	n->frames = made(z, "frames");
	n->asked_frames = number_or(z, "frames", -1);
	n->width = number_or(z, "width", -1);
	n->height = number_or(z, "height", -1);
	n->latent_frames = made(z, "latent_frames");
	n->videos = number_or(z, "videos", -1);
	n->images = number_or(z, "images", -1);
	n->decoded = -1;
	n->padded = n->frames >= 0 && number_or(z, "padded_frames", -1) > n->frames;
	n->name = v->run->names[z->name].text;
	n->track = z->track;
	n->depth = z->depth;
	n->devices = sb_device_number_bits(&v->device_numbers, z->process, z->gpu_devices);
	n->open = z->flags & SB_ZONE_OPEN;
	n->cut = z->flags & SB_ZONE_CLIPPED;
	n->no_video = sb_zone_failed(z) ? "failed" : number_or(z, "cached", 0) > 0 ? "cached" : NULL;
}

static void add_stage(
	struct sb_video *v, struct sb_vec *stages, const struct sb_zone *z, enum strobe_role work)
{
	struct sb_video_stage *n = stages->count < COLLECTED_MOST ? sb_vec_push(stages, sizeof *n) : NULL;

	if (!n) {
		v->failed |= stages->count < COLLECTED_MOST;
		return;
	}
	n->begin_ns = z->begin_ns;
	n->end_ns = z->end_ns;
	find_on_gpu(z, &n->gpu_begin_ns, &n->gpu_end_ns);
	n->frames = made(z, "frames");
	n->track = z->track;
	n->work = work;
	n->failed = sb_zone_failed(z);
}

static void add_known(int64_t *sum, int64_t value)
{
	if (value >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + value;
}

/* Where no generation is marked the whole run is one: it begins after what the program calls its warm-up. */
static void note_warmup(struct sb_video *v, const struct sb_zone *z)
{
	if (!sb_video_any(v) && is_whole(z) && z->end_ns > v->warm_ns)
		v->warm_ns = z->end_ns;
}

static bool encodes(enum strobe_role work)
{
	return work == STROBE_ROLE_TEXT_ENCODE || work == STROBE_ROLE_VAE_ENCODE;
}

/* True if what the zone says of latent frames counts. */
static bool see_stage(struct sb_video *v, const struct sb_zone *z)
{
	enum strobe_role work = sb_role_work(v->run->names[z->name].text, z->role);

	add_stage(v, encodes(work) ? &v->encodes : &v->stages, z, work);
	if (encodes(work))
		return false;
	add_known(&v->tiles, number_or(z, "tiles", -1));
	return true;
}

/* What happens in a warm-up counts nowhere. */
static void see_zone(void *self, const struct sb_zone *z)
{
	struct sb_video *v = self;

	if (z->flags & SB_ZONE_WARMING)
		return;
	if (!is_whole(z) && (z->role == STROBE_ROLE_STEP || z->role == STROBE_ROLE_BLOCK))
		return;
	switch (z->role) {
	case STROBE_ROLE_STEP: add_step(v, z); break;
	case STROBE_ROLE_BLOCK: add_block(v, z); break;
	case STROBE_ROLE_GENERATION: add_generation(v, z); return;
	case STROBE_ROLE_FORWARD: v->forward_count++; return;
	case STROBE_ROLE_WARMUP: note_warmup(v, z); return;
	case STROBE_ROLE_TEXT_ENCODE:
	case STROBE_ROLE_VAE_ENCODE:
	case STROBE_ROLE_STAGE:
	case STROBE_ROLE_DENOISE:
	case STROBE_ROLE_VAE_DECODE:
	case STROBE_ROLE_ITERATION:
		if (!see_stage(v, z))
			return;
		break;
	default: return;
	}
	add_known(&v->latent_frames, number_or(z, "latent_frames", -1));
}

/* Stages by name: those whose time or frames the rates need. */
static bool wants_name(void *self, const struct sb_run_name *name)
{
	enum strobe_role work = sb_role_work(name->text, 0);

	return work == STROBE_ROLE_DENOISE || work == STROBE_ROLE_VAE_DECODE || encodes(work);
}

static void see_count(struct sb_video *v, const struct sb_event *e)
{
	const char *name = v->run->names[e->name].text;
	bool frames = strcmp(name, "frames") == 0;
	struct sb_video_frames *n;

	if (!frames && strcmp(name, "frames_dropped") != 0)
		return;
	if (e->t_ns < v->run->from_ns || e->t_ns > v->run->to_ns || e->warming)
		return;
	add_known(frames ? &v->frames_total : &v->dropped_total, e->delta);
	if (!frames || v->frames.count == COLLECTED_MOST)
		return;
	n = sb_vec_push(&v->frames, sizeof *n);
	if (!n) {
		v->failed = true;
		return;
	}
	n->t_ns = e->t_ns;
	n->count = e->delta;
}

static void see_folded(struct sb_video *v, const struct sb_event *e)
{
	struct sb_video_rest *rest = e->digest.role == STROBE_ROLE_STEP    ? &v->rest_steps
				     : e->digest.role == STROBE_ROLE_BLOCK ? &v->rest_blocks
									   : NULL;
	double min_s = (double)e->digest.min_ns / 1e9, max_s = (double)e->digest.max_ns / 1e9;

	if (!rest || !e->digest.count || e->digest.flags & (SB_ZONE_RECURSIVE | SB_ZONE_WARMING))
		return;
	rest->min_s = rest->count && rest->min_s < min_s ? rest->min_s : min_s;
	rest->max_s = rest->max_s > max_s ? rest->max_s : max_s;
	rest->count += (int64_t)e->digest.count;
	rest->total_s += (double)e->digest.total_ns / 1e9;
	if (rest == &v->rest_blocks && v->block_path_count < sizeof v->block_paths / sizeof *v->block_paths)
		v->block_paths[v->block_path_count++] = e->path;
}

static bool is_folded_block(const struct sb_video *v, uint32_t path)
{
	for (size_t i = 0; i < v->block_path_count; i++) {
		if (v->block_paths[i] == path)
			return true;
	}
	return false;
}

static void see_folded_sum(struct sb_video *v, const struct sb_event *e)
{
	const char *name = v->run->names[e->name].text;

	if (e->path && is_folded_block(v, e->path) && strcmp(name, "frames") == 0)
		v->rest_blocks.frames += e->digest_sum.sum_int;
	if (e->path || e->digest_sum.what != SB_SUM_COUNT)
		return;
	if (strcmp(name, "frames") == 0)
		add_known(&v->frames_total, e->digest_sum.sum_int);
	else if (strcmp(name, "frames_dropped") == 0)
		add_known(&v->dropped_total, e->digest_sum.sum_int);
}

static void see_lookup(struct sb_video *v, const struct sb_event *e)
{
	bool asked = e->cache.kind == STROBE_CACHE_HIT || e->cache.kind == STROBE_CACHE_MISS;
	struct sb_video_lookup *n;

	if (!asked || v->lookups.count == COLLECTED_MOST)
		return;
	n = sb_vec_push(&v->lookups, sizeof *n);
	if (!n) {
		v->failed = true;
		return;
	}
	*n = (struct sb_video_lookup){
		.t_ns = e->t_ns, .cache = e->name, .track = e->track, .hit = e->cache.kind == STROBE_CACHE_HIT
	};
}

static void see_event(void *self, const struct sb_event *e)
{
	struct sb_video *v = self;

	if (e->kind == SB_EVENT_COUNT)
		see_count(v, e);
	else if (e->kind == SB_EVENT_CACHE)
		see_lookup(v, e);
	else if (e->kind == SB_EVENT_DIGEST_NODE)
		see_folded(v, e);
	else if (e->kind == SB_EVENT_DIGEST_SUM)
		see_folded_sum(v, e);
}

static void done(void *self)
{
	struct sb_video *v = self;

	if (!v)
		return;
	sb_warm_calls_done(&v->warm);
	sb_vec_done(&v->steps);
	sb_vec_done(&v->blocks);
	sb_vec_done(&v->generations);
	sb_vec_done(&v->stages);
	sb_vec_done(&v->encodes);
	sb_vec_done(&v->frames);
	sb_vec_done(&v->lookups);
	sb_map_done(&v->ordinals);
	free(v);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *visitor)
{
	struct sb_video *v = calloc(1, sizeof *v);
	int err = v ? sb_warm_calls_init(&v->warm, run, model)
		    : sb_fail(STROBE_ENOMEM, "no memory to analyse steps");

	if (err) {
		done(v);
		return err;
	}
	v->run = run;
	v->device_numbers.run = run;
	v->picked = sb_run_meta_find(run, SB_META_RUN, SB_RUN_GPU_COUNTERS_OF_SLOW);
	v->model = model;
	v->warm.served_too = true;
	v->warm_ns = run->from_ns;
	v->frames_total = v->dropped_total = v->latent_frames = v->tiles = -1;
	visitor->self = v;
	visitor->kinds = 1u << SB_EVENT_COUNT | 1u << SB_EVENT_DIGEST_NODE | 1u << SB_EVENT_DIGEST_SUM |
			 1u << SB_EVENT_CACHE;
	visitor->gpu_spans = true;
	visitor->roles = 1u << STROBE_ROLE_DENOISE | 1u << STROBE_ROLE_VAE_DECODE | 1u << STROBE_ROLE_STEP |
			 1u << STROBE_ROLE_BLOCK | 1u << STROBE_ROLE_GENERATION | 1u << STROBE_ROLE_FORWARD |
			 1u << STROBE_ROLE_WARMUP | 1u << STROBE_ROLE_TEXT_ENCODE |
			 1u << STROBE_ROLE_VAE_ENCODE;
	visitor->wants_name = wants_name;
	visitor->zone = see_zone;
	visitor->event = see_event;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sb_video *v = self;

	sb_generations_fill(v, model);
	sb_generations_take_stages(v, model);
	sb_steps_fill(v, model);
	sb_blocks_fill(v, model);
	sb_rates_fill(v, model);
	if (v->failed || model->failed)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse steps");
	return 0;
}

const struct sb_analysis sb_analysis_video = {
	.name = "video",
	.begin = begin,
	.finish = finish,
	.done = done,
};
