/* usage: manylive N ZONES: forks N workers that start at one moment, record ZONES zones each
 * and then live on until all have. Prints what the recordings in the run's folder take at that moment. */
#include "strobe.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In place of libc's, also for strobe: a disk so slow that all others get a turn meanwhile. */
__attribute__((visibility("default"))) int fallocate(int fd, int mode, off_t from, off_t size)
{
	for (int i = 0; i < 200; i++)
		sched_yield();
	return (int)syscall(SYS_fallocate, fd, mode, from, size);
}

static void work(int zones, int start, int done, int end)
{
	char byte = 0;

	if (read(start, &byte, 1) < 0)
		_exit(1);
	for (int i = 0; i < zones; i++) {
		STROBE_ZONE_BEGIN("job");
		STROBE_ZONE_END();
	}
	if (write(done, &byte, 1) != 1 || read(end, &byte, 1) < 0)
		_exit(1);
	exit(0);
}

/* The file that a pointer names. */
static long long spool_bytes(DIR *folder, const char *pointer)
{
	int fd = openat(dirfd(folder), pointer, O_RDONLY);
	char path[4096];
	ssize_t n = fd < 0 ? -1 : read(fd, path, sizeof path - 1);
	struct stat st;

	if (fd >= 0)
		close(fd);
	path[n > 0 ? n : 0] = 0;
	return stat(path, &st) ? 0 : (long long)st.st_size;
}

static long long bytes_in(const char *path)
{
	DIR *folder = path ? opendir(path) : NULL;
	struct dirent *entry;
	struct stat st;
	long long sum = 0;

	while (folder && (entry = readdir(folder)))
		if (strstr(entry->d_name, ".strobe") && !fstatat(dirfd(folder), entry->d_name, &st, 0))
			sum += strstr(entry->d_name, ".spool") ? spool_bytes(folder, entry->d_name)
							       : st.st_size;
	if (folder)
		closedir(folder);
	return sum;
}

int main(int count, char **values)
{
	int workers = count > 1 ? atoi(values[1]) : 1, zones = count > 2 ? atoi(values[2]) : 1;
	int start[2], done[2], end[2];
	char byte;

	if (pipe(start) || pipe(done) || pipe(end))
		return 1;
	STROBE_ZONE_BEGIN("parent");
	for (int i = 0; i < workers; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid)
			continue;
		close(start[1]);
		close(end[1]);
		work(zones, start[0], done[1], end[0]);
	}
	close(start[1]);
	for (int i = 0; i < workers; i++)
		if (read(done[0], &byte, 1) != 1)
			return 1;
	printf("%lld\n", bytes_in(getenv("STROBE_RUN_DIR")));
	fflush(stdout);
	close(end[1]);
	while (wait(NULL) > 0)
		;
	STROBE_ZONE_END();
	return 0;
}
