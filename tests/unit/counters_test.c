/* GPU counters: which stage a reading belongs to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/build.h"
#include "base/error.h"
#include "format/builder.h"
#include "format/run_keys.h"
#include "report/panels/panel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ull

struct made {
	char path[64];
	struct sb_builder *b;
	struct sb_stream_writer *w;
	struct sb_run *run;
	struct sb_model *model;
};

static struct made begin_made(void)
{
	struct made m = { .path = "/tmp/strobe-counters-XXXXXX.strobe" };
	int fd = mkstemps(m.path, 7);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sb_builder_open(m.path, NULL, &m.b), 0);
	m.w = sb_builder_thread(m.b, 0, "main");
	return m;
}

static void zone(struct made *m, const char *name, enum strobe_role role, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t id = sb_builder_name(m->b, name, NULL);

	sb_builder_begin(m->w, begin_ns, id);
	if (role)
		sb_builder_role(m->w, role);
	sb_builder_end(m->w, end_ns, id);
}

static void end_made(struct made *m, uint64_t end_ns)
{
	assert_int_equal(sb_builder_close(m->b, end_ns), 0);
	if (sb_run_open(m->path, NULL, &m->run) || sb_report_build(m->run, NULL, &m->model))
		fail_msg("%s", sb_error_message());
	unlink(m->path);
}

static void done(struct made *m)
{
	sb_model_free(m->model);
	sb_run_close(m->run);
}

static void close_to(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-6))
		fail_msg("%.9g is not %.9g", value, expected);
}

/* A row every second: SM i x 10 %, tensor a percent less; of device 1 nothing. */
static void readings(struct made *m, int rows)
{
	static const char *const columns[] = { "sm_active_percent", "tensor_active_percent" };
	uint32_t idle = sb_builder_schema(m->b, "gpu_counters", 1, columns, 2);
	uint32_t busy = sb_builder_schema(m->b, "gpu_counters", 0, columns, 2);

	for (int i = 0; i < rows; i++) {
		double nothing[] = { 0, 0 }, some[] = { i * 10, i * 10 - 1 };

		sb_builder_sample(m->b, idle, (uint64_t)i * SECOND, nothing, 2);
		sb_builder_sample(m->b, busy, (uint64_t)i * SECOND, some, 2);
	}
}

static void text_holds(const struct made *m, const char *what)
{
	struct sb_text_options options = { .columns = 100 };
	struct sb_buf text = { 0 };

	for (const struct sb_panel *const *panel = sb_panels; *panel; panel++)
		(*panel)->text(m->model, &options, &text);
	if (!strstr(sb_buf_text(&text), what))
		fail_msg("no '%s' in\n%s", what, sb_buf_text(&text));
	sb_buf_done(&text);
}

static void a_stage_has_the_readings_wholly_inside_it(void **state)
{
	struct made m = begin_made();
	const struct sb_stage *denoise, *decode;

	(void)state;
	readings(&m, 10);
	zone(&m, "denoise", 0, SECOND / 2, 4 * SECOND + SECOND / 2); /* readings 2, 3 and 4 */
	zone(&m, "decode", 0, 5 * SECOND, 5 * SECOND + SECOND / 2); /* none */
	end_made(&m, 9 * SECOND);
	denoise = sb_model_stage(m.model, "denoise");
	decode = sb_model_stage(m.model, "decode");
	close_to(denoise->counters.percent[SB_COUNTER_SM], 30);
	close_to(denoise->counters.percent[SB_COUNTER_TENSOR], 29);
	assert_true(isnan(denoise->counters.percent[SB_COUNTER_DRAM]));
	close_to(denoise->counters.covered_ratio, 0.75);
	assert_string_equal(denoise->counters.source, "gpm");
	assert_null(decode->counters.source);
	close_to(m.model->gpu_counters.percent[SB_COUNTER_SM], 50); /* rows 1 to 9: 10 % to 90 % */
	text_holds(&m, "Hardware");
	text_holds(&m, "denoise                            30.0 %   29.0 %      n/a      n/a   75.0 %");
	done(&m);
}

