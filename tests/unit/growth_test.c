/* Memory that grows with generations, steps and calls: leaks, caches that fill up, what is given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "synthetic.h"

#define GIB (1024 * MIB)

/* A reading as the Python package takes it. */
static void reading(struct synthetic *s, uint64_t t_ns, const char *kind, int device, int64_t value)
{
	char label[64];

	snprintf(label, sizeof label, "strobe.memory.%s", kind);
	sb_builder_snapshot(s->b, t_ns, label, device, value, -1, -1);
}

static const struct sb_growth *growth(const struct sb_model *m, const char *of, const char *per)
{
	for (size_t i = 0; i < m->memory.growth_count; i++)
		if (!strcmp(m->memory.growth[i].of, of) && !strcmp(m->memory.growth[i].per, per))
			return &m->memory.growth[i];
	return NULL;
}

/* One generation of 30 steps of a second, each of which leaves 300 MB of a GPU's memory behind. */
static struct sb_model *leaky_steps_of(struct synthetic *s, int64_t after)
{
	reading(s, 500 * MS, "device", 0, 8 * GIB);
	synthetic_begin(s, SECOND, "video", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < 30; i++) {
		uint64_t begin_ns = (1 + i) * SECOND;

		synthetic_begin(s, begin_ns, "step", STROBE_ROLE_STEP);
		synthetic_attr(s, "step", (int64_t)i);
		synthetic_stage(s, begin_ns + 10 * MS, begin_ns + 900 * MS, "transformer", 0);
		synthetic_end(s, begin_ns + SECOND);
		/* activations in the middle of a step are no leak */
		reading(s, begin_ns + 400 * MS, "device", 0, 8 * GIB + ((int64_t)i * 300 + 2000) * MIB);
		reading(s, begin_ns + 950 * MS, "device", 0, 8 * GIB + ((int64_t)i + 1) * 300 * MIB);
	}
	synthetic_end(s, 31 * SECOND);
	reading(s, 31 * SECOND + MS, "device", 0, after);
	return synthetic_model(s, 32 * SECOND);
}

static struct sb_model *leaky_steps(struct synthetic *s, int64_t after)
{
	synthetic_open(s);
	return leaky_steps_of(s, after);
}

static void a_leak_per_step_is_found_with_its_slope(void **state)
{
	struct synthetic s;
	struct sb_model *m = leaky_steps(&s, 17 * GIB);
	const struct sb_growth *g = growth(m, "vram", "step");

	assert_non_null(g);
	assert_int_equal(g->verdict, SB_GROWTH_GROWS);
	assert_near(g->per_unit / (double)MIB, 300, 15);
	assert_true(g->p < 1e-6);
	assert_non_null(finding(m, "memory_leak"));
	assert_non_null(strstr(finding(m, "memory_leak")->issue, "GPU memory grows by 300"));
	assert_string_equal(finding(m, "memory_leak")->priority, "high");
	synthetic_done(&s);
}

/* Two videos of ten steps; each step leaves 32 MB, and the first video's decoding 200 MB more that the allocator keeps. */
static void what_comes_between_generations_is_not_of_the_steps(void **state)
{
	struct synthetic s;
	const struct sb_growth *g;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t begin_ns = (1 + i + (i >= 10 ? 5 : 0)) * SECOND;

		if (i % 10 == 0)
			synthetic_begin(&s, begin_ns, "video", STROBE_ROLE_GENERATION);
		synthetic_stage(&s, begin_ns, begin_ns + 900 * MS, "step", STROBE_ROLE_STEP);
		reading(&s, begin_ns + 950 * MS, "host", -1,
			(1000 + 32 * (int64_t)(i + 1) + (i >= 10 ? 200 : 0)) * MIB);
		if (i % 10 == 9)
			synthetic_end(&s, begin_ns + SECOND);
	}
	g = growth(synthetic_model(&s, 30 * SECOND), "host", "step");
	assert_int_equal(g->verdict, SB_GROWTH_GROWS);
	assert_near(g->per_unit / (double)MIB, 32, 0.1);
	assert_true(g->low / (double)MIB <= 32);
	synthetic_done(&s);
}

