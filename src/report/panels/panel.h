/* One part of a report: how it reads in text. Listed in report/panels/panels.c in the
 * order of reading. Its keys in JSON are beside its struct, see stats/fields.h. */
#ifndef SB_REPORT_PANELS_PANEL_H
#define SB_REPORT_PANELS_PANEL_H

#include "analyze/model.h"
#include "base/buf.h"
#include "stats/seconds.h"

struct sb_text_options {
	int columns; /* at least 60; 0: 80 */
	bool colour;
	size_t top; /* rows of the timing table; 0: 20 */
	const char *sort; /* "total" (NULL), "self", "mean", "count", "min", "max",
	                     "p50", "p95", "p99", "last", "gpu", "name" */
	bool brief; /* the timing table and the stage tree only */
};

struct sb_panel {
	const char *name;
	/* Writes whole lines, a blank one first; nothing when absent. */
	void (*text)(const struct sb_model *model, const struct sb_text_options *options, struct sb_buf *out);
};

extern const struct sb_panel *const sb_panels[]; /* NULL-terminated */

/* True if it is one of the words of sb_text_options.sort. */
bool sb_text_sort_known(const char *sort);

/* ---- words and numbers every panel prints alike ---- */
void sb_text_bytes(char *out, size_t size, double bytes); /* files and traffic: 1 MB is 10^6 bytes */
void sb_text_memory(char *out, size_t size, double bytes); /* as nvidia-smi has it: 1 MB is 2^20 bytes */
void sb_text_percent(struct sb_buf *out, double ratio); /* "12.3 %", "0.05 %", "< 0.01 %" */
/* "48 events dropped"; "3 processes unrecorded" where some found no room for a recording. */
void sb_text_dropped(struct sb_buf *out, const struct sb_model *model, const char *dropped);
/* "complete", "still being written", … */
const char *sb_text_completeness(const struct sb_model *m);
void sb_text_count(char *out, size_t size, double count); /* "10.0M", "1320" */
void sb_text_heading(struct sb_buf *out, const struct sb_text_options *options, const char *title);
void sb_text_colour(
	struct sb_buf *out, const struct sb_text_options *options, const char *code); /* "1", "31", "" off */
/* A name cut to width columns with an ellipsis in the middle; control bytes and
 * broken UTF-8 are made harmless. Returns the columns used. */
size_t sb_text_name(struct sb_buf *out, const char *name, size_t width);
int sb_text_columns(const struct sb_text_options *options); /* the width in force */
/* The bytes up to the next blank at which a line may break: "3.9 %" and "12 ms" stay together. */
size_t sb_text_word(const char *text);
/* Words broken into lines of at most width columns, each after an indent. */
void sb_text_wrap(struct sb_buf *out, const char *words, int indent, int width);

#endif
