/* A history that another process has locked: the end of a run hardly waits for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include "base/error.h"
#include "store/history.h"

#include <time.h>

#ifdef STROBE_HAVE_SQLITE
#include <sqlite3.h>

static double slept_s;

/* Naps are counted, not taken. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	slept_s += (double)wanted->tv_sec + (double)wanted->tv_nsec * 1e-9;
	return 0;
}

static void a_locked_history_delays_the_end_of_a_run_by_two_seconds_at_most(void **state)
{
	char folder[] = "/tmp/strobe-history-XXXXXX", path[64], command[96];
	struct sb_history *h;
	struct synthetic s;
	sqlite3 *db;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/history.db", folder);
	setenv("STROBE_HISTORY", path, 1);
	synthetic_open(&s);
	synthetic_begin(&s, 100, "a", 0);
	synthetic_end(&s, 300);
	synthetic_model(&s, 1000);
	assert_int_equal(sb_history_open(path, &h), 0);
	sb_history_close(h);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	slept_s = 0;
	assert_int_equal(sb_history_add(s.model, NULL), STROBE_EBUSY);
	assert_true(slept_s > 0 && slept_s < 2.5);
	sqlite3_close(db);
	assert_int_equal(sb_history_add(s.model, NULL), 0);
	synthetic_done(&s);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}
#endif

int main(void)
{
#ifdef STROBE_HAVE_SQLITE
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_locked_history_delays_the_end_of_a_run_by_two_seconds_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
#else
	return 0;
#endif
}