static void calls_add_up(void **state)
{
	struct made m = begin_made();

	(void)state;
	readings(&m, 10);
	zone(&m, "step", 0, 0, 2 * SECOND); /* readings 1 and 2 */
	zone(&m, "step", 0, 6 * SECOND, 8 * SECOND); /* 7 and 8 */
	end_made(&m, 9 * SECOND);
	close_to(sb_model_stage(m.model, "step")->counters.percent[SB_COUNTER_SM], 45);
	close_to(sb_model_stage(m.model, "step")->counters.covered_ratio, 1);
	done(&m);
}

static void a_generation_has_its_share_of_each_reading(void **state)
{
	struct made m = begin_made();

	(void)state;
	readings(&m, 10);
	zone(&m, "generation", STROBE_ROLE_GENERATION, SECOND + SECOND / 2, 3 * SECOND); /* half of 2, 3 */
	end_made(&m, 9 * SECOND);
	assert_int_equal(m.model->generations.count, 1);
	close_to(m.model->generations.all[0].counters.percent[SB_COUNTER_SM], (20 * 0.5 + 30) / 1.5);
	close_to(m.model->generations.all[0].counters.covered_ratio, 1);
	done(&m);
}

/* Two seconds of matrix products, two of copies, one of nothing. */
static void what_bounds_a_stage_is_told_reading_by_reading(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "tensor_active_percent",
		"fp32_active_percent", "dram_active_percent" };
	static const double rows[][4] = { { 0, 0, 0, 0 }, { 96, 93, 1, 17 }, { 96, 93, 1, 17 },
		{ 98, 0, 5, 88 }, { 98, 0, 5, 88 }, { 0, 0, 0, 0 }, { 95, 0, 77, 9 }, { 6, 0, 0, 0 } };
	struct made m = begin_made();
	uint32_t schema = sb_builder_schema(m.b, "gpu_counters", 0, columns, 4);
	const struct sb_stage *mixed;

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		sb_builder_sample(m.b, schema, i * SECOND, rows[i], 4);
	zone(&m, "mixed", 0, 0, 4 * SECOND);
	zone(&m, "waits", 0, 4 * SECOND, 5 * SECOND);
	zone(&m, "fp32", 0, 5 * SECOND, 6 * SECOND);
	zone(&m, "tiny", 0, 6 * SECOND, 7 * SECOND);
	end_made(&m, 7 * SECOND);
	mixed = sb_model_stage(m.model, "mixed");
	assert_int_equal(mixed->work.bound_count, 2);
	close_to(mixed->work.bounds[0].ratio, 0.5);
	assert_string_equal(mixed->work.bound, "DRAM and tensor");
	assert_string_equal(sb_model_stage(m.model, "waits")->work.bound, "host");
	assert_string_equal(sb_model_stage(m.model, "fp32")->work.bound, "FP32");
	assert_string_equal(sb_model_stage(m.model, "tiny")->work.bound, "launch");
	done(&m);
}

/* Offloading: processors idle while weights come; ranks that exchange what they have; and both beside real work. */
static void copies_and_communication_bound_a_stage(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "tensor_active_percent" };
	static const char *const device[] = { "utilization_percent", "pcie_tx_gb_per_s", "pcie_rx_gb_per_s",
		"nvlink_tx_gb_per_s" };
	static const double counted[][2] = { { 0, 0 }, { 1, 0 }, { 60, 4 }, { 95, 90 }, { 5, 0 } };
	static const double sampled[][4] = { { 0, 0, 0, 0 }, { 0, 0.1, 24, 0 }, { 99, 0, 0.2, 180 },
		{ 99, 0, 24, 180 }, { 90, 0.5, 0.5, 2 } };
	struct made m = begin_made();
	uint32_t gpu = sb_builder_schema(m.b, "gpu", 0, device, 4);
	uint32_t counters = sb_builder_schema(m.b, "gpu_counters", 0, columns, 2);

	(void)state;
	for (uint64_t i = 0; i < 5; i++) {
		sb_builder_sample(m.b, gpu, i * SECOND, sampled[i], 4);
		sb_builder_sample(m.b, counters, i * SECOND + 1, counted[i], 2);
	}
	zone(&m, "offload", 0, 1, SECOND + 1);
	zone(&m, "all_reduce", 0, SECOND + 1, 2 * SECOND + 1);
	zone(&m, "denoise", 0, 2 * SECOND + 1, 3 * SECOND + 1);
	zone(&m, "tiny", 0, 3 * SECOND + 1, 4 * SECOND + 1);
	end_made(&m, 5 * SECOND);
	assert_string_equal(sb_model_stage(m.model, "offload")->work.bound, "copies");
	assert_string_equal(sb_model_stage(m.model, "all_reduce")->work.bound, "communication");
	assert_string_equal(sb_model_stage(m.model, "denoise")->work.bound, "tensor");
	assert_string_equal(sb_model_stage(m.model, "tiny")->work.bound, "launch");
	done(&m);
}

