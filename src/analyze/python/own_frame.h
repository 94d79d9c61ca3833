/* Which frame of a sampled stack is the program's. Stacks are given by the files of their frames, leaf first. */
#ifndef SB_ANALYZE_PYTHON_OWN_FRAME_H
#define SB_ANALYZE_PYTHON_OWN_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* The innermost frame of the program's own code; the leaf where there is none. in_generation: the stack was
 * seen in one. */
uint32_t sb_own_frame(const char *const *files, uint32_t count, bool in_generation);
/* The frame that a module of torch's has called, a forward or a hook on one, inside which `frame` is (or which it is); UINT32_MAX: it
 * is in none. */
uint32_t sb_module_frame(const char *const *files, uint32_t count, uint32_t frame);

#endif
