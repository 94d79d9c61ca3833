/* A thread of strobe's own: takes no signals, reports its CPU time, sleeps until absolute
 * times, and can be left behind when it hangs. */
#ifndef SB_MONITOR_THREAD_H
#define SB_MONITOR_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sb_thread {
	void *owner;
	void (*run)(struct sb_thread *thread);
	char name[16];
	pthread_t id;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	bool done;
	bool poked;
	uint64_t next_ns;
	uint64_t cpu_ns; /* reported so far */
};

/* Starts run(thread); false: no thread could be made. */
bool sb_thread_start(
	struct sb_thread *thread, const char *name, void (*run)(struct sb_thread *), void *owner);
bool sb_thread_stopping(struct sb_thread *thread); /* true: return soon */
/* Sleeps until the next multiple of the interval, or until stop or poke. */
void sb_thread_wait(struct sb_thread *thread, uint64_t interval_ns);
/* Ends the wait that is under way, or the next one. From any thread. */
void sb_thread_poke(struct sb_thread *thread);
/* Asks it to stop and waits. False: it did not end in time and is left behind. */
bool sb_thread_stop(struct sb_thread *thread, uint64_t patience_ns);

#endif
