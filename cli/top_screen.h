/* The terminal of `strobe top`: ncurses, or not in this build. */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include "top_view.h"

enum top_key { TOP_KEY_NONE, TOP_KEY_QUIT, TOP_KEY_SORT, TOP_KEY_UP, TOP_KEY_DOWN, TOP_KEY_RESIZE };

/* 0, or an exit code after complaining. */
int top_screen_open(void);
void top_screen_size(int *out_rows, int *out_columns);
void top_screen_draw(const struct top_view *view);
/* Waits at most so long. */
enum top_key top_screen_key(int wait_ms);
void top_screen_close(void);

#endif
