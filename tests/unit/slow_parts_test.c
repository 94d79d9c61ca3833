/* The parts of a slow moment: what took longer than in a normal one, or what there was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/run_keys.h"
#include "report/text.h"
#include "synthetic.h"

static void steps(struct synthetic *s)
{
	synthetic_step(s, 8 * SECOND, 8 * SECOND + 90 * MS, 1, 0);
	synthetic_step(s, 10 * SECOND, 12 * SECOND, 2, 0);
}

/* From 10 to 12 s; where the words ask for it, the normal one from 8 to 8.1 s. */
static void said(struct synthetic *s, bool normal, const char *words)
{
	char text[160];
	struct strobe_attr attr = TEXT(SB_RUN_SLOW_MOMENT, text);
	unsigned long long at[4] = { sb_builder_ticks_at(s->b, 10 * SECOND),
		sb_builder_ticks_at(s->b, 12 * SECOND), 0, 0 };

	if (normal) {
		at[2] = sb_builder_ticks_at(s->b, 8 * SECOND);
		at[3] = sb_builder_ticks_at(s->b, 8 * SECOND + 100 * MS);
	}
	snprintf(text, sizeof text, "%s %llu %llu %llu %llu 0", words, at[0], at[1], at[2], at[3]);
	sb_builder_meta(s->b, SB_META_RUN, &attr);
}

/* Nothing is more or less than in a moment that is not there. */
static void without_a_normal_one_parts_are_what_there_was(void **state)
{
	struct sb_buf out = { 0 };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	steps(&s);
	said(&s, false, "asked -");
	assert_true(isnan(synthetic_model(&s, 20 * SECOND)->slow_moments.all[0].normal_s));
	assert_true(s.model->slow_moments.all[0].part_count > 0);
	assert_int_equal(sb_report_text(s.model, NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), ", 1 time\n"));
	assert_null(strstr(sb_buf_text(&out), "instead of"));
	assert_null(strstr(sb_buf_text(&out), "    + "));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void traced(struct synthetic *s)
{
	const struct strobe_attr begin = { SB_RUN_GPU_TRACE_BEGIN, STROBE_TYPE_INT,
		{ .i = (int64_t)sb_builder_ticks_at(s->b, 0) } };
	const struct strobe_attr end = { SB_RUN_GPU_TRACE_END, STROBE_TYPE_INT,
		{ .i = (int64_t)sb_builder_ticks_at(s->b, 20 * SECOND) } };

	sb_builder_meta(s->b, SB_META_RUN, &begin);
	sb_builder_meta(s->b, SB_META_RUN, &end);
}

static void work_at(struct synthetic *s, const char *name, int kind, uint64_t from_ns, uint64_t ns)
{
	sb_builder_gpu(s->b, &(struct sb_builder_gpu){ .name = sb_builder_name(s->b, name, NULL),
				     .kind = (uint8_t)kind,
				     .start_ns = from_ns,
				     .duration_ns = ns,
				     .launch_ns = UINT64_MAX });
}

/* The copy took longer than any kernel: it is named, as what it is. */
static void a_copy_is_no_kernel(void **state)
{
	const struct sb_slow_moment *moment;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	steps(&s);
	traced(&s);
	work_at(&s, "gemm", SB_GPU_KERNEL, 8 * SECOND, 50 * MS);
	work_at(&s, "gemm", SB_GPU_KERNEL, 10 * SECOND, 150 * MS);
	work_at(&s, "Memcpy HtoD", SB_GPU_COPY_H2D, 10 * SECOND + 200 * MS, 1400 * MS);
	said(&s, true, "step clock");
	moment = &synthetic_model(&s, 20 * SECOND)->slow_moments.all[0];
	assert_string_equal(moment->parts[0].kind, "kernel");
	assert_string_equal(moment->parts[0].name, "gemm");
	assert_string_equal(moment->parts[1].kind, "copy");
	assert_string_equal(moment->parts[1].name, "Memcpy HtoD");
	assert_string_equal(
		moment->words, "the GPU worked 1.50 s longer: Memcpy HtoD 1.40 s more, 1 instead of 0");
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_normal_one_parts_are_what_there_was),
		cmocka_unit_test(a_copy_is_no_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
