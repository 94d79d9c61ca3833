/* Folded recordings: the committed slot counts, the rest of the detail follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/digest.h"
#include "synthetic.h"

enum { WRITER = 9, TID = 1000 }; /* the main thread */

struct heap {
	struct sb_digest_root root;
	struct sb_digest_node outer, inner;
	struct sb_digest_hist hist;
	struct sb_digest_sum sum;
	struct sb_digest_open open;
	struct sb_digest_open_zone zones[2][2];
};

static struct sb_chunk_header chunk(enum sb_stream stream, uint64_t seq, uint64_t base)
{
	return (struct sb_chunk_header){ .epoch = 2,
		.writer = WRITER,
		.tid = TID,
		.stream = (uint16_t)stream,
		.seq = seq,
		.base_ticks = base };
}

#define HEAD(type, what)                      \
	{                                     \
		type, sizeof(struct what) / 8 \
	}

/* "outer" (open since t=100) with 5 folded "inner" of 10 each; a sixth fold was
 * begun and not committed. Times are relative to the session's start. */
static struct heap folded(uint64_t start, uint32_t outer, uint32_t inner)
{
	struct heap h = { .root = { .folded_seq = 3, .first_ticks = start + 100 } };

	h.outer = (struct sb_digest_node){
		.head = HEAD(SB_DIGEST_NODE, sb_digest_node), .node = 1, .name = outer
	};
	h.inner = (struct sb_digest_node){
		.head = HEAD(SB_DIGEST_NODE, sb_digest_node), .node = 2, .parent = 1, .name = inner
	};
	h.inner.slot[0] = (struct sb_digest_node_slot){ .stamp = 3,
		.count = 5,
		.total_ticks = 50,
		.self_ticks = 50,
		.min_ticks = 8,
		.max_ticks = 12,
		.first_ticks = start + 110,
		.last_ticks = start + 200 };
	h.inner.slot[1] = (struct sb_digest_node_slot){ .stamp = 4, .count = 999, .total_ticks = 99999 };
	h.hist = (struct sb_digest_hist){
		.head = HEAD(SB_DIGEST_HIST, sb_digest_hist), .node = 2, .first = 0
	};
	h.hist.count[sb_digest_bucket_of(10)] = 5;
	h.sum = (struct sb_digest_sum){
		.head = HEAD(SB_DIGEST_SUM, sb_digest_sum), .node = 2, .key = SB_NAME_FRAMES
	};
	h.sum.slot[1] = (struct sb_digest_sum_slot){
		.stamp = 2, .count = 5, .sum_int = 40, .sum_float = 40, .last = 8
	};
	h.open = (struct sb_digest_open){ .head = { SB_DIGEST_OPEN, (sizeof h.open + sizeof h.zones) / 8 },
		.capacity = 2 };
	h.open.slot[0].stamp = 3;
	h.open.slot[0].depth = 1;
	h.zones[0][0] =
		(struct sb_digest_open_zone){ .node = 1, .begin_ticks = start + 100, .child_ticks = 50 };
	return h;
}

static const struct sb_stage *stage(const struct sb_model *m, const char *name)
{
	const struct sb_stage *s = sb_model_stage(m, name);

	assert_non_null(s);
	return s;
}

static void folded_past_and_detail_add_up(void **state)
{
	struct synthetic s;
	const uint64_t start = SECOND; /* the builder's first tick */
	struct heap h;
	struct sb_chunk_header at;
	struct sb_model *m;
	const struct sb_stage *row;
	uint64_t words[8];

	synthetic_open(&s);
	h = folded(start, sb_builder_name(s.b, "outer", NULL), sb_builder_name(s.b, "inner", NULL));
	at = chunk(SB_STREAM_DIGEST, 1, start);
	sb_builder_chunk(s.b, &at, &h, sizeof h);
	at = chunk(SB_STREAM_HOT, 3, start); /* folded already, not yet zeroed: must not count again */
	words[0] = sb_word(SB_BEGIN, h.inner.name, 150);
	words[1] = sb_word(SB_END, h.inner.name, 160);
	sb_builder_chunk(s.b, &at, words, 16);
	at = chunk(SB_STREAM_HOT, 4, start + 300);
	words[0] = sb_word(SB_BEGIN, h.inner.name, 0);
	words[1] = sb_word(SB_END, h.inner.name, 30);
	words[2] = sb_word(SB_END, h.outer.name, 700);
	sb_builder_chunk(s.b, &at, words, 24);
	m = synthetic_model(&s, 2000);
	row = stage(m, "inner");
	assert_int_equal(row->count, 6);
	assert_int_equal(row->folded_count, 5);
	assert_true(fabs(row->total_s - 80e-9) < 1e-15);
	assert_true(fabs(row->time.min - 8e-9) < 1e-15);
	assert_true(fabs(row->time.max - 30e-9) < 1e-15);
	assert_true(row->time.percentile_error_ratio > 0);
	assert_true(fabs(row->time.p50 - 10e-9) <= 10e-9 / 16);
	assert_true(row->attr_count == 1 && row->attrs[0].sum == 40);
	row = stage(m, "outer");
	assert_int_equal(row->count, 1);
	assert_true(fabs(row->total_s - 900e-9) < 1e-15);
	assert_true(fabs(row->self_s - (900 - 50 - 30) * 1e-9) < 1e-15);
	assert_true(fabs(m->stages.unattributed_s - 1100e-9) < 1e-15);
	assert_int_equal(m->recording.folded_zones, 5);
	synthetic_done(&s);
}

static void a_digest_that_lies_about_its_lengths_is_dropped_and_told(void **state)
{
	struct synthetic s;
	struct heap h;
	struct sb_chunk_header at = chunk(SB_STREAM_DIGEST, 1, SECOND);
	struct sb_model *m;

	synthetic_open(&s);
	h = folded(SECOND, sb_builder_name(s.b, "outer", NULL), sb_builder_name(s.b, "inner", NULL));
	h.inner.head.words = 100000;
	h.outer.parent = 2; /* a circle, if it were believed */
	sb_builder_chunk(s.b, &at, &h, sizeof h);
	m = synthetic_model(&s, 2000);
	assert_true(m->recording.skipped_bytes > 0);
	assert_null(sb_model_stage(m, "inner"));
	synthetic_done(&s);
}

static void buckets_hold_their_values_within_a_sixteenth(void **state)
{
	for (uint64_t v = 1; v < UINT64_MAX / 3; v = v * 3 / 2 + 1) {
		double low, high;

		sb_digest_bucket_range(sb_digest_bucket_of(v), &low, &high);
		assert_true((double)v >= low && (double)v < high * (1 + 1e-12));
		assert_true(v < 8 || fabs((low + high) / 2 - (double)v) <= (double)v / 16 * 1.0001);
	}
	assert_true(sb_digest_bucket_of(UINT64_MAX) == SB_DIGEST_BUCKETS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_past_and_detail_add_up),
		cmocka_unit_test(a_digest_that_lies_about_its_lengths_is_dropped_and_told),
		cmocka_unit_test(buckets_hold_their_values_within_a_sixteenth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
