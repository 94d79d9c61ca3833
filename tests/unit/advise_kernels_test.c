/* What the rules about kernels say is saved: by the GPU's rates, and by how often what was traced ran. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

enum { TID = 1000, VIDEOS = 5, STEPS = 4, TILES = 20 };

static void open_on(struct synthetic *s, const char *gpu)
{
	uint32_t schema;

	synthetic_open(s);
	sb_builder_meta_string(s->b, SB_META_SYSTEM, "gpu0.name", gpu);
	sb_builder_meta_string(s->b, SB_META_SETTING, "gpu_trace", "steps:3");
	schema = synthetic_gpu(s, 0);
	for (uint64_t t = 0; t <= VIDEOS; t++)
		synthetic_gpu_sample(s, schema, t * SECOND, 600, 90, 100);
}

/* Five videos of a second, of four steps; three steps are traced, which multiply for 200 ms of 250. */
static double saved_in_float64(const char *gpu, bool *out_needs_16_bits)
{
	struct synthetic s;
	const struct sb_advice *f;
	double saves_s;

	open_on(&s, gpu);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(&s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++)
			synthetic_step(&s, i * SECOND + k * 250 * MS, i * SECOND + (k + 1) * 250 * MS,
				(int64_t)k, 0);
		synthetic_end(&s, (i + 1) * SECOND);
	}
	for (uint64_t k = 0; k < 3; k++)
		synthetic_kernel(&s, "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16",
			SECOND + k * 250 * MS + MS, 200 * MS);
	synthetic_gpu_trace(&s, SECOND, 1750 * MS);
	f = finding(synthetic_model(&s, VIDEOS * SECOND), "precision_mismatch");
	assert_non_null(f);
	saves_s = f->saves_s;
	*out_needs_16_bits = strstr(f->suggestion, "hardly faster") != NULL;
	synthetic_done(&s);
	return saves_s;
}

/* An H200 multiplies as fast in float64 as in float32: its 16 bits are 989.5 / 67 times as fast. */
static void what_float64_costs_depends_on_the_gpu(void **state)
{
	bool on_h200, on_4090, elsewhere;
	double h200 = saved_in_float64("NVIDIA H200", &on_h200),
	       rtx = saved_in_float64("NVIDIA GeForce RTX 4090", &on_4090),
	       unknown = saved_in_float64("Some GPU", &elsewhere);

	assert_true(on_h200);
	assert_false(on_4090);
	assert_false(elsewhere);
	assert_near(h200 / unknown, (1 - 67 / 989.5) / 0.95, 1e-6);
	assert_true(rtx > unknown);
}

/* Five videos of a second: steps of 500 ms in 16 bits, a decode of 400 ms whose convolutions run as `kernel`. */
static const struct sb_advice *decode_with(struct synthetic *s, const char *kernel)
{
	open_on(s, "NVIDIA H200");
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_step(s, i * SECOND, i * SECOND + 500 * MS, 0, 0);
		synthetic_stage(s, i * SECOND + 550 * MS, i * SECOND + 950 * MS, "vae_decode", 0);
		synthetic_end(s, (i + 1) * SECOND);
	}
	synthetic_kernel(s, "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", SECOND + MS, 400 * MS);
	synthetic_kernel(s, kernel, SECOND + 560 * MS, 300 * MS);
	synthetic_gpu_trace(s, SECOND, 2 * SECOND);
	return finding(synthetic_model(s, VIDEOS * SECOND), "precision_mismatch");
}

static void float32_that_runs_as_tf32_is_told_at_half_its_time_and_never_high(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = decode_with(
		&s, "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw");

	assert_non_null(f);
	assert_non_null(strstr(f->issue, "'vae_decode' computes in fp32 (as TF32)"));
	assert_string_equal(f->priority, "medium");
	assert_near(f->saves_s, 4 * 0.15, 0.2);
	if (!strstr(f->evidence,
		    "100 % of the kernel time of 'vae_decode', 1.50 s in all its calls")) /* seen, not saved */
		fail_msg("%s", f->evidence);
	synthetic_done(&s);
	assert_null(decode_with(&s, "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc"));
	synthetic_done(&s);
}

/* Twenty tiles a video, a call of 10 ms each after the first video's of 20; the GPU works `busy_ns` of each. The first
 * video's decode is traced. */
