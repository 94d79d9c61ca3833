/* strobe run: record a program, unmodified. */
#include "command.h"
#include "inherited.h"
#include "run_attach.h"
#include "run_child.h"
#include "run_display.h"
#include "run_finish.h"
#include "run_gather.h"
#include "run_labels.h"
#include "run_commit.h"
#include "run_name.h"
#include "run_outer.h"
#include "run_python.h"
#include "run_settings.h"
#include "run_stages.h"

#include "base/filename.h"
#include "format/run_keys.h"
#include "monitor/cgroup.h"
#include "monitor/monitor.h"
#include "monitor/source.h"
#include "monitor/tree.h"
#include "record/tags.h"
#include "record/put.h"
#include "record/rundir.h"
#include "record/session.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct command_option own_options[] = {
	{ "output-dir", 'o', "DIR", "folder that gets the run's folder; default ./strobe-runs", false,
		false },
	{ "name", 'n', "NAME", "the run's name; default: the script's or program's", false, false },
	{ "config", 'c', "FILE", "settings as YAML, under the key 'profiling:'", false, false },
	{ "preset", 'p', "PRESET", "development or production", false, false },
	{ "tag", 't', "KEY=VALUE", "describe the run: model=wan-1.3b; may be repeated", false, true },
	{ "stage", 's', "FUNCTION=STAGE",
		"record a function as a stage: 'pkg.mod:Class.method=4c VAE encode'; may be repeated", false,
		true },
	{ "output", 0, "FILE",
		"a file that the command writes as its result, to compare with another run's; may be "
		"repeated",
		false, true },
	{ "labels", 0, NULL,
		"stage lines that the command prints ('[3b] RAFT: 14.02s') become zones as they appear",
		false, false },
	{ "gpu-trace", 0, "SPEC",
		"trace GPU kernels: all (default), steps:3, steps:3@10 (after ten steps), seconds:5, or "
		"slow:1.5 (keeps only steps and generations 1.5 times slower than their peers, the worst "
		"three; slow:1.5,10: the worst ten, of 100 at most)",
		true, false },
	{ "gpu-counters", 0, "SPEC",
		"sample SM, tensor core, DRAM and PCIe counters every 0.5 ms: all (default), steps:3, "
		"steps:3@10, seconds:5, signal (when kill -USR2 comes), or slow (only around the slow "
		"moments of --gpu-trace=slow:1.5)",
		true, false },
	{ "sample", 0, "HZ", "sample Python stacks HZ times a second (100; 20 without this option); 0: off",
		true, false },
	{ "memory-history", 0, "N",
		"find the lines that held GPU memory at the peak, from the last N (100000) entries of "
		"torch's "
		"allocator history; host: the host's memory instead; host,N: both",
		true, false },
	{ "no-python-hook", 0, NULL, "do not attach to Python programs", false, false },
	{ "no-command", 0, NULL, "leave the command line out of the recording", false, false },
	{ "wait", 'w', NULL, "also wait for processes that the command leaves behind", false, false },
	{ "quiet", 'q', NULL, "no summary; errors only", false, false },
	{ "print-config", 0, NULL, "show the settings in force and where each came from; runs nothing", false,
		false },
};
enum { OWN_COUNT = sizeof own_options / sizeof own_options[0] };
static struct command_option options[RUN_OPTIONS_MAX];

__attribute__((constructor)) static void fill_options(void)
{
	memcpy(options, own_options, sizeof own_options);
	run_settings_options(options, OWN_COUNT, RUN_OPTIONS_MAX);
}

/* ---- the run ----------------------------------------------------------------------- */

struct run {
	struct sb_settings settings;
	struct sb_settings_origin origin;
	char folder[PATH_MAX]; /* as the user would type it */
	char absolute[PATH_MAX];
	struct sb_folder folder_id; /* proves that it is still the one that was made */
	char stages_seen[PATH_MAX + 32];
	bool folder_made;
	struct run_child child;
	struct run_labels labels; /* --labels */
	struct run_python python;
	const char *launcher; /* "mpirun"; NULL: the command is none */
	struct run_gather gather;
	struct run_display display;
	char outer[PATH_MAX]; /* the run folder of a `strobe run` above; "": none */
	char hook_folder[PATH_MAX];
	struct sb_cgroup cgroup;
	uint64_t oom_kills_before;
	uint64_t start_ns;
	long own_rss_kb; /* of strobe, when the command had been started */
};

