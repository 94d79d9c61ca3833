/* The sections that were made, by name: section(name) is a look at one slot from the second time on. */
#include "section.h"

static struct section *make_one(struct state *st, PyObject *name, uint32_t id, uint8_t kind, int gpu)
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
	return make_one(st, name, id, kind_of(name), gpu);
}

static void keep(struct state *st, PyObject *name, PyObject *section)
{
	if (PyDict_Size(st->sections) >= NAMES_KEPT)
		return;
	if (!section_bind((struct section *)section) || PyDict_SetItem(st->sections, name, section) < 0)
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
		made = make_one(plain->state, plain->name, plain->id, plain->kind, gpu);
		if (made && plain->enter && !section_bind(made))
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
	if (given == 1 && !count && code == Py_None && st->gpu_alone != kwnames) {
		Py_INCREF(kwnames); /* as long as it is kept its address means that */
		Py_XDECREF(st->gpu_alone);
		st->gpu_alone = kwnames;
	}
	if (code == Py_None && PyUnicode_CheckExact(name)) {
		plain = shared(st, name);
		if (!plain || !count)
			return plain ? variant(plain, gpu) : NULL;
		s = make_one(st, name, plain->id, plain->kind, gpu);
	} else {
		s = make_named(st, name, code, gpu);
	}
	if (s && count && keep_attrs(s, values, kwnames, count) < 0) {
		Py_DECREF((PyObject *)s);
		return NULL;
	}
	return (PyObject *)s;
}

/* section(name), or section(name, gpu=True) and gpu=False once they were made: NULL, without an exception, for all
 * others. */
static inline PyObject *made_before(struct state *st, PyObject *const *args, PyObject *kwnames)
{
	struct name_slot *slot = &st->names[((uintptr_t)args[0] >> 4) % NAME_SLOTS];
	struct section *made = NULL;

	if (slot->name != args[0])
		return NULL;
	if (!kwnames)
		made = slot->section;
	else if (kwnames == st->gpu_alone && (args[1] == Py_True || args[1] == Py_False))
		made = slot->section->variants[args[1] == Py_True];
	Py_XINCREF((PyObject *)made);
	return (PyObject *)made;
}

static __attribute__((noinline)) PyObject *make(struct state *st, PyObject *const *args, PyObject *kwnames)
{
	struct section *plain;

	if (kwnames)
		return make_with_attrs(st, args[0], args + 1, kwnames);
	plain = shared(st, args[0]);
	Py_XINCREF((PyObject *)plain);
	return (PyObject *)plain;
}

/* With CUDA up, how long it takes is noted: the program cannot launch anything meanwhile. */
static __attribute__((noinline)) HOT_CODE PyObject *make_timing(
	struct state *st, PyObject *const *args, PyObject *kwnames)
{
	uint64_t begin_ticks = strobe_gpu_zone_arrive();
	PyObject *made = made_before(st, args, kwnames);

	if (__builtin_expect(!made, 0))
		made = make(st, args, kwnames);
	here.own_ticks += strobe_gpu_zone_arrive() - begin_ticks;
	return made;
}

HOT_CODE PyObject *section_new(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
	struct state *st = state_of(module);
	PyObject *made;

	if (__builtin_expect(nargs != 1, 0)) {
		PyErr_SetString(PyExc_TypeError, "section(name, *, code=None, gpu=None, **attributes)");
		return NULL;
	}
	if (__builtin_expect(st->raw_stream != NULL, 0))
		return make_timing(st, args, kwnames);
	made = made_before(st, args, kwnames);
	return __builtin_expect(made != NULL, 1) ? made : make(st, args, kwnames);
}
