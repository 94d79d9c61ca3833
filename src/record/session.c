/* The session's life: opened by strobe_start, by the first event of an armed
 * process, or by strobe run; closed by strobe_stop or at exit. */
#include "record/session.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/numerals.h"
#include "base/secret.h"
#include "format/run_keys.h"
#include "format/spool.h"
#include "record/clock.h"
#include "record/descriptor.h"
#include "record/errand.h"
#include "record/header.h"
#include "record/lane.h"
#include "record/module.h"
#include "record/rank.h"
#include "record/recorder.h"
#include "record/report_child.h"
#include "record/rundir.h"
#include "record/spool.h"
#include "strobe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { OPENING_PATIENCE_MS = 2000 };

static struct sb_recorder own_recorder = { .control = PTHREAD_MUTEX_INITIALIZER };
struct sb_recorder *sb_recorder_used = &own_recorder;

const char *strobe_error(void)
{
	return sb_error_message();
}

int strobe_recording(void)
{
	return atomic_load(&REC->state) == SB_OPEN;
}

const char *strobe_run_dir(void)
{
	return REC->run_dir;
}

void sb_mode_set(uint32_t mode)
{
	uint32_t count = atomic_load(&REC->copy_count);

	for (uint32_t i = 0; i < count && i < SB_COPIES_MAX; i++)
		if (REC->mode_words[i])
			__atomic_store_n(REC->mode_words[i], mode, __ATOMIC_RELEASE);
}

/* The pipeline runs on; its owner is told once. */
static void say(const char *what)
{
	char line[900];
	int n = snprintf(line, sizeof line, "strobe: %s; running unrecorded\n", what);

	if (!sb_descriptor_stderr_is_safe(STDERR_FILENO))
		return;
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0)
		return;
}

/* ---- tags and settings ----------------------------------------------------- */

/* Credentials are not recorded: neither under a name such as "token", nor inside text. */
static void write_text_tag(const char *key, const char *text)
{
	char masked[4096];

	if (sb_secret_name(key, strlen(key)))
		text = SB_SECRET_MASK;
	else if (sb_secret_mask(text, masked, sizeof masked))
		text = masked;
	sb_keep_meta_string(SB_META_TAG, key, text);
}

static void write_tag(const struct strobe_attr *tag)
{
	if (tag->type == STROBE_TYPE_INT && sb_secret_name(tag->key, strlen(tag->key))) {
		write_text_tag(tag->key, "");
		return;
	}
	switch (tag->type) {
	case STROBE_TYPE_INT: sb_keep_meta_int(SB_META_TAG, tag->key, tag->value.i); break;
	case STROBE_TYPE_BOOL: sb_keep_meta_bool(SB_META_TAG, tag->key, tag->value.i); break;
	case STROBE_TYPE_FLOAT: sb_keep_meta_float(SB_META_TAG, tag->key, tag->value.f); break;
	default: write_text_tag(tag->key, tag->value.s ? tag->value.s : ""); break;
	}
}

static void write_setting_tag(const struct sb_setting_tag *tag)
{
	struct strobe_attr attr = { .key = tag->key, .type = tag->type };

	if (tag->type == STROBE_TYPE_FLOAT)
		attr.value.f = tag->f;
	else if (tag->type == STROBE_TYPE_STRING)
		attr.value.s = tag->s;
	else
		attr.value.i = tag->i;
	write_tag(&attr);
}

/* Ranks find each other by it, wherever their files are carried. */
static void write_job(void)
{
	struct sb_rank rank;

	sb_rank_detect(&rank);
	if (rank.rank >= 0 && rank.job[0])
		sb_keep_meta_string(SB_META_RUN, SB_RUN_JOB, rank.job);
}

static void write_settings(const struct sb_settings *settings)
{
	write_job();
	for (uint32_t i = 0; i < settings->tag_count; i++)
		write_setting_tag(&settings->tags[i]);
	for (const struct sb_setting *s = sb_setting_table; s->key; s++) {
		struct sb_buf text = { 0 };

		if (s->type == SB_SETTING_TAGS)
			continue;
		sb_settings_text(settings, s, &text);
		sb_keep_meta_string(SB_META_SETTING, s->key, sb_buf_text(&text));
		sb_buf_done(&text);
	}
}

/* ---- a spool on SIGTERM --------------------------------------------------- */

/* A job that is ended by its scheduler loses the machine's local disk too. Only
 * calls that a signal handler may make; other threads write on meanwhile. */
