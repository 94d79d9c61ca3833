/* Where a GPU's memory rose: in which stage, if in one, and of which generation peaks are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "report/text.h"
#include "synthetic.h"

#define CONTEXT_MB 700

static const char *const gpu[] = { "memory_used_mb", "process_memory_mb" };

static void reading(struct synthetic *s, uint64_t t_ms, int64_t allocated, int64_t reserved, int64_t most)
{
	sb_builder_snapshot(
		s->b, t_ms * MS, SB_MEMORY_READING_DEVICE, 0, allocated * MIB, reserved * MIB, most * MIB);
}

static void sample(struct synthetic *s, uint32_t schema, uint64_t t_ms, double reserved)
{
	sb_builder_sample(s->b, schema, t_ms * MS,
		(double[]){ reserved + CONTEXT_MB, reserved ? reserved + CONTEXT_MB : NAN }, 2);
}

static void generation(struct synthetic *s, uint64_t from_ms)
{
	synthetic_begin(s, from_ms * MS, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(s, from_ms * MS, (from_ms + 400) * MS, "text_encode", 0);
	synthetic_stage(s, (from_ms + 400) * MS, (from_ms + 2000) * MS, "denoise", 0);
	synthetic_stage(s, (from_ms + 2000) * MS, (from_ms + 4000) * MS, "vae_decode", 0);
	synthetic_end(s, (from_ms + 4000) * MS);
}

/* Weights are read in float32 and made half as large before the first of two generations. The allocator's maximum is of that time,
 * and is read in the first stage. What the first decoding takes, the allocator keeps. */
static struct sb_model *loaded_before(struct synthetic *s)
{
	uint32_t schema;

	synthetic_open(s);
	schema = sb_builder_schema(s->b, "gpu", 0, gpu, 2);
	generation(s, 2000);
	generation(s, 12000);
	sample(s, schema, 1350, 0);
	sample(s, schema, 1850, 500);
	reading(s, 1900, 10000, 10400, 10000);
	reading(s, 2350, 5000, 10400, 10010);
	for (uint64_t t = 2600; t <= 4000; t += 200)
		reading(s, t, 5200, 10400, 10010);
	reading(s, 4500, 7000, 17000, 10010);
	reading(s, 5000, 7600, 17000, 10010); /* the peak again, with more tensors */
	for (uint64_t t = 6000; t <= 16000; t += 250)
		reading(s, t, 5200, 17000, 10010);
	for (uint64_t t = 2350; t <= 16000; t += 500)
		sample(s, schema, t, t < 4300 ? 10400 : 17000);
	return synthetic_model(s, 18 * SECOND);
}

static const struct sb_residency *peak_of(const struct sb_model *m, const char *stage)
{
	for (size_t i = 0; i < m->residency.count; i++) {
		const struct sb_residency *r = &m->residency.all[i];

		if (!strcmp(r->stage, stage) && !strcmp(r->at, "peak") && r->device == 0)
			return r;
	}
	return NULL;
}

static double part(const struct sb_residency *r, const char *component)
{
	for (size_t i = 0; r && i < r->part_count; i++)
		if (!strcmp(r->parts[i].component, component))
			return r->parts[i].bytes / (double)MIB;
	return 0;
}

static double peak_mb(const struct sb_model *m, const char *stage)
{
	for (size_t i = 0; i < m->memory.stage_count; i++)
		if (!strcmp(m->memory.stages[i].stage, stage))
			return m->memory.stages[i].peak_bytes / (double)MIB;
	return NAN;
}

static void assert_says(const struct sb_model *m, const char *words)
{
	struct sb_buf out = { 0 };

	assert_int_equal(sb_report_text(m, &(struct sb_text_options){ .columns = 200 }, &out), 0);
	if (!strstr(sb_buf_text(&out), words))
		fail_msg("no '%s' in\n%s", words, sb_buf_text(&out));
	sb_buf_done(&out);
}

