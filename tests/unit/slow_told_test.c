/* How a slow moment is told: its numbers in the text report, its lines in Markdown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/run_keys.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(less_than_a_microsecond_between_kernels_is_not_idle),
		cmocka_unit_test(a_gap_between_kernels_is_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