static int open_recording(struct run *r, const struct args *args)
{
	bool sampled = r->settings.monitor;
	char gpu_trace[sizeof r->settings.gpu_trace], gpu_counters[sizeof r->settings.gpu_counters];
	int attempt = 0;

	if (!r->settings.name[0])
		run_name_after(args->after_dashes, r->settings.name, sizeof r->settings.name);
	sb_tags_mask_name(&r->settings);
	if (sb_rundir_make(&r->settings, r->folder, sizeof r->folder, &r->folder_id, &attempt))
		return complain_last();
	r->folder_made = true;
	if (!realpath(r->folder, r->absolute))
		return complain("cannot find the run folder '%s' again", r->folder);
	r->settings.monitor = false; /* not from inside: the tree is sampled below */
	memcpy(gpu_trace, r->settings.gpu_trace, sizeof gpu_trace);
	memcpy(gpu_counters, r->settings.gpu_counters, sizeof gpu_counters);
	r->settings.gpu_trace[0] = r->settings.gpu_counters[0] = 0; /* the command's, not the tool's */
	if (sb_session_open(&r->settings, r->absolute, "run.strobe")) {
		sb_rundir_discard(r->folder, &r->folder_id);
		return complain_last();
	}
	r->settings.monitor = sampled;
	memcpy(r->settings.gpu_trace, gpu_trace, sizeof gpu_trace);
	memcpy(r->settings.gpu_counters, gpu_counters, sizeof gpu_counters);
	sb_keep_meta_string(SB_META_SETTING, "gpu_trace", gpu_trace);
	sb_keep_meta_string(SB_META_SETTING, "gpu_counters", gpu_counters);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_TOOL, 1);
	if (attempt)
		sb_keep_meta_int(SB_META_RUN, SB_RUN_ATTEMPT, attempt);
	if (!args_has(args, "no-command"))
		run_record_command(args->after_dashes);
	run_record_commit();
	return 0;
}

static void start_monitors(struct run *r)
{
	struct sb_monitor_options how = { .settings = &r->settings,
		.root = getpid(),
		.outside = true,
		.label = sb_filename_of(r->folder),
		.display_fd = STDERR_FILENO,
		.display_later = r->display.path[0] != 0,
		.stage = r->labels.running ? run_labels_last : NULL,
		.stage_of = &r->labels };

	if (r->settings.monitor) {
		sb_monitor_start(&how);
		run_display_watch(&r->display);
	} else /* who belongs to the command must be known to end it */
		sb_tree_open(getpid(), true);
}

/* What the user of `run` says about the display holds; else the command's own configuration can ask for it. */
static void let_command_ask_for_display(struct run *r)
{
	if (r->settings.monitor && r->settings.enabled &&
		r->origin.source[sb_setting_find("real_time_display") - sb_setting_table] == SB_FROM_DEFAULT)
		run_display_begin(&r->display, r->absolute, &r->folder_id);
}

static void look_at_processes(void *python)
{
	run_python_look_at_processes(python);
}

static void gather(void *gather)
{
	run_gather_finished(gather);
}

/* For the Python package: how many entries torch's allocator shall keep, and whether the host's are kept. */
static int ask_for_history(const struct args *args)
{
	const char *given = args_value(args, "memory-history");
	bool host = given && !strncmp(given, "host", 4) && (!given[4] || given[4] == ',');
	const char *number = host ? &given[4] + (given[4] != 0) : given;
	char *end;
	long entries;

	if (!args_has(args, "memory-history"))
		return EXIT_OK;
	if (!number || !*number)
		number = host ? "0" : "100000";
	entries = strtol(number, &end, 10);
	if (*end || entries > 100000000 || (entries < 1 && (!host || given[4])))
		return complain(
			"--memory-history takes a number of entries, host, or host,NUMBER, not '%s'", given);
	if (setenv("STROBE_MEMORY_HISTORY", number, 1) || (host && setenv("STROBE_HOST_HISTORY", "1", 1)))
		return complain("no memory for the environment");
	return EXIT_OK;
}

