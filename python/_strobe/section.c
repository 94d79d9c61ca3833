/* strobe.section(): the zone of a `with` block. A section without attributes is
 * one object per name (and gpu=), shared by every use of it: it holds no state of a
 * single entry, so it may be nested in itself, entered by several threads and reused. */
#include "section.h"

#include <structmember.h>

static inline bool records(const struct section *s)
{
	return records_here() &&
	       (__builtin_expect(!s->kind, 1) || strobe_kind_recorded((enum strobe_kind)s->kind));
}

static __attribute__((noinline)) void put_attrs(struct section *s)
{
	Py_ssize_t n = PyTuple_Size(s->kwnames);

	for (Py_ssize_t i = 0; i < n; i++)
		attr_put(s->state, PyTuple_GetItem(s->kwnames, i), PyTuple_GetItem(s->values, i));
}

static __attribute__((noinline)) HOT_CODE void begin_timed(struct section *s, uint64_t arrived_ticks)
{
	struct here *h = &here;

	h->depth++;
	if (!s->open_count)
		s->gpu_timed = stream_wants(s->state, s->gpu, s->id);
	if (!s->gpu_timed) {
		strobe_zone_begin_id(s->id);
		return;
	}
	arrived_ticks -= h->own_ticks;
	h->own_ticks = 0;
	stream_zone_begin(s->state, s->id, arrived_ticks);
}

static HOT_CODE PyObject *section_enter(PyObject *self, PyObject *unused)
{
	struct section *s = (struct section *)self;

	if (records(s)) {
		bool timed = s->state->raw_stream || s->gpu == 1;
		uint64_t arrived_ticks = __builtin_expect(timed, 0) ? strobe_gpu_zone_arrive() : 0;

		track_follow(s->state);
		if (__builtin_expect(sections_counted != 0, 0))
			loops_section_begins();
		if (__builtin_expect(timed, 0))
			begin_timed(s, arrived_ticks);
		else
			strobe_zone_begin_id(s->id);
		if (s->kwnames)
			put_attrs(s);
		if (__builtin_expect(__atomic_load_n(&readings_edge_due, __ATOMIC_RELAXED), 0))
			readings_at_edge();
	}
	s->open_count++;
	Py_INCREF(self);
	return self;
}

/* A step or generation ends, and slow ones are watched for. */
static __attribute__((noinline)) void end_role(struct section *s)
{
	Py_ssize_t n = strobe_roles_watched() ? PyTuple_Size(s->kwnames) : 0;

	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *value = PyTuple_GetItem(s->values, i);

		if (PyLong_CheckExact(value) &&
			!PyUnicode_CompareWithASCIIString(PyTuple_GetItem(s->kwnames, i), "strobe.role"))
			strobe_role_end((enum strobe_role)PyLong_AsLong(value));
	}
	PyErr_Clear();
}

/* With CUDA up. A section that began before it did is not counted. What can be done before the zone ends is: the less
 * there is between two zones, the more of them share an event on the stream. */
static __attribute__((noinline)) HOT_CODE void end_with_cuda(struct section *s)
{
	struct here *h = &here;
	bool due;

	h->depth -= h->depth > 0;
	h->own_ticks = 0;
	due = readings_due(h->depth, s->id);
	if (s->gpu_timed)
		strobe_gpu_zone_end_arrived(s->id, STROBE_GPU_SAME_STREAM);
	else
		strobe_zone_end_id(s->id);
	if (due)
		readings_section_ended();
}

static HOT_CODE PyObject *section_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	struct section *s = (struct section *)self;

	if (s->open_count)
		s->open_count--;
	if (records(s)) {
		track_follow(s->state);
		if (__builtin_expect(sections_counted != 0, 0))
			loops_section_ends(nargs > 0 && args[0] != Py_None ? args[0] : NULL);
		if (__builtin_expect(nargs > 0 && args[0] != Py_None, 0))
			raised_put(args, nargs);
		if (__builtin_expect(memory_errors_wait, 0))
			memory_errors_tell();
		if (__builtin_expect(__atomic_load_n(&readings_edge_due, __ATOMIC_RELAXED), 0))
			readings_at_edge();
		if (s->kwnames)
			end_role(s);
		if (__builtin_expect(s->state->raw_stream != NULL || s->gpu_timed, 0))
			end_with_cuda(s);
		else
			strobe_zone_end_id(s->id);
	}
	if (!s->open_count)
		s->gpu_timed = false;
	Py_RETURN_NONE;
}

