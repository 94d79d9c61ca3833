/* A bit for each buffer says that it is free. */
#include "gpu/buffers.h"

#include "base/populate.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#define ALL_BYTES (SB_GPU_BUFFERS * (size_t)SB_GPU_BUFFER_BYTES)
#define READY 2u /* CUPTI has one that it fills, and asks for the next */

static uint8_t *memory;
static _Atomic uint64_t free_bits;
static uint64_t ready_bits; /* whose pages are there. For the thread that reads */
static _Atomic uint32_t most;

static void count(uint64_t bits)
{
	uint32_t now = SB_GPU_BUFFERS - (uint32_t)__builtin_popcountll(bits), before = atomic_load(&most);

	while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
		;
}

bool sb_gpu_buffers_init(void)
{
	void *made;

	if (memory)
		return true;
	made = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return false;
	memory = made;
	atomic_store(&free_bits, UINT64_MAX);
	return true;
}

uint8_t *sb_gpu_buffer_take(void)
{
	uint64_t bits = atomic_load(&free_bits);

	while (bits) {
		if (!atomic_compare_exchange_weak(&free_bits, &bits, bits & (bits - 1)))
			continue;
		count(bits & (bits - 1));
		return memory + (size_t)__builtin_ctzll(bits) * SB_GPU_BUFFER_BYTES;
	}
	return NULL;
}

void sb_gpu_buffer_give(const uint8_t *buffer)
{
	atomic_fetch_or(&free_bits, UINT64_C(1) << (size_t)(buffer - memory) / SB_GPU_BUFFER_BYTES);
}

void sb_gpu_buffers_ready(void)
{
	uint64_t bits = atomic_load(&free_bits);

	for (uint32_t i = 0; i < READY && bits; i++, bits &= bits - 1) {
		uint64_t lowest = bits & -bits;

		if (!(ready_bits & lowest))
			sb_populate(memory + (size_t)__builtin_ctzll(bits) * SB_GPU_BUFFER_BYTES,
				SB_GPU_BUFFER_BYTES);
		ready_bits |= lowest;
	}
}

void sb_gpu_buffers_clear(void)
{
	if (memory)
		madvise(memory, ALL_BYTES, MADV_DONTNEED);
	ready_bits = 0;
}

void sb_gpu_buffers_forget(void)
{
	atomic_store(&free_bits, memory ? UINT64_MAX : 0);
}

void sb_gpu_buffers_count_anew(void)
{
	atomic_store(&most, 0);
	count(atomic_load(&free_bits));
}

uint32_t sb_gpu_buffers_most(void)
{
	return atomic_load(&most);
}
