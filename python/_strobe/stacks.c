/* What the Python threads are in: functions and lines, weighed by the time since the last look.
 * No Python code runs here: a look may come between any two instructions of the program. */
#include "sampler.h"

#include <stdatomic.h>
#include <string.h>

enum { DEPTH = 128, LOOKS = 64, SLOTS = 1 << 14, FUNCTIONS_KEPT = 8192, THREADS = 256, NAME_BYTES = 240 };

struct look {
	uint32_t tid, count;
	uint64_t seen_ns, weight_ns, cpu_ns;
	bool cpu_known;
	int beside_gil; /* as of strobe_sample */
	struct strobe_frame frames[DEPTH];
};

/* Filled under the GIL, emptied by one thread without it. */
static struct {
	struct look looks[LOOKS];
	atomic_uint head, tail;
} queue;

static struct {
	PyObject *code; /* kept alive: its address cannot be reused */
	uint32_t id;
	bool own_work;
} functions[SLOTS];
static uint32_t function_count;
static uint64_t last_ns;
static bool by_sampler; /* it looks itself, with a table of descriptors of its own */
static _Atomic uint32_t python_tids[THREADS]; /* of the last look, then 0 */

/* ---- functions --------------------------------------------------------------- */

/* Borrowed from what the code object keeps alive; "" where there is none. */
static const char *text_of(PyObject *code, const char *attribute)
{
	PyObject *value = PyObject_GetAttrString(code, attribute);
	const char *text = value && PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;

	Py_XDECREF(value);
	PyErr_Clear();
	return text ? text : "";
}

/* "wan" of "/srv/pipes/wan.py"; a package's __init__ has the folder's name. */
static void module_of(const char *file, char *out, size_t size)
{
	const char *end = file + strlen(file), *begin;

	for (;;) {
		for (begin = end; begin > file && begin[-1] != '/'; begin--)
			;
		if (end - begin != 11 || strncmp(begin, "__init__.py", 11) != 0 || begin - file < 2)
			break;
		end = begin - 1;
	}
	if (end - begin > 3 && !strncmp(end - 3, ".py", 3))
		end -= 3;
	snprintf(out, size, "%.*s", (int)(end - begin), begin);
}

/* What strobe does itself is one function, in no file of the program's. */
static uint32_t make_own(void)
{
	uint32_t id = strobe_name("strobe itself", NULL);

	strobe_function_file(id, "<strobe>");
	return id;
}

/* 0: to be left out, it stands between a line of the program's and what that calls */
static uint32_t make_function(PyObject *code, enum own_kind own)
{
	const char *file = text_of(code, "co_filename"), *name = text_of(code, "co_qualname");
	char module[80], text[NAME_BYTES];
	uint32_t id;

	if (own != OWN_NOT)
		return own == OWN_WORK ? make_own() : 0;
	module_of(file, module, sizeof module);
	snprintf(text, sizeof text, "%s.%s", module, *name ? name : text_of(code, "co_name"));
	id = strobe_name(text, NULL);
	strobe_function_file(id, file);
	return id;
}

static uint32_t function_of(PyObject *code, bool *out_own_work)
{
	uint32_t at = (uint32_t)((uintptr_t)code >> 4) * 2654435761u >> 18;

	while (functions[at].code && functions[at].code != code)
		at = (at + 1) % SLOTS;
	if (!functions[at].code) {
		enum own_kind own = own_kind_of(text_of(code, "co_filename"));

		*out_own_work = false;
		if (function_count >= FUNCTIONS_KEPT)
			return strobe_name("(other)", NULL);
		Py_INCREF(code);
		functions[at].id = make_function(code, own);
		functions[at].own_work = own == OWN_WORK;
		functions[at].code = code;
		function_count++;
	}
	*out_own_work = functions[at].own_work;
	return functions[at].id;
}

void stacks_forget(void)
{
	thread_cpu_forget();
	for (uint32_t i = 0; i < SLOTS; i++)
		Py_CLEAR(functions[i].code);
	function_count = 0;
	last_ns = 0;
	atomic_store(&queue.tail, atomic_load(&queue.head));
}

void stacks_begin(uint64_t now_ns)
{
	last_ns = now_ns;
}

/* ---- one thread ---------------------------------------------------------------- */

static long number_of(PyObject *frame, const char *attribute)
{
	PyObject *number = PyObject_GetAttrString(frame, attribute);
	long value = number && number != Py_None ? PyLong_AsLong(number) : 0;

	Py_XDECREF(number);
	PyErr_Clear();
	return value;
}

static uint32_t line_of(PyObject *frame, PyObject *code)
{
	long line = number_of(frame, "f_lineno");

	return line > 0 ? (uint32_t)line : line_before(code, number_of(frame, "f_lasti"));
}

