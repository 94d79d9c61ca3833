/* Which runs a server finds, and that ids lead nowhere else. */
#include "serve/listing.h"
#include "format/builder.h"
#include "format/packed.h"
#include "format/run_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/strobe-listing-XXXXXX";

static void make_run(const char *id, const char *name, uint64_t start_real_ns)
{
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	struct sb_builder *b;
	char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, id);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/%s/run.strobe", folder, id);
	o.name = name;
	o.start_real_ns = start_real_ns;
	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	assert_int_equal(sb_builder_close(b, 1000), 0);
}

static int set_up(void **state)
{
	char path[256], target[256];
	FILE *f;

	assert_non_null(mkdtemp(folder));
	make_run("old", "first", 1000000000);
	make_run("new", "second", 2000000000);
	snprintf(path, sizeof path, "%s/last", folder);
	snprintf(target, sizeof target, "%s/new", folder);
	assert_int_equal(symlink(target, path), 0);
	snprintf(path, sizeof path, "%s/fake", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/fake/run.strobe", folder);
	f = fopen(path, "w");
	fputs("not a recording", f);
	fclose(f);
	return 0;
}

static int tear_down(void **state)
{
	char command[300];

	snprintf(command, sizeof command, "rm -r '%s'", folder);
	return system(command);
}

static void runs_are_found_newest_first_without_links_and_rubbish(void **state)
{
	struct sb_listing l = { 0 };

	assert_int_equal(sb_listing_scan(folder, &l), 0);
	assert_int_equal(l.count, 2);
	assert_string_equal(l.runs[0].id, "new");
	assert_string_equal(l.runs[0].brief.name, "second");
	assert_string_equal(l.runs[1].id, "old");
	assert_false(l.runs[0].brief.live);
	sb_listing_done(&l);
}

static void ranks_of_a_job_are_listed(void **state)
{
	struct sb_listing l = { 0 };
	char path[256];

	snprintf(path, sizeof path, "%s/job", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	make_run("job/rank_0", "train", 3000000000);
	make_run("job/rank_1", "train", 4000000000);
	make_run("job/cache", "train", 5000000000);
	assert_int_equal(sb_listing_scan(folder, &l), 0);
	assert_int_equal(l.count, 5);
	assert_string_equal(l.runs[0].id, "job"); /* before its ranks, whichever began last */
	assert_string_equal(l.runs[1].id, "job.rank_0");
	assert_string_equal(l.runs[1].job, "job");
	assert_int_equal(l.runs[0].rank_count, 2);
	assert_int_equal(l.runs[0].brief.bytes, l.runs[1].brief.bytes + l.runs[2].brief.bytes);
	assert_string_equal(l.runs[0].state, "ended");
	assert_string_equal(l.runs[2].id, "job.rank_1");
	sb_listing_done(&l);
}

/* What strobe run writes first. */
static void command_and_commit_are_in_the_list(void **state)
{
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	struct sb_listing l = { 0 };
	struct sb_buf json = { 0 };
	struct sb_builder *b;
	char path[256];

	make_run("told", "told", 6000000000);
	snprintf(path, sizeof path, "%s/told/run.strobe", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	sb_builder_meta_string(b, SB_META_RUN, SB_RUN_COMMAND, "python wan.py --steps 50");
	sb_builder_meta_string(b, SB_META_TAG, "other", "commit");
	sb_builder_meta_string(b, SB_META_RUN, SB_RUN_COMMIT, "c0ffee0123456789c0ffee0123456789c0ffee01");
	assert_int_equal(sb_builder_close(b, 1000), 0);
	snprintf(path, sizeof path, "%s/told", folder);
	assert_int_equal(sb_listing_scan(path, &l), 0);
	sb_listing_json(&l, &json);
	assert_non_null(strstr(sb_buf_text(&json), "\"command\":\"python wan.py --steps 50\""));
	assert_non_null(
		strstr(sb_buf_text(&json), "\"commit\":\"c0ffee0123456789c0ffee0123456789c0ffee01\""));
	sb_buf_done(&json);
	sb_listing_done(&l);
	snprintf(path, sizeof path, "rm -r '%s/told'", folder);
	assert_int_equal(system(path), 0);
}

static void one_run_lists_itself(void **state)
{
	struct sb_listing l = { 0 };
	char path[256];

	snprintf(path, sizeof path, "%s/old/", folder);
	assert_int_equal(sb_listing_scan(path, &l), 0);
	assert_int_equal(l.count, 1);
	assert_string_equal(l.runs[0].id, "old");
	sb_listing_done(&l);
}

static void ids_lead_nowhere_else(void **state)
{
	struct sb_listing l = { 0 };

	assert_int_equal(sb_listing_scan(folder, &l), 0);
	assert_non_null(sb_listing_find(&l, "old"));
	assert_null(sb_listing_find(&l, "../old"));
	assert_null(sb_listing_find(&l, "fake"));
	assert_null(sb_listing_find(&l, "last"));
	assert_null(sb_listing_find(&l, ""));
	sb_listing_done(&l);
}

static void a_folder_that_is_not_there_yet_is_empty(void **state)
{
	struct sb_listing l = { 0 };

	assert_int_equal(sb_listing_scan("/tmp/strobe-there-is-no-such-folder", &l), 0);
	assert_int_equal(l.count, 0);
}

/* Beyond the first thousand a run is left out of the list, not out of reach. */
static void older_runs_stay_within_reach(void **state)
{
	char many[] = "/tmp/strobe-listing-XXXXXX", first[256], path[256], command[300];
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	struct sb_listing l = { 0 };
	struct sb_buf json = { 0 };
	struct sb_builder *b;

	assert_non_null(mkdtemp(many));
	snprintf(path, sizeof path, "%s/0", many);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(first, sizeof first, "%s/0/run.strobe", many);
	o.start_real_ns = 1000000000;
	assert_int_equal(sb_builder_open(first, &o, &b), 0);
	assert_int_equal(sb_builder_close(b, 1000), 0);
	for (int i = 1; i < 1005; i++) {
		snprintf(path, sizeof path, "%s/%d", many, i);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof path, "%s/%d/run.strobe", many, i);
		assert_int_equal(link(first, path), 0);
	}
	assert_int_equal(sb_listing_scan(many, &l), 0);
	assert_int_equal(l.count, 1005);
	assert_non_null(sb_listing_find(&l, l.runs[1004].id));
	sb_listing_json(&l, &json);
	assert_non_null(strstr(json.data, "\"left_out_count\":5"));
	sb_buf_done(&json);
	sb_listing_done(&l);
	snprintf(command, sizeof command, "rm -r '%s'", many);
	assert_int_equal(system(command), 0);
}

static void a_packed_run_is_listed_and_a_packed_copy_is_not(void **state)
{
	struct sb_listing l = { 0 };
	struct sb_reader *r;
	char root[300], from[400], to[400], command[900];

	snprintf(root, sizeof root, "%s/packs", folder);
	assert_int_equal(mkdir(root, 0700), 0);
	make_run("packs/here", "kept", 1000000000);
	make_run("packs/gone", "moved", 2000000000);
	for (const char *const *name = (const char *const[]){ "here", "gone", NULL }; *name; name++) {
		snprintf(from, sizeof from, "%s/%s/run.strobe", root, *name);
		snprintf(to, sizeof to, "%s/%s.packed.strobe", root, *name);
		assert_int_equal(sb_reader_open(from, &r), 0);
		if (sb_packed_write(r, to))
			skip(); /* a build without zstd */
		sb_reader_close(r);
	}
	snprintf(command, sizeof command, "rm -r '%s/gone'", root);
	assert_int_equal(system(command), 0);
	assert_int_equal(sb_listing_scan(root, &l), 0);
	assert_int_equal(l.count, 2);
	assert_string_equal(l.runs[0].id, "gone.packed.strobe");
	assert_string_equal(l.runs[0].brief.name, "moved");
	assert_string_equal(sb_run_brief_state(&l.runs[0].brief), "ended");
	assert_string_equal(l.runs[1].id, "here");
	sb_listing_done(&l);
}

/* Every key of docs/runs.schema.json, as the page reads it. */
static void the_list_is_written_key_by_key(void **state)
{
	struct sb_listed runs[] = { { .id = "b",
					    .state = "live",
					    .brief = { .name = "wan \"t2v\"",
						    .host = "gpu7",
						    .start_real_ns = 1700000000999999999u,
						    .duration_ns = 2500000000u,
						    .frames = 81,
						    .steps = 50,
						    .bytes = 4096,
						    .pid = 42,
						    .rank = 0,
						    .live = true } },
		{ .id = "a", .state = "killed", .brief = { .rank = -1 } } };
	struct sb_listing listing = { .runs = runs, .count = 2, .left_out = 3 };
	struct sb_buf out = { 0 };

	sb_listing_json(&listing, &out);
	assert_string_equal(sb_buf_text(&out),
		"{\"runs\":[{\"id\":\"b\",\"name\":\"wan \\\"t2v\\\"\",\"host\":\"gpu7\","
		"\"start_time\":\"2023-11-14T22:13:20+00:00\",\"state\":\"live\",\"live\":true,"
		"\"duration_s\":2.5,\"frames\":81,\"steps\":50,\"bytes\":4096,\"pid\":42,\"rank\":0},"
		"{\"id\":\"a\",\"name\":\"\",\"host\":\"\","
		"\"state\":\"killed\",\"live\":false,\"bytes\":0,\"pid\":0}],\"left_out_count\":3}");
	sb_buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_found_newest_first_without_links_and_rubbish),
		cmocka_unit_test(command_and_commit_are_in_the_list),
		cmocka_unit_test(one_run_lists_itself),
		cmocka_unit_test(ids_lead_nowhere_else),
		cmocka_unit_test(a_folder_that_is_not_there_yet_is_empty),
		cmocka_unit_test(ranks_of_a_job_are_listed),
		cmocka_unit_test(older_runs_stay_within_reach),
		cmocka_unit_test(a_packed_run_is_listed_and_a_packed_copy_is_not),
		cmocka_unit_test(the_list_is_written_key_by_key),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
