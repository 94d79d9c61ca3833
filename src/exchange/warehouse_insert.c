/* Runs into the warehouse, as RowBinary, many in one batch. */
#include "exchange/warehouse.h"

#include "base/buf.h"
#include "base/error.h"
#include "exchange/warehouse_batch.h"
#include "run/brief.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH_BYTES (16u << 20) /* fewer, larger parts: the server merges less; two batches are in memory */

enum { RANKS_MOST = 1 << 24 };

struct sb_warehouse_loader {
	const struct sb_warehouse *w;
	struct sb_warehouse_sender sender;
	struct sb_warehouse_load sum;
	/* of the run being added */
	const struct sb_facts *f;
	uint64_t version;
	char job[SB_WAREHOUSE_JOB_SIZE], run[512];
	struct sb_buf row_head;
	/* of ranks whose launcher gave them no id */
	char unnamed[SB_WAREHOUSE_JOB_SIZE];
	int64_t world_size;
	uint64_t first_start_ns, first_duration_ns; /* of the one it is called by */
	bool *seen; /* by rank */
};

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the warehouse's rows");
}

/* ---- RowBinary ---------------------------------------------------------- */

static void put_varint(struct sb_buf *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		sb_buf_putc(out, (char)(v | 0x80));
	sb_buf_putc(out, (char)v);
}

static void put_string(struct sb_buf *out, const char *text)
{
	size_t size = text ? strlen(text) : 0;

	put_varint(out, size);
	sb_buf_add(out, text, size);
}

#define PUT(name, type)                              \
	static void name(struct sb_buf *out, type v) \
	{                                            \
		sb_buf_add(out, &v, sizeof v);       \
	}
PUT(put_u8, uint8_t)
PUT(put_u16, uint16_t)
PUT(put_u32, uint32_t)
PUT(put_i32, int32_t)
PUT(put_u64, uint64_t)
PUT(put_f64, double)

/* ---- tables, each in the order of its key ------------------------------- */
/* Not gpu_kernels: a few rows a run, the longest kernels first. Sorting them costs the server 15 us a run. */

static uint32_t start_of(const struct sb_warehouse_loader *l)
{
	return (uint32_t)(l->f->start_real_ns / 1000000000u);
}

/* What every row but those of `runs` starts with. */
static void make_row_head(struct sb_warehouse_loader *l)
{
	struct sb_buf *head = &l->row_head;

	sb_buf_clear(head);
	put_string(head, l->job);
	put_string(head, l->run);
	put_u64(head, l->version);
	put_u32(head, start_of(l));
	put_i32(head, (int32_t)l->f->rank);
}

static struct sb_buf *begin_row(struct sb_warehouse_loader *l, enum sb_warehouse_rows table)
{
	struct sb_buf *rows = &l->sender.filling.rows[table];

	sb_buf_add(rows, l->row_head.data, l->row_head.size);
	l->sum.rows++;
	return rows;
}

static void put_buckets(struct sb_buf *out, const struct sb_histogram *h)
{
	uint64_t used = 0;

	for (uint32_t i = 0; h && i < h->size; i++)
		used += h->counts[i] != 0;
	put_varint(out, used);
	for (uint32_t i = 0; h && i < h->size; i++)
		if (h->counts[i])
			put_u32(out, h->first + i);
	put_varint(out, used);
	for (uint32_t i = 0; h && i < h->size; i++)
		if (h->counts[i])
			put_u64(out, h->counts[i]);
}

static void load_stages(struct sb_warehouse_loader *l)
{
	for (size_t i = 0; i < l->f->stage_count; i++) {
		const struct sb_fact_stage *s = &l->f->stages[i];
		struct sb_buf *row = begin_row(l, SB_ROWS_STAGES);

		put_u32(row, (uint32_t)i);
		put_i32(row, (int32_t)s->parent);
		put_string(row, s->key);
		put_string(row, s->name);
		put_string(row, s->code);
		put_u16(row, (uint16_t)s->depth);
		put_u8(row, (uint8_t)s->role);
		put_u8(row, (uint8_t)s->state);
		put_u64(row, (uint64_t)s->count);
		put_f64(row, s->total_s);
		put_f64(row, s->self_s);
		put_f64(row, s->time.min);
		put_f64(row, s->time.max);
		put_buckets(row, s->calls);
		put_string(row, s->parent < 0 ? "" : l->f->stages[s->parent].key);
	}
}

