/* Where ranks meet: when this rank came and went on, to align clocks and to find the rank that comes
 * last. A bounded number is kept, by a rule that keeps the same ones on every rank. */
#include "analyze/analysis.h"
#include "base/error.h"
#include "base/map.h"
#include "run/events.h"
#include "stats/coverage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct collective {
	uint64_t hash; /* of what it is: the same on every rank */
	uint32_t name;
	int64_t occurrence;
	int64_t begin_ns, end_ns, hidden_ns, call_ns;
	uint32_t track;
	const char *group; /* kept by the model */
	double bytes;
	int64_t root;
};

struct collectives {
	struct sb_run *run;
	struct sb_model *model;
	struct collective *all;
	size_t count;
	uint64_t mask; /* kept: those whose hash has none of these bits */
	int64_t total;
	struct sb_map seen; /* name -> how often */
	struct sb_union apart; /* loading code, and what strobe itself did */
	bool no_memory;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t hash_of(const char *text, int64_t number)
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return mix(hash + (uint64_t)number * 0x9e3779b97f4a7c15u);
}

/* Half of them go, on every rank the same half. */
static void thin(struct collectives *m)
{
	size_t kept = 0;

	m->mask = m->mask << 1 | 1;
	for (size_t i = 0; i < m->count; i++)
		if (!(m->all[i].hash & m->mask))
			m->all[kept++] = m->all[i];
	m->count = kept;
}

static int64_t number_or(const struct sb_zone *z, const char *key, int64_t absent)
{
	double value = sb_attr_number(z->attrs, z->attr_count, key);

	return value > -9e15 && value < 9e15 ? (int64_t)value : absent;
}

/* A group's own number, else the occurrence of the name. */
static void identify(struct collectives *m, const struct sb_zone *z, const char *name, struct collective *c)
{
	const struct sb_run_attr *group = sb_attr_find(z->attrs, z->attr_count, "group");
	uint32_t occurrence = 0;

	c->occurrence = number_or(z, "seq", -1);
	if (group && group->type == STROBE_TYPE_STRING && c->occurrence >= 0) {
		c->hash = hash_of(group->s, c->occurrence);
		c->group = c->hash & m->mask ? NULL : sb_model_text(m->model, group->s);
		return;
	}
	sb_map_get(&m->seen, z->name, &occurrence);
	m->no_memory |= !sb_map_put(&m->seen, z->name, occurrence + 1);
	c->occurrence = occurrence;
	c->hash = hash_of(name, occurrence);
}

static void see_zone(void *self, const struct sb_zone *z)
{
	struct collectives *m = self;
	struct collective c = { .name = z->name,
		.begin_ns = z->begin_ns,
		.end_ns = z->end_ns,
		.call_ns = z->begin_ns,
		.track = z->track };
	double bytes = sb_attr_number(z->attrs, z->attr_count, "bytes");

	if (z->flags & (SB_ZONE_OPEN | SB_ZONE_CLIPPED | SB_ZONE_RECURSIVE))
		return;
	if (z->role != STROBE_ROLE_COLLECTIVE) {
		m->no_memory |= !sb_union_add(&m->apart, z->begin_ns, z->end_ns);
		return;
	}
	m->total++;
	identify(m, z, m->run->names[z->name].text, &c);
	if (c.hash & m->mask)
		return;
	c.hidden_ns = number_or(z, "hidden_ns", 0);
	c.begin_ns -= c.hidden_ns > 0 ? c.hidden_ns : 0;
	c.bytes = isnan(bytes) ? 0 : bytes;
	c.root = number_or(z, "root", 0);
	if (m->count == SB_COLLECTIVES_MAX)
		thin(m);
	if (m->count < SB_COLLECTIVES_MAX && !(c.hash & m->mask))
		m->all[m->count++] = c;
}

static void done(void *self)
{
	struct collectives *m = self;

	if (!m)
		return;
	sb_map_done(&m->seen);
	sb_union_done(&m->apart);
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
	m->run = run;
	m->model = model;
	v->self = m;
	v->roles = 1u << STROBE_ROLE_COLLECTIVE | 1u << STROBE_ROLE_IMPORT | 1u << STROBE_ROLE_PROFILER;
	v->zone = see_zone;
	return 0;
}

/* How much of begin..end was apart; from: where to look on, as both come in order. */
static int64_t apart_ns(const struct sb_union *u, int64_t begin_ns, int64_t end_ns, uint32_t *from)
{
	int64_t sum_ns = 0;

	while (*from < u->count && u->parts[*from].end_ns <= begin_ns)
		++*from;
	for (uint32_t i = *from; i < u->count && u->parts[i].begin_ns < end_ns; i++) {
		int64_t first_ns = u->parts[i].begin_ns > begin_ns ? u->parts[i].begin_ns : begin_ns;
		int64_t last_ns = u->parts[i].end_ns < end_ns ? u->parts[i].end_ns : end_ns;

		sum_ns += last_ns - first_ns;
	}
	return sum_ns;
}

/* Before the first one all of it was start-up. */
static void give_apart(struct collectives *m, struct sb_collectives_panel *to)
{
	int64_t before_ns = m->all[0].end_ns;
	uint32_t from = 0;

	sb_union_ns(&m->apart); /* puts it in order */
	for (size_t i = 1; i < to->count; i++) {
		to->all[i].apart_s = (double)apart_ns(&m->apart, before_ns, m->all[i].call_ns, &from) * 1e-9;
		before_ns = m->all[i].end_ns > before_ns ? m->all[i].end_ns : before_ns;
	}
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
			.name = sb_model_text(model, run->names[m->all[i].name].text),
			.occurrence = m->all[i].occurrence,
			.begin_s = (double)m->all[i].begin_ns * 1e-9,
			.end_s = (double)m->all[i].end_ns * 1e-9,
			.group = m->all[i].group,
			.hidden_s = (double)m->all[i].hidden_ns * 1e-9,
			.bytes = m->all[i].bytes,
			.root = m->all[i].root,
			.call_begin_ns = m->all[i].call_ns,
			.call_end_ns = m->all[i].end_ns,
			.track = m->all[i].track,
			.enqueued = m->all[i].group && !strncmp(m->all[i].group, "nccl:", 5),
		};
	if (to->count)
		give_apart(m, to);
	return 0;
}

const struct sb_analysis sb_analysis_collectives = {
	.name = "collectives",
	.begin = begin,
	.finish = finish,
	.done = done,
};
