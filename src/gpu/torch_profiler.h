/* PyTorch's profiler, once used, keeps CUPTI's only subscription until the process
 * ends. Only PyTorch can say whether it collects at the moment. */
#ifndef SB_GPU_TORCH_PROFILER_H
#define SB_GPU_TORCH_PROFILER_H

#include <stdbool.h>

/* True if this process has a PyTorch that says that its profiler does not run. */
bool sb_torch_profiler_idle(void);

#endif
