/* What video pipelines say about themselves: generations, iterations, steps,
 * blocks, models, streams, caches. Each is a zone with attributes, or one record. */
#include "strobe.h"

#include "record/clock.h"
#include "record/kinds.h"
#include "record/put.h"
#include "record/recorder.h"
#include "record/step.h"
#include "record/watcher.h"

#include <math.h>
#include <string.h>

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static void begin_as(const char *name, const char *fallback, enum strobe_role role)
{
	strobe_zone_begin(name ? name : fallback);
	strobe_role(role);
}

void strobe_generation_begin(const char *name, const struct strobe_generation *info)
{
	if (!STROBE_ON_())
		return;
	begin_as(name, "generation", STROBE_ROLE_GENERATION);
	if (!info)
		return;
	if (info->frames > 0)
		strobe_attr_int_id(SB_NAME_FRAMES, info->frames);
	if (info->width > 0)
		strobe_attr_int_id(SB_NAME_WIDTH, info->width);
	if (info->height > 0)
		strobe_attr_int_id(SB_NAME_HEIGHT, info->height);
}

void strobe_generation_end(void)
{
	strobe_role_end(STROBE_ROLE_GENERATION);
	strobe_zone_end();
}

void strobe_iteration_begin(const char *name, int64_t index)
{
	if (!STROBE_ON_())
		return;
	begin_as(name, "iteration", STROBE_ROLE_ITERATION);
	strobe_attr_int_id(SB_NAME_INDEX, index);
}

void strobe_iteration_end(void)
{
	strobe_zone_end();
}

void strobe_step_begin(const char *name, const struct strobe_step *step)
{
	if (!STROBE_ON_())
		return;
	if (sb_kind_is_off(STROBE_KIND_STEP)) {
		sb_step_passes(); /* steps are still counted */
		return;
	}
	begin_as(name, "denoise_step", STROBE_ROLE_STEP);
	if (!step)
		return;
	strobe_attr_int_id(SB_NAME_STEP, step->step);
	strobe_attr_float_id(SB_NAME_TIMESTEP, step->timestep);
	if (step->block_size > 0)
		strobe_attr_int_id(SB_NAME_BLOCK_SIZE, step->block_size);
	if (!isnan(step->guidance_scale))
		strobe_attr_float_id(SB_NAME_GUIDANCE, step->guidance_scale);
}

void strobe_step_end(void)
{
	if (!strobe_kind_recorded(STROBE_KIND_STEP))
		return;
	strobe_role_end(STROBE_ROLE_STEP);
	strobe_zone_end();
}

void strobe_block_begin(const char *name, int64_t index, int64_t frames)
{
	if (!strobe_kind_recorded(STROBE_KIND_BLOCK))
		return;
	begin_as(name, "block", STROBE_ROLE_BLOCK);
	strobe_attr_int_id(SB_NAME_INDEX, index);
	strobe_attr_int_id(SB_NAME_BLOCK_SIZE, frames);
}

void strobe_block_end(int64_t memory_bytes)
{
	if (!strobe_kind_recorded(STROBE_KIND_BLOCK))
		return;
	if (memory_bytes >= 0)
		strobe_attr_int_id(SB_NAME_MEMORY, memory_bytes);
	strobe_zone_end();
}

static struct strobe_attr int_attr(const char *key, int64_t value)
{
	return (struct strobe_attr){ .key = key, .type = STROBE_TYPE_INT, .value.i = value };
}

static struct strobe_attr float_attr(const char *key, double value)
{
	return (struct strobe_attr){ .key = key, .type = STROBE_TYPE_FLOAT, .value.f = value };
}

void strobe_step_record(const char *name, const struct strobe_step *step, uint64_t duration_ns)
{
	struct strobe_attr attrs[5];
	size_t n = 0;

	if (!STROBE_ON_())
		return;
	sb_step_passes(); /* the next one begins where this one ended */
	sb_watcher_step_over(duration_ns, step ? step->block_size : 0);
	if (sb_kind_is_off(STROBE_KIND_STEP))
		return;
	attrs[n++] = int_attr("strobe.role", STROBE_ROLE_STEP);
	if (step) {
		attrs[n++] = int_attr("step", step->step);
		attrs[n++] = float_attr("timestep", step->timestep);
		if (step->block_size > 0)
			attrs[n++] = int_attr("block_size", step->block_size);
		if (!isnan(step->guidance_scale))
			attrs[n++] = float_attr("guidance_scale", step->guidance_scale);
	}
	strobe_duration(name ? name : "denoise_step", duration_ns, attrs, n);
}

void strobe_block_record(
	const char *name, int64_t index, int64_t frames, uint64_t duration_ns, int64_t memory_bytes)
{
	struct strobe_attr attrs[4];
	size_t n = 0;

	if (!strobe_kind_recorded(STROBE_KIND_BLOCK))
		return;
	sb_made(SB_MADE_BLOCKS, 1);
	sb_made(SB_MADE_BLOCK_FRAMES, frames);
	attrs[n++] = int_attr("strobe.role", STROBE_ROLE_BLOCK);
	attrs[n++] = int_attr("index", index);
	attrs[n++] = int_attr("block_size", frames);
	if (memory_bytes >= 0)
		attrs[n++] = int_attr("memory_bytes", memory_bytes);
	strobe_duration(name ? name : "block", duration_ns, attrs, n);
}

void strobe_model(const char *name, int64_t parameter_count, const char *type, int64_t bytes)
{
	if (!strobe_kind_recorded(STROBE_KIND_MODEL))
		return;
	sb_put(SB_STREAM_KEEP, SB_MODEL, sb_name_intern(name, NULL),
		(uint64_t[]){ sb_clock_ticks(), (uint64_t)parameter_count,
			sb_name_intern(type ? type : "unknown", NULL), (uint64_t)bytes },
		4);
}

void strobe_stream_batch(const struct strobe_batch *batch)
{
	if (!STROBE_ON_() || !batch)
		return;
	sb_put(SB_STREAM_HOT, SB_STREAMING, 0,
		(uint64_t[]){ sb_clock_ticks(), (uint64_t)batch->frames, bits_of(batch->encode_ms),
			bits_of(batch->network_ms), bits_of(batch->buffer_ratio) },
		5);
}

void strobe_cache(const struct strobe_cache_event *event)
{
	uint64_t aux;

	if (!STROBE_ON_() || !event)
		return;
	aux = sb_name_intern(event->cache ? event->cache : "cache", NULL) | (uint64_t)event->kind
										    << SB_ID_BITS;
	sb_put(SB_STREAM_HOT, SB_CACHE, aux,
		(uint64_t[]){ sb_clock_ticks(), (uint64_t)(event->count ? event->count : 1),
			(uint64_t)event->size_bytes, bits_of(event->score), bits_of(event->threshold),
			bits_of(event->frame), (uint64_t)event->chunk },
		7);
}