static void facts(struct made *m)
{
	static const char *const columns[] = { "utilization_percent" };
	uint32_t schema = sb_builder_schema(m->b, "gpu", 0, columns, 1);
	struct strobe_attr name = { "gpu0.name", STROBE_TYPE_STRING, { .s = "NVIDIA H200" } };

	sb_builder_meta(m->b, SB_META_SYSTEM, &name);
	sb_builder_sample(m->b, schema, 0, &(double){ 90 }, 1);
	sb_builder_sample(m->b, schema, SECOND, &(double){ 90 }, 1);
}

static void shape(struct made *m, int64_t number, double flops, const char *why)
{
	struct strobe_attr attrs[] = { { "shape", STROBE_TYPE_INT, { .i = number } },
		{ "model", STROBE_TYPE_STRING, { .s = "Net" } },
		{ "precision", STROBE_TYPE_STRING, { .s = "bf16" } },
		{ why ? "why" : "flops", why ? STROBE_TYPE_STRING : STROBE_TYPE_FLOAT, { .f = flops } } };

	if (why)
		attrs[3].value.s = why;
	sb_builder_event(m->b, 0, SB_EVENT_FLOPS, 0, attrs, 4);
}

static void call(struct made *m, int64_t number, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t id = sb_builder_name(m->b, "Net", NULL);

	sb_builder_begin(m->w, begin_ns, id);
	sb_builder_attr(m->w, sb_builder_name(m->b, "flops_shape", NULL), number);
	sb_builder_end(m->w, end_ns, id);
}

/* DRAM is busy for a quarter of the time, in all readings. */
static void dram(struct made *m, int rows)
{
	static const char *const column = "dram_active_percent";
	uint32_t schema = sb_builder_schema(m->b, "gpu_counters", 0, &column, 1);

	for (int i = 0; i < rows; i++)
		sb_builder_sample(m->b, schema, (uint64_t)i * SECOND, &(double){ 25 }, 1);
}

/* Two calls of 200 TFLOP in a second of a stage: 400 TFLOP/s of 989.5. */
static void operations_over_time_over_the_peak(void **state)
{
	struct made m = begin_made();
	uint32_t id = sb_builder_name(m.b, "denoise", NULL);
	struct sb_stage_work *w;

	(void)state;
	facts(&m);
	shape(&m, 1, 200e12, NULL);
	dram(&m, 2);
	sb_builder_begin(m.w, 0, id);
	call(&m, 1, 0, SECOND / 4);
	call(&m, 1, SECOND / 2, SECOND);
	sb_builder_end(m.w, SECOND, id);
	end_made(&m, SECOND);
	w = (struct sb_stage_work *)&sb_model_stage(m.model, "denoise")->work;
	close_to(w->flops / 1e12, 400);
	close_to(w->tflops, 400);
	assert_string_equal(w->precision, "bf16");
	close_to(w->peak_tflops, 989.5);
	close_to(w->mfu_ratio, 400 / 989.5);
	close_to(w->floor_s, 400 / 989.5);
	close_to(
		sb_model_stage(m.model, "Net")->work.tflops, 400); /* of its second call: the first is cold */
	assert_string_equal(m.model->roofline.gpu, "NVIDIA H200");
	close_to(w->intensity, 400e12 / 1.2e12); /* a quarter of 4.8 TB/s */
	text_holds(&m,
		"    denoise: 400 TFLOP; 1 call, cold: 400 TFLOP/s, 40.4 % of the bf16 rate, floor 404 ms of "
		"1.00 s;\n"
		"    1.2 TB to and from DRAM, 333.3 FLOP per byte");
	w->flops = 800e6, w->tflops = 800e-6, w->mfu_ratio = 8e-7; /* 0.0008 TFLOP, 0.0 % say nothing */
	text_holds(&m, "denoise: 800 MFLOP; 1 call, cold: 800 MFLOP/s, < 0.1 % of the bf16 rate");
	done(&m);
}

