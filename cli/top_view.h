/* The lines of `strobe top`, made from report models: no terminal here. */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "analyze/model.h"
#include "base/buf.h"

#include <stdbool.h>

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_HEADING, TOP_DIM, TOP_WARN };
enum top_sort { TOP_BY_TOTAL, TOP_BY_SELF, TOP_BY_RATE, TOP_SORTS };

struct top_line {
	enum top_style style;
	size_t start, size; /* in text */
};

struct top_view {
	/* what to show */
	const struct sb_model *whole; /* of the whole run */
	const struct sb_model *now; /* of the last seconds; NULL when it has ended */
	double window_s; /* of `now` */
	int columns, rows;
	bool utf8;
	bool with_keys; /* the last line lists the keys */
	enum top_sort sort;
	int scroll; /* stages skipped; brought into range by rendering */
	/* the result */
	struct sb_buf text;
	struct top_line *lines;
	size_t line_count, line_capacity;
	size_t first, shown, stage_count; /* stages on the screen, of all */
};

/* Makes lines for at most `rows` rows of at most `columns` columns; may be repeated. */
void top_view_render(struct top_view *view);
void top_view_done(struct top_view *view);

/* A sparkline, one per cell, of the values of a time range; NaN is a blank. */
void top_sparkline(struct sb_buf *out, const double *t_s, const double *values, size_t count, double from_s,
	double to_s, double top_value, int cells, bool utf8);

#endif
