/* Steps that a cache served, as its hits and misses tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "format/wire.h"
#include "synthetic.h"

#define VIDEOS 4
#define STEPS 8

/* As a program's thread records it: inside its own zones. */
static void look_up(struct synthetic *s, uint64_t t_ns, const char *cache, bool hit)
{
	double none = NAN;
	uint64_t *at = sb_stream_writer_long(s->main, SB_CACHE,
		sb_builder_name(s->b, cache, NULL) | (uint64_t)(hit ? STROBE_CACHE_HIT : STROBE_CACHE_MISS)
							     << 20,
		7);

	assert_non_null(at);
	at[0] = sb_builder_ticks_at(s->b, t_ns);
	at[1] = 1;
	at[2] = (uint64_t)-1;
	memcpy(&at[3], &none, sizeof none);
	memcpy(&at[4], &none, sizeof none);
	memcpy(&at[5], &none, sizeof none);
	at[6] = (uint64_t)-1;
}

/* Videos whose every second step hits the cache "blocks"; a hit takes hit_ns, a miss 10 ms. Steps 1 to 3 of the first video are
 * traced: the miss among them keeps the GPU busy all the while. */
static struct sb_model *cached_videos(struct synthetic *s, uint64_t hit_ns, uint64_t slow_hit_ns)
{
	uint64_t at = 0, traced_ns = 0;

	synthetic_open(s);
	sb_builder_meta_string(s->b, SB_META_SETTING, "gpu_trace", "steps:3");
	for (int video = 0; video < VIDEOS; video++) {
		synthetic_begin(s, at, "video", STROBE_ROLE_GENERATION);
		for (int i = 0; i < STEPS; i++) {
			uint64_t ns = i % 2 ? hit_ns : 10 * MS;

			ns = video == 2 && i == 5 ? slow_hit_ns : ns;
			synthetic_begin(s, at, "denoise", STROBE_ROLE_STEP);
			synthetic_attr(s, "step", i);
			look_up(s, at + MS / 100, "blocks", i % 2);
			look_up(s, at + MS / 100, "prompt", true);
			if (!video && i == 2)
				sb_builder_gpu(s->b,
					&(struct sb_builder_gpu){ .name = sb_builder_name(s->b, "gemm", NULL),
						.kind = SB_GPU_KERNEL,
						.start_ns = at + MS / 10,
						.duration_ns = ns - MS / 5,
						.launch_ns = at + MS / 20,
						.launch_tid = 1000,
						.stream = 7 });
			traced_ns = !video && i == 1 ? at + ns / 2 : traced_ns;
			synthetic_end(s, at += ns);
			if (!video && i == 3)
				synthetic_gpu_trace(s, traced_ns, at + MS / 100);
		}
		synthetic_end(s, at);
	}
	return synthetic_model(s, at);
}

static void a_step_with_hits_alone_is_served_by_its_cache(void **state)
{
	struct synthetic s;
	struct sb_model *m = cached_videos(&s, MS, MS);

	assert_int_equal(m->diffusion.cached_steps, VIDEOS * STEPS / 2);
	assert_near(m->diffusion.cached_step.mean, 0.001, 1e-9);
	assert_near(m->diffusion.warm_step.mean, 0.010, 1e-9);
	assert_int_equal(m->diffusion.slow_step_total, 0); /* a miss is no slow step */
	synthetic_done(&s);
}

static void a_slow_hit_is_slow_among_hits(void **state)
{
	struct synthetic s;
	struct sb_model *m = cached_videos(&s, MS, 5 * MS);

	assert_int_equal(m->diffusion.slow_step_total, 1);
	assert_int_equal(m->diffusion.slow_steps[0].step, 5);
	assert_near(m->diffusion.slow_steps[0].peer_s, 0.001, 1e-9);
	synthetic_done(&s);
}

/* As of keys and values, or of a prompt: its steps do the same work. */
static void a_cache_whose_hits_save_nothing_serves_no_step(void **state)
{
	struct synthetic s;
	struct sb_model *m = cached_videos(&s, 9 * MS, 9 * MS);

	assert_int_equal(m->diffusion.cached_steps, 0);
	synthetic_done(&s);
}

/* Two hits and a miss of 10 ms, all of it the GPU's work: half of all steps are misses, the mean would show gaps. */
static void traced_steps_are_weighed_by_steps_of_the_same_mix(void **state)
{
	struct synthetic s;
	struct sb_model *m = cached_videos(&s, MS, MS);

	assert_int_equal(m->diffusion.traced_steps, 3);
	assert_int_equal(m->diffusion.traced_cached_steps, 2);
	assert_null(finding(m, "gpu_gaps"));
	synthetic_done(&s);
}

/* The GPU is busy in steps that compute, and has little to do in those that a cache serves: these bound no step. */
static void steps_that_a_cache_serves_do_not_tell_what_bounds_the_others(void **state)
{
	const struct sb_stage *stage;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	synthetic_gpu_trace(&s, 110 * MS, 590 * MS);
	for (uint64_t i = 0; i < 6; i++) {
		bool served = i == 3 || i == 4;

		synthetic_begin(&s, i * 100 * MS, "step", STROBE_ROLE_STEP);
		if (served)
			synthetic_attr(&s, "cached", 1);
		synthetic_end(&s, (i + 1) * 100 * MS);
		synthetic_kernel(&s, "gemm", i * 100 * MS + 20 * MS, (served ? 10 : 75) * MS);
	}
	synthetic_model(&s, 600 * MS);
	stage = sb_model_stage(s.model, "step");
	assert_true(stage->traced_warm);
	assert_int_equal(stage->traced.count, 1); /* the trace began in step 1 and ended in step 5 */
	assert_near(stage->traced.busy_s, 0.075, 1e-9);
	assert_null(stage->work.bound);
	assert_non_null(strstr(stage->work.bound_why, "75 % of its traced time"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_with_hits_alone_is_served_by_its_cache),
		cmocka_unit_test(a_slow_hit_is_slow_among_hits),
		cmocka_unit_test(a_cache_whose_hits_save_nothing_serves_no_step),
		cmocka_unit_test(traced_steps_are_weighed_by_steps_of_the_same_mix),
		cmocka_unit_test(steps_that_a_cache_serves_do_not_tell_what_bounds_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
