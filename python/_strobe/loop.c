/* strobe.steps(), iterations() and blocks(): an iterator that makes each turn of
 * a for loop a zone. The zone is open while the loop's body runs; fetching the
 * next item is outside. It ends with the next item, the end, a break. A break or an error ends it by letting go of the
 * iterator: of one that the program or the error's trace keeps, an error ends the turn with the section around it. */
#include "extension.h"

#include <math.h>

struct loop {
	PyObject_HEAD struct state *state;
	PyObject *items; /* what len() asks */
	PyObject *source; /* its iterator */
	PyObject *attrs; /* dict or NULL */
	PyObject *is_cpu; /* interned attribute name */
	uint32_t id;
	int role;
	int64_t index;
	int64_t block_size;
	double guidance_scale;
	int8_t gpu;
	bool open;
	bool gpu_timed;
	unsigned long thread; /* of the open zone */
	uint32_t track; /* too */
	uint32_t sections_inside; /* that are open */
	struct loop *next_open;
};

static struct loop *loops_open; /* of all threads, the newest first; with the GIL */

/* The timestep where it is a plain number. A CUDA tensor's value would have to be
 * waited for, so it stays unknown. */
static double timestep_of(struct loop *l, PyObject *item)
{
	PyObject *is_cpu;
	bool host = true;
	double value;

	if (PyFloat_CheckExact(item) || PyLong_CheckExact(item)) {
		value = PyFloat_AsDouble(item);
		goto out;
	}
	is_cpu = PyObject_GetAttr(item, l->is_cpu);
	if (is_cpu)
		host = is_cpu == Py_True;
	PyErr_Clear();
	Py_XDECREF(is_cpu);
	value = host && !PyUnicode_Check(item) ? PyFloat_AsDouble(item) : NAN;
out:
	if (PyErr_Occurred()) {
		PyErr_Clear();
		value = NAN;
	}
	return value;
}

static void put_turn(struct loop *l, PyObject *item)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;

	strobe_role((enum strobe_role)l->role);
	if (l->role == STROBE_ROLE_STEP) {
		double timestep = timestep_of(l, item);

		strobe_attr_int("step", l->index);
		if (!isnan(timestep))
			strobe_attr_float("timestep", timestep);
		if (l->block_size > 0)
			strobe_attr_int("block_size", l->block_size);
		if (!isnan(l->guidance_scale))
			strobe_attr_float("guidance_scale", l->guidance_scale);
	} else {
		strobe_attr_int("index", l->index);
		if (l->role == STROBE_ROLE_BLOCK && l->block_size > 0)
			strobe_attr_int("block_size", l->block_size);
	}
	while (l->attrs && PyDict_Next(l->attrs, &at, &key, &value))
		attr_put(l->state, key, value);
}

/* Switched off in the settings: nothing is written, though steps are still counted
 * by a GPU trace of so many steps. */
static bool left_out(const struct loop *l)
{
	if (l->role == STROBE_ROLE_BLOCK)
		return !strobe_kind_recorded(STROBE_KIND_BLOCK);
	if (l->role != STROBE_ROLE_STEP || strobe_kind_recorded(STROBE_KIND_STEP))
		return false;
	strobe_step_begin(NULL, NULL);
	return true;
}

static void forget_open(struct loop *l)
{
	struct loop **at = &loops_open;

	while (*at && *at != l)
		at = &(*at)->next_open;
	if (!*at)
		return;
	*at = l->next_open;
	sections_counted--;
}

static void begin(struct loop *l, PyObject *item)
{
	if (!records_here() || left_out(l))
		return;
	track_follow(l->state);
	l->gpu_timed = stream_wants(l->state, l->gpu, l->id);
	if (l->gpu_timed)
		stream_zone_begin(l->state, l->id, strobe_gpu_zone_arrive());
	else
		strobe_zone_begin_id(l->id);
	put_turn(l, item);
	l->open = true;
	l->thread = this_thread();
	l->track = here.track;
	inside_begins();
	l->sections_inside = 0;
	l->next_open = loops_open;
	loops_open = l;
	sections_counted++;
}

