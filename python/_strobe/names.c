/* Python strings to name ids, remembered by the address of the string object: a
 * literal is one object for the life of its code. */
#include "extension.h"

static uint32_t slot_of(const void *object)
{
	return (uint32_t)((uintptr_t)object >> 4) % NAME_SLOTS;
}

/* A path that is no UTF-8 comes with surrogates: worth a readable name, not an exception. */
static uint32_t escaped_name_id(PyObject *name, const char *code)
{
	PyObject *bytes;
	uint32_t id;

	PyErr_Clear();
	bytes = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
	if (!bytes)
		return 0;
	id = strobe_name(PyBytes_AsString(bytes), code);
	Py_DECREF(bytes);
	return id;
}

uint32_t name_id(PyObject *name, PyObject *code)
{
	const char *text, *code_text = NULL;

	if (!PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError, "a name must be a str, not %R", (PyObject *)Py_TYPE(name));
		return 0;
	}
	if (code && code != Py_None) {
		if (!PyUnicode_Check(code)) {
			PyErr_Format(
				PyExc_TypeError, "a stage code must be a str such as '4c', not %R", code);
			return 0;
		}
		code_text = PyUnicode_AsUTF8AndSize(code, NULL);
		if (!code_text)
			return 0;
	}
	text = PyUnicode_AsUTF8AndSize(name, NULL);
	return text ? strobe_name(text, code_text) : escaped_name_id(name, code_text);
}

uint32_t key_id(struct state *st, PyObject *key)
{
	struct key_slot *slot = &st->keys[slot_of(key)];
	PyObject *old = slot->key;
	uint32_t id;

	if (slot->key == key)
		return slot->id;
	id = name_id(key, NULL);
	if (!id)
		return 0;
	Py_INCREF(key);
	slot->key = key;
	slot->id = id;
	Py_XDECREF(old);
	return id;
}

void names_clear(struct state *st)
{
	for (uint32_t i = 0; i < NAME_SLOTS; i++) {
		PyObject *name = st->names[i].name;
		PyObject *section = (PyObject *)st->names[i].section;
		PyObject *key = st->keys[i].key;

		st->names[i] = (struct name_slot){ NULL, NULL };
		st->keys[i] = (struct key_slot){ NULL, 0 };
		Py_XDECREF(name);
		Py_XDECREF(section);
		Py_XDECREF(key);
	}
}
