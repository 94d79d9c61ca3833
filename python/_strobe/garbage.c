/* Garbage collections: the long ones are events, all of them are counted. A C function in
 * gc.callbacks, so that no Python code runs where none would have run. */
#include "sampler.h"

#include <stdatomic.h>
#include <string.h>

enum { LONG_NS = 1000000, EVENTS_MAX = 10000 };

static uint64_t begun_ns; /* guarded by the GIL; 0: none runs */
static uint32_t event_count;
static _Atomic uint64_t pending_ns, pending_count, pending_objects;

static int64_t number_of(PyObject *info, const char *key)
{
	PyObject *value = PyDict_GetItemString(info, key); /* borrowed */

	return value && PyLong_Check(value) ? (int64_t)PyLong_AsLongLong(value) : 0;
}

static void put_event(uint64_t duration_ns, PyObject *info)
{
	struct strobe_attr attrs[] = {
		{ .key = "duration_s", .type = STROBE_TYPE_FLOAT, .value.f = (double)duration_ns / 1e9 },
		{ .key = "generation", .type = STROBE_TYPE_INT, .value.i = number_of(info, "generation") },
		{ .key = "collected", .type = STROBE_TYPE_INT, .value.i = number_of(info, "collected") },
	};

	if (event_count++ < EVENTS_MAX)
		strobe_event("garbage collection", attrs, 3);
}

/* callback(phase, info) of gc.callbacks */
PyObject *garbage_seen(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
	const char *phase = nargs == 2 && PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8AndSize(args[0], NULL)
								   : NULL;

	(void)module;
	if (!phase || !PyDict_Check(args[1]) || !strobe_recording()) {
		begun_ns = 0;
	} else if (!strcmp(phase, "start")) {
		begun_ns = sampler_now_ns();
	} else if (begun_ns) {
		uint64_t now_ns = sampler_now_ns(), took_ns = now_ns > begun_ns ? now_ns - begun_ns : 0;

		begun_ns = 0;
		if (took_ns >= LONG_NS && own_work_runs())
			Py_RETURN_NONE; /* strobe's, not the program's */
		pending_ns += took_ns;
		pending_count++;
		pending_objects += (uint64_t)number_of(args[1], "collected");
		if (took_ns >= LONG_NS)
			put_event(took_ns, args[1]);
	}
	PyErr_Clear();
	Py_RETURN_NONE;
}

static void add(const char *counter, _Atomic uint64_t *pending)
{
	uint64_t delta = atomic_exchange(pending, 0);

	if (delta)
		strobe_counter_add(counter, (int64_t)delta);
}

void garbage_flush(void)
{
	add("strobe.gc_count", &pending_count);
	add("strobe.gc_ns", &pending_ns);
	add("strobe.gc_objects", &pending_objects);
}
