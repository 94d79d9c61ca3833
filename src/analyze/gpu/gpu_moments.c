/* For each track: when the CPU left a zone, and until when the GPU was at it. */
#include "analyze/gpu/gpu_moments.h"

#include "run/gpu_spans.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MOST (1u << 20) /* of a track: then the older half is forgotten */

struct sb_gpu_late {
	int64_t left_ns; /* by the CPU */
	int64_t to_ns; /* until then the GPU was at it, longer than at any before it */
};

static struct sb_vec *track_of(struct sb_gpu_moments *m, uint32_t track)
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

static const struct sb_gpu_late *last_of(const struct sb_vec *late)
{
	return late->count ? (const struct sb_gpu_late *)late->items + late->count - 1 : NULL;
}

static void forget_oldest(struct sb_vec *late)
{
	struct sb_gpu_late *all = late->items;

	late->count /= 2;
	memmove(all, all + late->count, late->count * sizeof *all);
}

static bool add(struct sb_vec *late, int64_t left_ns, int64_t to_ns)
{
	const struct sb_gpu_late *last = last_of(late);
	struct sb_gpu_late *n;

	if (to_ns <= left_ns || (last && to_ns <= last->to_ns))
		return true;
	if (late->count == KEPT_MOST)
		forget_oldest(late);
	n = sb_vec_push(late, sizeof *n);
	if (n)
		*n = (struct sb_gpu_late){ left_ns, to_ns };
	return n;
}

/* Until when the GPU was at the zones that the CPU had left by then. */
static int64_t behind_until(const struct sb_vec *late, int64_t t_ns)
{
	const struct sb_gpu_late *all = late->items;
	size_t low = 0, high = late->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (all[mid].left_ns <= t_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? all[low - 1].to_ns : INT64_MIN;
}

bool sb_gpu_moments_of(struct sb_gpu_moments *m, const struct sb_zone *z, int64_t *out_from_ns,
	int64_t *out_to_ns, bool *no_memory)
{
	struct sb_vec *late = track_of(m, z->track);
	const struct sb_gpu_late *last;
	int64_t from_ns = z->begin_ns, to_ns = z->end_ns, before_ns;

	if (!late || (z->gpu && !add(late, z->end_ns, sb_gpu_span_end_ns(z->gpu)))) {
		*no_memory = true;
		return false;
	}
	before_ns = behind_until(late, z->begin_ns);
	last = last_of(late);
	if (before_ns > from_ns)
		from_ns = before_ns;
	if (last && last->left_ns > z->begin_ns && last->to_ns > to_ns && z->role != STROBE_ROLE_GENERATION)
		to_ns = last->to_ns; /* its own, or of a zone inside it */
	*out_from_ns = from_ns;
	*out_to_ns = to_ns;
	return to_ns > from_ns;
}

void sb_gpu_moments_done(struct sb_gpu_moments *m)
{
	for (uint32_t i = 0; i < m->track_count; i++)
		sb_vec_done(&m->tracks[i]);
	free(m->tracks);
}
