/* On a machine with several GPUs: whose counters a stage, a generation and the run have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "counted_run.h"
#include "format/builder_stream.h"
#include "format/run_keys.h"

#define ROWS 21u

struct gpu {
	double sm[2]; /* percent in the first half, and in the second */
	double utilization, own_mb; /* NAN: not known */
};

static void gpu(struct made *m, int device, const struct gpu *g)
{
	static const char *const counters[] = { "sm_active_percent", "tensor_active_percent" };
	static const char *const driver[] = { "utilization_percent", "process_memory_mb", "power_w" };
	uint32_t counted = sb_builder_schema(m->b, "gpu_counters", device, counters, 2);
	uint32_t sampled = sb_builder_schema(m->b, "gpu", device, driver, 3);

	for (uint64_t i = 0; i < ROWS; i++) {
		double sm = g->sm[i > ROWS / 2];

		sb_builder_sample(
			m->b, sampled, i * SECOND, (const double[]){ g->utilization, g->own_mb, 300 }, 3);
		sb_builder_sample(m->b, counted, i * SECOND, (const double[]){ sm, sm - 1 }, 2);
	}
}

/* A zone whose work is on a device as CUDA counts; -1: it has no GPU time. */
static void timed(struct made *m, const char *name, int device, uint64_t begin_s, uint64_t end_s)
{
	uint32_t id = sb_builder_name(m->b, name, NULL);
	struct sb_builder_gpu g = { .name = id,
		.kind = SB_GPU_ZONE,
		.device = (uint32_t)device,
		.start_ns = begin_s * SECOND,
		.duration_ns = (end_s - begin_s) * SECOND,
		.launch_ns = begin_s * SECOND,
		.launch_tid = 1000 };

	sb_builder_begin(m->w, begin_s * SECOND, id);
	sb_builder_end(m->w, end_s * SECOND, id);
	if (device >= 0)
		sb_builder_gpu(m->b, &g);
}

static void open_generation(struct made *m)
{
	sb_builder_begin(m->w, 0, sb_builder_name(m->b, "video", NULL));
	sb_builder_role(m->w, STROBE_ROLE_GENERATION);
}

static double sm_of(const struct made *m, const char *stage)
{
	return sb_model_stage(m->model, stage)->counters.percent[SB_COUNTER_SM];
}

/* encode and denoise, ten seconds each, in one generation. */
static struct made two_stages(const struct gpu *gpus, int encode_device, int denoise_device)
{
	struct made m = begin_made();

	for (int i = 0; i < 2; i++)
		gpu(&m, i, &gpus[i]);
	open_generation(&m);
	timed(&m, "encode", encode_device, 0, 10);
	timed(&m, "denoise", denoise_device, 10, 20);
	sb_builder_end(m.w, 20 * SECOND, 0);
	return m;
}

static const struct gpu beside_another[] = { { { 10, 60 }, 90, 20000 }, { { 99, 99 }, 100, 0 } };

static void a_gpu_of_others_says_nothing_of_the_run(void **state)
{
	struct made m = two_stages(beside_another, 0, 0);
	const struct sb_generation *g;

	(void)state;
	end_made(&m, 20 * SECOND);
	close_to(sm_of(&m, "encode"), 10);
	close_to(sm_of(&m, "denoise"), 60);
	assert_string_equal(sb_model_stage(m.model, "encode")->work.bound, "launch");
	g = &m.model->generations.all[0];
	close_to(g->counters.percent[SB_COUNTER_SM], 35);
	close_to(g->counters.beside[SB_BESIDE_UTILIZATION], 90);
	close_to(g->utilization_percent, 90);
	close_to(m.model->gpu_counters.percent[SB_COUNTER_SM], 35);
	close_to(m.model->summary.gpu_utilization_mean_percent, 90);
	assert_true(m.model->devices.all[0].used);
	assert_false(m.model->devices.all[1].used);
	close_to(m.model->summary.energy_wh, 300 * 20 / 3600.0); /* not twice as much */
	close_to(m.model->devices.all[1].energy_wh, m.model->devices.all[0].energy_wh);
	done(&m);
}

