/* RUN as the user names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "root_folder.h"
#include "synthetic.h"

#include <sys/stat.h>

static int make_output_folder(void **state)
{
	return make_root(state) ? -1 : setenv("STROBE_OUTPUT_DIR", root, 1);
}

static void record(const char *folder, const char *file, uint32_t pid, uint64_t session, uint64_t start_s)
{
	struct sb_builder_options o = { .rank = -1,
		.local_rank = -1,
		.chunk_bytes = 4096,
		.pid = pid,
		.ppid = 1,
		.session = session,
		.start_mono_ns = start_s * SECOND,
		.start_real_ns = (1700000000 + start_s) * SECOND };
	char path[256];
	struct sb_builder *b;
	struct sb_stream_writer *w;

	mkdir(in_root(folder), 0700);
	snprintf(path, sizeof path, "%s/%s/%s", root, folder, file);
	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	sb_builder_begin(w, 0, sb_builder_name(b, "work", NULL));
	sb_builder_end(w, SECOND, 0);
	assert_int_equal(sb_builder_close(b, SECOND), 0);
}

static void expect_path(const char *spec, const char *name)
{
	char path[256];

	assert_int_equal(sb_run_resolve(spec, path, sizeof path), 0);
	assert_string_equal(path, in_root(name));
}

static void last_is_the_newest_folder_with_a_recording(void **state)
{
	char path[256];

	record("wan-20260101-120000-10", "run.strobe", 10, 1, 1);
	record("abc-20260301-090000-11", "run.strobe", 11, 2, 2); /* newer by its name */
	record("zzz-20260201-235959-12", "run.strobe", 12, 3, 3);
	mkdir(in_root("empty-20270101-000000-1"), 0700);
	assert_int_equal(symlink("wan-20260101-120000-10", in_root("last")), 0);
	expect_path(NULL, "abc-20260301-090000-11");
	expect_path("last", "abc-20260301-090000-11");
	expect_path("last~1", "zzz-20260201-235959-12");
	expect_path("last~2", "wan-20260101-120000-10");
	assert_int_equal(sb_run_resolve("last~3", path, sizeof path), STROBE_ENOENT);
	assert_non_null(strstr(sb_error_message(), "holds 3 runs"));
	assert_int_equal(sb_run_resolve("last~x", path, sizeof path), STROBE_EINVAL);
}

/* A configuration's output_dir, after the program has ended: its link leads there. */
static void the_newest_run_is_last_also_in_a_folder_with_a_link(void **state)
{
	char here[256], path[256], *was = getcwd(NULL, 0);

	record("chosen", "ignored.strobe", 1, 1, 0);
	unlink(in_root("chosen/ignored.strobe"));
	record("chosen/a-20260101-120000-7", "run.strobe", 7, 7, 100);
	record("plain", "ignored.strobe", 1, 1, 0); /* no link: not a folder of runs */
	snprintf(here, sizeof here, "%s", root);
	snprintf(path, sizeof path, "%s/chosen/last", root);
	assert_int_equal(symlink("a-20260101-120000-7", path), 0);
	unsetenv("STROBE_OUTPUT_DIR");
	assert_int_equal(chdir(here), 0);
	assert_int_equal(sb_run_resolve("last", path, sizeof path), 0);
	assert_string_equal(path, "./chosen/a-20260101-120000-7");
	/* the newest wins, wherever it is: also where ./strobe-runs has one, and among the ranks of a job */
	for (const char *const *folder = (const char *const[]){ "strobe-runs", "job", "job/rank_0", NULL };
		*folder; folder++)
		assert_int_equal(mkdir(in_root(*folder), 0700), 0);
	record("strobe-runs/b-20260101-130000-8", "run.strobe", 8, 8, 100);
	assert_int_equal(sb_run_resolve("last", path, sizeof path), 0);
	assert_string_equal(path, "./strobe-runs/b-20260101-130000-8");
	record("chosen/c-20260101-140000-9", "run.strobe", 9, 9, 100);
	assert_int_equal(sb_run_resolve("last", path, sizeof path), 0);
	assert_string_equal(path, "./chosen/c-20260101-140000-9");
	record("job/rank_0/d-20260101-150000-9", "run.strobe", 10, 10, 100);
	snprintf(path, sizeof path, "%s/job/rank_0/last", root);
	assert_int_equal(symlink("d-20260101-150000-9", path), 0);
	assert_int_equal(sb_run_resolve("last", path, sizeof path), 0);
	assert_string_equal(path, "./job/rank_0/d-20260101-150000-9");
	assert_int_equal(chdir(was), 0);
	setenv("STROBE_OUTPUT_DIR", root, 1);
	free(was);
}