static void load_step(struct sb_warehouse_loader *l, const char *kind, size_t index, double seconds,
	size_t weight, double sum_s)
{
	struct sb_buf *row = begin_row(l, SB_ROWS_STEPS);

	put_string(row, kind);
	put_u32(row, (uint32_t)index);
	put_f64(row, seconds);
	put_u32(row, (uint32_t)weight);
	put_f64(row, sum_s);
}

/* Of many steps every n-th, each with how many it stands for and what those took. */
static void load_steps(struct sb_warehouse_loader *l, const struct sb_facts *f)
{
	for (size_t i = 0; i < f->generation_count; i++)
		load_step(l, "generation", i, f->generation_s[i], 1, f->generation_s[i]);
	for (size_t i = 0; i < f->step_count; i++) {
		size_t index = i * f->step_stride, left = f->step_of - index;

		load_step(l, "step", index, f->step_s[i], left < f->step_stride ? left : f->step_stride,
			f->step_sum_s ? f->step_sum_s[i] : f->step_s[i]);
	}
}

struct samples {
	const struct sb_series *series;
	const struct sb_series_column *column;
};

static int by_sample_key(const void *a, const void *b)
{
	const struct samples *x = a, *y = b;
	int order = strcmp(x->series->source, y->series->source);

	if (!order)
		order = (x->series->device > y->series->device) - (x->series->device < y->series->device);
	if (!order)
		order = strcmp(x->column->name, y->column->name);
	return order ? order : (x->series > y->series) - (x->series < y->series);
}

static void load_column(struct sb_warehouse_loader *l, const struct samples *s)
{
	for (size_t k = 0; k < s->series->count; k++) {
		struct sb_buf *row;

		if (isnan(s->column->values[k]))
			continue;
		row = begin_row(l, SB_ROWS_SAMPLES);
		put_string(row, s->series->source);
		put_i32(row, s->series->device);
		put_string(row, s->column->name);
		put_f64(row, s->series->t_s[k]);
		put_f64(row, s->column->values[k]);
	}
}

static int load_samples(struct sb_warehouse_loader *l, const struct sb_model *m)
{
	struct sb_vec all = { 0 };
	struct samples *s = NULL;

	for (size_t i = 0; i < m->series_count; i++)
		for (size_t c = 0; c < m->series[i].column_count; c++) {
			s = sb_vec_push(&all, sizeof *s);
			if (!s) {
				sb_vec_done(&all);
				return no_memory();
			}
			*s = (struct samples){ &m->series[i], &m->series[i].columns[c] };
		}
	if (all.count)
		qsort(all.items, all.count, sizeof *s, by_sample_key);
	s = all.items;
	for (size_t i = 0; i < all.count; i++)
		load_column(l, &s[i]);
	sb_vec_done(&all);
	return 0;
}

static void load_kernels(struct sb_warehouse_loader *l, const struct sb_model *m)
{
	for (size_t i = 0; m->gpu.present && i < m->gpu.top_kernel_count; i++) {
		struct sb_buf *row = begin_row(l, SB_ROWS_KERNELS);

		put_string(row, m->gpu.top_kernels[i].name);
		put_u64(row, (uint64_t)m->gpu.top_kernels[i].count);
		put_f64(row, m->gpu.top_kernels[i].total_s);
	}
}

/* With its group, where that is known: two groups count the same operation apart. */
static void put_collective_name(struct sb_buf *row, const struct sb_fact_collective *m)
{
	char text[1024];

	if (!m->group) {
		put_string(row, m->name);
		return;
	}
	snprintf(text, sizeof text, "%s|%s", m->name, m->group);
	put_string(row, text);
}

/* The key has name and group as one text, "name|group"; of names that begin alike the order may differ, and the server sorts. */
static int by_collective_key(const void *a, const void *b)
{
	const struct sb_fact_collective *x = *(const struct sb_fact_collective *const *)a,
					*y = *(const struct sb_fact_collective *const *)b;
	int order = x->name == y->name ? 0 : strcmp(x->name, y->name);

	if (!order && x->group != y->group)
		order = strcmp(x->group ? x->group : "", y->group ? y->group : "");
	if (!order)
		order = (x->occurrence > y->occurrence) - (x->occurrence < y->occurrence);
	return order ? order : (x > y) - (x < y);
}