/* A callback keeps what each step made: the line is not in the stage in which memory was seen to rise. */
static void the_stage_is_not_said_where_the_line_is_known(void **state)
{
	struct strobe_attr holder[] = { TEXT("of", "device"),
		TEXT("holder", "the list `kept` held 20 objects"), TEXT("file", "/app/pipeline.py"),
		INT("line", 29) };
	struct synthetic s;
	struct sb_model *m = leaky_steps(&s, 17 * GIB);

	assert_string_equal(growth(m, "vram", "step")->where, "transformer");
	synthetic_done(&s);
	synthetic_open(&s);
	sb_builder_event(s.b, 20 * SECOND, "memory_holder", 0, holder, 4);
	m = leaky_steps_of(&s, 17 * GIB);
	assert_null(growth(m, "vram", "step")->where);
	assert_null(finding(m, "memory_leak")->where.stage);
	assert_int_equal(finding(m, "memory_leak")->where.line, 29);
	synthetic_done(&s);
}

/* With the allocator's history on: the line whose blocks are still there, not the one of the weights. */
static void the_line_that_is_never_freed_is_named(void **state)
{
	struct strobe_attr weights[] = { INT("device", 0), INT("peak_bytes", 20 * GIB), INT("peak_count", 4),
		INT("end_bytes", 20 * GIB), INT("end_count", 4), TEXT("file", "/app/load.py"),
		INT("line", 7) };
	struct strobe_attr kept[] = { INT("device", 0), INT("peak_bytes", 9 * GIB), INT("peak_count", 30),
		INT("end_bytes", 9 * GIB), INT("end_count", 30), TEXT("file", "/app/pipeline.py"),
		INT("line", 29) };
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	sb_builder_event(s.b, 31 * SECOND, SB_EVENT_MEMORY_HELD, 0, weights, 7);
	sb_builder_event(s.b, 31 * SECOND, SB_EVENT_MEMORY_HELD, 0, kept, 7);
	f = finding(leaky_steps_of(&s, 17 * GIB), "memory_leak");
	assert_non_null(f);
	assert_string_equal(f->where.file, "/app/pipeline.py");
	assert_int_equal(f->where.line, 29);
	assert_non_null(
		strstr(f->cause, "what pipeline.py:29 allocates is never freed: 30 blocks, 9216.0 MB"));
	synthetic_done(&s);
}

static void what_the_generation_gives_back_is_no_leak(void **state)
{
	struct synthetic s;
	struct sb_model *m = leaky_steps(&s, 8 * GIB + 50 * MIB);

	assert_int_equal(growth(m, "vram", "step")->verdict, SB_GROWTH_RETURNED);
	assert_null(finding(m, "memory_leak"));
	synthetic_done(&s);
}

static struct sb_model *calls_of(struct synthetic *s, const int64_t *host_mb, size_t count)
{
	synthetic_open(s);
	for (size_t i = 0; i < count; i++) {
		synthetic_stage(s, (1 + i) * SECOND, (1 + i) * SECOND + 800 * MS, "answer", 0);
		reading(s, (1 + i) * SECOND + 900 * MS, "host", -1, host_mb[i] * MIB);
	}
	return synthetic_model(s, (count + 2) * SECOND);
}

static void host_memory_of_every_call_is_found(void **state)
{
	int64_t mb[20];
	struct synthetic s;
	struct sb_model *m;

	for (int i = 0; i < 20; i++)
		mb[i] = 1000 + 108 * i;
	m = calls_of(&s, mb, 20);
	assert_int_equal(growth(m, "host", "call")->verdict, SB_GROWTH_GROWS);
	assert_near(growth(m, "host", "call")->per_unit / (double)MIB, 108, 1);
	assert_string_equal(growth(m, "host", "call")->stage, "answer");
	assert_non_null(strstr(finding(m, "memory_leak")->issue, "108.0 MB with every call of 'answer'"));
	assert_string_equal(finding(m, "memory_leak")->priority, "high");
	synthetic_done(&s);
}

/* A healthy torch program on a CPU: malloc reached its level with the tenth call. */
static void host_memory_of_a_few_calls_may_be_the_allocator(void **state)
{
	static const int64_t mb[] = { 424, 502, 565, 580, 596, 612, 632, 664, 674, 674, 690, 695 };
	struct synthetic s;
	const struct sb_advice *f = finding(calls_of(&s, mb, sizeof mb / sizeof *mb), "memory_leak");

	assert_string_equal(f->priority, "low");
	assert_string_equal(
		f->cause, "nothing was found that keeps it; in 12 calls the allocator may not have settled");
	synthetic_done(&s);
}

static void a_cache_that_fills_up_settles(void **state)
{
	int64_t mb[30];
	struct synthetic s;
	struct sb_model *m;

	for (int i = 0; i < 30; i++)
		mb[i] = 1000 + (i < 12 ? 100 * i : 1200) + i % 2;
	m = calls_of(&s, mb, 30);
	assert_int_equal(growth(m, "host", "call")->verdict, SB_GROWTH_SETTLES);
	assert_null(finding(m, "memory_leak"));
	synthetic_done(&s);
}

