/* A progress line with the time left, on a terminal's stderr only. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
	bool shown; /* stderr is a terminal */
	size_t done;
	size_t total;
	double left_s; /* < 0: not known yet */
	const char *label; /* what runs now */
};

void progress_init(struct progress *p, size_t total);
void progress_draw(const struct progress *p);
void progress_clear(const struct progress *p);
/* Takes the line that is drawn now away: something else is about to be said. Any thread may. */
void progress_make_way(void);

#endif
