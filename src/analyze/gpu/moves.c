/* For each track: the moments at which weights moved, joined where one holds another. */
#include "analyze/gpu/moves.h"

static struct sb_vec *track_of(struct sb_gpu_moves *m, uint32_t track)
{
	if (track >= m->track_count) {
		uint32_t count = track * 2 + 4;
		struct sb_vec *more = realloc(m->tracks, count * sizeof *more);

		if (!more)
			return NULL;
		memset(more + m->track_count, 0, (count - m->track_count) * sizeof *more);
		m->tracks = more;
		m->track_count = count;
	}
	return &m->tracks[track];
}

bool sb_gpu_moves_add(struct sb_gpu_moves *m, uint32_t track, int64_t from_ns, int64_t to_ns)
{
	struct sb_vec *moves = track_of(m, track);
	struct sb_gpu_move *last, *n;

	if (!moves)
		return false;
	last = moves->items;
	while (moves->count && last[moves->count - 1].from_ns >= from_ns) {
		moves->count--;
		to_ns = last[moves->count].to_ns > to_ns ? last[moves->count].to_ns : to_ns;
	}
	if (moves->count && last[moves->count - 1].to_ns > from_ns)
		from_ns = last[moves->count - 1].to_ns;
	if (to_ns <= from_ns)
		return true;
	n = sb_vec_push(moves, sizeof *n);
	if (n)
		*n = (struct sb_gpu_move){ from_ns, to_ns };
	return n;
}

const struct sb_gpu_move *sb_gpu_moves_after(
	const struct sb_gpu_moves *m, uint32_t track, int64_t t_ns, size_t *out_count)
{
	const struct sb_gpu_move *all = track < m->track_count ? m->tracks[track].items : NULL;
	size_t low = 0, high = all ? m->tracks[track].count : 0, count = high;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].to_ns <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*out_count = count - low;
	return count > low ? all + low : NULL;
}

void sb_gpu_moves_forget(struct sb_gpu_moves *m, uint32_t track)
{
	if (track < m->track_count)
		m->tracks[track].count = 0;
}

void sb_gpu_moves_done(struct sb_gpu_moves *m)
{
	for (uint32_t i = 0; i < m->track_count; i++)
		sb_vec_done(&m->tracks[i]);
	free(m->tracks);
}
