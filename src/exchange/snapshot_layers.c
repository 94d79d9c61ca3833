/* What the lines of the program held over time. The history is cut into parts; at the end of each, the lines
 * whose memory changed in it are noted. As the history gets longer, two parts become one: memory stays bounded. */
#include "exchange/snapshot.h"

#define MARKS_MOST (1u << 18)

static struct sb_snapshot_line *line_at(const struct sb_snapshot *s, uint32_t line)
{
	return &((struct sb_snapshot_line *)s->lines.items)[line];
}

/* Two parts become one: of a line's marks in them the later counts. */
static void join_parts(struct sb_snapshot *s)
{
	struct sb_snapshot_mark *marks = s->marks.items;
	size_t kept = 0;

	for (size_t i = 0; i < s->marks.count; i++)
		line_at(s, marks[i].line)->mark = 0;
	for (size_t i = 0; i < s->marks.count; i++) {
		struct sb_snapshot_mark m = { marks[i].line, marks[i].part / 2, marks[i].bytes };
		struct sb_snapshot_line *line = line_at(s, m.line);

		if (line->mark && marks[line->mark - 1].part == m.part) {
			marks[line->mark - 1] = m;
			continue;
		}
		marks[kept++] = m;
		line->mark = (uint32_t)kept;
	}
	s->marks.count = kept;
	for (uint32_t i = 0; i < s->part_count / 2; i++)
		s->parts[i] = s->parts[2 * i + 1];
	s->part_count /= 2;
	s->part_stride *= 2;
}

void sb_snapshot_layers_begin(struct sb_snapshot *s)
{
	const struct sb_snapshot_device *d = &(
		(const struct sb_snapshot_device *)s->devices.items)[s->devices.count - 1];

	if (!d->entries) {
		s->part_count = 0;
		s->part_stride = 1;
		s->marks.count = 0;
	}
	if (d->entries % s->part_stride)
		return;
	if (s->part_count % 2 == 0 &&
		(s->part_count == SB_SNAPSHOT_PARTS || (s->marks.count > MARKS_MOST / 2 && s->part_count)))
		join_parts(s);
	s->part_count++;
}

void sb_snapshot_layers_change(struct sb_snapshot *s, uint32_t number)
{
	struct sb_snapshot_line *line = line_at(s, number);
	struct sb_snapshot_mark *marks = s->marks.items;
	uint32_t part = s->part_count - 1;

	if (!s->part_count)
		return;
	if (line->mark && marks[line->mark - 1].part == part) {
		marks[line->mark - 1].bytes = line->live;
		return;
	}
	if (s->marks.count == MARKS_MOST)
		return; /* it is followed no more: its last mark stays */
	marks = sb_vec_push(&s->marks, sizeof *marks);
	if (!marks) {
		s->failed = true;
		return;
	}
	*marks = (struct sb_snapshot_mark){ number, part, line->live };
	line->mark = (uint32_t)s->marks.count;
}

void sb_snapshot_layers_end(struct sb_snapshot *s, const struct sb_snapshot_device *d)
{
	if (!s->part_count)
		return;
	s->parts[s->part_count - 1].time_us = d->last_us;
	s->parts[s->part_count - 1].all = s->sum;
}

static struct sb_snapshot_moment *add_moment(struct sb_snapshot *s, struct sb_snapshot_device *d)
{
	struct sb_snapshot_moment *m = sb_vec_push(&d->moments, sizeof *m);

	s->failed |= !m;
	return m;
}

static void add_peak(struct sb_snapshot *s, struct sb_snapshot_device *d, size_t count)
{
	const struct sb_snapshot_held *held = d->held.items;
	struct sb_snapshot_moment *m = add_moment(s, d);

	if (!m)
		return;
	*m = (struct sb_snapshot_moment){ .time_us = d->peak_us, .all = d->peak };
	for (size_t i = 0; i < count; i++)
		m->held[i] = held[i].peak;
}

void sb_snapshot_layers_close(struct sb_snapshot *s, struct sb_snapshot_device *d)
{
	const struct sb_snapshot_mark *marks = s->marks.items;
	const struct sb_snapshot_held *held = d->held.items;
	size_t count = d->held.count < SB_SNAPSHOT_LAYERS ? d->held.count : SB_SNAPSHOT_LAYERS, next = 0;
	int64_t now[SB_SNAPSHOT_LAYERS] = { 0 };
	bool peaked = false;

	for (uint32_t part = 0; d->entries && part < s->part_count; part++) {
		struct sb_snapshot_moment *m;

		for (; next < s->marks.count && marks[next].part == part; next++)
			for (size_t i = 0; i < count; i++)
				now[i] = held[i].line == marks[next].line ? marks[next].bytes : now[i];
		if (!peaked && s->parts[part].time_us >= d->peak_us) {
			add_peak(s, d, count);
			peaked = true;
		}
		m = add_moment(s, d);
		if (!m)
			return;
		*m = (struct sb_snapshot_moment){ .time_us = s->parts[part].time_us,
			.all = s->parts[part].all + d->base };
		for (size_t i = 0; i < count; i++)
			m->held[i] = now[i] + line_at(s, held[i].line)->old;
	}
}
