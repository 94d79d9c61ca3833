/* Samples are merged past the limit, and what must stay exact stays exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "captured_samples.h"

static const struct sb_column columns[] = {
	{ "load_percent", SB_MERGE_MEAN },
	{ "memory_mb", SB_MERGE_MAX },
	{ "energy_j", SB_MERGE_LAST },
	{ "throttle_bits_count", SB_MERGE_BITS },
};

static void points_stay_near_the_limit_however_long_it_runs(void **state)
{
	struct sb_samples s;
	uint32_t at_ten_thousand;

	capture_begin();
	assert_true(sb_samples_open(&s, "x", -1, columns, 4, 64));
	for (uint64_t t = 1; t <= 10000; t++)
		sb_samples_push(&s, t, (double[]){ 1, 2, (double)t, 0 });
	at_ten_thousand = captured_row_count;
	assert_in_range(at_ten_thousand, 33, 64);
	for (uint64_t t = 10001; t <= 160000; t++)
		sb_samples_push(&s, t, (double[]){ 1, 2, (double)t, 0 });
	assert_in_range(captured_row_count, at_ten_thousand, at_ten_thousand + 16);
	sb_samples_close(&s, 160001);
	assert_true(captured("x", -1, "energy_j", -1) == 160000);
}

static void merging_keeps_peaks_means_totals_and_reasons(void **state)
{
	struct sb_samples s;
	double peak = 0, bits = 0;

	capture_begin();
	assert_true(sb_samples_open(&s, "x", -1, columns, 4, 16));
	for (uint64_t t = 0; t < 1000; t++)
		sb_samples_push(&s, t, (double[]){ 50, t == 777 ? 9000 : 100, (double)t, t == 778 ? 4 : 1 });
	sb_samples_close(&s, 1000);
	for (uint32_t i = 0; i < captured_row_count; i++) {
		peak = fmax(peak, captured_rows[i].values[1]);
		bits = (double)((uint64_t)bits | (uint64_t)captured_rows[i].values[3]);
		assert_true(captured_rows[i].values[0] == 50);
	}
	assert_true(peak == 9000);
	assert_true(bits == 5);
	assert_true(captured("x", -1, "energy_j", -1) == 999);
}

static void unknown_values_do_not_count_as_zero(void **state)
{
	struct sb_samples s;
	double value;

	capture_begin();
	assert_true(sb_samples_open(&s, "x", 3, columns, 4, 1000));
	sb_samples_push(&s, 1, (double[]){ NAN, 5, NAN, 0 });
	assert_true(isnan(captured("x", 3, "load_percent", 0)));
	assert_false(sb_samples_latest("x", 3, "load_percent", &value));
	assert_true(sb_samples_latest("x", 3, "memory_mb", &value) && value == 5);
	assert_false(sb_samples_latest("x", 2, "memory_mb", &value));
	sb_samples_close(&s, 2);
	assert_false(sb_samples_latest("x", 3, "memory_mb", &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_stay_near_the_limit_however_long_it_runs),
		cmocka_unit_test(merging_keeps_peaks_means_totals_and_reasons),
		cmocka_unit_test(unknown_values_do_not_count_as_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
