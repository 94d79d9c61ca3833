/* What a GPU held, where the driver is asked less often than the allocator is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "synthetic.h"

#define CONTEXT_MB 700
#define OTHERS_MB 10

static const char *const gpu[] = { "memory_used_mb", "process_memory_mb" };

static const struct sb_residency *moment(const struct sb_model *m, const char *stage, const char *at)
{
	for (size_t i = 0; i < m->residency.count; i++) {
		const struct sb_residency *r = &m->residency.all[i];

		if (!strcmp(r->stage, stage) && !strcmp(r->at, at) && r->device == 0)
			return r;
	}
	return NULL;
}

static double part(const struct sb_residency *r, const char *component)
{
	for (size_t i = 0; i < r->part_count; i++)
		if (!strcmp(r->parts[i].component, component))
			return r->parts[i].bytes / (double)MIB;
	return 0;
}

static void reading(struct synthetic *s, uint64_t t_ms, int64_t allocated, int64_t reserved, int64_t most)
{
	sb_builder_snapshot(
		s->b, t_ms * MS, SB_MEMORY_READING_DEVICE, 0, allocated * MIB, reserved * MIB, most * MIB);
}

static void sample(struct synthetic *s, uint32_t schema, uint64_t t_ms, double reserved)
{
	double process = reserved + CONTEXT_MB;

	sb_builder_sample(s->b, schema, t_ms * MS, (double[]){ process + OTHERS_MB, process }, 2);
}

static void weights(struct synthetic *s)
{
	struct strobe_attr attrs[] = { TEXT("at", "generation"), INT("set", 1),
		TEXT("component", "weights of transformer"), INT("bytes", 2000 * MIB),
		TEXT("dtype", "bfloat16"), INT("device", 0) };

	sb_builder_event(s->b, 10 * SECOND, SB_EVENT_RESIDENT, 0, attrs, 6);
}

static void generation(struct synthetic *s, uint64_t from_s)
{
	synthetic_begin(s, from_s * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(s, from_s * SECOND, (from_s + 2) * SECOND, "denoise", 0);
	synthetic_stage(s, (from_s + 2) * SECOND, (from_s + 4) * SECOND, "vae_decode", 0);
	synthetic_end(s, (from_s + 4) * SECOND);
}

/* Two alike: the allocator's maximum rises in the first one's decoding, and never again. The driver's samples lie before
 * and after the rise. */
static struct sb_model *two_generations(struct synthetic *s)
{
	uint32_t schema;

	synthetic_open(s);
	schema = sb_builder_schema(s->b, "gpu", 0, gpu, 2);
	generation(s, 2);
	generation(s, 12);
	for (uint64_t t = 1000; t <= 4000; t += 500)
		reading(s, t, 2500, 3000, 2500);
	reading(s, 4400, 4000, 5000, 4200);
	reading(s, 4900, 3000, 9000, 7500);
	for (uint64_t t = 5400; t <= 17000; t += 200)
		reading(s, t, t > 14000 && t < 16000 ? 5000 : 2500, 9000, 7500);
	sample(s, schema, 1300, 3000);
	sample(s, schema, 2300, 3000);
	sample(s, schema, 4600, 8000); /* between two readings, while it grows */
	for (uint64_t t = 5500; t < 17000; t += 1000)
		sample(s, schema, t, 9000);
	weights(s);
	return synthetic_model(s, 18 * SECOND);
}

static void a_peak_is_the_allocators_own(void **state)
{
	struct synthetic s;
	struct sb_model *m = two_generations(&s);
	const struct sb_residency *r = moment(m, "vae_decode", "peak");

	assert_int_equal(m->residency.generation, 1);
	assert_non_null(r);
	assert_near(part(r, "weights of transformer"), 2000, 1);
	assert_near(part(r, "activations and other tensors"), 5500, 1);
	assert_near(part(r, "allocator slack"), 1500, 1);
	assert_near(part(r, "CUDA context and libraries"), CONTEXT_MB, 1);
	assert_near(part(r, "other processes and the driver"), OTHERS_MB, 1);
	assert_near(r->total_bytes / MIB, 9000 + CONTEXT_MB + OTHERS_MB, 1);
	assert_near(r->rest_bytes / MIB, 0, 1);
	r = moment(m, "denoise", "peak");
	assert_near(part(r, "activations and other tensors"), 500, 1);
	assert_near(r->total_bytes / MIB, 3000 + CONTEXT_MB + OTHERS_MB, 1);
	synthetic_done(&s);
}