static void an_empty_folder_is_a_loud_error(void **state)
{
	struct sb_run *run;

	mkdir(in_root("empty"), 0700);
	assert_int_equal(sb_run_open(in_root("empty"), NULL, &run), STROBE_ENOENT);
	assert_non_null(strstr(sb_error_message(), "holds no recording"));
	assert_int_equal(sb_run_open("last", NULL, &run), STROBE_ENOENT);
	assert_int_equal(sb_run_open(in_root("not there"), NULL, &run), STROBE_ENOENT);
}

static void a_folder_of_ranks_says_how_to_go_on(void **state)
{
	struct sb_run *run;

	mkdir(in_root("job"), 0700);
	record("job/rank_0", "run.strobe", 10, 1, 1);
	record("job/rank_1", "run.strobe", 11, 2, 1);
	assert_int_equal(sb_run_open(in_root("job"), NULL, &run), STROBE_ENOENT);
	assert_non_null(strstr(sb_error_message(), "2 ranks"));
	assert_non_null(strstr(sb_error_message(), "aggregate"));
	assert_int_equal(sb_run_open(in_root("job/rank_1"), NULL, &run), 0);
	sb_run_close(run);
}

/* Section 3, error 7: an earlier session must not leak into the next. */
static void of_two_sessions_in_a_folder_the_newest_is_read(void **state)
{
	struct sb_run *run;

	record("twice", "run.10.strobe", 10, 1, 100);
	record("twice", "run.11.strobe", 11, 2, 200);
	assert_int_equal(sb_run_open(in_root("twice"), NULL, &run), 0);
	assert_int_equal(run->process_count, 1);
	assert_int_equal(run->processes[0].pid, 11);
	assert_int_equal(run->warning_count, 1);
	assert_non_null(strstr(run->warnings[0], "run.10.strobe"));
	sb_run_close(run);
	record("together", "run.10.strobe", 10, 1, 100);
	record("together", "run.11.strobe", 11, 1, 200); /* the same session: a process of it */
	assert_int_equal(sb_run_open(in_root("together"), NULL, &run), 0);
	assert_int_equal(run->process_count, 2);
	assert_int_equal(run->wall_ns, 101 * SECOND);
	sb_run_close(run);
}

static void a_broken_file_beside_a_good_one_is_named_and_left_out(void **state)
{
	struct sb_run *run;
	FILE *f;

	record("mixed", "run.strobe", 10, 1, 100);
	f = fopen(in_root("mixed/run.99.strobe"), "w");
	fputs("nonsense", f);
	fclose(f);
	assert_int_equal(sb_run_open(in_root("mixed"), NULL, &run), 0);
	assert_int_equal(run->process_count, 1);
	assert_non_null(strstr(run->warnings[0], "run.99.strobe"));
	sb_run_close(run);
}

static void times_are_read_with_their_units(void **state)
{
	int64_t ns;

	assert_int_equal(sb_cut_parse_duration("10m", &ns), 0);
	assert_int_equal(ns, 600 * (int64_t)SECOND);
	assert_int_equal(sb_cut_parse_duration("250ms", &ns), 0);
	assert_int_equal(ns, 250 * (int64_t)MS);
	assert_int_equal(sb_cut_parse_duration("1.5h", &ns), 0);
	assert_int_equal(ns, 5400 * (int64_t)SECOND);
	assert_int_equal(sb_cut_parse_duration("30", &ns), 0);
	assert_int_equal(ns, 30 * (int64_t)SECOND);
	assert_int_equal(sb_cut_parse_duration("10 parsecs", &ns), STROBE_EINVAL);
	assert_int_equal(sb_cut_parse_duration("", &ns), STROBE_EINVAL);
	assert_int_equal(sb_cut_parse_duration("nan", &ns), STROBE_EINVAL);
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_output_folder, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(last_is_the_newest_folder_with_a_recording),
		T(the_newest_run_is_last_also_in_a_folder_with_a_link),
		T(an_empty_folder_is_a_loud_error),
		T(a_folder_of_ranks_says_how_to_go_on),
		T(of_two_sessions_in_a_folder_the_newest_is_read),
		T(a_broken_file_beside_a_good_one_is_named_and_left_out),
		T(times_are_read_with_their_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
