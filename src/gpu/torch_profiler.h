/* PyTorch's profiler, once used, keeps CUPTI's only subscription until the process
 * ends; whether it collects at the moment only PyTorch can say. */
#ifndef SB_GPU_TORCH_PROFILER_H
#define SB_GPU_TORCH_PROFILER_H

#include <stdbool.h>

/* true: this process has a PyTorch that says its profiler does not run. */
bool sb_torch_profiler_idle(void);

#endif
