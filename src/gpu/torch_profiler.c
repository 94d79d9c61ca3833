/* Asks the PyTorch that is in the process, if there is one; never loads it. */
#include "gpu/torch_profiler.h"

#include <dlfcn.h>
#include <stddef.h>

bool sb_torch_profiler_idle(void)
{
	/* bool torch::autograd::profiler::isProfilerEnabledInMainThread(); PyTorch 2.4 and later */
	static const char symbol[] = "_ZN5torch8autograd8profiler29isProfilerEnabledInMainThreadEv";
	void *library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
	bool (*enabled)(void) = NULL;
	bool idle = false;

	if (!library)
		return false;
	enabled = (bool (*)(void))dlsym(library, symbol);
	if (enabled)
		idle = !enabled();
	dlclose(library);
	return idle;
}
