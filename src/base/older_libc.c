/* Functions that the C library has since 2.30, for older ones: wheels run on 2.28. Hidden symbols: other
 * libraries are not affected. */
#include <features.h>

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 30)
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN pid_t gettid(void);
HIDDEN int pthread_cond_clockwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until);
HIDDEN int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until);

/* The same moment by the real-time clock, which the older calls use. If that clock is set meanwhile, the
 * wait ends early or late: callers check their condition again. */
static struct timespec by_day(clockid_t clock, const struct timespec *until)
{
	struct timespec here, day;
	long ns;

	clock_gettime(clock, &here);
	clock_gettime(CLOCK_REALTIME, &day);
	ns = until->tv_nsec - here.tv_nsec + day.tv_nsec; /* -1 to 2 seconds */
	day.tv_sec += until->tv_sec - here.tv_sec;
	for (; ns < 0; ns += 1000000000)
		day.tv_sec--;
	for (; ns >= 1000000000; ns -= 1000000000)
		day.tv_sec++;
	day.tv_nsec = ns;
	return day;
}

pid_t gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

int pthread_cond_clockwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	struct timespec day = by_day(clock, until);

	return pthread_cond_timedwait(cond, mutex, &day);
}

int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	struct timespec day = by_day(clock, until);

	return sem_timedwait(sem, &day);
}
#else
typedef int sb_nothing_is_missing; /* a C file must not be empty */
#endif
