/* The recording functions that are one call each. strobe._record gives them
 * their Python signatures where keywords and defaults matter. */
#include "extension.h"

#include <math.h>

static PyObject *zone_begin(PyObject *module, PyObject *args)
{
	PyObject *name, *code = NULL;
	uint32_t id;

	if (!PyArg_ParseTuple(args, "U|O", &name, &code))
		return NULL;
	if (!records_here())
		Py_RETURN_NONE;
	id = name_id(name, code);
	if (!id)
		return NULL;
	track_follow(state_of(module));
	strobe_zone_begin_id(id);
	Py_RETURN_NONE;
}

/* zone_end(name, code): the zone of that name, and what is open inside it. */
static PyObject *zone_end(PyObject *module, PyObject *args)
{
	PyObject *name = NULL, *code = NULL;
	uint32_t id = 0;

	if (!PyArg_ParseTuple(args, "|UO", &name, &code))
		return NULL;
	if (!records_here())
		Py_RETURN_NONE;
	if (name)
		id = name_id(name, code);
	track_follow(state_of(module));
	strobe_zone_end_id(id);
	Py_RETURN_NONE;
}

static PyObject *role(PyObject *module, PyObject *number)
{
	long value = PyLong_AsLong(number);

	if (value == -1 && PyErr_Occurred())
		return NULL;
	if (records_here())
		strobe_role((enum strobe_role)value);
	Py_RETURN_NONE;
}

static PyObject *role_end(PyObject *module, PyObject *number)
{
	long value = PyLong_AsLong(number);

	(void)module;
	if (value == -1 && PyErr_Occurred())
		return NULL;
	if (!here.muted)
		strobe_role_end((enum strobe_role)value);
	Py_RETURN_NONE;
}

static PyObject *attrs(PyObject *module, PyObject *args, PyObject *kwargs)
{
	struct state *st = state_of(module);
	PyObject *key, *value;
	Py_ssize_t at = 0;

	if (!records_here() || !kwargs)
		Py_RETURN_NONE;
	track_follow(st);
	while (PyDict_Next(kwargs, &at, &key, &value))
		attr_put(st, key, value);
	Py_RETURN_NONE;
}

