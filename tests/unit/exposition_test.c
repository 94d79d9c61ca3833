/* Prometheus text: families stay together, labels are escaped. */
#include "serve/exposition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void samples_of_a_family_stay_together(void **state)
{
	struct sb_exposition e = { 0 };
	struct sb_buf out = { 0 };

	sb_exposition_add(&e, "strobe_a", "gauge", "A.", "", "run=\"1\"", 1);
	sb_exposition_add(&e, "strobe_b", "counter", "B.", "", "", 0.1);
	sb_exposition_add(&e, "strobe_a", "gauge", "A.", "", "run=\"2\"", 2);
	sb_exposition_write(&e, &out);
	assert_string_equal(out.data, "# HELP strobe_a A.\n# TYPE strobe_a gauge\nstrobe_a{run=\"1\"} 1\n"
				      "strobe_a{run=\"2\"} 2\n# HELP strobe_b B.\n# TYPE strobe_b counter\n"
				      "strobe_b 0.1\n");
	sb_buf_done(&out);
	sb_exposition_done(&e);
}

static void absent_values_are_left_out(void **state)
{
	struct sb_exposition e = { 0 };

	sb_exposition_add(&e, "strobe_a", "gauge", "A.", "", "", NAN);
	assert_int_equal(e.count, 0);
	sb_exposition_done(&e);
}

static void names_are_made_legal_and_labels_escaped(void **state)
{
	struct sb_exposition e = { 0 };
	struct sb_buf labels = { 0 }, out = { 0 };

	sb_exposition_label(&labels, "stage", "a\"b\\c\nd");
	sb_exposition_label(&labels, "code", "4c");
	assert_string_equal(labels.data, "stage=\"a\\\"b\\\\c\\nd\",code=\"4c\"");
	sb_exposition_add(&e, "strobe_gpu memory-Used", "gauge", "M.", "", labels.data, 1);
	sb_exposition_write(&e, &out);
	assert_non_null(strstr(out.data, "\nstrobe_gpu_memory_used{stage="));
	sb_buf_done(&labels);
	sb_buf_done(&out);
	sb_exposition_done(&e);
}

static void help_cannot_begin_a_line_of_its_own(void **state)
{
	struct sb_exposition e = { 0 };
	struct sb_buf out = { 0 };

	sb_exposition_add(&e, "strobe_a", "gauge", "of \nstrobe_evil 1\\ \"x\".", "", "", 1);
	sb_exposition_write(&e, &out);
	assert_string_equal(out.data, "# HELP strobe_a of \\nstrobe_evil 1\\\\ \"x\".\n"
				      "# TYPE strobe_a gauge\nstrobe_a 1\n");
	sb_buf_done(&out);
	sb_exposition_done(&e);
}

static void bytes_that_are_no_text_are_replaced(void **state)
{
	struct sb_buf labels = { 0 };

	sb_exposition_label(&labels, "stage", "a\xff\xc3\xa4\xc2\x9b\x1b");
	assert_string_equal(labels.data, "stage=\"a\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\"");
	sb_buf_done(&labels);
}

static void open_metrics_names_counters_without_total_and_ends(void **state)
{
	struct sb_exposition e = { .open_metrics = true };
	struct sb_buf out = { 0 };

	sb_exposition_add(&e, "strobe_b_total", "counter", "B.", "", "", 3);
	sb_exposition_write(&e, &out);
	assert_string_equal(
		out.data, "# HELP strobe_b B.\n# TYPE strobe_b counter\nstrobe_b_total 3\n# EOF\n");
	sb_buf_done(&out);
	sb_exposition_done(&e);
}

static void an_exemplar_stands_behind_its_sample(void **state)
{
	struct sb_exposition e = { .open_metrics = true };
	struct sb_buf out = { 0 };
	struct sb_family *f = sb_exposition_family(&e, "strobe_h", "histogram", "H.");

	sb_family_put(f, "_bucket", "a=\"b\"", ",le=\"1.0\"", 2);
	sb_family_exemplar(f, "page=\"r#view=1_2\"", 0.75, 1700000000.1234);
	sb_family_put(f, "_bucket", "a=\"b\"", ",le=\"+Inf\"", 2);
	sb_exposition_write(&e, &out);
	assert_string_equal(out.data,
		"# HELP strobe_h H.\n# TYPE strobe_h histogram\n"
		"strobe_h_bucket{a=\"b\",le=\"1.0\"} 2 # {page=\"r#view=1_2\"} 0.75 1700000000.123\n"
		"strobe_h_bucket{a=\"b\",le=\"+Inf\"} 2\n# EOF\n");
	sb_buf_done(&out);
	sb_exposition_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_a_family_stay_together),
		cmocka_unit_test(absent_values_are_left_out),
		cmocka_unit_test(names_are_made_legal_and_labels_escaped),
		cmocka_unit_test(help_cannot_begin_a_line_of_its_own),
		cmocka_unit_test(bytes_that_are_no_text_are_replaced),
		cmocka_unit_test(open_metrics_names_counters_without_total_and_ends),
		cmocka_unit_test(an_exemplar_stands_behind_its_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
