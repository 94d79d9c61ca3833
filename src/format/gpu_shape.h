/* How a kernel was launched: its grid, its blocks, what each of them takes. It takes two words. Programs
 * launch the same few shapes again and again, so a recorded kernel has the id of a name that holds them; an
 * imported one has the words themselves. */
#ifndef SB_FORMAT_GPU_SHAPE_H
#define SB_FORMAT_GPU_SHAPE_H

#include "format/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SB_GPU_SHAPE_NAME "strobe.shape " /* then both words, 16 hexadecimal digits each */
enum { SB_GPU_SHAPE_TEXT = sizeof SB_GPU_SHAPE_NAME + 32 };

struct sb_gpu_shape {
	uint32_t grid[3]; /* blocks; grid[0] 0: not known */
	uint32_t block[3]; /* threads */
	uint32_t registers; /* of a thread */
	uint32_t shared_bytes; /* of a block */
};

/* The flags of a kernel that was launched so, for kernels whose names say nothing. */
static inline uint32_t sb_gpu_shape_flags(const struct sb_gpu_shape *s)
{
	if (s->shared_bytes >= SB_GPU_TILED_BYTES)
		return SB_GPU_TILED;
	return !s->shared_bytes && s->grid[0] && s->grid[1] == 1 && s->grid[2] == 1 ? SB_GPU_FLAT : 0;
}

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

static inline void sb_gpu_shape_name(const uint64_t words[2], char out_name[SB_GPU_SHAPE_TEXT])
{
	snprintf(out_name, SB_GPU_SHAPE_TEXT, SB_GPU_SHAPE_NAME "%016llx%016llx",
		(unsigned long long)words[0], (unsigned long long)words[1]);
}

static inline int sb_gpu_shape_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* false: it is no such name. */
static inline bool sb_gpu_shape_of_name(const char *name, struct sb_gpu_shape *out_shape)
{
	size_t head = sizeof SB_GPU_SHAPE_NAME - 1;
	uint64_t words[2] = { 0 };

	if (!name || strncmp(name, SB_GPU_SHAPE_NAME, head) != 0 || strlen(name + head) != 32)
		return false;
	for (int i = 0; i < 32; i++) {
		int digit = sb_gpu_shape_digit(name[head + i]);

		if (digit < 0)
			return false;
		words[i / 16] = words[i / 16] << 4 | (uint64_t)digit;
	}
	*out_shape = sb_gpu_shape_unpack(words);
	return true;
}

#endif