static void move_spool_and_die(int signal_number)
{
	if (REC->spool_path[0] && atomic_load(&REC->state) == SB_OPEN)
		sb_spool_rescue(
			REC->spool_path, REC->run_dir, &REC->run_folder, strrchr(REC->file_path, '/') + 1);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void catch_sigterm(bool on)
{
	struct sigaction now, ours = { .sa_handler = move_spool_and_die };

	if (sigaction(SIGTERM, NULL, &now))
		return;
	if (on && now.sa_handler == SIG_DFL)
		sigaction(SIGTERM, &ours, NULL);
	if (!on && now.sa_handler == move_spool_and_die)
		signal(SIGTERM, SIG_DFL);
}

/* ---- opening -------------------------------------------------------------- */

/* Where the file of a session goes; one errand opens it. */
struct opening {
	const struct sb_settings *settings;
	const char *run_dir;
	const char *file_name;
	uint32_t main_tid;
};

static int create_file(int folder, const struct opening *o, bool spooled, struct sb_descriptor *out)
{
	int fd, err;

	REC->spool_path[0] = 0;
	REC->run_folder = sb_folder_of(folder);
	if (!spooled) {
		fd = sb_folder_create(folder, o->file_name, 0600);
		return sb_descriptor_adopt(out, fd) ? 0 : sb_fail_errno("cannot write '%s'", REC->file_path);
	}
	err = sb_spool_open(folder, o->run_dir, o->file_name, REC->spool_path, sizeof REC->spool_path, &fd);
	if (err)
		return err;
	return sb_descriptor_adopt(out, fd) ? 0 : sb_fail_errno("cannot write '%s'", REC->spool_path);
}

static int open_file(const struct opening *o, bool spooled, struct sb_descriptor *out)
{
	int folder, err;

	if ((size_t)snprintf(REC->file_path, sizeof REC->file_path, "%s/%s", o->run_dir, o->file_name) >=
		sizeof REC->file_path)
		return sb_fail(STROBE_EINVAL, "the folder name is too long: '%.80s...'", o->run_dir);
	if (o->run_dir != REC->run_dir)
		REC->run_folder = (struct sb_folder){ 0, 0 };
	folder = sb_folder_reopen(o->run_dir, &REC->run_folder);
	if (folder < 0 && errno == EPERM)
		return sb_fail(STROBE_EPERM, "the run folder '%s' is not your own, or others may write to it",
			o->run_dir);
	if (folder < 0)
		return sb_fail_errno("cannot open the run folder '%s'", o->run_dir);
	err = create_file(folder, o, spooled, out);
	close(folder);
	return err;
}

static void discard_file(const char *run_dir, const char *file_name)
{
	char pointer[96];
	int folder = sb_folder_reopen(run_dir, &REC->run_folder);

	if (REC->spool_path[0])
		unlink(REC->spool_path);
	if (folder < 0)
		return;
	snprintf(pointer, sizeof pointer, "%s%s", file_name, REC->spool_path[0] ? SB_SPOOL_SUFFIX : "");
	unlinkat(folder, pointer, 0);
	close(folder);
}

/* The new extent replaces the old one only when it is whole: a late thread may
 * still look at the old one's header. */
static int open_extent(const struct opening *o, bool spooled)
{
	struct sb_extent fresh;
	struct sb_descriptor file;
	int err = open_file(o, spooled, &file);

	if (err)
		return err;
	err = sb_extent_open(&fresh, &file, o->settings->max_trace_bytes, REC->forked);
	if (err) {
		sb_extent_close(&fresh);
		discard_file(o->run_dir, o->file_name);
		return err;
	}
	REC->extent = fresh;
	return 0;
}

static int open_on_disk(void *opening)
{
	const struct opening *o = opening;
	int err = open_extent(o, sb_rundir_needs_spool(o->run_dir));
	struct sb_file_header *header;

	if (err)
		return err;
	header = (struct sb_file_header *)REC->extent.base;
	sb_header_fill(header, REC->extent.chunk_bytes, o->settings, o->run_dir);
	header->main_tid = o->main_tid;
	atomic_store_explicit(&REC->header, header, memory_order_release);
	return 0;
}

static int make_canary(void)
{
	long page = sysconf(_SC_PAGESIZE);
	void *at;

	if (!REC->canary) {
		at = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			return sb_fail_errno("no memory for the recorder");
		madvise(at, (size_t)page, MADV_WIPEONFORK);
		REC->canary = at;
	}
	atomic_store(REC->canary, 1);
	return 0;
}

static void start_modules(void)
{
	locale_t before = sb_numerals_enter();

	for (const struct sb_module *const *m = sb_modules; *m; m++)
		if ((*m)->start)
			(*m)->start(&REC->settings);
	sb_numerals_leave(before);
}

int sb_session_open(const struct sb_settings *settings, const char *run_dir, const char *file_name)
{
	struct opening opening = { settings, run_dir, file_name, (uint32_t)gettid() };
	int err;

	sb_clock_init();
	sb_names_init();
	atomic_store(&REC->state, SB_OPENING);
	sb_keeper_start();
	err = make_canary();
	if (!err)
		err = sb_errand_run(open_on_disk, &opening);
	if (err) {
		sb_keeper_stop();
		atomic_store(&REC->state, SB_IDLE);
		sb_mode_set(0);
		return err;
	}
	if (settings != &REC->settings)
		REC->settings = *settings;
	if (run_dir != REC->run_dir)
		snprintf(REC->run_dir, sizeof REC->run_dir, "%s", run_dir);
	atomic_store(&REC->file_writer_count, 0);
	atomic_store(&REC->schema_count, 0);
	atomic_store(&REC->track_count, 0);
	atomic_fetch_add(&REC->session, 1);
	atomic_store_explicit(&REC->state, SB_OPEN, memory_order_release);
	sb_mode_set(1);
	sb_names_write_all();
	write_settings(settings);
	sb_keeper_beat(true);
	start_modules();
	if (REC->spool_path[0])
		catch_sigterm(true);
	return 0;
}

static void name_file(uint32_t n, char *out, size_t size)
{
	if (!REC->under_run && !REC->forked)
		snprintf(out, size, n ? "run.%u.strobe" : "run.strobe", n);
	else
		snprintf(out, size, n ? "run.%ld.%u.strobe" : "run.%ld.strobe", (long)getpid(), n);
}

/* A program that this process was before an exec() may have left files of its pid. */
static void next_file_name(char *out, size_t size)
{
	char path[sizeof REC->run_dir + 80], spool[sizeof path + 8];

	do {
		name_file(REC->file_count++, out, size);
		snprintf(path, sizeof path, "%s/%s", REC->run_dir, out);
		snprintf(spool, sizeof spool, "%s.spool", path);
	} while (!access(path, F_OK) || !access(spool, F_OK));
}

/* What Python runs: a script, or a whole module (-m); NULL: neither. */
static const char *python_argument(const char *arguments, const char *end, bool *out_module)
{
	for (const char *a = arguments; a < end && *a; a += strlen(a) + 1) {
		if (!strcmp(a, "-c")) /* what follows is no name */
			return NULL;
		*out_module = !strcmp(a, "-m");
		if (*out_module || !strcmp(a, "-X") || !strcmp(a, "-W"))
			a += strlen(a) + 1;
		else if (*a != '-')
			return sb_filename_of(a);
		if (*out_module)
			return a < end && *a ? a : NULL;
	}
	return NULL;
}

/* "python3 wan_t2v.py" is called wan_t2v, not python3. */
static void name_after_program(char *out, size_t size)
{
	char arguments[4096];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, arguments, sizeof arguments - 2);
	const char *name = program_invocation_short_name, *found = NULL;
	bool module = false;
	const char *dot;

	if (fd >= 0)
		close(fd);
	if (n > 0 && !strncmp(name, "python", 6)) {
		arguments[n] = arguments[n + 1] = 0;
		found = python_argument(arguments + strlen(arguments) + 1, arguments + n, &module);
	}
	name = found ? found : name;
	dot = found && module ? NULL : strrchr(name, '.');
	snprintf(out, size, "%.*s", dot && dot > name ? (int)(dot - name) : (int)strlen(name), name);
}

