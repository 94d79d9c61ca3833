/* Adds up a run's recordings by their names and sizes: no shared state that a crash could leave wrong. */
#include "record/run_bytes.h"

#include "format/spool.h"
#include "record/recorder.h"
#include "record/spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Little: a few threads' zones and totals. Steps are whole pages on every machine. */
enum { LEAST_BYTES = 256 * 1024, SMALLEST_STEP = 64 * 1024 };

struct sum {
	uint64_t bytes;
	uint32_t files;
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

static struct sum add_up(void)
{
	struct sum sum = { 0, 0 };
	struct sb_descriptor at;
	DIR *folder = sb_descriptor_opendir(&at, REC->run_dir);
	struct dirent *entry;

	while (folder && sb_descriptor_is_ours(&at) && (entry = readdir(folder))) {
		uint64_t bytes = recording_bytes(at.number, entry->d_name);

		sum.bytes += bytes;
		sum.files += bytes > 0;
	}
	if (folder)
		sb_descriptor_closedir(&at, folder);
	return sum;
}

/* Processes with large recordings leave room for small ones, and all of them for new ones. */
static uint64_t bound_of(uint64_t most_bytes, size_t own_bytes)
{
	if (own_bytes >= LEAST_BYTES)
		return most_bytes / 4 * 3;
	return own_bytes ? most_bytes / 8 * 7 : most_bytes;
}

/* Others grow at the same moment: the nearer the bound, the smaller the steps. */
size_t sb_run_bytes_allow(uint64_t most_bytes, size_t own_bytes, size_t step)
{
	uint64_t bound = bound_of(most_bytes, own_bytes), share;
	struct sum sum;

	if (!most_bytes)
		return step;
	sum = add_up();
	if (sum.bytes >= bound)
		return 0;
	share = (bound - sum.bytes) / (2 * (uint64_t)sum.files + 1) / SMALLEST_STEP * SMALLEST_STEP;
	if (share < SMALLEST_STEP)
		share = SMALLEST_STEP;
	return step < share ? step : (size_t)share;
}

void sb_run_bytes_refused(const char *run_dir)
{
	struct sb_descriptor file;
	char path[1100], line[24];
	int size = snprintf(line, sizeof line, "%ld\n", (long)getpid());

	snprintf(path, sizeof path, "%s/" SB_RUN_REFUSED, run_dir);
	if (!sb_descriptor_open(&file, path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600))
		return;
	if (write(file.number, line, (size_t)size) != size)
		size = 0; /* a full disk: one process more that is not named */
	sb_descriptor_close(&file);
}
