/* What a kernel or call is, by its name. */
#ifndef SB_ANALYZE_GPU_KERNEL_NAMES_H
#define SB_ANALYZE_GPU_KERNEL_NAMES_H

#include <stdbool.h>

/* "flash", "memory-efficient", "cuDNN", "math"; NULL: not attention. */
const char *sb_gpu_attention_kind(const char *kernel);

/* "AllReduce", "AllGather", "SendRecv"…; NULL: not communication. */
const char *sb_gpu_collective(const char *kernel);

/* A call of the CUDA or HIP runtime or driver: work launched inside it belongs
 * to the zone around it. */
bool sb_gpu_is_runtime_call(const char *zone);

/* A call that waits for the GPU. */
bool sb_gpu_is_wait(const char *zone);

#endif
