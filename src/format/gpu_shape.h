/* How a kernel was launched: its grid, its blocks, what each of them takes. Two words of a record. */
#ifndef SB_FORMAT_GPU_SHAPE_H
#define SB_FORMAT_GPU_SHAPE_H

#include <stdint.h>

struct sb_gpu_shape {
	uint32_t grid[3]; /* blocks; grid[0] 0: not known */
	uint32_t block[3]; /* threads */
	uint32_t registers; /* of a thread */
	uint32_t shared_bytes; /* of a block */
};

static inline uint64_t sb_gpu_shape_bits(uint32_t value, unsigned bits, unsigned at)
{
	uint64_t most = (1ull << bits) - 1;

	return (value < most ? value : most) << at;
}

static inline void sb_gpu_shape_pack(const struct sb_gpu_shape *s, uint64_t out[2])
{
	out[0] = sb_gpu_shape_bits(s->grid[0], 31, 0) | sb_gpu_shape_bits(s->grid[1], 16, 31) |
		 sb_gpu_shape_bits(s->grid[2], 16, 47);
	out[1] = sb_gpu_shape_bits(s->block[0], 11, 0) | sb_gpu_shape_bits(s->block[1], 11, 11) |
		 sb_gpu_shape_bits(s->block[2], 7, 22) | sb_gpu_shape_bits(s->registers, 9, 29) |
		 sb_gpu_shape_bits(s->shared_bytes, 26, 38);
}

static inline struct sb_gpu_shape sb_gpu_shape_unpack(const uint64_t in[2])
{
	return (struct sb_gpu_shape){ .grid = { in[0] & 0x7fffffff, in[0] >> 31 & 0xffff,
					      in[0] >> 47 & 0xffff },
		.block = { in[1] & 0x7ff, in[1] >> 11 & 0x7ff, in[1] >> 22 & 0x7f },
		.registers = in[1] >> 29 & 0x1ff,
		.shared_bytes = in[1] >> 38 & 0x3ffffff };
}

#endif
