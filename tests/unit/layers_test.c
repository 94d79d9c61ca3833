/* Layers, variants, parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/video/layers.h"
#include "analyze/video/parameters.h"
#include "analyze/video/precision.h"
#include "synthetic.h"

static void parameters_are_written_short(void **state)
{
	static const struct {
		int64_t count;
		const char *text;
	} cases[] = { { 1300000000, "1.3B" }, { 304714240, "304.7M" }, { 12500, "12.5K" }, { 999, "999" },
		{ 0, "0" }, { 1000000000, "1.0B" } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[16];

		sb_parameters_text(cases[i].count, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void models_are_listed_once_the_largest_first(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_model(s.b, 0, "vae", 127000000, "fp32", -1);
	sb_builder_model(s.b, 1, "dit", 1300000000, "bf16", 2600000000);
	sb_builder_model(s.b, 2, "vae", 127000001, "bf16", 254000002); /* the last word counts */
	for (int i = 0; i < 4; i++) {
		synthetic_begin(&s, (uint64_t)i * SECOND, "step", STROBE_ROLE_STEP);
		synthetic_attr(&s, "flops", 500000000000ll);
		synthetic_end(&s, (uint64_t)(i + 1) * SECOND);
	}
	m = synthetic_model(&s, 4 * SECOND);
	assert_int_equal(m->models.model_count, 2);
	assert_string_equal(m->models.models[0].name, "dit");
	assert_int_equal(m->models.models[1].parameters, 127000001);
	assert_int_equal(m->models.total_parameters, 1427000001);
	assert_near(m->models.models[0].flops_per_step, 5e11, 0);
	assert_near(m->models.models[0].tflops_reached, 0.5, 1e-12);
	synthetic_done(&s);
}

static void components_of_layers(void **state)
{
	assert_string_equal(sb_layer_component("patch_embed"), "patch_embed");
	assert_string_equal(sb_layer_component("model.pos_embed"), "position_embed");
	assert_string_equal(sb_layer_component("transformer_blocks.17"), "blocks");
	assert_string_equal(sb_layer_component("Block 3"), "blocks");
	assert_string_equal(sb_layer_component("norm"), "norm");
	assert_string_equal(sb_layer_component("proj_out"), "head");
	assert_string_equal(sb_layer_component("time_embedder"), "other");
	assert_true(sb_layer_is_attention("blocks.3.attn1"));
	assert_false(sb_layer_is_attention("blocks.3.attn1.to_q"));
	assert_false(sb_layer_is_attention("blocks.3"));
}

static void components_add_up_and_nested_layers_do_not_count_twice(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	double sum_s = 0;
	uint64_t t = 0;

	synthetic_open(&s);
	for (int pass = 0; pass < 2; pass++) {
		synthetic_stage(&s, t, t + 3 * MS, "patch_embed", STROBE_ROLE_LAYER);
		t += 3 * MS;
		for (int i = 0; i < 8; i++) {
			char name[32];

			snprintf(name, sizeof name, "blocks.%d", i);
			synthetic_begin(&s, t, name, STROBE_ROLE_LAYER);
			snprintf(name, sizeof name, "blocks.%d.attn", i);
			synthetic_stage(&s, t, t + MS, name, STROBE_ROLE_LAYER);
			synthetic_end(&s, t += (uint64_t)(2 + i) * MS);
		}
	}
	m = synthetic_model(&s, SECOND);
	assert_near(m->models.layers_total_s, 2 * (0.003 + 0.044), 1e-9);
	for (size_t i = 0; i < m->models.component_count; i++)
		sum_s += m->models.components[i].total_s;
	assert_near(sum_s, m->models.layers_total_s, 1e-12);
	assert_int_equal(m->models.block_count, 8);
	assert_near(m->models.block_mean_s, 0.0055, 1e-9);
	assert_near(m->models.block_std_s, 0.00244948974, 1e-9);
	assert_string_equal(m->models.layers[0].name, "blocks.7"); /* the slowest first */
	assert_near(m->models.attention_ratio, 16.0 / 94, 1e-9);
	synthetic_done(&s);
}

