/* The mapped file: reserve disk, map, fault in, hand out chunks. A full disk or
 * a passed budget makes it stop growing; it never raises a signal. */
#include "record/recorder.h"

#include "base/error.h"
#include "base/populate.h"
#include "record/run_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* How often and how long a writer without room waits for the file to grow before it folds instead. A
 * writer with nothing to fold would lose events, so it waits longer. */
enum { GROW_TRIES = 25, GROW_TRIES_FIRST = 100 };
static const struct timespec grow_patience = { .tv_nsec = 2000000 };
/* The first step holds 64 chunks: as many threads can start at once unhindered. */
enum { STEP = 1024 * 1024, SMALLEST_STEP = 64 * 1024 };
/* A large folio maps as one only where file and memory are aligned alike: 0.1 us a
 * page against 2.4 (aarch64, ext4). Two MiB is what a page table of 4 KiB pages spans. */
enum { ALIGNMENT = 2 * 1024 * 1024 };

static uint32_t chunks_in(const struct sb_extent *x, size_t bytes)
{
	return bytes <= SB_FILE_HEADER_BYTES ? 0
					     : (uint32_t)((bytes - SB_FILE_HEADER_BYTES) / x->chunk_bytes);
}

struct sb_chunk_header *sb_chunk_at(const struct sb_extent *x, uint32_t chunk)
{
	return (struct sb_chunk_header *)(x->base + SB_FILE_HEADER_BYTES +
					  (size_t)(chunk - 1) * x->chunk_bytes);
}

/* Past the limit the process would be killed by SIGXFSZ. */
static uint64_t most_bytes_of_chunks(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX - SB_FILE_HEADER_BYTES;
	return limit.rlim_cur > SB_FILE_HEADER_BYTES ? limit.rlim_cur - SB_FILE_HEADER_BYTES : 0;
}

