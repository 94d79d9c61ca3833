/* Starting, ringing and ending of the thread. What it collects is its owner's business. */
#include "gpu/collector.h"

#include "record/born.h"
#include "record/cancel.h"
#include "record/fork.h"
#include "record/put.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define LOOK_NS 50000000ull /* for CUDA to appear, for buffers and samples to read */

/* A forked child may have been born while another thread held the lock. */
int sb_collector_hold(struct sb_collector *c)
{
	int cancel = sb_cancel_off();

	sb_fork_settle();
	pthread_mutex_lock(&c->lock);
	return cancel;
}

void sb_collector_release(struct sb_collector *c, int cancel)
{
	pthread_mutex_unlock(&c->lock);
	sb_cancel_restore(cancel);
}

void sb_collector_ring(struct sb_collector *c)
{
	sem_post(&c->bell);
}

void sb_collector_sleep(struct sb_collector *c, bool until_rung)
{
	struct timespec t;
	uint64_t ns;

	if (until_rung) {
		while (sem_wait(&c->bell) && errno == EINTR)
			;
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + LOOK_NS;
	t = (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	while (sem_clockwait(&c->bell, CLOCK_MONOTONIC, &t) && errno == EINTR)
		;
}

static __thread bool is_here __attribute__((tls_model("initial-exec")));

bool sb_collector_is_here(void)
{
	return is_here;
}

static void *run(void *self)
{
	const struct sb_collector *c = self;
	struct timespec cpu;

	is_here = true;
	c->run();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	sb_session_add_own_cpu((uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec);
	return NULL;
}

bool sb_collector_is_over(const struct sb_collector *c)
{
	return c->stopped_epoch == sb_session_epoch();
}

bool sb_collector_start(struct sb_collector *c)
{
	sigset_t all, before;

	if (c->started || c->ending || sb_collector_is_over(c))
		return c->started;
	sem_init(&c->bell, 0, 0);
	atomic_store(&c->quit, false);
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* a fault on the recording is handled, see record/fault.h */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	c->started = !sb_thread_born(&c->thread, NULL, c->name, run, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return c->started;
}

void sb_collector_stop(struct sb_collector *c)
{
	int cancel = sb_collector_hold(c);
	bool join = c->started;

	c->started = false;
	c->stopped_epoch = sb_session_epoch();
	c->ending |= join;
	atomic_store(&c->quit, true);
	if (join)
		sb_collector_ring(c);
	sb_collector_release(c, cancel);
	if (!join)
		return;
	pthread_join(c->thread, NULL);
	cancel = sb_collector_hold(c);
	sem_destroy(&c->bell);
	c->ending = false;
	sb_collector_release(c, cancel);
}

bool sb_collector_is_self(const struct sb_collector *c)
{
	return pthread_equal(pthread_self(), c->thread);
}

void sb_collector_forget(struct sb_collector *c)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memcpy(&c->lock, &fresh, sizeof fresh);
	pthread_cond_init(&c->changed, NULL);
	c->started = c->ending = false;
	atomic_store(&c->quit, false);
}
