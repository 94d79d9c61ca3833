/* Large allocations of the host's memory, where the library that sees them is preloaded (python/_allocations). It asks inside of
 * malloc, with or without the GIL; the main thread says its line at its next instruction (a pending call). */
#include "../_allocations/allocations.h"
#include "sampler.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

static const struct allocations *preloaded;
static PyObject *namer; /* Python: () -> the number of the site */
static atomic_bool queued;

/* On the main thread, between two instructions. */
static int name_them(void *unused)
{
	PyObject *site = NULL;
	long number = SITE_OTHER;

	(void)unused;
	queued = false;
	if (namer)
		site = PyObject_CallNoArgs(namer);
	if (site)
		number = PyLong_AsLong(site);
	Py_XDECREF(site);
	if (PyErr_Occurred())
		PyErr_Clear();
	preloaded->name(number > 0 ? (uint32_t)number : SITE_OTHER);
	return 0;
}

static void ask(void)
{
	if (atomic_exchange(&queued, true))
		return;
	if (Py_AddPendingCall(name_them, NULL))
		queued = false; /* too many others wait; the next allocation asks again */
	else
		eval_breaker_set();
}

/* allocations_on(least_bytes, namer): whether they are seen. */
static PyObject *allocations_on(PyObject *module, PyObject *args)
{
	PyObject *given;
	Py_ssize_t least;

	if (!PyArg_ParseTuple(args, "nO", &least, &given))
		return NULL;
	preloaded = dlsym(RTLD_DEFAULT, "strobe_allocations");
	if (!preloaded || least <= 0)
		Py_RETURN_FALSE;
	eval_breaker_find();
	Py_INCREF(given);
	Py_XDECREF(namer);
	namer = given;
	preloaded->start((size_t)least, ask);
	Py_RETURN_TRUE;
}

static PyObject *allocations_off(PyObject *module, PyObject *unused)
{
	if (preloaded)
		preloaded->start(0, NULL);
	Py_CLEAR(namer);
	Py_RETURN_NONE;
}

static PyObject *listed(const struct allocation_site *sites, Py_ssize_t count)
{
	PyObject *all = PyList_New(count);

	for (Py_ssize_t i = 0; all && i < count; i++) {
		const struct allocation_site *s = &sites[i];
		PyObject *one = Py_BuildValue("(LLLLK)", (long long)s->now_bytes, (long long)s->now_count,
			(long long)s->peak_bytes, (long long)s->peak_count, (unsigned long long)s->last_us);

		if (!one || PyList_SetItem(all, i, one))
			Py_CLEAR(all);
	}
	return all;
}

/* allocations_read(count): (Unix microseconds of the peak, blocks that there was no room for, and of the first sites
 * bytes and blocks now, at the peak, and the time of the last before it). */
static PyObject *allocations_read(PyObject *module, PyObject *args)
{
	uint64_t peak_us = 0, lost_count = 0;
	struct allocation_site *sites;
	PyObject *all;
	int count;

	if (!PyArg_ParseTuple(args, "i", &count))
		return NULL;
	if (!preloaded || count < 0 || count > (int)ALLOCATION_SITES)
		Py_RETURN_NONE;
	sites = calloc((size_t)count + 1, sizeof *sites);
	if (!sites)
		return PyErr_NoMemory();
	preloaded->read(sites, (uint32_t)count, &peak_us, &lost_count);
	all = listed(sites, count);
	free(sites);
	return all ? Py_BuildValue("(KKN)", (unsigned long long)peak_us, (unsigned long long)lost_count, all)
		   : NULL;
}

PyMethodDef allocation_methods[] = {
	{ "allocations_on", allocations_on, METH_VARARGS, NULL },
	{ "allocations_off", allocations_off, METH_NOARGS, NULL },
	{ "allocations_read", allocations_read, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