static void layers_with_gpu_spans_are_timed_there(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, MS, "conv_in", STROBE_ROLE_LAYER);
	sb_builder_gpu(s.b, &(struct sb_builder_gpu){ .name = sb_builder_name(s.b, "conv_in", NULL),
				    .kind = SB_GPU_ZONE,
				    .start_ns = 0,
				    .duration_ns = 40 * MS,
				    .launch_ns = UINT64_MAX });
	m = synthetic_model(&s, SECOND);
	assert_true(m->models.layers_on_gpu);
	assert_near(m->models.layers[0].total_s, 0.04, 1e-9);
	assert_near(m->models.layers[0].time.mean, 0.001, 1e-9); /* the CPU's own */
	synthetic_done(&s);
}

static void speedups_have_a_reading(void **state)
{
	assert_string_equal(sb_precision_reading(0.55, false), "slower, no gain on this device");
	assert_string_equal(sb_precision_reading(1.49, true), "CPU- or memory-bound");
	assert_string_equal(sb_precision_reading(1.5, true), "good GPU use");
	assert_string_equal(sb_precision_reading(2.0, true), "good GPU use");
	assert_string_equal(sb_precision_reading(2.01, true), "excellent tensor-core use");
	assert_string_equal(sb_precision_reading(2.01, false), "a large gain"); /* a CPU has none */
}

/* 45.23 against 28.45 ms is 1.59 times. */
static void variants_are_compared_with_the_first(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;

	synthetic_open(&s);
	for (int v = 0; v < 2; v++) {
		for (int i = 0; i < 7; i++) {
			synthetic_begin(&s, t, "forward", i < 2 ? STROBE_ROLE_WARMUP : STROBE_ROLE_ITERATION);
			sb_builder_attr_string(
				s.main, sb_builder_name(s.b, "variant", NULL), v ? "FP16" : "FP32");
			synthetic_end(&s, t += i < 2 ? SECOND : v ? 28450000 : 45230000);
		}
	}
	m = synthetic_model(&s, t);
	assert_int_equal(m->models.variant_count, 2);
	assert_string_equal(m->models.variants[0].name, "FP32");
	assert_int_equal(m->models.variants[1].time.count, 5);
	assert_int_equal(m->models.variants[1].warmup_count, 2);
	assert_near(m->models.variants[1].speedup, 45.23 / 28.45, 1e-9);
	assert_string_equal(m->models.variants[1].reading, "a good gain");
	assert_null(m->models.variants[0].reading);
	assert_non_null(finding(m, "precision_gain"));
	synthetic_done(&s);
}

static void variants_measured_elsewhere_come_as_events(void **state)
{
	struct strobe_attr slow[] = { { "variant", STROBE_TYPE_STRING, { .s = "eager" } },
		{ "mean_ms", STROBE_TYPE_FLOAT, { .f = 100 } }, { "std_ms", STROBE_TYPE_FLOAT, { .f = 2 } },
		{ "count", STROBE_TYPE_INT, { .i = 20 } } };
	struct strobe_attr fast[] = { { "variant", STROBE_TYPE_STRING, { .s = "compiled" } },
		{ "mean_ms", STROBE_TYPE_FLOAT, { .f = 40 } } };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_event(s.b, MS, "strobe.variant", 0, slow, 4);
	sb_builder_event(s.b, 2 * MS, "strobe.variant", 0, fast, 2);
	m = synthetic_model(&s, SECOND);
	assert_near(m->models.variants[0].time.mean, 0.1, 1e-12);
	assert_near(m->models.variants[0].time.std, 0.002, 1e-12);
	assert_int_equal(m->models.variants[0].time.count, 20);
	assert_near(m->models.variants[1].speedup, 2.5, 1e-12);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_are_written_short),
		cmocka_unit_test(models_are_listed_once_the_largest_first),
		cmocka_unit_test(components_of_layers),
		cmocka_unit_test(components_add_up_and_nested_layers_do_not_count_twice),
		cmocka_unit_test(layers_with_gpu_spans_are_timed_there),
		cmocka_unit_test(speedups_have_a_reading),
		cmocka_unit_test(variants_are_compared_with_the_first),
		cmocka_unit_test(variants_measured_elsewhere_come_as_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
