/* Descriptors that the program cannot close or reuse by accident. */
#include "record/descriptor.h"

#include "record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
enum { UNSHARE = 2 }; /* CLOSE_RANGE_UNSHARE, of Linux 5.9 */
/* Past what select() and loops up to 1024 reach. */
enum { HIGH = 1100, LOWEST = 3 };

bool sb_descriptor_refuse_table;

/* The names are collected first: closing changes the folder that is being read. */
static bool close_all(void)
{
	enum { AT_ONCE = 512 };
	int numbers[AT_ONCE], count;

	do {
		DIR *folder = opendir("/proc/thread-self/fd");
		struct dirent *entry;

		if (!folder)
			return false;
		count = 0;
		while (count < AT_ONCE && (entry = readdir(folder)))
			if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
				numbers[count++] = atoi(entry->d_name);
		closedir(folder);
		for (int i = 0; i < count; i++)
			close(numbers[i]);
	} while (count);
	return true;
}

/* Asks the recorder, not a thread-local variable: the thread may run another copy of the library. */
static pid_t own_table(void)
{
	pid_t self = (pid_t)syscall(SYS_gettid);

	for (uint32_t i = 0; i < SB_TABLES_MAX; i++)
		if (atomic_load_explicit(&REC->own_tables[i], memory_order_relaxed) == self)
			return self;
	return 0;
}

static bool unshare_table(void)
{
	if (!syscall(SYS_close_range, 0u, ~0u, UNSHARE))
		return true;
	/* Copies of the program's pipes must not stay open here: their readers wait for the end. */
	return !unshare(CLONE_FILES) && close_all();
}

bool sb_descriptor_table_make(void)
{
	pid_t self = (pid_t)syscall(SYS_gettid);

	if (sb_descriptor_refuse_table)
		return false;
	if (own_table())
		return true;
	for (uint32_t i = 0; i < SB_TABLES_MAX; i++) {
		pid_t none = 0;

		if (!atomic_compare_exchange_strong(&REC->own_tables[i], &none, self))
			continue;
		if (unshare_table())
			return true;
		atomic_store(&REC->own_tables[i], 0);
		return false;
	}
	return false;
}

void sb_descriptor_table_leave(void)
{
	pid_t self = (pid_t)syscall(SYS_gettid);

	for (uint32_t i = 0; i < SB_TABLES_MAX; i++) {
		pid_t there = self;

		atomic_compare_exchange_strong(&REC->own_tables[i], &there, 0);
	}
}

static int lowest_number(void)
{
	struct rlimit limit;

	if (own_table())
		return LOWEST;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= HIGH + 100)
		return HIGH;
	return limit.rlim_cur > 16 ? (int)limit.rlim_cur * 3 / 4 : LOWEST;
}

static bool is_same(int fd, const struct stat *as)
{
	struct stat now;

	return !fstat(fd, &now) && now.st_dev == as->st_dev && now.st_ino == as->st_ino;
}

bool sb_descriptor_adopt(struct sb_descriptor *out, int fd)
{
	struct stat s;
	int high, why;

	if (fd < 0)
		return false;
	if (fstat(fd, &s))
		return false;
	high = fcntl(fd, F_DUPFD_CLOEXEC, lowest_number());
	if (high < 0) /* a full table still has room lower down, but never for 0 to 2 */
		high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST);
	why = errno == EINVAL ? EMFILE : errno; /* the limit is below LOWEST */
	if (is_same(fd, &s))
		close(fd);
	errno = why;
	if (high < 0)
		return false;
	*out = (struct sb_descriptor){
		.number = high, .owner = own_table(), .device = s.st_dev, .inode = s.st_ino
	};
	if (sb_descriptor_is_ours(out))
		return true;
	*out = (struct sb_descriptor){ 0 };
	errno = EBADF;
	return false;
}

/* In the program's table the number is low until it has been moved: another thread may
 * close it at once and open a file of its own. What is not the path's is not ours. */
bool sb_descriptor_open(struct sb_descriptor *out, const char *path, int flags, mode_t mode)
{
	int fd = open(path, flags | O_CLOEXEC, mode);
	struct stat meant;

	if (fd < 0)
		return false;
	if (!own_table() && (stat(path, &meant) || !is_same(fd, &meant))) {
		errno = EBADF;
		return false;
	}
	return sb_descriptor_adopt(out, fd);
}

bool sb_descriptor_in_reach(const struct sb_descriptor *d)
{
	return d->number && d->owner == own_table();
}

bool sb_descriptor_is_ours(const struct sb_descriptor *d)
{
	struct stat as = { .st_dev = d->device, .st_ino = d->inode };

	return sb_descriptor_in_reach(d) && (d->owner || is_same(d->number, &as));
}

void sb_descriptor_close(struct sb_descriptor *d)
{
	if (sb_descriptor_is_ours(d))
		close(d->number);
	*d = (struct sb_descriptor){ 0 };
}

DIR *sb_descriptor_opendir(struct sb_descriptor *out, const char *path)
{
	DIR *folder;

	if (!sb_descriptor_open(out, path, O_RDONLY | O_DIRECTORY, 0))
		return NULL;
	folder = fdopendir(out->number);
	if (!folder)
		sb_descriptor_close(out);
	return folder;
}

void sb_descriptor_closedir(struct sb_descriptor *d, DIR *folder)
{
	if (folder && sb_descriptor_is_ours(d)) /* else its memory is left: closedir() would close */
		closedir(folder);
	*d = (struct sb_descriptor){ 0 };
}

/* ---- what is the program's ------------------------------------------------- */

static int copy_of(int number)
{
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0), copy;

	if (process < 0)
		return -1;
	copy = (int)syscall(SYS_pidfd_getfd, process, number, 0);
	close(process);
	return copy;
}

int sb_descriptor_borrow(int number)
{
	return own_table() ? copy_of(number) : number;
}

void sb_descriptor_give_back(int borrowed, int number)
{
	if (borrowed >= 0 && own_table())
		close(borrowed);
}

/* ---- standard error -------------------------------------------------------- */

static struct stat stderr_found;
static bool stderr_was_open;

void sb_descriptor_remember_stderr(void)
{
	stderr_was_open = !fstat(STDERR_FILENO, &stderr_found);
}

bool sb_descriptor_stderr_is_safe(int fd)
{
	struct stat now;

	if (!stderr_was_open || fstat(fd, &now))
		return false;
	if (now.st_dev == stderr_found.st_dev && now.st_ino == stderr_found.st_ino)
		return true;
	return S_ISCHR(now.st_mode) || S_ISFIFO(now.st_mode); /* redirected; no file of the program's */
}

bool sb_descriptor_write(int fd, const void *bytes, size_t size)
{
	static const struct timespec at_once;
	sigset_t both, before, waiting, sent;
	size_t done = 0;
	ssize_t written = 1;
	int error;

	sigemptyset(&both);
	sigaddset(&both, SIGPIPE);
	sigaddset(&both, SIGXFSZ);
	sigpending(&waiting);
	if (pthread_sigmask(SIG_BLOCK, &both, &before))
		return false;
	while (done < size && (written = write(fd, (const char *)bytes + done, size - done)) > 0)
		done += (size_t)written;
	error = errno;
	if (written < 0 && (error == EPIPE || error == EFBIG)) {
		int number = error == EPIPE ? SIGPIPE : SIGXFSZ;

		sigemptyset(&sent);
		sigaddset(&sent, number);
		while (!sigismember(&waiting, number) && sigtimedwait(&sent, NULL, &at_once) < 0 &&
			errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return done == size;
}
