/* What stands in for calls that an older C library lacks, beside those of this one. */
#define gettid older_gettid
#define pthread_cond_clockwait older_cond_clockwait
#define sem_clockwait older_sem_clockwait
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <features.h>
#undef __GLIBC_PREREQ
#define __GLIBC_PREREQ(major, minor) 0
#include "../../src/base/older_libc.c"

static struct timespec monotonic_in(long ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ns;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void test_a_moment_is_the_same_by_both_clocks(void **state)
{
	static const long ns[] = { 0, 1, 999999999 };

	(void)state;
	for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
		struct timespec here, day, until, got;

		clock_gettime(CLOCK_MONOTONIC, &here);
		clock_gettime(CLOCK_REALTIME, &day);
		until = (struct timespec){ here.tv_sec + 100, ns[i] };
		got = by_day(CLOCK_MONOTONIC, &until);
		assert_in_range(got.tv_nsec, 0, 999999999);
		assert_in_range(got.tv_sec, day.tv_sec + 98, day.tv_sec + 103);
	}
}

static void test_waits_end(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec soon = monotonic_in(1000000);
	sem_t bell;

	(void)state;
	assert_int_equal(sem_init(&bell, 0, 1), 0);
	assert_int_equal(older_sem_clockwait(&bell, CLOCK_MONOTONIC, &soon), 0);
	assert_int_equal(older_sem_clockwait(&bell, CLOCK_MONOTONIC, &soon), -1);
	assert_int_equal(errno, ETIMEDOUT);
	pthread_mutex_lock(&lock);
	assert_int_equal(older_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
	pthread_mutex_unlock(&lock);
	sem_destroy(&bell);
}

static void test_the_thread_is_the_one_the_kernel_knows(void **state)
{
	(void)state;
	assert_int_equal(older_gettid(), getpid()); /* the first thread's */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_moment_is_the_same_by_both_clocks),
		cmocka_unit_test(test_waits_end),
		cmocka_unit_test(test_the_thread_is_the_one_the_kernel_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
