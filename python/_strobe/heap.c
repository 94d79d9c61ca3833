/* Objects that the collector knows, looked through without letting another thread run. A tuple that is being
 * made must have one reference when it is done ("bad argument to internal function" otherwise): a list of all
 * objects that stays while other threads run breaks them. Here it is gone before they do. */
#include "extension.h"

/* The list that the collector's function gives; NULL with an error set. */
static PyObject *asked(const char *function, PyObject *argument)
{
	PyObject *gc = PyImport_ImportModule("gc"), *found = NULL;

	if (gc)
		found = argument ? PyObject_CallMethod(gc, function, "O", argument)
				 : PyObject_CallMethod(gc, function, NULL);
	Py_XDECREF(gc);
	if (found && !PyList_Check(found)) {
		Py_DECREF(found);
		PyErr_SetString(PyExc_TypeError, "the collector gives no list");
		return NULL;
	}
	return found;
}

static int is_one_of(PyObject *object, PyObject *kinds)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(kinds); i++)
		if (PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)PyTuple_GetItem(kinds, i)))
			return 1;
	return 0;
}

static int all_are_types(PyObject *kinds)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(kinds); i++)
		if (!PyType_Check(PyTuple_GetItem(kinds, i)))
			return 0;
	return 1;
}

/* What is (wanted) or is not of these kinds. Takes all over. */
static PyObject *sift(PyObject *all, PyObject *kinds, int wanted)
{
	PyObject *kept = PyList_New(0);

	for (Py_ssize_t i = 0; kept && i < PyList_Size(all); i++) {
		PyObject *one = PyList_GetItem(all, i); /* borrowed */

		if (is_one_of(one, kinds) == wanted && PyList_Append(kept, one))
			Py_CLEAR(kept);
	}
	Py_DECREF(all);
	return kept;
}

struct search {
	PyObject *kinds, *kept;
	int failed;
};

static int add_untracked(PyObject *one, void *search)
{
	struct search *s = search;

	if (!s->failed && is_one_of(one, s->kinds) && !PyObject_GC_IsTracked(one))
		s->failed = PyList_Append(s->kept, one) != 0;
	return s->failed;
}

/* Before Python 3.10 a type that is written in C does not give its slots: of these a dictionary alone is looked into. */
static void look_into(PyObject *one, struct search *s)
{
	traverseproc traverse;
	PyObject *value; /* borrowed */
	Py_ssize_t at = 0;

	if (PyDict_Check(one)) {
		while (!s->failed && PyDict_Next(one, &at, NULL, &value))
			add_untracked(value, s);
		return;
	}
	traverse = (traverseproc)PyType_GetSlot(Py_TYPE(one), Py_tp_traverse);
	if (traverse)
		traverse(one, add_untracked, s);
	else
		PyErr_Clear();
}

/* What is of these kinds, also what the collector does not know: until Python 3.14 a dictionary of what refers to nothing (arrays,
 * bytes) is not among its objects, and only what it lies in refers to it. Takes all over. */
static PyObject *sift_with_untracked(PyObject *all, PyObject *kinds)
{
	struct search s = { kinds, PyList_New(0), 0 };
	PyObject *kept = NULL;

	for (Py_ssize_t i = 0; s.kept && !s.failed && i < PyList_Size(all); i++)
		look_into(PyList_GetItem(all, i), &s); /* borrowed */
	if (!s.kept || s.failed) {
		Py_XDECREF(s.kept);
		Py_DECREF(all);
		return NULL;
	}
	kept = sift(all, kinds, 1);
	if (kept && PyList_SetSlice(kept, 0, 0, s.kept))
		Py_CLEAR(kept);
	Py_DECREF(s.kept);
	return kept;
}

/* tracked(kinds, most): the collector's objects of these kinds, and those that lie in its objects; None: it has more objects than
 * most. */
static PyObject *tracked(PyObject *module, PyObject *args)
{
	PyObject *kinds, *all;
	Py_ssize_t most;

	if (!PyArg_ParseTuple(args, "O!n", &PyTuple_Type, &kinds, &most))
		return NULL;
	if (!all_are_types(kinds)) {
		PyErr_SetString(PyExc_TypeError, "kinds must be a tuple of types");
		return NULL;
	}
	all = asked("get_objects", NULL);
	if (!all)
		return NULL;
	if (PyList_Size(all) > most) {
		Py_DECREF(all);
		Py_RETURN_NONE;
	}
	return sift_with_untracked(all, kinds);
}

/* owners(object): what refers to it, but for tuples. */
static PyObject *owners(PyObject *module, PyObject *object)
{
	PyObject *tuples = PyTuple_Pack(1, (PyObject *)&PyTuple_Type), *all = NULL, *kept = NULL;

	if (tuples)
		all = asked("get_referrers", object);
	if (all)
		kept = sift(all, tuples, 0);
	Py_XDECREF(tuples);
	return kept;
}

PyMethodDef heap_methods[] = {
	{ "tracked", tracked, METH_VARARGS, NULL },
	{ "owners", owners, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};
