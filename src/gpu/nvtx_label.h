/* What NVTX ranges and marks are called, and the number that they carry. */
#ifndef SB_GPU_NVTX_LABEL_H
#define SB_GPU_NVTX_LABEL_H

#include "gpu/nvtx.h"
#include "strobe.h"

#include <stdbool.h>

#define SB_NVTX_NAME_BYTES 256u

/* A range's full name: "domain:message". */
struct sb_nvtx_label {
	char text[SB_NVTX_NAME_BYTES];
};

/* What a registered string's handle points to; lives as long as the process. */
struct sb_nvtx_registered {
	uint32_t id;
	char text[];
};

/* Make a label. domain: NULL for the default one, which has no name. */
struct sb_nvtx_label sb_nvtx_label_of(const char *domain, const char *text);
struct sb_nvtx_label sb_nvtx_label_of_wide(const char *domain, const wchar_t *wide);
struct sb_nvtx_label sb_nvtx_label_of_attributes(const char *domain, const struct nvtx_attributes *a);
/* The id of that name; a registered string has it already. */
uint32_t sb_nvtx_name_of_attributes(const char *domain, const struct nvtx_attributes *a);
/* Keeps a label for the life of the process; NULL: no memory. */
const struct sb_nvtx_registered *sb_nvtx_register_label(struct sb_nvtx_label label);
/* The number that a range carries; false: it has none. */
bool sb_nvtx_payload_of(const struct nvtx_attributes *a, struct strobe_attr *out_attr);
/* Wide characters as UTF-8, cut to what fits. */
void sb_nvtx_utf8(const wchar_t *wide, char *out, size_t size);

#endif