static PyObject *section_set(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
	struct section *s = (struct section *)self;
	Py_ssize_t given = kwnames ? PyTuple_Size(kwnames) : 0;

	if (nargs) {
		PyErr_SetString(PyExc_TypeError, "set() takes keyword arguments only");
		return NULL;
	}
	if (records(s)) {
		track_follow(s->state);
		for (Py_ssize_t i = 0; i < given; i++)
			attr_put(s->state, PyTuple_GetItem(kwnames, i), args[i]);
	}
	Py_RETURN_NONE;
}

/* A section decorates as well: @strobe.section("load"). */
static PyObject *section_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *module = PyImport_ImportModule("strobe._profile"), *result = NULL;

	if (module) {
		PyObject *function = PyObject_GetAttrString(module, "decorate_with");

		if (function)
			result = PyObject_CallFunction(function, "OO", self, args);
		Py_XDECREF(function);
	}
	Py_XDECREF(module);
	return result;
}

static PyObject *section_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<strobe.section %R>", ((struct section *)self)->name);
}

static int section_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct section *s = (struct section *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(s->values);
	Py_VISIT(s->enter);
	Py_VISIT(s->exit);
	Py_VISIT((PyObject *)s->variants[0]);
	Py_VISIT((PyObject *)s->variants[1]);
	return 0;
}

static int section_clear(PyObject *self)
{
	struct section *s = (struct section *)self;

	Py_CLEAR(s->values);
	Py_CLEAR(s->enter);
	Py_CLEAR(s->exit);
	Py_CLEAR(s->variants[0]);
	Py_CLEAR(s->variants[1]);
	return 0;
}

static void section_dealloc(PyObject *self)
{
	struct section *s = (struct section *)self;
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	section_clear(self);
	Py_XDECREF(s->name);
	Py_XDECREF(s->kwnames);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static PyMethodDef enter_method = { "__enter__", section_enter, METH_NOARGS, NULL };
static PyMethodDef exit_method = { "__exit__", (PyCFunction)(void (*)(void))section_exit, METH_FASTCALL,
	NULL };

/* A section that is kept keeps its bound methods too. */
bool section_bind(struct section *s)
{
	s->enter = PyCFunction_New(&enter_method, (PyObject *)s);
	s->exit = PyCFunction_New(&exit_method, (PyObject *)s);
	return s->enter && s->exit;
}

static PyMethodDef section_methods[] = {
	{ "set", (PyCFunction)(void (*)(void))section_set, METH_FASTCALL | METH_KEYWORDS,
		"set(**attributes): attributes of the zone that is open now" },
	{ NULL, NULL, 0, NULL },
};
static PyMemberDef section_members[] = {
	{ "name", T_OBJECT, offsetof(struct section, name), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};
static PyType_Slot section_slots[] = {
	{ Py_tp_dealloc, section_dealloc },
	{ Py_tp_traverse, section_traverse },
	{ Py_tp_clear, section_clear },
	{ Py_tp_repr, section_repr },
	{ Py_tp_call, section_call },
	{ Py_tp_methods, section_methods },
	{ Py_tp_members, section_members },
	{ Py_tp_doc, "A zone that lasts as long as the with block; made by strobe.section()." },
	{ 0, NULL },
};
static PyType_Spec section_spec = {
	.name = "strobe.Section",
	.basicsize = sizeof(struct section),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.slots = section_slots,
};

int section_init(PyObject *module, struct state *st)
{
	st->section_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &section_spec, NULL);
	if (!st->section_type)
		return -1;
	if (bound_add(st, st->section_type, "__enter__", &enter_method, offsetof(struct section, enter)) < 0)
		return -1;
	if (bound_add(st, st->section_type, "__exit__", &exit_method, offsetof(struct section, exit)) < 0)
		return -1;
	return add_type(module, "Section", st->section_type);
}
