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

/* A new reference. */
static __attribute__((noinline)) PyObject *device_now(struct state *st)
{
	if (st->get_device_c)
		return st->get_device_c(PyCFunction_GetSelf(st->get_device), NULL);
	return PyObject_CallFunctionObjArgs(st->get_device, NULL);
}

/* Takes the reference. */
static __attribute__((noinline)) void *address_of(PyObject *stream)
{
	void *address = stream ? PyLong_AsVoidPtr(stream) : NULL;

	Py_XDECREF(stream);
	if (!address)
		PyErr_Clear();
	return address;
}

static inline PyObject *raw_stream(struct state *st, PyObject *device)
{
	if (__builtin_expect(st->raw_stream_c != NULL, 1))
		return st->raw_stream_c(st->raw_stream_self, device);
	return PyObject_CallFunctionObjArgs(st->raw_stream, device, NULL);
}

/* Without torch: the default stream. */
static inline void *stream_now(struct state *st)
{
	PyObject *device = st->device_zero, *stream = NULL;

	if (__builtin_expect(!st->raw_stream, 0))
		return NULL;
	if (__builtin_expect(st->get_device != NULL, 0))
		device = device_now(st);
	if (device)
		stream = raw_stream(st, device);
	if (__builtin_expect(st->get_device != NULL, 0))
		Py_XDECREF(device);
	if (__builtin_expect(stream == st->device_zero, 1)) { /* the default stream, without any ceremony */
		Py_DECREF(stream);
		return NULL;
	}
	return address_of(stream);
}

HOT_CODE bool stream_wants(const struct state *st, int asked, uint32_t name)
{
	if (asked == 1)
		return !st->gpu_off;
	return st->raw_stream && asked != 0 && strobe_gpu_zone_worth(name);
}

HOT_CODE void stream_zone_begin(struct state *st, uint32_t name, uint64_t arrived_ticks)
{
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
	st->raw_stream_self = st->raw_stream_c ? PyCFunction_GetSelf(st->raw_stream) : NULL;
	st->get_device_c = behind(st->get_device, METH_NOARGS);
	Py_XINCREF(st->raw_stream);
	Py_XINCREF(st->get_device);
	Py_RETURN_NONE;
}
