/* The blocks that are in use, and what each site holds. */
#include "allocations.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define BLOCKS 65536u /* a power of two; three quarters are used at most */
#define BUCKETS 16384u
#define UNNAMED_MOST 256u

size_t allocations_least = SIZE_MAX;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation blocks[BLOCKS];
static _Atomic uint16_t buckets[BUCKETS]; /* how many blocks have this hash */
static struct allocation_site sites[ALLOCATION_SITES];
static uint32_t block_count, site_count = SITE_FIRST;
static uintptr_t unnamed[UNNAMED_MOST]; /* addresses; one that was freed meanwhile is not found */
static uint32_t unnamed_count;
static int64_t now_bytes, peak_bytes;
static uint64_t peak_us, lost_count;
static bool is_peak; /* what the sites hold now is the most so far, and not copied yet */
static void (*_Atomic ask)(void);
static _Thread_local int thread_kind; /* 1: the main thread, 2: another one */

static uint32_t hash(uintptr_t address)
{
	return (uint32_t)((uint64_t)(address >> 4) * 0x9E3779B97F4A7C15u >> 40);
}

static uint64_t unix_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
}

static bool is_main_thread(void)
{
	if (!thread_kind)
		thread_kind = syscall(SYS_gettid) == getpid() ? 1 : 2;
	return thread_kind == 1;
}

/* ---- the table: linear probing, no gaps ---- */

static struct allocation *find(uintptr_t address)
{
	for (uint32_t i = hash(address);; i++) {
		struct allocation *b = &blocks[i % BLOCKS];

		if (b->address == address || !b->address)
			return b;
	}
}

/* Those behind it move up, so that each is found from its own place on. */
static void erase(struct allocation *gone)
{
	uint32_t hole = (uint32_t)(gone - blocks);

	for (uint32_t i = (hole + 1) % BLOCKS; blocks[i].address; i = (i + 1) % BLOCKS) {
		uint32_t home = hash(blocks[i].address) % BLOCKS;

		if ((i - home) % BLOCKS >= (i - hole) % BLOCKS) {
			blocks[hole] = blocks[i];
			hole = i;
		}
	}
	blocks[hole].address = 0;
	block_count--;
}

/* ---- what sites hold ---- */

static void add(uint32_t site, int64_t bytes, int64_t count)
{
	sites[site].now_bytes += bytes;
	sites[site].now_count += count;
}

static void keep_peak(void)
{
	for (uint32_t i = 0; is_peak && i < site_count; i++) {
		sites[i].peak_bytes = sites[i].now_bytes;
		sites[i].peak_count = sites[i].now_count;
	}
	is_peak = false;
}

static void put(const struct allocation *a)
{
	struct allocation *b = find(a->address);

	if (block_count >= BLOCKS / 4 * 3) {
		lost_count++;
		return;
	}
	if (b->address) { /* its end was not seen */
		add(b->site, -(int64_t)b->size, -1);
		now_bytes -= (int64_t)b->size;
	} else {
		block_count++;
		atomic_fetch_add_explicit(&buckets[hash(a->address) % BUCKETS], 1, memory_order_relaxed);
	}
	*b = *a;
	add(a->site, (int64_t)a->size, 1);
	now_bytes += (int64_t)a->size;
	if (now_bytes > peak_bytes) {
		peak_bytes = now_bytes;
		peak_us = a->time_us;
		is_peak = true;
	}
}

void allocations_put(void *block, size_t size)
{
	struct allocation a = { (uintptr_t)block, size, unix_us(), SITE_OTHER };
	void (*wanted)(void) = ask;

	if (!block || !wanted)
		return;
	pthread_mutex_lock(&lock);
	if (is_main_thread() && unnamed_count < UNNAMED_MOST) {
		a.site = SITE_UNNAMED;
		unnamed[unnamed_count++] = a.address;
	}
	put(&a);
	if (a.site == SITE_OTHER && a.time_us <= peak_us)
		sites[SITE_OTHER].last_us = a.time_us;
	pthread_mutex_unlock(&lock);
	if (a.site == SITE_UNNAMED)
		wanted();
}

void allocations_put_back(const struct allocation *taken)
{
	if (!taken->address)
		return;
	pthread_mutex_lock(&lock);
	put(taken);
	pthread_mutex_unlock(&lock);
}

bool allocations_may_have(const void *block)
{
	return atomic_load_explicit(&buckets[hash((uintptr_t)block) % BUCKETS], memory_order_relaxed) != 0;
}

struct allocation allocations_take(void *block)
{
	struct allocation taken = { 0 }, *b;

	pthread_mutex_lock(&lock);
	b = find((uintptr_t)block);
	if (b->address) {
		taken = *b;
		keep_peak();
		add(b->site, -(int64_t)b->size, -1);
		now_bytes -= (int64_t)b->size;
		atomic_fetch_sub_explicit(&buckets[hash(b->address) % BUCKETS], 1, memory_order_relaxed);
		erase(b);
	}
	pthread_mutex_unlock(&lock);
	return taken;
}

/* ---- for the Python package ---- */

static void start(size_t least_bytes, void (*asked)(void))
{
	pthread_mutex_lock(&lock);
	ask = asked;
	allocations_least = asked && least_bytes ? least_bytes : SIZE_MAX;
	unnamed_count = 0;
	pthread_mutex_unlock(&lock);
}

static void move(struct allocation *b, uint32_t site)
{
	add(b->site, -(int64_t)b->size, -1);
	add(site, (int64_t)b->size, 1);
	b->site = site;
	if (b->time_us <= peak_us)
		sites[site].last_us = b->time_us;
}

static void name(uint32_t site)
{
	struct allocation_site *from = &sites[SITE_UNNAMED], *to;

	site = site < ALLOCATION_SITES ? site : SITE_OTHER;
	to = &sites[site];
	pthread_mutex_lock(&lock);
	if (site >= site_count)
		site_count = site + 1;
	for (uint32_t i = 0; i < unnamed_count; i++) {
		struct allocation *b = find(unnamed[i]);

		if (b->address && b->site == SITE_UNNAMED)
			move(b, site);
	}
	unnamed_count = 0;
	to->peak_bytes += from->peak_bytes; /* of what was freed before it had a name, too */
	to->peak_count += from->peak_count;
	from->peak_bytes = from->peak_count = 0;
	pthread_mutex_unlock(&lock);
}

static void read_sites(
	struct allocation_site *out, uint32_t count, uint64_t *out_peak_us, uint64_t *out_lost_count)
{
	pthread_mutex_lock(&lock);
	keep_peak();
	memcpy(out, sites, (count < ALLOCATION_SITES ? count : ALLOCATION_SITES) * sizeof *out);
	*out_peak_us = peak_us;
	*out_lost_count = lost_count;
	pthread_mutex_unlock(&lock);
}

EXPORTED const struct allocations strobe_allocations = { start, name, read_sites };

/* ---- fork: the child goes on with what its parent had ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	thread_kind = 0;
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}
