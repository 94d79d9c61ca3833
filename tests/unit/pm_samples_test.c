/* Samples of --gpu-counters: of which stage, generation and kernel family they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "counted_run.h"
#include "format/builder_stream.h"

#define MS 1000000ull
#define SAMPLE (MS / 2)

/* Rows of half a millisecond with these values; the first, without any, says where they begin. */
static void sampled(struct made *m, uint32_t schema, uint64_t from_ns, int rows, double sm, double clock_mhz)
{
	double values[] = { NAN, NAN, NAN, NAN };

	sb_builder_sample(m->b, schema, from_ns, values, 4);
	values[0] = sm;
	values[1] = 20;
	values[2] = 2e9;
	values[3] = clock_mhz;
	for (int i = 1; i <= rows; i++)
		sb_builder_sample(m->b, schema, from_ns + (uint64_t)i * SAMPLE, values, 4);
}

static uint32_t pm_schema(struct made *m, int device)
{
	static const char *const columns[] = { "sm_active_percent", "dram_read_percent",
		"pcie_read_bytes_per_s", "sm_clock_mhz" };

	return sb_builder_schema(m->b, "gpu_pm", device, columns, 4);
}

static void kernel(struct made *m, const char *name, uint64_t from_ns, uint64_t to_ns)
{
	sb_builder_gpu(m->b, &(struct sb_builder_gpu){ .name = sb_builder_name(m->b, name, NULL),
				     .kind = SB_GPU_KERNEL,
				     .start_ns = from_ns,
				     .duration_ns = to_ns - from_ns,
				     .launch_ns = UINT64_MAX });
}

static void a_gap_between_samples_covers_nothing(void **state)
{
	struct made m = begin_made();
	const struct sb_stage *denoise;
	uint32_t pm = pm_schema(&m, 0);

	(void)state;
	sampled(&m, pm, 10 * MS, 4, 50, 1500);
	sampled(&m, pm, 20 * MS, 4, 100, 1500); /* 8 ms later */
	zone(&m, "denoise", 0, 8 * MS, 24 * MS);
	end_made(&m, 30 * MS);
	denoise = sb_model_stage(m.model, "denoise");
	assert_string_equal(denoise->counters.source, "pm sampling");
	close_to(denoise->counters.percent[SB_COUNTER_SM], 75);
	close_to(denoise->counters.covered_s, 0.004);
	close_to(denoise->counters.covered_ratio, 0.25);
	close_to(m.model->pm_samples.sampled_s, 0.004);
	close_to(m.model->pm_samples.duration_s, 0.012);
	close_to(m.model->pm_samples.interval_s, 0.0005);
	close_to(m.model->pm_samples.pcie_read_bytes_per_s, 2e9);
	assert_int_equal(m.model->pm_samples.sample_count, 8);
	text_holds(&m, "Sampled for 4.00 ms, from 10.0 ms of the run on: 8 samples of 500 us");
	m.model->pm_samples.pcie_write_bytes_per_s = 1e6;
	text_holds(&m, "PCIe: 2.00 GB/s read, 1.0 MB/s written\n");
	done(&m);
}

static void generations_that_are_not_shown_are_counted(void **state)
{
	struct made m = begin_made();
	uint32_t pm = pm_schema(&m, 0);

	(void)state;
	sampled(&m, pm, 10 * MS, 4 * 12, 50, 1500);
	for (uint64_t i = 0; i < 12; i++)
		zone(&m, "video", STROBE_ROLE_GENERATION, (10 + 2 * i) * MS, (12 + 2 * i) * MS);
	end_made(&m, 50 * MS);
	text_holds(&m, "generation 10 ");
	text_holds(&m, "… and 2 more generations");
	done(&m);
}

