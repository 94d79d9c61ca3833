/* What is said of a traced model that is not compiled, and of one whose weights lie in fewer bits than it multiplies in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

enum { VIDEOS = 5, STEPS = 4 };

#define PRODUCT "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"
#define ADD                                                                                              \
	"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, " \
	"std::array<char*, 3ul> >"
#define CAST                                                                                \
	"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(" \
	"at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}>"

#define INT8_PRODUCT                                                                        \
	"void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x64_128x3_tn_align16>(" \
	"cutlass_80_tensorop_i16832gemm_s8_128x64_128x3_tn_align16::Params)"
#define ATTENTION                                                                                      \
	"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, " \
	"cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)"

/* Kernels of a traced step of 240 ms, and what the program told of its models. */
struct program {
	struct {
		const char *name;
		uint64_t ns;
	} kernels[4];
	const char *inside; /* the stage in the steps; NULL: neither steps nor models */
	const struct strobe_attr *asked, *computed;
	size_t asked_count, computed_count;
};

/* Five videos of a second, of four such steps; three are traced. */
static const struct sb_advice *said(struct synthetic *s, const struct program *p, const char *id)
{
	uint32_t schema;

	synthetic_open(s);
	sb_builder_meta_string(s->b, SB_META_SYSTEM, "gpu0.name", "NVIDIA H200");
	sb_builder_meta_string(s->b, SB_META_SETTING, "gpu_trace", "steps:3");
	schema = synthetic_gpu(s, 0);
	for (uint64_t t = 0; t <= VIDEOS; t++)
		synthetic_gpu_sample(s, schema, t * SECOND, 600, 90, 100);
	if (p->asked_count)
		sb_builder_event(s->b, 1000, "torch.asked", 0, p->asked, p->asked_count);
	if (p->computed_count)
		sb_builder_event(s->b, 2000, "torch.computed", 0, p->computed, p->computed_count);
	for (uint64_t i = 0; i < VIDEOS * STEPS; i++) {
		uint64_t at = i * 250 * MS;

		if (i % STEPS == 0)
			synthetic_begin(s, at, "video", STROBE_ROLE_GENERATION);
		synthetic_begin(s, at, p->inside ? "denoise" : "preview", p->inside ? STROBE_ROLE_STEP : 0);
		synthetic_stage(s, at, at + 240 * MS, p->inside ? p->inside : "network", 0);
		synthetic_end(s, at + 250 * MS);
		if (i % STEPS == STEPS - 1)
			synthetic_end(s, at + 250 * MS);
	}
	for (uint64_t k = 0; k < 3; k++) {
		uint64_t at = SECOND + k * 250 * MS + MS;

		for (size_t i = 0; i < 4 && p->kernels[i].name; at += p->kernels[i++].ns)
			synthetic_kernel(s, p->kernels[i].name, at, p->kernels[i].ns);
	}
	synthetic_gpu_trace(s, SECOND, 1750 * MS);
	return finding(synthetic_model(s, VIDEOS * SECOND), id);
}

static bool is_said(const struct program *p, const char *id)
{
	struct synthetic s;
	bool found = said(&s, p, id) != NULL;

	synthetic_done(&s);
	return found;
}

static void elementwise_kernels_of_a_model_that_is_not_compiled_are_told_low(void **state)
{
	const struct program p = { .kernels = { { PRODUCT, 140 * MS }, { ADD, 80 * MS } },
		.inside = "transformer" };
	struct synthetic s;
	const struct sb_advice *f = said(&s, &p, "kernels_unfused");

	assert_non_null(f);
	assert_string_equal(f->priority, "low");
	assert_string_equal(f->where.stage, "transformer");
	assert_string_equal(f->issue,
		"'transformer' is not compiled: 36 % of its kernel time is work that a compiler can fuse");
	assert_non_null(strstr(f->evidence, "element-wise 36 %, copy and layout 0 %, normalisation 0 %"));
	assert_non_null(strstr(f->suggestion, "compile_repeated_blocks(fullgraph=True)"));
	assert_near(f->saves_s, 16 * 0.6 * 0.08, 1e-6); /* in the warm videos */
	/* six tenths of what counts */
	assert_non_null(strstr(
		f->evidence, "1.60 s in all its calls, of which 1.28 s count, in the warm generations"));
	/* steps of 250 ms, and no other cause of it */
	assert_null(finding(s.model, "step_slow"));
	assert_string_equal(f->explains[0], "step_slow");
	assert_non_null(strstr(f->evidence, "it is 19 % of this: a step takes 0.25 s on average"));
	synthetic_done(&s);
}