static void a_maximum_that_was_reached_before_a_stage_is_not_of_it(void **state)
{
	struct synthetic s;
	struct sb_model *m = loaded_before(&s);

	assert_near(m->memory.tensors_peak_bytes / MIB, 10010, 0);
	assert_null(m->memory.tensors_peak_stage);
	assert_true(m->memory.tensors_peak_t_s < 2);
	assert_near(part(peak_of(m, "text_encode"), "weights, activations and other tensors"), 5000, 1);
	assert_says(m, "  Tensors held at most 10010.0 MB of it, before the first generation, in no stage\n");
	synthetic_done(&s);
}

/* The driver's sample of after it is in the stage that fills most of the time between the two. */
static void a_rise_that_a_reading_shows_before_a_stage_is_not_of_it(void **state)
{
	struct synthetic s;
	struct sb_model *m = loaded_before(&s);

	assert_near(m->memory.spike_bytes / MIB, 9900, 1);
	assert_null(m->memory.spike_stage);
	synthetic_done(&s);
}

/* As the peak that the allocator knows of is of none, it is the one in which memory rose to its peak. */
static void peaks_of_stages_are_of_the_generation_with_the_rise_and_it_is_named(void **state)
{
	struct synthetic s;
	struct sb_model *m = loaded_before(&s);

	assert_int_equal(m->residency.generation, 1);
	assert_int_equal(m->memory.stages_generation, 1);
	assert_near(peak_mb(m, "denoise"), 10400 + CONTEXT_MB, 1);
	assert_near(peak_mb(m, "vae_decode"), 17000 + CONTEXT_MB, 1);
	assert_near(peak_of(m, "denoise")->total_bytes / MIB, 10400 + CONTEXT_MB, 1);
	assert_says(m, "stage, at its peak in generation 1, and what held it\n");
	assert_says(m, "  (peaks: in generation 1; of a stage that it has no call of, in other calls)\n");
	synthetic_done(&s);
}

static void a_stages_peak_and_the_pictures_are_one_moment(void **state)
{
	struct synthetic s;
	struct sb_model *m = loaded_before(&s);
	const struct sb_memory_picture *p = &m->memory_pictures.all[0];
	const struct sb_residency *r = peak_of(m, "vae_decode");

	assert_int_equal(p->device, 0);
	assert_string_equal(p->stages[p->peak], "vae_decode");
	assert_near(r->t_s, p->t_s[p->peak], 0);
	assert_near(r->t_s, m->memory.peak_t_s, 0);
	for (size_t i = 0; i < p->layer_count; i++)
		assert_near(part(r, p->layers[i].component), p->layers[i].mb[p->peak], 0.1);
	synthetic_done(&s);
}

/* The reading after the decoding says so first. Shortly after it tensors hold more, in the next stage. */
static void the_peak_is_seen_in_the_stage_that_it_is_in(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	generation(&s, 2000);
	synthetic_stage(&s, 6005 * MS, 8 * SECOND, "postprocess", 0);
	for (uint64_t t = 1500; t <= 3900; t += 200)
		reading(&s, t, 5000, 10400, 5000);
	reading(&s, 6001, 5000, 17000, 5000);
	reading(&s, 6020, 5300, 17000, 5300);
	reading(&s, 8000, 5000, 17000, 5300);
	for (uint64_t t = 1500; t <= 8000; t += 500)
		sample(&s, schema, t, t < 5500 ? 10400 : 17000);
	m = synthetic_model(&s, 18 * SECOND);
	assert_string_equal(m->memory.peak_stage, "vae_decode");
	assert_true(m->memory.peak_t_s >= 4 && m->memory.peak_t_s <= 6);
	assert_near(m->memory.peak_bytes / MIB, 17000 + CONTEXT_MB, 1);
	synthetic_done(&s);
}

