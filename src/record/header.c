/* The recording's first page: who records, where, since when; and its end. */
#include "record/header.h"

#include "record/clock.h"
#include "record/rank.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static void read_line(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = 0;
	out[strcspn(out, "\n")] = 0;
}

static uint64_t process_start(void)
{
	char stat[1024];
	const char *p;
	unsigned long long start = 0;

	read_line("/proc/self/stat", stat, sizeof stat);
	p = strrchr(stat, ')'); /* the command may hold anything */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		start = strtoull(p + 1, NULL, 10);
	return start;
}

void sb_header_fill(struct sb_file_header *h, uint32_t chunk_bytes, const struct sb_settings *settings,
	const char *run_dir)
{
	struct sb_anchor anchor;
	struct sb_rank rank;

	sb_clock_anchor(&anchor);
	sb_rank_detect(&rank);
	h->version = SB_FORMAT_VERSION;
	h->header_bytes = SB_FILE_HEADER_BYTES;
	h->chunk_bytes = chunk_bytes;
	h->clock_kind = sb_clock_kind;
	h->clock_hz = sb_clock_hz();
	h->start_ticks = anchor.ticks;
	h->start_mono_ns = anchor.mono_ns;
	h->start_real_ns = anchor.real_ns;
	h->budget_bytes = settings->max_trace_bytes;
	h->pid = (uint32_t)getpid();
	h->ppid = (uint32_t)getppid();
	h->main_tid = (uint32_t)syscall(SYS_gettid);
	h->rank = rank.rank;
	h->local_rank = rank.local_rank;
	h->world_size = rank.world_size;
	h->process_start = process_start();
	if (getrandom(h->session_uuid, sizeof h->session_uuid, GRND_NONBLOCK) < 0)
		memcpy(h->session_uuid, &anchor, sizeof h->session_uuid);
	read_line("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof h->boot_id);
	gethostname(h->host, sizeof h->host - 1);
	snprintf(h->name, sizeof h->name, "%s", settings->name);
	snprintf(h->run_dir, sizeof h->run_dir, "%s", run_dir);
	h->heartbeat_ticks = anchor.ticks;
	h->record_ps = sb_clock_record_ps();
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(h->magic, SB_MAGIC, sizeof h->magic); /* last: a file with a magic has a header */
}

void sb_header_finish(struct sb_file_header *h, const struct sb_anchor *end, uint32_t chunk_count)
{
	h->end_ticks = end->ticks;
	h->end_mono_ns = end->mono_ns;
	h->end_real_ns = end->real_ns;
	h->heartbeat_ticks = end->ticks;
	h->chunk_count = chunk_count;
	__atomic_store_n(&h->closed, SB_CLOSED_IN_ORDER, __ATOMIC_RELEASE);
}
