/* Draws how much of a file has been read, on a terminal's stderr only. */
#include "import_progress.h"

#include "base/filename.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void draw(void *self, uint64_t done_bytes, uint64_t total_bytes)
{
	struct import_progress *p = self;
	double passed_s = now_s() - p->begin_s;
	double left_s = done_bytes ? passed_s * (double)(total_bytes - done_bytes) / (double)done_bytes : 0;

	if (passed_s < 1 || !total_bytes || done_bytes > total_bytes)
		return;
	p->shown = true;
	fprintf(stderr, "\r\033[Kimporting %.40s: %llu of %llu MB, %.0f s left", sb_filename_of(p->path),
		(unsigned long long)(done_bytes / 1000000), (unsigned long long)(total_bytes / 1000000),
		left_s);
	fflush(stderr);
}

void import_progress_begin(struct import_progress *p, const char *path, struct sb_import_options *options)
{
	*p = (struct import_progress){ .path = path, .begin_s = now_s() };
	if (!isatty(STDERR_FILENO))
		return;
	options->progress = draw;
	options->progress_self = p;
}

void import_progress_end(struct import_progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r\033[K");
}