/* The first reading of a process is of its first stage; before that, when the host's memory was read, it did not use the GPU. */
static void what_a_process_held_before_its_first_reading_is_of_no_stage(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	generation(&s, 2000);
	for (uint64_t t = 1000; t <= 7000; t += 750)
		sb_builder_snapshot(s.b, t * MS, SB_MEMORY_READING_HOST, -1, 80 * MIB, 30 * MIB, 500 * MIB);
	for (uint64_t t = 2350; t <= 7000; t += 250)
		reading(&s, t, 5000, 10400, 10010);
	for (uint64_t t = 2350; t <= 7000; t += 500)
		sample(&s, schema, t, 10400);
	m = synthetic_model(&s, 8 * SECOND);
	assert_null(m->memory.tensors_peak_stage);
	assert_true(m->memory.tensors_peak_t_s < 2);
	synthetic_done(&s);
}

/* Nothing but the driver's samples: the second one is taken as a stage has begun. */
static void a_rise_mostly_before_a_stage_is_of_none(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	synthetic_stage(&s, 1900 * MS, 4 * SECOND, "text_encode", 0);
	sample(&s, schema, 1000, 500);
	sample(&s, schema, 2000, 9000);
	sample(&s, schema, 3000, 9000);
	m = synthetic_model(&s, 5 * SECOND);
	assert_near(m->memory.spike_bytes / MIB, 8500, 1);
	assert_null(m->memory.spike_stage);
	synthetic_done(&s);
}

/* Calls apart from each other: what their first one takes, it takes, though the program does something else between them. */
static void a_call_between_two_readings_raised_what_stays_below_it_elsewhere(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, gpu, 2);
	synthetic_stage(&s, 2100 * MS, 2220 * MS, "model", 0);
	synthetic_stage(&s, 2300 * MS, 2400 * MS, "model", 0);
	for (uint64_t t = 1000; t <= 3000; t += 250)
		reading(&s, t, 500, t < 2250 ? 600 : 1300, t < 2250 ? 500 : 1200);
	for (uint64_t t = 1100; t <= 3000; t += 500)
		sample(&s, schema, t, t < 2250 ? 600 : 1300);
	m = synthetic_model(&s, 4 * SECOND);
	assert_string_equal(m->memory.tensors_peak_stage, "model");
	synthetic_done(&s);
}

static void used_ram(struct synthetic *s, bool limited)
{
	static const char *const memory[] = { "total_mb", "used_mb", "limit_mb", "group_used_mb" };
	uint32_t schema;

	synthetic_open(s);
	schema = sb_builder_schema(s->b, "memory", -1, memory, 4);
	synthetic_stage(s, 0, 2 * SECOND, "model", 0);
	for (uint64_t t = 0; t <= 2; t++)
		sb_builder_sample(s->b, schema, t * SECOND,
			(double[]){ 64000, 5000, limited ? 4000 : NAN, limited ? 1000 : NAN }, 4);
}

static void ram_in_use_is_said_to_be_the_machines(void **state)
{
	struct synthetic s;

	used_ram(&s, false);
	assert_says(
		synthetic_model(&s, 3 * SECOND), "  RAM in use on the machine, peak 5000.0 of 64000.0 MB\n");
	synthetic_done(&s);
	used_ram(&s, true);
	assert_says(
		synthetic_model(&s, 3 * SECOND), "  RAM in use in the cgroup, peak 1000.0 of 4000.0 MB\n");
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_maximum_that_was_reached_before_a_stage_is_not_of_it),
		cmocka_unit_test(a_rise_that_a_reading_shows_before_a_stage_is_not_of_it),
		cmocka_unit_test(peaks_of_stages_are_of_the_generation_with_the_rise_and_it_is_named),
		cmocka_unit_test(a_stages_peak_and_the_pictures_are_one_moment),
		cmocka_unit_test(the_peak_is_seen_in_the_stage_that_it_is_in),
		cmocka_unit_test(what_a_process_held_before_its_first_reading_is_of_no_stage),
		cmocka_unit_test(a_rise_mostly_before_a_stage_is_of_none),
		cmocka_unit_test(a_call_between_two_readings_raised_what_stays_below_it_elsewhere),
		cmocka_unit_test(ram_in_use_is_said_to_be_the_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
