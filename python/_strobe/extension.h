/* The C extension's own header: module state and what its files offer one
 * another. The extension is built against Python's stable ABI (one file serves
 * CPython 3.9 to 3.14) and sees the recorder through strobe.h alone. */
#ifndef STROBE_EXTENSION_H
#define STROBE_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "strobe.h"

#include <stdbool.h>

/* Python 3.9 has them like later versions, but its headers hide them from the limited API. */
#if PY_VERSION_HEX < 0x030a0000
#define METH_FASTCALL 0x0080
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *unicode, Py_ssize_t *size);
#endif

#define NAME_SLOTS 512u /* direct-mapped, by the address of the string object */
#define NAMES_KEPT 20000 /* sections remembered by name; past that they are made again */
#define ATTRS_MAX 32

/* What every section touches lies together: between two sections of a model that launches, the caches are full of it. */
#define HOT_DATA __attribute__((section("strobe_hot")))
#define HOT_CODE __attribute__((hot))
#define HOT_THREAD __attribute__((tls_model("initial-exec"))) /* found without a call */

struct section;

struct name_slot {
	PyObject *name; /* owned: its address cannot be reused while it is here */
	struct section *section;
};
struct key_slot {
	PyObject *key;
	uint32_t id;
};

struct state {
	/* First what a section with GPU time needs. */
	PyObject *raw_stream; /* torch: device -> address of its current stream; NULL: no CUDA */
	PyCFunction raw_stream_c; /* what is behind it, where it can be called as it is */
	PyObject *raw_stream_self;
	PyObject *get_device; /* torch: () -> current device; NULL: there is only one */
	PyObject *device_zero; /* the number 0: also the address of the default stream */
	PyObject *
		gpu_alone; /* names of keywords that are gpu alone, as a call had them last; NULL: none had */
	PyCFunction get_device_c;
	bool gpu_off; /* no GPU time, not even where it is asked for */
	PyTypeObject *section_type;
	PyTypeObject *loop_type;
	PyTypeObject *span_type;
	PyTypeObject *inside_type;
	PyTypeObject *bound_type;
	struct name_slot names[NAME_SLOTS];
	struct key_slot keys[NAME_SLOTS];
	PyObject *sections; /* dict: name -> plain section */
	PyObject *plain; /* Python: any value -> int, float, str or None */
	PyObject *track_of; /* Python: () -> track of the running task */
	PyObject *word_gpu, *word_code; /* interned: keywords of section() */
};

/* The module that was asked about last: nearly always there is one. With the GIL. */
struct last_module {
	PyObject *module;
	struct state *state;
};
extern struct last_module last_module;
struct state *state_look(PyObject *module);

static inline struct state *state_of(PyObject *module)
{
	return __builtin_expect(module == last_module.module, 1) ? last_module.state : state_look(module);
}

int add_type(PyObject *module, const char *name, PyTypeObject *type);

/* ---- names.c: Python strings to name ids ---- */
/* 0 with an exception set when it is no string. */
uint32_t name_id(PyObject *name, PyObject *code);
uint32_t key_id(struct state *st, PyObject *key);
void names_clear(struct state *st);

/* ---- attr.c: Python values to attributes ---- */
/* Attributes of the innermost open zone. Values that cannot be kept are left out. */
void attr_put(struct state *st, PyObject *key, PyObject *value);
/* Fills at most ATTRS_MAX attributes from a call's keyword arguments; strings are
 * borrowed from `keep`, a list that the caller releases afterwards. */
size_t attrs_from_call(struct state *st, PyObject *const *values, PyObject *kwnames,
	struct strobe_attr *out_attrs, PyObject *keep);
size_t attrs_from_dict(struct state *st, PyObject *dict, struct strobe_attr *out_attrs, PyObject *keep);

/* ---- track.c: zones stay with their task ---- */
struct here {
	PyObject *context; /* the thread's context at its last zone; never dereferenced */
	uint32_t track;
	uint32_t depth; /* sections that are open, counted since CUDA came up */
	uint64_t
		own_ticks; /* what making sections took since the last one ended: no time to launch anything */
	bool muted; /* what the program's functions record is no run of the program */
};
extern __thread struct here here HOT_THREAD;
static inline bool records_here(void)
{
	return STROBE_ON_() && !here.muted;
}
/* Another one that comes later may have the same. */
static inline unsigned long this_thread(void)
{
	return (unsigned long)(uintptr_t)&here;
}
extern long context_offset; /* of PyThreadState.context; < 0: unknown */
void track_switch(struct state *st, PyObject *context);
int track_init(PyObject *module);
PyObject *track_forget(PyObject *module, PyObject *unused);

