/* Models that write tokens: time to the first, tokens a second, prefill and decode, input frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/summary.h"
#include "synthetic.h"

/* A call of 10 s: 1 s vision in 3 s of prefill, 3 decodes of 1 s, the first token after 4 s. */
static void call(struct synthetic *s, uint64_t begin_s, int64_t batch)
{
	synthetic_begin(s, begin_s * SECOND, "Tiny.generate", STROBE_ROLE_GENERATION);
	synthetic_begin(s, begin_s * SECOND, "prefill", 0);
	synthetic_attr(s, "tokens", 30 * batch);
	synthetic_begin(s, begin_s * SECOND, "vision_encoder", 0);
	synthetic_end(s, (begin_s + 1) * SECOND);
	synthetic_end(s, (begin_s + 3) * SECOND);
	for (uint64_t i = 0; i < 3; i++) {
		synthetic_begin(s, (begin_s + 4 + 2 * i) * SECOND, "decode", 0);
		synthetic_attr(s, "tokens", batch);
		synthetic_end(s, (begin_s + 5 + 2 * i) * SECOND);
	}
	synthetic_attr(s, "new_tokens", 4 * batch);
	synthetic_attr(s, "time_to_first_token_s", 4);
	synthetic_attr(s, "time_after_first_token_s", 6);
	synthetic_attr(s, "input_frames", 8 * batch);
	synthetic_end(s, (begin_s + 10) * SECOND);
}

static void prefill_and_decode_are_told_apart(void **state)
{
	struct synthetic s;
	struct sb_chat *c;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	call(&s, 0, 1);
	call(&s, 20, 3);
	m = synthetic_model(&s, 100 * SECOND);
	assert_int_equal(m->chat.count, 1);
	c = &m->chat.all[0];
	assert_string_equal(c->stage, "Tiny.generate");
	assert_int_equal(c->count, 2);
	assert_near(c->new_tokens, 16, 0);
	assert_near(c->first_token_s, 4, 1e-9);
	assert_near(c->tokens_per_s, 12 / 12.0, 1e-9); /* 3 + 9 behind the first, in 6 s of each call */
	assert_near(c->prompt_tokens, 120, 0);
	assert_near(c->prefill_s, 6, 1e-6);
	assert_near(c->prefill_tokens_per_s, 20, 1e-6);
	assert_near(c->decode_s, 6, 1e-6);
	assert_near(c->vision_s, 2, 1e-6);
	assert_near(c->input_frames, 32, 0);
	assert_near(c->input_frames_per_s, 1.6, 1e-6);
	synthetic_done(&s);
}

/* It takes 30 s and fails: no token, no time to one, and its frames were not read. */
static void a_call_that_fails_before_its_first_token_slows_nothing(void **state)
{
	struct synthetic s;
	struct sb_chat *c;

	(void)state;
	synthetic_open(&s);
	call(&s, 0, 1);
	synthetic_begin(&s, 20 * SECOND, "Tiny.generate", STROBE_ROLE_GENERATION);
	synthetic_end(&s, 50 * SECOND);
	call(&s, 60, 1);
	c = &synthetic_model(&s, 100 * SECOND)->chat.all[0];
	assert_int_equal(c->count, 3);
	assert_near(c->tokens_per_s, 6 / 12.0, 1e-9);
	assert_near(c->input_frames_per_s, 16 / 20.0, 1e-9);
	synthetic_done(&s);
}

static void the_first_screen_has_them_in_one_line(void **state)
{
	struct sb_buf text = { 0 };
	struct synthetic s;
	struct sb_model *m;

	(void)state;
	synthetic_open(&s);
	call(&s, 0, 1);
	m = synthetic_model(&s, 100 * SECOND);
	assert_int_equal(sb_report_summary(m, NULL, &text), 0);
	assert_non_null(strstr(sb_buf_text(&text), "\n4 new tokens; first token after 4.00 s, then 0.50 "
						   "tokens/s; 8 input frames (0.80 frames/s)\n"));
	sb_buf_done(&text);
	synthetic_done(&s);
}

static void a_run_without_tokens_has_no_row(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_begin(&s, 0, "generation", STROBE_ROLE_GENERATION);
	synthetic_end(&s, 10 * SECOND);
	assert_int_equal(synthetic_model(&s, 100 * SECOND)->chat.count, 0);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_screen_has_them_in_one_line),
		cmocka_unit_test(prefill_and_decode_are_told_apart),
		cmocka_unit_test(a_call_that_fails_before_its_first_token_slows_nothing),
		cmocka_unit_test(a_run_without_tokens_has_no_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
