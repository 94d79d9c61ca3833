/* Errors that say that memory ran out, seen where they are made, so that one that the program catches inside of a section
 * is known too. CPython 3.12 and newer tell of every exception that is raised (sys.monitoring); before that the function
 * that makes MemoryError and RuntimeError objects is replaced by one that looks at what was made. Python
 * reads an error at the thread's next instruction, or before a section ends; until then it is kept alive. */
#include "extension.h"

#include <string.h>

enum { WAITING_MOST = 4, TYPE_WORDS = 48 /* any type has more */, OFFSET_NONE = 0 };

static PyObject *waiting[WAITING_MOST]; /* with the GIL */
static uint32_t waiting_count;
bool memory_errors_wait;
static bool watching;
static newfunc made_memory, made_any; /* what made them before */
static PyInterpreterState *interpreter;

/* ---- what is seen ---- */

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

static PyObject *make_memory(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *error = made_memory(type, args, kwargs);

	if (error && watching && STROBE_ON_() && PyInterpreterState_Get() == interpreter)
		put(error);
	return error;
}

static PyObject *make_any(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *error = made_any(type, args, kwargs);

	if (error && watching && STROBE_ON_() && PyType_IsSubtype(type, (PyTypeObject *)PyExc_RuntimeError) &&
		PyInterpreterState_Get() == interpreter && may_say_so(args))
		put(error);
	return error;
}

/* ---- before CPython 3.12 ---- */

/* The one word of a type that is its tp_new, which the stable ABI reads and does not write; OFFSET_NONE: not found. */
static size_t offset_of_new(PyTypeObject *type)
{
	void *make = PyType_GetSlot(type, Py_tp_new), **words = (void **)(void *)type;
	size_t found = OFFSET_NONE;

	PyErr_Clear(); /* CPython 3.9 does not tell of a static type */
	for (size_t i = 1; make && i < TYPE_WORDS; i++)
		if (words[i] == make)
			found = found == OFFSET_NONE ? i : TYPE_WORDS;
	return found < TYPE_WORDS ? found : OFFSET_NONE;
}

static bool replace(PyTypeObject *type, size_t offset, newfunc before, newfunc after)
{
	newfunc *slot = (newfunc *)(void *)((void **)(void *)type + offset);

	if (*slot != before)
		return false;
	*slot = after;
	return true;
}

/* Types that are made from now on have it from the one they are made from. All that had one function before have one
 * after: Python compares them where a class calls the __new__ of one that is not its next ("Exception.__new__(cls)"). */
static void replace_in_all(PyObject *type, size_t offset, newfunc before, newfunc after)
{
	PyObject *made = NULL;
	Py_ssize_t count;

	if (!replace((PyTypeObject *)type, offset, before, after))
		return; /* it has a function of its own, and so have those that are made from it */
	made = PyObject_CallMethod(type, "__subclasses__", NULL);
	count = made && PyList_Check(made) ? PyList_Size(made) : 0;
	for (Py_ssize_t i = 0; i < count; i++)
		replace_in_all(PyList_GetItem(made, i), offset, before, after);
	PyErr_Clear();
	Py_XDECREF(made);
}

/* memory_errors_watch(): whether errors are seen where they are made. For CPython before 3.12; once. */
static PyObject *memory_errors_watch(PyObject *module, PyObject *unused)
{
	PyTypeObject *memory = (PyTypeObject *)PyExc_MemoryError, *any = (PyTypeObject *)PyExc_BaseException;
	size_t offset = offset_of_new(memory);

	if (!watching && offset != OFFSET_NONE && offset_of_new(any) == offset &&
		offset_of_new(&PyLong_Type) == offset) {
		made_memory = (newfunc)PyType_GetSlot(memory, Py_tp_new);
		made_any = (newfunc)PyType_GetSlot(any, Py_tp_new);
		interpreter = PyInterpreterState_Get();
		watching = true;
		replace_in_all(PyExc_MemoryError, offset, made_memory, make_memory);
		replace_in_all(PyExc_BaseException, offset, made_any, make_any);
	}
	return PyBool_FromLong(watching);
}

/* memory_error_raised(code, offset, error): what sys.monitoring calls for every exception. */
static PyObject *memory_error_raised(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
	PyObject *error = nargs == 3 ? args[2] : NULL, *words;

	if (!error || !STROBE_ON_())
		Py_RETURN_NONE;
	if (PyErr_GivenExceptionMatches(error, PyExc_MemoryError)) {
		put(error);
	} else if (PyErr_GivenExceptionMatches(error, PyExc_RuntimeError)) {
		words = PyObject_GetAttrString(error, "args");
		if (may_say_so(words))
			put(error);
		PyErr_Clear();
		Py_XDECREF(words);
	}
	Py_RETURN_NONE;
}

PyMethodDef memory_error_methods[] = {
	{ "memory_errors_watch", memory_errors_watch, METH_NOARGS, NULL },
	{ "memory_error_raised", (PyCFunction)(void (*)(void))memory_error_raised, METH_FASTCALL, NULL },
	{ NULL, NULL, 0, NULL },
};
