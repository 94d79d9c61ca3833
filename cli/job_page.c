/* See job_page.h. The folder has the page's name: "<temporary>/strobe-job-x7a/wan.html". */
#include "job_page.h"

#include "job_arg.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/room.h"
#include "base/scratch.h"
#include "exchange/share.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct opened {
	char *page; /* as it was named */
	char *scratch, *folder;
};

static struct {
	struct opened *all;
	size_t count, room;
	pthread_mutex_t lock;
} pages = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const struct opened *find(const char *page)
{
	for (size_t i = 0; i < pages.count; i++)
		if (!strcmp(pages.all[i].page, page))
			return &pages.all[i];
	return NULL;
}

static void forget(struct opened *o)
{
	if (o->scratch)
		sb_scratch_remove(o->scratch);
	free(o->page);
	free(o->scratch);
	free(o->folder);
}

static int unpack(const char *page, struct opened *out)
{
	char scratch[PATH_MAX];
	int err = sb_scratch_make(NULL, "job", scratch, sizeof scratch);

	if (err)
		return err;
	out->page = strdup(page);
	out->scratch = strdup(scratch);
	if (asprintf(&out->folder, "%s/%s", scratch, sb_filename_of(page)) < 0)
		out->folder = NULL;
	if (!out->page || !out->scratch || !out->folder)
		return sb_fail(STROBE_ENOMEM, "no memory to open '%s'", page);
	if (mkdir(out->folder, 0700))
		return sb_fail_errno("cannot make the folder '%s'", out->folder);
	return sb_share_open_job(page, out->folder);
}

static int open_new(const char *page, const struct opened **out)
{
	struct opened made = { 0 };
	int err = SB_MAKE_ROOM(pages.all, pages.count, pages.room)
			  ? unpack(page, &made)
			  : sb_fail(STROBE_ENOMEM, "no memory to open '%s'", page);

	if (err) {
		forget(&made);
		return err;
	}
	pages.all[pages.count] = made;
	*out = &pages.all[pages.count++];
	return 0;
}

static int open_page(const char *page, char *out_folder, size_t size)
{
	const struct opened *o;
	int err = 0;

	if (!sb_share_is_job(page))
		return 0;
	pthread_mutex_lock(&pages.lock);
	o = find(page);
	if (!o)
		err = open_new(page, &o);
	if (!err && (size_t)snprintf(out_folder, size, "%s", o->folder) >= size)
		err = sb_fail(STROBE_EINVAL, "'%s': the name is too long", page);
	pthread_mutex_unlock(&pages.lock);
	return err ? err : 1;
}

void job_page_install(void)
{
	sb_run_set_job_opener(open_page);
}

void job_page_done(void)
{
	for (size_t i = 0; i < pages.count; i++)
		forget(&pages.all[i]);
	free(pages.all);
	pages.all = NULL;
	pages.count = pages.room = 0;
}

void job_page_rename(struct sb_aggregate *a)
{
	for (size_t i = 0; i < pages.count; i++)
		job_arg_rename(a, pages.all[i].folder, pages.all[i].page);
}
