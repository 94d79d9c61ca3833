/* Starts, paces and ends strobe's own threads. */
#include "monitor/thread.h"

#include "base/numerals.h"
#include "monitor/source.h"
#include "record/born.h"
#include "record/put.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STACK_BYTES = 512 << 10 };

static struct timespec as_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
}

static void tell_cpu(struct sb_thread *t)
{
	struct timespec used;
	uint64_t ns;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used))
		return;
	ns = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
	sb_session_add_own_cpu(ns - t->cpu_ns);
	t->cpu_ns = ns;
}

static void *entry(void *argument)
{
	struct sb_thread *t = argument;

	sb_numerals_enter(); /* /proc has points, whatever the program's locale has */
	t->run(t);
	tell_cpu(t);
	pthread_mutex_lock(&t->lock);
	t->done = true;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

bool sb_thread_start(struct sb_thread *t, const char *name, void (*run)(struct sb_thread *), void *owner)
{
	pthread_attr_t attr;
	pthread_condattr_t clock;
	sigset_t all, before;
	int err;

	memset(t, 0, sizeof *t);
	t->owner = owner;
	t->run = run;
	snprintf(t->name, sizeof t->name, "%s", name);
	t->next_ns = sb_mono_ns();
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &clock);
	pthread_condattr_destroy(&clock);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* a fault on the recording is handled, see record/fault.h */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = sb_thread_born(&t->id, &attr, t->name, entry, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return !err;
}

bool sb_thread_stopping(struct sb_thread *t)
{
	bool stop;

	pthread_mutex_lock(&t->lock);
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	return stop;
}

void sb_thread_wait(struct sb_thread *t, uint64_t interval_ns)
{
	uint64_t now_ns = sb_mono_ns();
	struct timespec until;

	tell_cpu(t);
	t->next_ns += interval_ns;
	if (t->next_ns <= now_ns) /* late: what was missed is not made up for */
		t->next_ns = now_ns + interval_ns - (now_ns - t->next_ns) % interval_ns;
	until = as_timespec(t->next_ns);
	pthread_mutex_lock(&t->lock);
	while (!t->stop && !t->poked && pthread_cond_timedwait(&t->wake, &t->lock, &until) == 0)
		continue;
	if (t->poked) /* the next wait is from here */
		t->next_ns = sb_mono_ns();
	t->poked = false;
	pthread_mutex_unlock(&t->lock);
}

void sb_thread_poke(struct sb_thread *t)
{
	pthread_mutex_lock(&t->lock);
	t->poked = true;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

bool sb_thread_stop(struct sb_thread *t, uint64_t patience_ns)
{
	struct timespec until = as_timespec(sb_mono_ns() + patience_ns);
	bool done;

	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->wake);
	while (!t->done && pthread_cond_timedwait(&t->wake, &t->lock, &until) == 0)
		continue;
	done = t->done;
	pthread_mutex_unlock(&t->lock);
	if (done)
		pthread_join(t->id, NULL);
	else
		pthread_detach(t->id);
	return done;
}
