/* GPU spans find the zones that launched them, in one copy for all who ask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/gpu_spans.h"
#include "synthetic.h"

enum { DENOISE = 3, DECODE };

static void add(struct sb_gpu_spans *g, uint32_t name, uint32_t track, int64_t launch_ns, int64_t begin_ns)
{
	struct sb_event e = { .kind = SB_EVENT_GPU, .name = name, .t_ns = begin_ns };

	e.gpu.kind = SB_GPU_ZONE;
	e.gpu.launch_track = track;
	e.gpu.launch_ns = launch_ns;
	e.gpu.duration_ns = 10;
	assert_true(sb_gpu_spans_add(g, &e));
}

static int64_t taken_at(
	struct sb_gpu_spans *g, uint32_t name, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
	struct sb_zone z = { .begin_ns = begin_ns, .end_ns = end_ns, .name = name, .track = track };
	const struct sb_gpu_span *span = sb_gpu_spans_take(g, &z);

	return span ? span->begin_ns : -1;
}

static void a_span_is_of_the_zone_in_which_it_was_launched(void **state)
{
	struct sb_gpu_spans g = { 0 };

	add(&g, DENOISE, 0, 300000, 70);
	add(&g, DENOISE, 0, 100000, 50); /* not in the order of launches */
	add(&g, DENOISE, 1, 100000, 60); /* by another thread */
	add(&g, DECODE, 0, 100000, 80);
	assert_int_equal(taken_at(&g, DENOISE, 0, 50000, 150000), 50);
	assert_int_equal(taken_at(&g, DENOISE, 0, 50000, 150000), -1); /* once */
	assert_int_equal(taken_at(&g, DENOISE, 0, 250000, 299999), -1); /* launched after it */
	assert_int_equal(taken_at(&g, DENOISE, 0, 310000, 400000), 70); /* stamped a little before it */
	assert_int_equal(taken_at(&g, DENOISE, 1, 50000, 150000), 60);
	assert_int_equal(taken_at(&g, DENOISE + 9, 0, 50000, 150000), -1);
	assert_int_equal(g.list_count, 3);
	assert_int_equal(sb_gpu_span_end_ns(&g.lists[0].all[0]), 60);
	sb_gpu_spans_done(&g);
	assert_int_equal(taken_at(&g, DENOISE, 0, 0, 1), -1);
}

struct seen {
	const struct sb_gpu_span *span;
	int64_t begin_ns;
};

static void see(void *self, const struct sb_zone *z)
{
	*(struct seen *)self = (struct seen){ z->gpu, z->gpu ? z->gpu->begin_ns : -1 };
}

static void every_visitor_is_given_the_same_one(void **state)
{
	struct sb_builder_gpu gpu = { .kind = SB_GPU_ZONE,
		.launch_tid = 1000,
		.launch_ns = 2000,
		.start_ns = 5000,
		.duration_ns = 100 };
	struct seen seen[3] = { { 0 } };
	struct sb_visitor visitors[] = {
		{ .self = &seen[0], .roles = SB_EVERY_ZONE, .zone = see, .gpu_spans = true },
		{ .self = &seen[1], .roles = 1u << STROBE_ROLE_STEP, .zone = see, .gpu_spans = true },
	};
	struct sb_visitor other = { .self = &seen[2], .roles = SB_EVERY_ZONE, .zone = see };
	struct synthetic s;

	synthetic_open(&s);
	synthetic_stage(&s, 1000, 3000, "denoise", STROBE_ROLE_STEP);
	gpu.name = sb_builder_name(s.b, "denoise", NULL);
	sb_builder_gpu(s.b, &gpu);
	synthetic_model(&s, SECOND);
	assert_int_equal(sb_run_visit(s.run, visitors, 2), 0);
	assert_int_equal(seen[0].begin_ns, 5000);
	assert_ptr_equal(seen[0].span, seen[1].span);
	assert_int_equal(sb_run_gpu_spans(s.run)->list_count, 1);
	assert_int_equal(sb_run_visit(s.run, &other, 1), 0); /* no visitor asks */
	assert_null(seen[2].span);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_is_of_the_zone_in_which_it_was_launched),
		cmocka_unit_test(every_visitor_is_given_the_same_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
