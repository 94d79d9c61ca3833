/* The vocabulary of kernels: every entry by the real name beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/gpu/kernel_names.h"

#include <stdbool.h>
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
#undef SEEN
};

static const struct {
	enum sb_kernel_family family;
	const char *kind, *precision, *name;
} elsewhere[] = {
#define SEEN(family, kind, precision, name) { SB_KERNEL_##family, kind, precision, name },
#include "kernels_seen_elsewhere.inc"
#undef SEEN
};

/* Words that no name is known for yet. A word that is new brings a name instead. */
static const char *const words_without_a_name[] = { "implicit_gemm", "convolve_", "xmma" };

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

static void kernels_seen_elsewhere_keep_their_families(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(elsewhere); i++) {
		struct sb_kernel_class c = sb_kernel_classify(elsewhere[i].name);
		const char *kind = c.kind ? c.kind : "-", *precision = c.precision ? c.precision : "-";

		if (c.family != elsewhere[i].family || strcmp(kind, elsewhere[i].kind) ||
			strcmp(precision, elsewhere[i].precision))
			fail_msg("'%s' is %s, %s, %s, not %s, %s, %s", elsewhere[i].name,
				sb_kernel_family_name(c.family), kind, precision,
				sb_kernel_family_name(elsewhere[i].family), elsewhere[i].kind,
				elsewhere[i].precision);
	}
}

/* ---- every word of the table has a name that it is there for ---- */

static bool brings(const char *name, size_t entry, const char *part, bool at_start)
{
	const char *found = strcasestr(name, part);

	return found && (!at_start || found == name) && sb_kernel_classify(name).entry == (int)entry;
}

static bool has_a_name(size_t entry, const char *part, bool at_start)
{
	for (size_t i = 0; i < COUNT(entries); i++)
		if (brings(entries[i].example, entry, part, at_start))
			return true;
	for (size_t i = 0; i < COUNT(precisions); i++)
		if (brings(precisions[i].example, entry, part, at_start))
			return true;
	for (size_t i = 0; i < COUNT(seen); i++)
		if (brings(seen[i].name, entry, part, at_start))
			return true;
	for (size_t i = 0; i < COUNT(elsewhere); i++)
		if (brings(elsewhere[i].name, entry, part, at_start))
			return true;
	return false;
}

static bool is_excepted(const char *part)
{
	for (size_t i = 0; i < COUNT(words_without_a_name); i++)
		if (!strcmp(part, words_without_a_name[i]))
			return true;
	return false;
}

static void check_word(size_t entry, char *word)
{
	bool at_start = *word == '^';
	char *rest = NULL;

	if (*word == '!')
		return;
	for (char *part = strtok_r(word + at_start, "|", &rest); part; part = strtok_r(NULL, "|", &rest)) {
		bool named = has_a_name(entry, part, at_start);

		if (!named && !is_excepted(part))
			fail_msg("no name in the lists is taken by '%s' of '%s'", part, entries[entry].words);
		if (named && is_excepted(part))
			fail_msg("'%s' has a name: it is no exception any more", part);
	}
}

static void every_word_has_a_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(entries); i++) {
		char words[512], *rest = NULL;

		assert_true(strlen(entries[i].words) < sizeof words);
		strcpy(words, entries[i].words);
		for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
			check_word(i, word);
	}
}

/* These names are made up: as programs call their own kernels. */
static void a_word_within_a_name_of_ones_own_counts(void **state)
{
	(void)state;
	assert_int_equal(sb_kernel_classify("extra_matmul").family, SB_KERNEL_GEMM);
	assert_null(sb_kernel_classify("extra_matmul").kind);
	assert_int_equal(sb_kernel_classify("my_triton_fused_step").family, SB_KERNEL_ELEMENTWISE);
	assert_string_equal(sb_kernel_classify("my_triton_fused_step").kind, "Triton");
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
	static struct CMUnitTest tests[COUNT(entries) + COUNT(precisions) + 5];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(entries); i++)
		tests[n++] = (struct CMUnitTest){ entries[i].words, one_entry, NULL, NULL,
			(void *)(uintptr_t)i };
	for (size_t i = 0; i < COUNT(precisions); i++)
		tests[n++] = (struct CMUnitTest){ precisions[i].words, one_precision, NULL, NULL,
			(void *)(uintptr_t)i };
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(kernels_that_a_gpu_ran_keep_their_families);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(kernels_seen_elsewhere_keep_their_families);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_word_has_a_name);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_word_within_a_name_of_ones_own_counts);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_name_that_says_nothing_is_not_recognised);
	return _cmocka_run_group_tests("kernel_names", tests, n, NULL, NULL);
}
