/* Threads without Python that use the CPU (decoders, OpenMP, the CUDA driver's), by their name
 * in the system. No GIL: it only reads /proc. */
#include "sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 512, WORTH_MS = 10 };

static struct {
	uint32_t tid;
	uint32_t name; /* id in the recording; 0: none yet */
	uint64_t cpu_ns;
	bool seen;
} threads[THREADS];

struct usage {
	char name[17];
	uint64_t cpu_ns;
};

static bool read_stat(int folder, const char *tid, char *out, size_t size)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%.20s/stat", tid);
	fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* "77 (name) S ..." : the name may hold anything; user and system time are fields 14, 15. */
static bool parse_stat(const char *stat, struct usage *out)
{
	const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
	unsigned long user, system;

	if (!open || !close ||
		sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) !=
			2)
		return false;
	snprintf(out->name, sizeof out->name, "%.*s", (int)(close - open - 1), open + 1);
	out->cpu_ns = (uint64_t)(user + system) * 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	return true;
}

static uint32_t slot_of(uint32_t tid)
{
	uint32_t free_at = THREADS;

	for (uint32_t i = 0; i < THREADS; i++) {
		if (threads[i].tid == tid)
			return i;
		if (!threads[i].tid && free_at == THREADS)
			free_at = i;
	}
	return free_at;
}

static void take(uint32_t tid, const struct usage *usage)
{
	uint32_t at = slot_of(tid);
	uint64_t used_ns;

	if (at == THREADS)
		return;
	used_ns = threads[at].tid && usage->cpu_ns > threads[at].cpu_ns ? usage->cpu_ns - threads[at].cpu_ns
									: 0;
	threads[at].seen = true;
	if (threads[at].tid && used_ns < WORTH_MS * 1000000ull)
		return; /* adds up until it is worth a record */
	threads[at].tid = tid;
	threads[at].cpu_ns = usage->cpu_ns;
	if (!used_ns)
		return;
	if (!threads[at].name)
		threads[at].name = strobe_name(usage->name, NULL);
	strobe_stack_sample(&(struct strobe_sample){ .thread_id = tid, .native = 1, .weight_ns = used_ns },
		&(struct strobe_frame){ threads[at].name, 0 }, 1);
}

static void forget_ended(void)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		if (!threads[i].seen)
			memset(&threads[i], 0, sizeof threads[i]);
		threads[i].seen = false;
	}
}

void native_threads_look(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	struct usage usage;
	char stat[512];

	while (folder && (entry = readdir(folder))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!tid || stacks_has_thread(tid) ||
			!read_stat(dirfd(folder), entry->d_name, stat, sizeof stat) ||
			!parse_stat(stat, &usage) || !strncmp(usage.name, "strobe-", 7))
			continue;
		take(tid, &usage);
	}
	if (folder)
		closedir(folder);
	forget_ended();
}

void native_threads_forget(void)
{
	memset(threads, 0, sizeof threads);
}
