/* Adds up a run's recordings by their names and sizes: no shared state that a crash could leave wrong. */
#include "record/run_bytes.h"

#include "format/run_keys.h"
#include "format/spool.h"
#include "record/descriptor.h"
#include "record/recorder.h"
#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Little: a few threads' zones and totals. Steps are whole pages on every machine. */
enum { LEAST_BYTES = 256 * 1024, SMALLEST_STEP = 64 * 1024 };

/* A turn is some 100 us; one who is stopped while it has its turn must not hold up the others. */
enum { TURN_TRIES = 200 };
static const struct timespec turn_pause = { 0, 500 * 1000 };

struct sum {
	uint64_t bytes;
	uint32_t files, empty_files; /* just made: about to take a step */
};

/* "run.4711" + suffix; run.strobe is the tool's own. */
static bool is_named(const char *name, const char *suffix)
{
	size_t size = strlen(name), end = strlen(suffix);

	return size > 4 + end && !strncmp(name, "run.", 4) && !strcmp(name + size - end, suffix);
}

/* 0: no recording of a process. */
static uint64_t recording_bytes(int folder, const char *name)
{
	struct stat st;

	if (is_named(name, ".strobe" SB_SPOOL_SUFFIX))
		return sb_spool_bytes(folder, name);
	if (!is_named(name, ".strobe") || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return (uint64_t)st.st_size;
}

static void add_name(struct sum *sum, int folder, const char *name)
{
	uint64_t bytes = recording_bytes(folder, name);

	sum->bytes += bytes;
	sum->files += bytes > 0;
	sum->empty_files += !bytes &&
			    (is_named(name, ".strobe") || is_named(name, ".strobe" SB_SPOOL_SUFFIX));
}

static struct sum add_up(DIR *folder, const struct sb_descriptor *at)
{
	struct sum sum = { 0, 0, 0 };
	struct dirent *entry;

	rewinddir(folder);
	while (sb_descriptor_is_ours(at) && (entry = readdir(folder)))
		add_name(&sum, at->number, entry->d_name);
	return sum;
}

/* Processes with large recordings leave room for small ones, and all of them for new ones. */
static uint64_t bound_of(uint64_t most_bytes, size_t own_bytes)
{
	if (own_bytes >= LEAST_BYTES)
		return most_bytes / 4 * 3;
	return own_bytes ? most_bytes / 8 * 7 : most_bytes;
}

/* All of them could take a step at this moment, without a turn, and stay within the bound. */
static bool all_may_step(struct sum sum, uint64_t bound, size_t step)
{
	return sum.bytes + ((uint64_t)sum.files + sum.empty_files) * step <= bound;
}

/* False: the tries are used up, others have their turns. A file system without locks has none. */
static bool wait_for_turn(const struct sb_descriptor *at)
{
	for (int i = 0; i < TURN_TRIES && sb_descriptor_is_ours(at); i++) {
		if (!flock(at->number, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
			return true;
		nanosleep(&turn_pause, NULL);
	}
	return false;
}

/* The nearer the bound, the smaller the steps. */
static size_t allowed(struct sum sum, uint64_t bound, size_t step)
{
	uint64_t share;

	if (sum.bytes >= bound)
		return 0;
	share = (bound - sum.bytes) / (2 * (uint64_t)sum.files + 1) / SMALLEST_STEP * SMALLEST_STEP;
	if (share < SMALLEST_STEP)
		share = SMALLEST_STEP;
	return step < share ? step : (size_t)share;
}

size_t sb_run_bytes_claim(
	uint64_t most_bytes, size_t own_bytes, size_t step, void (*reserve)(void *, size_t), void *own)
{
	uint64_t bound = bound_of(most_bytes, own_bytes);
	struct sb_descriptor at;
	DIR *folder = most_bytes ? sb_descriptor_opendir(&at, REC->run_dir) : NULL;
	struct sum sum;
	bool is_my_turn;
	size_t size;

	if (!folder)
		return step;
	sum = add_up(folder, &at);
	if (all_may_step(sum, bound / 2, step)) {
		sb_descriptor_closedir(&at, folder);
		return allowed(sum, bound, step);
	}
	is_my_turn = wait_for_turn(&at);
	if (!is_my_turn)
		step = SMALLEST_STEP;
	sum = add_up(folder, &at);
	size = is_my_turn || all_may_step(sum, bound, step) ? allowed(sum, bound, step) : 0;
	if (size)
		reserve(own, size);
	/* Told, not left to closing: a process forked meanwhile holds the folder open as well. */
	if (sb_descriptor_is_ours(&at))
		flock(at.number, LOCK_UN);
	sb_descriptor_closedir(&at, folder);
	return size;
}

void sb_run_bytes_refused(const char *run_dir)
{
	struct sb_descriptor file;
	char path[1100], line[24];
	int size = snprintf(line, sizeof line, "%ld\n", (long)getpid());

	snprintf(path, sizeof path, "%s/" SB_RUN_REFUSED, run_dir);
	if (!sb_descriptor_open(&file, path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600))
		return;
	/* a disk that is full, too: one process more that is not named */
	sb_descriptor_write(file.number, line, (size_t)size);
	sb_descriptor_close(&file);
}
