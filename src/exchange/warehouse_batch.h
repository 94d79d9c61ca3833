/* Rows on their way into the warehouse: a batch is sent in a thread of its own while the next one is filled. */
#ifndef SB_EXCHANGE_WAREHOUSE_BATCH_H
#define SB_EXCHANGE_WAREHOUSE_BATCH_H

#include "base/buf.h"
#include "base/vec.h"
#include "exchange/warehouse.h"

#include <pthread.h>

/* In the order they are sent: a row of `runs` makes the others count, so it goes when they have arrived. */
enum sb_warehouse_rows {
	SB_ROWS_STAGES,
	SB_ROWS_STEPS,
	SB_ROWS_SAMPLES,
	SB_ROWS_KERNELS,
	SB_ROWS_COLLECTIVES,
	SB_ROWS_RUNS,
	SB_ROWS_TABLES
};

struct sb_warehouse_batch {
	struct sb_buf rows[SB_ROWS_TABLES]; /* RowBinary */
	struct sb_vec runs; /* whose rows they are, as they were added */
};

/* Zeroed but for w. */
struct sb_warehouse_sender {
	const struct sb_warehouse *w;
	struct sb_warehouse_batch filling; /* rows are added here */
	/* of the sending thread while it runs */
	struct sb_warehouse_batch sending;
	struct sb_buf sorted;
	uint64_t bytes, retries;
	int err;
	char message[512]; /* of err: messages belong to their thread */
	pthread_t thread;
	bool running;
};

/* The rows that follow are of this run. */
int sb_warehouse_sender_begin_run(struct sb_warehouse_sender *s, const char *job, const char *run);
/* Sends what is filled, once the batch before has arrived, and returns at once; the error of that one, or 0. */
int sb_warehouse_sender_send(struct sb_warehouse_sender *s);
/* Waits for the batch on its way; its error, or 0. Then bytes and retries may be read. */
int sb_warehouse_sender_wait(struct sb_warehouse_sender *s);
/* Waits, and throws away what was not sent. */
void sb_warehouse_sender_done(struct sb_warehouse_sender *s);

#endif