/* By its whole path: the program may change its folder, and its children and the
 * report must still find the run. */
static int make_run_dir(void)
{
	char path[sizeof REC->run_dir], whole[PATH_MAX];
	int err = sb_rundir_make(&REC->settings, path, sizeof path, &REC->run_folder);

	if (err)
		return err;
	if (realpath(path, whole) && strlen(whole) < sizeof REC->run_dir)
		strcpy(REC->run_dir, whole);
	else
		strcpy(REC->run_dir, path);
	return 0;
}

/* Where a session goes that the program did not say: one errand looks it up. */
struct place {
	char file_name[64];
	bool made; /* the folder */
};

static int choose_place(void *place)
{
	struct place *p = place;
	const char *given = secure_getenv("STROBE_RUN_DIR");
	int err = 0;

	if (!REC->settings.name[0])
		name_after_program(REC->settings.name, sizeof REC->settings.name);
	REC->under_run = given && *given;
	if (REC->under_run) {
		snprintf(REC->run_dir, sizeof REC->run_dir, "%s", given);
		REC->run_folder = (struct sb_folder){ 0, 0 };
	} else if (!REC->forked) { /* a forked child shares its parent's folder */
		REC->file_count = 0;
		err = make_run_dir();
		p->made = !err;
	}
	if (!err)
		next_file_name(p->file_name, sizeof p->file_name);
	return err;
}

