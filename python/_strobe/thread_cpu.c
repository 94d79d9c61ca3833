/* CPU time that a thread used since it was looked at last. Under the GIL. */
#include "sampler.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

/* False: there is no such thread any more. */
static bool read_clock(uint32_t tid, uint64_t *out_ns)
{
	struct timespec now;

	if (clock_gettime(clock_of(tid), &now))
		return false;
	*out_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return true;
}

/* The thread's slot, or the one that it may take. */
static uint32_t slot_of(uint32_t tid)
{
	uint32_t at = tid % SLOTS;

	for (int i = 0; i < TRIES && seen[at].tid && seen[at].tid != tid; i++)
		at = (at + 1) % SLOTS;
	return at;
}

bool thread_cpu_since(uint32_t tid, uint64_t *out_ns)
{
	uint32_t at = slot_of(tid);
	uint64_t cpu_ns, before = seen[at].cpu_ns;
	bool known = seen[at].tid == tid;

	if (!read_clock(tid, &cpu_ns))
		return false;
	seen[at].tid = tid;
	seen[at].cpu_ns = cpu_ns;
	*out_ns = cpu_ns > before ? cpu_ns - before : 0;
	return known;
}

/* A thread that wants the GIL waits in turns of a few milliseconds: at a futex, with a timeout. */
static bool is_a_turn(const char *text)
{
	unsigned long long number, address, operation, value, timeout;

	return sscanf(text, "%llu %llx %llx %llx %llx", &number, &address, &operation, &value, &timeout) ==
		       5 &&
	       number == SYS_futex && timeout;
}

enum thread_state thread_state_of(uint32_t tid)
{
	char path[64], text[256];
	ssize_t size;
	int fd;

	snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return THREAD_UNKNOWN;
	size = read(fd, text, sizeof text - 1);
	close(fd);
	if (size <= 0)
		return THREAD_UNKNOWN;
	text[size] = 0;
	if (!strncmp(text, "running", 7))
		return THREAD_RUNS;
	return is_a_turn(text) ? THREAD_WAITS_FOR_TURN : THREAD_WAITS;
}

void thread_cpu_forget(void)
{
	memset(seen, 0, sizeof seen);
}
