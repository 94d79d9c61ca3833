/* Zones stay with their task. CPython keeps the current contextvars context in
 * the thread state, and every asyncio task has its own: when the pointer differs
 * from the one at the thread's last zone, the task may have changed. Where that
 * field lies is not part of the stable ABI, so it is found once, by looking. */
#include "extension.h"

__thread struct here here HOT_THREAD;
HOT_DATA struct last_seen last_seen;
HOT_DATA long context_offset = -1;

/* The thread's context is kept alive while it is remembered: otherwise a new one
 * at the same address would pass for it. The thread's own dict holds it, so that
 * it goes when the thread goes. */
static void remember(PyObject *context)
{
	PyObject *dict = PyThreadState_GetDict();

	if (!dict)
		return;
	if (PyDict_SetItemString(dict, "strobe.context", context ? context : Py_None) < 0)
		PyErr_Clear();
}

void track_switch(struct state *st, PyObject *context)
{
	PyObject *type, *value, *trace, *found;
	uint32_t track = 0;

	PyErr_Fetch(&type, &value, &trace);
	here.context = context;
	remember(context);
	if (context && st->track_of) {
		found = PyObject_CallFunctionObjArgs(st->track_of, NULL);
		if (found)
			track = (uint32_t)PyLong_AsUnsignedLong(found);
		if (PyErr_Occurred()) {
			PyErr_Clear();
			track = 0;
		}
		Py_XDECREF(found);
	}
	if (track != here.track) {
		here.track = track;
		strobe_track_switch(track);
	}
	PyErr_Restore(type, value, trace);
}

/* After a fork, or when a session starts: tracks are named anew. */
PyObject *track_forget(PyObject *module, PyObject *unused)
{
	here.context = NULL;
	last_seen = (struct last_seen){ NULL, NULL };
	if (here.track)
		strobe_track_switch(0);
	here.track = 0;
	Py_RETURN_NONE;
}

/* ---- finding the field ---- */

/* PyThreadState is at least this large in 3.9 and 3.10; larger since. */
#define PROBE_WORDS 34

struct probe {
	PyObject *context;
	uint64_t words; /* bit i: word i held the context every time so far */
};

static PyObject *look(PyObject *capsule, PyObject *unused)
{
	struct probe *p = PyCapsule_GetPointer(capsule, NULL);
	PyObject **words = (PyObject **)PyThreadState_Get();

	if (!p)
		return NULL;
	for (int i = 0; i < PROBE_WORDS; i++) {
		if (words[i] != p->context)
			p->words &= ~(UINT64_C(1) << i);
	}
	Py_RETURN_NONE;
}

static PyMethodDef look_method = { "look", look, METH_NOARGS, NULL };

static int look_inside(PyObject *contextvars, struct probe *p)
{
	PyObject *context = PyObject_CallMethod(contextvars, "Context", NULL);
	PyObject *capsule = NULL, *function = NULL, *result = NULL;

	p->context = context;
	if (context)
		capsule = PyCapsule_New(p, NULL, NULL);
	if (capsule)
		function = PyCFunction_New(&look_method, capsule);
	if (function)
		result = PyObject_CallMethod(context, "run", "O", function);
	Py_XDECREF(function);
	Py_XDECREF(capsule);
	Py_XDECREF(context);
	Py_XDECREF(result);
	return result ? 0 : -1;
}

int track_init(PyObject *module)
{
	struct probe p = { NULL, ~UINT64_C(0) };
	PyObject *contextvars = PyImport_ImportModule("contextvars");

	if (!contextvars)
		return -1;
	for (int i = 0; i < 3; i++) {
		if (look_inside(contextvars, &p) < 0) {
			Py_DECREF(contextvars);
			return -1;
		}
	}
	Py_DECREF(contextvars);
	p.words &= (UINT64_C(1) << PROBE_WORDS) - 1;
	if (p.words && !(p.words & (p.words - 1)))
		context_offset = __builtin_ctzll(p.words) * (long)sizeof(void *);
	return 0;
}
