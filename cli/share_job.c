/* Copies the ranks, without private data, into a temporary folder; page and data are made from that copy
 * alone. */
#include "share_job.h"

#include "job_arg.h"
#include "share_summary.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/scratch.h"
#include "report/page/page.h"
#include "report/ranks/ranks.h"
#include "run/job_parts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* In base64 that is the longest text that a browser has: 512 MiB. */
#define JOB_MOST ((size_t)384 << 20)

static int copy_part(struct sb_share *s, const struct sb_job_part *part, const char *folder)
{
	struct sb_run *run = NULL;
	char path[PATH_MAX];
	int err = job_arg_open_part(part, folder, &run, path);

	if (run)
		err = sb_share_add(s, run, path);
	sb_run_close(run);
	return err;
}

static int copy_job(const char *spec, const char *folder, struct sb_share_summary *out_summary)
{
	struct sb_job_parts parts = { 0 };
	struct sb_share s = { 0 };
	char path[PATH_MAX];
	int err = sb_run_resolve(spec, path, sizeof path);

	if (!err)
		err = sb_job_parts_find(path, &parts);
	if (!err)
		err = sb_share_begin(&s);
	for (size_t i = 0; !err && i < parts.count; i++)
		sb_share_note_hosts(&s, parts.all[i].path); /* one that fails is left out below */
	for (size_t i = 0; !err && i < parts.count; i++)
		err = copy_part(&s, &parts.all[i], folder);
	if (!err && !s.summary.recording_count)
		err = sb_fail(STROBE_ENOENT, "no rank of '%s' can be read", path);
	if (!err)
		*out_summary = s.summary;
	sb_share_done(&s);
	sb_job_parts_done(&parts);
	return err;
}

static int write_page(const struct sb_aggregate *a, const char *packed, struct sb_buf *out)
{
	struct sb_buf json = { 0 }, bytes = { 0 };
	int err = sb_buf_read_file(&bytes, packed, JOB_MOST);

	if (!err) {
		sb_aggregate_json(a, &json);
		err = sb_page_write(&(struct sb_page){ .kind = "aggregate",
					    .json = sb_buf_text(&json),
					    .json_size = json.size,
					    .job = &bytes },
			out);
	}
	sb_buf_done(&bytes);
	sb_buf_done(&json);
	return err;
}

/* scratch: an empty folder. */
static int make_page(
	const char *spec, const char *scratch, struct sb_share_summary *out_summary, struct sb_buf *out)
{
	char folder[PATH_MAX], packed[PATH_MAX];
	struct sb_aggregate *a = NULL;
	int err;

	if ((size_t)snprintf(folder, sizeof folder, "%s/job", scratch) >= sizeof folder ||
		(size_t)snprintf(packed, sizeof packed, "%s/packed", scratch) >= sizeof packed)
		return sb_fail(STROBE_EINVAL, "'%s': the name is too long", scratch);
	err = mkdir(folder, 0700) ? sb_fail_errno("cannot make the folder '%s'", folder)
				  : copy_job(spec, folder, out_summary);
	if (!err)
		err = job_arg_read(folder, 0, &a);
	if (!err)
		err = sb_share_job_pack(folder, packed, JOB_MOST);
	if (!err) {
		job_arg_rename(a, folder, "");
		err = write_page(a, packed, out);
	}
	sb_aggregate_free(a);
	return err;
}

int share_job(const struct args *args, const char *spec, const char *output)
{
	struct sb_share_summary summary = { 0 };
	struct sb_buf page = { 0 };
	char parent[PATH_MAX], scratch[PATH_MAX];
	int code = EXIT_OK;

	sb_path_folder(output, parent, sizeof parent);
	if (sb_scratch_make(parent, "share", scratch, sizeof scratch))
		return complain_last();
	if (make_page(spec, scratch, &summary, &page) || sb_buf_write_file(&page, output, 0600))
		code = complain_last();
	sb_scratch_remove(scratch);
	if (!code)
		share_summary_print(args, output, page.size, &summary);
	sb_buf_done(&page);
	return code;
}
