/* Kernel names as ids: demangled where the process has a demangler. */
#ifndef SB_GPU_KERNEL_NAME_H
#define SB_GPU_KERNEL_NAME_H

#include <stdint.h>

/* The id of the kernel's name. One thread at a time. */
uint32_t sb_kernel_name(const char *mangled);

#endif
