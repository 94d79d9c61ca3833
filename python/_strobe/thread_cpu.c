/* CPU time that a thread used since it was looked at last. Under the GIL. */
#include "sampler.h"

#include <string.h>
#include <time.h>

enum { SLOTS = 512, TRIES = 16 };

static struct {
	uint32_t tid;
	uint64_t cpu_ns;
} seen[SLOTS];

/* The kernel's name of a thread's CPU clock; pthread_getcpuclockid gives it for threads of pthreads alone. */
static clockid_t clock_of(uint32_t tid)
{
	return (clockid_t)((~tid << 3) | 6);
}

bool thread_cpu_since(uint32_t tid, uint64_t *out_ns)
{
	struct timespec now;
	uint64_t cpu_ns, before;
	uint32_t at = tid % SLOTS;
	bool known;

	if (clock_gettime(clock_of(tid), &now))
		return false;
	cpu_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (int i = 0; i < TRIES && seen[at].tid && seen[at].tid != tid; i++)
		at = (at + 1) % SLOTS;
	known = seen[at].tid == tid;
	before = seen[at].cpu_ns;
	seen[at].tid = tid;
	seen[at].cpu_ns = cpu_ns;
	*out_ns = cpu_ns > before ? cpu_ns - before : 0;
	return known;
}

void thread_cpu_forget(void)
{
	memset(seen, 0, sizeof seen);
}
