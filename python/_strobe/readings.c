/* Memory and open files of the process, read now and then on the sampler's thread, which has a table
 * of descriptors of its own; and a Python function that reads what only Python knows: torch's
 * allocator. Recorded as snapshots whose labels begin with "strobe.memory". */
#include "sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	MS = 1000000,
	PERIOD_MS = 250,
	EDGE_MS = 40,
	STRETCH = 2000,
	EDGE_STRETCH = 16000,
	COST_SHARE = 200,
	WAIT_MS = 2000
};
enum { ENDS_DEPTH = 3, ENDS_SHARE = 1000, ENDS_SAVED = 8, ENDS_NAMES = 64 };

static struct {
	PyObject *function; /* Python: (resident bytes, open files); NULL: none */
	uint64_t first_ns, next_ns, next_edge_ns;
} readings;
HOT_DATA bool readings_edge_due;

/* Readings of the allocator where outer sections end. Most ends look at the CPU's counter alone: the system's
 * clock is a call. */
static HOT_DATA struct {
	PyObject *function; /* Python: (); NULL: none */
	uint64_t saved_ticks; /* before that nothing can be spent */
	uint64_t first_ns, first_ticks; /* one moment on both clocks */
	uint64_t seen_ns, cost_ns; /* when it was looked at last; what one reading takes */
	int64_t saved_ns; /* what may be spent */
} ends;
static struct {
	uint32_t name;
	uint64_t next_ticks; /* not before */
} read_names[ENDS_NAMES]; /* by the name's number */

static void read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
}

/* The most that ever was resident: the kernel sees every peak, readings may miss one. -1: not known. */
static int64_t most_resident_bytes(void)
{
	char text[4096];
	const char *found;

	read_file("/proc/self/status", text, sizeof text);
	found = strstr(text, "\nVmHWM:");
	return found ? strtoll(found + strlen("\nVmHWM:"), NULL, 10) * 1024 : -1;
}

/* Resident without what is mapped from files or shared, and that; -1: not known. */
static int64_t resident_bytes(int64_t *out_shared)
{
	long long pages, shared;
	char text[128];

	read_file("/proc/self/statm", text, sizeof text);
	if (sscanf(text, "%*s %lld %lld", &pages, &shared) != 2)
		return -1;
	*out_shared = shared * sysconf(_SC_PAGESIZE);
	return (pages - shared) * sysconf(_SC_PAGESIZE);
}

