/* The sampler: a thread that asks, some times a second, what the program is in. It asks the main
 * thread to look at itself at its next instruction (a pending call), so that what holds the GIL
 * is seen as often as what gives it away; where the main thread does not get to an
 * instruction soon, it waits inside one, and the sampler looks itself: afterwards the line
 * may be another (`if tensor.any():` comes to no check before its function has returned). */
#include "sampler.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { UNSHARE = 2 }; /* CLOSE_RANGE_UNSHARE, of Linux 5.9 */
enum { SECOND = 1000000000, IDLE_NS = SECOND / 10, SHARE = 20 };
enum { SOON_NS = 30000 }; /* launching a kernel takes less */
enum { WORKED_NS = SECOND / 5, LASTED_NS = SECOND }; /* a program worth a recording of its own */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool running, stopping;
	bool own_table; /* of descriptors: what it opens, the program cannot close or take */
	atomic_bool asked; /* the main thread has been asked to look, and has not yet, nor has the sampler */
	atomic_bool queued; /* the call that asks it waits in Python's list */
	_Atomic uint64_t look_ns; /* what the last look took */
	unsigned long own; /* ident of the sampler's thread */
	atomic_bool opens; /* the session, where the program records nothing else */
	uint64_t begin_ns; /* of the sampler's thread */
	uint64_t chance;
} sampler = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void look(bool has_own_table)
{
	uint64_t begin_ns = sampler_now_ns();

	if (strobe_recording())
		stacks_look(begin_ns, sampler.own, has_own_table);
	sampler.look_ns = sampler_now_ns() - begin_ns;
}

/* On the main thread, between two instructions. */
static int look_at_main(void *unused)
{
	(void)unused;
	sampler.queued = false;
	if (atomic_exchange(&sampler.asked, false))
		look(false);
	return 0;
}

/* Without the GIL. */
static void ask(void)
{
	sampler.asked = true;
	if (atomic_exchange(&sampler.queued, true))
		return;
	if (Py_AddPendingCall(look_at_main, NULL))
		sampler.asked = sampler.queued = false; /* too many others wait; next time */
	else
		eval_breaker_set();
}

/* Without the GIL. */
static void ask_or_look(void)
{
	PyGILState_STATE state;

	ask();
	nanosleep(&(struct timespec){ .tv_nsec = SOON_NS }, NULL);
	if (!sampler.asked)
		return;
	state = PyGILState_Ensure();
	if (atomic_exchange(&sampler.asked, false)) /* it may have looked meanwhile */
		look(sampler.own_table);
	PyGILState_Release(state);
}

/* Between half and one and a half times the period: a program that repeats itself as often as
 * the sampler looks is seen at all of its places. Never more than a twentieth of a core. */
static uint64_t wait_of(double hz)
{
	double period_ns = SECOND / hz;
	uint64_t least_ns = sampler.look_ns * SHARE, wait_ns;

	sampler.chance ^= sampler.chance << 13;
	sampler.chance ^= sampler.chance >> 7;
	sampler.chance ^= sampler.chance << 17;
	wait_ns = (uint64_t)(period_ns * (0.5 + (double)(sampler.chance >> 11) * 0x1p-53));
	return wait_ns > least_ns ? wait_ns : least_ns;
}

/* False: it is over. */
static bool wait_for(uint64_t ns)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / SECOND);
	until.tv_nsec = (long)(ns % SECOND);
	pthread_mutex_lock(&sampler.lock);
	while (!sampler.stopping && !err)
		err = pthread_cond_timedwait(&sampler.wake, &sampler.lock, &until);
	err = sampler.stopping;
	pthread_mutex_unlock(&sampler.lock);
	return !err;
}

static void once_a_second(uint64_t *last_ns)
{
	uint64_t now_ns = sampler_now_ns();

	if (now_ns - *last_ns < SECOND)
		return;
	*last_ns = now_ns;
	garbage_flush();
	if (sampler.own_table)
		native_threads_look();
}

/* On the main thread: the session is named after the thread that opens it. */
static int open_on_main(void *unused)
{
	(void)unused;
	strobe_kind_recorded(STROBE_KIND_OTHER);
	return 0;
}

