/* Making the lines of `strobe top`: none is wider than the screen, and what does
 * not fit is left out whole, never cut in the middle of a number. */
#ifndef CLI_TOP_LINES_H
#define CLI_TOP_LINES_H

#include "top_view.h"

enum { TOP_FACTS_MAX = 12 };

/* The facts that fit in one line, the most important first. */
struct top_facts {
	char text[TOP_FACTS_MAX][80];
	size_t count;
};

void top_fact(struct top_facts *facts, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Columns of the first count facts with gap blanks between. */
size_t top_facts_columns(const struct top_facts *facts, size_t count, size_t gap);
/* How many fit into so many columns. */
size_t top_facts_fitting(const struct top_facts *facts, size_t columns, size_t gap);
/* All of them, on as many lines as they need. */
void top_facts_lines(struct top_view *view, enum top_style style, const struct top_facts *facts);

size_t top_columns_of(const char *text);

void top_line_begin(struct top_view *view, enum top_style style);
/* Cuts what is wider than the screen. */
void top_line_end(struct top_view *view);
void top_line(struct top_view *view, enum top_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- the parts of the screen ---- */
void top_meters(struct top_view *view);
void top_stages(struct top_view *view);

#endif
