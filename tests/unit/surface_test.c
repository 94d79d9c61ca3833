/* Functions over sizes: known ones are found again, held-back points are met, noise is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stats/surface.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* frames, width, height of real models */
static const double sizes[][3] = { { 33, 480, 320 }, { 49, 480, 320 }, { 81, 480, 320 }, { 33, 832, 480 },
	{ 49, 832, 480 }, { 81, 832, 480 }, { 81, 1024, 576 }, { 49, 1024, 576 }, { 33, 640, 640 },
	{ 17, 832, 480 } };
#define SIZES (sizeof sizes / sizeof *sizes)
static const double asked[3] = { 121, 1280, 720 };

static double linear(const double *x)
{
	return 12e9 + 900 * x[0] * x[1] * x[2];
}

static double quadratic(const double *x)
{
	double tokens = x[0] * x[1] * x[2] / 1024;

	return 3 + 2e-4 * tokens + 5e-9 * tokens * tokens;
}

static double of_pixels(const double *x)
{
	return 2e9 + 3000 * x[1] * x[2];
}

static uint32_t random_state;

/* Between -1 and 1. */
static double random_unit(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (double)(random_state >> 8) / 8388608.0 - 1;
}

static size_t points_of(double (*function)(const double *), double noise, struct sb_surface_point *out)
{
	for (size_t i = 0; i < SIZES; i++) {
		memcpy(out[i].x, sizes[i], sizeof sizes[i]);
		out[i].y = function(sizes[i]) * (1 + noise * random_unit());
	}
	return SIZES;
}

static void a_known_function_is_found_again(void **state)
{
	double (*const functions[])(const double *) = { linear, quadratic, of_pixels };
	struct sb_surface_point p[SIZES];
	struct sb_surface s;
	double low, high;

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(sb_surface_fit(p, points_of(functions[i], 0, p), 3, 0, &s), 0);
		assert_true(s.worst_ratio < 1e-6);
		assert_true(fabs(sb_surface_at(&s, asked, &low, &high) / functions[i](asked) - 1) < 1e-6);
		assert_true(
			low <= functions[i](asked) * (1 + 1e-9) && high >= functions[i](asked) * (1 - 1e-9));
	}
}

/* 300 noisy samples of each function: the truth of a size 2.4 times as large as any point, and of one among them. */
static void noise_is_in_the_error_and_the_truth_between_the_limits(void **state)
{
	double (*const functions[])(const double *) = { linear, quadratic, of_pixels };
	static const double places[2][3] = { { 121, 1280, 720 }, { 65, 720, 480 } };
	struct sb_surface_point p[SIZES];
	struct sb_surface s;
	double low, high;

	for (size_t i = 0; i < 6; i++) {
		double truth = functions[i % 3](places[i / 3]), errors = 0;
		int inside = 0;

		random_state = 12345;
		for (int n = 0; n < 300; n++) {
			assert_int_equal(
				sb_surface_fit(p, points_of(functions[i % 3], 0.03, p), 3, 0, &s), 0);
			sb_surface_at(&s, places[i / 3], &low, &high);
			inside += low <= truth && truth <= high;
			errors += s.error_ratio / 300;
		}
		assert_true(errors > 0.005 && errors < 0.04);
		print_message("%zu: %d of 300, error %.4f\n", i, inside, errors);
		assert_true(inside >= 285); /* 95 % */
	}
}

