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

enum { PARTS = 10 };

/* Frameworks that run from a checkout or a folder on the path, too, and what lies in them. A program may stand in a folder of
 * such a name ("diffusers/examples/train.py"). */
static const struct {
	const char *package;
	const char *parts[PARTS + 1];
} frameworks[] = {
	{ "/diffusers/", { "pipelines/", "models/", "schedulers/", "loaders/", "hooks/", "modular_pipelines/",
				 "quantizers/", "utils/", "image_processor.py", "video_processor.py" } },
	{ "/transformers/", { "models/", "generation/", "integrations/", "pipelines/", "quantizers/",
				    "utils/", "modeling_utils.py", "trainer.py" } },
	{ "/accelerate/", { "utils/", "accelerator.py", "data_loader.py", "hooks.py", "optimizer.py" } },
	{ "/peft/", { "tuners/", "utils/", "peft_model.py" } },
};

static bool begins_with_part(const char *path, const char *const *parts)
{
	for (; *parts; parts++)
		if (!strncmp(path, *parts, strlen(*parts)))
			return true;
	return false;
}

bool sb_python_is_installed(const char *file)
{
	if (strstr(file, "-packages/"))
		return true;
	for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++) {
		const char *in = file;

		while ((in = strstr(in, frameworks[i].package)) != NULL) {
			in += strlen(frameworks[i].package) - 1; /* the next one may begin at this '/' */
			if (begins_with_part(in + 1, frameworks[i].parts))
				return true;
		}
	}
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
