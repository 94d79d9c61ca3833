/* strobe._strobe: assembles the extension. State is per interpreter. */
#include "extension.h"

HOT_DATA struct last_module last_module;

struct state *state_look(PyObject *module)
{
	struct state *st = PyModule_GetState(module);

	if (st)
		last_module = (struct last_module){ module, st };
	return st;
}

/* PyModule_AddObjectRef() came after 3.9. */
int add_type(PyObject *module, const char *name, PyTypeObject *type)
{
	Py_INCREF(type);
	if (PyModule_AddObject(module, name, (PyObject *)type) == 0)
		return 0;
	Py_DECREF(type);
	return -1;
}

/* install(plain, track_of): the Python functions that the C side calls back. */
static PyObject *install(PyObject *module, PyObject *args)
{
	struct state *st = state_of(module);
	PyObject *plain, *track_of;

	if (!PyArg_ParseTuple(args, "OO", &plain, &track_of))
		return NULL;
	Py_INCREF(plain);
	Py_INCREF(track_of);
	Py_XDECREF(st->plain);
	Py_XDECREF(st->track_of);
	st->plain = plain;
	st->track_of = track_of;
	Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
	{ "install", install, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

#ifdef __GLIBC__
static void at_exit(int status, void *arg)
{
	(void)arg;
	strobe_exit_status(status);
}

/* Python says nowhere what it exits with: sys.exit(3), an exception that nothing caught. */
static void watch_exit(void)
{
	static bool watched;

	if (!watched)
		watched = !on_exit(at_exit, NULL);
}
#else
static void watch_exit(void)
{
}
#endif

static int module_exec(PyObject *module)
{
	struct state *st = state_of(module);

	strobe_stage_log_elsewhere(); /* strobe._stage_log prints them */
	watch_exit();
	st->sections = PyDict_New();
	st->device_zero = PyLong_FromLong(0);
	st->word_gpu = PyUnicode_InternFromString("gpu");
	st->word_code = PyUnicode_InternFromString("code");
	if (!st->sections || !st->device_zero || !st->word_gpu || !st->word_code)
		return -1;
	if (bound_init(module, st) < 0 || section_init(module, st) < 0 || loop_init(module, st) < 0 ||
		span_init(module, st) < 0 || inside_init(module, st) < 0)
		return -1;
	if (PyModule_AddFunctions(module, record_methods) < 0 ||
		PyModule_AddFunctions(module, session_methods) < 0 ||
		PyModule_AddFunctions(module, heap_methods) < 0 ||
		PyModule_AddFunctions(module, allocation_methods) < 0 ||
		PyModule_AddFunctions(module, memory_error_methods) < 0 ||
		PyModule_AddFunctions(module, sampler_methods) < 0 || sampler_init() < 0)
		return -1;
	if (PyModule_AddStringConstant(module, "version", STROBE_VERSION) < 0)
		return -1;
	if (track_init(module) < 0)
		return -1;
	if (PyModule_AddIntConstant(module, "follows_tasks", context_offset >= 0) < 0)
		return -1;
	return PyModule_AddIntConstant(
		module, "main_interpreter", PyInterpreterState_GetID(PyInterpreterState_Get()) == 0);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct state *st = state_of(module);

	Py_VISIT(st->section_type);
	Py_VISIT(st->loop_type);
	Py_VISIT(st->span_type);
	Py_VISIT(st->inside_type);
	Py_VISIT(st->bound_type);
	Py_VISIT(st->sections);
	Py_VISIT(st->plain);
	Py_VISIT(st->track_of);
	Py_VISIT(st->raw_stream);
	Py_VISIT(st->get_device);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct state *st = state_of(module);

	names_clear(st);
	Py_CLEAR(st->sections);
	Py_CLEAR(st->plain);
	Py_CLEAR(st->track_of);
	Py_CLEAR(st->raw_stream);
	Py_CLEAR(st->get_device);
	Py_CLEAR(st->device_zero);
	Py_CLEAR(st->gpu_alone);
	Py_CLEAR(st->word_gpu);
	Py_CLEAR(st->word_code);
	Py_CLEAR(st->section_type);
	Py_CLEAR(st->loop_type);
	Py_CLEAR(st->span_type);
	Py_CLEAR(st->inside_type);
	Py_CLEAR(st->bound_type);
	return 0;
}

static void module_free(void *module)
{
	module_clear(module);
	if (last_module.module == module)
		last_module = (struct last_module){ NULL, NULL };
}

static PyModuleDef_Slot module_slots[] = {
	{ Py_mod_exec, module_exec },
	{ 0, NULL },
};
static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "strobe._strobe",
	.m_size = sizeof(struct state),
	.m_methods = module_methods,
	.m_slots = module_slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__strobe(void);
PyMODINIT_FUNC PyInit__strobe(void)
{
	return PyModuleDef_Init(&definition);
}
