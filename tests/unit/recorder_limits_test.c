/* The recorder at its limits: budgets, kills at any moment, full disks. The clock
 * is made up where time matters. */
#include "recording.h"

#include "record/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* In a child of its own: sessions, modes and threads of one test never meet
 * another's. Returns what the child exits with. */
static int in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* ---- budgets, with a clock that makes every duration known ----------------- */

static _Thread_local uint64_t fake_ticks;
static uint64_t fake_clock(void)
{
	return fake_ticks;
}

static uint64_t duration_of(uint64_t i)
{
	return 3 + (i * 2654435761u >> 20) % 1000;
}

/* Zone i: 2 ticks, an inner zone of duration_of(i), 1 tick. */
static void made_up_zones(uint64_t n, _Atomic uint64_t *ended)
{
	for (uint64_t i = 0; i < n; i++) {
		fake_ticks += 10;
		STROBE_ZONE_BEGIN("outer");
		fake_ticks += 2;
		STROBE_ZONE_BEGIN("inner");
		fake_ticks += duration_of(i);
		STROBE_ZONE_END();
		fake_ticks += 1;
		STROBE_ZONE_END();
		if (ended)
			atomic_store_explicit(ended, i + 1, memory_order_release);
	}
}

static void use_fake_clock(void)
{
	sb_clock_init();
	sb_clock_kind = SB_CLOCK_MONOTONIC;
	sb_clock_source = fake_clock;
	fake_ticks = 1000000;
}

static void use_real_clock(enum sb_clock_kind kind)
{
	sb_clock_kind = kind;
	sb_clock_source = NULL;
}

static void assert_exact(const char *path, uint64_t inner_count, uint64_t outer_count)
{
	struct recount inner, outer;
	uint64_t total = 0, min = UINT64_MAX, max = 0;

	recount_file(path, "inner", &inner);
	recount_file(path, "outer", &outer);
	assert_int_equal(inner.count, inner_count);
	assert_int_equal(outer.count, outer_count);
	for (uint64_t i = 0; i < inner_count; i++) {
		uint64_t d = duration_of(i);

		total += d;
		min = d < min ? d : min;
		max = d > max ? d : max;
	}
	assert_int_equal(inner.total_ticks, total);
	assert_int_equal(inner.self_ticks, total);
	if (!inner_count)
		return;
	assert_int_equal(inner.min_ticks, min);
	assert_int_equal(inner.max_ticks, max);
	assert_int_equal(outer.self_ticks, outer_count * 3);
	if (inner_count == outer_count)
		assert_int_equal(outer.total_ticks, total + outer_count * 3);
}

static void folded_totals_are_exact(void **state)
{
	enum sb_clock_kind kind = (sb_clock_init(), sb_clock_kind);

	use_fake_clock();
	start(1 << 20);
	made_up_zones(500000, NULL);
	strobe_stop();
	use_real_clock(kind);
	assert_exact(file("run.strobe"), 500000, 500000);
	assert_true(size_of(file("run.strobe")) <= (1 << 20) + (int)SB_FILE_HEADER_BYTES);
	assert_int_equal(recount_lost(file("run.strobe")), 0);
}

static void ten_million_zones_in_eight_mebibytes_are_exact(void **state)
{
	enum sb_clock_kind kind = (sb_clock_init(), sb_clock_kind);

	use_fake_clock();
	start(8 << 20);
	made_up_zones(5000000 / SHRINK, NULL);
	strobe_stop();
	use_real_clock(kind);
	assert_exact(file("run.strobe"), 5000000 / SHRINK, 5000000 / SHRINK);
	assert_true(size_of(file("run.strobe")) <= (8 << 20) + (int)SB_FILE_HEADER_BYTES);
}