/* Address space only: nothing is mapped yet. */
static char *reserve_addresses(size_t size)
{
	size_t whole = size + ALIGNMENT;
	char *at = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *base;

	if (at == MAP_FAILED)
		return NULL;
	base = (char *)(((uintptr_t)at + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
	if (base > at)
		munmap(at, (size_t)(base - at));
	munmap(base + size, (size_t)(at + whole - (base + size)));
	return base;
}

int sb_extent_open(struct sb_extent *x, const struct sb_descriptor *file, uint64_t budget_bytes,
	uint64_t run_most_bytes, bool small)
{
	uint64_t most_bytes = most_bytes_of_chunks();
	size_t whole;

	memset(x, 0, sizeof *x);
	x->file = *file;
	atomic_store(&x->private_from, SIZE_MAX);
	x->small = small;
	x->run_most_bytes = run_most_bytes;
	x->chunk_bytes = budget_bytes < (64u << 20) ? SB_CHUNK_BYTES_SMALL : SB_CHUNK_BYTES_DEFAULT;
	x->bound_by = budget_bytes > most_bytes ? SB_LIMIT_FILE_SIZE : SB_LIMIT_BUDGET;
	if (budget_bytes > most_bytes)
		budget_bytes = most_bytes;
	x->total_chunks = (uint32_t)(budget_bytes / x->chunk_bytes);
	if (x->total_chunks < 8)
		return sb_fail(STROBE_EINVAL,
			"a recording needs %u KiB, the limit on file sizes (ulimit -f) allows %llu",
			8 * x->chunk_bytes >> 10, (unsigned long long)budget_bytes >> 10);
	whole = SB_FILE_HEADER_BYTES + (size_t)x->total_chunks * x->chunk_bytes;
	x->reserved_bytes = (whole + STEP - 1) / STEP * STEP;
	x->base = reserve_addresses(x->reserved_bytes);
	if (!x->base)
		return sb_fail_errno("cannot reserve %zu MiB of address space", x->reserved_bytes >> 20);
	x->next_of_bytes = (size_t)(x->total_chunks + 1) * sizeof *x->next_of;
	x->next_of = mmap(NULL, x->next_of_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (x->next_of == MAP_FAILED) {
		x->next_of = NULL;
		return sb_fail_errno("no memory for the recorder's tables");
	}
	if (sb_extent_grow(x))
		return 0;
	errno = x->error;
	if (x->run_full)
		return sb_fail(STROBE_ENOSPC, "the recordings of this run are full (max_run_bytes)");
	if (errno == ENOSPC || errno == EDQUOT)
		return sb_fail(STROBE_ENOSPC, "no room on the disk for a recording");
	return sb_fail_errno("a recording cannot be written and mapped here");
}

void sb_extent_close(struct sb_extent *x)
{
	unsigned used;

	while (atomic_exchange_explicit(&x->grow_lock, 1, memory_order_acquire))
		sched_yield();
	x->closed = true;
	used = atomic_load(&x->next_chunk);
	/* A writer between its test and its store keeps a valid address: anonymous
	 * memory takes the file's place, and the region is never given back. */
	if (x->base && x->mapped_bytes)
		mmap(x->base, x->mapped_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (x->base && x->reserved_bytes > x->mapped_bytes)
		munmap(x->base + x->mapped_bytes, x->reserved_bytes - x->mapped_bytes);
	if (x->mapped_bytes && sb_descriptor_is_ours(&x->file) &&
		ftruncate(x->file.number, (off_t)(SB_FILE_HEADER_BYTES + (size_t)used * x->chunk_bytes))) {
		/* The file stays longer than it needs to be: zeros, which readers skip. */
	}
	sb_descriptor_close(&x->file);
	atomic_store_explicit(&x->grow_lock, 0, memory_order_release);
}

/* Blocks on disk, so that a later store cannot fail. False: no room. */
static bool reserve_disk(int fd, size_t from, size_t size)
{
	int r;

	do
		r = fallocate(fd, 0, (off_t)from, (off_t)size);
	while (r && errno == EINTR);
	if (!r)
		return true;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return false;
	return !ftruncate(fd, (off_t)(from + size)); /* populating will tell whether there is room */
}

/* write() makes the page cache use large folios, which map at once: 0.8-1.1 us per page in all, against
 * 2.6-3.7 us for faulting them in (ext4, aarch64). A short write is not an error: populating does the
 * rest. */
static void fill_page_cache(int fd, size_t from, size_t size)
{
	static const char zeros[65536];
	struct iovec parts[STEP / sizeof zeros];
	int count = 0;

	for (size_t left = size; left && count < (int)(STEP / sizeof zeros); count++) {
		size_t n = left < sizeof zeros ? left : sizeof zeros;

		parts[count] = (struct iovec){ (void *)zeros, n };
		left -= n;
	}
	if (pwritev(fd, parts, count, (off_t)from) < 0)
		return;
}

static bool fault_in(char *from, size_t size)
{
	long page = sysconf(_SC_PAGESIZE);

	if (sb_populate(from, size))
		return true;
	if (errno != EINVAL)
		return false;
	for (size_t i = 0; i < size; i += (size_t)page) /* a kernel before 5.14; disk is reserved */
		((volatile char *)from)[i] = 0;
	return true;
}

static bool map_more(struct sb_extent *x, size_t from, size_t size)
{
	char *at = x->base + from;
	int fd = x->file.number;

	if (!sb_descriptor_is_ours(&x->file)) {
		errno = EBADF;
		return false;
	}
	if (!reserve_disk(fd, from, size))
		return false;
	fill_page_cache(fd, from, size);
	if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)from) == MAP_FAILED)
		return false;
	if (fault_in(at, size))
		return true;
	mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	return false;
}

static void stop_growing(struct sb_extent *x, enum sb_limit why)
{
	uint32_t ready = atomic_load(&x->ready_chunks);

	atomic_store(&x->total_chunks, ready);
	if (x->mapped_bytes)
		__atomic_store_n(&((struct sb_file_header *)x->base)->limited_by, why, __ATOMIC_RELAXED);
}

/* Up to the next whole step, where file and memory are aligned alike. The first one of
 * a small file holds a thread's zones, what is kept, and one chunk more. */
static size_t next_step(const struct sb_extent *x)
{
	return x->small && !x->mapped_bytes ? SMALLEST_STEP : STEP - x->mapped_bytes % STEP;
}

/* The step's disk, before its memory. No room is found out again, and said, when it is mapped. */
static void reserve_step(void *extent, size_t size)
{
	struct sb_extent *x = extent;

	if (sb_descriptor_is_ours(&x->file))
		reserve_disk(x->file.number, x->mapped_bytes, size);
}

/* strobe run's own recording, the one without a bound of the run, leaves most of a nearly
 * full disk to the program's. */
static size_t modest_step(const struct sb_extent *x, size_t step)
{
	struct statvfs disk;

	if (x->run_most_bytes || fstatvfs(x->file.number, &disk))
		return step;
	while (step / 2 >= SMALLEST_STEP && step > (uint64_t)disk.f_bavail * disk.f_frsize / 4)
		step /= 2;
	return step;
}

/* One step: larger ones cost less a page, smaller ones use up a nearly full disk. */
static bool grow_locked(struct sb_extent *x)
{
	size_t whole = SB_FILE_HEADER_BYTES + (size_t)atomic_load(&x->total_chunks) * x->chunk_bytes;
	size_t step, page = (size_t)sysconf(_SC_PAGESIZE);

	if (x->closed || x->mapped_bytes >= whole)
		return false;
	step = sb_run_bytes_claim(x->run_most_bytes, x->mapped_bytes, next_step(x), reserve_step, x);
	if (!step) {
		x->run_full = true;
		stop_growing(x, SB_LIMIT_RUN);
		return false;
	}
	for (step = modest_step(x, step); step >= SMALLEST_STEP; step /= 2) {
		size_t size = step & ~(page - 1);
		uint32_t ready;

		if (x->mapped_bytes + size > whole)
			size = (whole - x->mapped_bytes + page - 1) & ~(page - 1);
		if (!map_more(x, x->mapped_bytes, size)) {
			x->error = errno;
			continue;
		}
		x->mapped_bytes += size;
		ready = chunks_in(x, x->mapped_bytes);
		if (ready > atomic_load(&x->total_chunks))
			ready = atomic_load(&x->total_chunks);
		atomic_store_explicit(&x->ready_chunks, ready, memory_order_release);
		return true;
	}
	if (x->mapped_bytes)
		stop_growing(x, SB_LIMIT_DISK);
	return false;
}

bool sb_extent_is_asked(const struct sb_extent *x)
{
	return atomic_load(&x->asked_chunks) >= atomic_load(&x->ready_chunks) &&
	       atomic_load(&x->asked_chunks);
}

/* The file is out of this thread's reach, or another thread is at it already, and doing
 * it here would take as long. */
static bool wait_for_growth(struct sb_extent *x, uint32_t ready)
{
	syscall(SYS_futex, &x->ready_chunks, FUTEX_WAIT_PRIVATE, ready, &grow_patience, NULL, 0);
	return atomic_load(&x->ready_chunks) != ready;
}

bool sb_extent_grow(struct sb_extent *x)
{
	uint32_t ready = atomic_load(&x->ready_chunks);
	bool grown;

	if (!sb_descriptor_in_reach(&x->file)) {
		atomic_store(&x->asked_chunks, ready);
		sb_helper_wake();
		return wait_for_growth(x, ready);
	}
	if (atomic_exchange_explicit(&x->grow_lock, 1, memory_order_acquire))
		return wait_for_growth(x, ready);
	grown = grow_locked(x);
	atomic_store_explicit(&x->grow_lock, 0, memory_order_release);
	syscall(SYS_futex, &x->ready_chunks, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	return grown;
}

/* Chunks that only first comers may take, so that a late thread finds one. */
static uint32_t first_reserve(uint32_t total)
{
	uint32_t some = total / 16, many = total / 4 < 512 ? total / 4 : 512;

	return some > many ? some : many;
}

static uint32_t stream_share(enum sb_stream stream, uint32_t total)
{
	switch (stream) {
	case SB_STREAM_KEEP: return total / 8 + 1;
	case SB_STREAM_DEVICE: return total / 4 + 1;
	case SB_STREAM_DIGEST: return total / 4 + 1;
	default: return total;
	}
}

uint32_t sb_extent_keep_share(const struct sb_extent *x)
{
	return stream_share(SB_STREAM_KEEP, atomic_load_explicit(&x->total_chunks, memory_order_relaxed));
}

static bool may_take(struct sb_extent *x, enum sb_stream stream, bool first)
{
	uint32_t total = atomic_load_explicit(&x->total_chunks, memory_order_relaxed);
	uint32_t used = 0;

	for (int i = 1; i < 5; i++)
		used += atomic_load_explicit(&x->stream_used[i], memory_order_relaxed);
	if (used >= total || atomic_load_explicit(&x->stream_used[stream], memory_order_relaxed) >=
				     stream_share(stream, total))
		return false;
	if (stream == SB_STREAM_HOT && !first) {
		uint32_t keep = atomic_load_explicit(&x->stream_used[SB_STREAM_KEEP], memory_order_relaxed);
		uint32_t held = stream_share(SB_STREAM_KEEP, total);

		held = held > keep ? held - keep : 0;
		return used + held + first_reserve(total) < total;
	}
	return true;
}

/* Chunks of what is ready that only those in need may take: when the disk turns
 * out to be full, every writer must still find one for its digest. */
static uint32_t ready_reserve(void)
{
	uint32_t writers = atomic_load_explicit(&REC->file_writer_count, memory_order_relaxed);

	return 8 + (writers < 256 ? writers : 256);
}

static uint32_t take_fresh(struct sb_extent *x, int most_tries, uint32_t spare)
{
	uint32_t n = atomic_load_explicit(&x->next_chunk, memory_order_relaxed);

	for (int tries = 0; tries < most_tries;) {
		uint32_t ready = atomic_load_explicit(&x->ready_chunks, memory_order_acquire);

		if (n + spare >= ready) {
			if (ready >= atomic_load(&x->total_chunks))
				return 0;
			if (!sb_extent_grow(x))
				tries++;
			n = atomic_load_explicit(&x->next_chunk, memory_order_relaxed);
			continue;
		}
		if (atomic_compare_exchange_weak_explicit(
			    &x->next_chunk, &n, n + 1, memory_order_relaxed, memory_order_relaxed)) {
			if (ready - n < (STEP / 2) / x->chunk_bytes)
				sb_helper_wake();
			return n + 1;
		}
	}
	return 0;
}

uint32_t sb_chunk_take(struct sb_extent *x, enum sb_stream stream, bool first)
{
	bool in_need = first || stream == SB_STREAM_DIGEST;
	int cancel = sb_cancel_off();
	uint32_t chunk = 0;

	if (may_take(x, stream, first))
		chunk = take_fresh(x, in_need ? GROW_TRIES_FIRST : GROW_TRIES, in_need ? 0 : ready_reserve());
	if (chunk)
		atomic_fetch_add_explicit(&x->stream_used[stream], 1, memory_order_relaxed);
	sb_cancel_restore(cancel);
	return chunk;
}
