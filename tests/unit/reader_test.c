/* The reader: sound files, cut files, damaged files. */
#include "small_recording.h"

static void everything_written_is_read(void **state)
{
	uint64_t damaged;

	write_small(in_root("a.strobe"));
	assert_int_equal(zones_of(in_root("a.strobe"), &damaged), 600);
	assert_int_equal(damaged, 0);
}

static void reading_stops_at_the_first_zero_word(void **state)
{
	uint64_t damaged;
	int64_t zones = zones_with_word(100, 0, &damaged);

	assert_int_equal(damaged, 0);
	assert_true(zones > 400 && zones < 600);
}

static void what_is_no_file_is_refused_at_once(void **state)
{
	struct sb_run *run;

	assert_int_equal(mkfifo(in_root("pipe"), 0600), 0);
	assert_int_equal(sb_run_open(in_root("pipe"), NULL, &run), STROBE_EFORMAT);
	assert_non_null(strstr(sb_error_message(), "neither a file nor a folder"));
}

/* None of them is waited for or followed; the recording beside them is read. */
static void what_is_no_file_in_a_run_folder_is_left_out(void **state)
{
	char outside[] = "/tmp/strobe-outside-XXXXXX.strobe";
	struct sb_run *run;

	close(mkstemps(outside, 7));
	write_small(outside);
	assert_int_equal(mkfifo(in_root("pipe.strobe"), 0600), 0);
	assert_int_equal(mkfifo(in_root("pipe.strobe.spool"), 0600), 0);
	assert_int_equal(mkdir(in_root("folder.strobe"), 0700), 0);
	assert_int_equal(symlink(outside, in_root("link.strobe")), 0);
	assert_int_equal(sb_run_open(root, NULL, &run), STROBE_EFORMAT);
	write_small(in_root("a.strobe"));
	assert_int_equal(sb_run_open(root, NULL, &run), 0);
	assert_int_equal(run->process_count, 1);
	assert_string_equal(run->processes[0].reader->path, in_root("a.strobe"));
	assert_int_equal(run->warning_count, 3);
	sb_run_close(run);
	assert_int_equal(sb_run_open(in_root("link.strobe"), NULL, &run), 0); /* named by the user */
	sb_run_close(run);
	unlink(outside);
}

static void a_config_that_is_no_file_is_refused_at_once(void **state)
{
	struct sb_buf b = { 0 };

	assert_int_equal(mkfifo(in_root("pipe"), 0600), 0);
	assert_int_equal(sb_buf_read_file(&b, in_root("pipe"), 1 << 20), STROBE_EFORMAT);
	assert_int_equal(sb_buf_read_file(&b, root, 1 << 20) < 0, true);
	assert_int_equal(sb_buf_read_file(&b, "/dev/zero", 1 << 20), STROBE_EFORMAT);
	sb_buf_done(&b);
}

static void records_from_the_future_are_skipped_by_their_length(void **state)
{
	struct sb_builder *b;
	struct sb_run *run;
	const uint64_t payload[3] = { 1, 2, 3 };

	assert_int_equal(sb_builder_open(in_root("a.strobe"), NULL, &b), 0);
	sb_builder_record(b, 200, 7, payload, 3);
	sb_builder_snapshot(b, 5, "still_read", 0, 1, 2, 3);
	assert_int_equal(sb_builder_close(b, 10), 0);
	assert_int_equal(sb_run_open(in_root("a.strobe"), NULL, &run), 0);
	assert_int_equal(sb_run_visit(run, NULL, 0), 0);
	assert_int_equal(sb_run_pass(run)->unknown_records, 1);
	assert_int_equal(sb_run_pass(run)->events, 1);
	sb_run_close(run);
}

static void what_is_not_a_recording_is_refused_with_its_name(void **state)
{
	struct sb_reader *r;
	struct sb_file_header h = { .version = 99 };

	write_bytes(in_root("x.strobe"), "hello, this is no recording at all", 34);
	assert_int_equal(sb_reader_open(in_root("x.strobe"), &r), STROBE_EFORMAT);
	assert_non_null(strstr(sb_error_message(), "x.strobe"));
	memcpy(h.magic, SB_MAGIC, 8);
	write_bytes(in_root("x.strobe"), &h, sizeof h);
	assert_int_equal(sb_reader_open(in_root("x.strobe"), &r), STROBE_EFORMAT);
	assert_non_null(strstr(sb_error_message(), "version 99"));
	assert_int_equal(sb_reader_open(in_root("none.strobe"), &r), STROBE_ENOENT);
}

static void a_file_without_an_end_reaches_to_its_last_word(void **state)
{
	struct sb_builder *b;
	struct sb_stream_writer *w;
	struct sb_run *run;

	assert_int_equal(sb_builder_open(in_root("a.strobe"), NULL, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	sb_builder_begin(w, 100, sb_builder_name(b, "killed", NULL));
	sb_builder_mark(w, 5000, sb_builder_name(b, "last", NULL));
	assert_int_equal(sb_builder_abandon(b), 0);
	assert_int_equal(sb_run_open(in_root("a.strobe"), NULL, &run), 0);
	assert_false(run->complete);
	assert_false(run->live);
	assert_int_equal(run->wall_ns, 5000);
	assert_int_equal(sb_run_visit(run, NULL, 0), 0);
	assert_int_equal(sb_run_pass(run)->open_zones, 1);
	sb_run_close(run);
}

static void the_specification_says_how_much_of_the_header_is_used(void **state)
{
	struct sb_buf page = { 0 };
	char used[64];

	assert_int_equal(sb_buf_read_file(&page, STROBE_SOURCE_DIR "/docs/format.md", 1 << 20), 0);
	snprintf(used, sizeof used, "(%zu of them used)", sizeof(struct sb_file_header));
	assert_non_null(memmem(page.data, page.size, used, strlen(used)));
	sb_buf_done(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(everything_written_is_read),
		T(reading_stops_at_the_first_zero_word),
		T(what_is_no_file_is_refused_at_once),
		T(what_is_no_file_in_a_run_folder_is_left_out),
		T(a_config_that_is_no_file_is_refused_at_once),
		T(records_from_the_future_are_skipped_by_their_length),
		T(what_is_not_a_recording_is_refused_with_its_name),
		T(a_file_without_an_end_reaches_to_its_last_word),
		T(the_specification_says_how_much_of_the_header_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
