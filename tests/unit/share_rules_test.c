/* What strobe share removes, and what it leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exchange/share.h"

#include <stdio.h>
#include <string.h>

/* Hashes as '#', so that a test can write them. */
static const char *plain(char *text)
{
	char *to = text;

	for (char *at = text; *at;) {
		*to++ = *at;
		if (*at++ == '#')
			at += strspn(at, "0123456789abcdef");
	}
	*to = 0;
	return text;
}

static void assert_clean(const char *before, const char *after)
{
	char *hosts[] = { "gpu7.example" };
	struct sb_share s = { .key = { 1, 2 }, .hosts = hosts, .host_count = 1 };
	char text[256];

	snprintf(text, sizeof text, "%s", before);
	sb_share_clean(&s, text, strlen(text));
	assert_in_range(strlen(text), 0, strlen(before));
	assert_string_equal(plain(text), after);
}

static void folders_go_and_file_names_stay(void **state)
{
	assert_clean("/home/ann/secret/wan.py", "#/wan.py");
	assert_clean("cannot open '/data/x/y.bin': gone", "cannot open '#/y.bin': gone");
	assert_clean("~/runs/last", "#/last");
	assert_clean("out=/srv/a/b, in=/srv/a/c", "out=#/b, in=#/c");
	assert_clean("/home/ann/env/lib/python3.11/site-packages/torch/nn/m.py",
		"#/lib/python3.11/site-packages/torch/nn/m.py");
	assert_clean("/opt/x/diffusers/pipelines/wan.py", "#/diffusers/pipelines/wan.py");
	assert_clean("/tmp", "/tmp"); /* no folder before it */
	assert_clean("/", "/");
}

static void words_that_are_no_paths_stay(void **state)
{
	static const char *const words[] = { "2.1 GB/s", "and/or", "a / b", "model.safetensors", "//",
		"offload:text", "./strobe-runs", "http://x", "" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		assert_clean(words[i], words[i]);
}

static void host_names_inside_a_text_are_hashed(void **state)
{
	assert_clean("rank 3 on gpu7.example died", "rank 3 on # died");
	assert_clean("gpu7.exampl", "gpu7.exampl");
}

static void the_same_text_has_the_same_hash_under_one_key(void **state)
{
	struct sb_share s = { .key = { 1, 2 } }, other = { .key = { 1, 3 } };
	char a[32] = "a secret cat", b[64] = "a secret cat", c[32] = "a secret cat", short_one[3] = "ann";

	sb_share_hash(&s, SB_SHARE_TAGS, a, sizeof a);
	sb_share_hash(&s, SB_SHARE_TAGS, b, sizeof b);
	sb_share_hash(&other, SB_SHARE_TAGS, c, sizeof c);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	assert_int_equal(strlen(a), 9);
	sb_share_hash(&s, SB_SHARE_TAGS, short_one, sizeof short_one);
	assert_int_equal(short_one[0], '#');
	assert_int_equal(s.summary.counts[SB_SHARE_TAGS], 3);
}

/* The key of SipHash-2-4's reference vectors; the value comes from an implementation that reproduces them. */
static void hashes_are_siphash(void **state)
{
	struct sb_share s = { .key = { 0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull } };
	char text[32] = "\x01\x02\x03\x04\x05\x06\x07\x08\x09";

	sb_share_hash(&s, SB_SHARE_TAGS, text, sizeof text);
	assert_string_equal(text, "#b0238000");
	memset(text, 0, sizeof text);
	sb_share_hash(&s, SB_SHARE_TAGS, text, sizeof text); /* nothing is nothing */
	assert_int_equal(text[0], 0);
}

static void single_words_of_known_keys_stay(void **state)
{
	struct sb_share s = { .key = { 1, 2 } };
	char dtype[16] = "bf16", sentence[16] = "a cat, rain", prompt[16] = "cat";

	sb_share_attached(&s, "dtype", dtype, sizeof dtype);
	assert_string_equal(dtype, "bf16");
	sb_share_attached(&s, "dtype", sentence, sizeof sentence);
	assert_int_equal(sentence[0], '#');
	sb_share_attached(&s, "prompt", prompt, sizeof prompt);
	assert_int_equal(prompt[0], '#');
	assert_int_equal(s.summary.counts[SB_SHARE_TEXTS], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_go_and_file_names_stay),
		cmocka_unit_test(words_that_are_no_paths_stay),
		cmocka_unit_test(host_names_inside_a_text_are_hashed),
		cmocka_unit_test(the_same_text_has_the_same_hash_under_one_key),
		cmocka_unit_test(hashes_are_siphash),
		cmocka_unit_test(single_words_of_known_keys_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