/* 16 generations, of which the first five leave 16 MB each: said when it was seen, and then it stopped. */
static struct sb_model *generations_that_fill(struct synthetic *s, int filling)
{
	struct strobe_attr attrs[2] = { { .key = "of", .type = STROBE_TYPE_STRING, .value.s = "host" },
		{ .key = "bytes", .type = STROBE_TYPE_INT, .value.i = 16 * MIB } };

	synthetic_open(s);
	for (int i = 0; i < 16; i++) {
		uint64_t begin_ns = (uint64_t)(1 + i) * SECOND;

		synthetic_stage(s, begin_ns, begin_ns + 800 * MS, "video", STROBE_ROLE_GENERATION);
		reading(s, begin_ns + 900 * MS, "host", -1,
			(1000 + 16 * (int64_t)(i < filling ? i : filling)) * MIB);
		if (i == 5)
			sb_builder_event(s->b, begin_ns + 850 * MS, "memory_grows", 0, attrs, 2);
	}
	return synthetic_model(s, 18 * SECOND);
}

static void a_cache_that_fills_up_in_a_few_generations_is_no_leak(void **state)
{
	struct synthetic s;

	assert_null(finding(generations_that_fill(&s, 5), "memory_leak"));
	synthetic_done(&s);
	assert_non_null(finding(generations_that_fill(&s, 16), "memory_leak"));
	synthetic_done(&s);
}

/* Each generation leaves 40 MB more; they are of one size, or each has eight frames more. */
static const char *leak_priority(int64_t more_frames, bool first_fails, const char **out_cause)
{
	static char priority[16], cause[200];
	const struct sb_advice *f;
	struct synthetic s;

	synthetic_open(&s);
	for (int64_t i = 0; i < 16; i++) {
		uint64_t begin_ns = (uint64_t)(1 + i) * SECOND;

		synthetic_begin(&s, begin_ns, "video", STROBE_ROLE_GENERATION);
		synthetic_attr(&s, "frames", 9 + i * more_frames);
		if (first_fails && i < 6)
			synthetic_text(&s, "error", "RuntimeError");
		synthetic_end(&s, begin_ns + 800 * MS);
		reading(&s, begin_ns + 900 * MS, "host", -1, (1000 + 40 * i) * MIB);
	}
	f = finding(synthetic_model(&s, 18 * SECOND), "memory_leak");
	snprintf(priority, sizeof priority, "%s", f ? f->priority : "");
	snprintf(cause, sizeof cause, "%s", f ? f->cause : "");
	synthetic_done(&s);
	*out_cause = cause;
	return priority;
}

static void memory_of_generations_that_become_larger_is_doubted(void **state)
{
	const char *cause;

	assert_string_equal(leak_priority(0, false, &cause), "high");
	assert_string_equal(leak_priority(0, true, &cause), "high"); /* those that failed have no frames */
	assert_string_equal(leak_priority(8, false, &cause), "low");
	assert_non_null(strstr(cause, "the generations themselves became larger"));
}

static void noise_is_steady(void **state)
{
	int64_t mb[30];
	struct synthetic s;
	struct sb_model *m;

	for (int i = 0; i < 30; i++)
		mb[i] = 5000 + i * 7919 % 400;
	m = calls_of(&s, mb, 30);
	assert_int_equal(growth(m, "host", "call")->verdict, SB_GROWTH_STEADY);
	synthetic_done(&s);
}

static void files_that_stay_open_are_found(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 40; i++) {
		synthetic_stage(&s, (1 + i) * SECOND, (1 + i) * SECOND + 800 * MS, "read_frame", 0);
		reading(&s, (1 + i) * SECOND + 900 * MS, "files", -1, 12 + 2 * (int64_t)i);
	}
	m = synthetic_model(&s, 43 * SECOND);
	assert_near(growth(m, "open_files", "call")->per_unit, 2, 0.01);
	assert_non_null(finding(m, "open_files"));
	assert_null(finding(m, "memory_leak"));
	synthetic_done(&s);
}

/* Readings that strobe takes are not the program's snapshots. */
static void readings_are_not_listed_as_snapshots(void **state)
{
	struct synthetic s;
	struct sb_model *m = leaky_steps(&s, 17 * GIB);

	assert_int_equal(m->memory.snapshot_count, 0);
	synthetic_done(&s);
}

