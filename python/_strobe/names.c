/* Python strings to name ids, remembered by the address of the string object: a
 * literal is one object for the life of its code. */
#include "extension.h"

static uint32_t slot_of(const void *object)
{
	return (uint32_t)((uintptr_t)object >> 4) % NAME_SLOTS;
}

uint32_t name_id(PyObject *name, PyObject *code)
{
	const char *text, *code_text = NULL;

	text = PyUnicode_AsUTF8AndSize(name, NULL);
	if (!text)
		return 0;
	if (code && code != Py_None) {
		code_text = PyUnicode_AsUTF8AndSize(code, NULL);
		if (!code_text)
			return 0;
	}
	return strobe_name(text, code_text);
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