/* error: the class of the exception that ends the turn; NULL: none does */
static void end(struct loop *l, PyObject *error)
{
	if (!l->open)
		return;
	l->open = false;
	forget_open(l);
	if (!STROBE_ON_() || l->thread != this_thread())
		return;
	track_follow(l->state);
	inside_ends();
	if (error)
		raised_put(&error, 1);
	strobe_role_end((enum strobe_role)l->role);
	if (l->gpu_timed)
		strobe_gpu_zone_end_arrived(l->id, STROBE_GPU_SAME_STREAM);
	else
		strobe_zone_end_id(l->id);
}

/* The innermost turn that is open on this thread and task; NULL: none. */
static struct loop *open_here(void)
{
	struct loop *l = loops_open;

	while (l && (l->thread != this_thread() || l->track != here.track))
		l = l->next_open;
	return l;
}

void loops_section_begins(void)
{
	struct loop *l = open_here();

	if (l)
		l->sections_inside++;
	inside_begins();
}

static void end_kept(PyObject *error)
{
	struct loop *l;

	while ((l = open_here()) && !l->sections_inside)
		end(l, error);
}

void loops_section_ends(PyObject *error)
{
	struct loop *l;

	if (error && raised_is_error(error))
		end_kept(error);
	l = open_here();
	if (l && l->sections_inside) /* none: a generator entered it in an earlier turn */
		l->sections_inside--;
	inside_ends();
}

/* loops_end(error class or None): before attributes are given to a section that ends */
PyObject *loops_end(PyObject *module, PyObject *error)
{
	struct state *st = state_of(module);

	if (loops_open && STROBE_ON_()) {
		track_follow(st);
		end_kept(error != Py_None ? error : NULL);
	}
	Py_RETURN_NONE;
}

static PyObject *loop_next(PyObject *self)
{
	struct loop *l = (struct loop *)self;
	PyObject *item;

	end(l, NULL);
	item = PyIter_Next(l->source);
	if (!item)
		return NULL;
	begin(l, item);
	l->index++;
	return item;
}

static PyObject *loop_iter(PyObject *self)
{
	Py_INCREF(self);
	return self;
}

static Py_ssize_t loop_length(PyObject *self)
{
	return PyObject_Size(((struct loop *)self)->items);
}

static PyObject *loop_enter(PyObject *self, PyObject *unused)
{
	Py_INCREF(self);
	return self;
}

static PyObject *loop_close(PyObject *self, PyObject *args)
{
	PyObject *error = args && PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;

	end((struct loop *)self, error != Py_None ? error : NULL);
	Py_RETURN_NONE;
}

static PyObject *loop_set(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct loop *l = (struct loop *)self;
	PyObject *key, *value;
	Py_ssize_t at = 0;

	if (PyTuple_Size(args)) {
		PyErr_SetString(PyExc_TypeError, "set() takes keyword arguments only");
		return NULL;
	}
	if (l->open && STROBE_ON_() && kwargs) {
		track_follow(l->state);
		while (PyDict_Next(kwargs, &at, &key, &value))
			attr_put(l->state, key, value);
	}
	Py_RETURN_NONE;
}

static int loop_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct loop *l = (struct loop *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(l->items);
	Py_VISIT(l->source);
	Py_VISIT(l->attrs);
	return 0;
}

static int loop_clear(PyObject *self)
{
	struct loop *l = (struct loop *)self;

	Py_CLEAR(l->items);
	Py_CLEAR(l->source);
	Py_CLEAR(l->attrs);
	return 0;
}

