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

static void expect_left(const char *const *plain)
{
	for (; *plain; plain++)
		expect(*plain, *plain);
}

/* The words of a command, the last of which is to be written so. */
#define expect_argument(masked, ...) check_argument(masked, (char *[]){ __VA_ARGS__, NULL })

static void check_argument(const char *masked, char **command)
{
	char out[400];
	size_t last = 0;

	while (command[last + 1])
		last++;
	sb_secret_mask_argument(command, last, out, sizeof out);
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
	expect("connect(password = \"a\\\"b\", user='u')", "connect(password = \"***\", user='u')");
	expect("{\\\"password\\\":\\\"x y\\\"}", "{\\\"password\\\":\\\"***\\\"}");
	expect("the password 'a b' is wrong", "the password '***' is wrong");
	expect("?redirect=u%3Ftoken%3Dabc", "?redirect=u%3Ftoken%3D***");
	expect("--token 'a'\\''b' x", "--token '***' x");
}

static void signs_do_not_end_a_password(void **state)
{
	expect("password=a,b;c|d)e x", "password=*** x");
	expect("f(password=a&b, n=1)", "f(password=***, n=1)");
	expect("Server=h;Pwd=a;b;Database=d", "Server=h;Pwd=***;Database=d");
	expect("DefaultEndpointsProtocol=https;AccountKey=ab/c+d==;E=x",
		"DefaultEndpointsProtocol=https;AccountKey=***;E=x");
	expect("?token=a&b=1", "?token=***&b=1");
}

static void headers_are_masked_to_their_end(void **state)
{
	expect("Proxy-Authorization: Basic bWU6cHc=", "Proxy-Authorization: ***");
	expect("Cookie: session=a; csrf=b", "Cookie: ***");
	expect("auth=Bearer abc rest", "auth=*** rest");
	expect("sent Bearer abc123xyz twice", "sent Bearer *** twice");
	expect("X-Api-Key: abc", "X-Api-Key: ***");
}