/* Also where the GPU has no readings that are always on; the gap between two times of sampling is of neither. */
static void a_generation_has_the_samples_in_it(void **state)
{
	struct made m = begin_made();
	const struct sb_generation *g;
	uint32_t pm = pm_schema(&m, 0);

	(void)state;
	sampled(&m, pm, 10 * MS, 4, 50, 1500);
	sampled(&m, pm, 20 * MS, 4, 100, 1500);
	zone(&m, "first", STROBE_ROLE_GENERATION, 11 * MS, 21 * MS); /* two samples, and two */
	zone(&m, "second", STROBE_ROLE_GENERATION, 23 * MS, 25 * MS); /* none */
	end_made(&m, 30 * MS);
	assert_int_equal(m.model->generations.count, 2);
	g = m.model->generations.all;
	assert_string_equal(g[0].counters.source, "pm sampling");
	close_to(g[0].counters.percent[SB_COUNTER_SM], 75);
	close_to(g[0].counters.covered_s, 0.002);
	close_to(g[0].counters.covered_ratio, 0.2);
	assert_null(g[1].counters.source);
	text_holds(&m, "generation 1                       75.0 %");
	done(&m);
}

static void a_generation_is_told_by_who_saw_more_of_it(void **state)
{
	struct made m = begin_made();

	(void)state;
	readings(&m, 10);
	sampled(&m, pm_schema(&m, 0), 6 * SECOND, 2000, 99, 1500);
	zone(&m, "long", STROBE_ROLE_GENERATION, 0, 5 * SECOND);
	zone(&m, "short", STROBE_ROLE_GENERATION, 6 * SECOND, 7 * SECOND);
	end_made(&m, 9 * SECOND);
	assert_int_equal(m.model->generations.count, 2);
	assert_string_equal(m.model->generations.all[0].counters.source, "gpm");
	assert_string_equal(m.model->generations.all[1].counters.source, "pm sampling");
	close_to(m.model->generations.all[1].counters.percent[SB_COUNTER_SM], 99);
	done(&m);
}

static void a_stage_is_told_by_who_saw_more_of_it(void **state)
{
	struct made m = begin_made();
	const struct sb_stage *denoise, *decode;

	(void)state;
	readings(&m, 10); /* 10 % more every second */
	sampled(&m, pm_schema(&m, 0), 6 * SECOND, 100, 99, 1500);
	zone(&m, "denoise", 0, 0, 5 * SECOND);
	zone(&m, "decode", 0, 6 * SECOND - MS, 6 * SECOND + 60 * MS); /* no reading lies in it */
	end_made(&m, 9 * SECOND);
	denoise = sb_model_stage(m.model, "denoise");
	decode = sb_model_stage(m.model, "decode");
	assert_string_equal(denoise->counters.source, "gpm");
	assert_string_equal(decode->counters.source, "pm sampling");
	close_to(decode->counters.percent[SB_COUNTER_SM], 99);
	assert_string_equal(m.model->gpu_counters.source, "gpm"); /* it saw the whole run */
	done(&m);
}

static void a_family_has_the_samples_that_its_kernels_fill(void **state)
{
	struct made m = begin_made();
	const struct sb_pm_samples_panel *p;
	uint32_t pm = pm_schema(&m, 0);

	(void)state;
	sampled(&m, pm, 10 * MS, 8, 90, 1500);
	kernel(&m, "ampere_bf16_s16816gemm_bf16_128x128", 10 * MS, 11 * MS); /* two samples */
	kernel(&m, "ampere_bf16_s16816gemm_bf16_128x128", 11 * MS + 1000,
		11 * MS + 600000); /* one more: 1 us apart */
	kernel(&m, "vectorized_elementwise_kernel", 11 * MS + 600000, 13 * MS); /* two, and a half one */
	kernel(&m, "reduce_kernel", 13 * MS, 13 * MS + 200000); /* less than a sample */
	kernel(&m, "direct_copy_kernel_cuda", 13 * MS + 200000, 14 * MS);
	end_made(&m, 30 * MS);
	p = &m.model->pm_samples;
	assert_int_equal(p->family_count, 3);
	assert_string_equal(p->families[0].family, "GEMM");
	close_to(p->families[0].total_s, 0.001599);
	close_to(p->families[0].counters.covered_s, 0.0015);
	close_to(p->families[0].counters.percent[SB_COUNTER_SM], 90);
	assert_string_equal(p->families[1].family, "element-wise");
	close_to(p->families[1].counters.covered_s, 0.001);
	text_holds(&m, "GEMM");
	assert_string_equal(p->families[2].family, "copy and layout");
	text_holds(&m, "    copy and cast  "); /* which says both */
	text_holds(&m, "    (n/a, as no sample lies in their kernels alone: reduction)\n");
	done(&m);
}

