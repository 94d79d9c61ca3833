/* strobe.section(): the zone of a `with` block. A section without attributes is
 * one object per name (and gpu=), shared by every use of it: it holds no state of a
 * single entry, so it may be nested in itself, entered by several threads and reused. */
#include "extension.h"

#include <structmember.h>

struct section {
	PyObject_HEAD struct state *state; /* lives as long as the type, which the object holds */
	PyObject *name;
	uint32_t id;
	int8_t gpu; /* 1: asked for, 0: refused, -1: where it is cheap */
	uint8_t kind; /* enum strobe_kind: what may be switched off */
	bool gpu_timed; /* what the open entries were begun with */
	uint32_t open_count;
	PyObject *kwnames; /* NULL: no attributes */
	PyObject *values; /* tuple */
	PyObject *enter; /* bound methods of a shared section; NULL: bound anew */
	PyObject *exit;
	struct section *variants[2]; /* of a shared section: with gpu=False, gpu=True; NULL: not asked for */
};

static inline bool records(const struct section *s)
{
	return STROBE_ON_() &&
	       (__builtin_expect(!s->kind, 1) || strobe_kind_recorded((enum strobe_kind)s->kind));
}

static __attribute__((noinline)) void put_attrs(struct section *s)
{
	Py_ssize_t n = PyTuple_Size(s->kwnames);

	for (Py_ssize_t i = 0; i < n; i++)
		attr_put(s->state, PyTuple_GetItem(s->kwnames, i), PyTuple_GetItem(s->values, i));
}

static __attribute__((noinline)) void begin_timed(struct section *s)
{
	here.depth++;
	if (!s->open_count)
		s->gpu_timed = stream_wants(s->state, s->gpu, s->id);
	if (s->gpu_timed)
		stream_zone_begin(s->state, s->id);
	else
		strobe_zone_begin_id(s->id);
}