static int discard_folder(void *path)
{
	sb_rundir_discard(path, &REC->run_folder);
	return 0;
}

/* settings are loaded; decides on the folder and opens. */
static int open_configured(void)
{
	struct place place = { .made = false };
	int err = sb_errand_run(choose_place, &place);

	if (!err)
		err = sb_session_open(&REC->settings, REC->run_dir, place.file_name);
	if (err && place.made) {
		char message[700];

		snprintf(message, sizeof message, "%s", sb_error_message());
		sb_errand_run(discard_folder, REC->run_dir);
		sb_fail(err, "%s", message);
	}
	return err;
}

static int load_settings(void *options)
{
	return sb_settings_load(&REC->settings, options);
}

/* The helper does what touches files; without a session it goes again. */
static int load_and_open(const struct strobe_options *opts, bool loaded)
{
	int err = 0;

	sb_keeper_start();
	if (!loaded)
		err = sb_errand_run(load_settings, (void *)opts);
	if (!err)
		err = open_configured();
	if (err)
		sb_keeper_stop();
	return err;
}

static bool disabled_by_environment(void)
{
	const char *enabled = secure_getenv("STROBE_ENABLED");

	return enabled && sb_setting_is_false(enabled);
}

static bool enabled_by_environment(void)
{
	const char *enabled = secure_getenv("STROBE_ENABLED");

	return enabled && sb_setting_is_true(enabled);
}

/* Another thread's first event may be opening the armed session, or be about to:
 * one of the two opens it. True: it is this thread that does. */
static bool claim_armed(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint32_t armed = SB_ARMED;

	for (int ms = 0; atomic_load(&REC->state) == SB_OPENING && ms < OPENING_PATIENCE_MS; ms++)
		nanosleep(&pause, NULL);
	return atomic_compare_exchange_strong(&REC->state, &armed, SB_OPENING);
}

static int start_locked(const struct strobe_options *opts)
{
	bool was_armed = claim_armed();
	int err;

	if (atomic_load(&REC->state) == SB_OPEN) {
		if (REC->explicit_start)
			return sb_fail(STROBE_EBUSY, "a session is open already: '%s'", REC->run_dir);
		REC->explicit_start = true; /* joins the one that the environment opened */
		for (size_t i = 0; opts && i < opts->tag_count; i++)
			strobe_tag(&opts->tags[i]);
		return 0;
	}
	err = load_and_open(opts, false);
	if (!err)
		REC->explicit_start = true;
	else if (was_armed && atomic_load(&REC->state) == SB_OPENING)
		atomic_store(&REC->state, SB_ARMED);
	return err;
}

/* A forked child may have been born while another thread held the lock. */
static void lock_control(void)
{
	if (REC->canary && !atomic_load(REC->canary))
		sb_session_forked();
	pthread_mutex_lock(&REC->control);
}

static bool is_quiet(const struct strobe_options *opts)
{
	return opts && opts->size >= offsetof(struct strobe_options, quiet) + sizeof opts->quiet &&
	       opts->quiet;
}

int strobe_start(const struct strobe_options *opts)
{
	int err;

	if (disabled_by_environment())
		return 0;
	if (opts && opts->size < offsetof(struct strobe_options, output_dir))
		return sb_fail(
			STROBE_EINVAL, "strobe_options.size is not set: use sizeof(struct strobe_options)");
	lock_control();
	err = start_locked(opts);
	pthread_mutex_unlock(&REC->control);
	if (err && err != STROBE_EBUSY && !is_quiet(opts))
		say(strobe_error());
	return err;
}

void sb_session_open_armed(void)
{
	uint32_t armed = SB_ARMED;
	int err;

	if (!atomic_compare_exchange_strong(&REC->state, &armed, SB_OPENING))
		return;
	err = load_and_open(NULL, REC->forked);
	if (err) {
		atomic_store(&REC->state, SB_IDLE);
		sb_mode_set(0);
		say(strobe_error());
	}
}

