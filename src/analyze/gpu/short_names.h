/* Short names of kernels, made of what a C++ compiler calls them: what a kernel is, and which operation. */
#ifndef SB_ANALYZE_GPU_SHORT_NAMES_H
#define SB_ANALYZE_GPU_SHORT_NAMES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define SB_SHORT_NAME_SIZE 200u

/* "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, …>(…)" is
 * "vectorized_elementwise CUDAFunctor_add<bf16>"; whole keeps sizes and switches, too. false: the name is short
 * already, or nothing that this file reads. */
bool sb_kernel_short_name(const char *kernel, bool whole, char out[SB_SHORT_NAME_SIZE]);

/* One of each kernel of a run: those that would be alike are whole. out_at is where in text it begins; SIZE_MAX: it
 * has none. */
int sb_kernel_short_names(const char *const *kernels, size_t count, struct sb_buf *text, size_t *out_at);

#endif