/* It says to do what the model does not do already. */
static void slow_steps_are_told_what_is_left_to_do(void **state)
{
	struct strobe_attr half[] = { TEXT("component", "transformer"), TEXT("dtype", "bfloat16"),
		TEXT("device", "cuda") };
	struct strobe_attr compiled[] = { TEXT("component", "transformer"), TEXT("dtype", "float8_e4m3fn"),
		INT("compiled", 1) };
	struct program p = { .kernels = { { PRODUCT, 220 * MS } }, .inside = "transformer" };
	struct synthetic s;

	(void)state;
	assert_string_equal(said(&s, &p, "step_slow")->suggestion,
		"Compile the model, use BF16 or FP8, a faster attention, or a step cache.");
	synthetic_done(&s);
	p.asked = half;
	p.asked_count = 3;
	assert_string_equal(said(&s, &p, "step_slow")->suggestion,
		"Compile the model, use FP8, a faster attention, or a step cache.");
	assert_string_equal(finding(s.model, "step_slow")->confidence, "possible"); /* no cause is named */
	synthetic_done(&s);
	p.asked = compiled;
	assert_string_equal(
		said(&s, &p, "step_slow")->suggestion, "Use a faster attention, or a step cache.");
	synthetic_done(&s);
}

/* Casts and norms are fused with what is around them: an H200 saved more than all of the element-wise time. */
static void casts_and_norms_that_a_compiler_fuses_are_saved_too(void **state)
{
	static const char norm[] =
		"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<"
		"float, float, false>(int, float, float const*, float const*, float const*, "
		"float*, float*, float*)";
	struct strobe_attr asked[] = { TEXT("component", "transformer"), TEXT("dtype", "bfloat16"),
		TEXT("device", "cuda") };
	struct program p = { .kernels = { { PRODUCT, 140 * MS }, { CAST, 50 * MS }, { norm, 30 * MS } },
		.inside = "transformer",
		.asked = asked,
		.asked_count = 3 };
	struct synthetic s;
	const struct sb_advice *f = said(&s, &p, "kernels_unfused");

	assert_non_null(f);
	assert_near(f->saves_s, 16 * 0.6 * 0.08, 1e-6);
	synthetic_done(&s);
}

/* As V-JEPA 2 on an H200: ten calls of 50 ms after the imports, of which a part of each ms is element-wise. */
static const struct sb_advice *said_of_a_loop(struct synthetic *s, uint64_t add_us)
{
	struct sb_builder_gpu g = { .kind = SB_GPU_ZONE, .launch_tid = 1000, .duration_ns = 50 * MS };

	synthetic_open(s);
	synthetic_stage(s, 0, SECOND, "import torch", STROBE_ROLE_IMPORT);
	g.name = sb_builder_name(s->b, "VJEPA2Model", NULL);
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t at = SECOND + i * 60 * MS;

		synthetic_stage(s, at, at + 50 * MS, "VJEPA2Model", 0);
		g.start_ns = g.launch_ns = (int64_t)at;
		sb_builder_gpu(s->b, &g);
		for (uint64_t k = 0; k < 49; k++) {
			synthetic_kernel(s, PRODUCT, at + k * MS, (1000 - add_us) * 1000);
			synthetic_kernel(s, ADD, at + (k + 1) * MS - add_us * 1000, add_us * 1000);
		}
	}
	synthetic_gpu_trace(s, SECOND, 1600 * MS);
	return finding(synthetic_model(s, 1600 * MS), "kernels_unfused");
}

static void a_model_that_a_program_calls_in_a_loop_can_be_compiled_too(void **state)
{
	struct synthetic s;
	const struct sb_advice *f = said_of_a_loop(&s, 400);

	(void)state;
	assert_non_null(f);
	assert_string_equal(f->where.stage, "VJEPA2Model");
	assert_null(strstr(f->suggestion, "pipe."));
	assert_near(f->saves_s, 10 * 49 * 0.6 * 400e-6, 1e-6);
	synthetic_done(&s);
	assert_null(said_of_a_loop(&s, 200)); /* a healthy share */
	synthetic_done(&s);
}

