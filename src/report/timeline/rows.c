/* Entries are merged by the slot of time they begin in. Slots are powers of two
 * wide and nest, so the result does not depend on when the budget ran out. */
#include "report/timeline/rows.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOT_NS 1024

void sb_timeline_rows_done(struct sb_timeline_rows *rs)
{
	for (uint32_t i = 0; i < rs->count; i++)
		free(rs->rows[i].entries);
	free(rs->rows);
	memset(rs, 0, sizeof *rs);
}

uint32_t sb_timeline_rows_new(struct sb_timeline_rows *rs)
{
	if (!SB_MAKE_ROOM(rs->rows, rs->count, rs->capacity)) {
		rs->failed = true;
		return UINT32_MAX;
	}
	memset(&rs->rows[rs->count], 0, sizeof *rs->rows);
	return rs->count++;
}

static bool mergeable(const struct sb_timeline_entry *a, const struct sb_timeline_entry *b, int64_t slot_ns)
{
	return a->longest_ns < slot_ns && b->longest_ns < slot_ns &&
	       a->start_ns / slot_ns == b->start_ns / slot_ns;
}

static void merge(struct sb_timeline_entry *into, const struct sb_timeline_entry *e)
{
	into->mixed |= e->mixed || into->name != e->name;
	if (e->start_ns < into->start_ns)
		into->start_ns = e->start_ns;
	if (e->end_ns > into->end_ns)
		into->end_ns = e->end_ns;
	if (e->longest_ns > into->longest_ns) {
		into->longest_ns = e->longest_ns;
		into->name = e->name;
	}
	into->busy_ns += e->busy_ns;
	into->count += e->count;
}

