/* strobe import: foreign traces, logs and profiles into run folders. */
#include "command.h"

#include "run/run.h"
#include "base/filename.h"
#include "base/scratch.h"
#include "exchange/import.h"
#include "exchange/share.h"
#include "report/panels/panel.h"
#include "import_progress.h"
#include "output.h"
#include "strobe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct command_option options[] = {
	{ "output", 'o', "DIR", "the run folder to make (default: under ./strobe-runs)", false, false },
	{ "stages", 0, "RUN",
		"of a memory snapshot: say in which stage of RUN, recorded at the same time, each block was "
		"allocated",
		false, false },
	{ "quiet", 'q', NULL, "print the run folder only", false, false },
	{ 0 },
};

/* "/a/trace.json.gz" -> "trace" */
static void stem_of(const char *path, char *out, size_t size)
{
	char *dot;

	snprintf(out, size, "%s", strcmp(path, "-") ? sb_filename_of(path) : "stdin");
	for (char *c = out; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == '\\')
			*c = '_';
	dot = strrchr(out, '.');
	if (dot && dot > out && !strcmp(dot, ".gz"))
		*dot = 0;
	dot = strrchr(out, '.');
	if (dot && dot > out)
		*dot = 0;
}

static void default_folder(const char *path, char *out, size_t size)
{
	char stem[128], stamp[32];
	time_t now = time(NULL);
	struct tm parts;

	stem_of(path, stem, sizeof stem);
	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &parts));
	snprintf(out, size, "%s/%s-%s-%ld", sb_run_root(), stem, stamp, (long)getpid());
}

/* mkdir -p; how many folders were made, from the right, is what an error undoes. */
static int make_folders(char *path)
{
	int made = 0;

	for (char *slash = path + 1;; slash++) {
		char kept = *slash;

		if (kept && kept != '/')
			continue;
		*slash = 0;
		if (!mkdir(path, kept ? 0777 : 0700))
			made++;
		else if (errno != EEXIST)
			made = -1;
		*slash = kept;
		if (!kept || made < 0)
			return made;
	}
}

static void remove_folders(char *path, int count)
{
	while (count-- > 0 && !rmdir(path)) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return;
		*slash = 0;
	}
}

static void print_count(const char *before, uint64_t count, const char *one, const char *many)
{
	if (count)
		printf("%s%llu %s", before, (unsigned long long)count, count == 1 ? one : many);
}

static void print_summary(const char *path, const struct sb_import_summary *s, const char *folder)
{
	char size[32];

	output_words(stdout, "%s: %s", path, s->format);
	sb_text_bytes(size, sizeof size, (double)s->recording_bytes);
	if (s->recording_bytes)
		printf(", a recording of %s", size);
	else
		printf(", %llu zone%s", (unsigned long long)s->zones, s->zones == 1 ? "" : "s");
	print_count(", ", s->gpu, "GPU record", "GPU records");
	print_count(", ", s->marks, "mark", "marks");
	print_count(", ", s->counters, "counter value", "counter values");
	print_count(", ", s->snapshots, "memory snapshot", "memory snapshots");
	print_count(", ", s->samples, "sample", "samples");
	print_count(", ", s->skipped, "skipped", "skipped");
	print_count(", ", s->untimed, "without a time", "without a time");
	printf("\n");
	if (*s->note)
		output_words(stdout, "  %s\n", s->note);
	printf("run: %s\n", folder);
}

/* The page of a job becomes the folder of ranks that it was. */
static int import_job(const struct args *args, const char *path, char *folder, int made)
{
	if (!made)
		return complain("'%s' exists already; choose another folder with -o", folder);
	if (sb_share_open_job(path, folder)) {
		sb_scratch_remove(folder);
		return complain_last();
	}
	if (args_has(args, "quiet"))
		printf("%s\n", folder);
	else
		printf("%s: shared page of a job\njob: %s\n", path, folder);
	return EXIT_OK;
}

static int import_one(struct args *args, const char *path, const char *chosen)
{
	struct sb_import_options import_options = { .stages_of = args_value(args, "stages") };
	struct sb_import_summary summary;
	struct import_progress progress;
	char folder[3000], file[3100];
	struct stat st;
	int made, err;

	if (chosen)
		snprintf(folder, sizeof folder, "%s", chosen);
	else
		default_folder(path, folder, sizeof folder);
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return complain("'%s' is a folder: name the trace or log inside it", path);
	if (!sb_import_is_candidate(path) && !access(path, R_OK))
		return complain("'%s' is a run already; 'strobe report' reads it as it is", path);
	made = make_folders(folder);
	if (made < 0)
		return complain("cannot make the folder '%s': %s", folder, strerror(errno));
	if (sb_share_is_job(path))
		return import_job(args, path, folder, made);
	snprintf(file, sizeof file, "%s/run.strobe", folder);
	if (!access(file, F_OK)) {
		return complain("'%s' holds a run already; choose another folder with -o", folder);
	}
	import_progress_begin(&progress, path, &import_options);
	err = sb_import_file(path, file, &import_options, &summary);
	import_progress_end(&progress);
	if (err) {
		remove_folders(folder, made);
		return complain_last();
	}
	if (args_has(args, "quiet") && *summary.note)
		output_words(stderr, "strobe import: '%s': %s\n", path, summary.note);
	if (args_has(args, "quiet"))
		printf("%s\n", folder);
	else
		print_summary(path, &summary, folder);
	return EXIT_OK;
}

static int run(struct args *args)
{
	const char *chosen = args_value(args, "output");

	if (!args->count)
		return complain("no file given: strobe import FILE");
	if (chosen && args->count > 1)
		return complain("-o names one run folder and %d files were given", args->count);
	for (int i = 0; i < args->count; i++) {
		int code = import_one(args, args->values[i], chosen);

		if (code)
			return code;
	}
	return EXIT_OK;
}

const struct command cmd_import = {
	.name = "import",
	.usage = "[OPTIONS] FILE...",
	.summary = "make runs of traces, stage logs, speedscope and cProfile files, memory snapshots",
	.description =
		"Reads a trace of torch.profiler (Kineto) or any Chrome trace (.json, .json.gz), a log with\n"
		"stage lines such as '[4c] VAE encode (16 frames): 1.25s', a cProfile .prof file, a\n"
		"speedscope file, a page of 'strobe share', or a memory snapshot of torch "
		"(_dump_snapshot(),\n"
		"parsed and never executed), and makes a run of it: report, diff, export and the page then\n"
		"work on it as on any other. The format is found from the content. Memory does not depend "
		"on\n"
		"the file's size. Every command also takes such a file in place of RUN and imports it on "
		"the\n"
		"fly.\n"
		"\n"
		"Text, as it was printed or saved: stage lines and their totals; PROFILING SUMMARY tables;\n"
		"ITERATION SUMMARY blocks; MEMORY USAGE SUMMARY tables; a model benchmark (Results, "
		"Component\n"
		"timings, FP32 against FP16); the live display (=== Profiling Metrics ===); an aggregation\n"
		"summary; lines such as 'vae_decode 12 ops 45s total'. JSON: traces, profiling_report.json "
		"of\n"
		"strobe and of the session profilers, profiling reports and memory logs of strobe.compat.",
	.examples = "  strobe import trace.json.gz\n"
		    "  strobe import snapshot.pickle\n"
		    "  strobe import profile.speedscope.json\n"
		    "  strobe import -o runs/before stagelog.txt && strobe report runs/before\n"
		    "  strobe report trace.json.gz",
	.options = options,
	.run = run,
};
