/* The CUDA stream that torch launches on, asked of torch itself and only after
 * the program has initialised CUDA: strobe never does. */
#include "extension.h"

void *stream_current(struct state *st)
{
	PyObject *device = st->device_zero, *stream;
	void *address = NULL;

	if (!st->raw_stream)
		return NULL;
	Py_XINCREF(device);
	if (st->get_device) {
		Py_XDECREF(device);
		device = PyObject_CallFunctionObjArgs(st->get_device, NULL);
	}
	stream = device ? PyObject_CallFunctionObjArgs(st->raw_stream, device, NULL) : NULL;
	Py_XDECREF(device);
	if (stream)
		address = PyLong_AsVoidPtr(stream);
	Py_XDECREF(stream);
	PyErr_Clear();
	return address;
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
	st->raw_stream = raw_stream == Py_None ? NULL : raw_stream;
	st->get_device = get_device == Py_None ? NULL : get_device;
	Py_XINCREF(st->raw_stream);
	Py_XINCREF(st->get_device);
	Py_RETURN_NONE;
}
