/* Memory: what was noted in the pass, and the section it becomes. */
#include "analyze/memory.h"

#include "analyze/part.h"
#include "analyze/series.h"
#include "analyze/stage_spans.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define SNAPSHOTS_MOST 100000u
#define ALLOCATORS_MOST 256
#define STAGES_MOST 512
#define KEPT_RATIO 0.05
#define KEPT_BYTES (64 * SB_MB)
#define SPIKE_LEAST (16 * SB_MB) /* less is no spike */

struct snapshot {
	int64_t t_ns;
	uint32_t label;
	int device;
	int64_t allocated, reserved, peak; /* -1 */
};

struct memory {
	struct sb_run *run;
	size_t points;
	struct sb_vec snapshots; /* struct snapshot */
	int64_t snapshot_total;
	struct sb_stage_spans spans;
	struct allocator {
		uint32_t name;
		int64_t allocs, frees, allocated, freed, live, peak;
	} * allocators;
	size_t allocator_count;
	bool sampled; /* the run has memory samples */
	bool failed;
};

/* ---- taking notes ------------------------------------------------------- */

static void see_snapshot(struct memory *m, const struct sb_event *e)
{
	struct snapshot *s;

	m->snapshot_total++;
	if (m->snapshots.count == SNAPSHOTS_MOST)
		return;
	s = sb_vec_push(&m->snapshots, sizeof *s);
	if (!s) {
		m->failed = true;
		return;
	}
	*s = (struct snapshot){ e->t_ns, e->name, e->snapshot.device, e->snapshot.allocated_bytes,
		e->snapshot.reserved_bytes, e->snapshot.peak_bytes };
}

static struct allocator *allocator_of(struct memory *m, uint32_t name)
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
static void see_alloc(struct memory *m, const struct sb_event *e)
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
static void see_folded(struct memory *m, const struct sb_event *e)
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
	struct memory *m = self;

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
}

/* KEEP records come before zones: by now it is known whether they matter. */
static void see_zone(void *self, const struct sb_zone *z)
{
	struct memory *m = self;

	if (m->sampled || m->snapshots.count)
		sb_stage_spans_add(&m->spans, z);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct memory *m = calloc(1, sizeof *m);

	if (!m)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse memory");
	v->self = m;
	m->run = run;
	m->points = sb_model_points(model, run);
	m->allocators = calloc(ALLOCATORS_MOST, sizeof *m->allocators);
	if (!m->allocators)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse memory");
	for (uint32_t i = 0; i < run->schema_count; i++)
		m->sampled |= strcmp(run->schemas[i].source, "gpu") == 0;
	v->kinds = 1u << SB_EVENT_SNAPSHOT | 1u << SB_EVENT_ALLOC | 1u << SB_EVENT_DIGEST_SUM;
	v->roles = 1u << STROBE_ROLE_STAGE | 1u << STROBE_ROLE_LOAD | 1u << STROBE_ROLE_COMPILE |
		   1u << STROBE_ROLE_OFFLOAD | 1u << STROBE_ROLE_WARMUP;
	v->zone = see_zone;
	v->event = see_event;
	return 0;
}

/* ---- snapshots ---------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct snapshot *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static double known_bytes(int64_t bytes)
{
	return bytes >= 0 ? (double)bytes : NAN;
}

static const char *span_name(const struct memory *m, const struct sb_stage_span *span)
{
	return span ? m->run->names[span->name].text : NULL;
}

static void list_snapshots(struct memory *m, struct sb_model *model)
{
	struct sb_memory_section *section = &model->memory;
	const struct snapshot *all = m->snapshots.items;
	size_t count = m->snapshots.count;
	int64_t *t_ns = malloc((count + 1) * sizeof *t_ns);
	const struct sb_stage_span **spans = malloc((count + 1) * sizeof *spans);

	section->snapshots = sb_model_alloc(model, count * sizeof *section->snapshots);
	if (!t_ns || !spans || (count && !section->snapshots)) {
		m->failed = true;
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		t_ns[i] = all[i].t_ns;
	sb_stage_spans_at(&m->spans, t_ns, count, spans);
	for (size_t i = 0; i < count; i++) {
		struct sb_memory_snapshot *row = &section->snapshots[i];

		row->label = sb_model_text(model, m->run->names[all[i].label].text);
		row->t_s = (double)all[i].t_ns / 1e9;
		row->device = all[i].device;
		row->allocated_bytes = known_bytes(all[i].allocated);
		row->reserved_bytes = known_bytes(all[i].reserved);
		row->peak_bytes = known_bytes(all[i].peak);
		row->stage = sb_model_text(model, span_name(m, spans[i]));
	}
	section->snapshot_count = count;
	section->snapshot_total = m->snapshot_total;
out:
	free(t_ns);
	free(spans);
}

static void find_fragmentation(struct sb_memory_section *section)
{
	for (size_t i = 0; i < section->snapshot_count; i++) {
		const struct sb_memory_snapshot *s = &section->snapshots[i];
		double unused = s->reserved_bytes - s->allocated_bytes;

		if (isnan(unused) || s->reserved_bytes <= 0 || unused <= section->fragmentation_bytes)
			continue;
		section->fragmentation_bytes = unused;
		section->fragmentation_ratio = unused / s->reserved_bytes;
		section->fragmentation_reserved_bytes = s->reserved_bytes;
		section->fragmentation_label = s->label;
	}
	if (isnan(section->fragmentation_ratio))
		section->fragmentation_bytes = NAN;
}

/* ---- peaks -------------------------------------------------------------- */

