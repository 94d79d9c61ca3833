/* The stages of a run that was recorded while a memory snapshot's history was: which one was open when a block was
 * allocated. Both clocks are the time of day. */
#include "exchange/snapshot.h"

#include "base/error.h"
#include "base/inorder.h"
#include "base/role.h"
#include "run/open_stages.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

struct edge { /* a stage begins or ends */
	int64_t t_ns;
	uint32_t name; /* of the run: what is open from here on; UINT32_MAX: nothing */
};

struct sb_snapshot_stages {
	struct sb_run *run;
	struct sb_open_stages open;
	struct edge *edges;
	size_t count;
};

static void see_zone(void *self, const struct sb_zone *z)
{
	sb_open_stages_add(&((struct sb_snapshot_stages *)self)->open, z);
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int find_edges(struct sb_snapshot_stages *st)
{
	const struct sb_open_stage *all = st->open.all.items;
	size_t count = 2 * st->open.all.count;
	int64_t *t_ns = calloc(count + 1, sizeof *t_ns);
	const struct sb_open_stage **open = calloc(count + 1, sizeof *open);

	st->edges = calloc(count + 1, sizeof *st->edges);
	if (t_ns && open && st->edges) {
		for (size_t i = 0; i < count; i++)
			t_ns[i] = i % 2 ? all[i / 2].end_ns + 1 : all[i / 2].begin_ns;
		qsort(t_ns, count, sizeof *t_ns, ascending);
		sb_open_stages_at(&st->open, t_ns, count, open);
		for (size_t i = 0; i < count; i++)
			st->edges[i] = (struct edge){ t_ns[i], open[i] ? open[i]->name : UINT32_MAX };
		st->count = count;
	}
	free(t_ns);
	free(open);
	return st->count ? 0 : sb_fail(STROBE_ENOMEM, "no memory for the stages");
}

int sb_snapshot_stages_open(const char *spec, struct sb_snapshot_stages **out_stages)
{
	struct sb_snapshot_stages *st = calloc(1, sizeof *st);
	struct sb_visitor v = { .self = st,
		.roles = SB_STAGE_ROLES | 1u << STROBE_ROLE_GENERATION | 1u << STROBE_ROLE_STEP |
			 1u << STROBE_ROLE_BLOCK | 1u << STROBE_ROLE_LOAD | 1u << STROBE_ROLE_OFFLOAD,
		.only_long = true, /* as open_stages.c keeps them */
		.zone = see_zone };
	int err = st ? sb_run_open(spec, NULL, &st->run) : sb_fail(STROBE_ENOMEM, "no memory for the stages");

	if (!err)
		err = sb_run_visit(st->run, &v, 1);
	if (!err && st->open.failed)
		err = sb_fail(STROBE_ENOMEM, "no memory for the stages");
	if (!err && !st->open.all.count)
		err = sb_fail(STROBE_EFORMAT, "'%s' has no stages", spec);
	if (!err)
		err = find_edges(st);
	if (err) {
		sb_snapshot_stages_close(st);
		return err;
	}
	*out_stages = st;
	return 0;
}

void sb_snapshot_stages_close(struct sb_snapshot_stages *st)
{
	if (!st)
		return;
	sb_open_stages_done(&st->open);
	sb_run_close(st->run);
	free(st->edges);
	free(st);
}

static const char *name_at(const struct sb_snapshot_stages *st, int64_t t_ns)
{
	size_t after = st->count ? sb_first_after(&st->edges->t_ns, sizeof *st->edges, st->count, t_ns) : 0;
	uint32_t name = after ? st->edges[after - 1].name : UINT32_MAX;

	return name != UINT32_MAX ? st->run->names[name].text : NULL;
}

static bool is_dated(int64_t time_us)
{
	return time_us > 0 && time_us < INT64_MAX / 1000;
}

const char *sb_snapshot_stages_name(const struct sb_snapshot_stages *st, int64_t time_us)
{
	return is_dated(time_us) ? name_at(st, (int64_t)((uint64_t)time_us * 1000 - st->run->start_real_ns))
				 : NULL;
}

static uint32_t stack_named(struct sb_snapshot *s, const char *name)
{
	struct sb_snapshot_calls calls = { .count = 0 };
	uint32_t frame = sb_snapshot_frame_add(s, sb_strings_add(&s->strings, name, strlen(name)), 0, 0);

	if (frame)
		sb_snapshot_calls_add(s, &calls, frame);
	return frame ? sb_snapshot_stack_add(s, &calls) : 0;
}

uint32_t sb_snapshot_stages_stack(const struct sb_snapshot_stages *st, struct sb_snapshot *s, int64_t time_us)
{
	const char *name = sb_snapshot_stages_name(st, time_us);

	return stack_named(s, name ? name : is_dated(time_us) ? "outside stages" : "there at first");
}
