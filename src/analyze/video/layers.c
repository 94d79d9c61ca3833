/* A model layer by layer, from zones with the role LAYER. */
#include "analyze/video/layers.h"

#include "run/summed.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "format/run_keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SLOWEST 5
#define LAYERS_MOST 8192
#define VALUES_MOST 4096 /* durations kept per layer, for percentiles */
#define PENDING_MOST 4096

/* ---- names -------------------------------------------------------------- */

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	/* "blocks.3": the index alone says nothing */
	while (dot && dot > name && isdigit((unsigned char)dot[1])) {
		const char *before = dot - 1;

		while (before > name && *before != '.')
			before--;
		if (before == name && *before != '.')
			return name;
		dot = before;
	}
	return dot ? dot + 1 : name;
}

/* "blocks.3", "block_3", "Block 3", "layers.0", "h.11": ends in its index. */
static bool ends_in_index(const char *name)
{
	size_t size = strlen(name);

	return size > 1 && isdigit((unsigned char)name[size - 1]);
}

/* "blocks", "Transformer blocks", "transformer_blocks": a list of them. */
static bool ends_in_blocks(const char *part)
{
	size_t size = strlen(part);

	return size >= 6 && !strcasecmp(part + size - 6, "blocks");
}

const char *sb_layer_component(const char *layer)
{
	const char *part = last_part(layer);

	if (strcasestr(part, "patch"))
		return "patch_embed";
	if (strcasestr(part, "pos_emb") || strcasestr(part, "position") || strcasestr(part, "rope") ||
		strcasestr(part, "pos embed"))
		return "position_embed";
	if ((ends_in_index(layer) || ends_in_blocks(part)) && !strcasestr(part, "norm"))
		return "blocks";
	if (strcasestr(part, "norm"))
		return "norm";
	if (strcasestr(part, "head") || strcasestr(part, "proj_out"))
		return "head";
	return "other";
}

bool sb_layer_is_attention(const char *layer)
{
	const char *part = last_part(layer);

	return strcasestr(part, "attn") || strcasestr(part, "attention");
}

/* ---- collecting --------------------------------------------------------- */

struct layer {
	uint32_t name;
	int64_t index; /* distinguishes blocks of one name; -1: none */
	int64_t count, nested;
	double total_s, gpu_s;
	int64_t gpu_count;
	struct sb_vec values_s; /* double */
	struct sb_summed summed; /* blocks that a text put into one; calls 0: none */
};

struct pending {
	uint32_t layer, track;
	int64_t begin_ns;
};

struct layers {
	struct sb_run *run;
	struct sb_map by_name; /* run name id and index -> index of all */
	struct sb_vec all; /* struct layer */
	struct sb_map gpu_of; /* run name id -> index of gpu */
	struct sb_vec gpu; /* struct layer: gpu_s and gpu_count only */
	struct pending pending[PENDING_MOST]; /* not inside another layer so far */
	size_t pending_count;
	bool imported;
	bool failed;
};

static struct layer *layer_of(
	struct layers *l, struct sb_map *map, struct sb_vec *vec, uint32_t name, int64_t index)
{
	uint64_t key = (uint64_t)name | (uint64_t)(index + 1) << 32;
	struct layer *made;
	uint32_t at;

	if (sb_map_get(map, key, &at))
		return (struct layer *)vec->items + at;
	if (vec->count == LAYERS_MOST)
		return NULL;
	made = sb_vec_push(vec, sizeof *made);
	if (!made || !sb_map_put(map, key, (uint32_t)vec->count - 1)) {
		l->failed = true;
		return NULL;
	}
	made->name = name;
	made->index = index;
	return made;
}

/* Children come before their parents: what waits and began inside the zone
 * that now ends, was inside it. */
static void settle_nesting(struct layers *l, const struct sb_zone *z, uint32_t layer)
{
	struct layer *all = l->all.items;
	size_t kept = l->pending_count;

	while (kept && l->pending[kept - 1].track == z->track && l->pending[kept - 1].begin_ns >= z->begin_ns)
		all[l->pending[--kept].layer].nested++;
	l->pending_count = kept;
	if (kept == PENDING_MOST) {
		memmove(l->pending, l->pending + PENDING_MOST / 2, PENDING_MOST / 2 * sizeof *l->pending);
		l->pending_count = PENDING_MOST / 2;
	}
	l->pending[l->pending_count++] = (struct pending){ layer, z->track, z->begin_ns };
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct layers *l = self;
	double index = z->attr_count ? sb_attr_number(z->attrs, z->attr_count, "index") : NAN;
	struct layer *layer = layer_of(
		l, &l->by_name, &l->all, z->name, index >= 0 && index < 1e6 ? (int64_t)index : -1);
	double s = (double)(z->end_ns - z->begin_ns) / 1e9, *value;

	if (!layer)
		return;
	layer->count++;
	layer->total_s += s;
	if (l->imported && sb_summed_of(z, &layer->summed)) {
		layer->count += layer->summed.calls - 1;
		s /= (double)layer->summed.calls;
	}
	settle_nesting(l, z, (uint32_t)(layer - (struct layer *)l->all.items));
	if (layer->values_s.count == VALUES_MOST)
		return;
	value = sb_vec_push(&layer->values_s, sizeof *value);
	if (value)
		*value = s;
	else
		l->failed = true;
}

