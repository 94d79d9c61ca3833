/* Rows of the page's timeline: exact while they fit, true when they do not. */
#include "report/timeline/rows.h"
#include "report/timeline/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void few_zones_stay_exact(void **state)
{
	struct sb_timeline_rows rs = { .budget = 100 };
	uint32_t row = sb_timeline_rows_new(&rs);

	for (int i = 0; i < 50; i++)
		sb_timeline_rows_add(&rs, row, i * 10, i * 10 + 7, 3);
	sb_timeline_rows_finish(&rs);
	assert_int_equal(rs.rows[row].count, 50);
	assert_int_equal(rs.rows[row].merge_ns, 0);
	assert_int_equal(rs.rows[row].entries[49].start_ns, 490);
	assert_int_equal(rs.rows[row].entries[49].count, 1);
	sb_timeline_rows_done(&rs);
}

static void merged_entries_keep_count_busy_time_and_order(void **state)
{
	struct sb_timeline_rows rs = { .budget = 1000 };
	uint32_t row = sb_timeline_rows_new(&rs);
	int64_t busy_ns = 0, last_ns = -1;
	uint64_t count = 0;

	for (int64_t i = 0; i < 200000; i++)
		sb_timeline_rows_add(&rs, row, i * 1000, i * 1000 + 400 + i % 7, (uint32_t)(i % 3));
	sb_timeline_rows_finish(&rs);
	assert_true(rs.rows[row].count <= 1000);
	assert_true(rs.rows[row].merge_ns > 0);
	for (size_t i = 0; i < rs.rows[row].count; i++) {
		const struct sb_timeline_entry *e = &rs.rows[row].entries[i];

		assert_true(e->start_ns > last_ns);
		assert_true(e->busy_ns <= e->end_ns - e->start_ns);
		assert_true(e->mixed == (e->count > 1));
		last_ns = e->end_ns;
		busy_ns += e->busy_ns;
		count += e->count;
	}
	assert_int_equal(count, 200000);
	for (int64_t i = 0; i < 200000; i++)
		busy_ns -= 400 + i % 7;
	assert_int_equal(busy_ns, 0);
	sb_timeline_rows_done(&rs);
}

static void long_zones_are_never_merged(void **state)
{
	struct sb_timeline_rows rs = { .budget = 400 };
	uint32_t row = sb_timeline_rows_new(&rs);
	int found = 0;

	for (int64_t i = 0; i < 100000; i++)
		sb_timeline_rows_add(&rs, row, i * 100, i * 100 + 50, 1);
	for (int64_t i = 0; i < 5; i++)
		sb_timeline_rows_add(
			&rs, row, 20000000 + i * 50000000, 20000000 + i * 50000000 + 40000000, 2);
	sb_timeline_rows_finish(&rs);
	for (size_t i = 0; i < rs.rows[row].count; i++) {
		const struct sb_timeline_entry *e = &rs.rows[row].entries[i];

		if (e->name == 2) {
			assert_int_equal(e->count, 1);
			assert_int_equal(e->end_ns - e->start_ns, 40000000);
			found++;
		}
	}
	assert_int_equal(found, 5);
	sb_timeline_rows_done(&rs);
}

static void a_small_row_stays_exact_beside_a_full_one(void **state)
{
	struct sb_timeline_rows rs = { .budget = 1000 };
	uint32_t small = sb_timeline_rows_new(&rs), full = sb_timeline_rows_new(&rs);

	for (int64_t i = 0; i < 100; i++)
		sb_timeline_rows_add(&rs, small, i * 1000000, i * 1000000 + 10, 1);
	for (int64_t i = 0; i < 100000; i++)
		sb_timeline_rows_add(&rs, full, i * 1000, i * 1000 + 10, 2);
	sb_timeline_rows_finish(&rs);
	assert_int_equal(rs.rows[small].merge_ns, 0);
	assert_int_equal(rs.rows[small].count, 100);
	assert_true(rs.rows[full].merge_ns > 0);
	sb_timeline_rows_done(&rs);
}

static void zones_may_come_in_any_order(void **state)
{
	struct sb_timeline_rows rs = { .budget = 64 };
	uint32_t row = sb_timeline_rows_new(&rs);
	uint64_t count = 0;

	for (int64_t i = 0; i < 1000; i++)
		sb_timeline_rows_add(&rs, row, (i * 617 % 1000) * 1000, (i * 617 % 1000) * 1000 + 300, 1);
	sb_timeline_rows_finish(&rs);
	for (size_t i = 0; i < rs.rows[row].count; i++) {
		count += rs.rows[row].entries[i].count;
		if (i)
			assert_true(rs.rows[row].entries[i - 1].end_ns <= rs.rows[row].entries[i].start_ns);
	}
	assert_int_equal(count, 1000);
	sb_timeline_rows_done(&rs);
}

static void rows_are_written_as_distances_and_lengths(void **state)
{
	struct sb_timeline_rows rs = { .budget = 10 };
	const uint32_t numbers[] = { 9, 5 };
	struct sb_buf out = { 0 };
	uint32_t row = sb_timeline_rows_new(&rs);

	sb_timeline_rows_add(&rs, row, 10, 30, 1);
	sb_timeline_rows_add(&rs, row, 230, 231, 0);
	sb_timeline_row_write(&rs.rows[row], numbers, &out);
	/* starts: 10 and 200 after the last end, doubled; lengths 20, 1; names 5, 9 times 4 */
	assert_int_equal(out.size, 7);
	assert_memory_equal(out.data, "\x14\x90\x03\x14\x01\x14\x24", 7);
	sb_buf_done(&out);
	sb_timeline_rows_done(&rs);
}

static void the_profile_shares_a_zone_among_its_bins(void **state)
{
	static struct sb_timeline_profile p;
	uint64_t total_ns = 0;

	sb_timeline_profile_init(&p, 0, 512000);
	assert_int_equal(p.bin_ns, 1000);
	sb_timeline_profile_add(&p, 2, 500, 3500);
	sb_timeline_profile_add(&p, 2, 511900, 512000);
	assert_int_equal(p.bins[0]->total_ns[0], 500);
	assert_int_equal(p.bins[0]->total_ns[1], 1000);
	assert_int_equal(p.bins[0]->total_ns[3], 500);
	assert_int_equal(p.bins[0]->count[0], 1);
	assert_int_equal(p.bins[0]->count[1], 0);
	for (unsigned i = 0; i < SB_PROFILE_BINS; i++)
		total_ns += p.bins[0]->total_ns[i];
	assert_int_equal(total_ns, 3100);
	sb_timeline_profile_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_zones_stay_exact),
		cmocka_unit_test(merged_entries_keep_count_busy_time_and_order),
		cmocka_unit_test(long_zones_are_never_merged),
		cmocka_unit_test(a_small_row_stays_exact_beside_a_full_one),
		cmocka_unit_test(zones_may_come_in_any_order),
		cmocka_unit_test(rows_are_written_as_distances_and_lengths),
		cmocka_unit_test(the_profile_shares_a_zone_among_its_bins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