void sb_session_forked(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
	bool was_recording = atomic_load(&REC->state) != SB_IDLE;

	if (atomic_load(REC->canary))
		return;
	/* One thread, no keeper; the parent's mapping stays where it is, unused. */
	memcpy(&REC->control, &fresh, sizeof fresh);
	REC->keeper_runs = false;
	sb_errand_forget();
	for (uint32_t i = 0; i < SB_TABLES_MAX; i++)
		atomic_store(&REC->own_tables[i], 0);
	REC->forked = was_recording; /* then it shares its parent's folder */
	REC->explicit_start = false;
	REC->file_count = 0;
	REC->spool_path[0] = 0;
	atomic_store(&REC->writer_count, 0);
	for (const struct sb_module *const *m = sb_modules; *m; m++)
		if ((*m)->forked)
			(*m)->forked();
	atomic_store(&REC->state, was_recording ? SB_ARMED : SB_IDLE);
	atomic_store(REC->canary, 1);
}

/* ---- closing -------------------------------------------------------------- */

void sb_session_on_close(void (*f)(void))
{
	for (uint32_t i = 0; i < SB_COPIES_MAX; i++) {
		void (*there)(void) = NULL;

		if (atomic_compare_exchange_strong(&REC->closing[i], &there, f) || there == f)
			return;
	}
}

static void stop_modules(void)
{
	for (const struct sb_module *const *m = sb_modules; *m; m++)
		if ((*m)->stop)
			(*m)->stop();
	for (uint32_t i = 0; i < SB_COPIES_MAX; i++) {
		void (*f)(void) = atomic_exchange(&REC->closing[i], NULL);

		if (f)
			f();
	}
}

static int close_on_disk(void *unused)
{
	sb_extent_close(&REC->extent);
	return 0;
}

static int move_spool(void *unused)
{
	return sb_spool_move(
		REC->spool_path, REC->run_dir, &REC->run_folder, strrchr(REC->file_path, '/') + 1);
}

int sb_session_close(void)
{
	struct sb_anchor end;
	int err = 0;

	sb_clock_anchor(&end); /* what we wait for from here on is not the program's time */
	stop_modules();
	sb_keeper_beat(false);
	sb_mode_set(0);
	atomic_store(&REC->state, SB_CLOSING);
	sb_writers_quiesce();
	sb_writers_poison();
	sb_header_finish(sb_header(), &end, atomic_load(&REC->extent.next_chunk));
	sb_errand_run(close_on_disk, NULL);
	atomic_fetch_add(&REC->session, 1);
	atomic_store(&REC->state, SB_IDLE);
	if (REC->spool_path[0]) {
		catch_sigterm(false);
		err = sb_errand_run(move_spool, NULL);
	}
	sb_keeper_stop();
	return err;
}

static int stop_locked(void)
{
	int err;

	if (atomic_load(&REC->state) != SB_OPEN) {
		if (atomic_load(&REC->state) == SB_ARMED) {
			sb_mode_set(0);
			atomic_store(&REC->state, SB_IDLE);
		}
		return 0;
	}
	err = sb_session_close();
	REC->explicit_start = false;
	if (!err && !REC->under_run && !REC->forked && REC->settings.generate_final_report)
		sb_report_child_start(REC->run_dir, &REC->settings);
	return err;
}

int strobe_stop(void)
{
	int err;

	lock_control();
	err = stop_locked();
	pthread_mutex_unlock(&REC->control);
	return err;
}

void strobe_tag(const struct strobe_attr *tag)
{
	if (tag && tag->key && sb_session_active())
		write_tag(tag);
}

void strobe_missing(const char *what, const char *why, const char *how)
{
	if (what && why && how && sb_session_active())
		sb_keep_missing(what, why, how);
}

/* ---- loading and unloading ------------------------------------------------ */

/* Threads will call into this copy when they end, and others write its mode
 * word: it may not be unloaded, whichever object it was linked into. */
static void stay_loaded(void)
{
	Dl_info info;

	if (dladdr((void *)(uintptr_t)stay_loaded, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

__attribute__((constructor)) static void library_loaded(void)
{
	uint32_t slot, idle = SB_IDLE;

	sb_descriptor_remember_stderr();
	stay_loaded();
	sb_copies_join();
	slot = atomic_fetch_add(&REC->copy_count, 1);
	sb_clock_init();
	sb_names_init();
	if (slot < SB_COPIES_MAX)
		REC->mode_words[slot] = &strobe_mode_;
	if (atomic_load(&REC->state) == SB_OPEN || atomic_load(&REC->state) == SB_ARMED)
		__atomic_store_n(&strobe_mode_, 1, __ATOMIC_RELAXED);
	else if (enabled_by_environment() && atomic_compare_exchange_strong(&REC->state, &idle, SB_ARMED))
		sb_mode_set(1);
}

__attribute__((destructor)) static void process_ends(void)
{
	lock_control();
	stop_locked();
	pthread_mutex_unlock(&REC->control);
}
