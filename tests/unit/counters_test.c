/* GPU counters: which stage a reading belongs to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "counted_run.h"
#include "format/run_keys.h"

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

static bool text_has(const struct made *m, const char *what)
{
	const struct sb_text_options options = { .columns = 100 };
	struct sb_buf text = { 0 };
	bool has;

	for (const struct sb_panel *const *panel = sb_panels; *panel; panel++)
		(*panel)->text(m->model, &options, &text);
	has = strstr(sb_buf_text(&text), what) != NULL;
	sb_buf_done(&text);
	return has;
}

/* A column each, where it was read and something used it. */
static void the_other_parts_have_a_table_where_they_did_something(void **state)
{
	struct made m = begin_made();

	(void)state;
	readings(&m, 10);
	zone(&m, "denoise", 0, SECOND / 2, 4 * SECOND + SECOND / 2);
	end_made(&m, 9 * SECOND);
	assert_false(text_has(&m, "occupancy"));
	m.model->gpu_counters.percent[SB_COUNTER_OCCUPANCY] = 41;
	m.model->gpu_counters.percent[SB_COUNTER_FP64] = 0.04;
	assert_true(text_has(&m, "occupancy\n    the whole run                       41.0 %\n"));
	assert_true(text_has(&m, "denoise                                n/a\n"));
	assert_false(text_has(&m, "FP64"));
	assert_false(text_has(&m, "PCIe GB/s"));
	m.model->gpu_counters.beside[SB_BESIDE_UTILIZATION] = 90;
	m.model->gpu_counters.beside[SB_BESIDE_PCIE_TX] = 12.5;
	assert_true(text_has(&m, "    util occupancy PCIe GB/s\n"));
	assert_true(text_has(&m, "  90.0 %    41.0 %     12.50\n"));
	for (int k = SB_COUNTER_TENSOR_FLOAT; k < SB_COUNTERS; k++)
		m.model->gpu_counters.percent[k] = 20 + k;
	assert_true(text_has(&m,
		"    util occupancy     FP64    NVDEC     HMMA     IMMA     FP16\n")); /* in 100 columns */
	assert_true(text_has(&m, " integer DRAM read DRAM written PCIe GB/s\n"));
	done(&m);
}

/* A sentence is true of every stage it counts, and names the largest of them. */
static void stages_without_a_bound_are_grouped_by_their_reason(void **state)
{
	static const char *const whys[] = { "x.", "y.", "x.", "z.", "v.", "w.", "v." };
	char name[] = "a";
	struct made m = begin_made();

	(void)state;
	readings(&m, 10);
	for (uint64_t i = 7; i--; name[0]++) /* the largest last */
		zone(&m, name, 0, (name[0] - 'a') * SECOND, (name[0] - 'a') * SECOND + (7 - i) * 100000000);
	end_made(&m, 9 * SECOND);
	for (size_t i = 0; i < 7; i++) {
		name[0] = (char)('g' - i);
		((struct sb_stage *)sb_model_stage(m.model, name))->work.bound_why = whys[i];
	}
	assert_true(text_has(&m, "    What bounds g and 1 other stage is n/a: x.\n"
				 "    What bounds f is n/a: y.\n"
				 "    What bounds d is n/a: z.\n"
				 "    … and 3 more stages\n"));
	for (size_t i = 4; i < 7; i++) {
		name[0] = (char)('g' - i);
		((struct sb_stage *)sb_model_stage(m.model, name))->work.bound_why = "z.";
	}
	assert_true(text_has(&m, "    What bounds d and 3 other stages is n/a: z.\n"));
	assert_false(text_has(&m, "more stage"));
	done(&m);
}

/* The driver was asked before the first reading of the counters ended: 0 % then, and that counts. */
static void the_runs_utilisation_is_that_of_all_its_samples(void **state)
{
	static const char *const driver[] = { "utilization_percent" };
	struct made m = begin_made();
	uint32_t gpu = sb_builder_schema(m.b, "gpu", 0, driver, 1);

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		sb_builder_sample(m.b, gpu, i * SECOND, (const double[]){ i < 3 ? 0 : 90 }, 1);
	readings(&m, 10);
	end_made(&m, 9 * SECOND);
	close_to(m.model->devices.all[0].utilization_percent.mean, 65);
	close_to(m.model->gpu_counters.beside[SB_BESIDE_UTILIZATION], 65);
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
	static const char *const driver[] = { "utilization_percent", "pcie_rx_gb_per_s" };
	struct made m = begin_made();
	uint32_t gpu = sb_builder_schema(m.b, "gpu", 0, driver, 2);

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		sb_builder_sample(m.b, gpu, i * SECOND, (const double[]){ 80, 3 }, 2);
	readings(&m, 10);
	zone(&m, "generation", STROBE_ROLE_GENERATION, SECOND + SECOND / 2, 3 * SECOND); /* half of 2, 3 */
	end_made(&m, 9 * SECOND);
	assert_int_equal(m.model->generations.count, 1);
	close_to(m.model->generations.all[0].counters.percent[SB_COUNTER_SM], (20 * 0.5 + 30) / 1.5);
	close_to(m.model->generations.all[0].counters.covered_ratio, 1);
	close_to(m.model->generations.all[0].counters.beside[SB_BESIDE_UTILIZATION], 80);
	close_to(m.model->generations.all[0].counters.beside[SB_BESIDE_PCIE_RX], 3);
	assert_true(isnan(m.model->generations.all[0].counters.beside[SB_BESIDE_NVLINK_RX]));
	text_holds(&m, "generation 1                       26.7 %   25.7 %      n/a      n/a  100.0 %");
	done(&m);
}

