/* The exception that ends a zone. */
#include "extension.h"

/* The zone says which exception ended it. The ends of iterators are no errors. */
static void put_error(PyObject *type)
{
	PyObject *name;
	const char *text;

	if (type == PyExc_StopIteration || type == PyExc_StopAsyncIteration || type == PyExc_GeneratorExit)
		return;
	name = PyObject_GetAttrString(type, "__name__");
	text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
	if (text)
		strobe_attr_string("error", text);
	PyErr_Clear();
	Py_XDECREF(name);
}

/* An exception that may say that memory ran out is looked at in Python: which line asked, and what held it. */
static void look_at_error(PyObject *type, PyObject *error, PyObject *trace)
{
	PyObject *module, *result;

	if (!PyErr_GivenExceptionMatches(type, PyExc_MemoryError) &&
		!PyErr_GivenExceptionMatches(type, PyExc_RuntimeError))
		return;
	module = PyImport_ImportModule("strobe._memory.out_of_memory");
	result = module ? PyObject_CallMethod(module, "raised", "OO", error, trace) : NULL;
	PyErr_Clear();
	Py_XDECREF(result);
	Py_XDECREF(module);
}

/* Where an exception was raised: an address may be another one's next, its place in the code is not. */
struct place {
	const void *code; /* compared, never followed */
	long at;
};

/* The zone that the thread's last exception left first. */
static __thread struct {
	const void *error; /* compared, never followed */
	struct place place;
	PyObject *zone; /* its name */
} from;

static PyObject *attribute(PyObject *of, const char *name)
{
	PyObject *value = of && of != Py_None ? PyObject_GetAttrString(of, name) : NULL;

	PyErr_Clear();
	return value;
}

/* The innermost one of a traceback. */
static struct place place_of(PyObject *trace)
{
	PyObject *next, *frame, *code, *at;
	struct place place;

	Py_INCREF(trace);
	while ((next = attribute(trace, "tb_next")) && next != Py_None) {
		Py_DECREF(trace);
		trace = next;
	}
	Py_XDECREF(next);
	frame = attribute(trace, "tb_frame");
	code = attribute(frame, "f_code");
	at = attribute(trace, "tb_lasti");
	place = (struct place){ code, at ? PyLong_AsLong(at) : -1 };
	PyErr_Clear();
	Py_XDECREF(at);
	Py_XDECREF(code);
	Py_XDECREF(frame);
	Py_DECREF(trace);
	return place;
}

static bool is_the_last(const PyObject *error, struct place place)
{
	return from.zone && error == from.error && place.code == from.place.code && place.at == from.place.at;
}

static void note_zone(PyObject *zone, PyObject *error, PyObject *trace)
{
	struct place place = place_of(trace);
	PyObject *old = from.zone;

	if (is_the_last(error, place))
		return;
	Py_INCREF(zone);
	from.zone = zone;
	from.error = error;
	from.place = place;
	Py_XDECREF(old);
}

void raised_put(PyObject *zone, PyObject *const *args, Py_ssize_t nargs)
{
	put_error(args[0]);
	if (nargs < 3)
		return;
	note_zone(zone, args[1], args[2]);
	look_at_error(args[0], args[1], args[2]);
}

/* raised_in(error, trace): the innermost zone that the exception has left; None: it has left none. */
static PyObject *raised_in(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
	if (nargs != 2 || !is_the_last(args[0], place_of(args[1])))
		Py_RETURN_NONE;
	Py_INCREF(from.zone);
	return from.zone;
}

PyMethodDef raised_methods[] = {
	{ "raised_in", (PyCFunction)(void (*)(void))raised_in, METH_FASTCALL, NULL },
	{ NULL, NULL, 0, NULL },
};
