/* Series: bounded, with their peaks; energy over real intervals; the disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/sampled.h"
#include "synthetic.h"

static void merged_rows_keep_every_extreme(void **state)
{
	static const char *const columns[] = { "a_w", "b_mb" };
	struct sb_sampled s;
	double seen_max = -1, seen_min = 1e9;

	assert_int_equal(sb_sampled_init(&s, columns, 2, 20), 0);
	for (int i = 0; i < 1000; i++) {
		double row[2] = { i == 617   ? 900
				  : i == 100 ? -5
					     : 50,
			i }; /* a peak, a dip, a running total */

		assert_int_equal(sb_sampled_add(&s, i, row), 0);
	}
	assert_true(s.row_count <= 20);
	assert_int_equal(s.sample_count, 1000);
	for (size_t i = 0; i < s.row_count; i++) {
		seen_max = fmax(seen_max, s.columns[0].values[i]);
		seen_min = fmin(seen_min, s.columns[0].values[i]);
		if (i) {
			assert_true(s.t_s[i] >= s.t_s[i - 1]);
			assert_true(s.columns[1].values[i] >=
				    s.columns[1].values[i - 1]); /* totals stay totals */
		}
	}
	assert_near(seen_max, 900, 0);
	assert_near(seen_min, -5, 0);
	assert_near(s.columns[0].max, 900, 0);
	assert_near(s.columns[0].max_t_s, 617, 0);
	assert_near(s.columns[1].last, 999, 0);
	sb_sampled_done(&s);
}

/* The oldest rows were merged at every turn: of a long run the beginning had hardly any. */
static void merged_rows_are_as_dense_at_the_beginning_as_at_the_end(void **state)
{
	static const char *const columns[] = { "a_w" };

	for (int merge = SB_SAMPLED_EXTREMES; merge <= SB_SAMPLED_MEANS; merge++) {
		struct sb_sampled s;
		size_t early = 0;

		assert_int_equal(sb_sampled_init(&s, columns, 1, 100), 0);
		s.merge = (enum sb_sampled_merge)merge;
		for (int i = 0; i < 1600; i++) {
			double value = i % 7;

			assert_int_equal(sb_sampled_add(&s, i, &value), 0);
		}
		assert_true(s.row_count <= 100);
		while (s.t_s[early] < 800)
			early++;
		assert_in_range(early, s.row_count / 2 - 2, s.row_count / 2 + 2);
		assert_near(s.t_s[s.row_count - 1], 1599, 0);
		sb_sampled_done(&s);
	}
}

static void merged_means_stay_means_and_gaps_stay_gaps(void **state)
{
	static const char *const columns[] = { "tensor_percent" };
	struct sb_sampled s;
	size_t gaps = 0;

	assert_int_equal(sb_sampled_init(&s, columns, 1, 16), 0);
	s.merge = SB_SAMPLED_MEANS;
	for (int i = 0; i <= 256; i++) { /* 0, 90, 0, 90...; nothing is known of 128 to 192 */
		double value = i == 0 || i == 128 ? NAN : i % 2 ? 0 : 90;

		assert_int_equal(sb_sampled_add(&s, i < 128 ? i : i + 64, &value), 0);
	}
	assert_true(s.row_count <= 16);
	for (size_t i = 0; i < s.row_count; i++) {
		if (isnan(s.columns[0].values[i])) {
			assert_near(s.t_s[i], gaps++ ? 192 : 0, 0);
			continue;
		}
		assert_near(s.columns[0].values[i], 45, 6);
	}
	assert_int_equal(gaps, 2);
	assert_near(s.columns[0].max, 90, 0);
	sb_sampled_done(&s);
}

/* Every second sample is a gap: the limit holds, and no value stands for the time of a gap. */
static void more_gaps_than_rows_keep_to_the_limit(void **state)
{
	static const char *const columns[] = { "tensor_percent" };
	struct sb_sampled s;

	assert_int_equal(sb_sampled_init(&s, columns, 1, 16), 0);
	s.merge = SB_SAMPLED_MEANS;
	for (int i = 0; i < 2000; i++) {
		double value = i % 2 ? 50 : NAN;

		assert_int_equal(sb_sampled_add(&s, i, &value), 0);
	}
	assert_in_range(s.row_count, 1, 16);
	for (size_t i = 1; i < s.row_count; i++)
		assert_true(isnan(s.columns[0].values[i]) || s.t_s[i] - s.t_s[i - 1] <= 1);
	assert_near(s.t_s[s.row_count - 1], 1999, 0);
	sb_sampled_done(&s);
}

static void unknown_values_are_no_zeros(void **state)
{
	static const char *const columns[] = { "a_w", "never_c" };
	struct sb_sampled s;

	assert_int_equal(sb_sampled_init(&s, columns, 2, 16), 0);
	for (int i = 0; i < 100; i++) {
		double row[2] = { i % 2 ? NAN : 10, NAN };

		assert_int_equal(sb_sampled_add(&s, i, row), 0);
	}
	assert_near(s.columns[0].min, 10, 0);
	assert_int_equal(s.columns[0].count, 50);
	assert_int_equal(s.columns[1].count, 0);
	assert_true(isnan(s.columns[1].max));
	sb_sampled_done(&s);
}