/* A damaged file: rows that go back are left out, and so is what is no percentage. */
static void damaged_rows_are_no_samples(void **state)
{
	struct made m = begin_made();
	uint32_t pm = pm_schema(&m, 0);

	(void)state;
	sampled(&m, pm, 10 * MS, 4, 50, 1500);
	sampled(&m, pm, 11 * MS, 2, 99, 1500); /* these were */
	sb_builder_sample(m.b, pm, 12 * MS + SAMPLE, (const double[]){ 1e300, 20, INFINITY, 1500 }, 4);
	zone(&m, "denoise", 0, 8 * MS, 24 * MS);
	end_made(&m, 30 * MS);
	assert_int_equal(m.model->pm_samples.sample_count, 5);
	close_to(m.model->pm_samples.sampled_s, 0.0025);
	close_to(m.model->pm_samples.counters.percent[SB_COUNTER_SM], 50);
	close_to(m.model->pm_samples.counters.percent[SB_COUNTER_DRAM_READ], 20);
	close_to(m.model->pm_samples.pcie_read_bytes_per_s, 2e9);
	close_to(sb_model_stage(m.model, "denoise")->counters.percent[SB_COUNTER_SM], 50);
	done(&m);
}

/* The driver's clock of a busy GPU, every second. */
static void driver_clock(struct made *m, int device, double mhz)
{
	static const char *const columns[] = { "utilization_percent", "sm_clock_mhz" };
	uint32_t schema = sb_builder_schema(m->b, "gpu", device, columns, 2);

	for (uint64_t i = 0; i < 5; i++)
		sb_builder_sample(m->b, schema, i * SECOND, (double[]){ 100, mhz }, 2);
}

static void clocks_that_are_held_are_told(void **state)
{
	static const struct {
		double usual, sampled, later;
		const char *clocks;
	} cases[] = { { 1980, 1500, 1500, "held" }, { 1980, 1970, 1970, "as usual" },
		{ 1980, 1300, 1700, "as usual" } }; /* it moves, so it is not held */

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct made m = begin_made();
		uint32_t pm = pm_schema(&m, 0);

		driver_clock(&m, 0, cases[i].usual);
		sampled(&m, pm, SECOND + MS, 20, 90, cases[i].sampled);
		sampled(&m, pm, 2 * SECOND + MS, 20, 90, cases[i].later);
		end_made(&m, 5 * SECOND);
		assert_string_equal(m.model->pm_samples.clocks, cases[i].clocks);
		close_to(m.model->pm_samples.sm_clock_elsewhere_mhz, cases[i].usual);
		text_holds(&m, i ? "by their cycles; the driver reads" : "times measured meanwhile");
		done(&m);
	}
}

/* The program hid GPU 0 from itself: the clock of another one's is not its own. */
static void clocks_are_compared_on_the_same_gpu(void **state)
{
	struct made m = begin_made();
	uint32_t pm = pm_schema(&m, 0);

	(void)state;
	sb_builder_meta_string(m.b, SB_META_SYSTEM, "gpu0.uuid", "GPU-a");
	sb_builder_meta_string(m.b, SB_META_SYSTEM, "gpu1.uuid", "GPU-b");
	sb_builder_meta_string(m.b, SB_META_SYSTEM, "cuda_device_0_uuid", "GPU-b");
	driver_clock(&m, 0, 1200);
	driver_clock(&m, 1, 1980);
	sampled(&m, pm, SECOND + MS, 40, 90, 1970);
	end_made(&m, 5 * SECOND);
	close_to(m.model->pm_samples.sm_clock_elsewhere_mhz, 1980);
	assert_string_equal(m.model->pm_samples.clocks, "as usual");
	done(&m);
}

/* As strobe writes them: among the records of the GPU, behind all that the monitors sampled. */
static void sample_of(struct made *m, uint32_t schema, uint64_t t_ns, const double *values, uint32_t count)
{
	uint64_t *at = sb_stream_writer_long(m->b->device, SB_SAMPLE, schema, 1 + count);

	assert_non_null(at);
	at[0] = sb_builder_ticks_at(m->b, t_ns);
	memcpy(at + 1, values, count * sizeof *values);
}

