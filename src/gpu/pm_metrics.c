/* The table of counters, and what of it a chip can sample at once. */
#include "gpu/pm_metrics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

const char *const sb_pm_column_names[SB_PM_COLUMNS] = { "sm_active_percent", "tensor_active_percent",
	"dram_read_percent", "dram_write_percent", "dram_active_percent", "dram_read_bytes_per_s",
	"dram_write_bytes_per_s", "pcie_read_bytes_per_s", "pcie_write_bytes_per_s", "fp32_active_percent",
	"occupancy_percent", "sm_clock_mhz", "engine_active_percent" };

#define PERCENT ".avg.pct_of_peak_sustained_elapsed"
#define SPELLINGS 4
#define PERCENT_MOST 105 /* a little over the peak is the clocks' doing */
#define BYTES_PER_S_MOST 1e14

/* In the order of their weight: what does not fit in one pass with those before it is left out. Tried
 * with the host libraries of CUDA 12.6 and 13.0 for Turing to Blackwell. */
static const struct {
	enum sb_pm_column column;
	const char *spellings[SPELLINGS];
} wanted[] = {
	{ SB_PM_SM_ACTIVE, { "sm__cycles_active" PERCENT } },
	{ SB_PM_TENSOR_ACTIVE, { "sm__pipe_tensor_cycles_active_realtime" PERCENT,
				       "sm__pipe_tensor_cycles_active" PERCENT } },
	/* not dramc__read_throughput: its percent are hundredths on an H200 */
	{ SB_PM_DRAM_READ_BYTES,
		{ "dram__bytes_read.sum", "dram__bytes_op_read.sum", "fbpa__dram_read_bytes.sum" } },
	{ SB_PM_DRAM_WRITE_BYTES,
		{ "dram__bytes_write.sum", "dram__bytes_op_write.sum", "fbpa__dram_write_bytes.sum" } },
	{ SB_PM_ENGINE_ACTIVE, { "gr__cycles_active" PERCENT } },
	{ SB_PM_PCIE_READ_BYTES, { "pcie__read_bytes.sum", "PCI.TriageCompute.pcie__read_bytes.sum" } },
	{ SB_PM_PCIE_WRITE_BYTES, { "pcie__write_bytes.sum", "PCI.TriageCompute.pcie__write_bytes.sum" } },
	{ SB_PM_FP32_ACTIVE, { "sm__pipe_fma_cycles_active_realtime" PERCENT,
				     "TPC.TriageCompute.sm__pipe_fma_cycles_active_realtime" PERCENT,
				     "sm__inst_executed_pipe_fma_realtime" PERCENT,
				     "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime" PERCENT } },
	{ SB_PM_OCCUPANCY,
		{ "sm__warps_active_realtime" PERCENT, "tpc__warps_active_shader_cs_realtime" PERCENT } },
	{ SB_PM_SM_CLOCK, { "sm__cycles_elapsed.avg.per_second" } },
};

struct trial {
	const struct sb_pm_cupti *pm;
	const char *chip;
	const uint8_t *availability;
	void *host;
	uint8_t *config;
	size_t config_bytes;
};

static void drop(struct trial *t)
{
	if (t->host)
		t->pm->host_deinitialize(&(struct cupti_host_deinitialize){
			CUPTI_BYTES(struct cupti_host_deinitialize, host), NULL, t->host });
	free(t->config);
	t->host = NULL;
	t->config = NULL;
}

static int make_config(struct trial *t)
{
	struct cupti_host_config_size size = { CUPTI_BYTES(struct cupti_host_config_size, image_bytes), NULL,
		t->host, 0 };
	struct cupti_host_config config = { CUPTI_BYTES(struct cupti_host_config, image), NULL, t->host, 0,
		NULL };
	int result = t->pm->config_size(&size);

	if (result)
		return result;
	t->config = malloc(size.image_bytes + 1);
	if (!t->config)
		return CUPTI_OUT_OF_MEMORY;
	t->config_bytes = config.image_bytes = size.image_bytes;
	config.image = t->config;
	return t->pm->config(&config);
}

