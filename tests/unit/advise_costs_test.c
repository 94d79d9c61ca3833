/* What problems of kernels cost where no trace shows it, on an H200: 67 TFLOP/s in fp32, 989.5 in bf16, 4.8 TB/s. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/rule.h"
#include "format/run_keys.h"
#include "synthetic.h"

#define VIDEOS 4
#define WARM_S (0.9 * 3) /* of the model: the first video is cold */

static const struct strobe_attr
	*also_asked; /* what "net" is at last, of five attributes; NULL: nothing more */

/* Videos of a second, 900 ms of it in the model, which an event says something of; another model is in 16 bits. */
static const struct sb_advice *said(struct synthetic *s, const char *id, struct strobe_attr asks,
	const struct strobe_attr *computed, uint32_t computed_count)
{
	struct strobe_attr name = TEXT("gpu0.name", "NVIDIA H200"), component = TEXT("component", "net");
	struct strobe_attr net[] = { component, TEXT("device", "cuda"), TEXT("dtype", "float32"), asks },
			   other[] = { TEXT("component", "small"), TEXT("device", "cuda"),
				   TEXT("dtype", computed_count ? "float32" : "bfloat16") };
	struct strobe_attr shape[] = { INT("shape", 1), TEXT("precision", "fp32"),
		{ "flops", STROBE_TYPE_FLOAT, { .f = 0.9 * 67e12 * 0.4 } } };
	uint32_t schema;

	synthetic_open(s);
	sb_builder_meta(s->b, SB_META_SYSTEM, &name);
	schema = synthetic_gpu(s, 0);
	sb_builder_event(s->b, 1000, "torch.asked", 0, net, 4);
	sb_builder_event(s->b, 1000, "torch.asked", 0, other, 3);
	sb_builder_event(s->b, 1000, SB_EVENT_FLOPS, 0, shape, 3);
	if (also_asked)
		sb_builder_event(s->b, 1001, "torch.asked", 0, also_asked, 5);
	if (computed_count)
		sb_builder_event(s->b, 1000, "torch.computed", 0, computed, computed_count);
	for (uint64_t t = 0; t < VIDEOS * SECOND; t += SECOND) {
		for (uint64_t at = 0; at < SECOND; at += SECOND / 4)
			synthetic_gpu_sample(s, schema, t + at, 8000, 70, 300);
		synthetic_begin(s, t, "pipeline", STROBE_ROLE_GENERATION);
		synthetic_stage(s, t + 1, t + 50 * MS, "small", STROBE_ROLE_FORWARD);
		synthetic_begin(s, t + 50 * MS, "net", STROBE_ROLE_FORWARD);
		synthetic_attr(s, "flops_shape", 1);
		synthetic_end(s, t + 950 * MS);
		synthetic_end(s, t + SECOND);
	}
	return finding(synthetic_model(s, VIDEOS * SECOND), id);
}

static void near_to(const struct sb_advice *f, double seconds, const char *basis)
{
	assert_non_null(f);
	assert_string_equal(f->where.stage, "net");
	assert_near(f->saves_s, seconds, 0.01 * seconds);
	assert_string_equal(f->basis, basis);
}

/* At 40 % of the rate half of the time is products, which 16 bits make 15 times as fast; the rest is half as many bytes. */
static void single_precision_costs_its_products_and_half_of_the_bytes(void **state)
{
	struct strobe_attr none = INT("convolves", 1);
	struct synthetic s;

	(void)state;
	near_to(said(&s, "precision_mismatch", none, NULL, 0), WARM_S * (0.5 * (1 - 67 / 989.5) + 0.25),
		"estimated");
	synthetic_done(&s);
}

