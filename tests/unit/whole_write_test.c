/* Writing whole: through a pipe that takes a little at a time, at an offset, into what cannot be written. */
#include "base/whole_write.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BYTES = 300000 }; /* more than a pipe holds */

static void *read_all(void *fd)
{
	static char got[BYTES];
	size_t have = 0;
	ssize_t n;

	while ((n = read(*(int *)fd, got + have, 1000)) > 0)
		have += (size_t)n;
	return have == BYTES ? got : NULL;
}

static void what_takes_many_calls_is_written_in_order(void **state)
{
	char *bytes = malloc(BYTES);
	int ends[2];
	pthread_t reader;
	void *got;

	assert_non_null(bytes);
	for (int i = 0; i < BYTES; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_all, &ends[0]), 0);
	assert_true(sb_write_whole(ends[1], bytes, BYTES));
	close(ends[1]);
	pthread_join(reader, &got);
	close(ends[0]);
	assert_non_null(got);
	assert_memory_equal(got, bytes, BYTES);
	free(bytes);
}

static void an_offset_is_kept(void **state)
{
	char path[] = "/tmp/strobe-whole-XXXXXX", got[8];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_true(sb_write_whole(fd, "....", 4));
	assert_true(sb_write_whole_at(fd, "ab", 2, 1));
	assert_true(sb_write_whole(fd, "!", 1)); /* where the first one ended */
	assert_int_equal(pread(fd, got, sizeof got, 0), 5);
	assert_memory_equal(got, ".ab.!", 5);
	close(fd);
}

static void what_cannot_be_written_is_told_with_its_reason(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC),
	    read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_false(sb_write_whole(full, "a", 1));
	assert_int_equal(errno, ENOSPC);
	assert_false(sb_write_whole_at(read_only, "a", 1, 0));
	assert_int_equal(errno, EBADF);
	assert_true(sb_write_whole(read_only, NULL, 0)); /* nothing to write */
	close(full);
	close(read_only);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_takes_many_calls_is_written_in_order),
		cmocka_unit_test(an_offset_is_kept),
		cmocka_unit_test(what_cannot_be_written_is_told_with_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
