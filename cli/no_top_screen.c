/* The screen of `strobe top` in a build without ncurses: says so. */
#include "top_screen.h"

#include "command.h"

int top_screen_open(void)
{
	return complain(
		"this build has no ncurses (Debian: libncurses-dev); 'strobe top --once' prints one screen");
}

void top_screen_size(int *out_rows, int *out_columns)
{
	*out_rows = 24;
	*out_columns = 80;
}

void top_screen_draw(const struct top_view *view)
{
	(void)view;
}

enum top_key top_screen_key(int wait_ms)
{
	(void)wait_ms;
	return TOP_KEY_QUIT;
}

void top_screen_close(void)
{
}
