/* Predictions of runs with work at the same time, and of steps inside a section of their own name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compare/whatif.h"
#include "synthetic.h"

/* One video: a second of text, steps of half a second, a second of decoding. */
static uint64_t video(struct synthetic *s, struct sb_stream_writer *w, uint64_t t, int steps)
{
	sb_builder_begin(w, t, sb_builder_name(s->b, "generation", NULL));
	sb_builder_role(w, STROBE_ROLE_GENERATION);
	sb_builder_attr(w, sb_builder_name(s->b, "frames", NULL), 16);
	sb_builder_begin(w, t, sb_builder_name(s->b, "text_encode", NULL));
	sb_builder_end(w, t += SECOND, 0);
	for (int i = 0; i < steps; i++) {
		sb_builder_begin(w, t, sb_builder_name(s->b, "denoise", NULL));
		sb_builder_role(w, STROBE_ROLE_STEP);
		sb_builder_end(w, t += SECOND / 2, 0);
	}
	sb_builder_begin(w, t, sb_builder_name(s->b, "vae_decode", NULL));
	sb_builder_end(w, t += SECOND, 0);
	sb_builder_end(w, t, 0);
	return t;
}

static struct sb_whatif *predict(const struct sb_model *m, struct sb_facts **out_facts, const char *setting)
{
	struct sb_whatif *w;

	assert_int_equal(sb_facts_of_model(m, "run", out_facts), 0);
	assert_int_equal(sb_whatif(*out_facts, NULL, 0, &setting, 1, &w), 0);
	return w;
}

static void requests_at_the_same_time_are_counted_once(void **state)
{
	struct synthetic s;
	struct sb_facts *facts;
	struct sb_whatif *w;
	struct sb_model *m;
	uint64_t end_ns = 0;

	synthetic_open(&s);
	for (uint32_t i = 0; i < 4; i++)
		end_ns = video(&s, sb_builder_thread(s.b, 2001 + i, "worker"), SECOND, 4);
	assert_int_equal(end_ns, 5 * SECOND);
	m = synthetic_model(&s, end_ns);
	w = predict(m, &facts, "denoise.steps=2");
	assert_near(w->changes[0].now, 4, 0);
	assert_near(w->changes[0].base_s, 2, 0.02); /* of the run, not 8 of four threads */
	assert_near(w->predicted_s, 4, 0.02); /* as a rerun with two steps takes */
	assert_true(w->low_s <= w->predicted_s && w->high_s >= w->predicted_s);
	assert_near(w->fps, 16, 0.1); /* 64 frames in 4 s */
	assert_near(w->predicted_fps, 64 / 3.0, 0.2);
	assert_non_null(w->changes[0].note);
	sb_whatif_free(w);
	sb_facts_free(facts);
	w = predict(m, &facts, "denoise.steps=8");
	assert_near(w->predicted_s, 7, 0.02);
	sb_whatif_free(w);
	sb_facts_free(facts);
	synthetic_done(&s);
}

/* The second request comes while the first one runs: with half of the steps each ends a second earlier. */
static void requests_that_overlap_save_what_the_last_one_saves(void **state)
{
	struct synthetic s;
	struct sb_facts *facts;
	struct sb_whatif *w;
	struct sb_model *m;
	bool said = false;

	synthetic_open(&s);
	assert_int_equal(video(&s, sb_builder_thread(s.b, 2001, "worker"), 0, 4), 4 * SECOND);
	assert_int_equal(video(&s, sb_builder_thread(s.b, 2002, "worker"), 2 * SECOND, 4), 6 * SECOND);
	m = synthetic_model(&s, 6 * SECOND);
	assert_near(m->generations.in_turn_ratio, 0.5, 1e-9);
	w = predict(m, &facts, "denoise.steps=2");
	assert_near(w->predicted_s, 5, 1e-6); /* 0-3 s and 2-5 s, not 4 s */
	assert_near(w->fps, 32 / 6.0, 1e-3);
	assert_near(w->predicted_fps, 32 / 5.0, 1e-3);
	assert_true(w->high_s >= 6);
	sb_whatif_free(w);
	sb_facts_free(facts);
	for (size_t i = 0; i < m->strategies.count; i++)
		if (m->strategies.all[i].knob && !strcmp(m->strategies.all[i].knob, "steps")) {
			assert_near(m->strategies.all[i].gain_s, 2 * (1 - 3 / 4.0), 1e-6);
			said = true;
		}
	assert_true(said);
	synthetic_done(&s);
}

