/* See warehouse_batch.h. Rows go in the order of the tables' keys: the server sorts each batch that is not, and that is a
 * third of its work. Nothing depends on the order. */
#include "exchange/warehouse_batch.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[SB_ROWS_TABLES] = { "stages", "steps", "samples", "gpu_kernels", "meetings",
	"runs" };

struct run_rows {
	char *key; /* job and run, which all the tables' keys begin with */
	size_t number; /* as it was added */
	size_t at[SB_ROWS_TABLES], size[SB_ROWS_TABLES];
};

static int no_memory(void)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the warehouse's rows");
}

static void clear(struct sb_warehouse_batch *b)
{
	struct run_rows *runs = b->runs.items;

	for (size_t i = 0; i < b->runs.count; i++)
		free(runs[i].key);
	b->runs.count = 0;
	for (int t = 0; t < SB_ROWS_TABLES; t++)
		sb_buf_clear(&b->rows[t]);
}

int sb_warehouse_sender_begin_run(struct sb_warehouse_sender *s, const char *job, const char *run)
{
	struct sb_warehouse_batch *b = &s->filling;
	struct run_rows *r = sb_vec_push(&b->runs, sizeof *r);

	if (!r)
		return no_memory();
	r->number = b->runs.count;
	for (int t = 0; t < SB_ROWS_TABLES; t++)
		r->at[t] = b->rows[t].size;
	if (asprintf(&r->key, "%s\1%s", job, run) < 0) {
		b->runs.count--;
		return no_memory();
	}
	return 0;
}

/* ---- in the order of the keys ---- */

static int by_key(const void *a, const void *b)
{
	const struct run_rows *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order ? order : x->number < y->number ? -1 : 1; /* one that comes twice: as it came */
}

static void sort_runs(struct sb_warehouse_batch *b)
{
	struct run_rows *runs = b->runs.items;

	for (size_t i = 0; i < b->runs.count; i++)
		for (int t = 0; t < SB_ROWS_TABLES; t++) {
			size_t end = i + 1 < b->runs.count ? runs[i + 1].at[t] : b->rows[t].size;

			runs[i].size[t] = end - runs[i].at[t];
		}
	qsort(runs, b->runs.count, sizeof *runs, by_key);
}

static void put_sorted(const struct sb_warehouse_batch *b, int t, struct sb_buf *out)
{
	const struct run_rows *runs = b->runs.items;

	sb_buf_clear(out);
	for (size_t i = 0; i < b->runs.count; i++)
		sb_buf_add(out, b->rows[t].data + runs[i].at[t], runs[i].size[t]);
}

/* ---- sending ---- */

static int send_table(struct sb_warehouse_sender *s, int t)
{
	char sql[160];

	put_sorted(&s->sending, t, &s->sorted);
	if (s->sorted.failed)
		return no_memory();
	snprintf(sql, sizeof sql, "INSERT INTO %s.%s FORMAT RowBinary", s->w->database, names[t]);
	s->bytes += s->sorted.size;
	return sb_warehouse_query(s->w, sql, s->sorted.data, s->sorted.size, NULL, &s->retries);
}

static void *send_all(void *argument)
{
	struct sb_warehouse_sender *s = argument;
	int err = 0;

	sort_runs(&s->sending);
	for (int t = 0; t < SB_ROWS_TABLES && !err; t++)
		if (s->sending.rows[t].size)
			err = send_table(s, t);
	clear(&s->sending);
	s->err = err;
	if (err)
		snprintf(s->message, sizeof s->message, "%s", sb_error_message());
	return NULL;
}

int sb_warehouse_sender_wait(struct sb_warehouse_sender *s)
{
	int err;

	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
	err = s->err;
	s->err = 0; /* said once */
	/* Of whatever kind: runs that were taken as loaded are not there, and no other run is to blame. */
	return err ? sb_fail(err == STROBE_EPERM ? err : STROBE_EIO, "%s", s->message) : 0;
}

int sb_warehouse_sender_send(struct sb_warehouse_sender *s)
{
	struct sb_warehouse_batch empty;
	int err = sb_warehouse_sender_wait(s);

	for (int t = 0; t < SB_ROWS_TABLES && !err; t++)
		if (s->filling.rows[t].failed)
			err = no_memory();
	if (err || !s->filling.runs.count)
		return err;
	empty = s->sending;
	s->sending = s->filling;
	s->filling = empty;
	s->running = !pthread_create(&s->thread, NULL, send_all, s);
	if (!s->running)
		send_all(s);
	return 0;
}

static void free_batch(struct sb_warehouse_batch *b)
{
	clear(b);
	for (int t = 0; t < SB_ROWS_TABLES; t++)
		sb_buf_done(&b->rows[t]);
	sb_vec_done(&b->runs);
}

void sb_warehouse_sender_done(struct sb_warehouse_sender *s)
{
	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
	free_batch(&s->filling);
	free_batch(&s->sending);
	sb_buf_done(&s->sorted);
}
