/* Fragmentation: blocks of the allocator's segments, from a snapshot of it. */
#include "analyze/memory/collected.h"

#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define SEGMENTS_MOST 4096u
#define SHOWN 12u /* of a device */
#define PARTS_MOST 128u

static double number_attr(const struct sb_event *e, const char *key)
{
	const struct sb_run_attr *a = sb_attr_find(e->attrs, e->attr_count, key);

	return a && a->type == STROBE_TYPE_INT && a->i > 0 ? (double)a->i : 0;
}

/* "1048576:1000 524288:0": bytes and how many thousandths of them are in use. */
static size_t read_parts(const char *text, double *bytes, double *ratios)
{
	size_t count = 0;
	char *end;

	while (count < PARTS_MOST) {
		double size = strtod(text, &end), used;

		if (end == text || *end != ':' || !(size > 0 && size < 1e15))
			return count;
		text = end + 1;
		used = strtod(text, &end);
		if (end == text || !(used >= 0 && used <= 1000))
			return count;
		bytes[count] = size;
		ratios[count++] = used / 1000;
		text = end;
	}
	return count;
}

void sb_memory_segments_see(struct sb_memory_collected *m, const struct sb_event *e)
{
	const struct sb_run_attr *parts = sb_attr_find(e->attrs, e->attr_count, "parts");
	double bytes[PARTS_MOST], ratios[PARTS_MOST];
	struct sb_memory_segment *one;
	size_t count;

	if (strcmp(m->run->names[e->name].text, SB_EVENT_MEMORY_SEGMENT) || !parts ||
		parts->type != STROBE_TYPE_STRING || m->segments.count == SEGMENTS_MOST)
		return;
	count = read_parts(parts->s, bytes, ratios);
	one = count ? sb_vec_push(&m->segments, sizeof *one) : NULL;
	if (!one)
		return;
	*one = (struct sb_memory_segment){ .device = (int64_t)number_attr(e, "device"),
		.bytes = number_attr(e, "bytes"),
		.free_bytes = number_attr(e, "free_bytes"),
		.largest_free_bytes = number_attr(e, "largest_free_bytes"),
		.free_count = (int64_t)number_attr(e, "free_count"),
		.part_bytes = sb_model_alloc(m->model, count * sizeof *bytes),
		.used_ratio = sb_model_alloc(m->model, count * sizeof *ratios),
		.part_count = count };
	if (!one->part_bytes || !one->used_ratio) {
		m->failed = true;
		return;
	}
	memcpy(one->part_bytes, bytes, count * sizeof *bytes);
	memcpy(one->used_ratio, ratios, count * sizeof *ratios);
}

static int most_free_first(const void *a, const void *b)
{
	const struct sb_memory_segment *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->free_bytes > y->free_bytes ? -1 : x->free_bytes < y->free_bytes;
}

void sb_memory_segments_fill(struct sb_memory_collected *m, struct sb_model *model)
{
	struct sb_memory_segments_panel *panel = &model->memory_segments;
	struct sb_memory_segment *all = m->segments.items;
	size_t of_device = 0;

	if (!m->segments.count)
		return;
	qsort(all, m->segments.count, sizeof *all, most_free_first);
	panel->all = sb_model_alloc(model, m->segments.count * sizeof *all);
	for (size_t i = 0; panel->all && i < m->segments.count; i++) {
		of_device = i && all[i - 1].device == all[i].device ? of_device + 1 : 0;
		if (of_device < SHOWN)
			panel->all[panel->count++] = all[i];
	}
}
