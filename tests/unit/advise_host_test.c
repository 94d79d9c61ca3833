/* The rules about the host: memory that grows, time that grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

/* Generations one after the other from 10 s on, and the process's memory, read once a second. */
static struct sb_model *model_of(
	struct synthetic *s, uint64_t each_ns, uint64_t count, const double *rss_mb, size_t readings)
{
	static const char *const process[] = { "rss_mb" };
	uint32_t schema;

	synthetic_open(s);
	for (uint64_t i = 0; i < count; i++)
		synthetic_stage(s, 10 * SECOND + i * each_ns, 10 * SECOND + (i + 1) * each_ns, "video",
			STROBE_ROLE_GENERATION);
	schema = sb_builder_schema(s->b, "process", -1, process, 1);
	for (size_t i = 0; i < readings; i++)
		sb_builder_sample(s->b, schema, (9 + i) * SECOND + 500 * MS, &rss_mb[i], 1);
	return synthetic_model(s, 10 * SECOND + count * each_ns + SECOND);
}

static void memory_that_grows_with_each_generation_is_a_leak(void **state)
{
	static const double rss_mb[] = { 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900 };
	struct synthetic s;
	struct sb_model *m = model_of(&s, SECOND, 10, rss_mb, 10);

	assert_non_null(finding(m, "memory_leak"));
	assert_near(finding(m, "memory_leak")->value, 80, 21);
	synthetic_done(&s);
}

/* As on an H200: kernels load and the trace's buffers fill in the first seconds. */
static void memory_that_settles_after_the_first_generations_is_no_leak(void **state)
{
	static const double rss_mb[] = { 513, 740, 1174, 1174 };
	struct synthetic s;
	struct sb_model *m = model_of(&s, 100 * MS, 30, rss_mb, 4);

	assert_null(finding(m, "memory_leak"));
	synthetic_done(&s);
}

/* Weights that go to the host and come back: up and down, and a little more at the end by chance. */
static void memory_that_goes_up_and_down_is_no_leak(void **state)
{
	static const double rss_mb[] = { 1000, 1030, 1060, 1240, 1265, 1100, 1130, 1330, 1360, 1190, 1230,
		1420 };
	struct synthetic s;
	struct sb_model *m = model_of(&s, SECOND, 12, rss_mb, 12);

	assert_null(finding(m, "memory_leak"));
	synthetic_done(&s);
}

/* Sixteen steps, each longer than the one before, on two cores that so many threads want; one of them has
 * something else in it that takes long. */
static struct sb_model *slower_and_slower(struct synthetic *s, double load, uint64_t other_ns)
{
	static const char *const cpu[] = { "load1_count", "process_percent" }, *const cores[] = { "a_percent",
		"b_percent" };
	const double values[] = { load, 40 }, used[] = { 100, 100 };
	uint64_t at_ns = 0;
	uint32_t schema;

	synthetic_open(s);
	synthetic_begin(s, 0, "video", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < 16; i++) {
		uint64_t end_ns = at_ns + SECOND + i * 100 * MS + (i == 9 ? other_ns : 0);

		synthetic_step(s, at_ns, end_ns, (int64_t)i, 0);
		at_ns = end_ns;
	}
	synthetic_end(s, at_ns);
	schema = sb_builder_schema(s->b, "cpu", -1, cpu, 2);
	sb_builder_sample(s->b, schema, SECOND, values, 2);
	sb_builder_sample(s->b, schema, at_ns, values, 2);
	schema = sb_builder_schema(s->b, "cpu_core", -1, cores, 2);
	sb_builder_sample(s->b, schema, SECOND, used, 2);
	return synthetic_model(s, at_ns);
}

static void a_trend_on_a_crowded_machine_is_doubted(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = finding(slower_and_slower(&s, 1, 0), "slow_trend");

	assert_non_null(f);
	assert_string_equal(f->priority, "high");
	assert_null(strstr(f->cause, "other programs"));
	synthetic_done(&s);
	f = finding(slower_and_slower(&s, 16, 0), "slow_trend");
	assert_non_null(f);
	assert_string_equal(f->priority, "low");
	assert_non_null(strstr(f->cause, "the load is 16 on 2 cores: other programs may do it"));
	synthetic_done(&s);
}

