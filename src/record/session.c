/* The session's life: opened by strobe_start, by the first event of an armed
 * process, or by strobe run; closed by strobe_stop or at exit. */
#include "record/session.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/hot.h"
#include "base/numerals.h"
#include "format/spool.h"
#include "record/clock.h"
#include "record/descriptor.h"
#include "record/errand.h"
#include "record/fault.h"
#include "record/fork.h"
#include "record/gate.h"
#include "record/header.h"
#include "record/put.h"
#include "record/module.h"
#include "record/destination.h"
#include "record/recorder.h"
#include "record/report_child.h"
#include "record/rundir.h"
#include "record/spool.h"
#include "record/stage_log.h"
#include "record/tags.h"
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

static struct sb_recorder own_recorder = { .control = PTHREAD_MUTEX_INITIALIZER };
SB_HOT_DATA struct sb_recorder *sb_recorder_used = &own_recorder;

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

static void mode_set(uint32_t mode)
{
	uint32_t count = atomic_load(&REC->instance_count);

	for (uint32_t i = 0; i < count && i < SB_INSTANCES_MAX; i++)
		if (REC->mode_words[i])
			__atomic_store_n(REC->mode_words[i], mode, __ATOMIC_RELEASE);
}

/* Prints one message; the pipeline runs on. */
static void say(const char *what)
{
	char line[900];
	int n = snprintf(line, sizeof line, "strobe: %s; running unrecorded\n", what);

	if (!sb_descriptor_stderr_is_safe(STDERR_FILENO))
		return;
	if (n > 0)
		sb_descriptor_write(
			STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
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

static void start_modules(void)
{
	locale_t before = sb_numerals_enter();

	for (const struct sb_module *const *m = sb_modules; *m; m++)
		if ((*m)->start)
			(*m)->start(&REC->settings);
	sb_numerals_leave(before);
}

static void count_from_zero(void)
{
	atomic_store(&REC->file_writer_count, 0);
	atomic_store(&REC->schema_count, 0);
	atomic_store(&REC->track_count, 0);
	atomic_fetch_add(&REC->session, 1);
}

/* This thread has claimed the gate, and the helper runs. */
static int open_claimed(const struct sb_settings *settings, const char *run_dir, const char *file_name)
{
	struct sb_opening opening = { settings, run_dir, file_name, (uint32_t)gettid(), false };
	int err;

	sb_clock_init();
	sb_names_init();
	err = sb_fork_watch();
	if (!err)
		err = sb_errand_run(sb_destination_open, &opening);
	if (err)
		return err;
	if (settings != &REC->settings)
		REC->settings = *settings;
	if (run_dir != REC->run_dir)
		snprintf(REC->run_dir, sizeof REC->run_dir, "%s", run_dir);
	count_from_zero();
	sb_stage_log_open(settings->stage_log);
	sb_fault_catch();
	sb_helper_beat(true); /* first: writers need room */
	sb_gate_set(SB_OPEN);
	sb_lost_early_tell();
	mode_set(1);
	sb_names_write_all();
	sb_tags_write(settings);
	start_modules();
	if (REC->spool_path[0])
		catch_sigterm(true);
	sb_gate_done();
	return 0;
}

/* Nothing will be recorded: what was lost meanwhile is no loss. */
static void give_up_opening(uint32_t state)
{
	sb_helper_stop();
	if (state == SB_IDLE)
		mode_set(0);
	sb_gate_set(state);
	for (uint32_t i = 0; i < SB_LOST_REASONS; i++)
		atomic_store(&REC->lost_early[i], 0);
}

int sb_session_open(const struct sb_settings *settings, const char *run_dir, const char *file_name)
{
	int err;

	if (!sb_gate_claim(SB_IDLE) && !sb_gate_claim(SB_ARMED))
		return sb_fail(STROBE_EBUSY, "a session is open already: '%s'", REC->run_dir);
	sb_helper_start();
	err = open_claimed(settings, run_dir, file_name);
	if (err)
		give_up_opening(SB_IDLE);
	return err;
}

/* settings are loaded; decides on the folder and opens. */
static int open_configured(void)
{
	struct sb_destination destination = { .made = false };
	int err = sb_errand_run(sb_destination_choose, &destination);

	if (!err)
		err = open_claimed(&REC->settings, REC->run_dir, destination.file_name);
	if (err && destination.made) {
		char message[700];

		snprintf(message, sizeof message, "%s", sb_error_message());
		sb_errand_run(sb_destination_discard, NULL);
		sb_fail(err, "%s", message);
	}
	return err;
}

static int load_settings(void *options)
{
	return sb_settings_load(&REC->settings, options);
}

/* This thread has claimed the gate. What failed before the settings were known is the
 * caller's to try again: the state is then `otherwise`. */
static int load_and_open(const struct strobe_options *opts, bool loaded, uint32_t otherwise)
{
	int err = 0;

	sb_helper_start();
	if (!loaded)
		err = sb_errand_run(load_settings, (void *)opts);
	if (err) {
		give_up_opening(otherwise);
		return err;
	}
	err = open_configured();
	if (err)
		give_up_opening(SB_IDLE);
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

static int join_open(const struct strobe_options *opts)
{
	if (REC->explicit_start)
		return sb_fail(STROBE_EBUSY, "a session is open already: '%s'", REC->run_dir);
	REC->explicit_start = true; /* joins the one that the environment opened */
	for (size_t i = 0; opts && i < opts->tag_count; i++)
		strobe_tag(&opts->tags[i]);
	return 0;
}

/* Another thread's first event may be opening the armed session, or be about to: one of
 * the two opens it, the other joins. */
static int start_locked(const struct strobe_options *opts)
{
	uint32_t state;
	int err;

	do {
		state = sb_gate_wait();
		if (state == SB_OPEN)
			return join_open(opts);
		if (state == SB_OPENING)
			return sb_fail(STROBE_EBUSY, "another thread is still opening a session");
	} while (!sb_gate_claim(state));
	err = load_and_open(opts, false, state);
	if (!err)
		REC->explicit_start = true;
	return err;
}

/* A forked child may have been born while another thread held the lock. Returns what
 * unlock_control() takes. */
static int lock_control(void)
{
	int cancel = sb_cancel_off();

	sb_fork_settle();
	pthread_mutex_lock(&REC->control);
	return cancel;
}

static void unlock_control(int cancel)
{
	pthread_mutex_unlock(&REC->control);
	sb_cancel_restore(cancel);
}

static bool is_quiet(const struct strobe_options *opts)
{
	return opts && opts->size >= offsetof(struct strobe_options, quiet) + sizeof opts->quiet &&
	       opts->quiet;
}

int strobe_start(const struct strobe_options *opts)
{
	int err, cancel;

	if (disabled_by_environment())
		return 0;
	if (opts && opts->size < offsetof(struct strobe_options, output_dir))
		return sb_fail(
			STROBE_EINVAL, "strobe_options.size is not set: use sizeof(struct strobe_options)");
	cancel = lock_control();
	err = start_locked(opts);
	unlock_control(cancel);
	if (err && err != STROBE_EBUSY && !is_quiet(opts))
		say(strobe_error());
	return err;
}

void sb_session_open_armed(void)
{
	if (sb_gate_claim(SB_ARMED) && load_and_open(NULL, REC->forked, SB_IDLE) &&
		!(REC->run_full && REC->under_run))
		say(strobe_error());
}

void sb_session_forked(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
	bool was_recording = atomic_load(&REC->state) != SB_IDLE;

	/* No helper; the parent's mapping stays where it is, unused. */
	memcpy(&REC->control, &fresh, sizeof fresh);
	REC->helper_runs = false;
	sb_errand_forget();
	for (uint32_t i = 0; i < SB_TABLES_MAX; i++)
		atomic_store(&REC->own_tables[i], 0);
	for (uint32_t i = 0; i < SB_LOST_REASONS; i++)
		atomic_store(&REC->lost_early[i], 0);
	REC->forked = was_recording; /* then it shares its parent's folder */
	REC->explicit_start = false;
	REC->file_count = 0;
	REC->attempt = 0;
	REC->spool_path[0] = 0;
	atomic_store(&REC->writer_count, 0);
	for (const struct sb_module *const *m = sb_modules; *m; m++)
		if ((*m)->forked)
			(*m)->forked();
	sb_gate_set(was_recording ? SB_ARMED : SB_IDLE);
}

/* ---- closing -------------------------------------------------------------- */

void sb_session_on_close(void (*f)(void))
{
	for (uint32_t i = 0; i < SB_INSTANCES_MAX; i++) {
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
	for (uint32_t i = 0; i < SB_INSTANCES_MAX; i++) {
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

	sb_clock_anchor(&end); /* waiting from here on does not count as the program's time */
	stop_modules();
	sb_fault_tell();
	mode_set(0);
	atomic_store(&REC->state, SB_CLOSING);
	sb_writers_quiesce();
	sb_writers_poison();
	sb_helper_beat(false);
	sb_lost_early_tell();
	sb_header_finish(sb_header(), &end, atomic_load(&REC->extent.next_chunk));
	sb_errand_run(close_on_disk, NULL);
	sb_fault_release();
	atomic_fetch_add(&REC->session, 1);
	atomic_store(&REC->state, SB_IDLE);
	if (REC->spool_path[0]) {
		catch_sigterm(false);
		err = sb_errand_run(move_spool, NULL);
	}
	sb_helper_stop();
	return err;
}

static int stop_locked(void)
{
	int err;

	if (atomic_load(&REC->state) != SB_OPEN) {
		if (sb_gate_claim(SB_ARMED))
			give_up_opening(SB_IDLE);
		return 0;
	}
	sb_gate_wait_done();
	err = sb_session_close();
	REC->explicit_start = false;
	if (!err && !REC->under_run && !REC->forked && REC->settings.generate_final_report)
		sb_report_child_start(REC->run_dir, &REC->settings);
	return err;
}

int strobe_stop(void)
{
	int cancel = lock_control(), err = stop_locked();

	unlock_control(cancel);
	return err;
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
	sb_instances_join();
	slot = atomic_fetch_add(&REC->instance_count, 1);
	sb_clock_init();
	sb_names_init();
	if (slot < SB_INSTANCES_MAX)
		REC->mode_words[slot] = &strobe_mode_;
	if (atomic_load(&REC->state) == SB_OPEN || atomic_load(&REC->state) == SB_ARMED)
		__atomic_store_n(&strobe_mode_, 1, __ATOMIC_RELAXED);
	else if (enabled_by_environment() && atomic_compare_exchange_strong(&REC->state, &idle, SB_ARMED))
		mode_set(1);
}

__attribute__((destructor)) static void process_ends(void)
{
	int cancel = lock_control();

	stop_locked();
	unlock_control(cancel);
}
