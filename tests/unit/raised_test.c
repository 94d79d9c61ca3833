/* Several stages were called between two readings of an allocator: which one raised its maximum? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "synthetic.h"

#include <string.h>

static const char *const gpu[] = { "memory_used_mb", "process_memory_mb" };

static void reading(struct synthetic *s, uint64_t t_ns, int64_t allocated, int64_t reserved, int64_t most)
{
	sb_builder_snapshot(
		s->b, t_ns, SB_MEMORY_READING_DEVICE, 0, allocated * MIB, reserved * MIB, most * MIB);
}

static void samples(struct synthetic *s, uint64_t from_ms, uint64_t to_ms, double reserved)
{
	uint32_t schema = sb_builder_schema(s->b, "gpu", 0, gpu, 2);

	sb_builder_sample(s->b, schema, 1800 * MS, (double[]){ 2810, 2800 }, 2);
	for (uint64_t t = from_ms; t < to_ms; t += 500)
		sb_builder_sample(s->b, schema, t * MS, (double[]){ reserved + 710, reserved + 700 }, 2);
}

static void on_gpu(struct synthetic *s, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE,
		.launch_tid = 1000,
		.name = sb_builder_name(s->b, name, NULL),
		.launch_ns = begin_ns,
		.start_ns = begin_ns,
		.duration_ns = end_ns - begin_ns };

	sb_builder_gpu(s->b, &g);
}

static void assert_raised_in(const struct sb_model *m, const char *stage)
{
	assert_string_equal(m->memory.peak_stage, stage);
	assert_string_equal(m->memory.tensors_peak_stage, stage);
	assert_string_equal(m->summary.gpu_peak_stage, stage);
}

/* The reading before is of after a step, the next one of the middle of an export: steps that needed 2.5 GB before need no 7.5. */
static void a_step_that_is_done_again_raises_nothing(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 2000 * MS, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 2000 * MS, 2100 * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(&s, 2100 * MS, 2200 * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(&s, 2200 * MS, 2250 * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_stage(&s, 2250 * MS, 2600 * MS, "export", STROBE_ROLE_EXPORT);
	synthetic_end(&s, 2600 * MS);
	reading(&s, 1990 * MS, 2000, 3000, 2000);
	reading(&s, 2101 * MS, 2200, 3000, 2500);
	reading(&s, 2290 * MS, 2300, 9000, 7500);
	reading(&s, 2700 * MS, 2000, 9000, 7500);
	samples(&s, 2650, 6000, 9000);
	m = synthetic_model(&s, 6 * SECOND);
	assert_raised_in(m, "vae_decode");
	assert_string_equal(m->memory.spike_stage, "vae_decode"); /* the sample is of after the export */
	assert_string_equal(m->memory.stages[0].stage, "vae_decode"); /* no sample lies in it */
	assert_near(m->memory.stages[0].peak_bytes / MIB, 9700, 1);
	assert_int_equal(m->memory.stages[0].count, 1);
	synthetic_done(&s);
}

/* A first step of 90 ms, of which the CPU is done in 3 ms later on; the VAE takes the GPU three times as long. */
static void what_the_gpu_works_on_for_longer_is_larger(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t t = (2000 + 400 * i) * MS, cold = i ? 0 : 90 * MS;

		synthetic_begin(&s, t, "video", STROBE_ROLE_GENERATION);
		synthetic_stage(&s, t, t + cold + 4 * MS, "denoise", STROBE_ROLE_STEP);
		synthetic_stage(
			&s, t + cold + 4 * MS, t + cold + 7 * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
		synthetic_end(&s, t + cold + 8 * MS);
		on_gpu(&s, "denoise", t + cold + 1 * MS, t + cold + 6 * MS);
		on_gpu(&s, "vae_decode", t + cold + 6 * MS, t + cold + 21 * MS);
	}
	reading(&s, 1990 * MS, 2000, 3000, 2000);
	reading(&s, 2099 * MS, 2300, 9000, 7500);
	reading(&s, 2900 * MS, 2000, 9000, 7500);
	samples(&s, 2350, 6000, 9000);
	m = synthetic_model(&s, 6 * SECOND);
	assert_raised_in(m, "vae_decode");
	synthetic_done(&s);
}

/* Tensors are highest in the encoder; the steps find no piece large enough, and the allocator takes more. */
static void what_the_allocator_takes_later_is_told_from_what_tensors_held(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 2000 * MS, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 2000 * MS, 2100 * MS, "text_encode", 0);
	synthetic_stage(&s, 2100 * MS, 2600 * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_end(&s, 2600 * MS);
	reading(&s, 1990 * MS, 2000, 2100, 2000);
	reading(&s, 2101 * MS, 2200, 7600, 7500);
	reading(&s, 2601 * MS, 2300, 9000, 7500);
	reading(&s, 2700 * MS, 2000, 9000, 7500);
	samples(&s, 2650, 6000, 9000);
	m = synthetic_model(&s, 6 * SECOND);
	assert_string_equal(m->memory.peak_stage, "denoise");
	assert_near(m->memory.peak_bytes / MIB, 9700, 1);
	assert_string_equal(m->memory.tensors_peak_stage, "text_encode");
	assert_near(m->memory.tensors_peak_bytes / MIB, 7500, 0);
	synthetic_done(&s);
}

/* A decoder takes a little more than the steps had taken: it is not what made the peak. */
static void a_little_more_later_is_no_other_peak(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 2000 * MS, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 2000 * MS, 2400 * MS, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(&s, 2400 * MS, 2600 * MS, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_end(&s, 2600 * MS);
	reading(&s, 1990 * MS, 2000, 2100, 2000);
	reading(&s, 2401 * MS, 2200, 9000, 7500);
	reading(&s, 2601 * MS, 2300, 9010, 7500);
	samples(&s, 2650, 6000, 9010);
	m = synthetic_model(&s, 6 * SECOND);
	assert_raised_in(m, "denoise");
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_that_is_done_again_raises_nothing),
		cmocka_unit_test(what_the_gpu_works_on_for_longer_is_larger),
		cmocka_unit_test(what_the_allocator_takes_later_is_told_from_what_tensors_held),
		cmocka_unit_test(a_little_more_later_is_no_other_peak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