static const struct sb_advice *tiles(struct synthetic *s, uint64_t busy_ns)
{
	open_on(s, "NVIDIA H200");
	for (uint64_t i = 0; i < VIDEOS; i++) {
		uint64_t begin = i * SECOND, each = i ? 9 * MS : 18 * MS;

		synthetic_begin(s, begin, "video", STROBE_ROLE_GENERATION);
		synthetic_step(s, begin, begin + 100 * MS, 0, 0);
		synthetic_begin(s, begin + 100 * MS, "vae_decode", 0);
		for (uint64_t k = 0; k < TILES; k++)
			synthetic_stage(s, begin + 100 * MS + k * each, begin + 100 * MS + (k + 1) * each,
				"Decoder", 0);
		synthetic_end(s, begin + 100 * MS + TILES * each);
		synthetic_end(s, begin + 500 * MS);
	}
	for (uint64_t k = 0; k < TILES; k++)
		synthetic_kernel(s, "conv", 100 * MS + k * 18 * MS + MS, busy_ns);
	synthetic_gpu_trace(s, 0, 500 * MS);
	return finding(synthetic_model(s, VIDEOS * SECOND), "tiny_tiles");
}

static void tiles_save_the_time_in_which_the_gpu_waits_for_the_next(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = tiles(&s, 3 * MS);

	assert_non_null(f);
	assert_near(f->saves_s, VIDEOS * TILES * (0.009 - 0.003), 1e-6);
	synthetic_done(&s);
}

static void tiles_that_keep_the_gpu_busy_are_not_too_small(void **state)
{
	struct synthetic s;

	assert_null(tiles(&s, 8 * MS));
	synthetic_done(&s);
}

/* A decoder that copies for 60 ms beside 20 ms of convolution, once in each of five videos; it is traced in the first
 * `traced` of them. */
static double saved_by_one_layout(uint64_t traced)
{
	struct synthetic s;
	const struct sb_advice *f;
	double saves_s;

	open_on(&s, "NVIDIA H200");
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(&s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < 2; k++)
			synthetic_step(&s, i * SECOND + k * 100 * MS, i * SECOND + (k + 1) * 100 * MS,
				(int64_t)k, 0);
		synthetic_begin(&s, i * SECOND + 200 * MS, "vae_decode", 0);
		synthetic_stage(&s, i * SECOND + 200 * MS, i * SECOND + 300 * MS, "Decoder", 0);
		synthetic_end(&s, i * SECOND + 300 * MS);
		synthetic_end(&s, i * SECOND + 300 * MS);
	}
	for (uint64_t i = 0; i < traced; i++) {
		synthetic_kernel(&s, "nchwToNhwcKernel", i * SECOND + 201 * MS, 60 * MS);
		synthetic_kernel(&s, "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc",
			i * SECOND + 262 * MS, 20 * MS);
	}
	synthetic_gpu_trace(&s, 0, traced * SECOND);
	f = finding(synthetic_model(&s, VIDEOS * SECOND), "layout_conversion");
	assert_non_null(f);
	saves_s = f->saves_s;
	synthetic_done(&s);
	return saves_s;
}

/* Frames go to the host for 60 ms once in each of five videos of a second. Two steps of ten and that one call are traced: 30 %
 * of what was seen, 6 % of the run. */
static void a_copy_of_a_stage_called_once_is_no_share_of_the_steps(void **state)
{
	struct synthetic s;

	open_on(&s, "NVIDIA H200");
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(&s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < 10; k++)
			synthetic_step(
				&s, i * SECOND + k * 70 * MS, i * SECOND + (k + 1) * 70 * MS, (int64_t)k, 0);
		synthetic_stage(&s, i * SECOND + 700 * MS, i * SECOND + 800 * MS, "postprocess", 0);
		synthetic_end(&s, (i + 1) * SECOND);
	}
	synthetic_kernel(&s, "sm90_xmma_gemm_bf16", 1 * MS, 69 * MS);
	synthetic_kernel(&s, "sm90_xmma_gemm_bf16", 71 * MS, 69 * MS);
	sb_builder_gpu(s.b, &(struct sb_builder_gpu){ .name = sb_builder_name(s.b, "Memcpy DtoH", NULL),
				    .kind = SB_GPU_COPY_D2H,
				    .start_ns = 702 * MS,
				    .duration_ns = 60 * MS,
				    .bytes = 100000000,
				    .launch_ns = 701 * MS,
				    .launch_tid = TID });
	synthetic_gpu_trace(&s, 0, 140 * MS);
	synthetic_gpu_trace(&s, 700 * MS, 800 * MS);
	assert_null(finding(synthetic_model(&s, VIDEOS * SECOND), "copies"));
	synthetic_done(&s);
}

