/* Streams and caches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/text.h"
#include "synthetic.h"

static void batches_give_rates_and_drops_a_share(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i <= 10; i++)
		sb_builder_stream(s.b, i * 200 * MS, &(struct strobe_batch){ 4, 5 + (double)i, NAN, 0.5 });
	m = synthetic_model(&s, 3 * SECOND);
	assert_int_equal(m->streaming.batches, 11);
	assert_int_equal(m->streaming.frames, 44);
	assert_near(m->streaming.fps, 20, 1e-9); /* 40 frames in 2 s: the first batch was made before */
	assert_near(m->streaming.bps, 5, 1e-9);
	assert_near(m->streaming.encode_ms.mean, 10, 1e-9);
	assert_int_equal(m->streaming.network_ms.count, 0);
	assert_near(m->streaming.dropped_ratio, 0, 0);
	assert_int_equal(m->streaming.dropped_frames, -1);
	synthetic_done(&s);
}

/* A program that hands in its batches after the fact: their moments say nothing of their rate. */
static void batches_that_are_handed_in_at_once_have_no_rate(void **state)
{
	for (int timed = 0; timed < 2; timed++) {
		struct synthetic s;
		struct sb_buf text = { 0 };
		struct sb_model *m;

		synthetic_open(&s);
		for (uint64_t i = 0; i < 10; i++)
			sb_builder_stream(s.b, SECOND + i * 9000,
				&(struct strobe_batch){ 4, timed ? 40 : NAN, timed ? 38 : NAN, 0.5 });
		m = synthetic_model(&s, 3 * SECOND);
		assert_int_equal(m->streaming.frames, 40);
		assert_true(isnan(m->streaming.fps));
		assert_true(isnan(m->streaming.bps));
		sb_report_text(m, &(struct sb_text_options){ .columns = 100 }, &text);
		assert_non_null(
			strstr(sb_buf_text(&text), "40 frames in 10 batches, handed in at once: no rate"));
		sb_buf_done(&text);
		synthetic_done(&s);
	}
}

/* Encoding and sending overlap: 40 ms of each, a batch every 41 ms. */
static void a_pipelined_stream_has_its_rate(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	for (uint64_t i = 0; i <= 100; i++)
		sb_builder_stream(s.b, i * 41 * MS, &(struct strobe_batch){ 4, 40, 40, 0.5 });
	assert_near(synthetic_model(&s, 5 * SECOND)->streaming.fps, 4 / 0.041, 1e-6);
	synthetic_done(&s);
}

static void caches_keep_their_timeline_by_chunk_and_frame(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	const struct sb_cache_entry *c;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 8; i++) {
		struct strobe_cache_event e = { .cache = "teacache",
			.kind = i % 2 ? STROBE_CACHE_HIT : STROBE_CACHE_MISS,
			.count = i == 7 ? 3 : 0,
			.size_bytes = (int64_t)i * MIB,
			.score = 0.2,
			.threshold = 0.15,
			.frame = 4.5 * (double)i,
			.chunk = (int64_t)i / 4 };

		sb_builder_cache(s.b, (i + 1) * SECOND, &e);
	}
	m = synthetic_model(&s, 10 * SECOND);
	c = &m->caches.caches[0];
	assert_int_equal(c->hits, 6); /* 0 counts as one; the last counts three */
	assert_int_equal(c->misses, 4);
	assert_near(c->hit_ratio, 0.6, 1e-12);
	assert_near(c->size_peak_bytes, 7.0 * MIB, 0);
	assert_int_equal(c->event_count, 8);
	assert_int_equal(c->events[5].chunk, 1);
	assert_near(c->events[5].frame, 22.5, 0);
	assert_int_equal(c->near_misses, 0); /* 0.2 is a third above 0.15 */
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_give_rates_and_drops_a_share),
		cmocka_unit_test(batches_that_are_handed_in_at_once_have_no_rate),
		cmocka_unit_test(a_pipelined_stream_has_its_rate),
		cmocka_unit_test(caches_keep_their_timeline_by_chunk_and_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
