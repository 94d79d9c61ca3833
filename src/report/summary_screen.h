/* The lines of the one-screen summary: none wider than the screen, no word cut. */
#ifndef SB_REPORT_SUMMARY_SCREEN_H
#define SB_REPORT_SUMMARY_SCREEN_H

#include "report/panels/panel.h"

struct sb_screen {
	const struct sb_model *model;
	struct sb_text_options text;
	int label; /* columns of the table's first column */
	const char *report;
	const char *processes; /* whose CPU and memory the model has; NULL: "Program" */
	struct sb_buf line; /* the line being made */
	struct sb_buf *out;
};

/* How many columns a text takes, one per character. */
size_t sb_screen_columns(const char *text);
/* Whether so many more columns fit the line. */
bool sb_screen_fits(const struct sb_screen *s, size_t columns);
/* Adds to the line. */
void __attribute__((format(printf, 2, 3))) sb_screen_say(struct sb_screen *s, const char *format, ...);
/* Adds a remark after "; ", on a new line where this one has no room left. */
void __attribute__((format(printf, 2, 3))) sb_screen_remark(struct sb_screen *s, const char *format, ...);
/* Ends the line. What is too wide goes on below, indented, broken at a blank; only a
 * single word wider than the screen is cut. Control bytes are made harmless. */
void sb_screen_end(struct sb_screen *s, const char *colour);

/* summary_made.c: what was made, what bounds it, what failed; how quickly. */
void sb_screen_made(struct sb_screen *s);
void sb_screen_speed(struct sb_screen *s);

/* summary.c: a line or two each, or nothing. What lies outside the generations; peaks of memory; what the processes
 * used. */
void sb_screen_outside(struct sb_screen *s);
void sb_screen_beside(struct sb_screen *s);
void sb_screen_memory(struct sb_screen *s);
void sb_screen_program(struct sb_screen *s);

/* summary_table.c: where the time went. Returns 0 or STROBE_ENOMEM. */
int sb_screen_table(struct sb_screen *s);

#endif
