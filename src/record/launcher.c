/* Looks at the processes above this one, in /proc. */
#include "record/launcher.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ABOVE_MAX = 32 };

static int open_of(int pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* An environment can be of any length, so it is read in pieces. One that cannot be read belongs to another
 * user, so it is not a shell in between. */
static bool has_entry(int pid, const char *entry)
{
	char piece[1024];
	size_t same = 0; /* bytes of the entry seen; SIZE_MAX: this one is another */
	ssize_t n;
	bool found = false;
	int fd = open_of(pid, "environ");

	while (fd >= 0 && !found && (n = read(fd, piece, sizeof piece)) > 0)
		for (ssize_t i = 0; i < n && !found; i++) {
			if (!piece[i])
				found = same != (size_t)-1 && !entry[same];
			if (!piece[i])
				same = 0;
			else
				same = same != (size_t)-1 && entry[same] == piece[i] ? same + 1 : (size_t)-1;
		}
	if (fd >= 0)
		close(fd);
	return found;
}

/* The name in the line may have spaces and brackets: what counts comes after the last. */
static bool read_stat(int pid, int *out_parent, unsigned long long *out_start)
{
	char line[1024];
	const char *after;
	int fd = open_of(pid, "stat");
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = 0;
	after = strrchr(line, ')');
	return after &&
	       sscanf(after + 1,
		       " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		       out_parent, out_start) == 2;
}

/* A part of a script that a shell has forked off: the script itself is above it. */
static bool is_part_of(int pid, int parent)
{
	char own[2048], above[sizeof own];
	int fd = open_of(pid, "cmdline"), fd_above = open_of(parent, "cmdline");
	ssize_t n = fd < 0 ? -1 : read(fd, own, sizeof own);
	ssize_t m = fd_above < 0 ? -1 : read(fd_above, above, sizeof above);

	if (fd >= 0)
		close(fd);
	if (fd_above >= 0)
		close(fd_above);
	return n > 0 && n == m && !memcmp(own, above, (size_t)n);
}

/* The boot's id, and the name space that numbers are valid in: a container has its own. */
static void name_machine(char *out, size_t size)
{
	char boot[16] = "", space[40] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, sizeof boot - 1), m;

	if (fd >= 0)
		close(fd);
	boot[n > 0 ? n : 0] = 0;
	m = readlink("/proc/self/ns/pid", space, sizeof space - 1);
	space[m > 0 ? m : 0] = 0;
	out[0] = 0;
	if (n > 0 && m > 0)
		snprintf(out, size, "%s %s", boot, space);
}

bool sb_launcher_find(const char *entry, struct sb_launcher *out_launcher)
{
	unsigned long long start;
	int pid = getppid(), parent;

	for (int i = 0; i < ABOVE_MAX && pid > 0 && read_stat(pid, &parent, &start); i++, pid = parent) {
		struct sb_launcher found;

		if (parent > 0 && (has_entry(pid, entry) || is_part_of(pid, parent)))
			continue;
		name_machine(found.machine, sizeof found.machine);
		snprintf(found.process, sizeof found.process, "%d %llu", pid, start);
		*out_launcher = found;
		return found.machine[0];
	}
	return false;
}