static void see_gpu(void *self, const struct sb_event *e)
{
	struct layers *l = self;
	struct layer *layer;

	if (e->gpu.kind != SB_GPU_ZONE)
		return;
	layer = layer_of(l, &l->gpu_of, &l->gpu, e->name, -1);
	if (!layer)
		return;
	layer->gpu_count++;
	layer->gpu_s += (double)e->gpu.duration_ns / 1e9;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct layers *l = calloc(1, sizeof *l);

	if (!l)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse layers");
	l->run = run;
	l->imported = sb_summed_possible(run);
	v->self = l;
	v->kinds = 1u << SB_EVENT_GPU;
	v->roles = 1u << STROBE_ROLE_LAYER;
	v->zone = see_zone;
	v->event = see_gpu;
	return 0;
}

/* ---- filling ------------------------------------------------------------ */

static void take_gpu_times(struct layers *l, struct sb_model_panel *panel)
{
	struct layer *all = l->all.items;
	const struct layer *gpu = l->gpu.items;

	panel->layers_on_gpu = l->all.count > 0;
	for (size_t i = 0; i < l->all.count; i++) {
		uint32_t at;

		/* GPU records carry no attributes: blocks of one name cannot be distinguished there */
		if (all[i].index < 0 && sb_map_get(&l->gpu_of, all[i].name, &at)) {
			all[i].gpu_count = gpu[at].gpu_count;
			all[i].gpu_s = gpu[at].gpu_s;
		}
		if (all[i].nested * 2 <= all[i].count && all[i].gpu_count < all[i].count)
			panel->layers_on_gpu = false;
	}
}

static int slowest_first(const void *a, const void *b)
{
	double x = ((const struct sb_layer *)a)->mean_s, y = ((const struct sb_layer *)b)->mean_s;

	return x > y ? -1 : x < y;
}

static int fill_layer(
	const struct layers *l, const struct layer *from, struct sb_model *model, struct sb_layer *to)
{
	int err = sb_stats_of(from->values_s.items, from->values_s.count, &to->time);

	if (err)
		return err;
	to->name = from->index < 0 ? sb_model_text(model, l->run->names[from->name].text)
				   : sb_model_printf(model, "%s.%lld", l->run->names[from->name].text,
					     (long long)from->index);
	if (!to->name)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse layers");
	to->component = sb_layer_component(to->name);
	to->count = from->count;
	to->gpu_span_s = from->gpu_count ? from->gpu_s : NAN;
	to->total_s = model->models.layers_on_gpu && from->gpu_count ? from->gpu_s : from->total_s;
	to->mean_s = to->total_s / (double)to->count;
	to->nested = from->nested * 2 > from->count;
	to->block = !to->nested && strcmp(to->component, "blocks") == 0;
	to->stands_for = from->summed.calls;
	if (to->stands_for)
		to->time.std = from->summed.std_s;
	to->attention = sb_layer_is_attention(to->name);
	to->ratio = NAN;
	return 0;
}

static void add_component(struct sb_model_panel *panel, const struct sb_layer *layer)
{
	size_t i = 0;

	while (i < panel->component_count && strcmp(panel->components[i].name, layer->component) != 0)
		i++;
	if (i == panel->component_count) {
		panel->component_count++;
		panel->components[i].name = layer->component;
	}
	panel->components[i].layers++;
	panel->components[i].total_s += layer->total_s;
}

static int larger_first(const void *a, const void *b)
{
	const struct sb_component *x = a, *y = b;

	return x->total_s > y->total_s ? -1 : x->total_s < y->total_s;
}

/* A text's one row for all blocks: its own count and deviation. */
static void take_summed_blocks(struct sb_model_panel *panel)
{
	for (size_t i = 0; i < panel->layer_count; i++) {
		if (!panel->layers[i].block || !panel->layers[i].stands_for)
			continue;
		panel->summed_blocks = true;
		panel->block_count = panel->layers[i].stands_for;
		panel->block_std_s = panel->layers[i].time.std;
	}
}

