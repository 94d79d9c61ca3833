/* Time in which the GPU is at a stage that the CPU has left. */
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
	int64_t *out_late_ns)
{
	struct sb_vec *late = track_of(b, z->track);
	struct sb_late *last, *n;
	int64_t from_ns = gpu_begin_ns > z->end_ns ? gpu_begin_ns : z->end_ns, before_ns = 0;

	if (!late)
		return false;
	last = last_of(late);
	if (last) {
		from_ns = last->to_ns > from_ns ? last->to_ns : from_ns;
		before_ns = last->before_ns + last->to_ns - last->from_ns;
	}
	*out_late_ns = 0;
	if (gpu_end_ns <= from_ns)
		return true;
	n = sb_vec_push(late, sizeof *n);
	if (!n)
		return false;
	*n = (struct sb_late){ from_ns, gpu_end_ns, before_ns, gpu_end_ns, z->path };
	*out_late_ns = gpu_end_ns - from_ns;
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

static int64_t largest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What the end of a generation adds to the part of it that is a stage's. */
static int64_t settle(struct sb_late *n, const struct sb_zone *z)
{
	int64_t until_ns = n->to_ns < z->end_ns ? n->to_ns : z->end_ns, before_ns = n->own_to_ns;

	if (n->own_to_ns == n->to_ns) { /* none has ended since */
		n->own_to_ns = largest(n->from_ns, until_ns);
		return n->own_to_ns - before_ns;
	}
	before_ns = largest(before_ns, z->begin_ns);
	n->own_to_ns = largest(n->own_to_ns, until_ns);
	return largest(until_ns - before_ns, 0);
}

bool sb_behind_settle(
	struct sb_behind *b, const struct sb_zone *z, size_t *place, uint32_t *out_path, int64_t *out_ns)
{
	const struct sb_vec *late = z->track < b->track_count ? &b->tracks[z->track] : NULL;
	struct sb_late *all = late ? late->items : NULL;

	while (late && *place < late->count) {
		struct sb_late *n = &all[late->count - 1 - (*place)++];

		if (n->to_ns <= z->begin_ns)
			return false;
		*out_path = n->path;
		*out_ns = settle(n, z);
		if (*out_ns)
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
