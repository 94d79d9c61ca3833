/* strobe.span(): work that begins on one thread or task and ends on another. */
#include "extension.h"

struct span {
	PyObject_HEAD struct state *state;
	struct strobe_span span;
	bool open;
};

static PyObject *span_end(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
	struct span *s = (struct span *)self;
	struct strobe_attr attrs[ATTRS_MAX];
	PyObject *keep;
	size_t n;

	if (!s->open)
		Py_RETURN_NONE;
	s->open = false;
	keep = PyList_New(0);
	if (!keep)
		return NULL;
	n = attrs_from_call(s->state, args + nargs, kwnames, attrs, keep);
	strobe_span_end(&s->span, attrs, n);
	Py_DECREF(keep);
	Py_RETURN_NONE;
}

static PyObject *span_enter(PyObject *self, PyObject *unused)
{
	Py_INCREF(self);
	return self;
}

static PyObject *span_exit(PyObject *self, PyObject *args)
{
	return span_end(self, NULL, 0, NULL);
}

static void span_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_Free(self);
	Py_DECREF(type);
}

PyObject *span_new(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
	struct state *st = state_of(module);
	const char *name;
	struct span *s;

	if (nargs != 1 || kwnames) {
		PyErr_SetString(PyExc_TypeError, "span(name)");
		return NULL;
	}
	name = PyUnicode_AsUTF8AndSize(args[0], NULL);
	if (!name)
		return NULL;
	s = PyObject_New(struct span, st->span_type);
	if (!s)
		return NULL;
	s->state = st;
	s->open = records_here();
	if (s->open)
		s->span = strobe_span_begin(name);
	return (PyObject *)s;
}

static PyMethodDef span_methods[] = {
	{ "__enter__", span_enter, METH_NOARGS, NULL },
	{ "__exit__", span_exit, METH_VARARGS, NULL },
	{ "end", (PyCFunction)(void (*)(void))span_end, METH_FASTCALL | METH_KEYWORDS,
		"end(**attributes): from any thread or task" },
	{ NULL, NULL, 0, NULL },
};
static PyType_Slot span_slots[] = {
	{ Py_tp_dealloc, span_dealloc },
	{ Py_tp_methods, span_methods },
	{ Py_tp_doc, "Work that may end elsewhere than it began; made by strobe.span()." },
	{ 0, NULL },
};
static PyType_Spec span_spec = {
	.name = "strobe.Span",
	.basicsize = sizeof(struct span),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = span_slots,
};

int span_init(PyObject *module, struct state *st)
{
	st->span_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &span_spec, NULL);
	return st->span_type ? add_type(module, "Span", st->span_type) : -1;
}
