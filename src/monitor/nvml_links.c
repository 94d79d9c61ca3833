/* PCIe and NVLink: from running totals to rates. */
#include "monitor/nvml_links.h"

#include <math.h>
#include <stdbool.h>

static const struct {
	enum sb_gpus_column column;
	unsigned id, scope;
	double unit_bytes;
} link_fields[SB_NVML_LINK_FIELDS] = {
	{ SB_GPUS_PCIE_TX, NVML_PCIE_TX_BYTES, 0, 1 },
	{ SB_GPUS_PCIE_RX, NVML_PCIE_RX_BYTES, 0, 1 },
	{ SB_GPUS_NVLINK_TX, NVML_NVLINK_TX_KIB, ~0u, 1024 },
	{ SB_GPUS_NVLINK_RX, NVML_NVLINK_RX_KIB, ~0u, 1024 },
};

/* A 32-bit counter of bytes goes round every 4.3 GB: with 54 GB/s over PCIe many times between two readings, and its rate is
 * that of any other number of rounds (seen: H200, driver 580). */
static bool is_ambiguous(int i, const struct nvml_field *now)
{
	return now->type == NVML_FIELD_UNSIGNED && link_fields[i].unit_bytes < 1024;
}

/* How far a counter came; a 32-bit one may have gone round. */
static double field_step(const struct nvml_field *now, const struct nvml_field *before)
{
	switch (now->type) {
	case NVML_FIELD_DOUBLE: return now->value.d - before->value.d;
	case NVML_FIELD_UNSIGNED: return (double)(now->value.u - before->value.u);
	case NVML_FIELD_LONG: return (double)now->value.ul - (double)before->value.ul;
	default: return (double)now->value.ull - (double)before->value.ull;
	}
}

void sb_nvml_links_note(
	struct sb_nvml_links *links, const struct nvml_field *fields, uint32_t *wanted, double elapsed_s)
{
	for (int i = 0; i < SB_NVML_LINK_FIELDS; i++) {
		bool counted = fields[i].code == NVML_OK, known = links->before[i].id && counted;
		double step = known ? field_step(&fields[i], &links->before[i]) : NAN;

		links->gb_per_s[i] = step >= 0 && elapsed_s > 0 && !is_ambiguous(i, &fields[i])
					     ? step * link_fields[i].unit_bytes * 1e-9 / elapsed_s
					     : NAN;
		if (!counted)
			*wanted &= ~SB_GPUS_BIT(link_fields[i].column);
		links->before[i] = fields[i];
	}
}

uint32_t sb_nvml_links_ask(struct nvml_field fields[SB_NVML_LINK_FIELDS])
{
	uint32_t bits = 0;

	for (int i = 0; i < SB_NVML_LINK_FIELDS; i++) {
		bits |= SB_GPUS_BIT(link_fields[i].column);
		fields[i].id = link_fields[i].id;
		fields[i].scope = link_fields[i].scope;
	}
	return bits;
}

void sb_nvml_links_put(const struct sb_nvml_links *links, double *values)
{
	for (int i = 0; i < SB_NVML_LINK_FIELDS; i++)
		values[link_fields[i].column] = links->gb_per_s[i];
}
