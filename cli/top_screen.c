/* The screen of `strobe top`, with ncurses. */
#include "top_screen.h"

#include "command.h"

#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static SCREEN *screen;

int top_screen_open(void)
{
	const char *terminal = getenv("TERM");

	setlocale(LC_CTYPE, ""); /* numbers keep their point: JSON is read meanwhile */
	screen = newterm(NULL, stdout, stdin);
	if (screen)
		set_term(screen);
	if (!screen || !tigetstr("cup")) { /* a cursor that cannot be moved */
		top_screen_close();
		return complain("cannot drive the terminal '%s'; try TERM=xterm, or --once",
			terminal ? terminal : "");
	}
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	if (terminal_has_colour(STDOUT_FILENO) && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_YELLOW, -1);
	}
	return 0;
}

void top_screen_size(int *out_rows, int *out_columns)
{
	getmaxyx(stdscr, *out_rows, *out_columns);
}

void top_screen_draw(const struct top_view *v)
{
	static const int attributes[] = { [TOP_PLAIN] = A_NORMAL,
		[TOP_TITLE] = A_REVERSE,
		[TOP_HEADING] = A_BOLD,
		[TOP_DIM] = A_DIM,
		[TOP_WARN] = A_BOLD };
	static int rows_before, columns_before;
	int rows, columns;

	getmaxyx(stdscr, rows, columns);
	erase();
	if (rows != rows_before || columns != columns_before)
		clearok(stdscr, TRUE); /* the terminal has moved its lines about */
	rows_before = rows;
	columns_before = columns;
	for (size_t i = 0; i < v->line_count && (int)i < rows; i++) {
		const struct top_line *l = &v->lines[i];
		/* The last line is the foot: it stays at the bottom. */
		int row = i + 1 == v->line_count ? rows - 1 : (int)i, used;

		attrset(attributes[l->style]);
		if (l->style == TOP_WARN && has_colors())
			attron(COLOR_PAIR(1));
		mvaddnstr(row, 0, v->text.data + l->start, (int)l->size);
		getyx(stdscr, row, used);
		if (l->style == TOP_TITLE)
			for (; used < columns; used++)
				addch(' ');
	}
	attrset(A_NORMAL);
	refresh();
}

enum top_key top_screen_key(int wait_ms)
{
	timeout(wait_ms);
	switch (getch()) {
	case 'q':
	case 27: return TOP_KEY_QUIT;
	case 's': return TOP_KEY_SORT;
	case KEY_UP:
	case 'k': return TOP_KEY_UP;
	case KEY_DOWN:
	case 'j': return TOP_KEY_DOWN;
	case KEY_RESIZE: return TOP_KEY_RESIZE;
	default: return TOP_KEY_NONE;
	}
}

void top_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}
