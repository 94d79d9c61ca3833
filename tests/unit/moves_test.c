/* Stages in which weights move between host and GPU: what bounds them, by counters, by a trace, and by their zones alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

/* Readings of one GPU every 100 ms: idle while weights move, at work else. */
struct readings {
	double moving, working; /* SM percent */
	double tensor; /* of the work */
};

/* A decode of a second that fetches its weights in the first 0.6 s. */
#define FETCHED (600 * MS)
#define DECODED (1000 * MS)

static void decode_zones(struct synthetic *s, uint64_t at)
{
	synthetic_begin(s, at, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_begin(s, at, "offload:vae", STROBE_ROLE_OFFLOAD);
	synthetic_end(s, at + FETCHED);
	synthetic_end(s, at + DECODED);
}

static void count(struct synthetic *s, uint64_t every_ns, uint64_t to_ns, struct readings r)
{
	static const char *const columns[] = { "sm_active_percent", "tensor_active_percent" };
	uint32_t gpu = synthetic_gpu(s, 0), schema = sb_builder_schema(s->b, "gpu_counters", 0, columns, 2);

	for (uint64_t t = 0; t <= to_ns; t += every_ns) {
		uint64_t at = t % SECOND ? t % SECOND : SECOND; /* in a decode that begins with each second */
		double moved = at <= FETCHED ? 1
			       : at - every_ns >= FETCHED
				       ? 0
				       : (double)(FETCHED + every_ns - at) / (double)every_ns;
		double values[] = { moved * r.moving + (1 - moved) * r.working, (1 - moved) * r.tensor };

		synthetic_gpu_sample(s, gpu, t, 1000, 50, 300);
		sb_builder_sample(s->b, schema, t, values, 2);
	}
}

static double share_of(const struct sb_stage_work *w, const char *bound)
{
	for (size_t i = 0; i < w->bound_count; i++)
		if (!strcmp(w->bounds[i].bound, bound))
			return w->bounds[i].ratio;
	return 0;
}

static void processors_that_idle_while_weights_move_wait_for_copies(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	count(&s, 100 * MS, 2 * SECOND, (struct readings){ 3, 95, 80 });
	decode_zones(&s, 0);
	decode_zones(&s, SECOND);
	synthetic_model(&s, 2 * SECOND);
	w = &sb_model_stage(s.model, "vae_decode")->work;
	assert_string_equal(w->bound_basis, "counters");
	assert_string_equal(w->bound, "copies and tensor");
	assert_near(share_of(w, "copies"), 0.6 * 0.97, 0.01); /* the processors worked for 3 % of it */
	assert_near(share_of(w, "tensor"), 0.4, 1e-6);
	assert_string_equal(sb_model_stage(s.model, "offload:vae")->work.bound, "copies");
	synthetic_done(&s);
}

/* One reading holds the move and the work: its mean is that of neither. */
static void a_reading_of_both_is_divided(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	count(&s, SECOND, 3 * SECOND, (struct readings){ 0, 90, 80 }); /* means of 36 and 32 % */
	for (uint64_t i = 0; i < 3; i++)
		decode_zones(&s, i * SECOND);
	synthetic_model(&s, 3 * SECOND);
	w = &sb_model_stage(s.model, "vae_decode")->work;
	assert_near(share_of(w, "copies"), 0.6, 1e-6);
	assert_near(share_of(w, "tensor"), 0.4, 1e-6);
	assert_near(share_of(w, "launch"), 0, 1e-6);
	synthetic_done(&s);
}

/* Weights that are fetched beside the work keep nobody waiting. */
static void moves_beside_the_work_change_nothing(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	count(&s, 100 * MS, 2 * SECOND, (struct readings){ 95, 95, 0 });
	decode_zones(&s, 0);
	decode_zones(&s, SECOND);
	synthetic_model(&s, 2 * SECOND);
	w = &sb_model_stage(s.model, "vae_decode")->work;
	assert_string_equal(w->bound, "SM");
	assert_true(share_of(w, "copies") < 0.05);
	synthetic_done(&s);
}

static void without_moves_idle_processors_are_bound_by_launches(void **state)
{
	const struct sb_stage_work *w;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	count(&s, 100 * MS, 2 * SECOND, (struct readings){ 3, 3, 1 });
	synthetic_stage(&s, 0, 2 * SECOND, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_model(&s, 2 * SECOND);
	w = &sb_model_stage(s.model, "vae_decode")->work;
	assert_string_equal(w->bound, "launch");
	assert_int_equal(w->bound_count, 1);
	synthetic_done(&s);
}

/* ---- a trace ---- */

static void copy(struct synthetic *s, uint64_t t_ns, uint64_t took_ns)
{
	sb_builder_gpu(s->b, &(struct sb_builder_gpu){ .name = sb_builder_name(s->b, "Memcpy HtoD", NULL),
				     .kind = SB_GPU_COPY_H2D,
				     .start_ns = t_ns,
				     .duration_ns = took_ns,
				     .launch_ns = t_ns,
				     .launch_tid = 1000,
				     .bytes = 16 * MIB,
				     .stream = 7 });
}

/* Weights that are not pinned come in pieces: the link is used for a sixth of the time, and the rest are gaps. */
static void traced_decode(struct synthetic *s, bool offloads)
{
	synthetic_gpu_trace(s, 0, DECODED);
	for (uint64_t t = 0; t < FETCHED; t += 6 * MS)
		copy(s, t, MS);
	for (uint64_t t = FETCHED; t < DECODED; t += MS)
		synthetic_kernel(s, "elementwise_kernel", t, MS / 2);
	if (offloads)
		decode_zones(s, 0);
	else
		synthetic_stage(s, 0, DECODED, "vae_decode", STROBE_ROLE_VAE_DECODE);
	synthetic_model(s, SECOND);
}

static void gaps_while_weights_move_are_those_of_copies(void **state)
{
	const struct sb_stage *decode;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	traced_decode(&s, true);
	decode = sb_model_stage(s.model, "vae_decode");
	assert_near(decode->traced.moves_idle_s, 0.5, 0.01);
	assert_string_equal(decode->work.bound, "copies");
	assert_string_equal(decode->work.bound_basis, "trace");
	synthetic_done(&s);
}

static void gaps_between_other_copies_are_the_hosts(void **state)
{
	const struct sb_stage *decode;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	traced_decode(&s, false);
	decode = sb_model_stage(s.model, "vae_decode");
	assert_near(decode->traced.moves_idle_s, 0, 1e-9);
	assert_string_equal(decode->work.bound, "host");
	synthetic_done(&s);
}

/* ---- neither ---- */

static void gpu_span(
	struct synthetic *s, const char *name, uint64_t launch_ns, uint64_t begin_ns, uint64_t took_ns)
{
	sb_builder_gpu(s->b, &(struct sb_builder_gpu){ .name = sb_builder_name(s->b, name, NULL),
				     .kind = SB_GPU_ZONE,
				     .start_ns = begin_ns,
				     .duration_ns = took_ns,
				     .launch_ns = launch_ns,
				     .launch_tid = 1000,
				     .stream = 7 });
}

static void zones_tell_where_nothing_else_does(void **state)
{
	const struct sb_stage *decode, *step;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	decode_zones(&s, 0);
	synthetic_begin(&s, 2 * SECOND, "step", STROBE_ROLE_STEP); /* moves take a tenth of it */
	synthetic_stage(&s, 2 * SECOND, 2 * SECOND + 100 * MS, "offload:net", STROBE_ROLE_OFFLOAD);
	synthetic_end(&s, 3 * SECOND);
	synthetic_model(&s, 3 * SECOND);
	decode = sb_model_stage(s.model, "vae_decode");
	step = sb_model_stage(s.model, "step");
	assert_near(decode->judged.moves_s, 0.6, 1e-9);
	assert_string_equal(decode->work.bound, "copies");
	assert_string_equal(decode->work.bound_basis, "zones");
	assert_near(step->judged.moves_s, 0.1, 1e-9);
	assert_null(step->work.bound);
	synthetic_done(&s);
}

/* `.to("cpu")` waits for the steps that the GPU is still at: that is no time in which weights move. */
static void a_move_that_waits_for_earlier_work_is_as_long_as_on_the_gpu(void **state)
{
	const struct sb_stage *decode;
	struct synthetic s;

	(void)state;
	synthetic_open(&s);
	gpu_span(&s, "denoise", MS, MS, 500 * MS);
	gpu_span(&s, "vae_decode", 11 * MS, 501 * MS, 500 * MS);
	gpu_span(&s, "offload:vae", 12 * MS, 501 * MS, 100 * MS);
	synthetic_stage(&s, 0, 10 * MS, "denoise", STROBE_ROLE_DENOISE);
	decode_zones(&s, 10 * MS);
	synthetic_model(&s, 2 * SECOND);
	decode = sb_model_stage(s.model, "vae_decode");
	assert_near(decode->judged.moves_s, 0.1, 1e-9);
	assert_null(decode->work.bound);
	synthetic_done(&s);
}

/* Of the run as of its stage: weights that come in pieces leave the GPU idle between short kernels. */
static void a_traced_run_that_waits_for_weights_is_bound_by_copies(void **state)
{
	static const struct {
		bool offloads;
		const char *bound;
	} runs[] = { { true, "copies" }, { false, "cpu_launch" } };

	(void)state;
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		struct synthetic s;

		synthetic_open(&s);
		synthetic_gpu_trace(&s, 0, DECODED);
		for (uint64_t t = 0; t < FETCHED; t += 6 * MS)
			copy(&s, t, MS);
		for (uint64_t t = FETCHED; t < DECODED; t += MS / 50)
			synthetic_kernel(&s, "elementwise_kernel", t, MS / 125);
		if (runs[i].offloads)
			decode_zones(&s, 0);
		else
			synthetic_stage(&s, 0, DECODED, "vae_decode", STROBE_ROLE_VAE_DECODE);
		synthetic_model(&s, SECOND);
		assert_string_equal(s.model->summary.bound_by, runs[i].bound);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processors_that_idle_while_weights_move_wait_for_copies),
		cmocka_unit_test(a_reading_of_both_is_divided),
		cmocka_unit_test(moves_beside_the_work_change_nothing),
		cmocka_unit_test(without_moves_idle_processors_are_bound_by_launches),
		cmocka_unit_test(gaps_while_weights_move_are_those_of_copies),
		cmocka_unit_test(gaps_between_other_copies_are_the_hosts),
		cmocka_unit_test(a_traced_run_that_waits_for_weights_is_bound_by_copies),
		cmocka_unit_test(zones_tell_where_nothing_else_does),
		cmocka_unit_test(a_move_that_waits_for_earlier_work_is_as_long_as_on_the_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
