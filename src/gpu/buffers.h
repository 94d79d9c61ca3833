/* The memory that CUPTI fills and strobe reads. Taking and giving back is lock-free. */
#ifndef SB_GPU_BUFFERS_H
#define SB_GPU_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#define SB_GPU_BUFFER_BYTES (1u << 20) /* about 4 800 kernels */
#define SB_GPU_BUFFERS 64u /* so many at most */

bool sb_gpu_buffers_init(void); /* made once, kept. false: no memory */

/* The first one that is free, so that a trace touches no more memory than it needs; NULL: none is. */
uint8_t *sb_gpu_buffer_take(void);
void sb_gpu_buffer_give(const uint8_t *buffer);

/* The pages of the next ones to be taken are there before the program's threads write to them. */
void sb_gpu_buffers_ready(void);
void sb_gpu_buffers_clear(void); /* none is in use: their pages go back to the system */
void sb_gpu_buffers_forget(void); /* in a forked child: all are free */

void sb_gpu_buffers_count_anew(void);
uint32_t sb_gpu_buffers_most(void); /* how many were in use at one time since then */

#endif
