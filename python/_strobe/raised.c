/* The exception that ends a zone. */
#include "extension.h"

bool raised_is_error(PyObject *type)
{
	return type != PyExc_StopIteration && type != PyExc_StopAsyncIteration && type != PyExc_GeneratorExit;
}

/* The zone says which exception ended it. */
static void put_error(PyObject *type)
{
	PyObject *name;
	const char *text;

	if (!raised_is_error(type))
		return;
	name = PyObject_GetAttrString(type, "__name__");
	text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	if (text)
		strobe_attr_string("error", text);
	PyErr_Clear();
	Py_XDECREF(name);
}

/* An exception that may say that memory ran out is looked at in Python: which line asked, and what held it. Python loads
 * that part with torch. Of a program without torch it is loaded here, and of no other error: an import may fail, or wait
 * for another thread's, while the program's exception is on its way. */
static void look_at_error(PyObject *type, PyObject *error, PyObject *trace)
{
	PyObject *module, *result;

	if (!memory_error_may_be(type, error))
		return;
	module = PyImport_ImportModule("strobe._memory.out_of_memory");
	result = module ? PyObject_CallMethod(module, "raised", "OO", error, trace) : NULL;
	PyErr_Clear();
	Py_XDECREF(result);
	Py_XDECREF(module);
}

void raised_put(PyObject *const *args, Py_ssize_t nargs)
{
	put_error(args[0]);
	if (nargs > 2)
		look_at_error(args[0], args[1], args[2]);
}