/* The thread that recorded last and its context then; guarded by the GIL. Spares
 * the hot path a look at thread-local storage. */
struct last_seen {
	PyThreadState *thread;
	PyObject *context;
};
extern struct last_seen last_seen;

/* One pointer compare per zone: each task has its own context object. */
static inline void track_follow(struct state *st)
{
	PyThreadState *thread;
	PyObject *context;

	if (context_offset < 0)
		return;
	thread = PyThreadState_Get();
	context = *(PyObject **)((char *)thread + context_offset);
	if (__builtin_expect(context == last_seen.context && thread == last_seen.thread, 1))
		return;
	last_seen = (struct last_seen){ thread, context };
	if (context != here.context)
		track_switch(st, context);
}

/* ---- stream.c: the stream that torch launches on ---- */
/* asked: 1 by gpu=True, 0 refused, -1 where it is cheap and torch says the stream. */
bool stream_wants(const struct state *st, int asked, uint32_t name);
/* A GPU zone on it. arrived_ticks: when the program's code was left for it. */
void stream_zone_begin(struct state *st, uint32_t name, uint64_t arrived_ticks);
PyObject *stream_install(PyObject *module, PyObject *args);

/* ---- bound.c: methods bound once ---- */
int bound_init(PyObject *module, struct state *st);
/* Puts a method on a type; `offset` is where each instance keeps its bound form. */
int bound_add(struct state *st, PyTypeObject *type, const char *name, PyMethodDef *method, Py_ssize_t offset);

/* ---- section.c ---- */
int section_init(PyObject *module, struct state *st);
/* ---- sections.c ---- */
PyObject *section_new(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* ---- raised.c: the exception that ends a zone ---- */
bool raised_is_error(PyObject *type); /* the ends of iterators are none */
/* args: what __exit__ was called with, one at least. Never raises. */
void raised_put(PyObject *const *args, Py_ssize_t nargs);

/* ---- memory_errors.c: errors that say that memory ran out, seen where they are raised ---- */
extern bool memory_errors_wait; /* one was seen and is not recorded yet. With the GIL */
void memory_errors_tell(void); /* records them. Never raises */
bool memory_error_may_be(PyObject *type, PyObject *error); /* its class and words say so. Never raises */
extern PyMethodDef memory_error_methods[];

/* ---- loop.c ---- */
int loop_init(PyObject *module, struct state *st);
PyObject *loop_new(PyObject *module, PyObject *args, PyObject *kwargs);
void loops_section_begins(void);
/* error: its class, or NULL. An error ends the turns inside the section whose iterators are kept. */
void loops_section_ends(PyObject *error);
PyObject *loops_end(PyObject *module, PyObject *error);

/* ---- inside.c: how many sections are open inside a place ---- */
extern uint32_t sections_counted; /* 0: neither loops nor places have to hear of sections. With the GIL */
int inside_init(PyObject *module, struct state *st);
PyObject *inside_new(PyObject *module, PyObject *unused);
void inside_begins(void);
void inside_ends(void);

/* ---- span.c ---- */
int span_init(PyObject *module, struct state *st);
PyObject *span_new(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* ---- record.c, session.c: plain functions ---- */
extern PyMethodDef record_methods[];
extern PyMethodDef session_methods[];
extern PyMethodDef heap_methods[];
extern PyMethodDef allocation_methods[];

/* ---- readings.c ---- */
/* True if the allocator is to be read when a section of this name ends at this depth. Needs the GIL. */
bool readings_due(uint32_t depth, uint32_t name);
void readings_section_ended(void); /* reads it */
extern bool readings_edge_due; /* what the process holds shall be read where a section begins or ends */
void readings_at_edge(void);

/* ---- sampler.c ---- */
extern PyMethodDef sampler_methods[];
int sampler_init(void);

#endif
