/* Operations of model calls, given to stages: what was not counted, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "report/text.h"
#include "synthetic.h"

/* A call of a model whose shape was counted. */
static void call(struct synthetic *s, uint64_t begin_ns, uint64_t end_ns)
{
	synthetic_begin(s, begin_ns, "Net", 0);
	sb_builder_attr(s->main, sb_builder_name(s->b, "flops_shape", NULL), 1);
	synthetic_end(s, end_ns);
}

static void count_shape(struct synthetic *s)
{
	const struct strobe_attr attrs[] = { INT("shape", 1), TEXT("precision", "bf16"),
		{ "flops", STROBE_TYPE_FLOAT, { .f = 200e12 } } };

	sb_builder_event(s->b, 0, SB_EVENT_FLOPS, 0, attrs, 3);
}

/* A VAE of another framework has methods whose shapes are not known. One that calls its decoder as a model has one. */
static void a_vae_that_is_not_counted_says_why(void **state)
{
	const struct sb_stage_work *decode, *encode, *pipeline;
	struct sb_model *m;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	count_shape(&s);
	synthetic_begin(&s, 0, "WanPipeline", 0);
	call(&s, 0, SECOND);
	synthetic_stage(&s, SECOND, SECOND + SECOND / 2, "vae_decode", 0);
	synthetic_begin(&s, SECOND + SECOND / 2, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_attr(&s, "latent_frames", 3);
	synthetic_end(&s, 2 * SECOND);
	synthetic_end(&s, 3 * SECOND);
	synthetic_begin(&s, 3 * SECOND, "vae_encode", 0);
	call(&s, 3 * SECOND, 4 * SECOND);
	synthetic_end(&s, 4 * SECOND);
	m = synthetic_model(&s, 4 * SECOND);
	decode = &sb_model_stage(m, "vae_decode")->work;
	encode = &sb_model_stage(m, "vae_encode")->work;
	pipeline = &sb_model_stage(m, "WanPipeline")->work;
	assert_int_equal(decode->uncounted_count, 2);
	assert_true(isnan(decode->flops));
	assert_non_null(strstr(decode->why, "only calls of models and of diffusers' VAEs"));
	assert_int_equal(encode->uncounted_count, 0);
	assert_true(encode->flops > 0);
	assert_int_equal(pipeline->uncounted_count, 2);
	assert_true(isnan(pipeline->tflops)); /* its time holds operations that were not counted */
	synthetic_done(&s);
}

/* "Plain" three times says nothing, nor does a list that is cut without a word. */
static void stages_are_told_apart_and_those_left_out_are_counted(void **state)
{
	static const char *const around[] = { "bf16", "int8", "first", "second", "third", "fourth" };
	struct sb_buf text = { 0 };
	struct sb_model *m;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	count_shape(&s);
	for (uint64_t i = 0; i < 6; i++) {
		synthetic_begin(&s, i * SECOND, around[i], 0);
		call(&s, i * SECOND, (i + 1) * SECOND);
		synthetic_end(&s, (i + 1) * SECOND);
	}
	m = synthetic_model(&s, 6 * SECOND);
	assert_int_equal(sb_report_text(m, &(struct sb_text_options){ .columns = 100 }, &text), 0);
	assert_non_null(strstr(sb_buf_text(&text), "\n    bf16/Net: 200 TFLOP"));
	assert_non_null(strstr(sb_buf_text(&text), "\n    int8/Net: 200 TFLOP"));
	assert_null(strstr(sb_buf_text(&text), "\n    Net: "));
	assert_non_null(strstr(sb_buf_text(&text), "\n    … and 2 more\n"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vae_that_is_not_counted_says_why),
		cmocka_unit_test(stages_are_told_apart_and_those_left_out_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
