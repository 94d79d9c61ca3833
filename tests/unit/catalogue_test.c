/* What a path is: decided by names, the same for report, serve and aggregate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/gathered.h"
#include "format/spool.h"
#include "run/catalogue.h"
#include "run/brief.h"
#include "root_folder.h"
#include "synthetic.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty file, with the folder above it. */
static void put(const char *folder, const char *file)
{
	char path[256];
	int fd;

	mkdir(in_root(folder), 0700);
	snprintf(path, sizeof path, "%s/%s/%s", root, folder, file);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* A recording that began at start_s. */
static void record(const char *file, uint64_t start_s, int rank, bool closed)
{
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	struct sb_builder *b;
	uint32_t zero = 0;
	int fd;

	o.rank = rank;
	o.start_real_ns = start_s * SECOND;
	assert_int_equal(sb_builder_open(in_root(file), &o, &b), 0);
	assert_int_equal(sb_builder_close(b, SECOND), 0);
	if (closed)
		return;
	fd = open(in_root(file), O_WRONLY);
	assert_int_equal(
		pwrite(fd, &zero, sizeof zero, offsetof(struct sb_file_header, closed)), sizeof zero);
	close(fd);
}

static void expect(const char *name, enum sb_catalogue_kind kind, size_t ranks)
{
	size_t found;

	assert_int_equal(sb_catalogue_kind(in_root(name), &found), kind);
	assert_int_equal(found, ranks);
}

static void a_folder_is_what_its_names_say(void **state)
{
	put("run", "run.strobe");
	put("spooled", "run.7.strobe.spool");
	put("named", "wan.strobe");
	put("empty", "report.json");
	mkdir(in_root("job"), 0700);
	put("job/rank_0", "run.strobe");
	put("job/rank_1", "run.strobe");
	put("job", "rank_2.json");
	expect("run", SB_CATALOGUE_RUN, 0);
	expect("run/run.strobe", SB_CATALOGUE_RECORDING, 0);
	expect("spooled", SB_CATALOGUE_RUN, 0);
	expect("named", SB_CATALOGUE_RUN, 0);
	expect("empty", SB_CATALOGUE_RUNS, 0);
	expect("empty/report.json", SB_CATALOGUE_FILE, 0);
	expect("job", SB_CATALOGUE_JOB, 2);
	expect("nothing", SB_CATALOGUE_NONE, 0);
	expect("", SB_CATALOGUE_RUNS, 0);
	put("job", "run.strobe"); /* of what launched the ranks */
	expect("job", SB_CATALOGUE_RUN, 2);
}

/* Packing a run writes beside it: the folder of runs, or the job, stays what it was. */
static void a_packed_copy_changes_nothing_around_it(void **state)
{
	struct sb_catalogue c;

	mkdir(in_root("runs"), 0700);
	put("runs/a-20260101-120000-1", "run.strobe");
	put("runs", "a-20260101-120000-1.packed.strobe");
	put("runs", "b-20260101-130000-2.packed.strobe");
	put("runs/c-20260101-140000-3.packed", "run.strobe");
	expect("runs", SB_CATALOGUE_RUNS, 0);
	assert_int_equal(sb_catalogue_list(in_root("runs"), &c), 0);
	assert_int_equal(c.count, 3);
	assert_string_equal(c.entries[0].name, "a-20260101-120000-1");
	assert_string_equal(c.entries[1].name, "b-20260101-130000-2.packed.strobe");
	assert_int_equal(c.entries[1].kind, SB_CATALOGUE_RECORDING);
	assert_string_equal(c.entries[2].name, "c-20260101-140000-3.packed");
	assert_int_equal(c.entries[2].kind, SB_CATALOGUE_RUN);
	sb_catalogue_done(&c);
	mkdir(in_root("job"), 0700);
	put("job/rank_0", "run.strobe");
	put("job", "rank_0.packed.strobe");
	put("job", "rank_1.packed.strobe");
	put("job/rank_10.packed", "run.strobe");
	expect("job", SB_CATALOGUE_JOB, 3);
}

static void a_folder_of_packed_runs_means_its_newest(void **state)
{
	char path[256];

	put("archive", "a-20260101-120000-1.packed.strobe");
	put("archive", "b-20260101-130000-2.packed.strobe");
	expect("archive", SB_CATALOGUE_RUNS, 0);
	assert_int_equal(sb_run_resolve(in_root("archive"), path, sizeof path), 0);
	assert_string_equal(path, in_root("archive/b-20260101-130000-2.packed.strobe"));
}

static void the_program_says_how_a_run_ended(void **state)
{
	struct sb_run_brief s;

	mkdir(in_root("killed"), 0700);
	record("killed/run.strobe", 10, -1, true);
	record("killed/run.labels.strobe", 11, -1, true);
	record("killed/run.7.strobe", 12, 3, false);
	record("killed/run.8.strobe", 13, 3, true);
	assert_true(sb_run_brief_read(in_root("killed"), &s));
	assert_string_equal(sb_run_brief_state(&s), "killed");
	assert_int_equal(s.start_real_ns, 10 * SECOND);
	assert_int_equal(s.rank, 3);
	assert_false(s.several_ranks);
	mkdir(in_root("ended"), 0700);
	record("ended/run.strobe", 10, -1, true);
	assert_true(sb_run_brief_read(in_root("ended"), &s));
	assert_string_equal(sb_run_brief_state(&s), "ended");
	record("ended/run.9.strobe", 12, 1, true);
	record("ended/run.10.strobe", 12, 2, true);
	assert_true(sb_run_brief_read(in_root("ended"), &s));
	assert_true(s.several_ranks);
	s.live = true;
	assert_string_equal(sb_run_brief_state(&s), "live");
	put("rubbish", "run.strobe");
	assert_false(sb_run_brief_read(in_root("rubbish"), &s));
}

static void a_session_called_like_a_rank_is_none(void **state)
{
	assert_true(sb_catalogue_is_rank("rank_12"));
	assert_true(sb_catalogue_is_rank("rank_3.strobe"));
	assert_true(sb_catalogue_is_rank("rank_3.packed.strobe"));
	assert_false(sb_catalogue_is_rank("rank_5-20261115-210729-5368"));
	assert_false(sb_catalogue_is_rank("rank_5_again"));
	assert_false(sb_catalogue_is_rank("rank_"));
	assert_false(sb_catalogue_is_rank("ranks"));
}

static void recordings_that_were_gathered_count(void **state)
{
	struct sb_run_brief s;
	int to, from;

	mkdir(in_root("many"), 0700);
	record("many/one", 10, 5, true);
	from = open(in_root("many/one"), O_RDONLY);
	to = open(in_root("many/run.workers.strobe"), O_CREAT | O_RDWR, 0600);
	assert_true(sb_gathered_begin(to));
	assert_true(sb_gathered_add(to, from));
	close(from);
	close(to);
	assert_true(sb_run_brief_read(in_root("many"), &s));
	assert_int_equal(s.rank, 5);
	assert_string_equal(sb_run_brief_state(&s), "ended");
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_folder_is_what_its_names_say),
		T(a_packed_copy_changes_nothing_around_it),
		T(a_folder_of_packed_runs_means_its_newest),
		T(the_program_says_how_a_run_ended),
		T(a_session_called_like_a_rank_is_none),
		T(recordings_that_were_gathered_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
