/* What a text says beside its stages, as events: the model, its variants and operators, loops that are no
 * part of the run's time. */
#include "exchange/textlog_clock.h"

#include "format/run_keys.h"

#include <math.h>

#define MB 1048576.0

int64_t sb_textlog_bytes(double mb)
{
	return mb >= 0 && mb < 1e9 ? (int64_t)(mb * MB + 0.5) : -1;
}

static struct strobe_attr number(const char *key, double value)
{
	return (struct strobe_attr){ .key = key, .type = STROBE_TYPE_FLOAT, .value.f = value };
}

static struct strobe_attr text(const char *key, const char *value)
{
	return (struct strobe_attr){ .key = key, .type = STROBE_TYPE_STRING, .value.s = value };
}

void sb_textlog_put_aside(struct sb_textlog_clock *c, const struct sb_textlog_loop *loop)
{
	const struct {
		const char *key;
		double value;
	} numbers[] = { { "mean_s", loop->mean_s }, { "median_s", loop->median_s }, { "std_s", loop->std_s },
		{ "min_s", loop->min_s }, { "max_s", loop->max_s }, { "frames_per_s", loop->frames_per_s } };
	struct strobe_attr attrs[8] = { text("loop", loop->name),
		{ .key = "count", .type = STROBE_TYPE_INT, .value.i = loop->count > 0 ? loop->count : 1 } };
	size_t count = 2;

	for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
		if (!isnan(numbers[k].value))
			attrs[count++] = number(numbers[k].key, numbers[k].value);
	sb_builder_event(c->builder, 0, SB_EVENT_LOOP, 0, attrs, count);
}

/* "sdpa_overhead +380s total": a difference that the text names, beside the stages. */
static void put_differences(struct sb_textlog_clock *c)
{
	const struct sb_textlog_difference *all = c->log->differences.items;

	for (size_t i = 0; i < c->log->differences.count; i++) {
		struct strobe_attr more = number("more_s", all[i].more_s);

		sb_builder_event(c->builder, (uint64_t)c->whole_ns, all[i].name, 0, &more, 1);
	}
}

static void put_variants(struct sb_textlog_clock *c)
{
	const struct sb_textlog_variant *all = c->log->variants.items;

	for (size_t i = 0; i < c->log->variants.count; i++) {
		const struct sb_textlog_variant *v = &all[i];
		const struct {
			const char *key;
			double value;
		} numbers[] = { { "mean_ms", v->mean_ms }, { "median_ms", v->median_ms },
			{ "std_ms", v->std_ms }, { "min_ms", v->min_ms }, { "max_ms", v->max_ms } };
		struct strobe_attr attrs[8] = {
			{ .key = "variant", .type = STROBE_TYPE_STRING, .value.s = v->name },
			{ .key = "count", .type = STROBE_TYPE_INT, .value.i = v->count }
		};
		size_t count = 2;

		for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
			if (!isnan(numbers[k].value))
				attrs[count++] = number(numbers[k].key, numbers[k].value);
		sb_builder_event(c->builder, 0, "strobe.variant", 0, attrs, count);
	}
}

static void put_operators(struct sb_textlog_clock *c)
{
	const struct sb_textlog_operator *all = c->log->operators.items;

	for (size_t i = 0; i < c->log->operators.count; i++) {
		struct strobe_attr attrs[6] = { text("operator", all[i].name),
			{ .key = "calls", .type = STROBE_TYPE_INT, .value.i = all[i].calls },
			number("self_s", all[i].self_s) };
		size_t count = 3;

		if (!isnan(all[i].total_s))
			attrs[count++] = number("total_s", all[i].total_s);
		if (all[i].gpu_s > 0)
			attrs[count++] = number("gpu_s", all[i].gpu_s);
		if (c->log->operators_s > 0)
			attrs[count++] = number("of_s", c->log->operators_s);
		sb_builder_event(c->builder, 0, SB_EVENT_OPERATOR, 0, attrs, count);
	}
}

static void put_parameters(struct sb_textlog_clock *c, const struct sb_textlog_header *m)
{
	const char *name = *m->name ? m->name : *m->type ? m->type : "model";

	if (m->parameters > 0)
		sb_builder_model(c->builder, 0, name, m->parameters,
			*m->dtypes             ? m->dtypes
			: *m->name && *m->type ? m->type
					       : NULL,
			m->size_mb > 0 ? sb_textlog_bytes(m->size_mb) : -1);
}

static void put_model(struct sb_textlog_clock *c)
{
	const struct sb_textlog_header *m = &c->log->model, *all = c->log->models.items;

	put_parameters(c, m);
	for (size_t i = 0; i < c->log->models.count; i++)
		put_parameters(c, &all[i]);
	if (*m->device)
		sb_builder_meta_string(c->builder, SB_META_RUN, SB_RUN_DEVICE, m->device);
	if (*m->gpu)
		sb_builder_meta_string(c->builder, SB_META_SYSTEM, "gpu0.name", m->gpu);
}

static void put_count(struct sb_textlog_clock *c, const char *key, int64_t value)
{
	if (value > 0)
		sb_builder_meta(c->builder, SB_META_TAG,
			&(struct strobe_attr){ .key = key, .type = STROBE_TYPE_INT, .value.i = value });
}

static void put_caches(struct sb_textlog_clock *c)
{
	const struct strobe_cache_event *all = c->log->caches.items;
	const double *times = c->log->cache_times.items;

	for (size_t i = 0; i < c->log->caches.count; i++)
		sb_builder_cache(c->builder, (uint64_t)(times[i] * 1e9), &all[i]);
}

void sb_textlog_put_facts(struct sb_textlog_clock *c)
{
	put_count(c, "ranks", c->log->rank_count);
	put_count(c, "reports", c->log->report_count);
	put_caches(c);
	put_model(c);
	put_variants(c);
	put_operators(c);
	put_differences(c);
}
