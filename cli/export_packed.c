/* See export_packed.h. */
#include "export_packed.h"

#include "job_arg.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/scratch.h"
#include "exchange/export.h"
#include "report/panels/panel.h"
#include "run/job_parts.h"
#include "run_arg.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beside the folder, after its own name: not after a link that points elsewhere tomorrow. Inside, it would be
 * recorded twice. "train-7/." is the first attempt alone. */
void export_packed_path(const char *folder, const char *ending, char *out, size_t size)
{
	bool first = sb_ends_with(folder, "/.");
	char target[PATH_MAX], clean[PATH_MAX];
	size_t length = strlen(folder) - 2 * first;

	while (length > 1 && folder[length - 1] == '/')
		length--;
	snprintf(clean, sizeof clean, "%.*s", (int)length, folder);
	if (readlink(clean, target, 1) > 0 && realpath(clean, target))
		strcpy(clean, target);
	snprintf(out, size, "%.*s%s.packed%s", (int)size - 32, clean, first ? ".1" : "", ending);
}

static int pack_part(const struct sb_job_part *part, const char *folder, struct sb_export_summary *summary)
{
	struct sb_run *run = NULL;
	char path[PATH_MAX];
	int err = job_arg_open_part(part, folder, &run, path);

	if (run)
		err = sb_packed_folder_write(run, path, summary);
	sb_run_close(run);
	return err;
}

/* Packs into a folder beside the output, which appears whole or not at all. */
static int pack_job(
	const struct sb_job_parts *parts, const char *output, struct sb_export_summary *out_summary)
{
	struct sb_export_summary summary = { 0 };
	char folder[PATH_MAX] = "", parent[PATH_MAX];
	int err;

	if (!access(output, F_OK))
		return sb_fail(STROBE_EINVAL, "'%s' exists already: choose another name with -o", output);
	sb_path_folder(output, parent, sizeof parent);
	err = sb_scratch_make(parent, "packed", folder, sizeof folder);
	if (err)
		return err;
	for (size_t i = 0; i < parts->count && !err; i++)
		err = pack_part(&parts->all[i], folder, &summary);
	if (!err && !summary.bytes)
		err = sb_fail(STROBE_ENOENT, "no rank of the job can be read");
	if (!err && rename(folder, output))
		err = sb_fail_errno("cannot make the folder '%s'", output);
	if (err)
		sb_scratch_remove(folder);
	else
		*out_summary = summary;
	return err;
}

static void print_made(const char *path, uint64_t bytes, bool quiet)
{
	char size[32];

	sb_text_bytes(size, sizeof size, (double)bytes);
	if (quiet)
		printf("%s\n", path);
	else
		printf("%s: %s, the job with all its ranks\n", path, size);
}

int export_packed_job(const struct args *args, const char *spec, const char *output)
{
	struct sb_export_summary summary = { 0 };
	struct sb_job_parts parts = { 0 };
	char path[PATH_MAX], made[PATH_MAX];
	int code = EXIT_OK;

	if (run_arg_has_cut(args))
		return complain("a job is packed whole: leave out --from, --until, --last, --generation");
	if (output && !strcmp(output, "-"))
		return complain("a packed job is a folder, not a stream: name it with -o");
	if (sb_run_resolve(spec, path, sizeof path) || sb_job_parts_find(path, &parts))
		return complain_last();
	if (output)
		snprintf(made, sizeof made, "%s", output);
	else
		export_packed_path(path, "", made, sizeof made);
	if (pack_job(&parts, made, &summary))
		code = complain_last();
	else
		print_made(made, summary.bytes, args_has(args, "quiet"));
	sb_job_parts_done(&parts);
	return code;
}