static void loop_dealloc(PyObject *self)
{
	struct loop *l = (struct loop *)self;
	PyTypeObject *type = Py_TYPE(self);
	PyObject *error_type, *error, *trace;

	PyObject_GC_UnTrack(self);
	PyErr_Fetch(&error_type, &error, &trace);
	end(l, error_type); /* a `for` that an exception leaves lets go of its iterator while it is on its way */
	PyErr_Restore(error_type, error, trace);
	loop_clear(self);
	Py_XDECREF(l->is_cpu);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static int fill(struct loop *l, PyObject *items, PyObject *name, PyObject *block_size, PyObject *guidance,
	PyObject *gpu, PyObject *attrs)
{
	l->id = name_id(name, NULL);
	if (!l->id)
		return -1;
	l->source = PyObject_GetIter(items);
	if (!l->source)
		return -1;
	Py_INCREF(items);
	l->items = items;
	if (block_size != Py_None)
		l->block_size = PyLong_AsLongLong(block_size);
	if (guidance != Py_None)
		l->guidance_scale = PyFloat_AsDouble(guidance);
	if (gpu != Py_None)
		l->gpu = (int8_t)PyObject_IsTrue(gpu);
	if (PyErr_Occurred())
		return -1;
	if (attrs != Py_None && PyDict_Size(attrs)) {
		Py_INCREF(attrs);
		l->attrs = attrs;
	}
	l->is_cpu = PyUnicode_InternFromString("is_cpu");
	return l->is_cpu ? 0 : -1;
}

/* loop(items, role, name, start, block_size, guidance_scale, gpu, attrs) */
PyObject *loop_new(PyObject *module, PyObject *args, PyObject *kwargs)
{
	struct state *st = state_of(module);
	PyObject *items, *name, *block_size, *guidance, *gpu, *attrs;
	long long start;
	struct loop *l;
	int role;

	if (!PyArg_ParseTuple(
		    args, "OiULOOOO", &items, &role, &name, &start, &block_size, &guidance, &gpu, &attrs))
		return NULL;
	l = PyObject_GC_New(struct loop, st->loop_type);
	if (!l)
		return NULL;
	l->state = st;
	l->items = l->source = l->attrs = l->is_cpu = NULL;
	l->role = role;
	l->index = start;
	l->block_size = 0;
	l->guidance_scale = NAN;
	l->gpu = -1;
	l->open = l->gpu_timed = false;
	if (fill(l, items, name, block_size, guidance, gpu, attrs) < 0) {
		Py_DECREF((PyObject *)l);
		return NULL;
	}
	PyObject_GC_Track((PyObject *)l);
	return (PyObject *)l;
}

static PyMethodDef loop_methods[] = {
	{ "__enter__", loop_enter, METH_NOARGS, NULL },
	{ "__exit__", loop_close, METH_VARARGS, NULL },
	{ "close", loop_close, METH_NOARGS, "close(): ends the turn that is open, as a break does" },
	{ "set", (PyCFunction)(void (*)(void))loop_set, METH_VARARGS | METH_KEYWORDS,
		"set(**attributes): attributes of the turn that is open now" },
	{ NULL, NULL, 0, NULL },
};
static PyType_Slot loop_slots[] = {
	{ Py_tp_dealloc, loop_dealloc },
	{ Py_tp_traverse, loop_traverse },
	{ Py_tp_clear, loop_clear },
	{ Py_tp_iter, loop_iter },
	{ Py_tp_iternext, loop_next },
	{ Py_sq_length, loop_length },
	{ Py_tp_methods, loop_methods },
	{ Py_tp_doc, "Makes each turn of a for loop a zone; made by steps(), iterations(), blocks()." },
	{ 0, NULL },
};
static PyType_Spec loop_spec = {
	.name = "strobe.Loop",
	.basicsize = sizeof(struct loop),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.slots = loop_slots,
};

int loop_init(PyObject *module, struct state *st)
{
	st->loop_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &loop_spec, NULL);
	return st->loop_type ? add_type(module, "Loop", st->loop_type) : -1;
}
