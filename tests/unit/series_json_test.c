/* A column's figures in JSON: the word stands before the unit. */
#include "report/sections/series_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void figures_end_in_their_whole_unit(void **state)
{
	static const char *const words[] = { "mean", "max", NULL };
	struct sb_series_column columns[] = {
		{ .name = "pcie_tx_gb_per_s", .stats = { .count = 1, .mean = 2, .max = 3 } },
		{ .name = "memory_used_mb", .stats = { .count = 1, .mean = 4, .max = 5 } },
	};
	struct sb_series series = { .columns = columns, .column_count = 2 };
	struct sb_buf out = { 0 };
	struct sb_json j;

	sb_json_init(&j, &out, false);
	sb_json_object_begin(&j, NULL);
	sb_json_column(&j, &series, "pcie_tx_gb_per_s", words);
	sb_json_column(&j, &series, "memory_used_mb", words);
	sb_json_column(&j, &series, "absent_mb", words);
	sb_json_object_end(&j);
	sb_buf_putc(&out, '\0');
	assert_string_equal(out.data, "{\"pcie_tx_mean_gb_per_s\":2,\"pcie_tx_max_gb_per_s\":3,"
				      "\"memory_used_mean_mb\":4,\"memory_used_max_mb\":5}");
	sb_buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_end_in_their_whole_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
