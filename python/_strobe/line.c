/* The line of an instruction. Not every one has its own: the jump back of a loop whose turns end on several
 * lines has none, and it is where CPython looks for pending calls. It belongs to the last line before it. */
#include "sampler.h"

/* Of one (begin, end, line) of co_lines(). False: it begins behind the instruction. */
static bool follow(PyObject *range, long instruction, long *line)
{
	PyObject *begin = PyTuple_GetItem(range, 0), *at = PyTuple_GetItem(range, 2); /* borrowed */

	if (!begin || !at || PyLong_AsLong(begin) > instruction)
		return false;
	if (at != Py_None)
		*line = PyLong_AsLong(at);
	return true;
}

uint32_t line_before(PyObject *code, long instruction)
{
	PyObject *ranges = PyObject_CallMethod(code, "co_lines", NULL), *range = NULL;
	long line = 0;

	while (ranges && (range = PyIter_Next(ranges)) && follow(range, instruction, &line))
		Py_CLEAR(range);
	Py_XDECREF(range);
	Py_XDECREF(ranges);
	PyErr_Clear(); /* CPython 3.9 has no co_lines(), and a line for every instruction */
	return line > 0 ? (uint32_t)line : 0;
}

/* line_before(code, instruction): for frames and tracebacks whose line is None; 0 where there is no line before it, either. */
PyObject *line_before_given(PyObject *module, PyObject *args)
{
	PyObject *code;
	long instruction;

	(void)module;
	if (!PyArg_ParseTuple(args, "Ol", &code, &instruction))
		return NULL;
	return PyLong_FromUnsignedLong(line_before(code, instruction));
}
