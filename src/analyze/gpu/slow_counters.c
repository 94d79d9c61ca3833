/* Means of the samples inside a slow moment, and inside the normal one beside it. */
#include "analyze/gpu/slow_counters.h"

#include <math.h>
#include <string.h>

struct counted {
	int device;
	double weighted[SB_COUNTERS], known_s[SB_COUNTERS];
};

static struct counted *counted_of(const struct sb_slow_counters *c, int device)
{
	struct counted *all = c->devices.items;

	for (size_t i = 0; i < c->devices.count; i++)
		if (all[i].device == device)
			return &all[i];
	return NULL;
}

static int counter_of(const char *column)
{
	for (int i = 0; i < SB_COUNTERS; i++)
		if (!strcmp(column, sb_gpu_counter_columns[i]))
			return i;
	return -1;
}

bool sb_slow_counters_take(struct sb_slow_counters *c, int device, const struct sb_event *e, double dt_s)
{
	const struct sb_run_schema *schema = e->sample.schema;
	struct counted *of = counted_of(c, device);

	if (!of) {
		of = sb_vec_push(&c->devices, sizeof *of);
		if (!of)
			return false;
		*of = (struct counted){ .device = device };
	}
	for (uint32_t i = 0; i < schema->column_count; i++) {
		int counter = counter_of(schema->columns[i]);

		if (counter < 0 || !(e->sample.values[i] >= 0 && e->sample.values[i] <= SB_PERCENT_MOST))
			continue;
		of->weighted[counter] += dt_s * e->sample.values[i];
		of->known_s[counter] += dt_s;
	}
	return true;
}

static double mean_of(const struct counted *c, int counter)
{
	return c && c->known_s[counter] > 0 ? c->weighted[counter] / c->known_s[counter] : NAN;
}

/* first: preferred, where the moment may have run on it. */
static const struct counted *choose(
	const struct sb_model *model, const struct sb_slow_counters *c, const struct counted *first)
{
	uint64_t devices = sb_devices_of_zone(&model->devices.touched, c->named);
	const struct counted *all = c->devices.items, *best = NULL;

	for (size_t i = 0; i < c->devices.count; i++) {
		if (devices && !(all[i].device >= 0 && all[i].device < 64 && devices >> all[i].device & 1))
			continue;
		if (first && all[i].device == first->device)
			return &all[i];
		if (!best || mean_of(&all[i], SB_COUNTER_SM) > mean_of(best, SB_COUNTER_SM))
			best = &all[i];
	}
	return best;
}

void sb_slow_counters_fill(struct sb_model *model, const struct sb_slow_counters *slow,
	const struct sb_slow_counters *normal, struct sb_slow_moment *out)
{
	const struct counted *one = choose(model, slow, NULL);
	const struct counted *other = choose(model, normal, one);

	out->counters = sb_model_alloc(model, SB_COUNTERS * sizeof *out->counters);
	for (int i = 0; one && out->counters && i < SB_COUNTERS; i++)
		if (one->known_s[i] > 0)
			out->counters[out->counter_count++] = (struct sb_slow_counter){
				sb_gpu_counter_columns[i], mean_of(one, i), mean_of(other, i)
			};
}

void sb_slow_counters_done(struct sb_slow_counters *c)
{
	sb_vec_done(&c->devices);
}