static void names_of_many_services_are_known(void **state)
{
	static const char *const names[] = { "api-key", "apikey", "API_KEY", "APIKey", "access_key",
		"hf_token", "HF_TOKEN_2", "TOKEN3", "SECRET_VALUE", "OPENAI_API_KEY_DEV", "FAL_KEY",
		"STABILITY_KEY", "DB_PASS", "smtp-pass", "pass", "GITHUB_PAT", "api_keys", "jwt",
		"aws_session_token", "model.api_key", "--otp", "client_secret", "PGPASSWORD" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		assert_true(sb_secret_name(names[i], strlen(names[i])));
}

static void a_name_that_may_be_one_depends_on_the_value(void **state)
{
	expect("key=0d41b4c0ffee4aa9 x", "key=*** x");
	expect("key=name", "key=name");
	expect("--key tls.pem", "--key tls.pem");
	expect("--pat *.py", "--pat *.py");
}

static void passwords_in_urls_are_masked(void **state)
{
	expect("postgres://me:pw@db:5432/x", "postgres://me:***@db:5432/x");
	expect("https://abc@github.com/a", "https://***@github.com/a");
	expect("clickhouse://h:9000/d?password=a&job=2", "clickhouse://h:9000/d?password=***&job=2");
	expect("https://s3/x?X-Amz-Signature=ff&a=1", "https://s3/x?X-Amz-Signature=***&a=1");
	expect("ssh://git@github.com/a", "ssh://git@github.com/a");
	expect("https://example.com/@scope", "https://example.com/@scope");
	expect("postgres://me:p/w#1@db/x", "postgres://me:***@db/x");
	expect("mysql://me:p?w@db/x", "mysql://me:***@db/x");
	expect("redis://:pw@h:6379/0", "redis://:***@h:6379/0");
	expect("https://abc:@api.x.org/a", "https://***:@api.x.org/a");
	expect("http://h:8080/a@b", "http://h:8080/a@b");
	expect("me:pw@db.example.org/x", "me:***@db.example.org/x");
	expect("https://hooks.slack.com/services/T0/B0/xyz now", "https://hooks.slack.com/services/*** now");
	expect("rtsp://admin:pw@10.0.0.1/cam", "rtsp://admin:***@10.0.0.1/cam");
}

static void tokens_are_known_by_their_form(void **state)
{
	expect("x hf_abcdefghijklmnopqrst y", "x *** y");
	expect("key:AKIAIOSFODNN7EXAMPLE", "key:***");
	expect("hf_short sk-a eyJ", "hf_short sk-a eyJ");
	expect("-thf_abcdefghijklmnopqrst", "-t***");
	expect("gsk_0123456789abcdef0123456789abcdef", "***");
	expect("nvapi-0123456789abcdef0123456789abcdef", "***");
	expect("run-hf_abcdefghijklmnopqrst", "run-***");
	expect("hf_long_name_of_a_module", "hf_long_name_of_a_module");
	expect("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "***");
}

static void what_only_sounds_like_it_is_left(void **state)
{
	static const char *const plain[] = { "--max-tokens 77", "--pad-token 0", "sort_key=name",
		"tokenizer=t5", "tokens_per_second=3", "--token-file /tmp/x",
		"python -m a.b --prompt 'a key: to success'", "keyboard=us", "http://host/path", "author=me",
		"", "--tokenizer t5", "--keyframes 12", "--key-frames=3", "--hotkey f5", "--passes 2",
		"--bypass x", "--secretary s", "--token-merging 0.5", "--num-image-tokens 3", "image_token=7",
		"--public-key k", "PWD=/work", "--use-auth true", "token=None", "--no-auth x.py",
		"--prompt 'tokens: many'", "sha256:9f86d081884c7d659a2feaa0c55ad015",
		"nvcr.io/x:24.01@sha256:9f86d081884c7d65",
		"--revision 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "npm:lodash@4.17.21",
		"git@github.com:a/b", "mailto:me@example.org", "ssh -p 2222 h",
		"docker run -p 8080:80 -u 1000:1000 x", "strobe::token::next", "Cannot pass 'force' twice",
		"1920:1080", "--signal 9", NULL };

	expect_left(plain);
}

static void an_argument_ends_where_it_ends(void **state)
{
	expect_argument("***", "x", "--password", "a b$c");
	expect_argument("--password=***", "x", "--password=a b;c 'd");
	expect_argument("--env=HF_TOKEN=***", "docker", "--env=HF_TOKEN=a b");
	expect_argument("HF_TOKEN=***", "env", "HF_TOKEN=a b");
	expect_argument("+auth.token=***", "x", "+auth.token=a,b");
	expect_argument("TOKEN=*** x --steps 3", "sh", "-c", "TOKEN=a x --steps 3");
	expect_argument("Authorization: ***", "curl", "-H", "Authorization: Bearer a \"b\"");
	expect_argument("--header=X-Api-Key: ***", "curl", "--header=X-Api-Key: a b");
	expect_argument("-HX-Api-Key: ***", "curl", "-HX-Api-Key: a b");
	expect_argument("password: ***, n: 1", "x", "password: a, n: 1");
	expect_argument("***", "wandb", "login", "0123456789abcdef0123456789abcdef01234567");
}

static void options_of_some_programs_take_a_password(void **state)
{
	expect_argument("-p***", "/usr/bin/mysql", "-u", "root", "-ps3cret");
	expect_argument("***", "sshpass", "-p", "a b");
	expect_argument("***", "docker", "login", "-u", "me", "-p", "pw");
	expect_argument("me:***", "curl", "-u", "me:p w");
	expect_argument("-ume:***", "curl", "-ume:pw");
	expect_argument("-p***", "tool", "-pS3cr$t");
	expect_argument("mysql -p*** db", "sh", "-c", "mysql -pS3cr$t db");
	expect_argument("curl -u me:*** http://h", "sh", "-c", "curl -u me:pw http://h");
}

static void other_arguments_are_left(void **state)
{
	expect_argument("t5", "x", "--tokenizer", "t5");
	expect_argument("100", "x", "--max-tokens", "100");
	expect_argument("12", "x", "--keyframes", "12");
	expect_argument("--steps", "x", "--auth", "--steps");
	expect_argument("true", "x", "--use-auth-token", "true");
	expect_argument("-p8080:80", "docker", "run", "-p8080:80");
	expect_argument("db", "mysql", "-p", "db");
	expect_argument("-pthread", "gcc", "-pthread");
	expect_argument("-pix_fmt", "ffmpeg", "-pix_fmt");
	expect_argument("x.py", "python", "-u", "x.py");
	expect_argument("login", "wandb", "login");
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
		cmocka_unit_test(signs_do_not_end_a_password),
		cmocka_unit_test(headers_are_masked_to_their_end),
		cmocka_unit_test(names_of_many_services_are_known),
		cmocka_unit_test(a_name_that_may_be_one_depends_on_the_value),
		cmocka_unit_test(passwords_in_urls_are_masked),
		cmocka_unit_test(tokens_are_known_by_their_form),
		cmocka_unit_test(what_only_sounds_like_it_is_left),
		cmocka_unit_test(an_argument_ends_where_it_ends),
		cmocka_unit_test(options_of_some_programs_take_a_password),
		cmocka_unit_test(other_arguments_are_left),
		cmocka_unit_test(what_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