/* With two steps a video, a trace of three goes on into the second. */
static void a_stage_that_was_traced_twice_saves_no_more(void **state)
{
	assert_near(saved_by_one_layout(2), saved_by_one_layout(1), 1e-6);
}

/* Three videos of two steps, two forwards each: the CPU launches them in 10 ms each, the GPU takes 100 ms for each. */
static void guidance_saves_the_time_of_the_gpu(void **state)
{
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE, .launch_tid = TID, .duration_ns = 100 * MS };
	struct synthetic s;
	const struct sb_advice *f;

	synthetic_open(&s);
	g.name = sb_builder_name(s.b, "transformer", NULL);
	for (uint64_t i = 0; i < 3 * 2; i++) {
		uint64_t at = i * 250 * MS;

		if (i % 2 == 0)
			synthetic_begin(&s, at, "video", STROBE_ROLE_GENERATION);
		synthetic_begin(&s, at, "denoise", STROBE_ROLE_STEP);
		synthetic_attr(&s, "step", (int64_t)(i % 2));
		synthetic_attr(&s, "guidance_scale", 1);
		for (uint64_t k = 0; k < 2; k++, at += 10 * MS) {
			synthetic_stage(&s, at, at + 10 * MS, "transformer", STROBE_ROLE_FORWARD);
			g.launch_ns = (int64_t)(at + MS);
			g.start_ns = (int64_t)(i * 250 * MS + k * 100 * MS + 2 * MS);
			sb_builder_gpu(s.b, &g);
		}
		synthetic_end(&s, at);
		if (i % 2)
			synthetic_end(&s, (i + 1) * 250 * MS);
	}
	f = finding(synthetic_model(&s, 2 * SECOND), "cfg_wasted");
	assert_non_null(f);
	assert_near(f->saves_s, 2.0 / 3 * 6 * 0.1, 1e-6);
	synthetic_done(&s);
}

/* torch 2.9.0 unfolds 3D convolutions in 16 bits by itself: switching cuDNN on would change nothing. */
static void what_a_version_does_is_mended_by_another_version(void **state)
{
	struct strobe_attr versions[] = { TEXT("torch", "2.9.0"), INT("cudnn", 91002) };
	struct strobe_attr vae[] = { TEXT("component", "vae"), TEXT("dtype", "bfloat16"),
		TEXT("device", "cuda"), TEXT("convolution", "WanCausalConv3d") };
	const struct sb_advice *f;
	struct synthetic s;

	for (int known = 0; known < 2; known++) {
		open_on(&s, "NVIDIA H200");
		if (known)
			sb_builder_event(s.b, 1000, "torch.versions", 0, versions, 2);
		sb_builder_event(s.b, 1000, "torch.asked", 0, vae, 4);
		for (uint64_t i = 0; i < VIDEOS; i++) {
			synthetic_begin(&s, i * SECOND, "video", STROBE_ROLE_GENERATION);
			synthetic_step(&s, i * SECOND, (i + 1) * SECOND, 0, 0);
			synthetic_end(&s, (i + 1) * SECOND);
		}
		for (uint64_t i = 1; i < 4; i++)
			synthetic_kernel(&s, "vol2col_kernel", i * SECOND + MS, 800 * MS);
		synthetic_gpu_trace(&s, SECOND, 4 * SECOND);
		f = finding(synthetic_model(&s, VIDEOS * SECOND), "fallback_conv");
		assert_non_null(f);
		assert_true(!strstr(f->cause, "torch 2.9.0") == !known);
		assert_true(!strstr(f->suggestion, "Update torch") == !known);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_version_does_is_mended_by_another_version),
		cmocka_unit_test(float32_that_runs_as_tf32_is_told_at_half_its_time_and_never_high),
		cmocka_unit_test(what_float64_costs_depends_on_the_gpu),
		cmocka_unit_test(tiles_save_the_time_in_which_the_gpu_waits_for_the_next),
		cmocka_unit_test(tiles_that_keep_the_gpu_busy_are_not_too_small),
		cmocka_unit_test(a_stage_that_was_traced_twice_saves_no_more),
		cmocka_unit_test(a_copy_of_a_stage_called_once_is_no_share_of_the_steps),
		cmocka_unit_test(guidance_saves_the_time_of_the_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
