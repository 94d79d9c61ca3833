/* Weights that move inside generations: whether they would fit, and whether the GPU computes meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <math.h>
#include <string.h>

enum { VIDEOS = 3, STEPS = 2, BLOCKS = 8 };

/* Each step fetches and drops eight blocks of `block_bytes`, 50 ms each way, and takes a second; the GPU has 24.6 GB. */
static void moving(struct synthetic *s, int64_t block_bytes, double used_mb, double utilization)
{
	uint32_t schema;

	synthetic_open(s);
	schema = synthetic_gpu(s, 0);
	for (uint64_t t = 0; t <= VIDEOS * STEPS; t++)
		synthetic_gpu_sample(s, schema, t * SECOND, used_mb, utilization, 300);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, i * STEPS * SECOND, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++) {
			uint64_t begin = (i * STEPS + k) * SECOND;

			synthetic_begin(s, begin, "step", STROBE_ROLE_STEP);
			for (uint64_t m = 0; m < 2 * BLOCKS; m++) {
				synthetic_begin(s, begin + m * 50 * MS, "offload:Block", STROBE_ROLE_OFFLOAD);
				synthetic_attr(s, "bytes", block_bytes);
				synthetic_end(s, begin + (m + 1) * 50 * MS);
			}
			synthetic_end(s, begin + SECOND);
		}
		synthetic_end(s, (i + 1) * STEPS * SECOND);
	}
}

static bool is_said(int64_t block_bytes, double used_mb, double utilization, const char *id)
{
	struct synthetic s;
	bool said;

	moving(&s, block_bytes, used_mb, utilization);
	said = finding(synthetic_model(&s, VIDEOS * STEPS * SECOND), id) != NULL;
	synthetic_done(&s);
	return said;
}

/* 4 GB in blocks, 20 GB free. */
static void a_model_that_fits_need_not_move(void **state)
{
	assert_true(is_said(500000000, 4000, 12, "overswap"));
	assert_false(is_said(500000000, 4000, 12, "offload_serial"));
}

/* 24 GB in blocks of 3: each block would fit into what is free, the model would not. */
static void blocks_of_a_model_that_does_not_fit_must_move(void **state)
{
	assert_false(is_said(3000000000, 4000, 12, "overswap"));
	assert_true(is_said(3000000000, 4000, 12, "offload_serial"));
}

/* Four fifths of the time moves weights, and in three fifths the GPU computes: on a stream of their own they cost what is left. */
static void weights_that_move_while_the_gpu_computes_cost_what_it_idles(void **state)
{
	const struct {
		double utilization, saves_s;
		const char *basis;
	} cases[] = { { 12, 3.2, "measured" }, { 60, 1.6, "bounded" } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct synthetic s;
		const struct sb_advice *f;

		moving(&s, 500000000, 4000, cases[i].utilization);
		f = finding(synthetic_model(&s, VIDEOS * STEPS * SECOND), "overswap");
		assert_non_null(f);
		assert_true(fabs(f->saves_s - cases[i].saves_s) < 0.01);
		assert_string_equal(f->basis, cases[i].basis);
		synthetic_done(&s);
	}
}

static void nothing_is_said_where_the_gpu_computes_meanwhile(void **state)
{
	assert_false(is_said(3000000000, 4000, 85, "offload_serial"));
	assert_false(is_said(3000000000, 4000, 85, "overswap"));
}

static bool explains(const struct sb_advice *f, const char *id)
{
	for (size_t i = 0; f && i < f->explain_count; i++)
		if (!strcmp(f->explains[i], id))
			return true;
	return false;
}

/* As model offload does it: fetching one model first sends the one before it away. */
static void a_move_inside_another_counts_once(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;
	uint32_t schema;

	synthetic_open(&s);
	schema = synthetic_gpu(&s, 0);
	for (uint64_t i = 0; i < 4; i++) {
		synthetic_gpu_sample(&s, schema, i * SECOND, 4000, 12, 300);
		synthetic_begin(&s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		synthetic_begin(&s, i * SECOND + 100 * MS, "offload:vae", STROBE_ROLE_OFFLOAD);
		synthetic_stage(&s, i * SECOND + 100 * MS, i * SECOND + 480 * MS, "offload:transformer",
			STROBE_ROLE_OFFLOAD);
		synthetic_end(&s, i * SECOND + 500 * MS);
		synthetic_end(&s, (i + 1) * SECOND);
	}
	f = finding(synthetic_model(&s, 4 * SECOND), "overswap");
	assert_non_null(f);
	assert_string_equal(f->stage, "offload:transformer");
	assert_string_equal(f->issue, "weights move for 40 % of the generations though they would fit");
	assert_near(f->saves_s, 3 * 0.4, 1e-6); /* of the three warm ones */
	assert_true(explains(f, "offload"));
	assert_null(strstr(f->evidence, "moving weights"));
	synthetic_done(&s);
}

/* The same model is fetched in two stages of each video, and was sent away once before the first. */
static void all_moves_of_a_model_are_one_strategy(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	size_t count = 0;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "offload:transformer", STROBE_ROLE_OFFLOAD);
	for (uint64_t i = 1; i < 5; i++) {
		synthetic_begin(&s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < 2; k++) {
			uint64_t at = i * SECOND + k * 500 * MS;

			synthetic_begin(&s, at, k ? "vae_decode" : "transformer", STROBE_ROLE_FORWARD);
			synthetic_stage(&s, at, at + 200 * MS, "offload:transformer", STROBE_ROLE_OFFLOAD);
			synthetic_end(&s, at + 500 * MS);
		}
		synthetic_end(&s, (i + 1) * SECOND);
	}
	m = synthetic_model(&s, 5 * SECOND);
	for (size_t i = 0; i < m->strategies.count; i++) {
		if (strcmp(m->strategies.all[i].stage_name, "offload:transformer") != 0)
			continue;
		assert_near(m->strategies.all[i].gain_s, 4 * 2 * 0.2, 1e-6);
		count++;
	}
	assert_int_equal(count, 1);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_that_fits_need_not_move),
		cmocka_unit_test(blocks_of_a_model_that_does_not_fit_must_move),
		cmocka_unit_test(weights_that_move_while_the_gpu_computes_cost_what_it_idles),
		cmocka_unit_test(nothing_is_said_where_the_gpu_computes_meanwhile),
		cmocka_unit_test(a_move_inside_another_counts_once),
		cmocka_unit_test(all_moves_of_a_model_are_one_strategy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