/* Without the Python package a monitor's samples serve; mapped files are no leak. */
static void sampled_memory_counts_without_mapped_files(void **state)
{
	static const char *const columns[] = { "rss_mb", "file_mb" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "process", -1, columns, 2);
	for (uint64_t i = 0; i < 20; i++) {
		double values[2] = { 2000 + 200 * (double)i, 200 * (double)i };

		synthetic_stage(&s, (1 + i) * SECOND, (1 + i) * SECOND + 900 * MS, "read", 0);
		sb_builder_sample(s.b, schema, (1 + i) * SECOND + 950 * MS, values, 2);
	}
	m = synthetic_model(&s, 22 * SECOND);
	assert_int_equal(growth(m, "host", "call")->verdict, SB_GROWTH_STEADY);
	synthetic_done(&s);
}

/* What the user is told of is a finding: 0.9 MB a call are 270 MB after 300 of them. */
static void a_small_leak_of_many_calls_is_a_finding(void **state)
{
	int64_t mb[300];
	struct synthetic s;
	struct sb_model *m;

	for (int i = 0; i < 300; i++)
		mb[i] = 1000 + i * 9 / 10;
	m = calls_of(&s, mb, 300);
	assert_int_equal(growth(m, "host", "call")->verdict, SB_GROWTH_GROWS);
	assert_non_null(strstr(finding(m, "memory_leak")->issue, "0.9 MB with every call of 'answer'"));
	synthetic_done(&s);
}

/* And what is not one does not "go on growing". */
static void a_little_is_no_growth(void **state)
{
	int64_t mb[40];
	struct synthetic s;
	struct sb_model *m;

	for (int i = 0; i < 40; i++)
		mb[i] = 1000 + i;
	m = calls_of(&s, mb, 40);
	assert_int_equal(growth(m, "host", "call")->verdict, SB_GROWTH_STEADY);
	assert_null(finding(m, "memory_leak"));
	synthetic_done(&s);
}

/* A service without stages: imports until 3 s, and then rss_mb of one sample a second. */
static struct sb_model *service(struct synthetic *s, double (*rss_mb)(uint64_t second))
{
	static const char *const columns[] = { "rss_mb", "file_mb" };
	uint32_t schema;

	synthetic_open(s);
	schema = sb_builder_schema(s->b, "process", -1, columns, 2);
	synthetic_stage(s, 100 * MS, 3 * SECOND, "import numpy", STROBE_ROLE_IMPORT);
	for (uint64_t i = 0; i < 20; i++) {
		double values[2] = { rss_mb(i), 20 };

		sb_builder_sample(s->b, schema, i * SECOND + 500 * MS, values, 2);
	}
	return synthetic_model(s, 20 * SECOND);
}

static double cached(uint64_t second)
{
	return 60 + 58 * (double)second;
}

static double loaded(uint64_t second)
{
	return second < 3 ? 100 * (double)second : 400;
}

static void a_leak_without_any_unit_is_found_over_time(void **state)
{
	struct synthetic s;
	struct sb_model *m = service(&s, cached);
	const struct sb_growth *g = growth(m, "host", "second");

	assert_non_null(g);
	assert_int_equal(g->verdict, SB_GROWTH_GROWS);
	assert_near(g->per_unit / (double)MIB, 58, 1);
	assert_non_null(strstr(finding(m, "memory_leak")->issue, "58.0 MB with every second"));
	synthetic_done(&s);
	assert_null(finding(service(&s, loaded), "memory_leak"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leak_per_step_is_found_with_its_slope),
		cmocka_unit_test(what_comes_between_generations_is_not_of_the_steps),
		cmocka_unit_test(the_stage_is_not_said_where_the_line_is_known),
		cmocka_unit_test(the_line_that_is_never_freed_is_named),
		cmocka_unit_test(what_the_generation_gives_back_is_no_leak),
		cmocka_unit_test(host_memory_of_every_call_is_found),
		cmocka_unit_test(host_memory_of_a_few_calls_may_be_the_allocator),
		cmocka_unit_test(a_cache_that_fills_up_settles),
		cmocka_unit_test(a_cache_that_fills_up_in_a_few_generations_is_no_leak),
		cmocka_unit_test(memory_of_generations_that_become_larger_is_doubted),
		cmocka_unit_test(noise_is_steady),
		cmocka_unit_test(files_that_stay_open_are_found),
		cmocka_unit_test(a_small_leak_of_many_calls_is_a_finding),
		cmocka_unit_test(a_little_is_no_growth),
		cmocka_unit_test(a_leak_without_any_unit_is_found_over_time),
		cmocka_unit_test(readings_are_not_listed_as_snapshots),
		cmocka_unit_test(sampled_memory_counts_without_mapped_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
