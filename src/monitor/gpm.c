/* Two samples in turn: each reading is of the time since the one before. */
#include "monitor/gpm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unsigned ids[SB_GPUS_COUNTERS] = {
	[SB_GPUS_SM_ACTIVE] = NVML_GPM_SM,
	[SB_GPUS_OCCUPANCY] = NVML_GPM_OCCUPANCY,
	[SB_GPUS_TENSOR_ACTIVE] = NVML_GPM_TENSOR,
	[SB_GPUS_HMMA_ACTIVE] = NVML_GPM_HMMA,
	[SB_GPUS_FP32_ACTIVE] = NVML_GPM_FP32,
	[SB_GPUS_DRAM_ACTIVE] = NVML_GPM_DRAM,
	[SB_GPUS_IMMA_ACTIVE] = NVML_GPM_IMMA,
	[SB_GPUS_FP64_ACTIVE] = NVML_GPM_FP64,
	[SB_GPUS_FP16_ACTIVE] = NVML_GPM_FP16,
	[SB_GPUS_INTEGER_ACTIVE] = NVML_GPM_INTEGER,
	[SB_GPUS_NVDEC_ACTIVE] = NVML_GPM_NVDEC,
};

static bool supports(const struct nvml_api *api, nvml_device device)
{
	struct nvml_gpm_support support = { .version = NVML_GPM_VERSION };

	return api->gpm_support && api->gpm_alloc && api->gpm_free && api->gpm_sample && api->gpm_get &&
	       !api->gpm_support(device, &support) && support.supported;
}

static bool begin(struct sb_gpm *gpm, const struct nvml_api *api, nvml_device device)
{
	if (!supports(api, device))
		return false;
	gpm->get = calloc(1, sizeof *gpm->get);
	gpm->newest = -1;
	gpm->pcie_gb_per_s[0] = gpm->pcie_gb_per_s[1] = NAN;
	return gpm->get && !api->gpm_alloc(&gpm->samples[0]) && !api->gpm_alloc(&gpm->samples[1]);
}

static void ask(struct sb_gpm *gpm, uint32_t wanted, int before)
{
	struct nvml_gpm_get *get = gpm->get;

	get->version = NVML_GPM_VERSION;
	get->before = gpm->samples[before];
	get->after = gpm->samples[!before];
	get->count = 0;
	for (unsigned c = 0; c < SB_GPUS_COUNTERS; c++)
		if (wanted & 1u << c)
			get->metrics[get->count++] = (struct nvml_gpm_metric){ .id = ids[c] };
	get->metrics[get->count++] = (struct nvml_gpm_metric){ .id = NVML_GPM_PCIE_TX };
	get->metrics[get->count++] = (struct nvml_gpm_metric){ .id = NVML_GPM_PCIE_RX };
}

/* The last two that were asked for. */
static void take_pcie(struct sb_gpm *gpm)
{
	for (int i = 0; i < 2; i++) {
		const struct nvml_gpm_metric *m = &gpm->get->metrics[gpm->get->count - 2 + (unsigned)i];

		gpm->pcie_gb_per_s[i] = m->code == NVML_OK ? m->value * (1 << 20) * 1e-9 : NAN;
	}
}

static void take(const struct sb_gpm *gpm, uint32_t *wanted, double *values)
{
	uint32_t asked = *wanted;
	unsigned n = 0;

	for (unsigned c = 0; c < SB_GPUS_COUNTERS; c++) {
		const struct nvml_gpm_metric *m = &gpm->get->metrics[n];

		if (!(asked & 1u << c))
			continue;
		n++;
		if (m->code == NVML_OK)
			values[c] = m->value;
		else
			*wanted &= ~(1u << c);
	}
}

enum sb_gpus_counting sb_gpm_read(
	struct sb_gpm *gpm, const struct nvml_api *api, nvml_device device, uint32_t *wanted, double *values)
{
	int before, code;

	if (!gpm->get && !begin(gpm, api, device))
		return SB_GPUS_UNCOUNTED;
	before = gpm->newest;
	code = api->gpm_sample(device, gpm->samples[before < 0 ? 0 : !before]);
	if (code == NVML_NOT_SUPPORTED || code == NVML_NO_PERMISSION)
		return SB_GPUS_UNCOUNTED;
	if (code)
		return SB_GPUS_COUNT_LATER;
	gpm->newest = before < 0 ? 0 : !before;
	if (before < 0)
		return SB_GPUS_COUNT_LATER;
	ask(gpm, *wanted, before);
	if (api->gpm_get(gpm->get))
		return SB_GPUS_COUNT_LATER;
	take(gpm, wanted, values);
	take_pcie(gpm);
	return SB_GPUS_COUNTED;
}

void sb_gpm_close(struct sb_gpm *gpm, const struct nvml_api *api)
{
	for (int i = 0; i < 2; i++)
		if (gpm->samples[i])
			api->gpm_free(gpm->samples[i]);
	free(gpm->get);
	memset(gpm, 0, sizeof *gpm);
}
