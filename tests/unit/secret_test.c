/* What is masked before it is recorded, and what is left as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/secret.h"

#include <string.h>

static void expect(const char *text, const char *masked)
{
	char out[400];

	sb_secret_mask(text, out, sizeof out);
	assert_string_equal(out, masked);
}

static void values_of_secret_names_are_masked(void **state)
{
	expect("HF_TOKEN=abc python x.py", "HF_TOKEN=*** python x.py");
	expect("--token=abc", "--token=***");
	expect("--db-password 'a b' --steps 3", "--db-password '***' --steps 3");
	expect("{\"apiKey\": \"x y\", \"n\": 1}", "{\"apiKey\": \"***\", \"n\": 1}");
	expect("curl -H 'Authorization: Bearer abc' x", "curl -H 'Authorization: ***' x");
	expect("WANDB_API_KEY='q'", "WANDB_API_KEY='***'");
}

static void passwords_in_urls_are_masked(void **state)
{
	expect("postgres://me:pw@db:5432/x", "postgres://me:***@db:5432/x");
	expect("https://abc@github.com/a", "https://***@github.com/a");
	expect("clickhouse://h:9000/d?password=a&job=2", "clickhouse://h:9000/d?password=***&job=2");
	expect("https://s3/x?X-Amz-Signature=ff&a=1", "https://s3/x?X-Amz-Signature=***&a=1");
	expect("ssh://git@github.com/a", "ssh://git@github.com/a");
	expect("https://example.com/@scope", "https://example.com/@scope");
}

static void tokens_are_known_by_their_form(void **state)
{
	expect("x hf_abcdefghijklmnopqrst y", "x *** y");
	expect("key:AKIAIOSFODNN7EXAMPLE", "key:***");
	expect("hf_short sk-a eyJ", "hf_short sk-a eyJ");
}

static void what_only_sounds_like_it_is_left(void **state)
{
	static const char *const plain[] = { "--max-tokens 77", "--pad-token 0", "sort_key=name",
		"tokenizer=t5", "tokens_per_second=3", "--token-file /tmp/x",
		"python -m a.b --prompt 'a key: to success'", "keyboard=us", "http://host/path", "author=me",
		"" };

	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		expect(plain[i], plain[i]);
}

static void an_option_takes_the_next_argument(void **state)
{
	assert_true(sb_secret_option("--hf-token"));
	assert_true(sb_secret_option("-password"));
	assert_false(sb_secret_option("--token=a"));
	assert_false(sb_secret_option("token"));
	assert_false(sb_secret_option("--max-tokens"));
}

static void what_does_not_fit_is_cut(void **state)
{
	char out[8];

	assert_int_equal(sb_secret_mask("TOKEN=abc and more", out, sizeof out), 1);
	assert_string_equal(out, "TOKEN=*");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_secret_names_are_masked),
		cmocka_unit_test(passwords_in_urls_are_masked),
		cmocka_unit_test(tokens_are_known_by_their_form),
		cmocka_unit_test(what_only_sounds_like_it_is_left),
		cmocka_unit_test(an_option_takes_the_next_argument),
		cmocka_unit_test(what_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
