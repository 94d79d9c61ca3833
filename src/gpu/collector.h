/*
 * A thread that reads what CUPTI delivers, with a lock and a bell that wakes it. The trace has one,
 * the sampled counters have one.
 */
#ifndef SB_GPU_COLLECTOR_H
#define SB_GPU_COLLECTOR_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sb_collector {
	const char *name; /* of the thread */
	void (*run)(void); /* returns once quit is set */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* what the lock guards has changed; the owner of the collector signals it */
	pthread_t thread;
	sem_t bell;
	bool started;
	bool ending; /* told to quit, not yet joined: its thread, bell and quit are still its own */
	uint32_t stopped_epoch; /* the session that stopped it last */
	_Atomic bool quit;
};

/* In static storage, for all sessions of the process. */
#define SB_COLLECTOR(thread_name, function)                                              \
	{                                                                                \
		.name = thread_name, .run = function, .lock = PTHREAD_MUTEX_INITIALIZER, \
		.changed = PTHREAD_COND_INITIALIZER                                      \
	}

/* Takes the lock; its holder cannot be cancelled. Returns what release takes. */
int sb_collector_hold(struct sb_collector *c);
void sb_collector_release(struct sb_collector *c, int cancel); /* the lock */

/* Call with the lock held. True if the thread runs, also if it did before; false: none could be made, or the session is over. */
bool sb_collector_start(struct sb_collector *c);
/* Call with the lock held. True: the session is ending and has stopped the thread, so that nothing that began now would end. */
bool sb_collector_is_over(const struct sb_collector *c);
void sb_collector_stop(struct sb_collector *c); /* returns when the thread has ended */
bool sb_collector_is_self(const struct sb_collector *c); /* the caller is this thread */
bool sb_collector_is_here(void); /* the caller is one of these threads */

void sb_collector_ring(struct sb_collector *c); /* from any thread, and in a signal handler */
void sb_collector_sleep(struct sb_collector *c, bool until_rung); /* false: for a short time at the most */

void sb_collector_forget(struct sb_collector *c); /* in a forked child: the thread is the parent's */

#endif