/* Six sizes under much noise, asked for one that is 1.5 to 12 times as large: the truth stays between the limits. */
static void far_beyond_what_was_measured_the_limits_are_wide_enough(void **state)
{
	double (*const functions[])(const double *) = { linear, quadratic, of_pixels };
	static const double places[3][3] = { { 65, 1024, 576 }, { 121, 1280, 720 }, { 241, 1280, 1280 } };
	struct sb_surface_point p[SIZES];
	struct sb_surface s;
	double low, high;

	for (size_t i = 0; i < 9; i++) {
		double truth = functions[i % 3](places[i / 3]);
		int inside = 0;

		random_state = 777;
		for (int n = 0; n < 300; n++) {
			points_of(functions[i % 3], 0.15, p);
			assert_int_equal(sb_surface_fit(p, 6, 3, 0, &s), 0);
			sb_surface_at(&s, places[i / 3], &low, &high);
			inside += low <= truth && truth <= high;
		}
		print_message("%zu: %d of 300\n", i, inside);
		assert_true(inside >= 270); /* 90 % */
	}
}

/* A fixed part and a growing one under noise that is as large: what is said still depends on the size. */
static void noise_makes_no_constant_of_what_grows(void **state)
{
	struct sb_surface_point p[SIZES];
	struct sb_surface s;
	double low, high;
	int grows = 0;

	random_state = 99;
	for (int n = 0; n < 300; n++) {
		for (size_t i = 0; i < 6; i++) {
			memcpy(p[i].x, sizes[i], sizeof sizes[i]);
			p[i].y = (0.3 + 8e-9 * sizes[i][0] * sizes[i][1] * sizes[i][2]) *
				 (1 + 0.3 * random_unit());
		}
		assert_int_equal(sb_surface_fit(p, 6, 3, 0, &s), 0);
		grows += sb_surface_at(&s, asked, &low, &high) >
			 1.2 * sb_surface_at(&s, sizes[0], &low, &high);
	}
	print_message("%d of 300 grow\n", grows);
	assert_true(grows >= 270);
}

/* Frames and width that always grow together: which of them matters is not known, and the limits say so. */
static void sizes_that_vary_together_widen_the_limits(void **state)
{
	struct sb_surface_point p[5];
	const double at[2] = { 10, 500 };
	struct sb_surface s;
	double low, high;

	for (size_t i = 0; i < 5; i++) {
		p[i].x[0] = 10 * (double)(i + 1);
		p[i].x[1] = 100 * (double)(i + 1);
		p[i].y = 5 + p[i].x[0];
	}
	assert_int_equal(sb_surface_fit(p, 5, 2, 0, &s), 0);
	sb_surface_at(&s, at, &low, &high);
	assert_true(low <= 15.001 && high >= 54.999);
}

static void nothing_is_quadratic_in_steps(void **state)
{
	static const double steps_and_tokens[][2] = { { 10, 1000 }, { 20, 1000 }, { 50, 1000 }, { 10, 4000 },
		{ 20, 4000 }, { 10, 8000 } };
	struct sb_surface_point p[6];
	const double at[2] = { 50, 16000 };
	struct sb_surface s;
	double low, high;

	for (size_t i = 0; i < 6; i++) {
		memcpy(p[i].x, steps_and_tokens[i], sizeof steps_and_tokens[i]);
		p[i].y = p[i].x[0] * (1e-4 * p[i].x[1] + 1e-7 * p[i].x[1] * p[i].x[1]);
	}
	assert_int_equal(sb_surface_fit(p, 6, 2, 1, &s), 0);
	assert_true(fabs(sb_surface_at(&s, at, &low, &high) / (50 * (1.6 + 25.6)) - 1) < 1e-6);
}

static void one_point_is_no_function(void **state)
{
	struct sb_surface_point p = { { 1 }, 1 };
	struct sb_surface s;

	assert_true(sb_surface_fit(&p, 1, 1, 0, &s) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_function_is_found_again),
		cmocka_unit_test(noise_is_in_the_error_and_the_truth_between_the_limits),
		cmocka_unit_test(far_beyond_what_was_measured_the_limits_are_wide_enough),
		cmocka_unit_test(noise_makes_no_constant_of_what_grows),
		cmocka_unit_test(sizes_that_vary_together_widen_the_limits),
		cmocka_unit_test(nothing_is_quadratic_in_steps),
		cmocka_unit_test(one_point_is_no_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