static void raise(double *peak, double bytes)
{
	if (!isnan(bytes) && !(bytes <= *peak))
		*peak = bytes;
}

static struct sb_memory_stage *stage_row(
	struct sb_memory_section *section, struct sb_model *model, const char *name)
{
	struct sb_memory_stage *row;

	for (size_t i = 0; i < section->stage_count; i++) {
		if (strcmp(section->stages[i].stage, name) == 0)
			return &section->stages[i];
	}
	if (section->stage_count == STAGES_MOST)
		return NULL;
	row = &section->stages[section->stage_count];
	row->stage = sb_model_text(model, name);
	row->peak_bytes = row->before_bytes = row->after_bytes = row->kept_bytes = NAN;
	if (!row->stage)
		return NULL;
	section->stage_count++;
	return row;
}

/* The allocator's own maximum rises between two snapshots: the stage that fills
 * the time between them did it. */
static void peaks_from_snapshots(struct memory *m, struct sb_model *model)
{
	struct sb_memory_section *section = &model->memory;
	const struct snapshot *all = m->snapshots.items;

	for (size_t i = 0; i < m->snapshots.count; i++) {
		const struct snapshot *s = &all[i], *before = NULL;
		double bytes = known_bytes(s->peak >= 0 ? s->peak : s->allocated);
		const struct sb_stage_span *span;
		struct sb_memory_stage *row;

		if (s->device < 0 || isnan(bytes))
			continue;
		for (size_t k = i; k-- > 0 && !before;) {
			if (all[k].device == s->device)
				before = &all[k];
		}
		if (before && before->peak >= 0 && s->peak >= 0 && s->peak <= before->peak)
			bytes = known_bytes(s->allocated); /* the maximum is older */
		span = sb_stage_spans_over(&m->spans, before ? before->t_ns : m->run->from_ns, s->t_ns);
		row = span ? stage_row(section, model, span_name(m, span)) : NULL;
		if (row)
			raise(&row->peak_bytes, bytes);
		raise(&section->reserved_peak_bytes, known_bytes(s->reserved));
		if (!isnan(bytes) && !(bytes <= section->peak_bytes)) {
			section->peak_bytes = bytes;
			section->peak_t_s = (double)s->t_ns / 1e9;
			section->peak_stage = sb_model_text(model, span_name(m, span));
			section->peak_source = "allocated";
			section->peak_device = s->device;
		}
	}
}

static const struct sb_series_column *vram_column(const struct sb_series *s, const char **out_source)
{
	const struct sb_series_column *c = sb_series_column_find(s, "process_memory_mb");

	*out_source = c && c->stats.max > 0 ? "process" : "device";
	return c && c->stats.max > 0 ? c : sb_series_column_find(s, "memory_used_mb");
}

static const struct sb_stage_span *span_at(struct memory *m, double t_s)
{
	int64_t t_ns = (int64_t)(t_s * 1e9);
	const struct sb_stage_span *span;

	sb_stage_spans_at(&m->spans, &t_ns, 1, &span);
	return span;
}

