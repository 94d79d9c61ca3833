/* Files that appear whole or not at all, and what must never be replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/newfile.h"
#include "strobe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[128];

static int setup(void **state)
{
	strcpy(folder, "/tmp/strobe-newfile-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/file", folder);
	return 0;
}

static int teardown(void **state)
{
	char link[160];

	snprintf(link, sizeof link, "%s.link", path);
	unlink(link);
	unlink(path);
	return rmdir(folder); /* fails when a temporary name was left behind */
}

static void a_device_stays_a_device(void **state)
{
	struct sb_buf text = { 0 };
	struct stat before, after;
	char fifo[160];
	int reader;

	snprintf(fifo, sizeof fifo, "%s.link", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	reader = open(fifo, O_RDONLY | O_NONBLOCK);
	stat(fifo, &before);
	sb_buf_puts(&text, "through the pipe");
	assert_int_equal(sb_buf_write_file(&text, fifo, 0600), 0);
	stat(fifo, &after);
	assert_true(S_ISFIFO(after.st_mode));
	assert_int_equal(before.st_ino, after.st_ino);
	close(reader);
	sb_buf_done(&text);
}

static void a_link_keeps_pointing_at_its_file(void **state)
{
	struct sb_buf text = { 0 }, back = { 0 };
	struct stat s;
	char link[160];

	snprintf(link, sizeof link, "%s.link", path);
	sb_buf_puts(&text, "old");
	assert_int_equal(sb_buf_write_file(&text, path, 0600), 0);
	assert_int_equal(symlink(path, link), 0);
	sb_buf_clear(&text);
	sb_buf_puts(&text, "new");
	assert_int_equal(sb_buf_write_file(&text, link, 0600), 0);
	assert_int_equal(lstat(link, &s), 0);
	assert_true(S_ISLNK(s.st_mode));
	assert_int_equal(sb_buf_read_file(&back, path, 100), 0);
	assert_string_equal(sb_buf_text(&back), "new");
	sb_buf_done(&text);
	sb_buf_done(&back);
}

static void a_name_of_strobes_own_is_no_link_and_no_pipe(void **state)
{
	struct sb_buf text = { 0 }, back = { 0 };
	struct stat s;
	char own[160];

	snprintf(own, sizeof own, "%s.link", path);
	sb_buf_puts(&text, "precious");
	assert_int_equal(sb_buf_write_file(&text, path, 0600), 0);
	for (int pipe = 0; pipe < 2; pipe++) {
		unlink(own);
		assert_int_equal(pipe ? mkfifo(own, 0600) : symlink(path, own), 0);
		sb_buf_clear(&text);
		sb_buf_puts(&text, "report");
		assert_int_equal(sb_buf_write_own_file(&text, own, 0600), 0);
		assert_int_equal(lstat(own, &s), 0);
		assert_true(S_ISREG(s.st_mode));
	}
	assert_int_equal(sb_buf_read_file(&back, path, 100), 0);
	assert_string_equal(sb_buf_text(&back), "precious");
	sb_buf_done(&text);
	sb_buf_done(&back);
}

static void what_is_not_kept_leaves_nothing(void **state)
{
	struct sb_newfile file;

	assert_int_equal(sb_newfile_open(&file, path, 0600), 0);
	assert_int_equal(write(file.fd, "half", 4), 4);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(sb_newfile_close(&file, false), 0);
	assert_int_equal(access(path, F_OK), -1);
}

/* Whoever can write to the folder can guess the temporary name. */
static void a_link_in_place_of_the_temporary_is_left_alone(void **state)
{
	struct sb_buf text = { 0 }, back = { 0 };
	char victim[160], plain[180], numbered[180];

	snprintf(victim, sizeof victim, "%s.link", path);
	snprintf(plain, sizeof plain, "%s.tmp%ld", path, (long)getpid());
	snprintf(numbered, sizeof numbered, "%s.tmp%ld-0", path, (long)getpid());
	sb_buf_puts(&text, "precious");
	assert_int_equal(sb_buf_write_file(&text, victim, 0600), 0);
	assert_int_equal(symlink(victim, plain), 0);
	assert_int_equal(symlink(victim, numbered), 0);
	sb_buf_clear(&text);
	sb_buf_puts(&text, "new");
	assert_int_equal(sb_buf_write_file(&text, path, 0600), 0);
	assert_int_equal(sb_buf_read_file(&back, victim, 100), 0);
	assert_string_equal(sb_buf_text(&back), "precious");
	assert_int_equal(unlink(plain), 0);
	assert_int_equal(unlink(numbered), 0);
	sb_buf_done(&text);
	sb_buf_done(&back);
}

static void another_users_link_is_refused(void **state)
{
	struct sb_buf text = { 0 };
	char link[160];

	if (geteuid()) {
		print_message("only root can make another user's link\n");
		skip();
	}
	snprintf(link, sizeof link, "%s.link", path);
	sb_buf_puts(&text, "old");
	assert_int_equal(sb_buf_write_file(&text, path, 0600), 0);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(lchown(link, 65534, 65534), 0);
	assert_int_equal(sb_buf_write_file(&text, link, 0600), STROBE_EPERM);
	sb_buf_done(&text);
}

static void a_folder_is_an_error(void **state)
{
	struct sb_newfile file;

	assert_int_not_equal(sb_newfile_open(&file, folder, 0600), 0);
	sb_newfile_close(&file, false);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_device_stays_a_device),
		T(a_link_keeps_pointing_at_its_file),
		T(a_name_of_strobes_own_is_no_link_and_no_pipe),
		T(what_is_not_kept_leaves_nothing),
		T(a_link_in_place_of_the_temporary_is_left_alone),
		T(another_users_link_is_refused),
		T(a_folder_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