static void weights_that_autocast_casts_cost_their_bytes(void **state)
{
	struct strobe_attr cast[] = { TEXT("component", "net"), TEXT("device", "cuda"),
		TEXT("dtype", "float32"), TEXT("autocast", "bfloat16"), INT("cast_count", 256000000000) };
	struct synthetic s;
	const struct sb_advice *f = said(&s, "precision_mismatch", cast[3], NULL, 0);

	(void)state;
	assert_non_null(f); /* autocast keeps them until it is left: how often is not known */
	assert_true(isnan(f->saves_s));
	synthetic_done(&s);
	also_asked = cast;
	near_to(said(&s, "precision_mismatch", cast[3], NULL, 0), 3 * 0.4, "estimated");
	also_asked = NULL;
	synthetic_done(&s);
}

static void unpacked_weights_and_layouts_cost_their_bytes(void **state)
{
	const struct strobe_attr unpacks[] = { TEXT("component", "net"),
		{ "unpacked_ratio", STROBE_TYPE_FLOAT, { .f = 1 } }, INT("unpacking_bytes", 1536000000000) };
	const struct strobe_attr relays[] = { TEXT("component", "net"),
		{ "relaid_ratio", STROBE_TYPE_FLOAT, { .f = 2 } }, INT("relaid_bytes", 768000000000) };
	struct strobe_attr none = INT("convolves", 1);
	struct synthetic s;

	(void)state;
	near_to(said(&s, "quantised_not_used", none, unpacks, 3), 3 * 0.4, "estimated");
	synthetic_done(&s);
	near_to(said(&s, "layout_conversion", none, relays, 3), 3 * 0.4, "estimated");
	synthetic_done(&s);
}

/* 20e9 scores of 26 bytes and 10 TFLOP in fp32, beside a fused kernel at half of the rate of 16 bits. */
static void unfused_attention_costs_its_scores_and_products(void **state)
{
	struct strobe_attr computed[] = { TEXT("component", "net"), INT("attention_bits", 16),
		INT("attention_scores", 20000000000),
		{ "attention_flops", STROBE_TYPE_FLOAT, { .f = 10e12 } } };
	double call_s = 20e9 * 26 / (0.8 * 4.8e12) + 10e12 / (0.8 * 67e12) - 10e12 / (0.5 * 989.5e12);
	struct synthetic s;
	const struct sb_advice *f;

	(void)state;
	near_to(said(&s, "fallback_attention", (struct strobe_attr)TEXT("sdp", "math"), computed, 4),
		3 * call_s, "estimated");
	synthetic_done(&s);
	computed[1] = (struct strobe_attr)INT("attention_bits", 32);
	f = said(&s, "fallback_attention", (struct strobe_attr)TEXT("sdp", "math"), computed, 4);
	assert_non_null(f);
	assert_true(isnan(f->saves_s));
	synthetic_done(&s);
}

static void convolutions_without_cudnn_cost_at_most_what_their_products_do_not_need(void **state)
{
	struct synthetic s;

	(void)state;
	near_to(said(&s, "fallback_conv", (struct strobe_attr)INT("cudnn", 0), NULL, 0), WARM_S * 0.6,
		"bounded");
	synthetic_done(&s);
}

/* The GPU works for 70 % of the time, the CPU for the rest. */
static void switches_for_finding_errors_cost_what_takes_turns(void **state)
{
	struct synthetic s;

	(void)state;
	near_to(said(&s, "debug_mode", (struct strobe_attr)INT("launch_blocking", 1), NULL, 0), WARM_S * 0.3,
		"estimated");
	synthetic_done(&s);
	near_to(said(&s, "debug_mode", (struct strobe_attr)INT("no_memory_caching", 1), NULL, 0),
		WARM_S * 0.3, "bounded");
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_precision_costs_its_products_and_half_of_the_bytes),
		cmocka_unit_test(weights_that_autocast_casts_cost_their_bytes),
		cmocka_unit_test(unpacked_weights_and_layouts_cost_their_bytes),
		cmocka_unit_test(unfused_attention_costs_its_scores_and_products),
		cmocka_unit_test(convolutions_without_cudnn_cost_at_most_what_their_products_do_not_need),
		cmocka_unit_test(switches_for_finding_errors_cost_what_takes_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
