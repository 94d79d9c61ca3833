/* Gives each shape of a launch a name, once. */
#include "gpu/kernel_shape.h"

#include "format/gpu_shape.h"
#include "record/put.h"

#define SLOTS 1024u
#define NAMED_MOST (SLOTS - SLOTS / 4)

static struct {
	uint64_t words[2];
	uint32_t id;
} known[SLOTS];
static uint32_t named;

uint32_t sb_kernel_shape(const uint64_t words[2])
{
	uint32_t slot = (uint32_t)((words[0] * 0x9e3779b97f4a7c15u ^ words[1] * 0xc2b2ae3d27d4eb4fu) >> 40);
	char name[SB_GPU_SHAPE_TEXT];
	uint32_t id;

	for (;; slot++) {
		slot &= SLOTS - 1;
		if (!known[slot].id)
			break;
		if (known[slot].words[0] == words[0] && known[slot].words[1] == words[1])
			return known[slot].id;
	}
	if (named == NAMED_MOST)
		return 0;
	sb_gpu_shape_name(words, name);
	id = sb_name_intern(name, NULL);
	if (id == SB_NAME_OTHER)
		return 0;
	known[slot].words[0] = words[0];
	known[slot].words[1] = words[1];
	known[slot].id = id;
	named++;
	return id;
}
