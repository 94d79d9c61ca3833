/* Which Python code is strobe's own: work that strobe does by itself inside the program, or something that stands between
 * the program and a function that it calls. */
#include "sampler.h"

#include <string.h>

enum { FOLDER_BYTES = 4096 };

/* Files whose functions work for strobe alone, with whatever they call. In all others of the package the
 * program's own calls may run. */
static const char *const working[] = { "_models/components.py", "_models/computed.py", "_models/copies.py",
	"_models/flops.py", "_models/kinds.py", "_models/multiplied.py", "_models/operations.py",
	"_models/quiet.py", "_models/stand_ins.py", "_display.py", "_failed.py", "_faults.py", "_mlflow.py",
	"_report.py", "_session.py", "_share.py", "_stage_log.py", "_memory/caches.py", "_memory/graphs.py",
	"_memory/growth.py", "_memory/holders.py", "_memory/moved.py", "_memory/out_of_memory.py",
	"_memory/owners.py", "_memory/residency.py", "_memory/retries.py", "auto/asked.py", NULL };

/* The package's, with a slash at its end; "": not known. */
static const char *package_folder(void)
{
	static char folder[FOLDER_BYTES];
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *own = modules ? PyDict_GetItemString(modules, "strobe._strobe") : NULL;
	PyObject *file = own && !*folder ? PyObject_GetAttrString(own, "__file__") : NULL;
	const char *text = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8AndSize(file, NULL) : NULL;
	const char *end = text ? strrchr(text, '/') : NULL;

	if (end && (size_t)(end - text) + 2 < sizeof folder)
		snprintf(folder, sizeof folder, "%.*s", (int)(end - text) + 1, text);
	Py_XDECREF(file);
	PyErr_Clear();
	return folder;
}

enum own_kind own_kind_of(const char *file)
{
	const char *folder = package_folder();
	size_t size = strlen(folder);

	if (!size || strncmp(file, folder, size) != 0)
		return OWN_NOT;
	for (const char *const *one = working; *one; one++)
		if (!strcmp(file + size, *one))
			return OWN_WORK;
	return OWN_BETWEEN;
}

static PyObject *attribute_of(PyObject *of, const char *name)
{
	PyObject *value = of ? PyObject_GetAttrString(of, name) : NULL;

	PyErr_Clear();
	return value;
}

static bool is_working(PyObject *frame)
{
	PyObject *code = attribute_of(frame, "f_code"), *file = attribute_of(code, "co_filename");
	const char *text = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8AndSize(file, NULL) : NULL;
	bool works = text && own_kind_of(text) == OWN_WORK;

	Py_XDECREF(file);
	Py_XDECREF(code);
	PyErr_Clear();
	return works;
}

bool own_work_runs(void)
{
	PyObject *frame = (PyObject *)PyEval_GetFrame(); /* borrowed */
	bool works = false;

	Py_XINCREF(frame);
	while (frame && frame != Py_None && !works) {
		PyObject *back = attribute_of(frame, "f_back");

		works = is_working(frame);
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	return works;
}
