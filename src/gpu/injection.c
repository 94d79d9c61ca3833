/* How strobe gets into a program that knows nothing of it: the CUDA driver and
 * NVTX load the library that an environment variable names, and call these. */
#include "strobe.h"

#include "gpu/counters.h"
#include "gpu/nvtx.h"
#include "gpu/trace.h"

int InitializeInjection(void)
{
	sb_gpu_trace_cuda_started();
	sb_gpu_counters_cuda_started();
	return 1;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
	return sb_nvtx_attach(export_table);
}
