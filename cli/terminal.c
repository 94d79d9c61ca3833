/* Whether the terminal takes colour, and how wide it is. */
#include "command.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_ELSE = 100, COLUMNS_MOST = 1000 };

bool terminal_has_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return isatty(fd) && !(no && *no);
}

/* The user's word, as for git and ls: shells do not export it by themselves. */
static int columns_asked_for(void)
{
	const char *text = getenv("COLUMNS");
	char *end;
	long columns;

	if (!text || !*text)
		return 0;
	columns = strtol(text, &end, 10);
	return *end || columns < 1 ? 0 : columns > COLUMNS_MOST ? COLUMNS_MOST : (int)columns;
}

int terminal_columns(int fd)
{
	int asked = columns_asked_for();
	struct winsize size;

	if (asked)
		return asked;
	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
		return COLUMNS_ELSE;
	return size.ws_col;
}
