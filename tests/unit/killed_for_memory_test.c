/* A run that the kernel killed for its memory: where it was, and what held the memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "synthetic.h"

#define GIB (1024 * MIB)

static void a_kill_has_the_last_stage_and_the_last_readings(void **state)
{
	static const char *const columns[] = { "rss_mb", "anon_mb", "file_mb" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "process", -1, columns, 3);
	synthetic_stage(&s, SECOND, 2 * SECOND, "load", 0);
	synthetic_begin(&s, 2 * SECOND, "export", 0); /* never ended */
	sb_builder_sample(s.b, schema, 3 * SECOND, (double[]){ 30000, 28000, 2000 }, 3);
	sb_builder_meta_string(s.b, SB_META_RUN, SB_RUN_OUTCOME, "killed by SIGKILL (out of memory)");
	m = synthetic_model(&s, 4 * SECOND);
	assert_true(m->out_of_memory.killed);
	assert_string_equal(m->out_of_memory.stage, "export");
	assert_string_equal(m->out_of_memory.residents[0].component, "the processes' own memory");
	assert_near(m->out_of_memory.residents[0].bytes, 28000.0 * MIB, 1);
	assert_string_equal(m->advice.all[0].id, "out_of_memory");
	synthetic_done(&s);
}

/* Readings of the process come more often than samples. */
static void a_kill_has_the_last_reading_of_the_process(void **state)
{
	static const char *const columns[] = { "rss_mb", "anon_mb", "file_mb" };
	struct strobe_attr most = INT(SB_RUN_PEAK_RSS_BYTES, 305ll * MIB);
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "process", -1, columns, 3);
	sb_builder_sample(s.b, schema, SECOND, (double[]){ 5, 3, 2 }, 3);
	synthetic_begin(&s, 2 * SECOND, "vae_decode", 0);
	sb_builder_snapshot(s.b, 3 * SECOND, SB_MEMORY_READING_HOST, -1, 200 * MIB, 10 * MIB, 210 * MIB);
	sb_builder_meta_string(s.b, SB_META_RUN, SB_RUN_OUTCOME, "killed by SIGKILL (out of memory)");
	sb_builder_meta(s.b, SB_META_RUN, &most);
	m = synthetic_model(&s, 4 * SECOND);
	assert_string_equal(m->out_of_memory.residents[0].component, "the processes' own memory");
	assert_near(m->out_of_memory.residents[0].bytes, 200.0 * MIB, 1);
	assert_string_equal(m->out_of_memory.residents[1].component, "came after the last reading");
	assert_near(m->out_of_memory.residents[1].bytes, 95.0 * MIB, 1);
	f = &m->advice.all[0];
	assert_non_null(strstr(f->issue, "the kernel killed the run for its memory in 'vae_decode'"));
	assert_non_null(strstr(
		f->evidence, "held by the processes' own memory 200 MB, came after the last reading 95 MB"));
	synthetic_done(&s);
}

/* What was offloaded when the kernel killed the program is a part of what it held. */
static void a_kill_names_the_weights_on_the_host(void **state)
{
	static const char *const columns[] = { "rss_mb", "anon_mb", "file_mb" };
	struct strobe_attr there[] = { TEXT("at", "move"), TEXT("component", "weights of transformer"),
		INT("bytes", 20 * GIB), INT("device", -1) };
	struct strobe_attr gone[] = { TEXT("at", "move"), TEXT("component", "weights of vae"),
		INT("bytes", 0), INT("before_bytes", 5 * GIB), INT("device", -1) };
	const struct sb_out_of_memory_panel *p;
	struct synthetic s;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "process", -1, columns, 3);
	sb_builder_event(s.b, SECOND, SB_EVENT_RESIDENT, 0, there, 4);
	sb_builder_event(s.b, SECOND + 1, SB_EVENT_RESIDENT, 0, gone, 5);
	synthetic_begin(&s, 2 * SECOND, "export", 0); /* never ended */
	sb_builder_sample(s.b, schema, 3 * SECOND, (double[]){ 30 * 1024, 28 * 1024, 2 * 1024 }, 3);
	sb_builder_meta_string(s.b, SB_META_RUN, SB_RUN_OUTCOME, "killed by SIGKILL (out of memory)");
	p = &synthetic_model(&s, 4 * SECOND)->out_of_memory;
	assert_int_equal(p->resident_count, 3);
	assert_string_equal(p->residents[0].component, "weights of transformer");
	assert_near(p->residents[0].bytes, 20.0 * GIB, 1);
	assert_string_equal(p->residents[1].component, "the processes' own memory");
	assert_near(p->residents[1].bytes, 8.0 * GIB, 1);
	assert_string_equal(p->residents[2].component, "mapped files");
	synthetic_done(&s);
}

/* It took less than the time between two samples; the kernel says what the most was. */
static void what_a_killed_program_took_at_last_is_a_part(void **state)
{
	static const char *const columns[] = { "rss_mb", "anon_mb", "file_mb" };
	struct strobe_attr most = INT(SB_RUN_PEAK_RSS_BYTES, 16300ll * MIB);
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "process", -1, columns, 3);
	synthetic_begin(&s, 2 * SECOND, "vae_decode", 0); /* never ended */
	sb_builder_sample(s.b, schema, 1 * SECOND, (double[]){ 300, 200, 100 }, 3);
	sb_builder_meta(s.b, SB_META_RUN, &most);
	sb_builder_meta_string(s.b, SB_META_RUN, SB_RUN_OUTCOME, "killed by SIGKILL (out of memory)");
	m = synthetic_model(&s, 3 * SECOND);
	assert_int_equal(m->out_of_memory.resident_count, 3);
	assert_string_equal(m->out_of_memory.residents[0].component, "came after the last reading");
	assert_near(m->out_of_memory.residents[0].bytes, 16000.0 * MIB, 1);
	synthetic_done(&s);
}

/* The process was last known to live as its last stage began. */
static void a_stage_that_had_just_begun_is_the_one(void **state)
{
	for (uint64_t after_ns = 0; after_ns < 2000; after_ns += 1000) {
		struct synthetic s;
		struct sb_model *m;

		synthetic_open(&s);
		synthetic_stage(&s, SECOND, 2 * SECOND, "denoise", 0);
		synthetic_begin(&s, 2 * SECOND, "vae_decode", 0); /* never ended */
		sb_builder_meta_string(s.b, SB_META_RUN, SB_RUN_OUTCOME, "killed by SIGKILL (out of memory)");
		m = synthetic_model(&s, 2 * SECOND + after_ns);
		assert_true(m->out_of_memory.killed);
		assert_string_equal(m->out_of_memory.stage, "vae_decode");
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kill_has_the_last_stage_and_the_last_readings),
		cmocka_unit_test(a_kill_has_the_last_reading_of_the_process),
		cmocka_unit_test(a_kill_names_the_weights_on_the_host),
		cmocka_unit_test(what_a_killed_program_took_at_last_is_a_part),
		cmocka_unit_test(a_stage_that_had_just_begun_is_the_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