static void rows_that_go_back_in_time_are_left_out(void **state)
{
	static const char *const columns[] = { "a_w" };
	struct sb_sampled s;
	double one = 1;

	assert_int_equal(sb_sampled_init(&s, columns, 1, 16), 0);
	assert_int_equal(sb_sampled_add(&s, 5, &one), 0);
	assert_int_equal(sb_sampled_add(&s, 4, &one), 0);
	assert_int_equal(s.sample_count, 1);
	sb_sampled_done(&s);
}

/* Busy for 1 s of 11, but sampled twice as often then: the mean is of time. */
static void means_are_weighted_by_time_not_by_samples(void **state)
{
	static const char *const columns[] = { "utilization_percent" };
	struct synthetic s;
	const struct sb_series *series;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, columns, 1);
	for (uint64_t t = 0; t <= 10; t++)
		sb_builder_sample(s.b, schema, t * SECOND, (double[]){ 0 }, 1);
	for (uint64_t i = 1; i <= 100; i++)
		sb_builder_sample(s.b, schema, 10 * SECOND + i * 10 * MS, (double[]){ 100 }, 1);
	series = sb_model_series(synthetic_model(&s, 11 * SECOND), "gpu", 0);
	assert_near(series->columns[0].stats.mean, 100.0 / 11, 0.1);
	assert_near(series->columns[0].stats.max, 100, 0);
	assert_near(sb_series_at(series, &series->columns[0], 10.005), 50, 1e-6);
	assert_near(sb_series_mean(series, &series->columns[0], 10.01, 11), 100, 1e-6);
	assert_true(isnan(sb_series_at(series, &series->columns[0], 12)));
	synthetic_done(&s);
}

static void energy_of_a_generation_is_its_own(void **state)
{
	static const char *const columns[] = { "power_w", "energy_j" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;
	double energy_j = 0;

	synthetic_open(&s);
	sb_builder_meta_string(s.b, SB_META_SETTING, "gpu_cost_per_hour", "36");
	schema = sb_builder_schema(s.b, "gpu", 0, columns, 2);
	for (uint64_t t = 0; t <= 100; t++) {
		double watts = t >= 40 && t < 60 ? 720 : 72;

		sb_builder_sample(s.b, schema, t * SECOND, (double[]){ watts, energy_j }, 2);
		energy_j += watts;
	}
	synthetic_stage(&s, 40 * SECOND, 60 * SECOND, "generate", STROBE_ROLE_GENERATION);
	m = synthetic_model(&s, 100 * SECOND);
	assert_near(m->generations.all[0].energy_wh, 4, 1e-9); /* 720 W x 20 s */
	assert_near(m->summary.energy_wh_per_video, 4, 1e-9);
	assert_near(m->summary.run_energy_wh, (720.0 * 20 + 72 * 80) / 3600, 1e-9);
	assert_near(m->generations.all[0].cost, 0.2, 1e-9);
	assert_near(m->summary.run_cost, 1, 1e-9);
	synthetic_done(&s);
}

static void two_samplers_of_one_gpu_are_one_series(void **state)
{
	static const char *const inside[] = { "memory_used_mb" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t few, many;

	synthetic_open(&s);
	few = sb_builder_schema(s.b, "gpu", 0, inside, 1);
	many = synthetic_gpu(&s, 0);
	for (uint64_t t = 0; t <= 10; t++)
		synthetic_gpu_sample(&s, many, t * SECOND, 1000, 50, 100);
	sb_builder_sample(s.b, few, SECOND, (double[]){ 5 }, 1);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->devices.count, 1);
	assert_int_equal(sb_model_series(m, "gpu", 0)->recorded_count, 11);
	synthetic_done(&s);
}

static void disk_totals_become_rates(void **state)
{
	static const char *const columns[] = { "read_bytes", "write_bytes" };
	struct synthetic s;
	struct sb_model *m;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "disk", -1, columns, 2);
	sb_builder_sample(s.b, schema, 0, (double[]){ 1e9, 0 }, 2);
	sb_builder_sample(s.b, schema, SECOND, (double[]){ 3e9, 0 }, 2);
	sb_builder_sample(s.b, schema, 5 * SECOND, (double[]){ 3e9, 1e9 }, 2); /* the sampler was late */
	m = synthetic_model(&s, 5 * SECOND);
	assert_near(m->disk.read_bytes, 2e9, 0);
	assert_near(m->disk.read_gb_per_s, 0.4, 1e-12);
	assert_near(m->disk.read_max_gb_per_s, 2, 1e-12);
	assert_near(m->disk.write_max_gb_per_s, 0.25, 1e-12);
	assert_true(isnan(m->disk.machine_read_bytes));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_rows_keep_every_extreme),
		cmocka_unit_test(merged_rows_are_as_dense_at_the_beginning_as_at_the_end),
		cmocka_unit_test(merged_means_stay_means_and_gaps_stay_gaps),
		cmocka_unit_test(more_gaps_than_rows_keep_to_the_limit),
		cmocka_unit_test(unknown_values_are_no_zeros),
		cmocka_unit_test(rows_that_go_back_in_time_are_left_out),
		cmocka_unit_test(means_are_weighted_by_time_not_by_samples),
		cmocka_unit_test(energy_of_a_generation_is_its_own),
		cmocka_unit_test(two_samplers_of_one_gpu_are_one_series),
		cmocka_unit_test(disk_totals_become_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
