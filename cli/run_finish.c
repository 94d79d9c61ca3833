/* The end of `strobe run`. */
#include "run_finish.h"
#include "job_arg.h"

#include "command.h"
#include "base/filename.h"
#include "output.h"
#include "format/spool.h"
#include "record/spool.h"
#include "report/build.h"
#include "report/files.h"
#include "report/outputs.h"
#include "report/ranks/screen.h"
#include "report/source_lines.h"
#include "report/summary.h"
#include "run/catalogue.h"
#include "run/job.h"
#include "store/history.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void bring_home(int folder_fd, const char *folder, const char *pointer)
{
	char spool_path[PATH_MAX], name[256];
	int spool = sb_spool_follow(folder_fd, pointer, spool_path, sizeof spool_path);

	snprintf(name, sizeof name, "%.*s", (int)(strlen(pointer) - strlen(SB_SPOOL_SUFFIX)), pointer);
	if (spool < 0)
		complain("'%s/%s' is left alone: it does not name a recording of this run", folder, pointer);
	else if (!sb_spool_bring_home(spool, spool_path, folder_fd, name))
		complain("cannot move the recording from '%s' to '%s/%s': %s", spool_path, folder, name,
			strerror(errno));
}

void run_finish_spools(const char *folder, const struct sb_folder *id)
{
	int fd = sb_folder_reopen(folder, id);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (sb_ends_with(entry->d_name, ".strobe" SB_SPOOL_SUFFIX))
			bring_home(fd, folder, entry->d_name);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* Another user with write access to the folder above could have put another one here. */
static bool is_still_ours(const struct run_finish *f)
{
	int fd = sb_folder_reopen(f->folder, f->folder_id);

	if (fd < 0) {
		complain("the run folder '%s' was moved or replaced: no report is written", f->folder);
		return false;
	}
	close(fd);
	return true;
}

static unsigned files_of(const struct sb_settings *s)
{
	unsigned files = SB_FILE_TEXT | SB_FILE_MEMORY;

	if (!s->generate_final_report)
		return 0;
	if (s->report_format & SB_REPORT_JSON)
		files |= SB_FILE_JSON;
	if (s->report_format & SB_REPORT_HTML)
		files |= SB_FILE_HTML;
	return files;
}

static const char *shown_folder(const char *folder)
{
	return !strncmp(folder, "./", 2) ? folder + 2 : folder;
}

/* The file a user would open next. */
static void name_report(const char *folder, char *out, size_t size, bool job)
{
	static const char *const names[] = { "aggregated_report.html", "aggregated_report.json",
		"profiling_report.html", "profiling_report.json", "timing_summary.txt", NULL };

	for (const char *const *name = names + (job ? 0 : 2); *name; name++) {
		snprintf(out, size, "%s/%s", shown_folder(folder), *name);
		if (!access(out, F_OK))
			return;
	}
	snprintf(out, size, "%s", folder);
}

/* A job that ended with this run. aggregate NULL: there is none. */
struct ended_job {
	struct sb_aggregate *aggregate;
	bool runs; /* ranks beside this one do: the one that ends last shows all */
	bool around; /* this run is one rank of it, not its launcher */
	char folder[PATH_MAX];
};

/* Of a launcher's ranks, which recorded into this run's folder. */
static void read_job_inside(const struct run_finish *f, struct ended_job *job)
{
	char itself[PATH_MAX + 4]; /* below srun it is called rank_<N> */

	snprintf(job->folder, sizeof job->folder, "%s", f->folder);
	snprintf(itself, sizeof itself, "%s/.", f->folder);
	if (job_arg_is_job(itself) && job_arg_read(itself, 0, &job->aggregate))
		complain_last();
}

/* Of the ranks beside this one: the last of them that ends looks at all. Others may end at the same moment and do
 * the same. */
static void read_job_around(const struct run_finish *f, struct ended_job *job)
{
	char attempt[PATH_MAX + 4];
	int length = (int)(sb_filename_of(f->folder) - f->folder) - 1;

	if (length < 1 || !sb_catalogue_is_rank(sb_filename_of(f->folder)))
		return;
	snprintf(job->folder, sizeof job->folder, "%.*s", length, f->folder);
	snprintf(attempt, sizeof attempt, "%s/.", job->folder);
	switch (sb_job_end_of(job->folder)) {
	case SB_JOB_RUNS: job->runs = true; break;
	case SB_JOB_PARTLY: break;
	case SB_JOB_ENDED:
		if (job_arg_read(attempt, 0, &job->aggregate))
			complain_last();
	}
}

/* Of a rank while others run: a screen of each would bury the one of the job. */
static void print_rank(const struct run_finish *f, const struct sb_model *model)
{
	char report[PATH_MAX + 64];

	name_report(f->folder, report, sizeof report, false);
	output_words(stderr, "== strobe: %s, rank %" PRId64, model->session.name, model->session.rank);
	if (model->session.world_size > 0)
		fprintf(stderr, " of %" PRId64, model->session.world_size);
	fprintf(stderr, ", %s, %.2f s; other ranks still run; report: %s\n", f->outcome, f->wall_s, report);
}

/* Whose CPU and memory this run sampled. Ranks that a daemon starts for the launcher (srun's) are no child processes of
 * it: the lines on the ranks have theirs. */
static void name_processes(const struct ended_job *job, const struct sb_model *model, char *out, size_t size)
{
	if (job->around)
		snprintf(out, size, "Rank %" PRId64 " alone", model->session.rank);
	else
		snprintf(out, size, "Launcher and its child processes");
}

static void print_summary(
	const struct run_finish *f, const struct sb_model *model, const struct ended_job *job)
{
	char report[PATH_MAX + 64], processes[64];
	struct sb_summary_options how = {
		.columns = terminal_columns(STDERR_FILENO),
		.colour = terminal_has_colour(STDERR_FILENO),
		.report = report,
	};
	struct sb_buf text = { 0 }, ranks = { 0 };

	name_report(job->aggregate ? job->folder : f->folder, report, sizeof report, job->aggregate != NULL);
	if (job->aggregate) {
		sb_ranks_screen(job->aggregate, shown_folder(job->folder), &ranks);
		how.ranks = sb_buf_text(&ranks);
		name_processes(job, model, processes, sizeof processes);
		how.processes = processes;
	}
	if (sb_report_summary(model, &how, &text))
		complain_last();
	else
		fputs(sb_buf_text(&text), stderr);
	sb_buf_done(&text);
	sb_buf_done(&ranks);
}

static int build(const char *folder, struct sb_run **out_run, struct sb_model **out_model)
{
	struct sb_model_options how = { 0 };
	int err = sb_run_open_folder(folder, out_run);

	return err ? err : sb_report_build(*out_run, &how, out_model);
}

/* A history that cannot be made (no home, a read-only one) is no news; one that
 * is damaged or newer is. */
static void complain_of_history(int err)
{
	if (err == STROBE_EFORMAT || err == STROBE_EBUSY || err == STROBE_ENOSPC)
		complain_last();
}

static void keep_job(const struct run_finish *f, const struct ended_job *job)
{
	struct sb_facts *facts = NULL;
	int err;

	if (job_arg_write_quietly(job->aggregate, job->folder, files_of(f->settings)))
		complain_last();
	err = sb_facts_of_job(job->aggregate, job->folder, &facts);
	complain_of_history(err ? err : sb_history_add_job(facts, job->folder));
	sb_facts_free(facts);
}

/* A rank is added before its job is looked at: whichever rank comes last then finds all rows of ranks, and the
 * job's row replaces them. */
static void remember(const struct run_finish *f, const struct sb_model *model, struct ended_job *out_job)
{
	struct ended_job around = { 0 };

	read_job_inside(f, out_job);
	if (out_job->aggregate)
		keep_job(f, out_job);
	else
		complain_of_history(sb_history_add(model, f->folder));
	read_job_around(f, &around);
	out_job->runs = around.runs;
	if (!around.aggregate)
		return;
	around.around = !out_job->aggregate;
	keep_job(f, &around);
	sb_aggregate_free(out_job->aggregate);
	*out_job = around;
}

static void say_left(struct run_child *child)
{
	const char *left = run_child_left(child);

	if (left[0])
		fprintf(stderr, "strobe: %s\n", left);
}

void run_finish_reports(const struct run_finish *f)
{
	bool show = !f->quiet && isatty(STDERR_FILENO);
	struct sb_run *run = NULL;
	struct sb_model *model = NULL;
	struct ended_job job = { 0 };
	int err;

	if (!is_still_ours(f))
		return;
	if (!f->quiet)
		output_say_apart("");
	if (show)
		fprintf(stderr, "strobe: writing the reports…");
	err = build(f->folder, &run, &model);
	if (!err)
		err = sb_report_outputs_keep(run, model);
	if (!err)
		err = sb_report_source_lines_keep(run, model);
	if (!err)
		err = sb_report_files_write(run, model, f->folder, files_of(f->settings));
	if (show)
		fprintf(stderr, "\r\033[K");
	if (err)
		complain_last();
	if (model)
		remember(f, model, &job);
	if (!f->quiet) {
		if (model && job.runs && !job.aggregate)
			print_rank(f, model);
		else if (model)
			print_summary(f, model, &job);
		else
			fprintf(stderr, "== strobe: %s, %s, %.2f s\n", f->settings->name, f->outcome,
				f->wall_s);
		say_left(f->child);
	}
	sb_aggregate_free(job.aggregate);
	sb_model_free(model);
	sb_run_close(run);
}