static void elementwise_kernels_are_not_told_where_no_compiler_helps(void **state)
{
	struct strobe_attr asked[] = { TEXT("component", "transformer"), INT("compiled", 1) };
	const struct program few = { .kernels = { { PRODUCT, 200 * MS }, { ADD, 30 * MS } },
		.inside = "transformer" },
			     waits = { .kernels = { { PRODUCT, 60 * MS }, { ADD, 60 * MS } },
				     .inside = "transformer" },
			     fused = { .kernels = { { PRODUCT, 140 * MS },
					       { "triton_poi_fused_add_mul_3", 80 * MS } },
				     .inside = "transformer" },
			     compiled = { .kernels = { { PRODUCT, 140 * MS }, { ADD, 80 * MS } },
				     .inside = "transformer",
				     .asked = asked,
				     .asked_count = 2 },
			     outside = { .kernels = { { PRODUCT, 140 * MS }, { ADD, 80 * MS } } };

	assert_false(is_said(&few, "kernels_unfused"));
	assert_false(is_said(&waits, "kernels_unfused")); /* the GPU does */
	assert_false(is_said(&fused, "kernels_unfused"));
	assert_false(is_said(&compiled, "kernels_unfused"));
	assert_false(is_said(&outside, "kernels_unfused")); /* neither steps nor a VAE */
}

/* Casts before every product: another finding says what to do. */
static void kernels_that_another_rule_names_are_not_told_twice(void **state)
{
	const struct program p = { .kernels = { { PRODUCT, 140 * MS }, { CAST, 80 * MS } },
		.inside = "transformer" };

	assert_false(is_said(&p, "kernels_unfused"));
	assert_true(is_said(&p, "precision_mismatch"));
}

/* ---- weights in fewer bits ------------------------------------------------------ */

/* Norms and positions in 32 bits, scale, shift and gate: what transformers run where nothing is quantised. */
static struct program casts_and_adds(const struct strobe_attr *asked, size_t count)
{
	return (struct program){ .kernels = { { PRODUCT, 80 * MS }, { CAST, 70 * MS }, { ADD, 70 * MS } },
		.inside = "transformer",
		.asked = asked,
		.asked_count = count };
}

static void casts_between_elementwise_kernels_do_not_make_weights_quantised(void **state)
{
	struct strobe_attr asked[] = { TEXT("component", "transformer"), TEXT("dtype", "bfloat16"),
		TEXT("device", "cuda") };
	struct program unknown = casts_and_adds(NULL, 0), half = casts_and_adds(asked, 3);

	assert_false(is_said(&unknown, "quantised_not_used"));
	assert_false(is_said(&half, "quantised_not_used"));
	assert_true(is_said(&unknown, "kernels_unfused"));
	assert_true(is_said(&half, "kernels_unfused"));
}

static void weights_that_lie_in_fewer_bits_and_are_cast_in_every_call_are_told(void **state)
{
	static const char *const types[] = { "float8_e4m3fn", "float8_e5m2", "uint8", "int8" };
	struct strobe_attr wrapped[] = { TEXT("component", "transformer"), TEXT("dtype", "bfloat16"),
		TEXT("device", "cuda"), TEXT("quantised", "int8 (Int8Tensor)") };
	struct program p = casts_and_adds(wrapped, 4);

	assert_true(is_said(&p, "quantised_not_used"));
	assert_false(is_said(&p, "kernels_unfused"));
	for (size_t i = 0; i < 4; i++) {
		struct strobe_attr plain[] = { TEXT("component", "transformer"), TEXT("dtype", types[i]),
			TEXT("device", "cuda") };

		p = casts_and_adds(plain, 3);
		assert_true(is_said(&p, "quantised_not_used"));
	}
}

/* Inputs are cast and scaled to 8 bits in each call: weights are not unpacked. */
static void weights_whose_products_are_in_8_bits_are_used(void **state)
{
	struct strobe_attr asked[] = { TEXT("component", "transformer"), TEXT("dtype", "bfloat16"),
		TEXT("device", "cuda"), TEXT("quantised", "int8 (Int8Tensor)") };
	struct program p = casts_and_adds(asked, 4);

	p.kernels[0].name = INT8_PRODUCT;
	p.kernels[3].name = ATTENTION;
	p.kernels[3].ns = 15 * MS;
	assert_false(is_said(&p, "quantised_not_used"));
	assert_true(is_said(&p, "kernels_unfused"));
	p.kernels[1].ns = 100 * MS;
	p.kernels[2].ns = 20 * MS;
	assert_false(is_said(&p, "precision_mismatch"));
}