/* A host object is made afresh for each try: what was added to one cannot be taken back. */
static int attempt(struct trial *t, struct sb_pm_metrics *m)
{
	struct cupti_host_initialize host = { CUPTI_BYTES(struct cupti_host_initialize, host), NULL,
		CUPTI_PROFILER_PM_SAMPLING, t->chip, t->availability, NULL };
	struct cupti_host_add_metrics add = { CUPTI_BYTES(struct cupti_host_add_metrics, name_count), NULL,
		NULL, m->names, m->count };
	struct cupti_host_passes passes = { CUPTI_BYTES(struct cupti_host_passes, pass_count), NULL, 0, NULL,
		0 };
	int result = t->pm->host_initialize(&host);

	if (result)
		return result;
	add.host = t->host = host.host;
	result = t->pm->add_metrics(&add);
	if (!result)
		result = make_config(t);
	passes.image = t->config;
	passes.image_bytes = t->config_bytes;
	if (!result)
		result = t->pm->passes(&passes);
	if (!result && passes.pass_count != 1)
		result = CUPTI_NOT_SUPPORTED;
	if (result)
		drop(t);
	return result;
}

/* Does the column fit beside those that were chosen? Leaves its name in m then. */
static bool fits(struct trial *t, struct sb_pm_metrics *m, size_t row, int *out_result)
{
	for (int i = 0; i < SPELLINGS && wanted[row].spellings[i]; i++) {
		m->names[m->count] = wanted[row].spellings[i];
		m->columns[m->count++] = wanted[row].column;
		*out_result = attempt(t, m);
		drop(t);
		if (!*out_result)
			return true;
		m->count--;
	}
	return false;
}

int sb_pm_metrics_choose(const struct sb_pm_cupti *pm, const char *chip, const uint8_t *availability,
	struct sb_pm_metrics *out_metrics, void **out_host, uint8_t **out_config, size_t *out_config_bytes)
{
	struct trial t = { .pm = pm, .chip = chip, .availability = availability };
	int result = CUPTI_NOT_SUPPORTED, last = 0;

	*out_host = NULL;
	*out_config = NULL;
	out_metrics->count = 0;
	for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
		if (!fits(&t, out_metrics, i, &last) && !i)
			return last; /* without the first there is nothing to tell */
	result = attempt(&t, out_metrics);
	if (result)
		return result;
	*out_host = t.host;
	*out_config = t.config;
	*out_config_bytes = t.config_bytes;
	return 0;
}

static double percent_of(double value)
{
	return value >= 0 && value <= PERCENT_MOST ? fmin(value, 100) : NAN;
}

void sb_pm_metrics_row(const struct sb_pm_metrics *metrics, const double *values, double *out_row)
{
	for (int i = 0; i < SB_PM_COLUMNS; i++)
		out_row[i] = NAN;
	for (size_t i = 0; i < metrics->count; i++) {
		enum sb_pm_column column = metrics->columns[i];
		bool rate = (column >= SB_PM_DRAM_READ_BYTES && column <= SB_PM_PCIE_WRITE_BYTES) ||
			    column == SB_PM_SM_CLOCK;

		out_row[column] = !rate ? percent_of(values[i]) : values[i] >= 0 ? values[i] : NAN;
	}
}

void sb_pm_metrics_rates(double *row, double width_s, double dram_peak_bytes_per_s)
{
	double percent = dram_peak_bytes_per_s > 0 ? 100 / dram_peak_bytes_per_s : NAN;

	for (int i = SB_PM_DRAM_READ_BYTES; i <= SB_PM_PCIE_WRITE_BYTES; i++) {
		row[i] /= width_s;
		if (row[i] > BYTES_PER_S_MOST)
			row[i] = NAN;
	}
	row[SB_PM_DRAM_READ] = row[SB_PM_DRAM_READ_BYTES] * percent;
	row[SB_PM_DRAM_WRITE] = row[SB_PM_DRAM_WRITE_BYTES] * percent;
	row[SB_PM_DRAM_ACTIVE] = row[SB_PM_DRAM_READ] + row[SB_PM_DRAM_WRITE];
	row[SB_PM_SM_CLOCK] /= 1e6;
}