static double peak_mb(const struct sb_model *m, const char *stage)
{
	for (size_t i = 0; i < m->memory.stage_count; i++)
		if (!strcmp(m->memory.stages[i].stage, stage))
			return m->memory.stages[i].peak_bytes / (double)MIB;
	return NAN;
}

/* What Residency says of the peak and what Memory over time draws at its moment are one number. */
static void a_moment_holds_the_same_in_every_panel(void **state)
{
	struct synthetic s;
	struct sb_model *m = two_generations(&s);
	const struct sb_memory_picture *p = &m->memory_pictures.all[0];
	const struct sb_residency *r = moment(m, "vae_decode", "peak");

	assert_near(p->t_s[p->peak], r->t_s, 0);
	assert_string_equal(p->stages[p->peak], "vae_decode");
	for (size_t i = 0; i < p->layer_count; i++)
		assert_near(part(r, p->layers[i].component), p->layers[i].mb[p->peak], 0.1);
	assert_near(m->memory.tensors_peak_bytes / MIB, 7500, 0);
	assert_near(m->memory.tensors_peak_t_s, r->t_s, 0);
	assert_string_equal(m->memory.tensors_peak_stage, "vae_decode");
	for (size_t i = 0; i < m->memory_pictures.count; i++) {
		const struct sb_memory_picture *stages = &m->memory_pictures.all[i];

		if (stages->device == 0 && stages->by_stage)
			assert_string_equal(stages->stages[stages->peak], "vae_decode");
	}
	synthetic_done(&s);
}

/* The driver is not asked for the processes' memory before the second generation, which holds what the first one's decoding has
 * taken: the peak is where memory rose to it, in every panel. */
static void the_peak_is_where_memory_rose_in_every_panel(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_memory_picture *p;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	generation(&s, 2);
	generation(&s, 12);
	for (uint64_t t = 1000; t <= 4200; t += 400)
		reading(&s, t, 2500, 3000, 2500);
	for (uint64_t t = 5000; t <= 17000; t += 400)
		reading(&s, t, 2500, 9000, 7500);
	for (uint64_t t = 1500; t < 17000; t += 1000) {
		double process = (t < 4400 ? 3000 : 9000) + CONTEXT_MB;

		sb_builder_sample(s.b, schema, t * MS,
			(double[]){ process + OTHERS_MB, t < 12000 ? NAN : process + (t > 15000) }, 2);
	}
	m = synthetic_model(&s, 18 * SECOND);
	p = &m->memory_pictures.all[0];
	assert_string_equal(m->memory.peak_stage, "vae_decode");
	assert_string_equal(m->summary.gpu_peak_stage, "vae_decode");
	assert_near(m->memory.peak_t_s, 5, 0.5);
	assert_near(p->t_s[p->peak], m->memory.peak_t_s, 0);
	assert_string_equal(p->stages[p->peak], "vae_decode");
	assert_near(m->memory.peak_bytes / MIB, 9000 + CONTEXT_MB, 1);
	assert_near(m->memory.peak_used_bytes, moment(m, "vae_decode", "peak")->total_bytes, 1);
	assert_near(p->sum_mb[p->peak], m->memory.peak_used_bytes / MIB, 0.1);
	assert_near(peak_mb(m, "vae_decode"), 9000 + CONTEXT_MB, 1);
	assert_near(peak_mb(m, "denoise"), 3000 + CONTEXT_MB, 1);
	assert_near(moment(m, "denoise", "peak")->total_bytes / MIB, 3000 + CONTEXT_MB + OTHERS_MB, 1);
	assert_near(m->memory.spike_bytes / MIB, 6000, 1); /* of the device: the processes' is not known */
	assert_string_equal(m->memory.spike_stage, "vae_decode");
	synthetic_done(&s);
}

