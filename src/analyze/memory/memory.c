/* Memory: what is collected in the pass, and the panel it becomes. */
#include "analyze/memory/memory.h"

#include "analyze/memory/collected.h"
#include "base/error.h"
#include "base/memory_units.h"
#include "base/role.h"
#include "format/run_keys.h"

#include <stdlib.h>
#include <string.h>

#define SNAPSHOTS_MOST 100000u
#define ALLOCATORS_MOST 256

/* ---- collecting --------------------------------------------------------- */

static void take_reading(struct sb_memory_collected *m, struct sb_vec *list, const struct sb_event *e)
{
	struct sb_memory_reading *s = list->count < SNAPSHOTS_MOST ? sb_vec_push(list, sizeof *s) : NULL;

	if (s)
		*s = (struct sb_memory_reading){ e->t_ns, e->name, e->process, e->snapshot.device,
			e->snapshot.allocated_bytes, e->snapshot.reserved_bytes, e->snapshot.peak_bytes };
	else if (list->count < SNAPSHOTS_MOST)
		m->failed = true;
}

static void see_snapshot(struct sb_memory_collected *m, const struct sb_event *e)
{
	if (e->snapshot.device >= 0 && e->snapshot.allocated_bytes >= 0)
		take_reading(m, &m->readings, e);
	if (strncmp(m->run->names[e->name].text, SB_MEMORY_READING, strlen(SB_MEMORY_READING)) == 0)
		return; /* taken now and then, not by the program: growth.c's */
	m->snapshot_total++;
	take_reading(m, &m->snapshots, e);
}

static struct allocator *allocator_of(struct sb_memory_collected *m, uint32_t name)
{
	for (size_t i = 0; i < m->allocator_count; i++) {
		if (m->allocators[i].name == name)
			return &m->allocators[i];
	}
	if (m->allocator_count == ALLOCATORS_MOST)
		return NULL;
	m->allocators[m->allocator_count].name = name;
	return &m->allocators[m->allocator_count++];
}

/* A free is not an allocation with a minus sign: each is counted as what it is. */
static void see_alloc(struct sb_memory_collected *m, const struct sb_event *e)
{
	struct allocator *a = allocator_of(m, e->name);

	if (!a)
		return;
	if (e->alloc.bytes >= 0) {
		a->allocs++;
		a->allocated += e->alloc.bytes;
	} else {
		a->frees++;
		a->freed -= e->alloc.bytes;
	}
	a->live += e->alloc.bytes;
	if (a->live > a->peak)
		a->peak = a->live;
}

/* The order of folded events is lost: the peak is at least what they left. */
static void see_folded(struct sb_memory_collected *m, const struct sb_event *e)
{
	bool freed = e->digest_sum.what == SB_SUM_FREE;
	struct allocator *a;

	if (e->path || (!freed && e->digest_sum.what != SB_SUM_ALLOC))
		return;
	a = allocator_of(m, e->name);
	if (!a)
		return;
	*(freed ? &a->frees : &a->allocs) += (int64_t)e->digest_sum.count;
	*(freed ? &a->freed : &a->allocated) += e->digest_sum.sum_int;
	a->live += freed ? -e->digest_sum.sum_int : e->digest_sum.sum_int;
	if (a->live > a->peak)
		a->peak = a->live;
}

static void see_event(void *self, const struct sb_event *e)
{
	struct sb_memory_collected *m = self;

	if (e->kind == SB_EVENT_DIGEST_SUM) {
		see_folded(m, e);
		return;
	}
	if (e->t_ns < m->run->from_ns || e->t_ns > m->run->to_ns)
		return;
	if (e->kind == SB_EVENT_SNAPSHOT)
		see_snapshot(m, e);
	else if (e->kind == SB_EVENT_ALLOC)
		see_alloc(m, e);
	else
		sb_memory_lines_see(m, m->model, e);
	if (e->kind == SB_EVENT_EVENT) {
		sb_memory_layers_see(m, e);
		sb_memory_segments_see(m, e);
	}
}

