/* The table: fixed in size, written by the program's threads as they launch, read
 * when the records come. */
#include "gpu/launch.h"

#include "base/populate.h"
#include "gpu/cupti.h"
#include "record/clock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Launches between a call and the delivery of its record; 4 MiB. */
#define SLOTS (1u << 18)

struct slot {
	_Atomic uint32_t correlation;
	_Atomic uint32_t tid;
	_Atomic uint64_t ticks;
};

static struct slot *_Atomic slots;
static _Atomic uint32_t last;

bool sb_launches_init(void)
{
	void *memory;

	if (atomic_load(&slots))
		return true;
	memory = mmap(NULL, SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (memory == MAP_FAILED)
		return false;
	atomic_store(&last, 0);
	atomic_store(&slots, memory);
	return true;
}

void sb_launches_ready(void)
{
	sb_populate(atomic_load(&slots), SLOTS * sizeof(struct slot));
}

/* The address space stays: a callback may be under way. */
void sb_launches_done(void)
{
	struct slot *memory = atomic_load(&slots);

	if (memory)
		madvise(memory, SLOTS * sizeof(struct slot), MADV_DONTNEED);
	atomic_store(&last, 0);
}

void sb_launch_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
	static __thread uint32_t tid __attribute__((tls_model("initial-exec"))); /* found without a call */
	const struct cupti_callback_data *d = data;
	struct slot *table = atomic_load_explicit(&slots, memory_order_relaxed), *s;

	(void)user, (void)domain, (void)id;
	if (d->site != CUPTI_API_ENTER || !table)
		return;
	if (__builtin_expect(!tid, 0))
		tid = (uint32_t)syscall(SYS_gettid);
	s = &table[d->correlation & (SLOTS - 1)];
	atomic_store_explicit(&s->correlation, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release); /* what follows is not seen before the 0 is */
	atomic_store_explicit(&s->tid, tid, memory_order_relaxed);
	atomic_store_explicit(&s->ticks, sb_clock_ticks(), memory_order_relaxed);
	atomic_store_explicit(&s->correlation, d->correlation, memory_order_release);
	atomic_store_explicit(&last, d->correlation, memory_order_relaxed);
}

struct sb_launch_call sb_launch_of(uint32_t correlation)
{
	struct slot *table = atomic_load(&slots), *s;
	struct sb_launch_call launch = { 0, 0 };

	if (!table || !correlation)
		return launch;
	s = &table[correlation & (SLOTS - 1)];
	if (atomic_load_explicit(&s->correlation, memory_order_acquire) != correlation)
		return launch;
	launch.ticks = atomic_load_explicit(&s->ticks, memory_order_relaxed);
	launch.tid = atomic_load_explicit(&s->tid, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	/* Overwritten while we looked: a newer launch, whose time this is not. */
	if (atomic_load_explicit(&s->correlation, memory_order_relaxed) != correlation)
		return (struct sb_launch_call){ 0, 0 };
	return launch;
}

uint32_t sb_launch_last(void)
{
	return atomic_load(&last);
}