static void load_collective(struct sb_warehouse_loader *l, const struct sb_fact_collective *m)
{
	struct sb_buf *row = begin_row(l, SB_ROWS_COLLECTIVES);

	put_collective_name(row, m);
	put_u32(row, (uint32_t)m->occurrence);
	put_u64(row, l->f->start_real_ns);
	put_f64(row, m->begin_s);
	put_f64(row, m->end_s);
	put_u32(row, (uint32_t)(m - l->f->collectives));
	put_i32(row, m->root);
	put_f64(row, m->hidden_s);
	put_f64(row, m->bytes);
	put_u8(row, m->late_end);
	put_f64(row, m->apart_s);
}

static int load_collectives(struct sb_warehouse_loader *l)
{
	size_t count = l->f->collective_count;
	const struct sb_fact_collective **all = calloc(count + 1, sizeof *all);

	if (!all)
		return no_memory();
	for (size_t i = 0; i < count; i++)
		all[i] = &l->f->collectives[i];
	qsort(all, count, sizeof *all, by_collective_key);
	for (size_t i = 0; i < count; i++)
		load_collective(l, all[i]);
	free(all);
	return 0;
}

static void put_metrics(struct sb_buf *out, const struct sb_facts *f)
{
	uint64_t known = 0;

	for (int m = 0; m < SB_METRIC_COUNT; m++)
		known += !isnan(f->metrics[m]);
	put_varint(out, known);
	for (int m = 0; m < SB_METRIC_COUNT; m++)
		if (!isnan(f->metrics[m]))
			put_string(out, sb_metric_infos[m].key);
	put_varint(out, known);
	for (int m = 0; m < SB_METRIC_COUNT; m++)
		if (!isnan(f->metrics[m]))
			put_f64(out, f->metrics[m]);
}

static void put_tags(struct sb_buf *out, const struct sb_facts *f)
{
	uint64_t tags = 0;

	for (size_t i = 0; i < f->pair_count; i++)
		tags += f->pairs[i].scope == SB_FACT_TAG;
	for (int value = 0; value < 2; value++) {
		put_varint(out, tags);
		for (size_t i = 0; i < f->pair_count; i++)
			if (f->pairs[i].scope == SB_FACT_TAG)
				put_string(out, value ? f->pairs[i].value : f->pairs[i].key);
	}
}

static void put_pairs(struct sb_buf *out, const struct sb_facts *f)
{
	put_varint(out, f->pair_count);
	for (size_t i = 0; i < f->pair_count; i++)
		put_u8(out, (uint8_t)f->pairs[i].scope);
	put_varint(out, f->pair_count);
	for (size_t i = 0; i < f->pair_count; i++)
		put_string(out, f->pairs[i].key);
	put_varint(out, f->pair_count);
	for (size_t i = 0; i < f->pair_count; i++)
		put_string(out, f->pairs[i].value);
}

static void put_lane(struct sb_buf *out, const struct sb_stage_lane *lane)
{
	char text[SB_STAGE_LANE_BINS + 1] = "";

	put_varint(out, lane->name_count);
	for (size_t i = 0; i < lane->name_count; i++)
		put_string(out, lane->names[i]);
	for (size_t i = 0; i < SB_STAGE_LANE_BINS && lane->name_count; i++)
		text[i] = sb_warehouse_lane_letter(lane->bins[i]);
	put_string(out, text);
}

/* The row that makes all the others count. */
static void load_run(struct sb_warehouse_loader *l)
{
	const struct sb_facts *f = l->f;
	struct sb_buf *row = &l->sender.filling.rows[SB_ROWS_RUNS];

	put_string(row, l->job);
	put_string(row, l->run);
	put_u64(row, l->version);
	put_i32(row, (int32_t)f->rank);
	put_i32(row, (int32_t)f->world_size);
	put_string(row, f->name);
	put_string(row, f->host);
	put_u32(row, start_of(l));
	put_u64(row, f->start_real_ns);
	put_u8(row, f->complete);
	put_string(row, f->damage);
	put_metrics(row, f);
	put_tags(row, f);
	put_string(row, f->id);
	put_string(row, f->clock);
	put_string(row, f->gpu);
	put_u64(row, (uint64_t)f->collective_total);
	put_pairs(row, f);
	put_lane(row, &f->stage_lane);
	l->sum.rows++;
}

