/* The sampler's parts: what the Python threads are in (stacks.c), what native threads used
 * (native_threads.c), garbage collections (garbage.c), memory (readings.c), and the thread that
 * asks for all of it (sampler.c). Main interpreter only: the state is the process's. */
#ifndef STROBE_SAMPLER_H
#define STROBE_SAMPLER_H

#include "extension.h"

/* ---- sampler_clock.c ---- */
uint64_t sampler_now_ns(void); /* ns of CLOCK_MONOTONIC, or what a test has set */
uint64_t sampler_now_ticks(
	void); /* the CPU's counter, cheaper to read; the same where a test sets the clock */
void sampler_set_now(uint64_t now_ns); /* for tests; 0: the clock's again */

/* ---- stacks.c; with the GIL unless noted otherwise ---- */
/* Every Python thread but `except` (its ident; 0: none), as seen now. */
/* has_own_table: called on the sampler's thread, whose descriptors the program does not see. */
void stacks_look(uint64_t now_ns, unsigned long except, bool has_own_table);
/* Writes what was seen, on the calling thread; without the GIL. One caller at a time. */
void stacks_drain(void);
/* Begins a new session: its file has no functions yet, and no earlier look counts. */
void stacks_forget(void);
unsigned stacks_written(void); /* since the process began */
void stacks_begin(uint64_t now_ns); /* the first weight counts from here */
bool stacks_has_thread(uint32_t tid); /* a Python thread at the last look; no GIL needed */

/* ---- line.c; with the GIL ---- */
/* The last line at or before an instruction (f_lasti) of a code object; 0: none. */
uint32_t line_before(PyObject *code, long instruction);
PyObject *line_before_given(PyObject *module, PyObject *args);

/* ---- own.c; with the GIL ---- */
enum own_kind {
	OWN_NOT, /* the program's, or a library's */
	OWN_BETWEEN, /* of strobe's package, around calls of the program's */
	OWN_WORK, /* what strobe does itself */
};
enum own_kind own_kind_of(const char *file);
bool own_work_runs(void); /* in the calling thread */

/* ---- thread_cpu.c; with the GIL ---- */
bool thread_cpu_since(
	uint32_t tid, uint64_t *out_ns); /* the last call for this thread; false: there was none */
enum thread_state {
	THREAD_UNKNOWN,
	THREAD_RUNS, /* on a core, or waiting for one */
	THREAD_WAITS_FOR_TURN, /* for the GIL, or with a timeout as short */
	THREAD_WAITS
};
enum thread_state thread_state_of(uint32_t tid);
void thread_cpu_forget(void);

/* ---- eval_breaker.c ---- */
void eval_breaker_find(void); /* on the main thread, with the GIL */
void eval_breaker_set(void); /* the main thread looks for pending calls at its next instruction */
bool eval_breaker_works(void);

/* ---- native_threads.c: no GIL ---- */
void native_threads_look(void);
void native_threads_forget(void);

/* ---- readings.c ---- */
void readings_take(uint64_t now_ns); /* where one is due; without the GIL */
void readings_forget(void);
PyObject *readings_install(PyObject *module, PyObject *function);
PyObject *readings_now(PyObject *module, PyObject *unused);
PyObject *readings_host(PyObject *module, PyObject *unused);
PyObject *readings_at_ends(PyObject *module, PyObject *function);

/* ---- garbage.c ---- */
void garbage_flush(void); /* totals into the recording; no GIL needed */
PyObject *garbage_seen(PyObject *module, PyObject *const *args, Py_ssize_t nargs); /* for gc.callbacks */

#endif
