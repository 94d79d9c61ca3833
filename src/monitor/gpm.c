/* Two samples in turn: each reading is of the time since the one before. */
#include "monitor/gpm.h"

#include <math.h>
#include <stdio.h>
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

/* A mean a little over the peak is the clocks' doing, more of it is no mean. */
#define PERCENT_MOST 105
enum { PCIE_WAYS = 2 };
#define GB_PER_S_MOST 1000 /* over PCIe */

static bool supports(const struct nvml_api *api, struct sb_gpus_device *d)
{
	struct nvml_gpm_support support = { .version = NVML_GPM_VERSION };
	bool slice = d->handle != d->sensors;

	return api->gpm_support && api->gpm_alloc && api->gpm_free && api->gpm_get &&
	       (slice ? api->gpm_slice_sample && api->instance : api->gpm_sample != NULL) &&
	       !api->gpm_support(d->sensors, &support) && support.supported;
}

static void forget_pcie(struct sb_gpm *gpm)
{
	gpm->pcie_gb_per_s[0] = gpm->pcie_gb_per_s[1] = NAN;
}

static bool begin(struct sb_gpm *gpm, const struct nvml_api *api, struct sb_gpus_device *d)
{
	if (!supports(api, d))
		return false;
	gpm->get = calloc(1, sizeof *gpm->get);
	gpm->newest = -1;
	forget_pcie(gpm);
	if (gpm->get && !api->gpm_alloc(&gpm->samples[0]) && !api->gpm_alloc(&gpm->samples[1]))
		return true;
	snprintf(d->uncounted, sizeof d->uncounted, "NVML has no memory for readings");
	sb_gpm_close(gpm, api);
	return false;
}

static int sample(
	const struct sb_gpm *gpm, const struct nvml_api *api, const struct sb_gpus_device *d, int which)
{
	unsigned instance;
	int code;

	if (d->handle == d->sensors)
		return api->gpm_sample(d->handle, gpm->samples[which]);
	code = api->instance(d->handle, &instance);
	return code ? code : api->gpm_slice_sample(d->sensors, instance, gpm->samples[which]);
}

/* The older sample stays: the next reading is of all the time since. */
static enum sb_gpus_counting refuse(struct sb_gpm *gpm, struct sb_gpus_device *d, int code)
{
	forget_pcie(gpm);
	d->uncounted[0] = 0;
	if (code == NVML_NOT_SUPPORTED)
		return SB_GPUS_UNCOUNTED;
	if (code == NVML_NO_PERMISSION)
		snprintf(d->uncounted, sizeof d->uncounted, "no permission to read it");
	else
		snprintf(d->uncounted, sizeof d->uncounted, "NVML refuses to read it (error %d)", code);
	return code == NVML_NO_PERMISSION ? SB_GPUS_UNCOUNTED : SB_GPUS_COUNT_LATER;
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
	for (unsigned i = 1; wanted & SB_GPUS_BIT(SB_GPUS_NVDEC_ACTIVE) && i < NVML_GPM_NVDECS; i++)
		get->metrics[get->count++] = (struct nvml_gpm_metric){ .id = NVML_GPM_NVDEC + i };
	get->metrics[get->count++] = (struct nvml_gpm_metric){ .id = NVML_GPM_PCIE_TX };
	get->metrics[get->count++] = (struct nvml_gpm_metric){ .id = NVML_GPM_PCIE_RX };
}

/* The last two that were asked for. */
static void take_pcie(struct sb_gpm *gpm)
{
	for (int i = 0; i < PCIE_WAYS; i++) {
		const struct nvml_gpm_metric *m =
			&gpm->get->metrics[gpm->get->count - PCIE_WAYS + (unsigned)i];
		double gb_per_s = m->value * (1 << 20) * 1e-9;

		gpm->pcie_gb_per_s[i] = m->code == NVML_OK && gb_per_s >= 0 && gb_per_s <= GB_PER_S_MOST
						? gb_per_s
						: NAN;
	}
}

/* A counter that this chip has, and that could not be read now, stays wanted. */
static bool is_lacking(int code)
{
	return code == NVML_NOT_SUPPORTED || code == NVML_INVALID_ARGUMENT || code == NVML_NO_PERMISSION;
}

static bool is_percent(const struct nvml_gpm_metric *m)
{
	return m->code == NVML_OK && m->value >= 0 && m->value <= PERCENT_MOST;
}

/* Of several decoders the busiest: the driver spreads videos over them. */
static void take(const struct sb_gpm *gpm, uint32_t *wanted, double *values)
{
	uint32_t asked = *wanted;
	unsigned n = 0;

	for (unsigned c = 0; c < SB_GPUS_COUNTERS; c++) {
		const struct nvml_gpm_metric *m = &gpm->get->metrics[n];

		if (!(asked & 1u << c))
			continue;
		n++;
		if (is_lacking(m->code))
			*wanted &= ~(1u << c);
		else if (is_percent(m))
			values[c] = fmin(m->value, 100);
	}
	for (; n < gpm->get->count - PCIE_WAYS; n++)
		if (is_percent(&gpm->get->metrics[n]))
			values[SB_GPUS_NVDEC_ACTIVE] = fmax(
				values[SB_GPUS_NVDEC_ACTIVE], fmin(gpm->get->metrics[n].value, 100));
}

enum sb_gpus_counting sb_gpm_read(struct sb_gpm *gpm, const struct nvml_api *api, struct sb_gpus_device *d,
	uint32_t *wanted, double *values)
{
	int before, code;

	if (!gpm->get && !begin(gpm, api, d))
		return SB_GPUS_UNCOUNTED;
	before = gpm->newest;
	code = sample(gpm, api, d, before < 0 ? 0 : !before);
	if (!code && before >= 0) {
		ask(gpm, *wanted, before);
		code = api->gpm_get(gpm->get);
	}
	if (code)
		return refuse(gpm, d, code);
	gpm->newest = before < 0 ? 0 : !before;
	if (before < 0)
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