/* Requests of 100 ms: a reading of a second is of ten of them and the pauses between. */
static void a_generation_shorter_than_its_readings_has_none(void **state)
{
	struct made m = begin_made();

	(void)state;
	readings(&m, 10);
	zone(&m, "generation", STROBE_ROLE_GENERATION, 2 * SECOND + SECOND / 10, 2 * SECOND + SECOND / 5);
	end_made(&m, 9 * SECOND);
	assert_int_equal(m.model->generations.count, 1);
	assert_null(m.model->generations.all[0].counters.source);
	done(&m);
}

/* Samples that were kept around slow moments alone say nothing of the stage's other calls, its generation or the run. */
static void samples_of_slow_moments_speak_for_nothing_around_them(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "dram_active_percent" };

	(void)state;
	for (int64_t of_slow = 0; of_slow <= 1; of_slow++) {
		const struct strobe_attr attr = { SB_RUN_GPU_COUNTERS_OF_SLOW, STROBE_TYPE_INT,
			{ .i = of_slow } };
		struct made m = begin_made();
		uint32_t schema = sb_builder_schema(m.b, "gpu_pm", 0, columns, 2);
		const struct sb_stage *s;

		if (of_slow)
			sb_builder_meta(m.b, SB_META_RUN, &attr);
		for (uint64_t i = 0; i < 4; i++)
			sb_builder_sample(
				m.b, schema, SECOND + i * SECOND / 100, (const double[]){ 3, 1 }, 2);
		sb_builder_begin(m.w, SECOND, sb_builder_name(m.b, "video", NULL));
		sb_builder_role(m.w, STROBE_ROLE_GENERATION);
		zone(&m, "denoise", 0, SECOND, 2 * SECOND);
		sb_builder_end(m.w, 2 * SECOND, 0);
		end_made(&m, 3 * SECOND);
		s = sb_model_stage(m.model, "denoise");
		assert_int_equal(m.model->generations.count, 1);
		assert_int_equal(!m.model->generations.all[0].counters.source, of_slow);
		assert_int_equal(!m.model->gpu_counters.source, of_slow);
		assert_true(of_slow ? !s->counters.source : !strcmp(s->counters.source, "pm sampling"));
		assert_true(of_slow ? !s->work.bound : s->work.bound != NULL);
		text_holds(&m, "SMs   tensor     FP32     DRAM  covered");
		text_holds(&m, "while sampled                       3.0 %");
		done(&m);
	}
}

/* Each value is that of the time before it: the System panel said 45 %, the Hardware panel 50 %. */
static void a_counter_has_one_mean_in_all_panels(void **state)
{
	static const char *const utilization[] = { "utilization_percent" };
	struct made m = begin_made();
	uint32_t gpu = sb_builder_schema(m.b, "gpu", 0, utilization, 1);
	const struct sb_series *s;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		sb_builder_sample(m.b, gpu, i * SECOND, &(double){ 90 }, 1);
	readings(&m, 10);
	end_made(&m, 9 * SECOND);
	s = sb_model_series(m.model, "gpu_counters", 0);
	close_to(m.model->gpu_counters.percent[SB_COUNTER_SM], 50);
	close_to(sb_series_column_find(s, "sm_active_percent")->stats.mean, 50);
	text_holds(&m, "SMs active                      0.0       50.0       90.0  %");
	text_holds(&m, "the whole run                      50.0 %");
	done(&m);
}