/* The driver's sample of after the rise is later than the reading with the peak. */
static void the_steepest_rise_is_not_after_the_peak(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	generation(&s, 2);
	for (uint64_t t = 1000; t <= 6800; t += 400)
		reading(&s, t, 2500, t < 4800 ? 3000 : 9000, t < 4800 ? 2500 : 7500);
	for (uint64_t t = 1500; t < 7000; t += 1000)
		sample(&s, schema, t, t < 5000 ? 3000 : 9000);
	m = synthetic_model(&s, 8 * SECOND);
	assert_near(m->memory.spike_bytes / MIB, 6000, 1);
	assert_true(m->memory.peak_t_s < 5.4);
	assert_true(m->memory.spike_t_s <= m->memory.peak_t_s);
	synthetic_done(&s);
}

/* Between two readings: before and after a step's callback. */
static void a_stage_in_which_nothing_was_read_has_a_peak(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	synthetic_begin(&s, 2 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 2 * SECOND, 4100 * MS, "denoise", 0);
	synthetic_stage(&s, 4120 * MS, 4130 * MS, "between_steps", 0);
	synthetic_stage(&s, 4200 * MS, 6 * SECOND, "vae_decode", 0);
	synthetic_end(&s, 6 * SECOND);
	for (uint64_t t = 1000; t <= 7000; t += 400)
		reading(&s, t, 2500, 3000, 2500);
	for (uint64_t t = 1500; t < 7000; t += 1000)
		sample(&s, schema, t, 3000);
	m = synthetic_model(&s, 8 * SECOND);
	assert_non_null(moment(m, "between_steps", "peak"));
	assert_near(moment(m, "between_steps", "peak")->total_bytes / MIB, 3000 + CONTEXT_MB + OTHERS_MB, 1);
	synthetic_done(&s);
}

/* A stage inside of another one: what its peak is of, that one held, too. */
static void no_stage_held_more_than_the_one_around_it(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	synthetic_begin(&s, 2 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, 2 * SECOND, "denoise", 0);
	synthetic_stage(&s, 2 * SECOND, 5 * SECOND, "transformer", 0);
	synthetic_stage(&s, 5 * SECOND, 6 * SECOND, "scheduler_step", 0);
	synthetic_end(&s, 6 * SECOND);
	synthetic_end(&s, 6 * SECOND);
	for (uint64_t t = 1000; t <= 7000; t += 400) /* within 2 % the moment with more tensors is the peak */
		reading(&s, t, t < 5000 ? 5500 : 2500, t < 5000 ? 6400 : 6500, 5500);
	for (uint64_t t = 1500; t < 7000; t += 1000)
		sample(&s, schema, t, t < 5000 ? 6400 : 6500);
	m = synthetic_model(&s, 8 * SECOND);
	assert_near(peak_mb(m, "scheduler_step"), 6500 + CONTEXT_MB, 1);
	assert_true(peak_mb(m, "denoise") >= peak_mb(m, "scheduler_step"));
	synthetic_done(&s);
}

/* What the allocator took between a reading and a sample is no context. */
/* Another program holds 20 GB before this one begins to use the GPU, and gives most of it back. */
static void what_others_held_earlier_is_no_peak_of_the_run(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	generation(&s, 12);
	for (uint64_t t = 11000; t <= 17000; t += 400)
		reading(&s, t, 2500, 3000, 2500);
	for (uint64_t t = 500; t < 17000; t += 500) {
		double process = 3000 + CONTEXT_MB;
		bool before = t < 11000;

		sb_builder_sample(s.b, schema, t * MS,
			(double[]){ t < 2000 ? 100
				    : before ? 20000
					     : process + 1000,
				before ? NAN : process },
			2);
	}
	m = synthetic_model(&s, 18 * SECOND);
	assert_near(m->memory.peak_bytes / MIB, 3000 + CONTEXT_MB, 1);
	assert_true(m->memory.peak_t_s > 10.5);
	assert_true(isnan(m->memory.spike_bytes)); /* theirs */
	for (size_t i = 0; i < m->memory_pictures.count; i++)
		if (m->memory_pictures.all[i].device == 0)
			assert_true(m->memory_pictures.all[i].t_s[m->memory_pictures.all[i].peak] > 10.5);
	synthetic_done(&s);
}