static int start_command(struct run *r, const struct args *args)
{
	struct run_attach attach = { &r->settings, &r->origin, r->absolute, !args_has(args, "no-python-hook"),
		r->stages_seen, r->display.path };
	char **environment;
	struct rusage own;
	int code;

	if (args_has(args, "labels")) {
		code = run_labels_begin(&r->labels);
		if (code)
			return code;
	}
	if (r->settings.stage_count)
		run_stages_begin(r->absolute, &r->folder_id, r->stages_seen, sizeof r->stages_seen);
	let_command_ask_for_display(r);
	environment = run_attach_environment(&attach);

	if (!environment)
		return complain("no memory for the environment");
	if (attach.python_hook && run_attach_find_hook(r->hook_folder, sizeof r->hook_folder))
		r->python.hook_folder = r->hook_folder;
	run_python_look_at_command(&r->python, args->after_dashes);
	r->launcher = run_name_launcher(args->after_dashes);
	r->child.look = look_at_processes;
	r->child.look_for = &r->python;
	r->gather = (struct run_gather){
		.folder = r->absolute, .folder_id = &r->folder_id, .most_bytes = r->settings.max_trace_bytes
	};
	r->child.tidy = gather;
	r->child.tidy_for = &r->gather;
	code = run_child_start(&r->child, args->after_dashes, environment);
	r->gather.command = r->child.pid;
	if (args_has(args, "labels"))
		run_labels_started(&r->labels);
	if (!getrusage(RUSAGE_SELF, &own))
		r->own_rss_kb = own.ru_maxrss;
	run_attach_free(environment);
	return code;
}

static bool anything_recorded(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	bool found = false;

	while (d && (entry = readdir(d)))
		found |= !strncmp(entry->d_name, "run.", 4) && entry->d_name[4] != 's';
	if (d)
		closedir(d);
	return found;
}

static bool out_of_memory(const struct run *r)
{
	uint64_t now = 0;

	return sb_cgroup_oom_kills(&r->cgroup, &now) && now > r->oom_kills_before &&
	       (!WIFEXITED(r->child.status) || WEXITSTATUS(r->child.status));
}

/* A program may record without the hook, by its own import. */
static bool has_recorded(const struct run *r, pid_t pid)
{
	char path[PATH_MAX + 40];

	snprintf(path, sizeof path, "%s/run.%d.strobe", r->absolute, (int)pid);
	return !access(path, F_OK);
}

/* A rank that records nothing has no samples either: from outside the launcher's processes are one tree. */
static void say_missing_ranks(const char *launcher)
{
	char why[80], how[80];

	snprintf(why, sizeof why, "no process that %s started recorded anything", launcher);
	snprintf(how, sizeof how, "start each rank below strobe: %s ... strobe run -- PROGRAM", launcher);
	sb_keep_missing("ranks", why, how);
}

/* Why there are no stages, as far as it can be told from outside. */
static void say_missing_stages(const struct run *r)
{
	bool any = run_gather_say_refused(&r->gather);

	any |= run_outer_say_inner(r->absolute, &r->folder_id) || anything_recorded(r->absolute);
	if (any && r->python.unreached && !has_recorded(r, r->python.pid ? r->python.pid : r->child.pid))
		sb_keep_missing("stages of one Python program", r->python.why, r->python.how);
	if (any)
		return;
	if (r->launcher)
		say_missing_ranks(r->launcher);
	if (r->python.unreached)
		sb_keep_missing("stages", r->python.why, r->python.how);
	else if (r->python.uses_strobe)
		sb_keep_missing("stages", "the program loads strobe, but began no stage in this run",
			"begin one, and leave STROBE_* in its environment");
	else
		sb_keep_missing("stages", SB_NO_STAGES, SB_NO_STAGES_HOW);
	if (r->settings.sample_hz > 0 &&
		r->origin.source[sb_setting_find("sample_hz") - sb_setting_table] != SB_FROM_DEFAULT)
		sb_keep_missing("Python stacks",
			r->python.unreached ? r->python.why : "no Python process of the command recorded any",
			r->python.unreached ? r->python.how : "");
}