/* A damaged file: what is said before and after it stays what it is. */
static void what_is_no_percentage_spoils_no_other_reading(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "dram_active_percent" };
	static const double wrong[] = { 1e300, INFINITY, -1e300, 6553.5 };

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct made m = begin_made();
		uint32_t schema = sb_builder_schema(m.b, "gpu_counters", 0, columns, 2);

		for (uint64_t t = 0; t <= 6; t++)
			sb_builder_sample(
				m.b, schema, t * SECOND, (const double[]){ t == 3 ? wrong[i] : 60, 7 }, 2);
		zone(&m, "before", 0, 0, 2 * SECOND);
		zone(&m, "damaged", 0, 2 * SECOND, 3 * SECOND);
		zone(&m, "after", 0, 3 * SECOND, 6 * SECOND);
		end_made(&m, 6 * SECOND);
		close_to(sb_model_stage(m.model, "before")->counters.percent[SB_COUNTER_SM], 60);
		assert_true(isnan(sb_model_stage(m.model, "damaged")->counters.percent[SB_COUNTER_SM]));
		close_to(sb_model_stage(m.model, "damaged")->counters.percent[SB_COUNTER_DRAM], 7);
		close_to(sb_model_stage(m.model, "after")->counters.percent[SB_COUNTER_SM], 60);
		close_to(m.model->gpu_counters.percent[SB_COUNTER_SM], 60);
		done(&m);
	}
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
	close_to(beside(&m, "offload", SB_BESIDE_PCIE_RX), 24);
	close_to(beside(&m, "offload", SB_BESIDE_PCIE_TX), 0.1);
	close_to(beside(&m, "denoise", SB_BESIDE_NVLINK_TX), 180);
	assert_true(isnan(beside(&m, "denoise", SB_BESIDE_NVLINK_RX))); /* was not read */
	close_to(beside(&m, "offload", SB_BESIDE_UTILIZATION), 0);
	close_to(beside(&m, "tiny", SB_BESIDE_UTILIZATION), 90);
	done(&m);
}

/* Readings every five seconds, the driver every second: all but the last one of them saw the ranks talk. */
static void links_bound_a_reading_by_their_means(void **state)
{
	static const char *const columns[] = { "sm_active_percent", "tensor_active_percent" };
	static const char *const device[] = { "utilization_percent", "nvlink_tx_gb_per_s",
		"nvlink_rx_gb_per_s" };
	struct made m = begin_made();
	uint32_t gpu = sb_builder_schema(m.b, "gpu", 0, device, 3);
	uint32_t counters = sb_builder_schema(m.b, "gpu_counters", 0, columns, 2);

	(void)state;
	for (uint64_t i = 0; i <= 20; i++) {
		double rate = i % 5 ? 180 : 1;

		sb_builder_sample(m.b, gpu, i * SECOND, (const double[]){ i % 5 ? 99 : 0, rate, rate }, 3);
		if (i % 5 == 0)
			sb_builder_sample(m.b, counters, i * SECOND + 1, (const double[]){ 30, 5 }, 2);
	}
	zone(&m, "all_reduce", 0, 1, 20 * SECOND + 1);
	end_made(&m, 20 * SECOND + 10);
	close_to(beside(&m, "all_reduce", SB_BESIDE_NVLINK_TX), (4 * 180 + 1) / 5.0);
	assert_string_equal(sb_model_stage(m.model, "all_reduce")->work.bound, "communication");
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
	text_holds(&m, "    denoise: 400 TFLOP; 1 call, cold: 400 TFLOP/s, MFU 40.4 % of the bf16 rate, "
		       "floor 404 ms "
		       "of\n"
		       "    1.00 s; 1.2 TB to and from DRAM, 333.3 FLOP per byte");
	w->flops = 800e6, w->tflops = 800e-6, w->mfu_ratio = 8e-7; /* 0.0008 TFLOP, 0.0 % say nothing */
	text_holds(&m, "denoise: 800 MFLOP; 1 call, cold: 800 MFLOP/s, MFU < 0.1 % of the bf16 rate");
	w->flops = 14.96e15, w->tflops = 1200; /* 1.496e+04 TFLOP is hard to read */
	text_holds(&m, "denoise: 14.96 PFLOP; 1 call, cold: 1200 TFLOP/s");
	w->flops = 2e18;
	text_holds(&m, "denoise: 2 EFLOP; ");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stage_has_the_readings_wholly_inside_it),
		cmocka_unit_test(the_other_parts_have_a_table_where_they_did_something),
		cmocka_unit_test(stages_without_a_bound_are_grouped_by_their_reason),
		cmocka_unit_test(the_runs_utilisation_is_that_of_all_its_samples),
		cmocka_unit_test(calls_add_up),
		cmocka_unit_test(a_generation_has_its_share_of_each_reading),
		cmocka_unit_test(a_generation_shorter_than_its_readings_has_none),
		cmocka_unit_test(samples_of_slow_moments_speak_for_nothing_around_them),
		cmocka_unit_test(a_counter_has_one_mean_in_all_panels),
		cmocka_unit_test(what_is_no_percentage_spoils_no_other_reading),
		cmocka_unit_test(what_bounds_a_stage_is_told_reading_by_reading),
		cmocka_unit_test(copies_and_communication_bound_a_stage),
		cmocka_unit_test(links_bound_a_reading_by_their_means),
		cmocka_unit_test(operations_over_time_over_the_peak),
		cmocka_unit_test(what_was_not_counted_has_no_rate),
		cmocka_unit_test(a_run_without_counters_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
