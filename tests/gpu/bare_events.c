/* The least a section with GPU time can do: calls of the driver where it begins and ends, kept by nobody. A context manager
 * for Python, what strobe's GPU zones are measured against. Built and used by prove_cost.py. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <dlfcn.h>

enum { CURRENT = 1, CAPTURING = 2, RECORD_BEGIN = 4, RECORD_END = 8 };
enum { EVENTS = 512 };

static int (*context_current)(void **), (*is_capturing)(void *, int *), (*event_create)(void **, unsigned),
	(*event_record)(void *, void *);
static void *events[EVENTS];
static unsigned used;

struct bare {
	PyObject_HEAD int calls;
	void *stream;
};

static void call(const struct bare *b, int record)
{
	void *context;
	int capturing;

	if (b->calls & CURRENT)
		context_current(&context);
	if (b->calls & CAPTURING)
		is_capturing(b->stream, &capturing);
	if (b->calls & record)
		event_record(events[used++ % EVENTS], b->stream);
}

static PyObject *enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	call((struct bare *)self, RECORD_BEGIN);
	Py_INCREF(self);
	return self;
}

static PyObject *leave(PyObject *self, PyObject *args)
{
	(void)args;
	call((struct bare *)self, RECORD_END);
	Py_RETURN_NONE;
}

static int init(PyObject *self, PyObject *args, PyObject *keywords)
{
	struct bare *b = (struct bare *)self;
	unsigned long long stream;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	(void)keywords;
	if (!PyArg_ParseTuple(args, "iK", &b->calls, &stream))
		return -1;
	if (!driver) {
		PyErr_SetString(PyExc_RuntimeError, "no CUDA driver in the process");
		return -1;
	}
	b->stream = (void *)(uintptr_t)stream;
	*(void **)&context_current = dlsym(driver, "cuCtxGetCurrent");
	*(void **)&is_capturing = dlsym(driver, "cuStreamIsCapturing");
	*(void **)&event_create = dlsym(driver, "cuEventCreate");
	*(void **)&event_record = dlsym(driver, "cuEventRecord");
	for (int i = 0; i < EVENTS && !events[i]; i++)
		if (event_create(&events[i], 0))
			events[i] = NULL;
	return 0;
}

static PyMethodDef methods[] = { { "__enter__", enter, METH_NOARGS, NULL },
	{ "__exit__", leave, METH_VARARGS, NULL }, { NULL, NULL, 0, NULL } };
static PyType_Slot slots[] = { { Py_tp_methods, methods }, { Py_tp_init, init }, { 0, NULL } };
static PyType_Spec spec = { "bare_events.Bare", sizeof(struct bare), 0, Py_TPFLAGS_DEFAULT, slots };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "bare_events", NULL, -1, NULL, NULL, NULL, NULL,
	NULL };

PyMODINIT_FUNC PyInit_bare_events(void)
{
	PyObject *m = PyModule_Create(&module);

	if (m)
		PyModule_AddObject(m, "Bare", PyType_FromSpec(&spec));
	return m;
}
