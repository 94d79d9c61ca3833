/* Samples of a timeline: a mean stands where its time begins, and ends where it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exchange/sample_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static char *const columns[] = { "sm_active_percent", "dram_active_percent" };
static struct sb_run_schema schemas[] = {
	{ .source = "gpu_pm", .device = 0, .column_count = 2, .columns = (void *)columns },
	{ .source = "gpu_counters", .device = 0, .column_count = 2, .columns = (void *)columns },
	{ .source = "gpu", .device = 0, .column_count = 1, .columns = (void *)columns },
};
static struct sb_run run = { .schemas = schemas, .schema_count = 3 };
static char seen[1024];

static void put(void *user, uint32_t process, const char *name, int64_t t_ns, double value)
{
	(void)user;
	(void)process;
	sprintf(seen + strlen(seen), "%s@%d=%g ", name, (int)t_ns, value);
}

static void take(struct sb_sample_values *v, int schema, int64_t t_ns, double a, double b)
{
	double values[] = { a, b };

	sb_sample_values_take(v, &(struct sb_event){ .kind = SB_EVENT_SAMPLE,
					 .t_ns = t_ns,
					 .sample = { .schema = &schemas[schema], .values = values } });
}

static int begin(void **state)
{
	static struct sb_sample_values v;

	seen[0] = 0;
	*state = &v;
	return sb_sample_values_init(&v, &run, put, NULL);
}

static void a_mean_stands_where_its_time_begins(void **state)
{
	take(*state, 1, 1000, 10, NAN);
	take(*state, 1, 2000, 20, 5);
	take(*state, 1, 3000, 30, NAN);
	take(*state, 2, 3000, 7, 0);
	take(*state, 2, 4000, 8, 0);
	sb_sample_values_done(*state);
	assert_string_equal(seen, "gpu_counters 0 sm_active_percent@1000=10 "
				  "gpu_counters 0 sm_active_percent@1000=20 "
				  "gpu_counters 0 dram_active_percent@1000=5 "
				  "gpu_counters 0 sm_active_percent@2000=30 "
				  "gpu 0 sm_active_percent@3000=7 gpu 0 sm_active_percent@4000=8 ");
}

static void what_was_sampled_does_not_hold_over_a_gap(void **state)
{
	take(*state, 0, 1000, NAN, NAN);
	take(*state, 0, 1500, 50, NAN);
	take(*state, 0, 2000, 60, NAN);
	take(*state, 0, 9000, NAN, NAN);
	take(*state, 0, 9500, 70, 3);
	sb_sample_values_done(*state);
	assert_string_equal(seen, "gpu_pm 0 sm_active_percent@1000=50 gpu_pm 0 sm_active_percent@1500=60 "
				  "gpu_pm 0 sm_active_percent@2000=0 "
				  "gpu_pm 0 sm_active_percent@9000=70 gpu_pm 0 dram_active_percent@9000=3 "
				  "gpu_pm 0 sm_active_percent@9500=0 gpu_pm 0 dram_active_percent@9500=0 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_mean_stands_where_its_time_begins, begin),
		cmocka_unit_test_setup(what_was_sampled_does_not_hold_over_a_gap, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
