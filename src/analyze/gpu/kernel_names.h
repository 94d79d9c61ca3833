/* What a kernel or call is, by its name. The words are in kernel_vocabulary.inc. */
#ifndef SB_ANALYZE_GPU_KERNEL_NAMES_H
#define SB_ANALYZE_GPU_KERNEL_NAMES_H

#include <stdbool.h>

enum sb_kernel_family {
	SB_KERNEL_UNRECOGNISED = 0,
	SB_KERNEL_GEMM,
	SB_KERNEL_ATTENTION,
	SB_KERNEL_CONVOLUTION,
	SB_KERNEL_NORMALISATION,
	SB_KERNEL_ELEMENTWISE,
	SB_KERNEL_REDUCTION,
	SB_KERNEL_COPY,
	SB_KERNEL_QUANTISATION,
	SB_KERNEL_COMMUNICATION,
	SB_KERNEL_SAMPLING,
	SB_KERNEL_CODEC,
	SB_KERNEL_FAMILIES
};

struct sb_kernel_class {
	enum sb_kernel_family family;
	const char *kind; /* "flash 2", "AllReduce"; NULL: not told */
	const char *precision; /* of GEMM, attention, convolution: "bf16"; NULL: not told */
	int entry; /* of the vocabulary; -1: none matches */
};

struct sb_kernel_class sb_kernel_classify(const char *kernel);
const char *sb_kernel_family_name(enum sb_kernel_family family);

/* "flash 2", "memory-efficient", "cuDNN", "math"; NULL: not attention. */
const char *sb_gpu_attention_kind(const char *kernel);

/* "AllReduce", "AllGather", "SendRecv"…; NULL: not communication. */
const char *sb_gpu_collective(const char *kernel);

/* A call of the CUDA or HIP runtime or driver: work launched inside it belongs
 * to the zone around it. */
bool sb_gpu_is_runtime_call(const char *zone);

/* A call that waits for the GPU. */
bool sb_gpu_is_wait(const char *zone);

#endif
