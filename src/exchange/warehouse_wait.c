/* Telling that a warehouse has not answered yet: from a thread of its own, as the answer may come through another library. */
#include "exchange/warehouse_wait.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#define SILENCE_S 2

static sb_warehouse_waits *tell;
static atomic_bool told; /* once is enough */

void sb_warehouse_on_wait(sb_warehouse_waits *waits)
{
	tell = waits;
}

static void *watch(void *argument)
{
	struct sb_warehouse_wait *wait = argument;
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SILENCE_S;
	pthread_mutex_lock(&wait->lock);
	while (!wait->answered && err != ETIMEDOUT)
		err = pthread_cond_timedwait(&wait->changed, &wait->lock, &until);
	if (!wait->answered) {
		told = true;
		tell(wait->warehouse);
	}
	pthread_mutex_unlock(&wait->lock);
	return NULL;
}

static void forget(struct sb_warehouse_wait *wait)
{
	pthread_cond_destroy(&wait->changed);
	pthread_mutex_destroy(&wait->lock);
}

void sb_warehouse_wait_begin(struct sb_warehouse_wait *wait, const struct sb_warehouse *w)
{
	pthread_condattr_t attributes;

	*wait = (struct sb_warehouse_wait){ .warehouse = w };
	if (!tell || told)
		return;
	pthread_mutex_init(&wait->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&wait->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	wait->watched = !pthread_create(&wait->thread, NULL, watch, wait);
	if (!wait->watched)
		forget(wait);
}

void sb_warehouse_wait_end(struct sb_warehouse_wait *wait)
{
	if (!wait->watched)
		return;
	pthread_mutex_lock(&wait->lock);
	wait->answered = true;
	pthread_cond_signal(&wait->changed);
	pthread_mutex_unlock(&wait->lock);
	pthread_join(wait->thread, NULL);
	forget(wait);
}
