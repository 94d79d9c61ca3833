/* Names of a recording in the text of a report: they are printed, never obeyed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/label.h"
#include "report/text.h"
#include "synthetic.h"

static void a_line_ends_only_where_its_format_says_so(void **state)
{
	struct sb_buf out = { 0 };

	sb_label_printf(&out, "on %s, %.1f s\n", "a\033[31m\nb\xff", 1.5);
	sb_label_printf(&out, "%s", "end\n");
	sb_label_printf(&out, "%s", "");
	assert_string_equal(sb_buf_text(&out), "on a?[31m b?, 1.5 s\nend ");
	sb_buf_done(&out);
}

static void no_name_of_a_run_speaks_to_the_terminal(void **state)
{
	struct sb_text_options options = { 0 };
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "load\033[31m", 0);
	synthetic_attr(&s, "tiles\033[31m", 3);
	synthetic_end(&s, SECOND);
	m = synthetic_model(&s, 2 * SECOND);
	m->stages.stages[0].code = "1\033[31m";
	m->session.host = "node\033[31m";
	m->session.commit = "\033[31m4f5e6d7c8b";
	m->models.present = true;
	m->models.device = "cuda\033[31m";
	m->models.gpu = "H200\033[31m";
	assert_int_equal(sb_report_text(m, &options, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), " on node?[31m"));
	assert_non_null(strstr(sb_buf_text(&out), "commit: ?[31m4f5e6d7\n"));
	assert_non_null(strstr(sb_buf_text(&out), "on cuda?[31m: H200?[31m\n"));
	assert_null(strchr(sb_buf_text(&out), '\033'));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* Kernels of torch that begin and end alike. */
static void long_kernel_names_are_short_and_keep_the_operation(void **state)
{
	static const char *const functors[] = { "CUDAFunctor_add<c10::BFloat16>",
		"MulFunctor<c10::BFloat16>" };
	struct sb_buf out = { 0 };
	struct synthetic s;
	char name[400];

	synthetic_open(&s);
	synthetic_step(&s, 0, SECOND, 0, 0);
	for (uint64_t i = 0; i < 2; i++) {
		snprintf(name, sizeof name,
			"void at::native::elementwise_kernel<128, 4, "
			"at::native::gpu_kernel_impl_nocast<at::native::%s "
			">(at::TensorIteratorBase&, at::native::%s const&)::{lambda(int)#1}>(int)",
			functors[i], functors[i]);
		synthetic_kernel(&s, name, 100 * MS + i * 100 * MS, 50 * MS);
	}
	synthetic_gpu_trace(&s, 0, SECOND);
	assert_int_equal(sb_report_text(synthetic_model(&s, SECOND), NULL, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "  elementwise CUDAFunctor_add<bf16> "));
	assert_non_null(strstr(sb_buf_text(&out), "  elementwise MulFunctor<bf16> "));
	sb_buf_done(&out);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_kernel_names_are_short_and_keep_the_operation),
		cmocka_unit_test(a_line_ends_only_where_its_format_says_so),
		cmocka_unit_test(no_name_of_a_run_speaks_to_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
