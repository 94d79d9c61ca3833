/* To be preloaded: a system that does not know MADV_WIPEONFORK, and below HARM_UNMAPPABLE one
 * whose files cannot be mapped or reserved. HARM_LOG gets the names of calls that make files last.
 * The system's clock goes by HARM_STEP seconds once the file HARM_STEPPED is there. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int is_unmappable(int fd)
{
	const char *folder = getenv("HARM_UNMAPPABLE");
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
	n = folder ? readlink(link, path, sizeof path - 1) : -1;
	if (n < 0)
		return 0;
	path[n] = 0;
	return !strncmp(path, folder, strlen(folder));
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	static void *(*real)(void *, size_t, int, int, int, off_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "mmap");
	if (fd >= 0 && flags & MAP_SHARED && protection & PROT_WRITE && is_unmappable(fd)) {
		errno = ENODEV;
		return MAP_FAILED;
	}
	return real(at, size, protection, flags, fd, offset);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
	static int (*real)(int, int, off_t, off_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fallocate");
	if (is_unmappable(fd)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return real(fd, mode, offset, size);
}

static void note(const char *what)
{
	const char *path = getenv("HARM_LOG");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s\n", what);
	close(fd);
}

int fsync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

	note("fsync");
	return real(fd);
}

int renameat(int from, const char *old, int to, const char *new)
{
	int (*real)(int, const char *, int,
		const char *) = (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");

	note("rename");
	return real(from, old, to, new);
}

int rename(const char *old, const char *new)
{
	int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(
		RTLD_NEXT, "rename");

	note("rename");
	return real(old, new);
}

int unlinkat(int folder, const char *name, int flags)
{
	int (*real)(int, const char *, int) = (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");

	if (!strncmp(name, "run.", 4))
		note("unlink");
	return real(folder, name, flags);
}

int madvise(void *at, size_t size, int advice)
{
	int (*real)(void *, size_t, int) = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");

	if (getenv("HARM_HEEDLESS")) /* as an emulator does: no advice is followed, none refused */
		return 0;
	if (advice == 18 && getenv("HARM_UNWIPED")) {
		errno = EINVAL;
		return -1;
	}
	return real(at, size, advice);
}

static time_t step(void)
{
	const char *path = getenv("HARM_STEPPED");

	return path && !access(path, F_OK) ? atol(getenv("HARM_STEP")) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int failed = (int)syscall(SYS_clock_gettime, clock, out);

	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		out->tv_sec += step();
	return failed;
}

int gettimeofday(struct timeval *out, void *zone)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*out = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