static void a_zone_open_across_folds_ends_right(void **state)
{
	enum sb_clock_kind kind = (sb_clock_init(), sb_clock_kind);
	uint64_t from;

	use_fake_clock();
	start(1 << 20);
	from = fake_ticks;
	STROBE_ZONE_BEGIN("whole");
	made_up_zones(200000, NULL);
	STROBE_ZONE_END();
	strobe_stop();
	use_real_clock(kind);
	assert_int_equal(count_in("run.strobe", "whole").count, 1);
	assert_int_equal(count_in("run.strobe", "whole").total_ticks, fake_ticks - from);
	assert_int_equal(count_in("run.strobe", "whole").self_ticks, 200000 * 10);
}

static void a_folded_duration_stays_in_the_zone_around_it(void **state)
{
	enum sb_clock_kind kind = (sb_clock_init(), sb_clock_kind);
	uint64_t inside = 0, at_top = 0;
	struct sb_digest digest;
	struct sb_reader *r;

	use_fake_clock();
	start(1 << 20);
	for (int i = 0; i < 50000; i++) {
		STROBE_ZONE("around");
		fake_ticks += 1000;
		strobe_duration("measured", 10, NULL, 0);
	}
	strobe_stop();
	use_real_clock(kind);
	assert_int_equal(sb_reader_open(file("run.strobe"), &r), 0);
	assert_int_equal(sb_digest_load(r, 1, &digest), 0);
	for (uint32_t i = 0; i < digest.node_count; i++) {
		if (!(digest.nodes[i].flags & 1))
			continue;
		inside += digest.nodes[i].parent ? digest.nodes[i].sum.count : 0;
		at_top += digest.nodes[i].parent ? 0 : digest.nodes[i].sum.count;
	}
	assert_true(inside > 10000);
	assert_int_equal(at_top, 0);
	sb_digest_done(&digest);
	sb_reader_close(r);
}

/* Zones too deep for a fold on one track leave the others' ends alone. */
static void ends_on_another_track_are_not_taken_for_those_too_deep(void **state)
{
	enum sb_clock_kind kind = sb_clock_kind;
	uint32_t deep, other;

	use_fake_clock();
	start(1 << 20);
	deep = strobe_track_new("deep");
	other = strobe_track_new("other");
	strobe_track_switch(other);
	STROBE_ZONE_BEGIN("b");
	strobe_track_switch(deep);
	for (int i = 0; i < 325; i++, fake_ticks++)
		STROBE_ZONE_BEGIN("a");
	strobe_track_switch(other);
	fake_ticks += 1000;
	STROBE_ZONE_END();
	strobe_track_switch(deep);
	for (int i = 0; i < 325; i++, fake_ticks++)
		STROBE_ZONE_END();
	strobe_track_switch(0);
	made_up_zones(200000, NULL);
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "b").count, 1);
	assert_int_equal(count_in("run.strobe", "b").open_count, 0);
	assert_int_equal(count_in("run.strobe", "b").total_ticks, 325 + 1000);
	assert_int_equal(count_in("run.strobe", "a").count, 319); /* 320 in all, one is b */
	assert_int_equal(count_in("run.strobe", "a").open_count, 0);
	assert_int_equal(recount_lost(file("run.strobe")), 6);
	use_real_clock(kind);
}

static void counters_are_exact_whatever_is_added(void **state)
{
	const int64_t large = INT64_C(1) << 50;

	for (int folded = 0; folded < 2; folded++) {
		start(1 << 20);
		strobe_counter_add("bytes", large);
		strobe_counter_add("bytes", -3 * large + 1);
		strobe_counter_add("bytes", 4);
		if (folded)
			zones(200000 / SHRINK);
		strobe_stop();
		assert_int_equal(recount_counter(file("run.strobe"), "bytes"), -2 * large + 5);
		assert_int_equal(recount_lost(file("run.strobe")), 0);
	}
}

static void times_beyond_forty_bits_are_kept(void **state)
{
	enum sb_clock_kind kind = (sb_clock_init(), sb_clock_kind);

	use_fake_clock();
	start(0);
	STROBE_ZONE_BEGIN("long");
	fake_ticks += 1ull << 42;
	STROBE_ZONE_END();
	fake_ticks -= 1000; /* a clock that steps back */
	STROBE_ZONE_BEGIN("late");
	fake_ticks += 5;
	STROBE_ZONE_END();
	strobe_stop();
	use_real_clock(kind);
	assert_int_equal(count_in("run.strobe", "long").total_ticks, 1ull << 42);
	assert_int_equal(count_in("run.strobe", "late").total_ticks, 5);
}