/* No zone has GPU time: the driver's count of the run's memory tells. */
static void memory_of_the_run_tells_its_gpu(void **state)
{
	struct made m = two_stages(beside_another, -1, -1);

	(void)state;
	end_made(&m, 20 * SECOND);
	close_to(sm_of(&m, "denoise"), 60);
	close_to(m.model->gpu_counters.percent[SB_COUNTER_SM], 35);
	done(&m);
}

static void where_nothing_tells_the_busiest_speaks(void **state)
{
	static const struct gpu gpus[] = { { { 10, 60 }, 90, NAN }, { { 99, 99 }, 100, NAN } };
	struct made m = two_stages(gpus, -1, -1);

	(void)state;
	end_made(&m, 20 * SECOND);
	close_to(sm_of(&m, "denoise"), 99);
	close_to(m.model->gpu_counters.percent[SB_COUNTER_SM], 99);
	assert_true(m.model->devices.all[1].used);
	done(&m);
}

static const struct gpu taking_turns[] = { { { 0, 95 }, 60, 20000 }, { { 96, 0 }, 40, 20000 } };

static void each_stage_has_the_gpu_that_its_zones_name(void **state)
{
	struct made m = two_stages(taking_turns, 1, 0);

	(void)state;
	end_made(&m, 20 * SECOND);
	close_to(sm_of(&m, "encode"), 96);
	close_to(sm_of(&m, "denoise"), 95);
	assert_string_equal(sb_model_stage(m.model, "encode")->work.bound, "tensor");
	close_to(sm_of(&m, "video"), 48); /* the busier one of its two: GPU 1 in ten of twenty seconds */
	done(&m);
}

/* A stage that waits on its own GPU does not get what another stage does on the other one. */
static void an_idle_gpu_of_a_stage_stays_idle(void **state)
{
	static const struct gpu gpus[] = { { { 0, 95 }, 0, 20000 }, { { 96, 90 }, 40, 20000 } };
	struct made m = two_stages(gpus, 0, 1);

	(void)state;
	end_made(&m, 20 * SECOND);
	close_to(sm_of(&m, "encode"), 0);
	close_to(sm_of(&m, "denoise"), 90);
	assert_string_equal(sb_model_stage(m.model, "encode")->work.bound, "host");
	done(&m);
}

/* torch computes where the tensors are, also while another GPU is current: then its zones name that one. */
static void tensors_on_a_gpu_that_no_zone_names_count(void **state)
{
	struct made m = two_stages(taking_turns, 0, 0);

	(void)state;
	sb_builder_snapshot(m.b, SECOND, "strobe.memory.device", 0, 1000, 1000, 1000);
	sb_builder_snapshot(m.b, SECOND, "strobe.memory.device", 1, 1000, 1000, 1000);
	end_made(&m, 20 * SECOND);
	close_to(sm_of(&m, "encode"), 96);
	close_to(sm_of(&m, "denoise"), 95);
	done(&m);
}

/* The program hid GPU 0 from itself: its device 0 is the monitors' GPU 1. */
static void uuids_tie_the_programs_numbers_to_the_monitors(void **state)
{
	static const struct gpu gpus[] = { { { 99, 99 }, 100, 0 }, { { 10, 60 }, 90, NAN } };
	struct made m = two_stages(gpus, 0, 0);

	(void)state;
	sb_builder_meta_string(m.b, SB_META_SYSTEM, "gpu0.uuid", "GPU-a");
	sb_builder_meta_string(m.b, SB_META_SYSTEM, "gpu1.uuid", "GPU-b");
	sb_builder_meta_string(m.b, SB_META_SYSTEM, "cuda_device_0_uuid", "GPU-b");
	end_made(&m, 20 * SECOND);
	close_to(sm_of(&m, "encode"), 10);
	close_to(sm_of(&m, "denoise"), 60);
	close_to(m.model->generations.all[0].counters.percent[SB_COUNTER_SM], 35);
	assert_false(m.model->devices.all[0].used);
	assert_true(m.model->devices.all[1].used);
	done(&m);
}

/* A row of samples every tenth of a second, of a GPU that works and of one that idles. */
static void samples(struct made *m)
{
	static const char *const column = "sm_active_percent";

	for (int device = 0; device < 2; device++) {
		uint32_t schema = sb_builder_schema(m->b, "gpu_pm", device, &column, 1);

		for (uint64_t i = 0; i <= 130; i++)
			sb_builder_sample(m->b, schema, i * SECOND / 10, &(double){ device ? 80 : 2 }, 1);
	}
}