/* Of the process's first thread: the table the program uses. Linux 6.2 has the count as the folder's size. */
static int64_t open_files(void)
{
	struct dirent *entry;
	struct stat st;
	int64_t count = 0;
	DIR *folder;

	if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
		return st.st_size;
	folder = opendir("/proc/self/fd");
	if (!folder)
		return -1;
	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

static void call(int64_t bytes, int64_t files)
{
	PyGILState_STATE state = PyGILState_Ensure();

	if (readings.function) {
		PyObject *result = PyObject_CallFunction(
			readings.function, "LL", (long long)bytes, (long long)files);

		if (!result)
			PyErr_Clear();
		Py_XDECREF(result);
	}
	PyGILState_Release(state);
}

static int64_t take_host(void)
{
	int64_t shared = -1, bytes = resident_bytes(&shared);

	if (bytes >= 0)
		strobe_snapshot("strobe.memory.host", -1, bytes, shared, most_resident_bytes());
	return bytes;
}

static void take(void)
{
	int64_t bytes = take_host(), files = open_files();

	if (files >= 0)
		strobe_snapshot("strobe.memory.files", -1, files, -1, -1);
	if (readings.function)
		call(bytes, files);
}

/* What reading itself takes, not the wait for the GIL. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* The next section that begins or ends reads what the process holds: a short stage has its own reading. The same
 * thread asks that takes samples, so that sections look at no clock. */
static void ask_at_edges(uint64_t now_ns)
{
	uint64_t spacing_ns = (now_ns - readings.first_ns) / EDGE_STRETCH;

	if (now_ns < readings.next_edge_ns)
		return;
	readings.next_edge_ns = now_ns + (spacing_ns > EDGE_MS * MS ? spacing_ns : EDGE_MS * MS);
	__atomic_store_n(&readings_edge_due, true, __ATOMIC_RELAXED);
}

void readings_at_edge(void)
{
	if (__atomic_exchange_n(&readings_edge_due, false, __ATOMIC_RELAXED))
		take_host();
}

/* Four times a second, less often as the run gets longer, and never more than half a percent of a core. */
void readings_take(uint64_t now_ns)
{
	uint64_t spacing_ns, least_ns, begin_ns;

	if (!readings.first_ns)
		readings.first_ns = now_ns;
	ask_at_edges(now_ns);
	if (now_ns < readings.next_ns)
		return;
	begin_ns = cpu_ns();
	take();
	spacing_ns = (now_ns - readings.first_ns) / STRETCH;
	least_ns = (cpu_ns() - begin_ns) * COST_SHARE;
	if (least_ns > (uint64_t)WAIT_MS * MS)
		least_ns = (uint64_t)WAIT_MS * MS; /* it looked for what holds the memory */
	spacing_ns = spacing_ns > least_ns ? spacing_ns : least_ns;
	readings.next_ns = now_ns + (spacing_ns > PERIOD_MS * MS ? spacing_ns : PERIOD_MS * MS);
}

void readings_forget(void)
{
	readings.first_ns = readings.next_ns = readings.next_edge_ns = 0;
	__atomic_store_n(&readings_edge_due, true, __ATOMIC_RELAXED); /* the first stage has one */
}

/* readings_install(function): called with the resident bytes and the open files; None: nothing is. */
PyObject *readings_install(PyObject *module, PyObject *function)
{
	PyObject *before = readings.function;

	(void)module;
	readings.function = function == Py_None ? NULL : function;
	Py_XINCREF(readings.function);
	Py_XDECREF(before);
	Py_RETURN_NONE;
}

/* readings_now(): a reading at once, whenever the last one was. */
PyObject *readings_now(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (STROBE_ON_())
		take();
	Py_RETURN_NONE;
}

/* readings_host(): what the process holds, where a generation begins: what rises from here on is its own. */
PyObject *readings_host(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (STROBE_ON_())
		take_host();
	Py_RETURN_NONE;
}

/* ---- where sections end ---- */

/* The counter that many nanoseconds from now. */
static uint64_t ticks_after(uint64_t ns, uint64_t now_ns, uint64_t now_ticks)
{
	double passed_ns = (double)(now_ns - ends.first_ns);

	return now_ticks +
	       (passed_ns > 0 ? (uint64_t)((double)ns * ((double)(now_ticks - ends.first_ticks) / passed_ns))
			      : 0);
}

/* A thousandth of the time may go into it; what was not used is saved for a few ends in a row. */
static __attribute__((noinline)) bool look(uint32_t name, uint64_t now_ticks)
{
	int64_t most_ns = (int64_t)ends.cost_ns * ENDS_SAVED;
	uint64_t now_ns = sampler_now_ns();

	ends.saved_ns += (int64_t)(now_ns - ends.seen_ns) / ENDS_SHARE;
	ends.saved_ns = ends.saved_ns < most_ns ? ends.saved_ns : most_ns;
	ends.seen_ns = now_ns;
	if (ends.saved_ns < (int64_t)ends.cost_ns) {
		ends.saved_ticks = ticks_after(
			(ends.cost_ns - (uint64_t)ends.saved_ns) * ENDS_SHARE, now_ns, now_ticks);
		return false;
	}
	read_names[name % ENDS_NAMES].name = name;
	read_names[name % ENDS_NAMES].next_ticks = ticks_after((uint64_t)PERIOD_MS * MS, now_ns, now_ticks);
	return true;
}

/* A section that ends often, such as a block of a model, is read no more often than the sampler reads. */
HOT_CODE bool readings_due(uint32_t depth, uint32_t name)
{
	uint32_t slot = name % ENDS_NAMES;
	uint64_t now_ticks;

	if (!ends.function || depth >= ENDS_DEPTH)
		return false;
	now_ticks = sampler_now_ticks();
	if (now_ticks < ends.saved_ticks ||
		(read_names[slot].name == name && now_ticks < read_names[slot].next_ticks))
		return false;
	return look(name, now_ticks);
}

void readings_section_ended(void)
{
	uint64_t begin_ns = sampler_now_ns(), took_ns;
	PyObject *result = PyObject_CallObject(ends.function, NULL);

	took_ns = sampler_now_ns() - begin_ns;
	if (!result)
		PyErr_Clear();
	Py_XDECREF(result);
	ends.cost_ns = took_ns > MS ? MS : took_ns; /* it may have waited for the GIL */
	ends.saved_ns -= (int64_t)ends.cost_ns;
}

/* readings_at_ends(function): called without arguments where outer sections end; None: nothing is. */
PyObject *readings_at_ends(PyObject *module, PyObject *function)
{
	PyObject *before = ends.function;

	(void)module;
	ends.function = function == Py_None ? NULL : function;
	ends.first_ns = ends.seen_ns = sampler_now_ns();
	ends.first_ticks = sampler_now_ticks();
	ends.saved_ticks = 0;
	ends.cost_ns = 0;
	ends.saved_ns = 0;
	memset(read_names, 0, sizeof read_names);
	Py_XINCREF(ends.function);
	Py_XDECREF(before);
	Py_RETURN_NONE;
}
