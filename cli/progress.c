/* The progress line. Draws over itself; leaves nothing behind. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR_COLUMNS 24

static bool drawn; /* a line stands there now; read and set with stderr locked */

void progress_init(struct progress *p, size_t total)
{
	*p = (struct progress){ isatty(STDERR_FILENO), 0, total, -1, "" };
}

void progress_draw(const struct progress *p)
{
	size_t filled = p->total ? p->done * BAR_COLUMNS / p->total : 0;
	unsigned left = p->left_s > 0 ? (unsigned)(p->left_s + 0.5) : 0;

	if (!p->shown)
		return;
	flockfile(stderr); /* another thread may have something to say */
	drawn = true;
	fprintf(stderr, "\r\033[K[");
	for (size_t i = 0; i < BAR_COLUMNS; i++)
		fputc(i < filled ? '=' : i == filled ? '>' : ' ', stderr);
	fprintf(stderr, "] %zu/%zu", p->done, p->total);
	if (p->left_s >= 0 && left >= 3600)
		fprintf(stderr, "  %u:%02u:%02u left", left / 3600, left / 60 % 60, left % 60);
	else if (p->left_s >= 0)
		fprintf(stderr, "  %u:%02u left", left / 60, left % 60);
	fprintf(stderr, "  %.40s", p->label);
	fflush(stderr);
	funlockfile(stderr);
}

void progress_clear(const struct progress *p)
{
	if (p->shown)
		progress_make_way();
}

void progress_make_way(void)
{
	flockfile(stderr);
	if (drawn)
		fprintf(stderr, "\r\033[K");
	drawn = false;
	funlockfile(stderr);
}