/* A program without any stage has functions all the same. Small ones that a script starts by the dozen get no file. */
static void open_late(void)
{
	struct timespec cpu = { 0 };

	if (!sampler.opens)
		return;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	if (!cpu.tv_sec && cpu.tv_nsec < WORKED_NS && sampler_now_ns() - sampler.begin_ns < LASTED_NS)
		return;
	if (Py_AddPendingCall(open_on_main, NULL))
		return; /* too many others wait; next time */
	sampler.opens = false;
	eval_breaker_set();
}

/* While a session records that wants it. Ends with the first that does not. */
static void sample(void)
{
	uint64_t second_ns = 0;
	bool begun = false;

	for (;;) {
		double hz = strobe_sample_hz();

		if (!wait_for(hz > 0 ? wait_of(hz) : IDLE_NS))
			return;
		if (!strobe_recording()) {
			open_late();
			continue; /* not yet, or not again */
		}
		sampler.opens = false;
		hz = strobe_sample_hz();
		if (!(hz > 0))
			return;
		if (!begun)
			stacks_begin(sampler_now_ns());
		begun = true;
		stacks_drain();
		once_a_second(&second_ns);
		if (sampler.own_table)
			readings_take(sampler_now_ns());
		ask_or_look();
	}
}

/* sampler_run(): the thread's body; returns when sampler_stop() is called. */
static PyObject *sampler_run(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	sampler.own = PyThread_get_thread_ident();
	sampler.begin_ns = sampler_now_ns();
	sampler.chance = sampler.begin_ns | 1;
	Py_BEGIN_ALLOW_THREADS prctl(PR_SET_TIMERSLACK, 1ul); /* it sleeps for microseconds */
	sampler.own_table = !syscall(SYS_close_range, 0u, ~0u, UNSHARE);
	sample();
	pthread_mutex_lock(&sampler.lock);
	sampler.running = false;
	pthread_cond_broadcast(&sampler.wake);
	pthread_mutex_unlock(&sampler.lock);
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

/* sampler_opens(): below strobe run a program that only runs is recorded, too. */
static PyObject *sampler_opens(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	sampler.opens = true;
	Py_RETURN_NONE;
}

/* sampler_claim(): True when the caller shall start the thread, False when there is one. */
static PyObject *sampler_claim(PyObject *module, PyObject *unused)
{
	bool claimed;

	(void)module;
	(void)unused;
	eval_breaker_find();
	pthread_mutex_lock(&sampler.lock);
	claimed = !sampler.running;
	sampler.running = true;
	sampler.stopping = false;
	pthread_mutex_unlock(&sampler.lock);
	return PyBool_FromLong(claimed);
}

/* sampler_starting(begin): around the start of a thread of strobe's. It begins with the name of the one that starts it,
 * and a count of threads by name never takes it for the program's; and with its signal mask: the program's handlers never
 * run on a thread of strobe's, which has other descriptors. Faults are not blocked. */
static PyObject *sampler_starting(PyObject *module, PyObject *begin)
{
	static _Thread_local char starter[16];
	static _Thread_local sigset_t mask;
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
	sigset_t most;

	(void)module;
	if (begin == Py_True) {
		sigfillset(&most);
		for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
			sigdelset(&most, faults[i]);
		if (!*starter && !pthread_sigmask(SIG_SETMASK, &most, &mask) && !prctl(PR_GET_NAME, starter))
			prctl(PR_SET_NAME, "strobe-stacks");
	} else if (*starter) {
		prctl(PR_SET_NAME, starter);
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
		*starter = 0;
	}
	Py_RETURN_NONE;
}

/* sampler_stop(): ends the thread and waits for it, a second at most; writes what it had seen. */
static PyObject *sampler_stop(PyObject *module, PyObject *unused)
{
	struct timespec until;
	bool ended;
	int err = 0;

	(void)module;
	(void)unused;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&sampler.lock);
	sampler.stopping = true;
	pthread_cond_broadcast(&sampler.wake);
	while (sampler.running && !err)
		err = pthread_cond_timedwait(&sampler.wake, &sampler.lock, &until);
	ended = !sampler.running;
	pthread_mutex_unlock(&sampler.lock);
	if (ended && strobe_recording()) {
		stacks_drain();
		garbage_flush();
	}
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static void make_wake(void)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&sampler.wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

/* sampler_forget(): before a session, and in a forked child, where the thread is gone. */
static PyObject *sampler_forget(PyObject *module, PyObject *forked)
{
	(void)module;
	if (PyObject_IsTrue(forked) == 1) {
		pthread_mutex_init(&sampler.lock, NULL);
		make_wake(); /* the parent's sampler may have waited at it */
		sampler.running = sampler.stopping = false;
		sampler.asked = sampler.queued = sampler.opens = false;
	}
	stacks_forget();
	native_threads_forget();
	readings_forget();
	Py_RETURN_NONE;
}

/* ---- for tests: the steps by hand ---------------------------------------------- */

static PyObject *sampler_ask(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	Py_BEGIN_ALLOW_THREADS ask();
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *sampler_ask_or_look(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	Py_BEGIN_ALLOW_THREADS ask_or_look();
	Py_END_ALLOW_THREADS stacks_drain();
	Py_RETURN_NONE;
}

/* sampler_look(now_ns): a look at that time, written at once; 0: now. */
static PyObject *sampler_look(PyObject *module, PyObject *now)
{
	uint64_t now_ns = PyLong_AsUnsignedLongLong(now);

	(void)module;
	if (PyErr_Occurred())
		return NULL;
	stacks_look(now_ns ? now_ns : sampler_now_ns(), 0, false);
	stacks_drain();
	Py_RETURN_NONE;
}

/* sampler_seen(): stacks that were written. */
static PyObject *sampler_seen(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromUnsignedLong(stacks_written());
}

/* sampler_join(): waits for a thread that ends by itself. */
static PyObject *sampler_join(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&sampler.lock);
	while (sampler.running)
		pthread_cond_wait(&sampler.wake, &sampler.lock);
	pthread_mutex_unlock(&sampler.lock);
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

/* sampler_clock(now_ns): what time it is from now on; 0: the system's. */
static PyObject *sampler_clock(PyObject *module, PyObject *now)
{
	(void)module;
	sampler_set_now(PyLong_AsUnsignedLongLong(now));
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *sampler_exact(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(eval_breaker_works());
}

static PyObject *sampler_drain(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	stacks_drain();
	garbage_flush();
	native_threads_look();
	Py_RETURN_NONE;
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

PyMethodDef sampler_methods[] = {
	{ "sampler_run", sampler_run, METH_NOARGS, NULL },
	{ "sampler_opens", sampler_opens, METH_NOARGS, NULL },
	{ "sampler_claim", sampler_claim, METH_NOARGS, NULL },
	{ "sampler_starting", sampler_starting, METH_O, NULL },
	{ "sampler_stop", sampler_stop, METH_NOARGS, NULL },
	{ "sampler_forget", sampler_forget, METH_O, NULL },
	{ "sampler_ask", sampler_ask, METH_NOARGS, NULL },
	{ "sampler_ask_or_look", sampler_ask_or_look, METH_NOARGS, NULL },
	{ "sampler_look", sampler_look, METH_O, NULL },
	{ "sampler_clock", sampler_clock, METH_O, NULL },
	{ "sampler_seen", sampler_seen, METH_NOARGS, NULL },
	{ "sampler_join", sampler_join, METH_NOARGS, NULL },
	{ "sampler_exact", sampler_exact, METH_NOARGS, NULL },
	{ "sampler_drain", sampler_drain, METH_NOARGS, NULL },
	{ "line_before", line_before_given, METH_VARARGS, NULL },
	{ "readings_install", readings_install, METH_O, NULL },
	{ "readings_now", readings_now, METH_NOARGS, NULL },
	{ "readings_host", readings_host, METH_NOARGS, NULL },
	{ "readings_at_ends", readings_at_ends, METH_O, NULL },
	{ "garbage_seen", FAST(garbage_seen), METH_FASTCALL, NULL },
	{ NULL, NULL, 0, NULL },
};

int sampler_init(void)
{
	static bool done; /* by the first interpreter; others find it made */

	if (!done)
		make_wake();
	done = true;
	return 0;
}