static int sum_up(struct sb_model *model)
{
	struct sb_model_panel *panel = &model->models;
	struct sb_stats blocks;
	double attention_s = NAN, *means_s = malloc((panel->layer_count + 1) * sizeof *means_s);
	int err;

	panel->components = sb_model_alloc(model, 8 * sizeof *panel->components);
	if (!means_s || !panel->components) {
		free(means_s);
		return sb_fail(STROBE_ENOMEM, "no memory to analyse layers");
	}
	for (size_t i = 0; i < panel->layer_count; i++) {
		const struct sb_layer *layer = &panel->layers[i];

		if (layer->attention)
			attention_s = (isnan(attention_s) ? 0 : attention_s) + layer->total_s;
		if (layer->nested)
			continue;
		panel->layers_total_s += layer->total_s;
		if (layer->block)
			means_s[panel->block_count++] = layer->mean_s;
		add_component(panel, layer);
	}
	err = sb_stats_of(means_s, (size_t)panel->block_count, &blocks);
	free(means_s);
	panel->block_mean_s = panel->block_count ? blocks.mean : NAN;
	panel->block_std_s = panel->block_count ? blocks.std : NAN;
	if (panel->block_count == 1)
		take_summed_blocks(panel);
	panel->attention_ratio = attention_s / panel->layers_total_s;
	for (size_t i = 0; i < panel->component_count; i++)
		panel->components[i].ratio = panel->components[i].total_s / panel->layers_total_s;
	for (size_t i = 0; i < panel->layer_count; i++) {
		if (!panel->layers[i].nested)
			panel->layers[i].ratio = panel->layers[i].total_s / panel->layers_total_s;
	}
	qsort(panel->components, panel->component_count, sizeof *panel->components, larger_first);
	return err;
}

/* A text's one row for all blocks is none of them: those that it names lie inside. */
static bool is_single(const struct sb_model_panel *panel, const struct sb_layer *layer)
{
	if (!panel->block_count)
		return !layer->nested;
	return !layer->stands_for && strcmp(layer->component, "blocks") == 0 &&
	       (layer->block || panel->summed_blocks);
}

/* Blocks where there are some, else whatever is outermost. */
static void list_slowest(struct sb_model *model)
{
	struct sb_model_panel *panel = &model->models;

	panel->slowest = sb_model_alloc(model, SLOWEST * sizeof *panel->slowest);
	for (size_t i = 0; panel->slowest && i < panel->layer_count; i++) {
		const struct sb_layer *layer = &panel->layers[i];

		if (panel->slowest_count < SLOWEST && is_single(panel, layer))
			panel->slowest[panel->slowest_count++] = *layer;
	}
}

/* NULL: an imported text that does not say what it ran on. */
static const char *timed_on(const struct sb_run *run, const struct sb_model_panel *panel)
{
	const struct sb_run_meta *device = sb_run_meta_find(run, SB_META_RUN, SB_RUN_DEVICE);

	if (panel->layers_on_gpu || !(panel->summed_blocks || device))
		return panel->layers_on_gpu ? "gpu" : "cpu";
	if (!device || device->attr.type != STROBE_TYPE_STRING)
		return NULL;
	return strncmp(device->attr.s, "cpu", 3) ? "gpu" : "cpu";
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct layers *l = self;
	struct sb_model_panel *panel = &model->models;
	const struct layer *all = l->all.items;
	int err;

	panel->block_mean_s = panel->block_std_s = panel->attention_ratio = panel->layers_total_s = NAN;
	if (l->failed)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse layers");
	if (!l->all.count)
		return 0;
	take_gpu_times(l, panel);
	panel->layers = sb_model_alloc(model, l->all.count * sizeof *panel->layers);
	if (!panel->layers)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse layers");
	for (size_t i = 0; i < l->all.count; i++) {
		err = fill_layer(l, &all[i], model, &panel->layers[i]);
		if (err)
			return err;
	}
	panel->layer_count = l->all.count;
	panel->layers_total_s = 0;
	panel->present = true;
	qsort(panel->layers, panel->layer_count, sizeof *panel->layers, slowest_first);
	err = sum_up(model);
	panel->layers_timed_on = timed_on(run, panel);
	list_slowest(model);
	return err;
}

static void done(void *self)
{
	struct layers *l = self;
	struct layer *all;

	if (!l)
		return;
	all = l->all.items;
	for (size_t i = 0; i < l->all.count; i++)
		sb_vec_done(&all[i].values_s);
	sb_vec_done(&l->all);
	sb_vec_done(&l->gpu);
	sb_map_done(&l->by_name);
	sb_map_done(&l->gpu_of);
	free(l);
}

const struct sb_analysis sb_analysis_layers = {
	.name = "layers",
	.begin = begin,
	.finish = finish,
	.done = done,
};
