/* How many sections and turns of loops are open inside a place of the program, by thread and task: what began
 * a zone there knows by it whether the zone is the innermost. */
#include "extension.h"

struct inside {
	PyObject_HEAD unsigned long thread;
	uint32_t track;
	uint32_t count;
	struct inside *outer;
};

HOT_DATA uint32_t sections_counted; /* loops and places that are open; with the GIL */
static struct inside *innermost; /* of all threads, the newest first; with the GIL */

static struct inside *here_from(struct inside *i)
{
	while (i && (i->thread != this_thread() || i->track != here.track))
		i = i->outer;
	return i;
}

void inside_begins(void)
{
	struct inside *i = here_from(innermost);

	if (i)
		i->count++;
}

void inside_ends(void)
{
	struct inside *i = here_from(innermost);

	while (i && !i->count) /* it began before the place did */
		i = here_from(i->outer);
	if (i)
		i->count--;
}

/* inside(): counts from here on, until it is closed */
PyObject *inside_new(PyObject *module, PyObject *unused)
{
	struct state *st = state_of(module);
	struct inside *i = PyObject_New(struct inside, st->inside_type);

	if (!i)
		return NULL;
	track_follow(st);
	i->thread = this_thread();
	i->track = here.track;
	i->count = 0;
	i->outer = innermost;
	innermost = i;
	sections_counted++;
	return (PyObject *)i;
}

static void forget(struct inside *i)
{
	struct inside **at = &innermost;

	while (*at && *at != i)
		at = &(*at)->outer;
	if (!*at)
		return;
	*at = i->outer;
	sections_counted--;
}

static PyObject *inside_close(PyObject *self, PyObject *unused)
{
	forget((struct inside *)self);
	Py_RETURN_NONE;
}

static PyObject *inside_count(PyObject *self, void *closure)
{
	return PyLong_FromUnsignedLong(((struct inside *)self)->count);
}

static void inside_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	forget((struct inside *)self);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyMethodDef inside_methods[] = {
	{ "close", inside_close, METH_NOARGS, "close(): counts no longer" },
	{ NULL, NULL, 0, NULL },
};
static PyGetSetDef inside_values[] = {
	{ "count", inside_count, NULL, "sections that are open inside", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot inside_slots[] = {
	{ Py_tp_dealloc, inside_dealloc },
	{ Py_tp_methods, inside_methods },
	{ Py_tp_getset, inside_values },
	{ 0, NULL },
};
static PyType_Spec inside_spec = {
	.name = "strobe.Inside",
	.basicsize = sizeof(struct inside),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = inside_slots,
};

int inside_init(PyObject *module, struct state *st)
{
	st->inside_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &inside_spec, NULL);
	return st->inside_type ? 0 : -1;
}