/* Steps of Python that launches kernels, each longer than the one before, in generations that take as long as the GPU does. */
static bool has_trend(uint64_t more_ns, int64_t more_frames)
{
	struct synthetic s;
	uint64_t at_ns = 0;
	bool found;

	synthetic_open(&s);
	for (uint64_t video = 0; video < 10; video++) {
		uint64_t begin_ns = at_ns;

		synthetic_begin(&s, at_ns, "video", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", 9 + (int64_t)video * more_frames);
		for (uint64_t i = 0; i < 8; i++) {
			synthetic_step(&s, at_ns, at_ns + (20 + 8 * video + i) * MS, (int64_t)i, 0);
			at_ns += (20 + 8 * video + i) * MS;
		}
		at_ns = begin_ns + SECOND + video * more_ns;
		synthetic_end(&s, at_ns);
	}
	found = finding(synthetic_model(&s, at_ns), "slow_trend") != NULL;
	synthetic_done(&s);
	return found;
}

static void steps_that_slow_no_generation_down_are_no_trend(void **state)
{
	assert_false(has_trend(0, 0));
	assert_true(has_trend(100 * MS, 0));
}

static void videos_that_become_longer_are_no_trend(void **state)
{
	assert_false(has_trend(100 * MS, 8));
}

/* One slow step of sixteen while this program uses a fiftieth of a core. */
static void a_small_part_of_a_crowded_machine_is_not_nothing(void **state)
{
	static const char *const cpu[] = { "load1_count", "process_percent" }, *const cores[] = { "a_percent",
		"b_percent" };
	const double values[] = { 16, 2 }, used[] = { 100, 100 };
	const struct sb_advice *f;
	struct synthetic s;
	uint64_t at_ns = 0;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	for (int64_t i = 0; i < 16; i++) {
		uint64_t end_ns = at_ns + (i == 9 ? 5 : 1) * SECOND;

		synthetic_step(&s, at_ns, end_ns, i, 0);
		at_ns = end_ns;
	}
	synthetic_end(&s, at_ns);
	sb_builder_sample(s.b, sb_builder_schema(s.b, "cpu", -1, cpu, 2), SECOND, values, 2);
	sb_builder_sample(s.b, sb_builder_schema(s.b, "cpu_core", -1, cores, 2), SECOND, used, 2);
	f = finding(synthetic_model(&s, at_ns), "slow_steps");
	assert_non_null(f);
	assert_non_null(strstr(f->cause, "the load is 16 on 2 cores, of which this one uses less than 0.1"));
	synthetic_done(&s);
}

/* Eleven recompiles of half a second were once counted as what a trend of a millisecond cost. */
static void a_trend_saves_nothing_of_one_long_step(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = finding(slower_and_slower(&s, 1, 0), "slow_trend");
	double alone_s = f->saves_s;

	assert_true(alone_s > 5 && alone_s < 12);
	synthetic_done(&s);
	f = finding(slower_and_slower(&s, 1, 100 * SECOND), "slow_trend");
	assert_non_null(f);
	assert_true(f->saves_s > alone_s * 0.8 && f->saves_s < alone_s * 1.2);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_grows_with_each_generation_is_a_leak),
		cmocka_unit_test(memory_that_settles_after_the_first_generations_is_no_leak),
		cmocka_unit_test(memory_that_goes_up_and_down_is_no_leak),
		cmocka_unit_test(a_trend_on_a_crowded_machine_is_doubted),
		cmocka_unit_test(steps_that_slow_no_generation_down_are_no_trend),
		cmocka_unit_test(videos_that_become_longer_are_no_trend),
		cmocka_unit_test(a_small_part_of_a_crowded_machine_is_not_nothing),
		cmocka_unit_test(a_trend_saves_nothing_of_one_long_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
