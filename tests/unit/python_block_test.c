/* Blocks of Python's source, read from the file that a recording names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/python_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_all(int fd, const char *text)
{
	FILE *file = fdopen(fd, "w");

	fputs(text, file);
	fclose(file);
}

static void a_line_is_inside_the_with_around_it(void **state)
{
	char path[] = "/tmp/strobe-block-XXXXXX";

	(void)state;
	write_all(mkstemp(path), "def f():\n    with lock:\n        work()\n    rest()\n");
	assert_true(sb_python_is_inside_with(path, 3, "lock"));
	assert_false(sb_python_is_inside_with(path, 4, "lock"));
	assert_false(sb_python_is_inside_with(path, 3, "other"));
	unlink(path);
}

/* A program that was run as `python /dev/stdin`: the tool's own input is not that. */
static void standard_input_is_not_read(void **state)
{
	int ends[2], before = dup(STDIN_FILENO);
	char left[8];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "with l:\n", 8), 8);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	assert_false(sb_python_is_inside_with("/dev/stdin", 1, "l"));
	assert_int_equal(read(STDIN_FILENO, left, sizeof left), 8);
	dup2(before, STDIN_FILENO);
	close(ends[0]);
	close(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_inside_the_with_around_it),
		cmocka_unit_test(standard_input_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