/* ---- kill -9 --------------------------------------------------------------- */

enum { KILL_THREADS = 3 };
struct shared {
	_Atomic uint64_t ended[KILL_THREADS];
	_Atomic uint32_t ready;
	char run_dir[512];
};

static struct shared *shared;
static uint64_t kill_budget;

static void *killed_thread(void *index)
{
	fake_ticks = 1000000;
	made_up_zones(UINT64_MAX, &shared->ended[(intptr_t)index]);
	return NULL;
}

static void killed_body(void)
{
	pthread_t t;

	use_fake_clock();
	start(kill_budget);
	snprintf(shared->run_dir, sizeof shared->run_dir, "%s", strobe_run_dir());
	atomic_store(&shared->ready, 1);
	for (intptr_t i = 1; i < KILL_THREADS; i++)
		pthread_create(&t, NULL, killed_thread, (void *)i);
	killed_thread((void *)0);
}

static uint64_t ended_in_all(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < KILL_THREADS; i++)
		sum += atomic_load(&shared->ended[i]);
	return sum;
}

/* Every writer is one thread: zones 0..n of the same made-up series. */
static void assert_all_there(const char *path)
{
	uint64_t ended = ended_in_all();
	struct recount inner, outer;

	recount_file(path, "inner", &inner);
	recount_file(path, "outer", &outer);
	assert_true(outer.count >= ended && outer.count <= ended + KILL_THREADS);
	assert_true(inner.count >= outer.count && inner.count <= outer.count + KILL_THREADS);
	assert_int_equal(outer.self_ticks, outer.count * 3);
	assert_true(outer.open_count <= KILL_THREADS);
	assert_int_equal(recount_lost(path), 0);
}

static void kill_often(int times, uint64_t budget, uint64_t spread)
{
	unsigned seed = 1;

	kill_budget = budget;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < times; i++) {
		uint64_t until = (uint64_t)rand_r(&seed) % spread;
		char path[600];
		pid_t pid;

		memset(shared, 0, sizeof *shared);
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			killed_body();
			_exit(0);
		}
		while (!atomic_load(&shared->ready) || ended_in_all() < until)
			sched_yield();
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		snprintf(path, sizeof path, "%s/run.strobe", shared->run_dir);
		assert_all_there(path);
		unlink(path);
	}
	munmap(shared, sizeof *shared);
}

static void nothing_is_lost_at_a_kill(void **state)
{
	kill_often(200 / SHRINK, 64 << 20, 60000 / SHRINK);
}

static void folded_totals_are_exact_after_a_kill(void **state)
{
	kill_often(100 / SHRINK, 256 << 10, 60000 / SHRINK);
}

/* ---- where it cannot record ------------------------------------------------ */

static void a_folder_that_cannot_be_made_is_one_clear_error(void **state)
{
	struct strobe_options options = { .size = sizeof options, .output_dir = "/proc/no/such" };

	assert_int_not_equal(strobe_start(&options), 0);
	assert_non_null(strstr(strobe_error(), "/proc/no"));
	assert_int_equal(strobe_recording(), 0);
	zones(100);
	assert_int_equal(strobe_stop(), 0);
}

static bool was_limited_by(enum sb_limit limit)
{
	struct sb_reader *r;
	char path[700];
	bool so;

	snprintf(path, sizeof path, "%s/run.strobe", strobe_run_dir());
	if (sb_reader_open(path, &r))
		return false;
	so = r->head.limited_by == limit && r->head.fold_count;
	sb_reader_close(r);
	return so;
}

