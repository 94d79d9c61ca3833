/* SHA-256 against the examples of FIPS 180-4; files and folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "root_folder.h"
#include "run/content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *put(const char *name, const char *text)
{
	const char *path = in_root(name);
	struct sb_buf b = { 0 };

	sb_buf_puts(&b, text);
	assert_int_equal(sb_buf_write_file(&b, path, 0600), 0);
	sb_buf_done(&b);
	return path;
}

static void known_sums_come_out(void **state)
{
	char hex[65], *million = malloc(1000000);

	sb_content_sha256("abc", 3, hex);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sb_content_sha256("", 0, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sb_content_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
	assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(million, 'a', 1000000);
	sb_content_sha256(million, 1000000, hex);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

static void a_file_is_read_and_one_too_large_is_not(void **state)
{
	const char *path = put("one", "abc");
	struct sb_content c;

	assert_int_equal(sb_content_read(path, 100, &c), 0);
	assert_int_equal(c.bytes, 3);
	assert_string_equal(c.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(sb_content_read(path, 2, &c), 0);
	assert_string_equal(c.sha256, "");
	assert_true(sb_content_read("/nowhere/at/all", 2, &c) < 0);
}

static void a_folder_changes_with_a_file_or_a_name(void **state)
{
	char path[300], first[65], second[65];
	struct sb_content c;

	snprintf(path, sizeof path, "%s", in_root("pictures"));
	assert_int_equal(mkdir(path, 0700), 0);
	put("pictures/a.png", "1");
	put("pictures/b.png", "2");
	assert_int_equal(sb_content_read(path, 100, &c), 0);
	assert_true(c.folder && c.bytes == 2);
	memcpy(first, c.sha256, sizeof first);
	put("pictures/b.png", "3");
	assert_int_equal(sb_content_read(path, 100, &c), 0);
	memcpy(second, c.sha256, sizeof second);
	assert_string_not_equal(first, second);
	assert_int_equal(rename(in_root("pictures/b.png"), in_root("pictures/c.png")), 0);
	assert_int_equal(sb_content_read(path, 100, &c), 0);
	assert_string_not_equal(second, c.sha256);
}

static void a_copy_never_replaces_a_file(void **state)
{
	const char *to = in_root("copy");
	struct sb_buf b = { 0 };

	assert_int_equal(sb_content_copy(put("from", "text"), to), 0);
	assert_int_equal(sb_buf_read_file(&b, to, 100), 0);
	assert_string_equal(sb_buf_text(&b), "text");
	assert_true(sb_content_copy(put("from", "other"), to) < 0);
	sb_buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_sums_come_out),
		cmocka_unit_test(a_file_is_read_and_one_too_large_is_not),
		cmocka_unit_test(a_folder_changes_with_a_file_or_a_name),
		cmocka_unit_test(a_copy_never_replaces_a_file),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
