/* Methods bound once. Each `with` looks __enter__ and __exit__ up and binds them,
 * which makes and frees two objects; this descriptor hands out bound functions
 * that the instance keeps, so that a warm section allocates nothing at all. */
#include "extension.h"

struct bound {
	PyObject_HEAD PyMethodDef *method;
	Py_ssize_t offset; /* of a PyObject * in the instance */
};

static PyObject *bound_get(PyObject *self, PyObject *object, PyObject *type)
{
	struct bound *b = (struct bound *)self;
	PyObject **kept;

	if (!object) {
		Py_INCREF(self);
		return self;
	}
	kept = (PyObject **)((char *)object + b->offset);
	if (__builtin_expect(!*kept, 0))
		return PyCFunction_New(b->method, object);
	Py_INCREF(*kept);
	return *kept;
}

/* Section.__enter__(section), as contextlib.ExitStack calls it. */
static PyObject *bound_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *object, *rest, *function, *result = NULL;

	if (PyTuple_Size(args) < 1) {
		PyErr_SetString(PyExc_TypeError, "the method needs an object");
		return NULL;
	}
	object = PyTuple_GetItem(args, 0);
	rest = PyTuple_GetSlice(args, 1, PyTuple_Size(args));
	function = rest ? PyCFunction_New(((struct bound *)self)->method, object) : NULL;
	if (function)
		result = PyObject_Call(function, rest, kwargs);
	Py_XDECREF(function);
	Py_XDECREF(rest);
	return result;
}

static void bound_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_Free(self);
	Py_DECREF(type);
}

static PyType_Slot bound_slots[] = {
	{ Py_tp_descr_get, bound_get },
	{ Py_tp_call, bound_call },
	{ Py_tp_dealloc, bound_dealloc },
	{ 0, NULL },
};
static PyType_Spec bound_spec = {
	.name = "strobe._strobe.BoundOnce",
	.basicsize = sizeof(struct bound),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = bound_slots,
};

int bound_init(PyObject *module, struct state *st)
{
	st->bound_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bound_spec, NULL);
	return st->bound_type ? 0 : -1;
}

int bound_add(struct state *st, PyTypeObject *type, const char *name, PyMethodDef *method, Py_ssize_t offset)
{
	struct bound *b = PyObject_New(struct bound, st->bound_type);
	int error;

	if (!b)
		return -1;
	b->method = method;
	b->offset = offset;
	error = PyObject_SetAttrString((PyObject *)type, name, (PyObject *)b);
	Py_DECREF((PyObject *)b);
	return error;
}