static void full_disk_body(void)
{
	start(64 << 20);
	zones(400000); /* 12.8 MB of words into 4 MiB */
	strobe_stop();
	if (count_in("run.strobe", "outer").count != 400000 ||
		count_in("run.strobe", "inner").count != 400000)
		_exit(3);
	if (!was_limited_by(SB_LIMIT_DISK))
		_exit(4);
}

static void a_full_disk_folds_instead_of_crashing(void **state)
{
	if (mount("tmpfs", folder, "tmpfs", 0, "size=4m")) {
		print_message("skipped: mounting a tmpfs needs root\n");
		skip();
	}
	assert_int_equal(in_child(full_disk_body), 0);
	umount(folder);
}

static void file_size_limit_body(void)
{
	struct rlimit limit = { 2 << 20, 2 << 20 };

	setrlimit(RLIMIT_FSIZE, &limit);
	start(64 << 20);
	zones(300000);
	strobe_stop();
	if (count_in("run.strobe", "outer").count != 300000)
		_exit(3);
	if (!was_limited_by(SB_LIMIT_FILE_SIZE))
		_exit(4);
}

static void a_file_size_limit_is_honoured(void **state)
{
	assert_int_equal(in_child(file_size_limit_body), 0);
}

static void no_files_at_all_body(void)
{
	struct strobe_options options = { .size = sizeof options, .output_dir = folder };
	struct rlimit limit = { 100, 100 };

	setrlimit(RLIMIT_FSIZE, &limit);
	if (!strobe_start(&options) || strobe_recording())
		_exit(3);
	zones(100);
}

static void a_file_size_limit_below_a_header_kills_nobody(void **state)
{
	assert_int_equal(in_child(no_files_at_all_body), 0);
}

static void spool_body(void)
{
	setenv("STROBE_SPOOL", "1", 1);
	setenv("STROBE_SPOOL_DIR", folder, 1);
	start(0);
	zones(1000);
	strobe_stop();
	if (count_in("run.strobe", "outer").count != 1000 || size_of(file("run.strobe.spool")) >= 0)
		_exit(3);
}

static void a_spooled_recording_comes_home(void **state)
{
	assert_int_equal(in_child(spool_body), 0);
}

static void sigterm_body(void)
{
	setenv("STROBE_SPOOL", "1", 1);
	setenv("STROBE_SPOOL_DIR", folder, 1);
	start(0);
	zones(1000);
	snprintf(shared->run_dir, sizeof shared->run_dir, "%s", strobe_run_dir());
	raise(SIGTERM);
}

static void a_spool_comes_home_on_sigterm(void **state)
{
	struct recount r;
	char path[600];

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(in_child(sigterm_body), SIGTERM);
	snprintf(path, sizeof path, "%s/run.strobe", shared->run_dir);
	recount_file(path, "outer", &r);
	assert_int_equal(r.count, 1000);
	munmap(shared, sizeof *shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(folded_totals_are_exact),
		IN_A_FOLDER(ten_million_zones_in_eight_mebibytes_are_exact),
		IN_A_FOLDER(a_zone_open_across_folds_ends_right),
		IN_A_FOLDER(a_folded_duration_stays_in_the_zone_around_it),
		IN_A_FOLDER(ends_on_another_track_are_not_taken_for_those_too_deep),
		IN_A_FOLDER(counters_are_exact_whatever_is_added),
		IN_A_FOLDER(times_beyond_forty_bits_are_kept),
		IN_A_FOLDER(a_folder_that_cannot_be_made_is_one_clear_error),
#ifndef __SANITIZE_THREAD__ /* which cannot follow a process that forks and has threads */
		IN_A_FOLDER(nothing_is_lost_at_a_kill),
		IN_A_FOLDER(folded_totals_are_exact_after_a_kill),
		IN_A_FOLDER(a_full_disk_folds_instead_of_crashing),
		IN_A_FOLDER(a_file_size_limit_is_honoured),
		IN_A_FOLDER(a_file_size_limit_below_a_header_kills_nobody),
		IN_A_FOLDER(a_spooled_recording_comes_home),
		IN_A_FOLDER(a_spool_comes_home_on_sigterm),
#endif
	};

	record_without_company();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
