/* The vocabulary of kernels: every entry by the real name beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/gpu/kernel_names.h"

#include <string.h>

static const struct {
	const char *words, *kind, *example;
	enum sb_kernel_family family;
} entries[] = {
#define KERNEL(words, family, kind, precision, example) { words, kind, example, SB_KERNEL_##family },
#include "analyze/gpu/kernel_vocabulary.inc"
};

static const struct {
	const char *words, *precision, *example;
} precisions[] = {
#define PRECISION(words, precision, example) { words, precision, example },
#include "analyze/gpu/kernel_vocabulary.inc"
};

static const struct {
	enum sb_kernel_family family;
	const char *precision, *name;
} seen[] = {
#define SEEN(family, precision, name) { SB_KERNEL_##family, precision, name },
#include "kernels_of_an_h200.inc"
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void one_entry(void **state)
{
	size_t i = (size_t)(uintptr_t)*state;
	struct sb_kernel_class c = sb_kernel_classify(entries[i].example);

	if (c.entry != (int)i)
		fail_msg("'%s' is taken by entry %d (%s), not by %zu (%s)", entries[i].example, c.entry,
			c.entry < 0 ? "none" : entries[c.entry].words, i, entries[i].words);
	assert_int_equal(c.family, entries[i].family);
}

static void one_precision(void **state)
{
	size_t i = (size_t)(uintptr_t)*state;
	struct sb_kernel_class c = sb_kernel_classify(precisions[i].example);

	assert_true(c.family == SB_KERNEL_GEMM || c.family == SB_KERNEL_CONVOLUTION);
	if (!c.precision || strcmp(c.precision, precisions[i].precision))
		fail_msg("'%s' is taken for %s, not for %s", precisions[i].example,
			c.precision ? c.precision : "nothing", precisions[i].precision);
}

/* An entry's words may occur in names that it is not meant for: "larf" does in "BinaryOpScalarFunctor". */
static void kernels_that_a_gpu_ran_keep_their_families(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(seen); i++) {
		struct sb_kernel_class c = sb_kernel_classify(seen[i].name);
		const char *precision = c.precision ? c.precision : "-";

		if (c.family != seen[i].family || strcmp(precision, seen[i].precision))
			fail_msg("'%s' is %s %s, not %s %s", seen[i].name, sb_kernel_family_name(c.family),
				precision, sb_kernel_family_name(seen[i].family), seen[i].precision);
	}
}

static void a_name_that_says_nothing_is_not_recognised(void **state)
{
	(void)state;
	assert_int_equal(sb_kernel_classify("kernel_0").family, SB_KERNEL_UNRECOGNISED);
	assert_int_equal(sb_kernel_classify("").family, SB_KERNEL_UNRECOGNISED);
	assert_string_equal(sb_kernel_family_name(SB_KERNEL_UNRECOGNISED), "not recognised");
}

int main(void)
{
	static struct CMUnitTest tests[COUNT(entries) + COUNT(precisions) + 2];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(entries); i++)
		tests[n++] = (struct CMUnitTest){ entries[i].words, one_entry, NULL, NULL,
			(void *)(uintptr_t)i };
	for (size_t i = 0; i < COUNT(precisions); i++)
		tests[n++] = (struct CMUnitTest){ precisions[i].words, one_precision, NULL, NULL,
			(void *)(uintptr_t)i };
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(kernels_that_a_gpu_ran_keep_their_families);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_name_that_says_nothing_is_not_recognised);
	return _cmocka_run_group_tests("kernel_names", tests, n, NULL, NULL);
}