static PyObject *event(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
	struct state *st = state_of(module);
	struct strobe_attr list[ATTRS_MAX];
	PyObject *keep;
	const char *name;
	size_t n;

	if (nargs != 1) {
		PyErr_SetString(PyExc_TypeError, "event(name, /, **attributes)");
		return NULL;
	}
	name = PyUnicode_AsUTF8AndSize(args[0], NULL);
	if (!name && !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
		return NULL;
	PyErr_Clear();
	if (!records_here())
		Py_RETURN_NONE;
	keep = PyList_New(0);
	if (!keep)
		return NULL;
	track_follow(st);
	n = attrs_from_call(st, args + 1, kwnames, list, keep);
	strobe_event(name ? name : "(no UTF-8)", list, n);
	Py_DECREF(keep);
	Py_RETURN_NONE;
}

/* output(path, width, height, pixel_format); "": the file says it itself */
static PyObject *output(PyObject *module, PyObject *args)
{
	const char *path, *pixel_format;
	long long width, height;

	if (!PyArg_ParseTuple(args, "sLLs", &path, &width, &height, &pixel_format))
		return NULL;
	track_follow(state_of(module));
	if (*pixel_format)
		strobe_output_raw(path, width, height, pixel_format);
	else
		strobe_output(path);
	Py_RETURN_NONE;
}

/* duration(name, seconds, attrs or None): measured by the caller, ending now. */
static PyObject *duration(PyObject *module, PyObject *args)
{
	struct state *st = state_of(module);
	struct strobe_attr list[ATTRS_MAX];
	PyObject *dict = NULL, *keep;
	const char *name;
	double seconds;

	if (!PyArg_ParseTuple(args, "sd|O", &name, &seconds, &dict))
		return NULL;
	if (!records_here() || !(seconds >= 0))
		Py_RETURN_NONE;
	keep = PyList_New(0);
	if (!keep)
		return NULL;
	track_follow(st);
	strobe_duration(name, (uint64_t)(seconds * 1e9), list, attrs_from_dict(st, dict, list, keep));
	Py_DECREF(keep);
	Py_RETURN_NONE;
}

/* step_record(name, step, timestep, block_size, guidance_scale, seconds) */
static PyObject *step_record(PyObject *module, PyObject *args)
{
	struct strobe_step step;
	long long index, block_size;
	double seconds;
	const char *name;

	if (!PyArg_ParseTuple(args, "sLdLdd", &name, &index, &step.timestep, &block_size,
		    &step.guidance_scale, &seconds))
		return NULL;
	step.step = index;
	step.block_size = block_size;
	if (records_here() && seconds >= 0) {
		track_follow(state_of(module));
		strobe_step_record(name, &step, (uint64_t)(seconds * 1e9));
	}
	Py_RETURN_NONE;
}

/* step_left_out(): a step that the settings leave out begins; what counts steps still does. */
static PyObject *step_left_out(PyObject *module, PyObject *unused)
{
	if (!strobe_kind_recorded(STROBE_KIND_STEP))
		strobe_step_begin(NULL, NULL);
	Py_RETURN_NONE;
}

/* block_record(name, index, frames, seconds, memory_bytes) */
static PyObject *block_record(PyObject *module, PyObject *args)
{
	long long index, frames, memory_bytes;
	const char *name;
	double seconds;

	if (!PyArg_ParseTuple(args, "sLLdL", &name, &index, &frames, &seconds, &memory_bytes))
		return NULL;
	if (records_here() && seconds >= 0) {
		track_follow(state_of(module));
		strobe_block_record(name, index, frames, (uint64_t)(seconds * 1e9), memory_bytes);
	}
	Py_RETURN_NONE;
}

static PyObject *model(PyObject *module, PyObject *args)
{
	long long parameter_count, bytes;
	const char *name, *type;

	if (!PyArg_ParseTuple(args, "sLzL", &name, &parameter_count, &type, &bytes))
		return NULL;
	if (records_here())
		strobe_model(name, parameter_count, type ? type : "", bytes);
	Py_RETURN_NONE;
}

static PyObject *frames(PyObject *module, PyObject *count)
{
	long long n = PyLong_AsLongLong(count);

	if (n == -1 && PyErr_Occurred())
		return NULL;
	if (records_here()) {
		track_follow(state_of(module));
		strobe_frames(n);
	}
	Py_RETURN_NONE;
}

static PyObject *frames_dropped(PyObject *module, PyObject *count)
{
	long long n = PyLong_AsLongLong(count);

	if (n == -1 && PyErr_Occurred())
		return NULL;
	if (records_here())
		strobe_frames_dropped(n);
	Py_RETURN_NONE;
}

/* stream_batch(frames, encode_ms, network_ms, buffer_ratio); NaN: unknown */
static PyObject *stream_batch(PyObject *module, PyObject *args)
{
	struct strobe_batch batch;
	long long count;

	if (!PyArg_ParseTuple(args, "Lddd", &count, &batch.encode_ms, &batch.network_ms, &batch.buffer_ratio))
		return NULL;
	batch.frames = count;
	if (records_here())
		strobe_stream_batch(&batch);
	Py_RETURN_NONE;
}

/* cache_event(cache, kind, count, size_bytes, score, threshold, frame, chunk) */
static PyObject *cache_event(PyObject *module, PyObject *args)
{
	struct strobe_cache_event e;
	long long count, size_bytes, chunk;
	int kind;

	if (!PyArg_ParseTuple(args, "siLLdddL", &e.cache, &kind, &count, &size_bytes, &e.score, &e.threshold,
		    &e.frame, &chunk))
		return NULL;
	e.kind = (enum strobe_cache_kind)kind;
	e.count = count;
	e.size_bytes = size_bytes;
	e.chunk = chunk;
	if (records_here())
		strobe_cache(&e);
	Py_RETURN_NONE;
}

/* snapshot(label, device, allocated, reserved, peak); -1: unknown, host */
static PyObject *snapshot(PyObject *module, PyObject *args)
{
	long long allocated, reserved, peak;
	const char *label;
	int device;

	if (!PyArg_ParseTuple(args, "siLLL", &label, &device, &allocated, &reserved, &peak))
		return NULL;
	if (records_here())
		strobe_snapshot(label, device, allocated, reserved, peak);
	Py_RETURN_NONE;
}

/* memory(allocator, bytes, context): bytes < 0 were freed */
static PyObject *memory(PyObject *module, PyObject *args)
{
	const char *allocator, *context;
	long long bytes;

	if (!PyArg_ParseTuple(args, "sLz", &allocator, &bytes, &context))
		return NULL;
	if (!records_here())
		Py_RETURN_NONE;
	if (bytes < 0)
		strobe_free(allocator, -bytes, context ? context : "");
	else
		strobe_alloc(allocator, bytes, context ? context : "");
	Py_RETURN_NONE;
}

static PyObject *counter_add(PyObject *module, PyObject *args)
{
	const char *name;
	long long delta;

	if (!PyArg_ParseTuple(args, "sL", &name, &delta))
		return NULL;
	if (records_here())
		strobe_counter_add(name, delta);
	Py_RETURN_NONE;
}

static PyObject *counter_set(PyObject *module, PyObject *args)
{
	const char *name;
	double value;

	if (!PyArg_ParseTuple(args, "sd", &name, &value))
		return NULL;
	if (records_here())
		strobe_counter_set(name, value);
	Py_RETURN_NONE;
}

static PyObject *skip(PyObject *module, PyObject *args)
{
	const char *name, *code, *reason;

	if (!PyArg_ParseTuple(args, "szz", &name, &code, &reason))
		return NULL;
	if (records_here()) {
		track_follow(state_of(module));
		strobe_skip(name, code, reason ? reason : "");
	}
	Py_RETURN_NONE;
}

static PyObject *lost_compiled(PyObject *module, PyObject *count)
{
	unsigned long long n = PyLong_AsUnsignedLongLong(count);

	(void)module;
	if (PyErr_Occurred())
		return NULL;
	strobe_lost_compiled(n);
	Py_RETURN_NONE;
}

/* mute(yes): nothing that the calling thread records from here on is kept, or all of it again. */
static PyObject *mute(PyObject *module, PyObject *yes)
{
	(void)module;
	here.muted = PyObject_IsTrue(yes) == 1;
	Py_RETURN_NONE;
}

/* again(section): the section itself. A call that dynamo can be told to leave out,
 * where the object alone would break its graph. */
static PyObject *again(PyObject *module, PyObject *section)
{
	(void)module;
	Py_INCREF(section);
	return section;
}

static PyObject *thread_name(PyObject *module, PyObject *name)
{
	const char *text = PyUnicode_AsUTF8AndSize(name, NULL);

	if (!text)
		return NULL;
	if (records_here())
		strobe_thread_name(text);
	Py_RETURN_NONE;
}

static PyObject *track_new(PyObject *module, PyObject *name)
{
	const char *text = PyUnicode_AsUTF8AndSize(name, NULL);

	return text ? PyLong_FromUnsignedLong(strobe_track_new(text)) : NULL;
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

PyMethodDef record_methods[] = {
	{ "section", FAST(section_new), METH_FASTCALL | METH_KEYWORDS,
		"section(name, /, *, code=None, gpu=None, **attributes)\n--\n\n"
		"A zone that lasts as long as the with block.\n\n"
		"code is a stage code such as '4c'; gpu=True always takes GPU time, False never;\n"
		"attributes (frames=16, batch=4) are numbers or strings." },
	{ "span", FAST(span_new), METH_FASTCALL | METH_KEYWORDS,
		"span(name, /)\n--\n\nWork that may end on another thread or task: call its end()." },
	{ "loop", FAST(loop_new), METH_VARARGS | METH_KEYWORDS, NULL },
	{ "inside", inside_new, METH_NOARGS, NULL },
	{ "loops_end", loops_end, METH_O, NULL },
	{ "zone_begin", zone_begin, METH_VARARGS, NULL },
	{ "zone_end", zone_end, METH_VARARGS, NULL },
	{ "role", role, METH_O, NULL },
	{ "role_end", role_end, METH_O, NULL },
	{ "attrs", FAST(attrs), METH_VARARGS | METH_KEYWORDS,
		"attrs(**attributes)\n--\n\nAttributes of the innermost open zone." },
	{ "output", output, METH_VARARGS, NULL },
	{ "event", FAST(event), METH_FASTCALL | METH_KEYWORDS,
		"event(name, /, **attributes)\n--\n\nA mark on the time line, with metadata." },
	{ "duration", duration, METH_VARARGS, NULL },
	{ "step_record", step_record, METH_VARARGS, NULL },
	{ "step_left_out", step_left_out, METH_NOARGS, NULL },
	{ "block_record", block_record, METH_VARARGS, NULL },
	{ "model", model, METH_VARARGS, NULL },
	{ "frames", frames, METH_O,
		"frames(count, /)\n--\n\nOutput frames, counted once, where they leave the pipeline." },
	{ "frames_dropped", frames_dropped, METH_O,
		"frames_dropped(count, /)\n--\n\nFrames that were due and never left." },
	{ "stream_batch", stream_batch, METH_VARARGS, NULL },
	{ "cache_event", cache_event, METH_VARARGS, NULL },
	{ "snapshot", snapshot, METH_VARARGS, NULL },
	{ "memory", memory, METH_VARARGS, NULL },
	{ "counter_add", counter_add, METH_VARARGS, NULL },
	{ "counter_set", counter_set, METH_VARARGS, NULL },
	{ "skip", skip, METH_VARARGS, NULL },
	{ "lost_compiled", lost_compiled, METH_O, NULL },
	{ "mute", mute, METH_O, NULL },
	{ "again", again, METH_O, NULL },
	{ "thread_name", thread_name, METH_O, "thread_name(name, /)\n--\n\nNames the calling thread." },
	{ "track_new", track_new, METH_O, NULL },
	{ "track_forget", track_forget, METH_NOARGS, NULL },
	{ "stream_install", stream_install, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
