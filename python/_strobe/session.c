/* Sessions: start, stop, and what is known about the open one. Errors come back
 * as (code, message); strobe._session decides what to say. */
#include "extension.h"

/* start(name, output_dir, config, preset, tags, max_trace_bytes) -> (code, message) */
static PyObject *start(PyObject *module, PyObject *args)
{
	struct strobe_attr tags[ATTRS_MAX];
	struct strobe_options options = { .size = sizeof options, .tags = tags, .quiet = 1 };
	unsigned long long max_trace_bytes;
	PyObject *tag_dict, *keep;
	int code;

	if (!PyArg_ParseTuple(args, "zzzzOK", &options.name, &options.output_dir, &options.config,
		    &options.preset, &tag_dict, &max_trace_bytes))
		return NULL;
	keep = PyList_New(0);
	if (!keep)
		return NULL;
	options.tag_count = attrs_from_dict(state_of(module), tag_dict, tags, keep);
	options.max_trace_bytes = max_trace_bytes;
	Py_BEGIN_ALLOW_THREADS code = strobe_start(&options);
	Py_END_ALLOW_THREADS Py_DECREF(keep);
	return Py_BuildValue("is", code, code ? strobe_error() : "");
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
	int code;

	Py_BEGIN_ALLOW_THREADS code = strobe_stop();
	Py_END_ALLOW_THREADS return Py_BuildValue("is", code, code ? strobe_error() : "");
}

static PyObject *recording(PyObject *module, PyObject *unused)
{
	return PyBool_FromLong(strobe_recording());
}

/* role_recorded(role): False where the settings leave steps or blocks out. */
static PyObject *role_recorded(PyObject *module, PyObject *role)
{
	long value = PyLong_AsLong(role);
	enum strobe_kind kind = STROBE_KIND_OTHER;

	if (value == -1 && PyErr_Occurred())
		return NULL;
	if (value == STROBE_ROLE_STEP)
		kind = STROBE_KIND_STEP;
	else if (value == STROBE_ROLE_BLOCK)
		kind = STROBE_KIND_BLOCK;
	return PyBool_FromLong(strobe_kind_recorded(kind));
}

static PyObject *exit_status(PyObject *module, PyObject *status)
{
	long value = PyLong_AsLong(status);

	if (value == -1 && PyErr_Occurred())
		return NULL;
	strobe_exit_status((int)value);
	Py_RETURN_NONE;
}

static PyObject *run_dir(PyObject *module, PyObject *unused)
{
	return PyUnicode_DecodeFSDefault(strobe_run_dir());
}

static PyObject *tag(PyObject *module, PyObject *dict)
{
	struct strobe_attr tags[ATTRS_MAX];
	PyObject *keep = PyList_New(0);
	size_t n;

	if (!keep)
		return NULL;
	n = attrs_from_dict(state_of(module), dict, tags, keep);
	for (size_t i = 0; i < n; i++)
		strobe_tag(&tags[i]);
	Py_DECREF(keep);
	Py_RETURN_NONE;
}

static PyObject *gpu_trace_start(PyObject *module, PyObject *spec)
{
	const char *text = PyUnicode_AsUTF8AndSize(spec, NULL);
	int code;

	if (!text)
		return NULL;
	code = strobe_gpu_trace_start(text);
	return Py_BuildValue("is", code, code ? strobe_error() : "");
}

static PyObject *gpu_trace_stop(PyObject *module, PyObject *unused)
{
	strobe_gpu_trace_stop();
	Py_RETURN_NONE;
}

static PyObject *gpu_counters_start(PyObject *module, PyObject *spec)
{
	const char *text = PyUnicode_AsUTF8AndSize(spec, NULL);
	int code;

	if (!text)
		return NULL;
	/* getting the hardware takes part of a second */
	Py_BEGIN_ALLOW_THREADS code = strobe_gpu_counters_start(text);
	Py_END_ALLOW_THREADS return Py_BuildValue("is", code, code ? strobe_error() : "");
}

static PyObject *gpu_counters_stop(PyObject *module, PyObject *unused)
{
	strobe_gpu_counters_stop();
	Py_RETURN_NONE;
}

static PyObject *gpu_trace_steps_state(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromLong(strobe_gpu_trace_steps_state());
}

