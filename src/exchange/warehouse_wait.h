/* A question to the warehouse that has no answer yet. For warehouse.c; a program says what is to happen then. */
#ifndef SB_EXCHANGE_WAREHOUSE_WAIT_H
#define SB_EXCHANGE_WAREHOUSE_WAIT_H

#include "exchange/warehouse.h"

#include <pthread.h>
#include <stdbool.h>

/* Called once, from another thread, when a question has no answer after two seconds. */
typedef void sb_warehouse_waits(const struct sb_warehouse *w);
void sb_warehouse_on_wait(sb_warehouse_waits *waits);

struct sb_warehouse_wait {
	const struct sb_warehouse *warehouse;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool watched, answered;
};

void sb_warehouse_wait_begin(struct sb_warehouse_wait *wait, const struct sb_warehouse *w);
void sb_warehouse_wait_end(struct sb_warehouse_wait *wait);

#endif
