/* strobe share: writes one file to send, with private data removed. */
#include "command.h"
#include "job_arg.h"
#include "run_arg.h"
#include "share_job.h"
#include "share_summary.h"

#include "base/error.h"
#include "base/filename.h"
#include "exchange/share.h"
#include "report/build.h"
#include "report/page/gzip.h"
#include "report/page/html.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORDING_MOST ((size_t)4 << 30)

static const struct command_option options[] = {
	{ "output", 'o', "FILE", "the page to write, such as wan.html", false, false },
	{ "quiet", 'q', NULL, "print the file name only", false, false },
	{ 0 },
};

/* ---- the page around the recording ---- */

/* The bytes that go into the page: packed, or where this build cannot pack as they are. */
static int read_packed(const struct sb_run *run, const char *recording, struct sb_buf *out)
{
	char packed[4200];
	int err;

	snprintf(packed, sizeof packed, "%s.packed", recording);
	err = sb_share_pack(run, packed);
	if (err == STROBE_ENOTSUP)
		return sb_buf_read_file(out, recording, RECORDING_MOST);
	if (!err)
		err = sb_buf_read_file(out, packed, RECORDING_MOST);
	unlink(packed);
	return err;
}

/* From the file that is given away alone: what was removed cannot be in the report either. */
static int make_page(const char *recording, const char *output, struct sb_buf *out)
{
	struct sb_buf bytes = { 0 };
	struct sb_model *model = NULL;
	struct sb_run *run = NULL;
	int err = sb_run_open(recording, NULL, &run);

	if (!err)
		err = sb_report_build(run, NULL, &model);
	if (!err)
		err = read_packed(run, recording, &bytes);
	if (!err) {
		model->session.run = sb_filename_of(output);
		err = sb_report_html_shared(run, model, &bytes, out);
	}
	sb_buf_done(&bytes);
	sb_model_free(model);
	sb_run_close(run);
	return err;
}

/* ---- the command ---- */

/* The first file that is written has a temporary name: say what is wrong with the one that was asked for. */
static int check_folder(const char *output)
{
	size_t size = (size_t)(sb_filename_of(output) - output);
	char folder[4096];
	struct stat st;

	if (!stat(output, &st) && S_ISDIR(st.st_mode))
		return complain(
			"'%s' is a folder: name a file in it, such as -o %s/wan.html", output, output);
	if (size >= sizeof folder)
		return 0; /* sharing itself says that it is too long */
	sb_path_folder(output, folder, sizeof folder);
	if (access(folder, W_OK | X_OK))
		return complain("cannot write '%s': %s", output, strerror(errno));
	return 0;
}

static int share(const struct args *args, struct sb_run *run, const char *output)
{
	struct sb_share_summary summary;
	struct sb_buf page = { 0 };
	char recording[4096];
	int code = EXIT_OK;

	if ((size_t)snprintf(recording, sizeof recording, "%s.tmp%ld.strobe", output, (long)getpid()) >=
		sizeof recording)
		return complain("the name is too long: %.60s...", output);
	if (sb_share_write(run, recording, &summary))
		return complain_last();
	if (make_page(recording, output, &page) || sb_buf_write_file(&page, output, 0600))
		code = complain_last();
	unlink(recording);
	if (!code)
		share_summary_print(args, output, page.size, &summary);
	sb_buf_done(&page);
	return code;
}

static bool can_pack(void)
{
	struct sb_buf packed = { 0 };
	int err = sb_gzip("", 1, &packed);

	sb_buf_done(&packed);
	return !err;
}

static int run(struct args *args)
{
	const char *output = args_value(args, "output");
	struct sb_run *opened = NULL;
	int code;

	if (args->count > 1)
		return complain("one RUN at a time, not '%s' too", args->values[1]);
	if (!output || !*output || !strcmp(output, "-"))
		return complain("no file given: name one with -o, such as -o wan.html");
	if (!can_pack())
		return complain_last();
	if (check_folder(output))
		return EXIT_USAGE;
	if (job_arg_is_job(args->count ? args->values[0] : NULL))
		return share_job(args, args->count ? args->values[0] : NULL, output);
	code = run_arg_open(args, args->count ? args->values[0] : NULL, &opened);
	if (code)
		return code;
	code = share(args, opened, output);
	sb_run_close(opened);
	return code;
}

const struct command cmd_share = {
	.name = "share",
	.usage = "[OPTIONS] [RUN] -o FILE",
	.summary = "write one file to send, with private data removed",
	.description = "Writes one HTML page that opens in any browser. The recording is inside: every "
		       "command that\n"
		       "takes a RUN opens the file too. Private data is removed first, and the page is made "
		       "from what\n"
		       "is left: command lines are dropped; values of tags, texts attached to zones and "
		       "events, folders\n"
		       "of paths, host names and job ids are hashed with a key that is thrown away. Prints "
		       "what was\n"
		       "removed. For a job the page has all ranks: FILE is the job, FILE/rank_3 is one rank.",
	.examples = "  strobe share -o wan.html\n"
		    "  strobe share last~1 -o slow.html && strobe report slow.html",
	.options = options,
	.run = run,
};