static PyObject *steps_marked(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromUnsignedLong(strobe_steps_marked());
}

static PyObject *step_passes(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	strobe_step_passes();
	Py_RETURN_NONE;
}

static PyObject *gpu_trace_yield(PyObject *module, PyObject *to)
{
	const char *text = PyUnicode_AsUTF8AndSize(to, NULL);

	if (!text)
		return NULL;
	Py_BEGIN_ALLOW_THREADS strobe_gpu_trace_yield(text);
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *gpu_trace_resume(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	Py_BEGIN_ALLOW_THREADS strobe_gpu_trace_resume();
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *gpu_trace_keep(PyObject *module, PyObject *why)
{
	const char *text = PyUnicode_AsUTF8AndSize(why, NULL);

	(void)module;
	if (!text)
		return NULL;
	strobe_gpu_trace_keep(text);
	Py_RETURN_NONE;
}

/* mask(key, text) -> text, with credentials replaced as in a recorded tag. */
static PyObject *mask(PyObject *module, PyObject *args)
{
	const char *key, *text;
	PyObject *whole, *result;
	size_t size;
	char *out;

	if (!PyArg_ParseTuple(args, "sO!", &key, &PyUnicode_Type, &whole))
		return NULL;
	text = PyUnicode_AsUTF8AndSize(whole, NULL);
	if (!text)
		return NULL;
	size = 4 * strlen(text) + 16; /* a mask may be longer than what it hides */
	out = PyMem_Malloc(size);
	if (!out)
		return PyErr_NoMemory();
	result = strobe_mask(key, text, out, size)
			 ? PyUnicode_DecodeUTF8(out, (Py_ssize_t)strlen(out), "replace")
			 : (Py_INCREF(whole), whole);
	PyMem_Free(out);
	return result;
}

/* missing(what, why, how) */
static PyObject *missing(PyObject *module, PyObject *args)
{
	const char *what, *why, *how;

	if (!PyArg_ParseTuple(args, "sss", &what, &why, &how))
		return NULL;
	strobe_missing(what, why, how);
	Py_RETURN_NONE;
}

/* rank(rank, local_rank, world_size, backend) */
static PyObject *told_rank(PyObject *module, PyObject *args)
{
	int rank, local_rank, world_size;
	const char *backend;

	if (!PyArg_ParseTuple(args, "iiis", &rank, &local_rank, &world_size, &backend))
		return NULL;
	strobe_rank(rank, local_rank, world_size, backend);
	Py_RETURN_NONE;
}

PyMethodDef session_methods[] = {
	{ "start", start, METH_VARARGS, NULL },
	{ "stop", stop, METH_NOARGS, NULL },
	{ "recording", recording, METH_NOARGS, "recording()\n--\n\nTrue while a session records." },
	{ "role_recorded", role_recorded, METH_O, NULL },
	{ "exit_status", exit_status, METH_O,
		"exit_status(status)\n--\n\nAfter the session's end: what the program ends with." },
	{ "run_dir", run_dir, METH_NOARGS,
		"run_dir()\n--\n\nThe open (or last) session's run folder, '' before the first." },
	{ "tag", tag, METH_O, NULL },
	{ "missing", missing, METH_VARARGS, NULL },
	{ "rank", told_rank, METH_VARARGS, NULL },
	{ "mask", mask, METH_VARARGS, NULL },
	{ "gpu_trace_start", gpu_trace_start, METH_O, NULL },
	{ "gpu_trace_stop", gpu_trace_stop, METH_NOARGS, NULL },
	{ "gpu_counters_start", gpu_counters_start, METH_O, NULL },
	{ "gpu_counters_stop", gpu_counters_stop, METH_NOARGS, NULL },
	{ "gpu_trace_steps_state", gpu_trace_steps_state, METH_NOARGS, NULL },
	{ "step_passes", step_passes, METH_NOARGS, NULL },
	{ "steps_marked", steps_marked, METH_NOARGS, NULL },
	{ "gpu_trace_yield", gpu_trace_yield, METH_O, NULL },
	{ "gpu_trace_resume", gpu_trace_resume, METH_NOARGS, NULL },
	{ "gpu_trace_keep", gpu_trace_keep, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};
