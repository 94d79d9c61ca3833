/* The CUDA stream that torch launches on, asked of torch itself and only after
 * the program has initialised CUDA: strobe never does. */
#include "extension.h"

/* A built-in function taking arguments in that way, without the interpreter's
 * ceremony around the call; NULL when it is anything else. */
static PyCFunction behind(PyObject *function, int flags)
{
	if (!function || !PyCFunction_CheckExact(function) || PyCFunction_GetFlags(function) != flags)
		return NULL;
	return PyCFunction_GetFunction(function);
}

static PyObject *device_now(struct state *st)
{
	if (!st->get_device) {
		Py_INCREF(st->device_zero);
		return st->device_zero;
	}
	if (st->get_device_c)
		return st->get_device_c(PyCFunction_GetSelf(st->get_device), NULL);
	return PyObject_CallFunctionObjArgs(st->get_device, NULL);
}

/* Without torch: the default stream. */
static void *stream_now(struct state *st)
{
	PyObject *device, *stream = NULL;
	void *address = NULL;

	if (!st->raw_stream)
		return NULL;
	device = device_now(st);
	if (device && st->raw_stream_c)
		stream = st->raw_stream_c(PyCFunction_GetSelf(st->raw_stream), device);
	else if (device)
		stream = PyObject_CallFunctionObjArgs(st->raw_stream, device, NULL);
	Py_XDECREF(device);
	if (stream)
		address = PyLong_AsVoidPtr(stream);
	Py_XDECREF(stream);
	if (__builtin_expect(!stream || !address, 0))
		PyErr_Clear();
	return address;
}

bool stream_wants(const struct state *st, int asked, uint32_t name)
{
	if (asked == 1)
		return !st->gpu_off;
	return st->raw_stream && asked != 0 && strobe_gpu_zone_worth(name);
}

void stream_zone_begin(struct state *st, uint32_t name)
{
	uint64_t arrived_ticks = strobe_gpu_zone_arrive() - here.own_ticks;

	here.own_ticks = 0;
	strobe_gpu_zone_begin_arrived(name, stream_now(st), arrived_ticks);
}

/* (raw_stream, get_device or None), or (None, None) to take no GPU time. */
PyObject *stream_install(PyObject *module, PyObject *args)
{
	struct state *st = state_of(module);
	PyObject *raw_stream, *get_device;

	if (!PyArg_ParseTuple(args, "OO", &raw_stream, &get_device))
		return NULL;
	Py_XDECREF(st->raw_stream);
	Py_XDECREF(st->get_device);
	st->gpu_off = raw_stream == Py_None;
	st->raw_stream = st->gpu_off ? NULL : raw_stream;
	st->get_device = get_device == Py_None ? NULL : get_device;
	st->raw_stream_c = behind(st->raw_stream, METH_O);
	st->get_device_c = behind(st->get_device, METH_NOARGS);
	Py_XINCREF(st->raw_stream);
	Py_XINCREF(st->get_device);
	Py_RETURN_NONE;
}
