/* Files of Python functions: see python_file.h. */
#include "base/python_file.h"

#include <stddef.h>
#include <string.h>

#define PACKAGES "-packages/" /* site-packages, dist-packages */

/* Packages that a reader would not look into, and the frameworks. Outside of a folder of packages the name alone says nothing, a
 * program may lie in a folder "torch": what lies in the package decides. */
static const struct package {
	const char *name;
	bool library;
	const char *inside[14];
} packages[] = {
	{ "torch", true,
		{ "_", "nn/", "utils/", "cuda/", "autograd/", "optim/", "distributed/", "amp/", "fx/", "jit/",
			"functional.py", "serialization.py", "storage.py" } },
	{ "numpy", true, { "_", "core/", "lib/", "linalg/", "random/", "fft/", "ma/" } },
	{ "PIL", true, { "_", "Image", "Png", "Jpeg", "Webp", "Gif" } },
	{ "imageio", true, { "core/", "plugins/", "v2.py", "v3.py" } },
	{ "imageio_ffmpeg", true, { "_" } },
	{ "safetensors", true, { "torch.py", "numpy.py" } },
	{ "einops", true, { "_", "einops.py", "layers/" } },
	{ "triton", true, { "_", "runtime/", "compiler/", "language/", "backends/" } },
	{ "strobe", true, { NULL } },
	{ "diffusers", false,
		{ "models/", "pipelines/", "schedulers/", "modular_pipelines/", "loaders/", "hooks/",
			"quantizers/", "utils/", "guiders/", "image_processor.py", "video_processor.py",
			"configuration_utils.py", "callbacks.py" } },
	{ "transformers", false,
		{ "models/", "generation/", "utils/", "integrations/", "quantizers/", "image_processing_",
			"modeling_", "tokenization_", "processing_utils.py", "configuration_utils.py",
			"cache_utils.py", "core_model_loading.py" } },
	{ "accelerate", false,
		{ "utils/", "hooks.py", "accelerator.py", "big_modeling.py", "data_loader.py" } },
	{ "peft", false, { "tuners/", "utils/", "peft_model.py", "mapping.py" } },
};

static bool begins(const char *text, const char *head)
{
	return !strncmp(text, head, strlen(head));
}

/* Behind the last folder of packages; NULL: the file is in none. */
static const char *in_packages(const char *file)
{
	const char *inside = NULL;

	for (const char *at = strstr(file, PACKAGES); at; at = strstr(inside, PACKAGES))
		inside = at + strlen(PACKAGES);
	return inside;
}

/* "/lib/torch/nn/functional.py" of torch. */
static bool lies_in(const char *file, const struct package *p)
{
	size_t size = strlen(p->name);

	for (const char *at = strstr(file, p->name); at; at = strstr(at + 1, p->name)) {
		if (at == file || at[-1] != '/' || at[size] != '/')
			continue;
		for (size_t i = 0; i < sizeof p->inside / sizeof *p->inside && p->inside[i]; i++)
			if (begins(at + size + 1, p->inside[i]))
				return true;
	}
	return false;
}

static const struct package *package_of(const char *file)
{
	const char *inside = in_packages(file);

	for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
		size_t size = strlen(packages[i].name);

		if (inside ? begins(inside, packages[i].name) && inside[size] == '/'
			   : lies_in(file, &packages[i]))
			return &packages[i];
	}
	return NULL;
}

bool sb_python_is_strobe(const char *file)
{
	const char *inside = in_packages(file);

	return begins(file, "<strobe>") ||
	       (inside ? begins(inside, "strobe/") : strstr(file, "/python/strobe/") != NULL);
}

bool sb_python_is_package(const char *file)
{
	return in_packages(file) || package_of(file);
}

bool sb_python_is_library(const char *file)
{
	const struct package *p;

	if (!*file || *file == '<' || sb_python_is_strobe(file))
		return true;
	if (strstr(file, "/lib/python") && !in_packages(file))
		return true;
	p = package_of(file);
	return p && p->library;
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