/* Samples have the program's number: GPU 0, which it hid, had them, and the generation had none. */
static void samples_are_of_the_gpu_that_the_monitors_count(void **state)
{
	static const struct gpu gpus[] = { { { 99, 99 }, 100, 0 }, { { 10, 60 }, 90, NAN } };
	static const char *const columns[] = { "sm_active_percent", "sm_clock_mhz" };
	struct made m = two_stages(gpus, 0, 0);
	uint32_t schema = sb_builder_schema(m.b, "gpu_pm", 0, columns, 2);

	(void)state;
	for (uint64_t i = 0; i <= 200; i++)
		sb_builder_sample(m.b, schema, i * SECOND / 10, (const double[]){ 80, 1500 }, 2);
	sb_builder_meta_string(m.b, SB_META_SYSTEM, "gpu0.uuid", "GPU-a");
	sb_builder_meta_string(m.b, SB_META_SYSTEM, "gpu1.uuid", "GPU-b");
	sb_builder_meta_string(m.b, SB_META_SYSTEM, "cuda_device_0_uuid", "GPU-b");
	end_made(&m, 20 * SECOND);
	assert_null(m.model->devices.all[0].sampled);
	assert_non_null(m.model->devices.all[1].sampled);
	close_to(m.model->generations.all[0].counters.percent[SB_COUNTER_SM], 80);
	assert_string_equal(m.model->generations.all[0].counters.source, "pm sampling");
	close_to(sm_of(&m, "denoise"), 80);
	done(&m);
}

/* Of two GPUs of the process one idles: its samples were in the mean. */
static void a_slow_moment_has_the_gpu_that_it_ran_on(void **state)
{
	char text[160];
	struct strobe_attr attr = { SB_RUN_SLOW_MOMENT, STROBE_TYPE_STRING, { .s = text } };

	(void)state;
	for (int device = 0; device < 2; device++) {
		struct made m = begin_made();
		const struct sb_slow_moment *moment;

		snprintf(text, sizeof text, "generation time %llu %llu %llu %llu %llu",
			(unsigned long long)sb_builder_ticks_at(m.b, 10 * SECOND),
			(unsigned long long)sb_builder_ticks_at(m.b, 12 * SECOND),
			(unsigned long long)sb_builder_ticks_at(m.b, 8 * SECOND),
			(unsigned long long)sb_builder_ticks_at(m.b, 9 * SECOND),
			(unsigned long long)(sb_builder_ticks_at(m.b, SECOND) - sb_builder_ticks_at(m.b, 0)));
		sb_builder_meta(m.b, SB_META_RUN, &attr);
		samples(&m);
		for (uint64_t at = 8; at <= 10; at += 2) {
			sb_builder_begin(m.w, at * SECOND, sb_builder_name(m.b, "video", NULL));
			sb_builder_role(m.w, STROBE_ROLE_GENERATION);
			timed(&m, "denoise", device, at, at == 8 ? 9 : 12);
			sb_builder_end(m.w, (at == 8 ? 9 : 12) * SECOND, 0);
		}
		end_made(&m, 13 * SECOND);
		assert_int_equal(m.model->slow_moments.count, 1);
		moment = &m.model->slow_moments.all[0];
		assert_int_equal(moment->counter_count, 1);
		close_to(moment->counters[0].percent, device ? 80 : 2);
		close_to(moment->counters[0].normal_percent, device ? 80 : 2);
		done(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gpu_of_others_says_nothing_of_the_run),
		cmocka_unit_test(memory_of_the_run_tells_its_gpu),
		cmocka_unit_test(where_nothing_tells_the_busiest_speaks),
		cmocka_unit_test(each_stage_has_the_gpu_that_its_zones_name),
		cmocka_unit_test(an_idle_gpu_of_a_stage_stays_idle),
		cmocka_unit_test(tensors_on_a_gpu_that_no_zone_names_count),
		cmocka_unit_test(uuids_tie_the_programs_numbers_to_the_monitors),
		cmocka_unit_test(samples_are_of_the_gpu_that_the_monitors_count),
		cmocka_unit_test(a_slow_moment_has_the_gpu_that_it_ran_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
