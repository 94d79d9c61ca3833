/* Rows of a timeline under one common budget. A row is a line of zones at one
 * depth; an entry of it is one zone, or all short zones that began in the same
 * slot of time. When the budget is passed the fullest row doubles its slots, so
 * rows with few zones stay exact. */
#ifndef SB_REPORT_TIMELINE_ROWS_H
#define SB_REPORT_TIMELINE_ROWS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_timeline_entry {
	int64_t start_ns, end_ns;
	int64_t busy_ns; /* time inside its zones */
	int64_t longest_ns; /* the longest zone's, whose name this is */
	uint32_t name;
	uint32_t count; /* zones; 1: exact */
	bool mixed; /* zones of several names */
	uint32_t launch_track; /* index of run->tracks; UINT32_MAX: unknown */
	int64_t launch_ns; /* INT64_MIN: unknown, or nothing that is launched */
	uint64_t more; /* of a kernel: its shape's number + 1; of a copy: its bytes + 1; 0: unknown */
};

struct sb_timeline_row {
	struct sb_timeline_entry *entries;
	size_t count, capacity;
	int64_t merge_ns; /* zones shorter than this may be merged; 0: all exact */
	bool unsorted;
	bool launched; /* an entry knows its launch */
	bool has_more; /* an entry knows its shape or its bytes */
};

struct sb_timeline_rows {
	struct sb_timeline_row *rows;
	uint32_t count, capacity;
	size_t entry_count; /* of all rows */
	size_t budget;
	bool failed; /* memory ran out */
};

void sb_timeline_rows_done(struct sb_timeline_rows *rs);
/* The new row's number; UINT32_MAX when memory is out. */
uint32_t sb_timeline_rows_new(struct sb_timeline_rows *rs);
/* Zones of a row may come in any order; in order they are cheapest. */
void sb_timeline_rows_add(
	struct sb_timeline_rows *rs, uint32_t row, int64_t start_ns, int64_t end_ns, uint32_t name);
/* The same for work on a GPU, of which start, end, name, launch and more are set. */
void sb_timeline_rows_add_launched(
	struct sb_timeline_rows *rs, uint32_t row, const struct sb_timeline_entry *work);
/* Sorts what came unsorted. Before writing. */
void sb_timeline_rows_finish(struct sb_timeline_rows *rs);
/* The row's columns as variable-length numbers; see docs/page.md. */
void sb_timeline_row_write(
	const struct sb_timeline_row *row, const uint32_t *name_numbers, struct sb_buf *out);

/* What launched each entry of one piece of work: 0 not known, 1 a thread without a lane, lane + 2; and,
 * if known, how long before its start. lane_of: track -> lane, UINT32_MAX: none. */
void sb_timeline_row_write_launches(
	const struct sb_timeline_row *row, const uint32_t *lane_of, struct sb_buf *out);

/* The shape or the bytes of each entry of one piece of work. */
void sb_timeline_row_write_more(const struct sb_timeline_row *row, struct sb_buf *out);

void sb_varint(struct sb_buf *out, uint64_t value);

#endif
