/* Weights that move between the host and a GPU in the generations (offload): the program lists them once, where they lie then, and
 * where they lie at another moment is not known. They are in the sums of both sides, under no name of their own. */
#include "analyze/memory/residency.h"

#include <stdio.h>
#include <string.h>

#define WEIGHTS_OF "weights of "

static bool moves(const struct sb_model *model, const char *component)
{
	const struct sb_stage *s;
	char name[256];

	if (strncmp(component, WEIGHTS_OF, strlen(WEIGHTS_OF)) != 0)
		return false;
	snprintf(name, sizeof name, "offload:%s", component + strlen(WEIGHTS_OF));
	s = sb_model_stage(model, name);
	return s && s->in_generation;
}

void sb_residency_moved_prepare(struct sb_residency_collected *c)
{
	struct sb_weights *all = c->weights.items;
	size_t kept = 0;

	for (size_t i = 0; i < c->weights.count; i++) {
		if (moves(c->model, all[i].component))
			c->weights_move = true;
		else
			all[kept++] = all[i];
	}
	c->weights.count = kept;
}