/* Two at a time, each on a thread of its own: the next one begins when one of them ends. */
static void requests_that_wait_for_others_save_in_turn(void **state)
{
	struct synthetic s;
	struct sb_facts *facts;
	struct sb_whatif *w;
	uint64_t end_ns[2] = { 0, SECOND / 2 };

	synthetic_open(&s);
	for (uint32_t i = 0; i < 6; i++)
		end_ns[i % 2] = video(&s, sb_builder_thread(s.b, 2001 + i, "worker"), end_ns[i % 2], 4);
	w = predict(synthetic_model(&s, end_ns[1]), &facts, "denoise.steps=2");
	assert_near(w->predicted_s, 9.5, 1e-6); /* of 12.5 s: three in turn */
	sb_whatif_free(w);
	sb_facts_free(facts);
	synthetic_done(&s);
}

static void one_after_the_other_adds_up(void **state)
{
	struct synthetic s;
	struct sb_facts *facts;
	struct sb_whatif *w;
	uint64_t end_ns = 0;

	synthetic_open(&s);
	for (int i = 0; i < 3; i++)
		end_ns = video(&s, s.main, end_ns, 4);
	w = predict(synthetic_model(&s, end_ns), &facts, "denoise.steps=2");
	assert_near(w->predicted_s, 9, 1e-6); /* of 12 s */
	assert_null(w->changes[0].note);
	sb_whatif_free(w);
	sb_facts_free(facts);
	synthetic_done(&s);
}

/* Killed in the fifth step: the four before it tell what one takes. */
static void a_killed_run_has_steps(void **state)
{
	struct synthetic s;
	struct sb_facts *facts;
	struct sb_whatif *w;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generation", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, SECOND, "denoise", 0);
	for (uint64_t i = 1; i < 5; i++)
		synthetic_stage(&s, i * SECOND, (i + 1) * SECOND, "step", STROBE_ROLE_STEP);
	synthetic_begin(&s, 5 * SECOND, "step", STROBE_ROLE_STEP);
	w = predict(synthetic_model(&s, 5 * SECOND + MS), &facts, "denoise.steps=2");
	assert_near(w->changes[0].now, 4, 0);
	assert_near(w->changes[0].each_s, 1, 1e-9);
	assert_non_null(w->changes[0].note);
	assert_true(w->saved_s <= w->wall_s);
	sb_whatif_free(w);
	sb_facts_free(facts);
	synthetic_done(&s);
}

/* Killed in its second video, between two steps: a video has as many steps as the first one had. */
static void what_a_kill_cut_off_does_not_lower_the_number_of_steps(void **state)
{
	struct synthetic s;
	struct sb_facts *facts;
	struct sb_whatif *w;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generation", STROBE_ROLE_GENERATION);
	for (uint64_t i = 0; i < 4; i++)
		synthetic_stage(&s, i * SECOND, (i + 1) * SECOND, "denoise", STROBE_ROLE_STEP);
	synthetic_end(&s, 4 * SECOND);
	synthetic_begin(&s, 4 * SECOND, "generation", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 4 * SECOND, 5 * SECOND, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(&s, 5 * SECOND, 6 * SECOND, "denoise", STROBE_ROLE_STEP);
	w = predict(synthetic_model(&s, 6 * SECOND), &facts, "denoise.steps=2");
	assert_near(w->changes[0].now, 4, 0);
	assert_true(w->saved_s <= w->wall_s);
	sb_whatif_free(w);
	sb_facts_free(facts);
	synthetic_done(&s);
}

/* A worker's stage beside the main thread's: the run may not wait for it. */
static void another_thread_may_change_nothing(void **state)
{
	struct synthetic s;
	struct sb_stream_writer *worker;
	struct sb_facts *facts;
	struct sb_whatif *w;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 10 * SECOND, "denoise", 0);
	worker = sb_builder_thread(s.b, 2001, "worker");
	sb_builder_begin(worker, 0, sb_builder_name(s.b, "read", NULL));
	sb_builder_attr(worker, sb_builder_name(s.b, "frames", NULL), 100);
	sb_builder_end(worker, 8 * SECOND, 0);
	w = predict(synthetic_model(&s, 10 * SECOND), &facts, "read.frames=50");
	assert_near(w->high_s, 10 * (1 + w->noise_ratio), 1e-6);
	assert_true(w->saved_s <= 8);
	sb_whatif_free(w);
	sb_facts_free(facts);
	synthetic_done(&s);
}