/* ---- the whole ---------------------------------------------------------- */

static uint64_t duration_of(const struct sb_facts *f)
{
	double wall_s = f->metrics[SB_METRIC_WALL];

	return wall_s > 0 ? (uint64_t)(fmin(wall_s, 1e9) * 1e9) : 0;
}

/* As run/nodes.c decides it: ranks of one job are of one world, ran at the same time and are all different. */
static bool is_of_unnamed_job(const struct sb_warehouse_loader *l)
{
	const struct sb_facts *f = l->f;

	return l->seen && l->world_size == f->world_size && !l->seen[f->rank] &&
	       sb_runs_overlap(f->start_real_ns, duration_of(f), l->first_start_ns, l->first_duration_ns);
}

/* Ranks of one load without a job's id (mp.spawn, mpirun) are one job, called by its first one's session. A rank that
 * does not belong to it begins the next. */
static const char *unnamed_job(struct sb_warehouse_loader *l)
{
	const struct sb_facts *f = l->f;
	const char *own = *f->id ? f->id : f->label;

	if (f->rank < 0 || f->rank >= f->world_size || f->world_size > RANKS_MOST)
		return own;
	if (!is_of_unnamed_job(l)) {
		free(l->seen);
		l->seen = calloc((size_t)f->world_size, sizeof *l->seen);
		l->world_size = f->world_size;
		l->first_start_ns = f->start_real_ns;
		l->first_duration_ns = duration_of(f);
		snprintf(l->unnamed, sizeof l->unnamed, "%s", own);
	}
	if (!l->seen)
		return own;
	l->seen[f->rank] = true;
	return l->unnamed;
}

static void identify(struct sb_warehouse_loader *l)
{
	const struct sb_facts *f = l->f;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	l->version = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	sb_warehouse_job_key(l->w,
		*l->w->job ? l->w->job
		: *f->job  ? f->job
			   : unnamed_job(l),
		l->job, sizeof l->job);
	if (f->rank >= 0)
		snprintf(l->run, sizeof l->run, "%s/%s@%llu/rank_%lld", *f->id ? f->id : f->label, f->name,
			(unsigned long long)f->start_real_ns, (long long)f->rank);
	else
		snprintf(l->run, sizeof l->run, "%s/%s@%llu", *f->id ? f->id : f->label, f->name,
			(unsigned long long)f->start_real_ns);
}

int sb_warehouse_begin(const struct sb_warehouse *w, struct sb_warehouse_loader **out_loader)
{
	struct sb_warehouse_loader *l = calloc(1, sizeof *l);
	int err = l ? sb_warehouse_prepare(w) : no_memory();

	if (err) {
		free(l);
		return err;
	}
	l->w = l->sender.w = w;
	*out_loader = l;
	return 0;
}

int sb_warehouse_add(
	struct sb_warehouse_loader *l, const struct sb_facts *facts, const struct sb_model *model)
{
	size_t waiting = 0;
	int err;

	l->f = facts;
	identify(l);
	make_row_head(l);
	err = l->row_head.failed ? no_memory() : sb_warehouse_sender_begin_run(&l->sender, l->job, l->run);
	if (err)
		return err;
	load_stages(l);
	load_steps(l, facts);
	err = load_collectives(l);
	if (!err && model)
		err = load_samples(l, model);
	if (!err && model)
		load_kernels(l, model);
	if (err)
		return err; /* without its row in `runs` it counts for nothing */
	load_run(l);
	for (int t = 0; t < SB_ROWS_TABLES; t++)
		waiting += l->sender.filling.rows[t].size;
	return waiting > BATCH_BYTES ? sb_warehouse_sender_send(&l->sender) : 0;
}

int sb_warehouse_end(struct sb_warehouse_loader *l, struct sb_warehouse_load *out_load)
{
	int err = l && out_load ? sb_warehouse_sender_send(&l->sender) : 0;

	if (!l)
		return 0;
	if (!err)
		err = sb_warehouse_sender_wait(&l->sender);
	if (!err && out_load) {
		l->sum.bytes = l->sender.bytes;
		l->sum.retries = l->sender.retries;
		*out_load = l->sum;
	}
	sb_warehouse_sender_done(&l->sender);
	sb_buf_done(&l->row_head);
	free(l->seen);
	free(l);
	return err;
}
