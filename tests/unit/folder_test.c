/* Folders that strobe writes to: the user's own, and the same one as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char parent[64];
static int at;

static int setup(void **state)
{
	strcpy(parent, "/tmp/strobe-folder-XXXXXX");
	if (!mkdtemp(parent))
		return -1;
	at = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return mkdirat(at, "own", 0700);
}

static int teardown(void **state)
{
	static const char *const files[] = { "link", "file", "own/file" };
	static const char *const folders[] = { "own", "moved", "other" };

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		unlinkat(at, files[i], 0);
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
		unlinkat(at, folders[i], AT_REMOVEDIR);
	close(at);
	return rmdir(parent); /* fails when something was left behind */
}

static void expect_refused(const char *name, enum sb_folder_trust trust, int why)
{
	assert_int_equal(sb_folder_open(at, name, trust), -1);
	assert_int_equal(errno, why);
}

static void an_own_private_folder_is_opened(void **state)
{
	int fd = sb_folder_open(at, "own", SB_FOLDER_PRIVATE);

	assert_true(fd >= 0);
	close(fd);
}

static void a_link_or_a_file_is_refused(void **state)
{
	assert_int_equal(symlinkat("own", at, "link"), 0);
	close(sb_folder_create(at, "file", 0600));
	assert_int_equal(sb_folder_open(at, "link", SB_FOLDER_PRIVATE), -1);
	expect_refused("file", SB_FOLDER_PRIVATE, ENOTDIR);
}

static void what_others_may_enter_is_not_private(void **state)
{
	int fd;

	assert_int_equal(fchmodat(at, "own", 0755, 0), 0);
	expect_refused("own", SB_FOLDER_PRIVATE, EPERM);
	fd = sb_folder_open(at, "own", SB_FOLDER_OWN);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(fchmodat(at, "own", 0777, 0), 0);
	expect_refused("own", SB_FOLDER_OWN, EPERM);
}

static void a_strangers_folder_is_refused(void **state)
{
	if (geteuid()) {
		print_message("only root can make another user's folder\n");
		skip();
	}
	assert_int_equal(fchownat(at, "own", 65534, 65534, 0), 0);
	expect_refused("own", SB_FOLDER_OWN, EPERM);
	assert_int_equal(fchmodat(at, "own", 0777, 0), 0);
	expect_refused("own", SB_FOLDER_PRIVATE, EPERM);
}

static void another_folder_of_the_same_name_is_noticed(void **state)
{
	int fd = sb_folder_open(at, "own", SB_FOLDER_PRIVATE);
	struct sb_folder known = sb_folder_of(fd), unknown = { 0, 0 };
	char path[80];

	close(fd);
	snprintf(path, sizeof path, "%s/own", parent);
	fd = sb_folder_reopen(path, &known);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(renameat(at, "own", at, "moved"), 0);
	assert_int_equal(mkdirat(at, "own", 0700), 0);
	assert_int_equal(sb_folder_reopen(path, &known), -1);
	assert_int_equal(errno, ESTALE);
	fd = sb_folder_reopen(path, &unknown);
	assert_true(fd >= 0);
	close(fd);
}

static void a_new_file_is_never_an_old_one(void **state)
{
	int fd = sb_folder_create(at, "file", 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sb_folder_create(at, "file", 0600), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(symlinkat("nowhere", at, "link"), 0);
	assert_int_equal(sb_folder_create(at, "link", 0600), -1);
}

static void only_regular_files_are_read(void **state)
{
	int fd;

	close(sb_folder_create(at, "file", 0600));
	fd = sb_folder_read(at, "file");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(symlinkat("file", at, "link"), 0);
	assert_int_equal(sb_folder_read(at, "link"), -1);
	assert_int_equal(sb_folder_read(at, "own"), -1);
	unlinkat(at, "link", 0);
	assert_int_equal(mkfifoat(at, "link", 0600), 0);
	assert_int_equal(sb_folder_read(at, "link"), -1); /* and does not wait for a writer */
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_own_private_folder_is_opened),
		T(a_link_or_a_file_is_refused),
		T(what_others_may_enter_is_not_private),
		T(a_strangers_folder_is_refused),
		T(another_folder_of_the_same_name_is_noticed),
		T(a_new_file_is_never_an_old_one),
		T(only_regular_files_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