static void peaks_from_samples(struct memory *m, struct sb_model *model, const struct sb_series *s)
{
	struct sb_memory_section *section = &model->memory;
	const struct sb_stage_span *spans = m->spans.all.items;
	bool by_snapshots = section->peak_source && strcmp(section->peak_source, "allocated") == 0;
	const struct sb_series_column *total = sb_series_column_find(s, "memory_total_mb"), *c;
	const char *source;

	c = vram_column(s, &source);
	if (!c)
		return;
	for (size_t i = 0; !by_snapshots && i < m->spans.all.count; i++) {
		double mb = sb_series_max(
			s, c, (double)spans[i].begin_ns / 1e9, (double)spans[i].end_ns / 1e9);
		struct sb_memory_stage *row = isnan(mb) ? NULL
							: stage_row(section, model, span_name(m, &spans[i]));

		if (row)
			raise(&row->peak_bytes, mb * SB_MB);
	}
	if (total && (!by_snapshots || section->peak_device == s->device))
		section->device_total_bytes = total->stats.max * SB_MB;
	if (by_snapshots || c->stats.max * SB_MB <= section->peak_bytes)
		return;
	section->peak_bytes = c->stats.max * SB_MB;
	section->peak_t_s = c->max_t_s;
	section->peak_source = source;
	section->peak_device = s->device;
	section->peak_stage = sb_model_text(model, span_name(m, span_at(m, c->max_t_s)));
}

/* ---- spike -------------------------------------------------------------- */

static void find_spike(struct memory *m, struct sb_model *model)
{
	struct sb_memory_section *section = &model->memory;
	const struct sb_series *s = sb_model_series(model, "gpu", section->peak_device);
	const char *source;
	const struct sb_series_column *c = s ? vram_column(s, &source) : NULL;
	double from_s = NAN;

	for (size_t i = 1; c && i < s->count; i++) {
		double rise = (c->values[i] - c->values[i - 1]) * SB_MB;

		if (isnan(rise) || rise <= 0 || rise <= section->spike_bytes)
			continue;
		section->spike_bytes = rise;
		section->spike_t_s = s->t_s[i];
		from_s = s->t_s[i - 1];
	}
	for (size_t i = 1; !c && i < section->snapshot_count; i++) {
		double rise = section->snapshots[i].allocated_bytes -
			      section->snapshots[i - 1].allocated_bytes;

		if (isnan(rise) || rise <= 0 || rise <= section->spike_bytes ||
			section->snapshots[i].device != section->snapshots[i - 1].device)
			continue;
		section->spike_bytes = rise;
		section->spike_t_s = section->snapshots[i].t_s;
		from_s = section->snapshots[i - 1].t_s;
	}
	if (!(section->spike_bytes >= SPIKE_LEAST)) {
		section->spike_bytes = section->spike_t_s = NAN;
		return;
	}
	section->spike_stage = sb_model_text(
		model, span_name(m, sb_stage_spans_over(&m->spans, (int64_t)(from_s * 1e9),
					    (int64_t)(section->spike_t_s * 1e9))));
}

/* ---- freed after the stage? --------------------------------------------- */

