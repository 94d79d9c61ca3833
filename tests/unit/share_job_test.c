/* What the page of a job holds: its ranks, and no more of them than a browser opens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "exchange/share.h"
#include "root_folder.h"
#include "synthetic.h"

#include <sys/stat.h>
#include <unistd.h>

static void record(const char *folder, int rank)
{
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	struct sb_builder *b;
	char path[256];

	mkdir(in_root(folder), 0700);
	snprintf(path, sizeof path, "%s/rank_%d", in_root(folder), rank);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/rank_%d/run.strobe", in_root(folder), rank);
	o.rank = rank;
	o.world_size = 2;
	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	assert_int_equal(sb_builder_close(b, 1000), 0);
}

static void a_job_that_no_browser_opens_is_refused_with_what_to_do(void **state)
{
	record("job", 0);
	record("job", 1);
	assert_int_equal(sb_share_job_pack(in_root("job"), in_root("small"), 100), STROBE_EINVAL);
	assert_non_null(strstr(strobe_error(), "strobe export JOB --to packed"));
	assert_int_equal(sb_share_job_pack(in_root("job"), in_root("whole"), 1 << 20), 0);
	mkdir(in_root("again"), 0700);
	assert_int_equal(sb_share_job_unpack(in_root("whole"), in_root("again"), "page"), 0);
	assert_int_equal(access(in_root("again/rank_1/run.strobe"), F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_job_that_no_browser_opens_is_refused_with_what_to_do, make_root, remove_root),
	};

	return cmocka_run_group_tests_name("share_job", tests, NULL, NULL);
}