/* Where strobe's own work is on the stack, that is all there is: no line of the program's has asked for it. */
static uint32_t take_frames(PyObject *frame, struct strobe_frame *out)
{
	uint32_t count = 0, function;
	bool own = false;

	Py_XINCREF(frame);
	while (frame && frame != Py_None && count < DEPTH && !own) {
		PyObject *code = PyObject_GetAttrString(frame, "f_code"), *back;

		if (!code)
			break;
		function = function_of(code, &own);
		if (own)
			count = 0;
		if (function)
			out[count++] = (struct strobe_frame){ function, own ? 0 : line_of(frame, code) };
		back = PyObject_GetAttrString(frame, "f_back");
		Py_DECREF(code);
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	PyErr_Clear();
	return count;
}

/* The one that looks has the GIL: another thread that runs meanwhile has let go of it. The main thread had it
 * before it was asked, and opens no files. */
static int beside_gil(uint32_t tid)
{
	enum { NOT_KNOWN, STOOD, RAN, WITHOUT }; /* of strobe_sample */
	static const int seen[] = { [THREAD_UNKNOWN] = NOT_KNOWN,
		[THREAD_RUNS] = RAN,
		[THREAD_WAITS_FOR_TURN] = STOOD,
		[THREAD_WAITS] = WITHOUT };

	return by_sampler ? seen[thread_state_of(tid)] : WITHOUT;
}

static void take_thread(PyObject *frame, uint32_t tid, uint64_t now_ns, uint64_t weight_ns)
{
	unsigned head = atomic_load_explicit(&queue.head, memory_order_relaxed);
	struct look *look = &queue.looks[head % LOOKS];

	if (head - atomic_load_explicit(&queue.tail, memory_order_acquire) == LOOKS)
		return; /* it is still full */
	look->cpu_known = thread_cpu_since(tid, &look->cpu_ns);
	look->count = take_frames(frame, look->frames);
	look->tid = tid;
	look->seen_ns = now_ns;
	look->weight_ns = weight_ns;
	look->beside_gil = look->cpu_known && look->cpu_ns ? beside_gil(tid) : 0;
	if (look->count)
		atomic_store_explicit(&queue.head, head + 1, memory_order_release);
}

void stacks_drain(void)
{
	unsigned tail = atomic_load_explicit(&queue.tail, memory_order_relaxed);

	while (tail != atomic_load_explicit(&queue.head, memory_order_acquire)) {
		const struct look *look = &queue.looks[tail % LOOKS];
		uint64_t now_ns = sampler_now_ns();

		strobe_stack_sample(&(struct strobe_sample){ .thread_id = look->tid,
					    .age_ns = now_ns > look->seen_ns ? now_ns - look->seen_ns : 0,
					    .weight_ns = look->weight_ns,
					    .cpu_known = look->cpu_known,
					    .cpu_ns = look->cpu_ns,
					    .beside_gil = look->beside_gil },
			look->frames, look->count);
		atomic_store_explicit(&queue.tail, ++tail, memory_order_release);
	}
}

unsigned stacks_written(void)
{
	return atomic_load(&queue.tail);
}

/* ---- all of them --------------------------------------------------------------- */

/* The system's number of a thread: what threading remembers, without its lock. */
static uint32_t tid_of(PyObject *active, PyObject *ident)
{
	PyObject *thread = PyDict_GetItem(active, ident); /* borrowed */
	PyObject *id = thread ? PyObject_GetAttrString(thread, "_native_id") : NULL;
	unsigned long value = id && PyLong_Check(id) ? PyLong_AsUnsignedLong(id) : 0;

	Py_XDECREF(id);
	PyErr_Clear();
	return (uint32_t)value;
}

/* threading's table of threads; a new reference, NULL: not imported. */
static PyObject *active_threads(void)
{
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
	PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;

	if (active && !PyDict_Check(active))
		Py_CLEAR(active);
	PyErr_Clear();
	return active;
}

static void take_all(PyObject *frames, PyObject *active, uint64_t now_ns, unsigned long except)
{
	uint64_t weight_ns = last_ns && now_ns > last_ns ? now_ns - last_ns : 0;
	PyObject *ident, *frame;
	Py_ssize_t at = 0;
	uint32_t count = 0;

	while (PyDict_Next(frames, &at, &ident, &frame)) {
		uint32_t tid = tid_of(active, ident);

		if (!tid || PyLong_AsUnsignedLong(ident) == except)
			continue;
		take_thread(frame, tid, now_ns, weight_ns);
		if (count < THREADS - 1)
			atomic_store_explicit(&python_tids[count++], tid, memory_order_relaxed);
	}
	PyErr_Clear();
	atomic_store_explicit(&python_tids[count], 0, memory_order_relaxed);
}

void stacks_look(uint64_t now_ns, unsigned long except, bool has_own_table)
{
	PyObject *current = PySys_GetObject("_current_frames"); /* borrowed */
	PyObject *active = active_threads();
	PyObject *frames = current && active ? PyObject_CallObject(current, NULL) : NULL;

	by_sampler = has_own_table;
	if (frames && PyDict_Check(frames))
		take_all(frames, active, now_ns, except);
	Py_XDECREF(frames);
	Py_XDECREF(active);
	PyErr_Clear();
	last_ns = now_ns;
}

bool stacks_has_thread(uint32_t tid)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t known = atomic_load_explicit(&python_tids[i], memory_order_relaxed);

		if (!known || known == tid)
			return known == tid;
	}
	return false;
}
