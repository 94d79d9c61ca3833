/* Sixteen bytes at once: which is the first of some kind. The compiler's vectors, with
 * SSE2 and NEON for the search in the result. */
#ifndef SB_BASE_BYTES16_H
#define SB_BASE_BYTES16_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#define SB_BYTES16_INLINE static inline __attribute__((always_inline))

/* Signed: a byte past ASCII is less than 0. */
typedef signed char sb_bytes16 __attribute__((vector_size(16)));
typedef unsigned char sb_counts16 __attribute__((vector_size(16)));

SB_BYTES16_INLINE sb_bytes16 sb_bytes16_load(const char *from)
{
	sb_bytes16 x;

	memcpy(&x, from, sizeof x);
	return x;
}

/* The place of the first byte that is set in the result of a comparison; 16: none is. */
SB_BYTES16_INLINE unsigned sb_bytes16_first(sb_bytes16 found)
{
#if defined(__SSE2__)
	return (unsigned)__builtin_ctz((unsigned)_mm_movemask_epi8((__m128i)found) | 1u << 16);
#elif defined(__ARM_NEON) && defined(__aarch64__)
	/* Four bits per byte. */
	uint64_t bits = vget_lane_u64(
		vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_s8((int8x16_t)found), 4)), 0);

	return bits ? (unsigned)__builtin_ctzll(bits) >> 2 : 16;
#else
	uint64_t half[2];

	memcpy(half, &found, sizeof half);
	if (half[0])
		return (unsigned)__builtin_ctzll(half[0]) >> 3;
	return half[1] ? 8 + ((unsigned)__builtin_ctzll(half[1]) >> 3) : 16;
#endif
}

/* How many bytes are the same, up to the first that is not. */
SB_BYTES16_INLINE unsigned sb_bytes16_same(sb_bytes16 x, sb_bytes16 y)
{
#if defined(__SSE2__)
	return (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8((__m128i)(x == y)));
#else
	return sb_bytes16_first(x != y);
#endif
}

/* How many of the bytes equal c. */
SB_BYTES16_INLINE uint64_t sb_bytes16_count(const char *from, const char *to, char c)
{
	uint64_t count = 0;

	while (to - from >= 16) {
		sb_counts16 sums = { 0 };
		unsigned char sum[16];

		/* A sum of a byte holds 255 of them. */
		for (unsigned i = 0; i < 255 && to - from >= 16; i++, from += 16)
			sums -= (sb_counts16)(sb_bytes16_load(from) == (signed char)c);
		memcpy(sum, &sums, sizeof sum);
		for (unsigned i = 0; i < 16; i++)
			count += sum[i];
	}
	for (; from < to; from++)
		count += *from == c;
	return count;
}

#endif