static PyObject *section_enter(PyObject *self, PyObject *unused)
{
	struct section *s = (struct section *)self;

	if (records(s)) {
		track_follow(s->state);
		if (__builtin_expect(loops_open != NULL, 0))
			loops_section_begins();
		if (__builtin_expect(s->state->raw_stream || s->gpu == 1, 0))
			begin_timed(s);
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
static __attribute__((noinline)) void end_with_cuda(struct section *s)
{
	bool due;

	here.depth -= here.depth > 0;
	here.own_ticks = 0;
	due = readings_due(here.depth, s->id);
	if (s->gpu_timed)
		strobe_gpu_zone_end_arrived(s->id, STROBE_GPU_SAME_STREAM);
	else
		strobe_zone_end_id(s->id);
	if (due)
		readings_section_ended();
}

static PyObject *section_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	struct section *s = (struct section *)self;

	if (s->open_count)
		s->open_count--;
	if (records(s)) {
		track_follow(s->state);
		if (__builtin_expect(loops_open != NULL, 0))
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

/* ---- making one ---- */

static struct section *make(struct state *st, PyObject *name, uint32_t id, uint8_t kind, int gpu)
{
	struct section *s = PyObject_GC_New(struct section, st->section_type);

	if (!s)
		return NULL;
	s->state = st;
	Py_INCREF(name);
	s->name = name;
	s->id = id;
	s->kind = kind;
	s->gpu = (int8_t)gpu;
	s->gpu_timed = false;
	s->open_count = 0;
	s->kwnames = s->values = s->enter = s->exit = NULL;
	s->variants[0] = s->variants[1] = NULL;
	PyObject_GC_Track((PyObject *)s);
	return s;
}

static uint8_t kind_of(PyObject *name)
{
	const char *text = PyUnicode_AsUTF8AndSize(name, NULL);

	if (!text)
		PyErr_Clear();
	return text ? (uint8_t)strobe_kind_of(text) : STROBE_KIND_OTHER;
}

static struct section *make_named(struct state *st, PyObject *name, PyObject *code, int gpu)
{
	uint32_t id = name_id(name, code);

	if (!id)
		return NULL;
	return make(st, name, id, kind_of(name), gpu);
}

/* A section that is kept keeps its bound methods too. */
static bool bind(struct section *s)
{
	s->enter = PyCFunction_New(&enter_method, (PyObject *)s);
	s->exit = PyCFunction_New(&exit_method, (PyObject *)s);
	return s->enter && s->exit;
}

static void keep(struct state *st, PyObject *name, PyObject *section)
{
	if (PyDict_Size(st->sections) >= NAMES_KEPT)
		return;
	if (!bind((struct section *)section) || PyDict_SetItem(st->sections, name, section) < 0)
		PyErr_Clear();
}

/* Not in its slot: by value in the dict, then as a new section. */
static __attribute__((noinline)) struct section *find(
	struct state *st, PyObject *name, struct name_slot *slot)
{
	struct name_slot old = *slot;
	PyObject *section;

	if (!PyUnicode_CheckExact(name)) {
		PyErr_Format(
			PyExc_TypeError, "a section's name must be a str, not %R", (PyObject *)Py_TYPE(name));
		return NULL;
	}
	section = PyDict_GetItem(st->sections, name);
	Py_XINCREF(section);
	if (!section) {
		section = (PyObject *)make_named(st, name, NULL, -1);
		if (!section)
			return NULL;
		keep(st, name, section);
	}
	Py_INCREF(name);
	slot->name = name;
	slot->section = (struct section *)section;
	Py_XDECREF(old.name);
	Py_XDECREF((PyObject *)old.section);
	return (struct section *)section;
}

/* The section of a name, borrowed from its slot; NULL with an exception set. */
static inline struct section *shared(struct state *st, PyObject *name)
{
	struct name_slot *slot = &st->names[((uintptr_t)name >> 4) % NAME_SLOTS];

	return __builtin_expect(slot->name == name, 1) ? slot->section : find(st, name, slot);
}

/* Keywords written in the source are interned; those of a ** call need not be. */
static bool is(PyObject *key, PyObject *word)
{
	return key == word || (!PyUnicode_Compare(key, word) && !PyErr_Occurred());
}

/* What gpu= says: -1 nothing, 0 no, 1 yes; -2 with an exception set. */
static int gpu_of(PyObject *value)
{
	int truth;

	if (value == Py_True)
		return 1;
	if (value == Py_None)
		return -1;
	truth = PyObject_IsTrue(value);
	return truth < 0 ? -2 : truth;
}

/* section(name, gpu=...): as cheap as section(name) from the second time on. */
static __attribute__((noinline)) PyObject *variant(struct section *plain, int gpu)
{
	struct section **kept;

	if (gpu < 0) {
		Py_INCREF((PyObject *)plain);
		return (PyObject *)plain;
	}
	kept = &plain->variants[gpu];
	if (!*kept) {
		struct section *made;

		Py_INCREF((PyObject *)plain); /* making may collect garbage, and the slot change */
		made = make(plain->state, plain->name, plain->id, plain->kind, gpu);
		if (made && plain->enter && !bind(made))
			PyErr_Clear();
		if (*kept || !made || !plain->enter) { /* not one of those that are kept */
			Py_DECREF((PyObject *)plain);
			return (PyObject *)made;
		}
		*kept = made;
		Py_DECREF((PyObject *)plain); /* its slot or the dict still holds it */
	}
	Py_INCREF((PyObject *)*kept);
	return (PyObject *)*kept;
}

static int keep_attrs(struct section *s, PyObject *const *values, PyObject *kwnames, Py_ssize_t count)
{
	Py_ssize_t given = PyTuple_Size(kwnames), n = 0;

	s->kwnames = PyTuple_New(count);
	s->values = PyTuple_New(count);
	if (!s->kwnames || !s->values)
		return -1;
	for (Py_ssize_t i = 0; i < given; i++) {
		PyObject *key = PyTuple_GetItem(kwnames, i);

		if (is(key, s->state->word_code) || is(key, s->state->word_gpu))
			continue;
		Py_INCREF(key);
		Py_INCREF(values[i]);
		PyTuple_SetItem(s->kwnames, n, key);
		PyTuple_SetItem(s->values, n, values[i]);
		n++;
	}
	return 0;
}

static __attribute__((noinline)) PyObject *make_with_attrs(
	struct state *st, PyObject *name, PyObject *const *values, PyObject *kwnames)
{
	Py_ssize_t given = PyTuple_Size(kwnames), count = given;
	PyObject *code = Py_None;
	struct section *s, *plain;
	int gpu = -1;

	for (Py_ssize_t i = 0; i < given; i++) {
		PyObject *key = PyTuple_GetItem(kwnames, i);

		if (is(key, st->word_gpu)) {
			gpu = gpu_of(values[i]);
			count--;
			if (gpu == -2)
				return NULL;
		} else if (is(key, st->word_code)) {
			code = values[i];
			count--;
		}
	}
	if (code == Py_None && PyUnicode_CheckExact(name)) {
		plain = shared(st, name);
		if (!plain || !count)
			return plain ? variant(plain, gpu) : NULL;
		s = make(st, name, plain->id, plain->kind, gpu);
	} else {
		s = make_named(st, name, code, gpu);
	}
	if (s && count && keep_attrs(s, values, kwnames, count) < 0) {
		Py_DECREF((PyObject *)s);
		return NULL;
	}
	return (PyObject *)s;
}

/* With CUDA up, how long it takes is noted: the program cannot launch anything meanwhile. */
static __attribute__((noinline)) PyObject *make_timing(
	struct state *st, PyObject *const *args, PyObject *kwnames)
{
	uint64_t begin_ticks = strobe_gpu_zone_arrive();
	PyObject *made;

	if (kwnames) {
		made = make_with_attrs(st, args[0], args + 1, kwnames);
	} else {
		made = (PyObject *)shared(st, args[0]);
		Py_XINCREF(made);
	}
	here.own_ticks += strobe_gpu_zone_arrive() - begin_ticks;
	return made;
}

PyObject *section_new(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
	struct state *st = state_of(module);
	struct section *plain;

	if (__builtin_expect(nargs != 1, 0)) {
		PyErr_SetString(PyExc_TypeError, "section(name, *, code=None, gpu=None, **attributes)");
		return NULL;
	}
	if (__builtin_expect(st->raw_stream != NULL, 0))
		return make_timing(st, args, kwnames);
	if (kwnames)
		return make_with_attrs(st, args[0], args + 1, kwnames);
	plain = shared(st, args[0]);
	Py_XINCREF((PyObject *)plain);
	return (PyObject *)plain;
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
