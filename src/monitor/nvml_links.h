/* PCIe and NVLink: from running totals to rates. nvml.c reads the totals. */
#ifndef SB_MONITOR_NVML_LINKS_H
#define SB_MONITOR_NVML_LINKS_H

#include "monitor/gpus.h"
#include "monitor/nvml_abi.h"
#include "monitor/procfile.h"

enum { SB_NVML_LINK_FIELDS = 4 };

/* Counters of PCIe and NVLink as last read, and the rates since the reading before. */
struct sb_nvml_links {
	struct sb_pace pace;
	uint64_t last_ns;
	struct nvml_field before[SB_NVML_LINK_FIELDS];
	double gb_per_s[SB_NVML_LINK_FIELDS];
};

/* Fills in which totals to read; returns the bits of their columns. */
uint32_t sb_nvml_links_ask(struct nvml_field fields[SB_NVML_LINK_FIELDS]);
/* Takes the totals that were read. elapsed_s: since the reading before, 0: there is none. Columns that the GPU does not
 * count are removed from wanted. */
void sb_nvml_links_note(
	struct sb_nvml_links *links, const struct nvml_field *fields, uint32_t *wanted, double elapsed_s);
/* Writes the rates into their columns. */
void sb_nvml_links_put(const struct sb_nvml_links *links, double *values);

#endif