static void record_outputs(const struct args *args)
{
	const char *path;

	for (int i = 0; (path = args_nth(args, "output", i)); i++)
		strobe_output(path);
}

static void record_end(struct run *r, char *outcome, size_t size)
{
	struct rusage usage;

	run_child_outcome(&r->child, out_of_memory(r), outcome, size);
	sb_keep_meta_string(SB_META_RUN, SB_RUN_OUTCOME, outcome);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_PID, r->child.pid);
	if (WIFSIGNALED(r->child.status))
		sb_keep_meta_int(SB_META_RUN, SB_RUN_EXIT_SIGNAL, WTERMSIG(r->child.status));
	else
		sb_keep_meta_int(SB_META_RUN, SB_RUN_EXIT_CODE, WEXITSTATUS(r->child.status));
	if (r->child.left_behind[0])
		sb_keep_meta_string(SB_META_RUN, SB_RUN_LEFT_BEHIND, r->child.left_behind);
	sb_keep_meta_int(SB_META_RUN, SB_RUN_PROCESS_COUNT, sb_tree_seen_count());
	if (!getrusage(RUSAGE_CHILDREN, &usage)) {
		sb_keep_meta_float(SB_META_RUN, SB_RUN_CPU_S,
			(double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
				1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
		/* A command begins with strobe's own size, until it is larger itself. */
		if (usage.ru_maxrss > r->own_rss_kb)
			sb_keep_meta_int(SB_META_RUN, SB_RUN_PEAK_RSS_BYTES, usage.ru_maxrss * 1024ll);
	}
	say_missing_stages(r);
	run_stages_say_missing(r->absolute, &r->folder_id, &r->settings);
	run_gather_end(&r->gather);
}

/* The command as if strobe were not there, but that its `import strobe` still works. */
static int run_unrecorded(const struct args *args)
{
	char **environment = run_attach_nothing(!args_has(args, "no-python-hook"));

	prctl(PR_SET_CHILD_SUBREAPER, 0); /* would outlive the exec */
	inherited_restore();
	if (environment)
		execvpe(args->after_dashes[0], args->after_dashes, environment);
	return run_child_check(args->after_dashes[0]);
}

/* At the limit of processes (ulimit -u) there is room for the program alone. */
static int run_in_place(const struct args *args)
{
	fprintf(stderr, "strobe: the command runs unrecorded\n");
	return run_unrecorded(args);
}

static bool lacks_descriptors(void)
{
	return strstr(strobe_error(), strerror(EMFILE)) || strstr(strobe_error(), strerror(ENFILE));
}

static int record(struct run *r, const struct args *args)
{
	char outcome[160];
	double wall_s;
	int code;

	code = run_child_check(args->after_dashes[0]);
	if (code)
		return code;
	run_child_prepare(&r->child, args->after_dashes);
	if (open_recording(r, args)) { /* the program matters more than its recording */
		fprintf(stderr, "strobe: the command runs unrecorded%s\n",
			r->folder_made || lacks_descriptors() ? ""
							      : "; -o names a folder that can be written");
		run_child_release(&r->child);
		return run_unrecorded(args);
	}
	run_outer_tell(r->outer, r->folder, r->absolute, args_has(args, "quiet"));
	sb_cgroup_find(&r->cgroup);
	sb_cgroup_oom_kills(&r->cgroup, &r->oom_kills_before);
	r->start_ns = sb_mono_ns();
	code = start_command(r, args);
	if (code) { /* nothing ran: nothing is kept */
		run_labels_end(&r->labels, NULL, NULL, 0);
		run_display_end(&r->display);
		sb_session_close();
		run_stages_forget(r->absolute, &r->folder_id);
		sb_rundir_discard(r->folder, &r->folder_id);
		run_child_release(&r->child);
		return r->child.refused ? run_in_place(args) : code;
	}
	start_monitors(r); /* beside the command, which need not wait for the GPU driver */
	run_child_wait(&r->child, args_has(args, "wait"));
	run_display_end(&r->display);
	run_labels_end(&r->labels, r->absolute, r->settings.name, r->child.pid);
	wall_s = (double)(sb_mono_ns() - r->start_ns) * 1e-9;
	record_end(r, outcome, sizeof outcome);
	record_outputs(args);
	sb_monitor_stop();
	if (sb_session_close())
		complain_last();
	code = run_child_exit_code(&r->child);
	run_child_release(&r->child);
	run_finish_spools(r->folder, &r->folder_id);
	run_finish_reports(&(struct run_finish){ .settings = &r->settings,
		.folder = r->folder,
		.folder_id = &r->folder_id,
		.outcome = outcome,
		.child = &r->child,
		.wall_s = wall_s,
		.quiet = args_has(args, "quiet") });
	return code;
}

static int run_switched_off(const struct run *r, const struct args *args)
{
	size_t i = (size_t)(sb_setting_find("enabled") - sb_setting_table);
	int code = run_child_check(args->after_dashes[0]);

	if (code)
		return code;
	if (!args_has(args, "quiet") && r->origin.source[i] == SB_FROM_FILE)
		fprintf(stderr, "strobe: recording is switched off (enabled: false in %s:%d)\n",
			r->origin.file, r->origin.line[i]);
	else if (!args_has(args, "quiet"))
		fprintf(stderr, "strobe: recording is switched off (STROBE_ENABLED=%s)\n",
			getenv("STROBE_ENABLED") ? getenv("STROBE_ENABLED") : "0");
	return run_unrecorded(args);
}

static int run(struct args *args)
{
	struct run *r = calloc(1, sizeof *r);
	int code;

	if (!r)
		return complain("no memory");
	run_outer_notice(r->outer, sizeof r->outer);
	code = run_settings_load(args, &r->settings, &r->origin);
	if (!code && args_has(args, "print-config")) {
		struct sb_buf text = { 0 };

		run_settings_print(&r->settings, &r->origin, &text);
		fputs(sb_buf_text(&text), stdout);
		sb_buf_done(&text);
	} else if (!code && args->count) {
		code = args_complain_stray(args);
	} else if (!code && (!args->after_dashes || !args->after_dashes[0])) {
		code = complain("no command given: strobe run [OPTIONS] -- COMMAND [ARG...]");
	} else if (!code && !r->settings.enabled) {
		code = run_switched_off(r, args);
	} else if (!code) {
		code = ask_for_history(args);
		code = code ? code : record(r, args);
	}
	free(r);
	return code;
}

const struct command cmd_run = {
	.name = "run",
	.usage = "[OPTIONS] -- COMMAND [ARG...]",
	.summary = "record a program, unmodified; write its run folder and summary",
	.description =
		"Starts the command with recording on, samples GPU, CPU, memory and disk of its whole "
		"process\n"
		"tree from outside, and passes signals, standard input and output and the exit code "
		"through.\n"
		"The summary goes to standard error, the reports into the run folder, which only you can "
		"read.\n"
		"Exit code: the command's, 128 + N when signal N ended it, 127 no such command, 126 it "
		"cannot be run.",
	.examples = "  strobe run -- python wan_t2v.py --steps 50\n"
		    "  strobe run --stage 'wan.vae:VAE.decode=4c VAE decode' -- python wan_t2v.py\n"
		    "  strobe run -p production -o /data/runs -t model=wan-1.3b -- torchrun --nproc-per-node "
		    "8 serve.py\n"
		    "  strobe run --gpu-trace=steps:3 -- ./pipeline\n"
		    "  strobe run --output out.mp4 -- python inpaint.py\n"
		    "  strobe run --config profiling.yaml --print-config",
	.exit_status =
		"The command's own, 128 + N when signal N ended it; 127 there is no such command, 126 it "
		"cannot be run, 2 usage or input error.",
	.own_option_count = OWN_COUNT,
	.options = options,
	.passes_command = true,
	.run = run,
};