static int by_level(const void *a, const void *b)
{
	const struct sb_stage_span *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* The first snapshot at or after a time. */
static size_t snapshot_index(const struct memory *m, int64_t t_ns)
{
	const struct snapshot *all = m->snapshots.items;
	size_t low = 0, high = m->snapshots.count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (all[mid].t_ns < t_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_reading(const struct snapshot *s)
{
	return s->device >= 0 && s->allocated >= 0;
}

/* The allocator's first reading in [from, to]; NULL: none. */
static const struct snapshot *first_reading(const struct memory *m, int64_t from_ns, int64_t to_ns)
{
	const struct snapshot *all = m->snapshots.items;

	for (size_t i = snapshot_index(m, from_ns); i < m->snapshots.count && all[i].t_ns <= to_ns; i++) {
		if (is_reading(&all[i]))
			return &all[i];
	}
	return NULL;
}

static const struct snapshot *last_reading(const struct memory *m, int64_t from_ns, int64_t to_ns)
{
	const struct snapshot *all = m->snapshots.items;

	for (size_t i = snapshot_index(m, to_ns + 1); i-- > 0 && all[i].t_ns >= from_ns;) {
		if (is_reading(&all[i]))
			return &all[i];
	}
	return NULL;
}

static bool side_by_side(const struct sb_stage_span *a, const struct sb_stage_span *b)
{
	return a->track == b->track && a->depth == b->depth;
}

/* A reading counts only when no neighbouring stage lies between it and the
 * stage: else the neighbour's memory would be put down to it. */
static void check_freed(struct memory *m, struct sb_model *model)
{
	struct sb_stage_span *spans = m->spans.all.items;
	size_t count = m->spans.all.count;

	if (!m->snapshots.count || !count)
		return;
	qsort(spans, count, sizeof *spans, by_level);
	m->spans.sorted = false;
	for (size_t i = 0; i < count; i++) {
		const struct sb_stage_span *left = i && side_by_side(&spans[i - 1], &spans[i]) ? &spans[i - 1]
											       : NULL;
		const struct sb_stage_span *right = i + 1 < count && side_by_side(&spans[i + 1], &spans[i])
							    ? &spans[i + 1]
							    : NULL;
		const struct snapshot *before = last_reading(
			m, left ? left->end_ns : m->run->from_ns, spans[i].begin_ns);
		const struct snapshot *after = first_reading(
			m, spans[i].end_ns, right ? right->begin_ns : m->run->to_ns);
		struct sb_memory_stage *row;

		if (!before || !after || before->device != after->device)
			continue;
		row = stage_row(&model->memory, model, span_name(m, &spans[i]));
		if (!row)
			continue;
		row->before_bytes = (double)before->allocated;
		row->after_bytes = (double)after->allocated;
		row->kept_bytes = row->after_bytes - row->before_bytes;
		row->checked = true;
		row->freed = row->kept_bytes <= KEPT_BYTES || row->kept_bytes <= row->peak_bytes * KEPT_RATIO;
		row->holds = sb_part_of(row->stage, (int)spans[i].role) == SB_PART_LOAD;
	}
}

static int largest_first(const void *a, const void *b)
{
	const struct sb_memory_stage *x = a, *y = b;
	double p = isnan(x->peak_bytes) ? -1 : x->peak_bytes, q = isnan(y->peak_bytes) ? -1 : y->peak_bytes;

	return p > q ? -1 : p < q;
}

static void count_stage_calls(struct sb_model *model)
{
	for (size_t i = 0; i < model->memory.stage_count; i++) {
		const struct sb_stage *stage = sb_model_stage(model, model->memory.stages[i].stage);

		model->memory.stages[i].count = stage ? stage->count : 1;
	}
}

/* ---- the host, the timeline --------------------------------------------- */

static double column_max_bytes(const struct sb_model *model, const char *source, const char *column)
{
	const struct sb_series *s = sb_model_series(model, source, -2);
	const struct sb_series_column *c = s ? sb_series_column_find(s, column) : NULL;

	return c ? c->stats.max * SB_MB : NAN;
}

static void fill_host(struct sb_model *model)
{
	struct sb_memory_section *section = &model->memory;
	const struct sb_series *s = sb_model_series(model, "memory", -2);
	const struct sb_series_column *swap = s ? sb_series_column_find(s, "swap_used_mb") : NULL;
	double limit = column_max_bytes(model, "memory", "limit_mb");

	section->ram_peak_bytes = column_max_bytes(model, "memory", "used_mb");
	section->swap_peak_bytes = column_max_bytes(model, "memory", "swap_used_mb");
	section->swap_first_bytes = swap ? swap->first * SB_MB : NAN;
	section->page_cache_peak_bytes = column_max_bytes(model, "memory", "page_cache_mb");
	section->rss_peak_bytes = column_max_bytes(model, "process", "rss_mb");
	section->ram_total_bytes = column_max_bytes(model, "memory", "total_mb");
	if (limit > 0 && !(limit >= section->ram_total_bytes)) { /* a container: its own limit, its own use */
		double group = column_max_bytes(model, "memory", "group_used_mb");

		section->ram_total_bytes = limit;
		section->ram_peak_bytes = isnan(group) ? section->ram_peak_bytes : group;
	}
}

static double vram_at(const struct sb_model *model, double t_s)
{
	double sum = NAN;

	for (size_t i = 0; i < model->series_count; i++) {
		const struct sb_series *s = &model->series[i];
		double mb;

		if (strcmp(s->source, "gpu") != 0)
			continue;
		mb = sb_series_at(s, sb_series_column_find(s, "memory_used_mb"), t_s);
		if (!isnan(mb))
			sum = isnan(sum) ? mb : sum + mb;
	}
	return sum;
}

/* The last snapshot up to t_s, summed over devices is not wanted: the peak's
 * device alone. *at only moves forward. */
static const struct sb_memory_snapshot *snapshot_at(const struct sb_memory_section *section, double t_s,
	size_t *at, const struct sb_memory_snapshot *before)
{
	for (; *at < section->snapshot_count && section->snapshots[*at].t_s <= t_s; (*at)++) {
		if (section->snapshots[*at].device == section->peak_device)
			before = &section->snapshots[*at];
	}
	return before;
}

static void fill_timeline(struct memory *m, struct sb_model *model)
{
	static const char *const columns[] = { "vram_used_mb", "vram_allocated_mb", "vram_reserved_mb",
		"ram_used_mb", "rss_mb", "swap_used_mb", "page_cache_mb" };
	struct sb_memory_section *section = &model->memory;
	const struct sb_series *memory = sb_model_series(model, "memory", -2),
			       *gpu = sb_model_series(model, "gpu", -2);
	const struct sb_series *process = sb_model_series(model, "process", -2),
			       *axis = memory ? memory : gpu;
	const struct sb_memory_snapshot *snapshot = NULL;
	struct sb_sampled rows;
	size_t at = 0;

	if (sb_sampled_init(&rows, columns, 7, m->points) != 0)
		m->failed = true;
	for (size_t i = 0; !m->failed && i < (axis ? axis->count : section->snapshot_count); i++) {
		double t_s = axis ? axis->t_s[i] : section->snapshots[i].t_s, row[7];

		snapshot = snapshot_at(section, t_s, &at, snapshot);
		row[0] = vram_at(model, t_s);
		row[1] = snapshot ? snapshot->allocated_bytes / SB_MB : NAN;
		row[2] = snapshot ? snapshot->reserved_bytes / SB_MB : NAN;
		row[3] = memory ? sb_series_at(memory, sb_series_column_find(memory, "used_mb"), t_s) : NAN;
		row[4] = process ? sb_series_at(process, sb_series_column_find(process, "rss_mb"), t_s) : NAN;
		row[5] = memory ? sb_series_at(memory, sb_series_column_find(memory, "swap_used_mb"), t_s)
				: NAN;
		row[6] = memory ? sb_series_at(memory, sb_series_column_find(memory, "page_cache_mb"), t_s)
				: NAN;
		if (sb_sampled_add(&rows, t_s, row) != 0)
			m->failed = true;
	}
	if (!m->failed && sb_sampled_store(&rows, model, &section->timeline) != 0)
		m->failed = true;
	sb_sampled_done(&rows);
}

static void list_allocators(struct memory *m, struct sb_model *model)
{
	struct sb_memory_section *section = &model->memory;

	section->allocators = sb_model_alloc(model, m->allocator_count * sizeof *section->allocators);
	for (size_t i = 0; section->allocators && i < m->allocator_count; i++) {
		const struct allocator *a = &m->allocators[i];

		section->allocators[i] = (struct sb_memory_allocator){
			.allocator = sb_model_text(model, m->run->names[a->name].text),
			.alloc_count = a->allocs,
			.free_count = a->frees,
			.allocated_bytes = (double)a->allocated,
			.freed_bytes = (double)a->freed,
			.live_bytes = (double)a->live,
			.peak_bytes = (double)a->peak,
		};
		section->allocator_count++;
	}
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct memory *m = self;
	struct sb_memory_section *section = &model->memory;

	section->peak_bytes = section->peak_t_s = section->reserved_peak_bytes = section->device_total_bytes =
		NAN;
	section->fragmentation_ratio = section->fragmentation_reserved_bytes = NAN;
	section->spike_bytes = section->spike_t_s = NAN;
	section->stages = sb_model_alloc(model, STAGES_MOST * sizeof *section->stages);
	if (!section->stages || m->failed || m->spans.failed)
		return sb_fail(STROBE_ENOMEM, "no memory to analyse memory");
	if (m->snapshots.count)
		qsort(m->snapshots.items, m->snapshots.count, sizeof(struct snapshot), by_time);
	list_snapshots(m, model);
	find_fragmentation(section);
	peaks_from_snapshots(m, model);
	for (size_t i = 0; i < model->series_count; i++) {
		if (strcmp(model->series[i].source, "gpu") == 0)
			peaks_from_samples(m, model, &model->series[i]);
	}
	check_freed(m, model);
	find_spike(m, model);
	count_stage_calls(model);
	if (section->stage_count)
		qsort(section->stages, section->stage_count, sizeof *section->stages, largest_first);
	list_allocators(m, model);
	fill_host(model);
	fill_timeline(m, model);
	section->present = section->snapshot_count || section->allocator_count || section->timeline.count;
	return m->failed || model->failed ? sb_fail(STROBE_ENOMEM, "no memory to analyse memory") : 0;
}

static void done(void *self)
{
	struct memory *m = self;

	if (!m)
		return;
	sb_vec_done(&m->snapshots);
	sb_stage_spans_done(&m->spans);
	free(m->allocators);
	free(m);
}

const struct sb_analysis sb_analysis_memory = {
	.name = "memory",
	.begin = begin,
	.finish = finish,
	.done = done,
};
