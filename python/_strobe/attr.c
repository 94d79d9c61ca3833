/* Python values to attributes. A value is never worth an exception in the
 * pipeline, nor a wait for the GPU: what is no plain number or string goes
 * through strobe._values.plain, which never touches a device. */
#include "extension.h"

#include <string.h>

/* New reference to an int, float or str; NULL without an exception: leave it out. */
static PyObject *plain(struct state *st, PyObject *value)
{
	PyObject *result = NULL;

	if (PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value)) {
		Py_INCREF(value);
		return value;
	}
	if (value == Py_None)
		return NULL;
	if (st->plain)
		result = PyObject_CallFunctionObjArgs(st->plain, value, NULL);
	if (!result)
		PyErr_Clear();
	if (result && !PyLong_Check(result) && !PyFloat_Check(result) && !PyUnicode_Check(result)) {
		Py_DECREF(result);
		result = NULL;
	}
	return result;
}

static int64_t clamped(PyObject *number)
{
	int overflow;
	long long value = PyLong_AsLongLongAndOverflow(number, &overflow);

	if (overflow)
		return overflow > 0 ? INT64_MAX : INT64_MIN;
	return value;
}

void attr_put(struct state *st, PyObject *key, PyObject *value)
{
	PyObject *kept = plain(st, value);
	uint32_t id = kept ? key_id(st, key) : 0;

	if (id && PyLong_Check(kept)) {
		strobe_attr_int_id(id, clamped(kept));
	} else if (id && PyFloat_Check(kept)) {
		strobe_attr_float_id(id, PyFloat_AsDouble(kept));
	} else if (id) {
		const char *text = PyUnicode_AsUTF8AndSize(kept, NULL);

		if (text)
			strobe_attr_string_id(id, text);
	}
	Py_XDECREF(kept);
	PyErr_Clear();
}

/* `keep` takes the reference that the strings in *out_attr live on. */
static bool fill(
	struct state *st, PyObject *key, PyObject *value, struct strobe_attr *out_attr, PyObject *keep)
{
	PyObject *kept = plain(st, value);
	const char *name = kept ? PyUnicode_AsUTF8AndSize(key, NULL) : NULL;
	bool filled = false;

	if (name && PyList_Append(keep, kept) == 0) {
		out_attr->key = name;
		filled = true;
		if (PyBool_Check(value)) {
			out_attr->type = STROBE_TYPE_BOOL;
			out_attr->value.i = value == Py_True;
		} else if (PyLong_Check(kept)) {
			out_attr->type = STROBE_TYPE_INT;
			out_attr->value.i = clamped(kept);
		} else if (PyFloat_Check(kept)) {
			out_attr->type = STROBE_TYPE_FLOAT;
			out_attr->value.f = PyFloat_AsDouble(kept);
		} else {
			out_attr->type = STROBE_TYPE_STRING;
			out_attr->value.s = PyUnicode_AsUTF8AndSize(kept, NULL);
			filled = out_attr->value.s != NULL;
		}
	}
	Py_XDECREF(kept);
	PyErr_Clear();
	return filled;
}

size_t attrs_from_call(struct state *st, PyObject *const *values, PyObject *kwnames,
	struct strobe_attr *out_attrs, PyObject *keep)
{
	Py_ssize_t given = kwnames ? PyTuple_Size(kwnames) : 0;
	size_t n = 0;

	for (Py_ssize_t i = 0; i < given && n < ATTRS_MAX; i++)
		n += fill(st, PyTuple_GetItem(kwnames, i), values[i], &out_attrs[n], keep);
	return n;
}

size_t attrs_from_dict(struct state *st, PyObject *dict, struct strobe_attr *out_attrs, PyObject *keep)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;
	size_t n = 0;

	if (!dict || !PyDict_Check(dict))
		return 0;
	while (n < ATTRS_MAX && PyDict_Next(dict, &at, &key, &value)) {
		if (PyUnicode_Check(key))
			n += fill(st, key, value, &out_attrs[n], keep);
	}
	return n;
}
