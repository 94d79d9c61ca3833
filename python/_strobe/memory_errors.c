/* Errors that say that memory ran out, seen where they are raised, so that one that the program catches inside of a section
 * is known too. CPython 3.12 and newer tell of every exception that is raised (sys.monitoring); before that nothing does, and
 * nothing of Python's is changed for it. An error is read at the thread's next instruction, or before a section
 * ends; until then it is kept alive. */
#include "extension.h"

#include <string.h>

enum { WAITING_MOST = 4 };

static PyObject *waiting[WAITING_MOST]; /* with the GIL */
static uint32_t waiting_count;
HOT_DATA bool memory_errors_wait;

void memory_errors_tell(void)
{
	PyObject *told[WAITING_MOST], *type, *value, *trace, *module;
	uint32_t count = waiting_count;

	memcpy(told, waiting, sizeof told);
	waiting_count = 0;
	memory_errors_wait = false;
	if (!count)
		return;
	PyErr_Fetch(&type, &value, &trace);
	module = PyImport_ImportModule("strobe._memory.out_of_memory");
	for (uint32_t i = 0; i < count; i++) {
		PyObject *result = module ? PyObject_CallMethod(module, "caught", "O", told[i]) : NULL;

		PyErr_Clear();
		Py_XDECREF(result);
		Py_DECREF(told[i]);
	}
	PyErr_Clear();
	Py_XDECREF(module);
	PyErr_Restore(type, value, trace);
}

static int tell_later(void *unused)
{
	(void)unused;
	memory_errors_tell();
	return 0;
}

static void put(PyObject *error)
{
	for (uint32_t i = 0; i < waiting_count; i++)
		if (waiting[i] == error)
			return;
	if (waiting_count == WAITING_MOST || Py_AddPendingCall(tell_later, NULL))
		return;
	Py_INCREF(error);
	waiting[waiting_count++] = error;
	memory_errors_wait = true;
}

/* As WORDS of out_of_memory.py has them. No more than these: a deadlock that Python's imports see and solve names modules
 * ("_memory"), and nothing may be imported in the middle of that. */
static bool may_say_so(PyObject *args)
{
	static const char *const words[] = { "out of memory", "can't allocate memory",
		"cannot allocate memory", "unable to allocate", "bad_alloc" };
	PyObject *first = args && PyTuple_Check(args) && PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0)
										: NULL;
	const char *text = first && PyUnicode_Check(first) ? PyUnicode_AsUTF8AndSize(first, NULL) : NULL;

	if (!text)
		PyErr_Clear();
	for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

bool memory_error_may_be(PyObject *type, PyObject *error)
{
	PyObject *words;
	bool may;

	if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError))
		return true;
	if (!PyErr_GivenExceptionMatches(type, PyExc_RuntimeError))
		return false;
	words = PyObject_GetAttrString(error, "args");
	may = may_say_so(words);
	PyErr_Clear();
	Py_XDECREF(words);
	return may;
}

/* memory_error_raised(code, offset, error): what sys.monitoring calls for every exception. */
static PyObject *memory_error_raised(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
	PyObject *error = nargs == 3 ? args[2] : NULL;

	if (error && STROBE_ON_() && memory_error_may_be(error, error))
		put(error);
	Py_RETURN_NONE;
}

PyMethodDef memory_error_methods[] = {
	{ "memory_error_raised", (PyCFunction)(void (*)(void))memory_error_raised, METH_FASTCALL, NULL },
	{ NULL, NULL, 0, NULL },
};