static void what_was_not_counted_has_no_rate(void **state)
{
	struct made m = begin_made();
	const struct sb_stage_work *w;

	(void)state;
	facts(&m);
	shape(&m, 1, 200e12, NULL);
	shape(&m, 2, 0, "RuntimeError: no");
	dram(&m, 2);
	call(&m, 1, 0, SECOND / 2);
	call(&m, 2, SECOND / 2, SECOND);
	end_made(&m, SECOND);
	w = &sb_model_stage(m.model, "Net")->work;
	close_to(w->flops / 1e12, 200);
	assert_int_equal(w->uncounted_count, 1);
	assert_string_equal(w->why, "RuntimeError: no");
	assert_true(isnan(w->tflops) && isnan(w->mfu_ratio) && isnan(w->intensity));
	text_holds(&m, "    Net: 200 TFLOP in the calls that were counted\n      without 1 model call: "
		       "RuntimeError: no\n");
	done(&m);
}

static void a_run_without_counters_says_nothing(void **state)
{
	struct made m = begin_made();

	(void)state;
	zone(&m, "denoise", 0, 0, SECOND);
	end_made(&m, SECOND);
	assert_null(m.model->gpu_counters.source);
	assert_null(sb_model_stage(m.model, "denoise")->counters.source);
	done(&m);
}

/* ---- samples of --gpu-counters ---- */

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
	end_made(&m, 30 * MS);
	p = &m.model->pm_samples;
	assert_int_equal(p->family_count, 2);
	assert_string_equal(p->families[0].family, "GEMM");
	close_to(p->families[0].total_s, 0.001599);
	close_to(p->families[0].counters.covered_s, 0.0015);
	close_to(p->families[0].counters.percent[SB_COUNTER_SM], 90);
	assert_string_equal(p->families[1].family, "element-wise");
	close_to(p->families[1].counters.covered_s, 0.001);
	text_holds(&m, "GEMM");
	done(&m);
}

/* The driver's clock of a busy GPU, every second. */
static void driver_clock(struct made *m, double mhz)
{
	static const char *const columns[] = { "utilization_percent", "sm_clock_mhz" };
	uint32_t schema = sb_builder_schema(m->b, "gpu", 0, columns, 2);

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

		driver_clock(&m, cases[i].usual);
		sampled(&m, pm, SECOND + MS, 20, 90, cases[i].sampled);
		sampled(&m, pm, 2 * SECOND + MS, 20, 90, cases[i].later);
		end_made(&m, 5 * SECOND);
		assert_string_equal(m.model->pm_samples.clocks, cases[i].clocks);
		close_to(m.model->pm_samples.sm_clock_elsewhere_mhz, cases[i].usual);
		text_holds(&m, i ? "as they do when they are not sampled" : "times measured meanwhile");
		done(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stage_has_the_readings_wholly_inside_it),
		cmocka_unit_test(calls_add_up),
		cmocka_unit_test(a_generation_has_its_share_of_each_reading),
		cmocka_unit_test(what_bounds_a_stage_is_told_reading_by_reading),
		cmocka_unit_test(copies_and_communication_bound_a_stage),
		cmocka_unit_test(operations_over_time_over_the_peak),
		cmocka_unit_test(what_was_not_counted_has_no_rate),
		cmocka_unit_test(a_run_without_counters_says_nothing),
		cmocka_unit_test(a_gap_between_samples_covers_nothing),
		cmocka_unit_test(a_stage_is_told_by_who_saw_more_of_it),
		cmocka_unit_test(a_family_has_the_samples_that_its_kernels_fill),
		cmocka_unit_test(clocks_that_are_held_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
