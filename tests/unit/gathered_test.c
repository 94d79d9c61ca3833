/* Small recordings in one file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/folder.h"
#include "format/gathered.h"
#include "format/reader.h"
#include "synthetic.h"

#include <fcntl.h>
#include <sys/stat.h>

static char folder[64], gathered[96];

static int setup(void **state)
{
	strcpy(folder, "/tmp/strobe-gathered-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(gathered, sizeof gathered, "%s/run.workers.strobe", folder);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

/* A recording of one zone, with room at its end that was never used. */
static int record(uint32_t pid)
{
	struct sb_builder_options o = { .rank = -1,
		.local_rank = -1,
		.chunk_bytes = 4096,
		.pid = pid,
		.ppid = 1,
		.session = pid,
		.start_mono_ns = SECOND,
		.start_real_ns = 1700000000 * SECOND };
	struct sb_builder *b;
	struct sb_stream_writer *w;
	char path[128];

	snprintf(path, sizeof path, "%s/run.%u.strobe", folder, pid);
	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	sb_builder_begin(w, 0, sb_builder_name(b, "work", NULL));
	sb_builder_end(w, SECOND, 0);
	assert_int_equal(sb_builder_close(b, SECOND), 0);
	assert_int_equal(truncate(path, 65536), 0);
	return open(path, O_RDWR | O_CLOEXEC);
}

static int begin(void)
{
	int fd = sb_folder_create(AT_FDCWD, gathered, 0600);

	assert_true(fd >= 0 && sb_gathered_begin(fd));
	return fd;
}

static void every_part_reads_as_its_recording(void **state)
{
	struct sb_gathered_part *parts;
	size_t count;
	int fd = begin();

	for (uint32_t pid = 10; pid < 13; pid++) {
		int recording = record(pid);

		assert_true(sb_gathered_add(fd, recording));
		close(recording);
	}
	close(fd);
	assert_true(sb_gathered_is(gathered));
	assert_int_equal(sb_gathered_list(gathered, &parts, &count), 0);
	assert_int_equal(count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		struct sb_reader *r;

		assert_true(parts[i].bytes < 65536);
		assert_int_equal(sb_reader_open_part(gathered, parts[i].offset, parts[i].bytes, &r), 0);
		assert_int_equal(r->head.pid, 10 + i);
		assert_int_equal(
			r->damage[SB_DAMAGE_MISSING].count + r->damage[SB_DAMAGE_TRUNCATED].count, 0);
		assert_true(r->chunk_count >= 2);
		sb_reader_close(r);
	}
	free(parts);
}

static void a_part_that_was_only_begun_is_not_there(void **state)
{
	struct sb_gathered_part *parts;
	int fd = begin(), recording = record(10);
	struct stat st;
	size_t count;

	assert_true(sb_gathered_add(fd, recording));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pwrite(fd, "half a recording", 16, st.st_size), 16); /* then it was killed */
	assert_int_equal(sb_gathered_list(gathered, &parts, &count), 0);
	assert_int_equal(count, 1);
	free(parts);
	assert_true(sb_gathered_add(fd, recording));
	assert_int_equal(sb_gathered_list(gathered, &parts, &count), 0);
	assert_int_equal(count, 2);
	free(parts);
	close(recording);
	close(fd);
}

static void what_is_no_recording_is_not_added(void **state)
{
	struct sb_gathered_part *parts;
	int fd = begin(), other = record(10);
	size_t count;

	assert_int_equal(pwrite(other, "something else", 14, 0), 14);
	assert_false(sb_gathered_add(fd, other));
	assert_int_equal(ftruncate(other, 100), 0);
	assert_false(sb_gathered_add(fd, other));
	assert_int_equal(sb_gathered_list(gathered, &parts, &count), 0);
	assert_int_equal(count, 0);
	free(parts);
	close(other);
	close(fd);
}

static void parts_before_a_damage_are_listed(void **state)
{
	struct sb_gathered_part *parts;
	int fd = begin(), recording = record(10);
	size_t count;

	for (int i = 0; i < 4; i++)
		assert_true(sb_gathered_add(fd, recording));
	assert_int_equal(sb_gathered_list(gathered, &parts, &count), 0);
	assert_int_equal(count, 4);
	assert_int_equal(pwrite(fd, "x", 1, (off_t)parts[2].offset), 1);
	free(parts);
	assert_int_equal(sb_gathered_list(gathered, &parts, &count), STROBE_EFORMAT);
	assert_int_equal(count, 2);
	free(parts);
	close(recording);
	close(fd);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(every_part_reads_as_its_recording),
		T(a_part_that_was_only_begun_is_not_there),
		T(what_is_no_recording_is_not_added),
		T(parts_before_a_damage_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