/* KEEP records come before zones: by now it is known whether they matter. */
static void see_zone(void *self, const struct sb_zone *z)
{
	struct sb_memory_collected *m = self;

	if (m->sampled || m->snapshots.count || m->readings.count)
		sb_open_stages_add(&m->stages, z);
}

/* A run may have millions of steps: they are of interest where memory was read. */
static uint32_t roles_of(const struct sb_memory_collected *m)
{
	uint32_t roles = SB_STAGE_ROLES | 1u << STROBE_ROLE_LOAD | 1u << STROBE_ROLE_COMPILE |
			 1u << STROBE_ROLE_OFFLOAD | 1u << STROBE_ROLE_WARMUP;
	bool read = m->sampled;

	for (uint32_t i = 0; i < m->run->name_count && !read; i++)
		read = strcmp(m->run->names[i].text, SB_MEMORY_READING_DEVICE) == 0;
	return read ? roles | 1u << STROBE_ROLE_STEP | 1u << STROBE_ROLE_FORWARD : roles;
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct sb_memory_collected *m = calloc(1, sizeof *m);

	if (!m)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse memory");
	v->self = m;
	m->run = run;
	m->model = model;
	m->points = sb_model_points(model, run);
	m->allocators = calloc(ALLOCATORS_MOST, sizeof *m->allocators);
	if (!m->allocators)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse memory");
	for (uint32_t i = 0; i < run->schema_count; i++)
		m->sampled |= strcmp(run->schemas[i].source, "gpu") == 0;
	for (uint32_t i = 0; i < run->name_count; i++)
		m->sampled |= strcmp(run->names[i].text, SB_EVENT_MEMORY_HELD) == 0;
	v->kinds = 1u << SB_EVENT_SNAPSHOT | 1u << SB_EVENT_ALLOC | 1u << SB_EVENT_DIGEST_SUM |
		   1u << SB_EVENT_EVENT;
	v->roles = roles_of(m);
	v->only_long = true; /* as open_stages.c keeps them */
	v->zone = see_zone;
	v->event = see_event;
	return 0;
}

/* ---- snapshots ---------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct sb_memory_reading *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/* The most so far: an allocator whose peak was reset by the program starts again from nothing. */
static void keep_peaks(struct sb_memory_panel *panel)
{
	for (size_t i = 0; i < panel->snapshot_count; i++) {
		struct sb_memory_snapshot *row = &panel->snapshots[i];

		for (size_t k = i; k-- > 0 && !isnan(row->peak_bytes);) {
			if (panel->snapshots[k].device != row->device ||
				isnan(panel->snapshots[k].peak_bytes))
				continue;
			row->peak_bytes = fmax(row->peak_bytes, panel->snapshots[k].peak_bytes);
			break;
		}
	}
}