static void the_picture_is_never_higher_than_the_device(void **state)
{
	struct synthetic s;
	const struct sb_memory_picture *p = &two_generations(&s)->memory_pictures.all[0];

	assert_int_equal(p->device, 0);
	for (size_t i = 0; i < p->count; i++) {
		double sum = 0;

		for (size_t k = 0; k < p->layer_count; k++) {
			sum += p->layers[k].mb[i];
			if (!strcmp(p->layers[k].component, "CUDA context and libraries"))
				assert_near(p->layers[k].mb[i], CONTEXT_MB, 0.1);
		}
		assert_true(sum <= 9000 + CONTEXT_MB + OTHERS_MB + 0.5);
	}
	synthetic_done(&s);
}

/* A script that calls its model has no generations, and lists no weights. */
static void a_script_on_a_gpu_has_its_outermost_stages(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_residency *r;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	synthetic_stage(&s, 2 * SECOND, 4 * SECOND, "load", 0);
	synthetic_stage(&s, 4 * SECOND, 8 * SECOND, "model", 0);
	sb_builder_sample(s.b, schema, SECOND, (double[]){ OTHERS_MB, NAN }, 2);
	for (uint64_t t = 4010; t <= 9000; t += 250)
		reading(&s, t, t < 6000 ? 600 : 700, 1200, t < 6000 ? 600 : 1100);
	for (uint64_t t = 4500; t < 9000; t += 500)
		sample(&s, schema, t, 1200);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->residency.generation, 0);
	r = moment(m, "load", "begin"); /* nothing of this run */
	assert_non_null(r);
	assert_int_equal(r->part_count, 1);
	assert_near(part(r, "other processes and the driver"), OTHERS_MB, 1);
	r = moment(m, "load", "end");
	assert_near(part(r, "weights, activations and other tensors"), 600, 1);
	assert_near(r->rest_bytes / MIB, 0, 1);
	r = moment(m, "model", "peak");
	assert_near(part(r, "weights, activations and other tensors"), 1100, 1);
	assert_near(part(r, "allocator slack"), 100, 1);
	assert_near(part(r, "CUDA context and libraries"), CONTEXT_MB, 1);
	assert_near(r->rest_bytes / MIB, 0, 1);
	synthetic_done(&s);
}

/* The first stage begins while the context is made: the driver says 13 MB of it, later it is all of it. Nor does a library that is
 * loaded in the second stage lack a name until the next sample. */
static void a_context_that_is_being_made_is_as_large_as_it_is(void **state)
{
	const uint64_t begin = 2000, loaded = 4000, end = 8000;
	struct synthetic s;
	struct sb_model *m;
	const struct sb_residency *r;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	generation(&s, 2);
	reading(&s, begin - 10, 0, 0, 0);
	for (uint64_t t = begin + 200; t <= end; t += 200)
		reading(&s, t, 2500, 3000, 2500);
	for (uint64_t t = begin + 20; t < end; t += 330) {
		double context = t < begin + 100 ? 13 : t < loaded ? CONTEXT_MB : CONTEXT_MB + 120;
		double process = (t < begin + 200 ? 0 : 3000) + context;

		sb_builder_sample(s.b, schema, t * MS, (double[]){ process + OTHERS_MB, process }, 2);
	}
	m = synthetic_model(&s, 10 * SECOND);
	r = moment(m, "denoise", "begin");
	assert_non_null(r);
	assert_near(part(r, "CUDA context and libraries"), 13, 1);
	assert_near(r->total_bytes / MIB, 13 + OTHERS_MB, 1);
	for (size_t i = 0; i < m->residency.count; i++)
		if (m->residency.all[i].device == 0)
			assert_near(m->residency.all[i].rest_bytes / MIB, 0, 1);
	synthetic_done(&s);
}

