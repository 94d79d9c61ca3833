/* How a kernel was launched (format/gpu_shape.h), kept as a name. */
#ifndef SB_GPU_KERNEL_SHAPE_H
#define SB_GPU_KERNEL_SHAPE_H

#include <stdint.h>

/* The id of that name; 0: there are too many shapes, or names, for another one. */
uint32_t sb_kernel_shape(const uint64_t words[2]);

#endif
