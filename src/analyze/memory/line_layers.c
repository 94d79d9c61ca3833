/* What lines of the program held over time: the largest of those that held memory at the peak, as layers. */
#include "analyze/memory/collected.h"

#include "base/filename.h"
#include "base/memory_units.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define LAYERS 10
#define MOMENTS_MOST 20000u /* of all snapshots */
#define SNAPSHOT_MOST 512u /* of the one that is drawn */

struct moment {
	int64_t t_ns, set, device;
	uint32_t process;
	bool by_stage;
	double all, held[LAYERS];
};

static double bytes_attr(const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	return a && a->type == STROBE_TYPE_INT && a->i > 0 ? (double)a->i : 0;
}

void sb_memory_layers_see(struct sb_memory_collected *m, const struct sb_event *e)
{
	static const char *const keys[LAYERS] = { "line0", "line1", "line2", "line3", "line4", "line5",
		"line6", "line7", "line8", "line9" };
	struct moment *one;

	if (strcmp(m->run->names[e->name].text, SB_EVENT_MEMORY_MOMENT) || m->moments.count == MOMENTS_MOST)
		return;
	one = sb_vec_push(&m->moments, sizeof *one);
	if (!one) {
		m->failed = true;
		return;
	}
	*one = (struct moment){ .t_ns = e->t_ns,
		.set = sb_attr_find(e->attrs, e->attr_count, "set") ? (int64_t)bytes_attr(e, "set") : -1,
		.device = sb_memory_event_device(e),
		.process = e->process,
		.by_stage = bytes_attr(e, "by_stage") > 0,
		.all = bytes_attr(e, "all") };
	if (sb_attr_find(e->attrs, e->attr_count, "unix_us") &&
		!sb_memory_event_time(m->run, e, "", "unix_us", &one->t_ns))
		one->t_ns = -1; /* of another clock */
	for (int i = 0; i < LAYERS; i++)
		one->held[i] = bytes_attr(e, keys[i]);
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = *(const struct moment *const *)a, *y = *(const struct moment *const *)b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static size_t choose(const struct sb_memory_collected *m, const struct sb_memory_snapshot_of *of,
	const struct moment **out)
{
	const struct moment *all = m->moments.items;
	size_t count = 0;

	for (size_t i = 0; i < m->moments.count && count < SNAPSHOT_MOST; i++)
		if (all[i].t_ns >= 0 && all[i].set == of->set && all[i].device == of->device &&
			all[i].process == of->process && all[i].by_stage == of->by_stage)
			out[count++] = &all[i];
	if (count)
		qsort(out, count, sizeof *out, by_time);
	return count;
}

/* "model.py:12 forward" */
static const char *name_of(struct sb_model *model, const struct sb_memory_line *l, bool by_stage)
{
	if (by_stage && !l->function)
		return "there at first, and freed since";
	if (!l->file)
		return l->function ? l->function : "(allocated before the history)";
	return sb_model_printf(model, "%s:%lld %s", sb_filename_of(l->file), (long long)l->line,
		l->function ? l->function : "");
}

static void fill_stages(struct sb_memory_collected *m, struct sb_model *model, const struct moment **moments,
	struct sb_memory_picture *p)
{
	const struct sb_open_stage *open[SNAPSHOT_MOST];
	int64_t t_ns[SNAPSHOT_MOST];

	for (size_t i = 0; i < p->count; i++)
		t_ns[i] = moments[i]->t_ns;
	sb_open_stages_at(&m->stages, t_ns, p->count, open);
	for (size_t i = 0; i < p->count; i++) {
		p->t_s[i] = (double)t_ns[i] / 1e9;
		p->stages[i] = open[i] ? sb_model_text(model, sb_open_stage_name(m, open[i])) : "";
		p->peak = moments[i]->all > moments[p->peak]->all ? (int64_t)i : p->peak;
	}
}

/* What all other lines held lies at the bottom, the largest line on top. */
static bool fill_layers(struct sb_model *model, const struct moment **moments,
	const struct sb_memory_line *rows, size_t lines, struct sb_memory_picture *p)
{
	for (size_t k = 0; k <= lines; k++) {
		struct sb_memory_layer *l = &p->layers[lines - k];

		*l = (struct sb_memory_layer){ .component = k < lines ? name_of(model, &rows[k], p->by_stage)
							    : p->by_stage ? "other stages"
									  : "other lines",
			.mb = sb_model_alloc(model, p->count * sizeof(double)),
			.count = p->count,
			.stack = k < lines ? rows[k].stack : NULL };
		if (!l->mb)
			return false;
		for (size_t i = 0; i < p->count; i++) {
			double bytes = k < lines ? moments[i]->held[k] : moments[i]->all;

			for (size_t n = 0; k == lines && n < lines; n++)
				bytes -= moments[i]->held[n];
			l->mb[i] = fmax(0, round(bytes / SB_MB * 10) / 10);
		}
	}
	p->layer_count = lines + 1;
	return true;
}

void sb_memory_layers_fill(struct sb_memory_collected *m, struct sb_model *model,
	const struct sb_memory_snapshot_of *of, const struct sb_memory_line *rows, size_t count)
{
	struct sb_memory_pictures_panel *panel = &model->memory_pictures;
	const struct moment *moments[SNAPSHOT_MOST];
	struct sb_memory_picture p = { .device = of->device,
		.by_line = !of->by_stage,
		.by_stage = of->by_stage,
		.exact = of->by_stage,
		.count = choose(m, of, moments) };
	struct sb_memory_picture *more;

	if (p.count < 2 || !count)
		return;
	more = sb_model_alloc(model, (panel->count + 1) * sizeof *more);
	p.t_s = sb_model_alloc(model, p.count * sizeof *p.t_s);
	p.stages = sb_model_alloc(model, p.count * sizeof *p.stages);
	p.layers = sb_model_alloc(model, (LAYERS + 1) * sizeof *p.layers);
	if (!more || !p.t_s || !p.stages || !p.layers ||
		!fill_layers(model, moments, rows, count < LAYERS ? count : LAYERS, &p))
		return;
	fill_stages(m, model, moments, &p);
	if (panel->count)
		memcpy(more, panel->all, panel->count * sizeof *more);
	more[panel->count++] = p;
	panel->all = more;
}