static int by_start(const void *a, const void *b)
{
	const struct sb_timeline_entry *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void sort_row(struct sb_timeline_row *row)
{
	if (!row->unsorted)
		return;
	qsort(row->entries, row->count, sizeof *row->entries, by_start);
	row->unsorted = false;
}

static size_t compact_row(struct sb_timeline_row *row)
{
	size_t kept = 0;

	sort_row(row);
	for (size_t i = 0; i < row->count; i++) {
		if (kept && mergeable(&row->entries[kept - 1], &row->entries[i], row->merge_ns))
			merge(&row->entries[kept - 1], &row->entries[i]);
		else
			row->entries[kept++] = row->entries[i];
	}
	row->count = kept;
	return kept;
}

static struct sb_timeline_row *fullest_row(struct sb_timeline_rows *rs)
{
	struct sb_timeline_row *fullest = &rs->rows[0];

	for (uint32_t i = 1; i < rs->count; i++)
		if (rs->rows[i].count > fullest->count)
			fullest = &rs->rows[i];
	return fullest;
}

/* Down to three quarters, so that the next time is far away. A slot past a
 * century cannot help any more: rows of one entry each. */
static void keep_budget(struct sb_timeline_rows *rs)
{
	while (rs->entry_count > rs->budget / 4 * 3) {
		struct sb_timeline_row *row = fullest_row(rs);
		size_t before = row->count;

		if (row->merge_ns > INT64_MAX / 4)
			return;
		do {
			row->merge_ns = row->merge_ns ? row->merge_ns * 2 : FIRST_SLOT_NS;
			compact_row(row);
		} while (row->count > before / 4 * 3 && row->merge_ns <= INT64_MAX / 4);
		rs->entry_count -= before - row->count;
	}
}

static bool grow(struct sb_timeline_rows *rs, struct sb_timeline_row *row)
{
	size_t capacity = row->capacity ? row->capacity * 2 : 16;
	struct sb_timeline_entry *entries;

	if (row->count < row->capacity)
		return true;
	entries = realloc(row->entries, capacity * sizeof *entries);
	if (!entries) {
		rs->failed = true;
		return false;
	}
	row->entries = entries;
	row->capacity = capacity;
	return true;
}

static void add_entry(struct sb_timeline_rows *rs, uint32_t number, struct sb_timeline_entry e)
{
	struct sb_timeline_row *row;

	if (number >= rs->count || e.end_ns < e.start_ns)
		return;
	row = &rs->rows[number];
	row->launched |= e.launch_ns != INT64_MIN;
	row->has_more |= e.more != 0;
	if (row->count) {
		struct sb_timeline_entry *last = &row->entries[row->count - 1];

		if (row->merge_ns && mergeable(last, &e, row->merge_ns)) {
			merge(last, &e);
			return;
		}
		if (e.start_ns < last->start_ns)
			row->unsorted = true;
	}
	if (!grow(rs, row))
		return;
	row->entries[row->count++] = e;
	if (++rs->entry_count > rs->budget)
		keep_budget(rs);
}

void sb_timeline_rows_add_launched(
	struct sb_timeline_rows *rs, uint32_t row, const struct sb_timeline_entry *work)
{
	struct sb_timeline_entry e = *work;

	e.busy_ns = e.longest_ns = e.end_ns - e.start_ns;
	e.count = 1;
	e.mixed = false;
	add_entry(rs, row, e);
}

void sb_timeline_rows_add(
	struct sb_timeline_rows *rs, uint32_t row, int64_t start_ns, int64_t end_ns, uint32_t name)
{
	sb_timeline_rows_add_launched(rs, row,
		&(struct sb_timeline_entry){ .start_ns = start_ns,
			.end_ns = end_ns,
			.name = name,
			.launch_track = UINT32_MAX,
			.launch_ns = INT64_MIN });
}

void sb_timeline_rows_finish(struct sb_timeline_rows *rs)
{
	for (uint32_t i = 0; i < rs->count; i++) {
		struct sb_timeline_row *row = &rs->rows[i];
		size_t before = row->count;

		sort_row(row);
		if (row->merge_ns)
			compact_row(row);
		rs->entry_count -= before - row->count;
	}
}

void sb_varint(struct sb_buf *out, uint64_t value)
{
	unsigned char bytes[10];
	size_t size = 0;

	while (value >= 128) {
		bytes[size++] = (unsigned char)(value | 128);
		value >>= 7;
	}
	bytes[size++] = (unsigned char)value;
	sb_buf_add(out, bytes, size);
}

static void signed_varint(struct sb_buf *out, int64_t value)
{
	sb_varint(out, value < 0 ? (uint64_t) - (value + 1) * 2 + 1 : (uint64_t)value * 2);
}

void sb_timeline_row_write(
	const struct sb_timeline_row *row, const uint32_t *name_numbers, struct sb_buf *out)
{
	const struct sb_timeline_entry *e = row->entries, *end = e + row->count;
	int64_t last_ns = 0;

	for (; e < end; last_ns = e->end_ns, e++)
		signed_varint(out, e->start_ns - last_ns);
	for (e = row->entries; e < end; e++)
		sb_varint(out, (uint64_t)(e->end_ns - e->start_ns));
	for (e = row->entries; e < end; e++)
		sb_varint(
			out, (uint64_t)name_numbers[e->name] << 2 | (uint64_t)e->mixed << 1 | (e->count > 1));
	for (e = row->entries; e < end; e++)
		if (e->count > 1)
			sb_varint(out, e->count);
	for (e = row->entries; e < end; e++)
		if (e->count > 1)
			signed_varint(out, e->end_ns - e->start_ns - e->busy_ns);
}

void sb_timeline_row_write_launches(
	const struct sb_timeline_row *row, const uint32_t *lane_of, struct sb_buf *out)
{
	for (const struct sb_timeline_entry *e = row->entries; e < row->entries + row->count; e++) {
		uint32_t lane;

		if (e->count > 1)
			continue;
		if (e->launch_ns == INT64_MIN) {
			sb_varint(out, 0);
			continue;
		}
		lane = e->launch_track == UINT32_MAX ? UINT32_MAX : lane_of[e->launch_track];
		sb_varint(out, lane == UINT32_MAX ? 1 : lane + 2);
		signed_varint(out, e->start_ns - e->launch_ns);
	}
}

void sb_timeline_row_write_more(const struct sb_timeline_row *row, struct sb_buf *out)
{
	for (const struct sb_timeline_entry *e = row->entries; e < row->entries + row->count; e++)
		if (e->count == 1)
			sb_varint(out, e->more);
}
