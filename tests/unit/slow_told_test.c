/* How a slow moment is told: its numbers in the text report, its lines in Markdown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/run_keys.h"
#include "report/markdown/markdown.h"
#include "report/text.h"
#include "synthetic.h"

static unsigned long long ticks(struct synthetic *s, uint64_t t_ns)
{
	return sb_builder_ticks_at(s->b, t_ns);
}

/* A slow step from 10 to 12 s beside a normal one from 8 s on, of so many kernels with gaps between them. */
static void slow_step(struct synthetic *s, uint64_t kernels, uint64_t gap_ns)
{
	char text[160];
	const struct strobe_attr attr = TEXT(SB_RUN_SLOW_MOMENT, text);

	synthetic_step(s, 8 * SECOND, 8 * SECOND + 100 * MS, 1, 0);
	synthetic_step(s, 10 * SECOND, 12 * SECOND, 2, 0);
	snprintf(text, sizeof text, "step clock %llu %llu %llu %llu %llu", ticks(s, 10 * SECOND),
		ticks(s, 12 * SECOND), ticks(s, 8 * SECOND), ticks(s, 8 * SECOND + 100 * MS),
		ticks(s, 100 * MS) - ticks(s, 0));
	sb_builder_meta(s->b, SB_META_RUN, &attr);
	for (uint64_t i = 0; i < kernels; i++) {
		synthetic_kernel(s, "gemm", 8 * SECOND + MS + i * (MS + 2), MS);
		synthetic_kernel(s, "gemm", 10 * SECOND + MS + i * (400 * MS + gap_ns), 400 * MS);
	}
	synthetic_gpu_trace(s, 7 * SECOND, 13 * SECOND);
}

/* The clocks' ticks are rounded to nanoseconds. */
static void less_than_a_microsecond_between_kernels_is_not_idle(void **state)
{
	const struct sb_slow_moment *moment;
	struct sb_buf out = { 0 };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	slow_step(&s, 4, 300);
	moment = &synthetic_model(&s, 20 * SECOND)->slow_moments.all[0];
	assert_true(moment->idle_s == 0 && moment->normal_idle_s == 0);
	assert_int_equal(sb_report_text(s.model, NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "    GPU worked 1.60 s (normal 4.00 ms)\n"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void a_gap_between_kernels_is_idle(void **state)
{
	struct sb_buf out = { 0 };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	slow_step(&s, 4, 2 * MS);
	synthetic_model(&s, 20 * SECOND);
	assert_int_equal(sb_report_text(s.model, NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), ", idle between 6.00 ms (normal 0 s)\n"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void markdown_has_each_in_two_lines(void **state)
{
	struct sb_buf out = { 0 };
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	slow_step(&s, 4, 300);
	assert_int_equal(sb_report_markdown(synthetic_model(&s, 20 * SECOND), &out), 0);
	assert_non_null(strstr(sb_buf_text(&out),
		"\n## Slow moments\n\n- slow step, step_index 2: at 10.00 s, 2.00 s; a normal one 100 ms: "
		"the "
		"GPU worked 1.60 s longer: gemm 1.60 s more\n  - 1.60 s more in kernel gemm"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void markdown_has_the_worst_part_of_many(void **state)
{
	struct sb_slow_moment many[40];
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	slow_step(&s, 4, 300);
	m = synthetic_model(&s, 20 * SECOND);
	for (size_t i = 0; i < 40; i++)
		many[i] = m->slow_moments.all[0];
	m->slow_moments.all = many;
	m->slow_moments.count = 40;
	assert_int_equal(sb_report_markdown(m, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "\n- 35 more in the JSON report\n"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void markdown_has_rate_and_bound_of_a_stage(void **state)
{
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_stage_work *w;

	(void)state;
	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "denoise", 0);
	w = &synthetic_model(&s, SECOND)->stages.stages[0].work;
	w->mfu_ratio = 0.41;
	w->precision = "bf16";
	w->calls = w->bound_calls = SB_CALLS_WARM;
	w->bound = "tensor";
	w->bound_basis = "counters";
	assert_int_equal(sb_report_markdown(s.model, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out),
		"\n## Rates and bounds\n\n- denoise: MFU 41.0 % of the bf16 rate, bound by tensor\n"));
	sb_buf_clear(&out);
	w->mfu_ratio = 0.00001;
	assert_int_equal(sb_report_markdown(s.model, &out), 0);
	assert_non_null(
		strstr(sb_buf_text(&out), "\n- denoise: MFU < 0.1 % of the bf16 rate, bound by tensor\n"));
	sb_buf_clear(&out);
	w->mfu_ratio = NAN;
	w->bound_basis = "trace";
	w->bound_calls = SB_CALLS_COLD;
	assert_int_equal(sb_report_markdown(s.model, &out), 0);
	assert_non_null(strstr(
		sb_buf_text(&out), "\n- denoise: bound by tensor (by its kernel trace, of cold calls)\n"));
	sb_buf_clear(&out);
	s.model->stages.stages[0].counters =
		(struct sb_gpu_counters){ .source = sb_counter_source_names[SB_COUNTED_GPM],
			.percent = { [SB_COUNTER_SM] = 95.1,
				[SB_COUNTER_TENSOR] = 60.2,
				[SB_COUNTER_FP32] = NAN,
				[SB_COUNTER_DRAM] = 20 } };
	w->bound = NULL;
	w->bound_why = "too few readings";
	assert_int_equal(sb_report_markdown(s.model, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "\n- denoise: what bounds it is n/a: too few readings; SM "
						  "95.1 %, tensor 60.2 %, DRAM 20.0 %\n"));
	sb_buf_clear(&out);
	s.model->stages.stages[0].counters.source = NULL;
	w->tflops = 15;
	w->bound_why = w->mfu_why = "its models ran on the CPU";
	assert_int_equal(sb_report_markdown(s.model, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "\n- denoise: MFU n/a: its models ran on the CPU\n"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(less_than_a_microsecond_between_kernels_is_not_idle),
		cmocka_unit_test(a_gap_between_kernels_is_idle),
		cmocka_unit_test(markdown_has_each_in_two_lines),
		cmocka_unit_test(markdown_has_the_worst_part_of_many),
		cmocka_unit_test(markdown_has_rate_and_bound_of_a_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
