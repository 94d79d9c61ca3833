/* The kind, the flags and the name of a copy, from what CUPTI says about its two ends. */
#ifndef SB_GPU_COPY_NAME_H
#define SB_GPU_COPY_NAME_H

#include "format/wire.h"

#include <stdint.h>

enum sb_gpu_kind sb_copy_kind(uint8_t cupti_kind); /* CUPTI_COPY_… */
uint32_t sb_copy_flags(uint8_t source, uint8_t target); /* of the end that is in the host's memory */
uint32_t sb_copy_name(enum sb_gpu_kind kind, uint32_t flags); /* as torch.profiler names it */

#endif
