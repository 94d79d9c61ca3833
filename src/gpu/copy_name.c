/* Translates CUPTI's kinds of copies into strobe's. */
#include "gpu/copy_name.h"

#include "gpu/cupti.h"
#include "record/put.h"

#include <stddef.h>

enum sb_gpu_kind sb_copy_kind(uint8_t cupti_kind)
{
	switch (cupti_kind) {
	case CUPTI_COPY_HTOD: return SB_GPU_COPY_H2D;
	case CUPTI_COPY_DTOH: return SB_GPU_COPY_D2H;
	case CUPTI_COPY_DTOD: return SB_GPU_COPY_D2D;
	default: return SB_GPU_COPY_OTHER;
	}
}

uint32_t sb_copy_name(enum sb_gpu_kind kind, uint32_t flags)
{
	static const char *const texts[][3] = { [SB_GPU_COPY_H2D] = { "Memcpy HtoD",
							"Memcpy HtoD (Pageable -> Device)",
							"Memcpy HtoD (Pinned -> Device)" },
		[SB_GPU_COPY_D2H] = { "Memcpy DtoH", "Memcpy DtoH (Device -> Pageable)",
			"Memcpy DtoH (Device -> Pinned)" },
		[SB_GPU_COPY_D2D] = { "Memcpy DtoD (Device -> Device)", "Memcpy DtoD", "Memcpy DtoD" },
		[SB_GPU_COPY_OTHER] = { "Memcpy", "Memcpy (Pageable)", "Memcpy (Pinned)" } };

	return sb_name_intern(texts[kind][flags & 3], NULL);
}

uint32_t sb_copy_flags(uint8_t source, uint8_t target)
{
	if (source == CUPTI_MEMORY_PAGEABLE || target == CUPTI_MEMORY_PAGEABLE)
		return SB_GPU_PAGEABLE;
	if (source == CUPTI_MEMORY_PINNED || target == CUPTI_MEMORY_PINNED)
		return SB_GPU_PINNED;
	return 0;
}
