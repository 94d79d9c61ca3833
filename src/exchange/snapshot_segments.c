/* How full the allocator's segments were when the snapshot was taken: where free memory lies between blocks in use. Of each
 * device the segments with the most of it. */
#include "exchange/snapshot.h"

#define PIECES_MOST (1u << 16) /* of one segment; the rest of a larger one counts as its last piece's kind */
#define PARTS_AT_LEAST 32 /* a block that is larger than such a part of its segment is shown by itself */

struct piece { /* neighbours of one kind are one */
	int64_t size;
	bool used;
};

void sb_snapshot_piece_add(struct sb_snapshot *s, int64_t size, bool used)
{
	struct piece *last = s->pieces.count ? &((struct piece *)s->pieces.items)[s->pieces.count - 1] : NULL;

	if (size <= 0 || size > SB_SNAPSHOT_BYTES_MOST)
		return;
	if (!last || (last->used != used && s->pieces.count < PIECES_MOST)) {
		last = sb_vec_push(&s->pieces, sizeof *last);
		if (!last) {
			s->failed = true;
			return;
		}
		*last = (struct piece){ 0, used };
	}
	last->size += size;
}

static void add_part(struct sb_snapshot_segment *to, int64_t bytes, int64_t used)
{
	if (!bytes || to->part_count == SB_SNAPSHOT_SEGMENT_PARTS)
		return;
	to->parts[to->part_count].bytes = bytes;
	to->parts[to->part_count++].used = used;
}

/* Large pieces stand alone, small neighbours are joined until they are as large. */
static void fill_parts(const struct sb_snapshot *s, struct sb_snapshot_segment *to)
{
	const struct piece *all = s->pieces.items;
	int64_t bytes = 0, used = 0, large = to->bytes / PARTS_AT_LEAST;

	for (size_t i = 0; i < s->pieces.count; i++) {
		if (all[i].size >= large) {
			add_part(to, bytes, used);
			add_part(to, all[i].size, all[i].used ? all[i].size : 0);
			bytes = used = 0;
			continue;
		}
		bytes += all[i].size;
		used += all[i].used ? all[i].size : 0;
		if (bytes >= large) {
			add_part(to, bytes, used);
			bytes = used = 0;
		}
	}
	add_part(to, bytes, used);
}

/* The place for one more of a device: a new one, or that of the one with the least free memory. NULL: it has less. */
static struct sb_snapshot_segment *place_for(struct sb_snapshot *s, uint32_t device, int64_t free_bytes)
{
	struct sb_snapshot_segment *all = s->segments.items, *least = NULL;
	size_t count = 0;

	for (size_t i = 0; i < s->segments.count; i++)
		if (all[i].device == device) {
			count++;
			least = !least || all[i].free_bytes < least->free_bytes ? &all[i] : least;
		}
	if (count < SB_SNAPSHOT_SEGMENTS) {
		least = sb_vec_push(&s->segments, sizeof *least);
		s->failed |= !least;
		return least;
	}
	return least && least->free_bytes < free_bytes ? least : NULL;
}

void sb_snapshot_pieces_close(struct sb_snapshot *s, uint32_t device)
{
	const struct piece *all = s->pieces.items;
	struct sb_snapshot_segment one = { .device = device }, *to;
	bool used = false;

	for (size_t i = 0; i < s->pieces.count; i++) {
		used |= all[i].used;
		one.bytes += all[i].size;
		if (all[i].used)
			continue;
		one.free_bytes += all[i].size;
		one.free_count++;
		one.largest_free = all[i].size > one.largest_free ? all[i].size : one.largest_free;
	}
	/* one that is wholly free can be given back: it is no fragmentation */
	to = used && one.free_bytes ? place_for(s, device, one.free_bytes) : NULL;
	if (to) {
		fill_parts(s, &one);
		*to = one;
	}
	s->pieces.count = 0;
}
