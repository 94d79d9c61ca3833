/* The recorder against a second opinion: threads, forks, sessions, budgets,
 * kills at any moment, full disks. The clock is made up where time matters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "recount.c"

#include "record/clock.h"
#include "strobe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Under a sanitizer everything is ten times slower: the same paths, fewer times. */
#ifdef RECORDER_TEST_SMALL
enum { SHRINK = 20 };
#include "record/module.h"
const struct sb_module *const sb_modules[] = { NULL };
#else
enum { SHRINK = 1 };
#endif

static char folder[64];

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/strobe-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static void remove_tree(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	char inner[512];

	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
		if (unlink(inner))
			remove_tree(inner);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

static int remove_folder(void **state)
{
	remove_tree(folder);
	return 0;
}

static void start(uint64_t max_trace_bytes)
{
	struct strobe_options options = { .size = sizeof options,
		.name = "test",
		.output_dir = folder,
		.max_trace_bytes = max_trace_bytes };

	assert_int_equal(strobe_start(&options), 0);
}

static const char *file(const char *name)
{
	static char path[600];

	snprintf(path, sizeof path, "%s/%s", strobe_run_dir(), name);
	return path;
}

static struct recount count_in(const char *file_name, const char *zone)
{
	struct recount r;

	recount_file(file(file_name), zone, &r);
	return r;
}

static off_t size_of(const char *path)
{
	struct stat s;

	return stat(path, &s) ? -1 : s.st_size;
}

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

/* ---- zones --------------------------------------------------------------- */

static void zones(long n)
{
	for (long i = 0; i < n; i++) {
		STROBE_ZONE_BEGIN("outer");
		STROBE_ZONE_BEGIN("inner");
		STROBE_ZONE_END();
		STROBE_ZONE_END();
	}
}

static void every_zone_is_in_the_file(void **state)
{
	start(0);
	zones(100000);
	strobe_frames(41);
	strobe_frames(1);
	assert_int_equal(strobe_stop(), 0);
	assert_int_equal(count_in("run.strobe", "outer").count, 100000);
	assert_int_equal(count_in("run.strobe", "inner").count, 100000);
	assert_int_equal(count_in("run.strobe", "inner").open_count, 0);
	assert_int_equal(recount_counter(file("run.strobe"), "frames"), 42);
	assert_int_equal(recount_lost(file("run.strobe")), 0);
}

static void nothing_is_recorded_without_a_session(void **state)
{
	zones(1000);
	assert_int_equal(strobe_recording(), 0);
	start(0);
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "outer").count, 0);
}

static void a_second_session_starts_empty(void **state)
{
	char first[600];

	start(0);
	zones(10);
	strobe_stop();
	strcpy(first, file("run.strobe"));
	start(0);
	zones(7);
	assert_int_equal(strobe_start(NULL), STROBE_EBUSY);
	strobe_stop();
	assert_string_not_equal(first, file("run.strobe"));
	assert_int_equal(count_in("run.strobe", "outer").count, 7);
}

static void a_scope_left_early_still_ends(void **state)
{
	start(0);
	for (int i = 0; i < 10; i++) {
		STROBE_ZONE("scope");
		if (i % 2)
			continue;
		STROBE_STAGE("4c", "VAE encode");
	}
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "scope").count, 10);
	assert_int_equal(count_in("run.strobe", "scope").open_count, 0);
}

/* ---- threads ------------------------------------------------------------- */

static void *thread_zones(void *n)
{
	zones((long)(intptr_t)n);
	return NULL;
}

static void two_hundred_threads(long each)
{
	pthread_t threads[50];

	for (int wave = 0; wave < 4; wave++) {
		for (int i = 0; i < 50; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, thread_zones, (void *)(intptr_t)each), 0);
		for (int i = 0; i < 50; i++)
			pthread_join(threads[i], NULL);
	}
}

static void threads_that_come_and_go_lose_nothing(void **state)
{
	start(0);
	two_hundred_threads(1000);
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "outer").count, 200 * 1000);
	assert_int_equal(count_in("run.strobe", "inner").count, 200 * 1000);
	assert_int_equal(recount_lost(file("run.strobe")), 0);
}

static void two_hundred_threads_fit_into_eight_mebibytes(void **state)
{
	start(8 << 20);
	two_hundred_threads(10000 / SHRINK);
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "outer").count, 200 * (10000 / SHRINK));
	assert_int_equal(count_in("run.strobe", "inner").count, 200 * (10000 / SHRINK));
	assert_int_equal(recount_lost(file("run.strobe")), 0);
	assert_true(size_of(file("run.strobe")) <= (8 << 20) + (int)SB_FILE_HEADER_BYTES);
}

static pthread_barrier_t barrier;

static void *thread_at_once(void *n)
{
	pthread_barrier_wait(&barrier);
	zones((long)(intptr_t)n);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void two_hundred_threads_at_once_fit_too(void **state)
{
	pthread_t threads[200];

	start(8 << 20);
	pthread_barrier_init(&barrier, NULL, 200);
	for (int i = 0; i < 200; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, thread_at_once, (void *)(intptr_t)5000), 0);
	for (int i = 0; i < 200; i++)
		pthread_join(threads[i], NULL);
	strobe_stop();
	assert_int_equal(count_in("run.strobe", "inner").count, 200 * 5000);
	assert_int_equal(recount_lost(file("run.strobe")), 0);
}

static _Atomic int keep_going;

static void *thread_until_told(void *unused)
{
	while (atomic_load(&keep_going))
		zones(100);
	return NULL;
}

