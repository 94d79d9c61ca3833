/* Readings of counters where the CPU runs ahead of the GPU: whose are they? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

/* A row every second: SM i x 10 %. */
static void readings(struct synthetic *s, int rows)
{
	static const char *const columns[] = { "sm_active_percent" };
	uint32_t schema = sb_builder_schema(s->b, "gpu_counters", 0, columns, 1);

	for (int i = 0; i < rows; i++)
		sb_builder_sample(s->b, schema, (uint64_t)i * SECOND, &(double){ i * 10 }, 1);
}

static void on_gpu(
	struct synthetic *s, const char *name, uint64_t launch_ns, uint64_t begin_ns, uint64_t end_ns)
{
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE,
		.launch_tid = 1000,
		.name = sb_builder_name(s->b, name, NULL),
		.launch_ns = launch_ns,
		.start_ns = begin_ns,
		.duration_ns = end_ns - begin_ns };

	sb_builder_gpu(s->b, &g);
}

static void covers(const struct sb_model *m, const char *stage, double seconds, double sm_percent)
{
	const struct sb_gpu_counters *c = &sb_model_stage(m, stage)->counters;

	assert_near(c->covered_s, seconds, 1e-9);
	if (seconds > 0)
		assert_near(c->percent[SB_COUNTER_SM], sm_percent, 1e-9);
}

/* Three steps that the CPU launches at once, and then waits: the GPU is at them from 0.5 to 4.5 s, without a break. */
static void a_reading_belongs_to_the_stage_the_gpu_is_at(void **state)
{
	const uint64_t tenth = SECOND / 10;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	readings(&s, 10);
	for (uint64_t i = 0; i < 3; i++) {
		synthetic_begin(&s, (5 + i) * tenth, "denoise", STROBE_ROLE_STEP);
		synthetic_stage(&s, (5 + i) * tenth, (6 + i) * tenth, "transformer", STROBE_ROLE_FORWARD);
		synthetic_end(&s, (6 + i) * tenth);
		on_gpu(&s, "transformer", (5 + i) * tenth + 1000, (5 + 13 * i) * tenth,
			(i == 2 ? 45 : 18 + 13 * i) * tenth);
	}
	synthetic_stage(&s, 8 * tenth, 44 * tenth, "between_steps", 0);
	synthetic_stage(&s, 44 * tenth, 72 * tenth, "decode", 0); /* by itself from 4.5 s on */
	m = synthetic_model(&s, 9 * SECOND);
	covers(m, "transformer", 3, 30); /* 2, 3 and 4, each of two steps */
	covers(m, "denoise", 3, 30); /* it holds them, with no span of its own */
	covers(m, "between_steps", 0, 0);
	covers(m, "decode", 2, 65); /* 6 and 7 */
	assert_near(sb_model_stage(m, "transformer")->counters.covered_ratio, 3 / 4.0, 1e-6);
	synthetic_done(&s);
}

/* Half a reading is none, and two halves of two readings are not one. */
static void parts_of_readings_are_none(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	readings(&s, 10);
	for (uint64_t i = 1; i < 5; i++)
		synthetic_stage(&s, i * SECOND + SECOND / 4, i * SECOND + SECOND * 3 / 4, "denoise",
			STROBE_ROLE_STEP);
	synthetic_stage(&s, 6 * SECOND, 6 * SECOND + SECOND / 2, "decode", 0); /* and right on */
	synthetic_stage(&s, 6 * SECOND + SECOND / 2 + SECOND / 100, 7 * SECOND, "decode", 0);
	m = synthetic_model(&s, 9 * SECOND);
	covers(m, "denoise", 0, 0);
	covers(m, "decode", 1, 70);
	synthetic_done(&s);
}

/* What the GPU does after the generation has ended is none of its time. */
static void a_generation_ends_when_the_program_says_so(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	readings(&s, 10);
	synthetic_begin(&s, 0, "pipeline", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 0, SECOND, "denoise", STROBE_ROLE_STEP);
	on_gpu(&s, "denoise", 1000, 0, 4 * SECOND);
	synthetic_end(&s, 2 * SECOND);
	synthetic_stage(&s, 2 * SECOND, 6 * SECOND, "export", STROBE_ROLE_EXPORT);
	m = synthetic_model(&s, 9 * SECOND);
	covers(m, "pipeline", 2, 15);
	covers(m, "denoise", 4, 25);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reading_belongs_to_the_stage_the_gpu_is_at),
		cmocka_unit_test(parts_of_readings_are_none),
		cmocka_unit_test(a_generation_ends_when_the_program_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
