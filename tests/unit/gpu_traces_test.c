/* When the GPU was traced, from marks of several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "run/gpu_traces.h"
#include "synthetic.h"

static void mark(struct synthetic *s, const char *key, uint64_t t_ns)
{
	struct strobe_attr attr = { key, STROBE_TYPE_INT, { .i = (int64_t)sb_builder_ticks_at(s->b, t_ns) } };

	sb_builder_meta(s->b, SB_META_RUN, &attr);
}

static void assert_trace(const struct sb_gpu_trace *t, int64_t begin_ns, int64_t end_ns)
{
	assert_int_equal(t->begin_ns, begin_ns);
	assert_int_equal(t->end_ns, end_ns);
}

/* Begins are of the program's thread, ends of the thread that collects: what lies between two traces was not traced. */
static void begins_and_ends_of_two_threads_are_paired_by_their_time(void **state)
{
	struct sb_vec traces = { 0 };
	const struct sb_gpu_trace *all;
	struct synthetic s;

	synthetic_open(&s);
	for (uint64_t i = 1; i <= 7; i += 3)
		mark(&s, SB_RUN_GPU_TRACE_BEGIN, i * SECOND);
	for (uint64_t i = 2; i <= 5; i += 3)
		mark(&s, SB_RUN_GPU_TRACE_END, i * SECOND);
	synthetic_model(&s, 10 * SECOND);
	assert_int_equal(sb_gpu_traces_find(s.run, &traces), 0);
	all = traces.items;
	assert_int_equal(traces.count, 3);
	assert_trace(&all[0], 1 * SECOND, 2 * SECOND);
	assert_trace(&all[1], 4 * SECOND, 5 * SECOND);
	assert_true(all[1].ended);
	assert_trace(&all[2], 7 * SECOND, 10 * SECOND); /* the program was killed in it */
	assert_false(all[2].ended);
	sb_vec_done(&traces);
	synthetic_done(&s);
}

/* Kept moments are said when they are known to be slow, out of order; those that overlap are one. */
static void kept_moments_stay_pairs(void **state)
{
	static const uint64_t moments[][2] = { { 6, 8 }, { 1, 3 }, { 2, 4 } };
	struct sb_vec traces = { 0 };
	const struct sb_gpu_trace *all;
	struct synthetic s;

	synthetic_open(&s);
	for (size_t i = 0; i < 3; i++) {
		struct strobe_attr kept = INT(SB_RUN_GPU_TRACE_KEPT, 1);

		mark(&s, SB_RUN_GPU_TRACE_BEGIN, moments[i][0] * SECOND);
		mark(&s, SB_RUN_GPU_TRACE_END, moments[i][1] * SECOND);
		sb_builder_meta(s.b, SB_META_RUN, &kept);
	}
	synthetic_model(&s, 10 * SECOND);
	assert_int_equal(sb_gpu_traces_find(s.run, &traces), 0);
	all = traces.items;
	assert_int_equal(traces.count, 2);
	assert_trace(&all[0], 1 * SECOND, 4 * SECOND);
	assert_trace(&all[1], 6 * SECOND, 8 * SECOND);
	assert_true(all[0].kept && all[1].kept);
	sb_vec_done(&traces);
	synthetic_done(&s);
}

static void a_number_of_the_traces_is_known_of_all_of_them(void **state)
{
	const struct strobe_attr said[] = { INT(SB_RUN_GPU_TRACE_BUFFERS, 3),
		INT(SB_RUN_GPU_TRACE_BUFFERS, 9), INT(SB_RUN_GPU_TRACE_BUFFERS, 2),
		INT(SB_RUN_GPU_TRACE_BUFFERS, -5) };
	int64_t most, sum;
	struct synthetic s;

	synthetic_open(&s);
	for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
		sb_builder_meta(s.b, SB_META_RUN, &said[i]);
	synthetic_model(&s, SECOND);
	sb_gpu_traces_number(s.run, SB_RUN_GPU_TRACE_BUFFERS, &most, &sum);
	assert_int_equal(most, 9);
	assert_int_equal(sum, 14);
	sb_gpu_traces_number(s.run, SB_RUN_GPU_TRACE_UNFINISHED, &most, &sum);
	assert_int_equal(most, -1);
	assert_int_equal(sum, 0);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_and_ends_of_two_threads_are_paired_by_their_time),
		cmocka_unit_test(kept_moments_stay_pairs),
		cmocka_unit_test(a_number_of_the_traces_is_known_of_all_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