static void sessions_stop_while_others_record(void **state)
{
	pthread_t threads[4];

	atomic_store(&keep_going, 1);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread_until_told, NULL);
	for (int i = 0; i < 100; i++) {
		start(2 << 20);
		zones(500);
		strobe_stop();
		assert_true(count_in("run.strobe", "outer").count >= 500);
	}
	atomic_store(&keep_going, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* ---- what the settings leave out ------------------------------------------ */

static void one_of_each(void)
{
	STROBE_ZONE("around");
	strobe_step_begin("a step", NULL);
	strobe_step_end();
	strobe_step_record("a step", NULL, 1000);
	strobe_block_begin("a block", 0, 3);
	strobe_block_end(-1);
	strobe_block_record("a block", 0, 3, 1000, -1);
	for (int i = 0; i < 2; i++) {
		STROBE_ZONE("VAE decode");
		STROBE_ZONE("text_encode");
		STROBE_ZONE("vae_encode");
	}
	STROBE_ZONE_BEGIN("vae_decode by hand");
	STROBE_ZONE_END();
}

static void counts_of_each(uint64_t steps, uint64_t blocks, uint64_t decodes, uint64_t texts)
{
	assert_int_equal(count_in("run.strobe", "a step").count, steps);
	assert_int_equal(count_in("run.strobe", "a block").count, blocks);
	assert_int_equal(count_in("run.strobe", "VAE decode").count, decodes);
	assert_int_equal(count_in("run.strobe", "text_encode").count, texts);
	assert_int_equal(count_in("run.strobe", "around").count, 1);
	assert_int_equal(count_in("run.strobe", "around").open_count, 0);
	assert_int_equal(count_in("run.strobe", "vae_encode").count, 2);
	assert_int_equal(count_in("run.strobe", "vae_decode by hand").count, 1);
}

static void session_without(const char *setting)
{
	if (setting)
		setenv(setting, "false", 1);
	start(0);
	one_of_each();
	strobe_stop();
	if (setting)
		unsetenv(setting);
}

static void what_is_switched_off_is_not_recorded(void **state)
{
	session_without(NULL);
	counts_of_each(1, 1, 2, 2);
	session_without("STROBE_PROFILE_DIFFUSION_STEPS");
	counts_of_each(0, 1, 2, 2);
	session_without("STROBE_PROFILE_INFERENCE_STEPS");
	counts_of_each(0, 1, 2, 2);
	session_without("STROBE_PROFILE_BLOCK_COMPUTATION");
	counts_of_each(1, 0, 2, 2);
	session_without("STROBE_PROFILE_VAE_DECODE");
	counts_of_each(1, 1, 0, 2);
	session_without("STROBE_PROFILE_TEXT_ENCODING");
	counts_of_each(1, 1, 2, 0);
}

static void a_tag_that_is_nothing_is_ignored(void **state)
{
	start(0);
	strobe_tag(NULL);
	strobe_tag(&(struct strobe_attr){ .key = NULL });
	strobe_stop();
}

/* ---- fork ---------------------------------------------------------------- */

static void a_forked_child_has_a_file_of_its_own(void **state)
{
	char name[64];
	int status;
	pid_t pid;

	start(0);
	zones(100);
	pid = fork();
	if (!pid) {
		zones(30);
		_exit(strobe_stop() ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	zones(5);
	strobe_stop();
	snprintf(name, sizeof name, "run.%ld.strobe", (long)pid);
	assert_int_equal(count_in("run.strobe", "outer").count, 105);
	assert_int_equal(count_in(name, "outer").count, 30);
}

static void a_child_that_records_nothing_leaves_nothing(void **state)
{
	char name[64];
	int status;
	pid_t pid;

	start(0);
	pid = fork();
	if (!pid)
		exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	strobe_stop();
	snprintf(name, sizeof name, "run.%ld.strobe", (long)pid);
	assert_int_equal(size_of(file(name)), -1);
	assert_int_equal(count_in("run.strobe", "outer").count, 0);
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
#define T(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		T(what_is_switched_off_is_not_recorded),
		T(a_tag_that_is_nothing_is_ignored),
		T(every_zone_is_in_the_file),
		T(nothing_is_recorded_without_a_session),
		T(a_second_session_starts_empty),
		T(a_scope_left_early_still_ends),
		T(threads_that_come_and_go_lose_nothing),
		T(two_hundred_threads_fit_into_eight_mebibytes),
		T(two_hundred_threads_at_once_fit_too),
		T(sessions_stop_while_others_record),
		T(folded_totals_are_exact),
		T(ten_million_zones_in_eight_mebibytes_are_exact),
		T(a_zone_open_across_folds_ends_right),
		T(a_folded_duration_stays_in_the_zone_around_it),
		T(times_beyond_forty_bits_are_kept),
		T(a_folder_that_cannot_be_made_is_one_clear_error),
#ifndef __SANITIZE_THREAD__ /* which cannot follow a process that forks and has threads */
		T(a_forked_child_has_a_file_of_its_own),
		T(a_child_that_records_nothing_leaves_nothing),
		T(nothing_is_lost_at_a_kill),
		T(folded_totals_are_exact_after_a_kill),
		T(a_full_disk_folds_instead_of_crashing),
		T(a_file_size_limit_is_honoured),
		T(a_file_size_limit_below_a_header_kills_nobody),
		T(a_spooled_recording_comes_home),
		T(a_spool_comes_home_on_sigterm),
#endif
	};

	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	setenv("STROBE_MONITOR", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