static void list_snapshots(struct sb_memory_collected *m, struct sb_model *model)
{
	struct sb_memory_panel *panel = &model->memory;
	const struct sb_memory_reading *all = m->snapshots.items;
	size_t count = m->snapshots.count;
	int64_t *t_ns = malloc((count + 1) * sizeof *t_ns);
	const struct sb_open_stage **open = malloc((count + 1) * sizeof *open);

	panel->snapshots = sb_model_alloc(model, count * sizeof *panel->snapshots);
	if (!t_ns || !open || (count && !panel->snapshots)) {
		m->failed = true;
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		t_ns[i] = all[i].t_ns;
	sb_open_stages_at(&m->stages, t_ns, count, open);
	for (size_t i = 0; i < count; i++) {
		struct sb_memory_snapshot *row = &panel->snapshots[i];

		row->label = sb_model_text(model, m->run->names[all[i].label].text);
		row->t_s = (double)all[i].t_ns / 1e9;
		row->device = all[i].device;
		row->device_name = row->device < 0 ? sb_model_text(model, "host")
						   : sb_model_printf(model, "gpu:%d", row->device);
		row->allocated_bytes = sb_known_bytes(all[i].allocated);
		row->reserved_bytes = sb_known_bytes(all[i].reserved);
		row->peak_bytes = sb_known_bytes(all[i].peak);
		row->stage = sb_model_text(model, sb_open_stage_name(m, open[i]));
	}
	panel->snapshot_count = count;
	panel->snapshot_total = m->snapshot_total;
	keep_peaks(panel);
out:
	free(t_ns);
	free(open);
}

#define WORTH_JUDGING (1024 * SB_MB) /* unused: what a share is said of */

/* Of GPUs: the largest share of a snapshot with much unused; where none has, the most bytes. Where nothing is allocated, nothing is
 * fragmented. */
static void find_fragmentation(struct sb_memory_panel *panel)
{
	double worst = 0;

	for (size_t i = 0; i < panel->snapshot_count; i++) {
		const struct sb_memory_snapshot *s = &panel->snapshots[i];
		double unused = s->reserved_bytes - s->allocated_bytes;

		double rank = unused >= WORTH_JUDGING ? 1 + unused / s->reserved_bytes : unused / 1e18;

		if (s->device < 0 || isnan(unused) || s->allocated_bytes <= 0 || unused <= 0 ||
			rank < worst || (rank == worst && unused <= panel->fragmentation_bytes))
			continue;
		worst = rank;
		panel->fragmentation_bytes = unused;
		panel->fragmentation_ratio = unused / s->reserved_bytes;
		panel->fragmentation_reserved_bytes = s->reserved_bytes;
		panel->fragmentation_label = s->label;
	}
	if (isnan(panel->fragmentation_ratio))
		panel->fragmentation_bytes = NAN;
}

/* ---- filling ---------------------------------------------------------------- */

static void list_allocators(struct sb_memory_collected *m, struct sb_model *model)
{
	struct sb_memory_panel *panel = &model->memory;

	panel->allocators = sb_model_alloc(model, m->allocator_count * sizeof *panel->allocators);
	for (size_t i = 0; panel->allocators && i < m->allocator_count; i++) {
		const struct allocator *a = &m->allocators[i];

		panel->allocators[i] = (struct sb_memory_allocator){
			.allocator = sb_model_text(model, m->run->names[a->name].text),
			.alloc_count = a->allocs,
			.free_count = a->frees,
			.allocated_bytes = (double)a->allocated,
			.freed_bytes = (double)a->freed,
			.live_bytes = (double)a->live,
			.peak_bytes = (double)a->peak,
		};
		panel->allocator_count++;
	}
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct sb_memory_collected *m = self;
	struct sb_memory_panel *panel = &model->memory;

	panel->peak_bytes = panel->peak_t_s = panel->reserved_peak_bytes = panel->device_total_bytes = NAN;
	panel->fragmentation_ratio = panel->fragmentation_reserved_bytes = NAN;
	panel->spike_bytes = panel->spike_t_s = panel->peak_used_bytes = NAN;
	panel->tensors_peak_bytes = panel->tensors_peak_t_s = NAN;
	if (m->failed || m->stages.failed)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse memory");
	if (m->snapshots.count)
		qsort(m->snapshots.items, m->snapshots.count, sizeof(struct sb_memory_reading), by_time);
	if (m->readings.count)
		qsort(m->readings.items, m->readings.count, sizeof(struct sb_memory_reading), by_time);
	list_snapshots(m, model);
	find_fragmentation(panel);
	sb_memory_stages_fill(m, model);
	list_allocators(m, model);
	sb_memory_lines_fill(m, model);
	sb_memory_segments_fill(m, model);
	sb_memory_timeline_fill(m, model);
	panel->present = panel->snapshot_count || panel->allocator_count || panel->timeline.count ||
			 panel->line_count;
	return m->failed || model->failed ? sb_fail(STROBE_ENOMEM, "no memory to analyse memory") : 0;
}

static void done(void *self)
{
	struct sb_memory_collected *m = self;

	if (!m)
		return;
	sb_vec_done(&m->snapshots);
	sb_vec_done(&m->readings);
	sb_vec_done(&m->held);
	sb_vec_done(&m->moments);
	sb_vec_done(&m->segments);
	sb_open_stages_done(&m->stages);
	free(m->allocators);
	free(m);
}

const struct sb_analysis sb_analysis_memory = {
	.name = "memory",
	.begin = begin,
	.finish = finish,
	.done = done,
};
