/* GPU recording, as a session starts and stops it. */
#ifndef SB_GPU_MODULE_H
#define SB_GPU_MODULE_H

#include "record/module.h"

extern const struct sb_module sb_gpu_module;

#endif