static void quantised_weights_of_another_model_explain_nothing(void **state)
{
	struct strobe_attr asked[] = { TEXT("component", "text_encoder"), TEXT("dtype", "bfloat16"),
		TEXT("device", "cuda"), TEXT("quantised", "int8 (Int8Tensor)") };
	struct program p = casts_and_adds(asked, 4);

	assert_false(is_said(&p, "quantised_not_used"));
	assert_true(is_said(&p, "kernels_unfused"));
}

static void kernels_that_are_named_for_unpacking_need_no_other_evidence(void **state)
{
	const struct program p = {
		.kernels = { { PRODUCT, 140 * MS },
			{ "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, "
			  "unsigned char*, float*, __nv_bfloat16*, int, int)",
				80 * MS } },
		.inside = "transformer"
	};

	assert_true(is_said(&p, "quantised_not_used"));
}

/* 140 ms of casts and products of elements, of which the weights' bytes are 125 ms or 1 at the GPU's bandwidth. */
static void no_more_is_unpacking_than_the_weights_have_bytes(void **state)
{
	struct strobe_attr asked[] = { TEXT("component", "transformer"), TEXT("dtype", "bfloat16"),
		TEXT("device", "cuda") };
	struct strobe_attr many[] = { TEXT("component", "transformer"),
		{ "unpacked_ratio", STROBE_TYPE_FLOAT, { .f = 1 } }, INT("unpacking_bytes", 480000000000) };
	struct strobe_attr few[] = { many[0], many[1], INT("unpacking_bytes", 3840000000) };
	struct program p = casts_and_adds(asked, 3);
	const struct sb_advice *f;
	struct synthetic s;

	p.computed = many;
	p.computed_count = 3;
	f = said(&s, &p, "quantised_not_used");
	assert_non_null(f);
	assert_near(f->saves_s, 20 * 0.9 * 0.125, 0.01);
	synthetic_done(&s);
	p.computed = few;
	assert_false(is_said(&p, "quantised_not_used"));
	assert_true(is_said(&p, "kernels_unfused"));
}

/* ---- casts of what is no weight -------------------------------------------------- */

static void casts_in_a_model_whose_weights_are_in_16_bits_are_no_mismatch(void **state)
{
	struct strobe_attr asked[] = { TEXT("component", "transformer"), TEXT("dtype", "bfloat16"),
		TEXT("device", "cuda") };
	struct program p = { .kernels = { { PRODUCT, 140 * MS }, { CAST, 80 * MS } },
		.inside = "transformer",
		.asked = asked,
		.asked_count = 3 };

	assert_false(is_said(&p, "precision_mismatch"));
	asked[1] = (struct strobe_attr)TEXT("dtype", "float32");
	assert_true(is_said(&p, "precision_mismatch"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elementwise_kernels_of_a_model_that_is_not_compiled_are_told_low),
		cmocka_unit_test(slow_steps_are_told_what_is_left_to_do),
		cmocka_unit_test(casts_and_norms_that_a_compiler_fuses_are_saved_too),
		cmocka_unit_test(a_model_that_a_program_calls_in_a_loop_can_be_compiled_too),
		cmocka_unit_test(elementwise_kernels_are_not_told_where_no_compiler_helps),
		cmocka_unit_test(kernels_that_another_rule_names_are_not_told_twice),
		cmocka_unit_test(casts_between_elementwise_kernels_do_not_make_weights_quantised),
		cmocka_unit_test(weights_that_lie_in_fewer_bits_and_are_cast_in_every_call_are_told),
		cmocka_unit_test(weights_whose_products_are_in_8_bits_are_used),
		cmocka_unit_test(quantised_weights_of_another_model_explain_nothing),
		cmocka_unit_test(kernels_that_are_named_for_unpacking_need_no_other_evidence),
		cmocka_unit_test(no_more_is_unpacking_than_the_weights_have_bytes),
		cmocka_unit_test(casts_in_a_model_whose_weights_are_in_16_bits_are_no_mismatch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
