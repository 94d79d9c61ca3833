#include "analyze/stages/behind.h"

static struct sb_vec *track_of(struct sb_behind *b, uint32_t track)
{
	if (track >= b->track_count) {
		uint32_t count = track * 2 + 4;
		struct sb_vec *more = realloc(b->tracks, count * sizeof *more);

		if (!more)
			return NULL;
		memset(more + b->track_count, 0, (count - b->track_count) * sizeof *more);
		b->tracks = more;
		b->track_count = count;
	}
	return &b->tracks[track];
}

static struct sb_late *last_of(const struct sb_vec *late)
{
	return late->count ? (struct sb_late *)late->items + late->count - 1 : NULL;
}

bool sb_behind_add(struct sb_behind *b, const struct sb_zone *z, int64_t gpu_begin_ns, int64_t gpu_end_ns,
	int64_t *late_ns)
{
	struct sb_vec *late = track_of(b, z->track);
	struct sb_late *last, *n;
	int64_t from_ns = gpu_begin_ns > z->end_ns ? gpu_begin_ns : z->end_ns, before_ns = 0;

	*late_ns = 0;
	if (!late)
		return false;
	last = last_of(late);
	if (last) {
		from_ns = last->to_ns > from_ns ? last->to_ns : from_ns;
		before_ns = last->before_ns + last->to_ns - last->from_ns;
	}
	if (gpu_end_ns <= from_ns)
		return true;
	n = sb_vec_push(late, sizeof *n);
	if (!n)
		return false;
	*n = (struct sb_late){ from_ns, gpu_end_ns, before_ns, gpu_end_ns, z->path };
	*late_ns = gpu_end_ns - from_ns;
	return true;
}

/* The sum of those until a time. */
static int64_t until(const struct sb_vec *late, int64_t t_ns)
{
	const struct sb_late *all = late->items;
	size_t low = 0, high = late->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (all[mid].from_ns < t_ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return 0;
	return all[low - 1].before_ns + (t_ns < all[low - 1].to_ns ? t_ns : all[low - 1].to_ns) -
	       all[low - 1].from_ns;
}

int64_t sb_behind_in(const struct sb_behind *b, const struct sb_zone *z)
{
	const struct sb_vec *late = z->track < b->track_count ? &b->tracks[z->track] : NULL;
	const struct sb_late *last = late ? last_of(late) : NULL;

	if (!last || last->to_ns <= z->begin_ns)
		return 0;
	return until(late, z->end_ns) - until(late, z->begin_ns);
}

bool sb_behind_leave(struct sb_behind *b, uint32_t track, int64_t end_ns, uint32_t *path, int64_t *out_ns)
{
	const struct sb_vec *late = track < b->track_count ? &b->tracks[track] : NULL;
	struct sb_late *all = late ? late->items : NULL;

	for (size_t i = late ? late->count : 0; i > 0 && all[i - 1].to_ns > end_ns; i--) {
		struct sb_late *n = &all[i - 1];
		int64_t own_to_ns = n->from_ns > end_ns ? n->from_ns : end_ns;

		if (n->own_to_ns <= own_to_ns)
			continue;
		*path = n->path;
		*out_ns = n->own_to_ns - own_to_ns;
		n->own_to_ns = own_to_ns;
		return true;
	}
	return false;
}

void sb_behind_done(struct sb_behind *b)
{
	for (uint32_t i = 0; i < b->track_count; i++)
		sb_vec_done(&b->tracks[i]);
	free(b->tracks);
}
