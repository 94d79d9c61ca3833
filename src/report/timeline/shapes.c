/* A pipeline launches some hundreds of shapes: past SHAPES_MAX they are left out, not confused. */
#include "report/timeline/shapes.h"

#include "base/room.h"

#include <stdlib.h>
#include <string.h>

#define SHAPES_MAX 4096u

void sb_timeline_shapes_done(struct sb_timeline_shapes *shapes)
{
	free(shapes->all);
	sb_map_done(&shapes->number_of);
	memset(shapes, 0, sizeof *shapes);
}

uint64_t sb_timeline_shapes_number(struct sb_timeline_shapes *shapes, const struct sb_gpu_shape *shape)
{
	uint64_t words[2], key;
	uint32_t i;

	if (!shape->grid[0])
		return 0;
	sb_gpu_shape_pack(shape, words);
	key = words[0] * 0x9e3779b97f4a7c15ull ^ words[1];
	if (sb_map_get(&shapes->number_of, key, &i))
		return memcmp(&shapes->all[i], shape, sizeof *shape) ? 0 : i + 1ull;
	if (shapes->count == SHAPES_MAX || !SB_MAKE_ROOM(shapes->all, shapes->count, shapes->capacity) ||
		!sb_map_put(&shapes->number_of, key, shapes->count))
		return 0;
	shapes->all[shapes->count++] = *shape;
	return shapes->count;
}

void sb_timeline_shapes_write(const struct sb_timeline_shapes *shapes, struct sb_json *j)
{
	sb_json_array_begin(j, "shapes");
	for (uint32_t i = 0; i < shapes->count; i++) {
		const struct sb_gpu_shape *s = &shapes->all[i];

		sb_json_array_begin(j, NULL);
		for (unsigned axis = 0; axis < 3; axis++)
			sb_json_uint(j, NULL, s->grid[axis]);
		for (unsigned axis = 0; axis < 3; axis++)
			sb_json_uint(j, NULL, s->block[axis]);
		sb_json_uint(j, NULL, s->registers);
		sb_json_uint(j, NULL, s->shared_bytes);
		sb_json_array_end(j);
	}
	sb_json_array_end(j);
}