/* with strobe.section("denoise"): for … in strobe.steps(…, name="denoise") */
static void steps_inside_a_section_of_their_name_are_a_stage(void **state)
{
	struct synthetic s;
	struct sb_facts *facts;
	struct sb_whatif *w;
	struct sb_model *m;
	const struct sb_stage *outer, *steps;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "generation", STROBE_ROLE_GENERATION);
	synthetic_begin(&s, 0, "denoise", 0);
	for (uint64_t i = 0; i < 4; i++)
		synthetic_stage(&s, (2 * i + 1) * SECOND, (2 * i + 2) * SECOND, "denoise", STROBE_ROLE_STEP);
	synthetic_end(&s, 10 * SECOND);
	synthetic_end(&s, 10 * SECOND);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->stages.stage_count, 3);
	outer = &m->stages.stages[1];
	steps = &m->stages.stages[2];
	assert_string_equal(outer->name, "denoise");
	assert_int_equal(outer->role, 0);
	assert_int_equal(outer->recursive_count, 0);
	assert_near(outer->self_s, 6, 1e-6);
	assert_string_equal(steps->name, "denoise");
	assert_int_equal(steps->role, STROBE_ROLE_STEP);
	assert_int_equal(steps->parent, 1);
	assert_int_equal(steps->count, 4);
	assert_near(steps->total_s, 4, 1e-6);
	w = predict(m, &facts, "denoise.steps=2");
	assert_near(w->changes[0].now, 4, 0);
	assert_near(w->predicted_s, 8, 1e-6);
	sb_whatif_free(w);
	sb_facts_free(facts);
	synthetic_done(&s);
}

/* A section that calls itself, and steps that hold steps, stay one stage. */
static void the_same_role_inside_itself_is_recursion(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "denoise", STROBE_ROLE_STEP);
	synthetic_begin(&s, SECOND, "denoise", STROBE_ROLE_STEP);
	synthetic_stage(&s, SECOND, 2 * SECOND, "denoise", 0);
	synthetic_end(&s, 2 * SECOND);
	synthetic_end(&s, 4 * SECOND);
	m = synthetic_model(&s, 4 * SECOND);
	assert_int_equal(m->stages.stage_count, 1);
	assert_int_equal(m->stages.stages[0].recursive_count, 2);
	assert_near(m->stages.stages[0].total_s, 4, 1e-6);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_at_the_same_time_are_counted_once),
		cmocka_unit_test(requests_that_overlap_save_what_the_last_one_saves),
		cmocka_unit_test(requests_that_wait_for_others_save_in_turn),
		cmocka_unit_test(a_killed_run_has_steps),
		cmocka_unit_test(what_a_kill_cut_off_does_not_lower_the_number_of_steps),
		cmocka_unit_test(one_after_the_other_adds_up),
		cmocka_unit_test(another_thread_may_change_nothing),
		cmocka_unit_test(steps_inside_a_section_of_their_name_are_a_stage),
		cmocka_unit_test(the_same_role_inside_itself_is_recursion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
