/* The one lock of a stand-in, whole in a forked child, and whether its calls are cancellation points, as the real
 * library's are. */
#ifndef FAKE_LOCK_H
#define FAKE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool cancellable;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void loaded(void)
{
	cancellable = getenv("FAKE_CANCELLABLE") != NULL;
	pthread_atfork(before_fork, after_fork, after_fork);
}

#endif
