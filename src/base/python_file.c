/* Files of Python functions: see python_file.h. */
#include "base/python_file.h"

#include <stddef.h>
#include <string.h>

static const char *const libraries[] = { "/torch/", "/numpy/", "/strobe/", "/PIL/", "/imageio/",
	"/imageio_ffmpeg/", "/safetensors/", "/einops/", "/triton/" };

bool sb_python_is_library(const char *file)
{
	const char *python = strstr(file, "/lib/python");

	if (!*file || *file == '<')
		return true;
	if (python && !strstr(python, "-packages/"))
		return true;
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (strstr(file, libraries[i]) &&
			(python || strcmp(libraries[i], "/strobe/") != 0 || strstr(file, "/python/strobe/")))
			return true;
	return false;
}

/* Of Python's own library. Thread.run calls what the thread is for, which may be written in C: it is not listed. */
static const struct {
	const char *file; /* how its path ends */
	const char *module; /* how its functions' names begin; NULL: other files have the name, too */
	const char *functions[8]; /* how they end; none: all of them wait */
} waiting[] = {
	{ "/threading.py", "threading.",
		{ ".wait", ".wait_for", ".join", "._wait_for_tstate_lock", ".acquire", ".__enter__",
			"._shutdown" } },
	{ "/queue.py", "queue.", { ".get", ".put", ".join" } },
	{ "/selectors.py", "selectors.", { ".select" } },
	{ "/socket.py", "socket.", { ".accept" } },
	{ "/subprocess.py", "subprocess.", { ".wait", "._wait", "._try_wait" } },
	{ "/multiprocessing/connection.py", NULL, { NULL } },
	{ "/multiprocessing/popen_fork.py", NULL, { ".poll", ".wait" } },
	{ "/multiprocessing/synchronize.py", NULL, { NULL } },
	{ "/multiprocessing/queues.py", NULL, { ".get", ".put" } },
	{ "/concurrent/futures/thread.py", NULL, { "._worker" } },
};

static bool ends(const char *text, const char *tail)
{
	size_t size = strlen(text), tail_size = strlen(tail);

	return size >= tail_size && !strcmp(text + size - tail_size, tail);
}

static bool is_in(const char *function, const char *file, const char *tail, const char *module)
{
	return file ? ends(file, tail) : module && !strncmp(function, module, strlen(module));
}

bool sb_python_waits(const char *function, const char *file)
{
	for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++) {
		const char *const *tails = waiting[i].functions;

		if (!is_in(function, file, waiting[i].file, waiting[i].module))
			continue;
		if (!*tails)
			return true;
		for (size_t k = 0; k < sizeof waiting[i].functions / sizeof *tails && tails[k]; k++)
			if (ends(function, tails[k]))
				return true;
	}
	return false;
}
