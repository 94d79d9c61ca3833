/* Where ranks meet: the begin and end of every collective, for setting clocks
 * beside each other and for telling who comes last. */
#include "analyze/analysis.h"
#include "base/error.h"
#include "base/map.h"

#include <stdlib.h>

struct collective {
	uint32_t name;
	uint32_t occurrence;
	int64_t begin_ns, end_ns;
};

struct collectives {
	struct collective *all;
	size_t count;
	int64_t total;
	struct sb_map seen; /* name -> how often */
	bool no_memory;
};

static void see_zone(void *self, const struct sb_zone *z)
{
	struct collectives *m = self;
	uint32_t occurrence = 0;

	if (z->flags & (SB_ZONE_OPEN | SB_ZONE_CLIPPED | SB_ZONE_RECURSIVE))
		return;
	m->total++;
	if (m->count == SB_COLLECTIVES_MAX)
		return;
	sb_map_get(&m->seen, z->name, &occurrence);
	m->no_memory |= !sb_map_put(&m->seen, z->name, occurrence + 1);
	m->all[m->count++] = (struct collective){ z->name, occurrence, z->begin_ns, z->end_ns };
}

static void done(void *self)
{
	struct collectives *m = self;

	if (!m)
		return;
	sb_map_done(&m->seen);
	free(m->all);
	free(m);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct collectives *m = calloc(1, sizeof *m);

	if (m)
		m->all = malloc(SB_COLLECTIVES_MAX * sizeof *m->all);
	if (!m || !m->all) {
		free(m);
		return sb_fail(STROBE_ENOMEM, "no memory for the collectives of '%s'", run->path);
	}
	v->self = m;
	v->roles = 1u << STROBE_ROLE_COLLECTIVE;
	v->zone = see_zone;
	return 0;
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct collectives *m = self;
	struct sb_collectives_panel *to = &model->collectives;

	if (m->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the collectives of '%s'", run->path);
	to->total = m->total;
	if (!m->count)
		return 0;
	to->all = sb_model_alloc(model, m->count * sizeof *to->all);
	for (size_t i = 0; to->all && i < m->count; i++)
		to->all[to->count++] = (struct sb_collective){
			sb_model_text(model, run->names[m->all[i].name].text), m->all[i].occurrence,
			(double)m->all[i].begin_ns * 1e-9, (double)m->all[i].end_ns * 1e-9
		};
	return 0;
}

const struct sb_analysis sb_analysis_collectives = {
	.name = "collectives",
	.begin = begin,
	.finish = finish,
	.done = done,
};
