/* One quantity over time, from the program's own readings or from a monitor's samples. */
#include "analyze/memory/growth_points.h"

#include <stdlib.h>
#include <string.h>

#define READINGS_LEAST 5u /* else a monitor's samples tell more */

static bool points_init(struct sb_growth_points *p, size_t room)
{
	p->t_s = malloc((room + 1) * sizeof *p->t_s);
	p->value = malloc((room + 1) * sizeof *p->value);
	p->count = 0;
	return p->t_s && p->value;
}

void sb_growth_points_done(struct sb_growth_points *p)
{
	free(p->t_s);
	free(p->value);
	*p = (struct sb_growth_points){ 0 };
}

static bool is_of(
	const struct sb_growth_readings *c, const struct sb_growth_reading *r, const char *label, int device)
{
	return r->device == device && strcmp(c->run->names[r->label].text, label) == 0;
}

/* The process that took the most readings of a kind: what several processes hold does not mix. */
static uint32_t reader_of(const struct sb_growth_readings *c, const char *label, int device)
{
	const struct sb_growth_reading *all = c->all.items;
	uint32_t best = 0;
	size_t most = 0, *of = calloc(c->run->process_count + 1, sizeof *of);

	for (size_t i = 0; of && i < c->all.count; i++)
		if (is_of(c, &all[i], label, device) && ++of[all[i].process] > most) {
			most = of[all[i].process];
			best = all[i].process;
		}
	free(of);
	return best;
}

static bool from_readings(
	const struct sb_growth_readings *c, const char *label, int device, struct sb_growth_points *out)
{
	const struct sb_growth_reading *all = c->all.items;
	uint32_t process = reader_of(c, label, device);

	if (!points_init(out, c->all.count))
		return false;
	for (size_t i = 0; i < c->all.count; i++)
		if (is_of(c, &all[i], label, device) && all[i].process == process) {
			out->t_s[out->count] = (double)all[i].t_ns / 1e9;
			out->value[out->count++] = all[i].value;
		}
	return true;
}

/* Of a monitor; less: a column whose last known value is taken off. */
static bool from_series(const struct sb_series *s, const char *column, const char *less, double unit,
	struct sb_growth_points *out)
{
	const struct sb_series_column *c = s ? sb_series_column_find(s, column) : NULL;
	const struct sb_series_column *off = s && less ? sb_series_column_find(s, less) : NULL;
	double taken = 0;

	if (!points_init(out, c ? s->count : 0))
		return false;
	for (size_t i = 0; c && i < s->count; i++) {
		if (off && !isnan(off->values[i]))
			taken = off->values[i];
		if (isnan(c->values[i]))
			continue;
		out->t_s[out->count] = s->t_s[i];
		out->value[out->count++] = (c->values[i] - taken) * unit;
	}
	return true;
}

bool sb_growth_points_of(const struct sb_growth_readings *c, const struct sb_model *model,
	const struct sb_growth_kind *kind, struct sb_growth_points *out)
{
	int device = strcmp(kind->of, "vram") == 0 ? model->memory.peak_device : -1;
	const struct sb_series *s = sb_model_series(model, kind->source, -2);

	if (!from_readings(c, kind->label, device, out))
		return false;
	if (out->count >= READINGS_LEAST)
		return true;
	sb_growth_points_done(out);
	return from_series(s, kind->column, kind->less, kind->unit, out);
}

/* The lowest reading in [from, to), NAN: none. */
static double lowest(const struct sb_growth_points *p, double from_s, double to_s)
{
	double low = NAN;

	for (size_t i = 0; i < p->count; i++)
		if (p->t_s[i] >= from_s && p->t_s[i] < to_s)
			low = fmin(low, p->value[i]);
	return low;
}

/* The last reading up to a time, else the first of all. */
static double last_before(const struct sb_growth_points *p, double t_s)
{
	double last = p->count ? p->value[0] : NAN;

	for (size_t i = 0; i < p->count && p->t_s[i] <= t_s; i++)
		last = p->value[i];
	return last;
}

static double first_after(const struct sb_growth_points *p, double t_s)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->t_s[i] > t_s)
			return p->value[i];
	return NAN;
}

/* The lowest reading after each generation is set against that at its end. After the last one the program takes itself down: the first
 * reading alone counts. */
bool sb_growth_is_given_back(const struct sb_growth_points *p, const struct sb_model *model)
{
	size_t count = model->generations.whole_run ? 0 : model->generations.count;
	double kept = 0, taken = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sb_generation *g = &model->generations.all[i];
		double before = last_before(p, g->begin_s), end = last_before(p, g->end_s);
		double after = i + 1 < count ? lowest(p, g->end_s, model->generations.all[i + 1].end_s)
					     : first_after(p, g->end_s);

		if (isnan(before) || isnan(after))
			continue;
		taken += fmax(0, end - before);
		kept += fmax(0, after - before);
	}
	return kept < taken / 2;
}
