/* Symptoms are named under the causes that account for them; those that stay say what would tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

/* A second of denoising in which the GPU works 5 ms of every 10. */
static void half_idle(struct synthetic *s)
{
	for (uint64_t t = 0; t < SECOND; t += 10 * MS)
		synthetic_kernel(s, "gemm", t, 5 * MS);
}

static void a_symptom_is_named_under_its_cause(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	synthetic_open(&s);
	half_idle(&s);
	synthetic_begin(&s, 0, "denoise", 0);
	for (uint64_t t = 0; t < SECOND; t += 10 * MS)
		synthetic_stage(&s, t + 5 * MS, t + 9 * MS, "offload:transformer", STROBE_ROLE_OFFLOAD);
	synthetic_end(&s, SECOND);
	f = finding(synthetic_model(&s, SECOND), "offload");
	assert_non_null(f);
	assert_int_equal(f->explain_count, 2); /* where the time goes needs no line of its own either */
	assert_string_equal(f->explains[0], "stage_dominates");
	assert_string_equal(f->explains[1], "gpu_gaps");
	assert_non_null(strstr(f->evidence, "of this: the GPU idles"));
	assert_null(finding(s.model, "gpu_gaps"));
	assert_string_equal(f->where.stage, "offload:transformer");
	assert_near(f->where.from_s, 0.005, 1e-9);
	assert_near(f->where.to_s, 0.999, 1e-9);
	assert_string_equal(f->basis, "bounded");
	synthetic_done(&s);
}

static void a_cause_too_small_for_it_leaves_the_symptom(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	synthetic_open(&s);
	half_idle(&s);
	synthetic_begin(&s, 0, "denoise", 0);
	synthetic_stage(&s, 0, 100 * MS, "offload:transformer", STROBE_ROLE_OFFLOAD); /* of 500 ms idle */
	synthetic_end(&s, SECOND);
	f = finding(synthetic_model(&s, SECOND), "gpu_gaps");
	assert_non_null(f);
	assert_non_null(finding(s.model, "offload"));
	assert_int_equal(finding(s.model, "offload")->explain_count, 0);
	synthetic_done(&s);
}

/* Half of the time offloads weights; all kernels are short. The cause of the gaps shortens no kernel, and they need no
 * finding of their own beside it. */
static void short_kernels_are_no_finding_beside_explained_gaps(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	synthetic_open(&s);
	for (uint64_t t = 0; t < SECOND; t += 10 * MS)
		for (uint64_t k = 0; k < 1000; k++)
			sb_builder_gpu(
				s.b, &(struct sb_builder_gpu){ .name = sb_builder_name(s.b, "gemm", NULL),
					     .kind = SB_GPU_KERNEL,
					     .start_ns = t + k * 5000,
					     .duration_ns = 5000,
					     .launch_ns = t,
					     .launch_tid = 1000,
					     .stream = 7 });
	synthetic_begin(&s, 0, "denoise", 0);
	for (uint64_t t = 0; t < SECOND; t += 10 * MS)
		synthetic_stage(&s, t + 5 * MS, t + 9 * MS, "offload:transformer", STROBE_ROLE_OFFLOAD);
	synthetic_end(&s, SECOND);
	f = finding(synthetic_model(&s, SECOND), "offload");
	assert_non_null(f);
	assert_non_null(strstr(f->evidence, "of this: the GPU idles"));
	assert_null(strstr(f->evidence, "short"));
	assert_null(finding(s.model, "gpu_gaps"));
	assert_null(finding(s.model, "small_kernels"));
	synthetic_done(&s);
}

static void a_symptom_alone_says_which_recording_would_tell(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	synthetic_open(&s);
	half_idle(&s);
	synthetic_stage(&s, 0, SECOND, "denoise", 0);
	f = finding(synthetic_model(&s, SECOND), "gpu_gaps");
	assert_non_null(strstr(f->cause, "cause not found: "));
	assert_non_null(strstr(f->cause, ", next: record with --sample=100"));
	assert_string_equal(f->confidence, "possible");
	synthetic_done(&s);
}

static void what_costs_the_start_comes_after_what_costs_the_generations(void **state)
{
	struct synthetic s;
	const struct sb_advice_panel *a;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 8 * SECOND, "load:model", STROBE_ROLE_LOAD);
	synthetic_begin(&s, 8 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 8 * SECOND, 9 * SECOND, "offload:transformer", STROBE_ROLE_OFFLOAD);
	synthetic_end(&s, 10 * SECOND);
	a = &synthetic_model(&s, 10 * SECOND)->advice;
	assert_true(finding(s.model, "model_load")->startup);
	assert_false(finding(s.model, "offload")->startup);
	assert_string_equal(a->all[0].id, "offload");
	assert_true(a->all[a->count - 1].startup);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symptom_is_named_under_its_cause),
		cmocka_unit_test(a_cause_too_small_for_it_leaves_the_symptom),
		cmocka_unit_test(short_kernels_are_no_finding_beside_explained_gaps),
		cmocka_unit_test(a_symptom_alone_says_which_recording_would_tell),
		cmocka_unit_test(what_costs_the_start_comes_after_what_costs_the_generations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
