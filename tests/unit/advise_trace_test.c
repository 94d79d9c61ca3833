/* The rules that read a GPU trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

static void kernel(struct synthetic *s, const char *name, enum sb_gpu_kind kind, uint64_t at, uint64_t took,
	uint32_t flags, uint64_t bytes)
{
	sb_builder_gpu(s->b, &(struct sb_builder_gpu){ .name = sb_builder_name(s->b, name, NULL),
				     .kind = kind,
				     .start_ns = at,
				     .duration_ns = took,
				     .launch_ns = at > 1000 ? at - 1000 : 0,
				     .launch_tid = 1000,
				     .stream = 7,
				     .flags = flags,
				     .bytes = bytes });
}

static void copies_gaps_and_small_kernels_are_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "denoise", 0);
	for (int i = 0; i < 200; i++, t += 20000) /* 5 us of work every 20 us */
		kernel(&s, "elementwise_kernel", SB_GPU_KERNEL, t, 5000, 0, 0);
	kernel(&s, "softmax_warp_forward", SB_GPU_KERNEL, t, 2 * MS, 0, 0);
	t += 2 * MS;
	kernel(&s, "Memcpy HtoD", SB_GPU_COPY_H2D, t, 3 * MS, SB_GPU_PAGEABLE, 2000000000);
	t += 3 * MS;
	synthetic_end(&s, t);
	m = synthetic_model(&s, t);
	assert_true(m->gpu.present);
	assert_non_null(finding(m, "copies"));
	assert_near(finding(m, "copies")->saves_s, 0.003, 1e-9);
	assert_near(finding(m, "pageable_copies")->value, 100, 1e-9);
	assert_non_null(finding(m, "gpu_gaps"));
	assert_near(finding(m, "gpu_gaps")->saves_s, m->gpu.idle_s, 1e-12);
	assert_non_null(finding(m, "small_kernels"));
	assert_null(finding(m, "communication"));
	synthetic_done(&s);
}

static void a_busy_gpu_bounds_the_run(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 20; i++)
		kernel(&s, "sm90_xmma_gemm_bf16", SB_GPU_KERNEL, i * 10 * MS, 9900000, 0, 0);
	m = synthetic_model(&s, 200 * MS);
	assert_null(finding(m, "gpu_gaps"));
	assert_null(finding(m, "small_kernels"));
	assert_null(finding(m, "copies"));
	assert_string_equal(m->summary.bound, "GPU");
	assert_non_null(strstr(m->summary.bound_reason, "99 % busy"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_gaps_and_small_kernels_are_named),
		cmocka_unit_test(a_busy_gpu_bounds_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
