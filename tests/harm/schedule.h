/* Included before everything else in the build whose threads are scheduled at random:
 * every atomic operation of the recorder may give the processor away first. What goes
 * wrong there once a year goes wrong within minutes. */
#ifndef TESTS_HARM_SCHEDULE_H
#define TESTS_HARM_SCHEDULE_H

#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Mostly nothing, often a yield, at times a nap that lets all others pass. */
static inline void schedule_by_chance(void)
{
	static _Thread_local unsigned state;
	struct timespec now, nap = { .tv_nsec = 20000 };

	if (!state) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		state = (unsigned)now.tv_nsec | 1;
	}
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	if (state % 512 == 0)
		syscall(SYS_nanosleep, &nap, NULL); /* unlike nanosleep(), no cancellation point */
	else if (state % 8 == 0)
		sched_yield();
}

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_exchange_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit
#undef atomic_flag_test_and_set
#undef atomic_flag_clear

#define PLAIN_(at) __typeof__((void)0, *(at))

#define atomic_load_explicit(at, order)             \
	__extension__({                             \
		__auto_type at_ = (at);             \
		PLAIN_(at_) value_;                 \
		schedule_by_chance();               \
		__atomic_load(at_, &value_, order); \
		value_;                             \
	})
#define atomic_load(at) atomic_load_explicit(at, memory_order_seq_cst)

#define atomic_store_explicit(at, to, order)         \
	__extension__({                              \
		__auto_type at_ = (at);              \
		PLAIN_(at_) value_ = (to);           \
		schedule_by_chance();                \
		__atomic_store(at_, &value_, order); \
	})
#define atomic_store(at, to) atomic_store_explicit(at, to, memory_order_seq_cst)

#define atomic_exchange_explicit(at, to, order)                   \
	__extension__({                                           \
		__auto_type at_ = (at);                           \
		PLAIN_(at_) value_ = (to), before_;               \
		schedule_by_chance();                             \
		__atomic_exchange(at_, &value_, &before_, order); \
		before_;                                          \
	})
#define atomic_exchange(at, to) atomic_exchange_explicit(at, to, memory_order_seq_cst)

#define atomic_fetch_add_explicit(at, more, order) \
	(schedule_by_chance(), __atomic_fetch_add((at), (more), (order)))
#define atomic_fetch_add(at, more) atomic_fetch_add_explicit(at, more, memory_order_seq_cst)

#define atomic_fetch_sub_explicit(at, less, order) \
	(schedule_by_chance(), __atomic_fetch_sub((at), (less), (order)))
#define atomic_fetch_sub(at, less) atomic_fetch_sub_explicit(at, less, memory_order_seq_cst)

/* A yield before a flag is taken, and one while it is held. */
#define atomic_flag_test_and_set(at)                                              \
	__extension__({                                                           \
		_Bool was_;                                                       \
		schedule_by_chance();                                             \
		was_ = __atomic_test_and_set((void *)(at), memory_order_seq_cst); \
		schedule_by_chance();                                             \
		was_;                                                             \
	})
#define atomic_flag_clear(at) \
	(schedule_by_chance(), __atomic_clear((_Bool *)(void *)(at), memory_order_seq_cst))

/* What is written into the mapped file goes by the compiler's own names. */
#define __atomic_load_n(at, order) (schedule_by_chance(), __atomic_load_n((at), (order)))
#define __atomic_store_n(at, to, order) (schedule_by_chance(), __atomic_store_n((at), (to), (order)))
#define __atomic_compare_exchange_n(at, expected, to, weak, then, otherwise) \
	(schedule_by_chance(),                                               \
		__atomic_compare_exchange_n((at), (expected), (to), (weak), (then), (otherwise)))

#define EXCHANGE_IF_(at, expected, to, weak, then, otherwise)                               \
	__extension__({                                                                     \
		__auto_type at_ = (at);                                                     \
		PLAIN_(at_) value_ = (to);                                                  \
		schedule_by_chance();                                                       \
		__atomic_compare_exchange(at_, (expected), &value_, weak, then, otherwise); \
	})
#define atomic_compare_exchange_strong_explicit(at, expected, to, then, otherwise) \
	EXCHANGE_IF_(at, expected, to, 0, then, otherwise)
#define atomic_compare_exchange_weak_explicit(at, expected, to, then, otherwise) \
	EXCHANGE_IF_(at, expected, to, 1, then, otherwise)
#define atomic_compare_exchange_weak(at, expected, to) \
	EXCHANGE_IF_(at, expected, to, 1, memory_order_seq_cst, memory_order_seq_cst)
#define atomic_compare_exchange_strong(at, expected, to) \
	EXCHANGE_IF_(at, expected, to, 0, memory_order_seq_cst, memory_order_seq_cst)

#endif