/* Kernels of collectives keep the SMs busy with waiting, also where --gpu-counters samples them. */
static void links_bound_a_sample_by_what_the_driver_said_then(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "tensor_active_percent" };
	static const char *const device[] = { "nvlink_tx_gb_per_s", "nvlink_rx_gb_per_s" };
	struct made m = begin_made();
	uint32_t gpu = sb_builder_schema(m.b, "gpu", 0, device, 2);
	uint32_t pm = sb_builder_schema(m.b, "gpu_pm", 0, columns, 2);

	(void)state;
	for (uint64_t i = 0; i <= 9; i++) {
		double rate = i < 5 ? 1 : 180;

		sb_builder_sample(m.b, gpu, i * SECOND, (const double[]){ rate, rate }, 2);
	}
	for (uint64_t i = 0; i <= 80; i++)
		sample_of(&m, pm, i * SECOND / 10, (const double[]){ 60, 5 }, 2);
	sb_builder_begin(m.w, 0, sb_builder_name(m.b, "video", NULL));
	sb_builder_role(m.w, STROBE_ROLE_GENERATION);
	zone(&m, "denoise", 0, 0, 4 * SECOND);
	zone(&m, "all_reduce", 0, 4 * SECOND, 8 * SECOND);
	sb_builder_end(m.w, 8 * SECOND, 0);
	end_made(&m, 9 * SECOND);
	assert_string_equal(sb_model_stage(m.model, "denoise")->work.bound, "SM");
	close_to(beside(&m, "denoise", SB_BESIDE_NVLINK_TX), 1);
	assert_string_equal(sb_model_stage(m.model, "all_reduce")->work.bound, "communication");
	close_to(beside(&m, "all_reduce", SB_BESIDE_NVLINK_TX), 180);
	assert_string_equal(m.model->generations.all[0].counters.source, "pm sampling");
	close_to(m.model->generations.all[0].counters.beside[SB_BESIDE_NVLINK_TX], 90.5);
	done(&m);
}

/* Samples are taken of some steps alone; a row without values ends the gap between. */
static void what_links_did_in_a_gap_is_no_samples(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "tensor_active_percent" };
	static const char *const link = "nvlink_tx_gb_per_s";
	struct made m = begin_made();
	uint32_t gpu = sb_builder_schema(m.b, "gpu", 0, &link, 1);
	uint32_t pm = sb_builder_schema(m.b, "gpu_pm", 0, columns, 2);

	(void)state;
	for (uint64_t i = 0; i <= 12; i++) {
		const double sampled = i > 10 ? 90 : NAN;

		sb_builder_sample(m.b, gpu, i * SECOND, &(double){ i < 10 ? 200 : 2 }, 1);
		if (!i || i >= 10)
			sample_of(&m, pm, i * SECOND + 1, (const double[]){ sampled, sampled - 10 }, 2);
	}
	zone(&m, "denoise", 0, 10 * SECOND + 1, 12 * SECOND + 1);
	end_made(&m, 12 * SECOND + 10);
	close_to(beside(&m, "denoise", SB_BESIDE_NVLINK_TX), 2);
	done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_between_samples_covers_nothing),
		cmocka_unit_test(a_generation_has_the_samples_in_it),
		cmocka_unit_test(generations_that_are_not_shown_are_counted),
		cmocka_unit_test(a_generation_is_told_by_who_saw_more_of_it),
		cmocka_unit_test(a_stage_is_told_by_who_saw_more_of_it),
		cmocka_unit_test(a_family_has_the_samples_that_its_kernels_fill),
		cmocka_unit_test(damaged_rows_are_no_samples),
		cmocka_unit_test(clocks_that_are_held_are_told),
		cmocka_unit_test(clocks_are_compared_on_the_same_gpu),
		cmocka_unit_test(links_bound_a_sample_by_what_the_driver_said_then),
		cmocka_unit_test(what_links_did_in_a_gap_is_no_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