/* Between two readings a part comes, and is given back to the driver: a sample that lies there has it, and the readings do not. */
static void offloaded_in_parts(struct synthetic *s, int64_t given_back_mb)
{
	const uint64_t begin = 2000, decode = 4000, end = 6000;
	uint32_t schema;

	synthetic_open(s);
	schema = sb_builder_schema(s->b, "gpu", 0, gpu, 2);
	generation(s, 2);
	for (uint64_t t = begin - 1000; t < decode; t += 200)
		reading(s, t, 400, 500, 500);
	sample(s, schema, begin - 900, 500);
	for (uint64_t t = decode; t <= end; t += 200) {
		struct strobe_attr gave[] = { INT("bytes", given_back_mb * MIB), INT("device", 0) };

		if (given_back_mb)
			sb_builder_event(s->b, t * MS - 1, SB_EVENT_GIVEN_BACK, 0, gave, 2);
		reading(s, t, 400, 500, 560);
		sample(s, schema, t + 100, 640);
	}
}

/* A sample of the moment is less than the allocator has reserved: it was taken before the driver knew. */
static void parts_are_never_more_than_the_total(void **state)
{
	struct sb_model *m;
	struct synthetic s;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	generation(&s, 2);
	for (uint64_t t = 1000; t <= 7000; t += 200)
		reading(&s, t, 2500, 3000, 2500);
	sample(&s, schema, 1999, -600);
	sample(&s, schema, 2201, -600);
	for (uint64_t t = 2800; t < 7000; t += 500)
		sample(&s, schema, t, t == 4300 ? 2900 : 3000);
	m = synthetic_model(&s, 8 * SECOND);
	assert_non_null(moment(m, "denoise", "begin"));
	for (size_t i = 0; i < m->residency.count; i++)
		if (m->residency.all[i].device == 0)
			assert_true(m->residency.all[i].rest_bytes > -1);
	assert_near(moment(m, "denoise", "begin")->total_bytes / MIB, 3000 + CONTEXT_MB + OTHERS_MB, 1);
	synthetic_done(&s);
}

static void what_came_and_went_between_two_readings_has_its_name(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_residency *r;

	offloaded_in_parts(&s, 140);
	m = synthetic_model(&s, 8 * SECOND);
	r = moment(m, "vae_decode", "peak");
	assert_non_null(r);
	assert_near(r->total_bytes / MIB, 640 + CONTEXT_MB + OTHERS_MB, 1);
	assert_near(part(r, "CUDA context and libraries"), CONTEXT_MB, 1);
	assert_near(part(r, "weights, activations and other tensors"), 540, 1);
	assert_near(part(r, "allocator slack"), 100, 1);
	for (size_t i = 0; i < m->residency.count; i++)
		if (m->residency.all[i].device == 0)
			assert_near(m->residency.all[i].rest_bytes / MIB, 0, 1);
	synthetic_done(&s);
}

/* It gave 40 MB back, so it never had the 140 MB: they have no name. */
static void what_another_library_took_is_not_the_allocators(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_residency *r;

	offloaded_in_parts(&s, 40);
	m = synthetic_model(&s, 8 * SECOND);
	r = moment(m, "vae_decode", "peak");
	assert_non_null(r);
	assert_near(r->rest_bytes / MIB, 100, 1);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peak_is_where_memory_rose_in_every_panel),
		cmocka_unit_test(a_peak_is_the_allocators_own),
		cmocka_unit_test(a_moment_holds_the_same_in_every_panel),
		cmocka_unit_test(what_others_held_earlier_is_no_peak_of_the_run),
		cmocka_unit_test(the_picture_is_never_higher_than_the_device),
		cmocka_unit_test(a_script_on_a_gpu_has_its_outermost_stages),
		cmocka_unit_test(a_context_that_is_being_made_is_as_large_as_it_is),
		cmocka_unit_test(the_steepest_rise_is_not_after_the_peak),
		cmocka_unit_test(a_stage_in_which_nothing_was_read_has_a_peak),
		cmocka_unit_test(no_stage_held_more_than_the_one_around_it),
		cmocka_unit_test(parts_are_never_more_than_the_total),
		cmocka_unit_test(what_came_and_went_between_two_readings_has_its_name),
		cmocka_unit_test(what_another_library_took_is_not_the_allocators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
