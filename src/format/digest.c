/* Digests: two slots per entry, the newest one that the root has committed. */
#include "format/digest.h"

#include "base/error.h"
#include "base/map.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

#define LOAD_TRIES 50

struct heap {
	struct sb_reader *reader;
	struct sb_digest *out;
	struct sb_map index; /* node number -> index + 1 */
	uint32_t node_room, sum_room, bucket_room;
	bool no_memory;
};

void sb_digest_bucket_range(uint32_t bucket, double *out_low, double *out_high)
{
	double unit;

	if (bucket < 8) {
		*out_low = bucket;
		*out_high = bucket + 1.0;
		return;
	}
	unit = (double)((uint64_t)1 << (bucket / 8 - 1 > 60 ? 60 : bucket / 8 - 1));
	*out_low = unit * (8 + bucket % 8);
	*out_high = *out_low + unit;
}

/* 0 or 1: the newest committed slot; -1: neither. */
static int pick(uint64_t stamp0, uint64_t stamp1, uint64_t folded_seq)
{
	bool ok0 = stamp0 && stamp0 <= folded_seq, ok1 = stamp1 && stamp1 <= folded_seq;

	if (ok0 && ok1)
		return stamp1 > stamp0;
	return ok0 ? 0 : ok1 ? 1 : -1;
}

static void take_node(struct heap *h, const struct sb_digest_node *n)
{
	struct sb_digest *d = h->out;
	int slot = pick(n->slot[0].stamp, n->slot[1].stamp, d->folded_seq);
	struct sb_folded_node *to;

	h->no_memory |= !SB_MAKE_ROOM(d->nodes, d->node_count, h->node_room);
	if (h->no_memory || !sb_map_put(&h->index, n->node, d->node_count + 1)) {
		h->no_memory = true;
		return;
	}
	to = &d->nodes[d->node_count++];
	*to = (struct sb_folded_node){ .node = n->node,
		.parent = n->parent,
		.name = n->name,
		.flags = n->flags,
		.role = n->flags & SB_NODE_ROLE ? n->role : 0 };
	if (slot < 0)
		return;
	to->sum = n->slot[slot];
	if (to->sum.count && to->sum.last_ticks > d->last_ticks)
		d->last_ticks = to->sum.last_ticks;
}

static void take_sum(struct heap *h, const struct sb_digest_sum *s)
{
	struct sb_digest *d = h->out;
	int slot = pick(s->slot[0].stamp, s->slot[1].stamp, d->folded_seq);

	if (slot < 0)
		return;
	h->no_memory |= !SB_MAKE_ROOM(d->sums, d->sum_count, h->sum_room);
	if (!h->no_memory)
		d->sums[d->sum_count++] = (struct sb_folded_sum){ s->node, s->key, s->slot[slot] };
}

static bool take_open(struct heap *h, const struct sb_digest_open *o, size_t words)
{
	struct sb_digest *d = h->out;
	size_t room = words * 8 - sizeof *o;
	const struct sb_digest_open_zone *zones = (const struct sb_digest_open_zone *)(o + 1);
	int slot = pick(o->slot[0].stamp, o->slot[1].stamp, d->folded_seq);
	uint32_t depth;

	if (room / sizeof *zones / 2 < o->capacity)
		return false;
	if (slot < 0)
		return true;
	depth = o->slot[slot].depth;
	if (depth > o->capacity)
		return false;
	free(d->open);
	d->open = malloc((depth + 1) * sizeof *zones);
	if (!d->open) {
		h->no_memory = true;
		d->open_count = 0;
		return true;
	}
	memcpy(d->open, zones + (size_t)slot * o->capacity, depth * sizeof *zones);
	d->open_count = depth;
	d->track = o->slot[slot].track;
	return true;
}

static void take_hist(struct heap *h, const struct sb_digest_hist *e)
{
	struct sb_digest *d = h->out;

	for (uint32_t i = 0; i < 32 && !h->no_memory; i++) {
		if (!e->count[i] || e->first + i >= SB_DIGEST_BUCKETS)
			continue;
		h->no_memory |= !SB_MAKE_ROOM(d->buckets, d->bucket_count, h->bucket_room);
		if (!h->no_memory)
			d->buckets[d->bucket_count++] = (struct sb_folded_bucket){ e->node, e->first + i,
				e->count[i] };
	}
}

/* True while the entry makes sense; unknown types are skipped by their length. */
static bool take_entry(struct heap *h, const uint64_t *at, uint32_t type, size_t words)
{
	size_t bytes = words * 8;

	switch (type) {
	case SB_DIGEST_NODE:
		if (bytes < sizeof(struct sb_digest_node))
			return false;
		take_node(h, (const struct sb_digest_node *)at);
		return true;
	case SB_DIGEST_SUM:
		if (bytes < sizeof(struct sb_digest_sum))
			return false;
		take_sum(h, (const struct sb_digest_sum *)at);
		return true;
	case SB_DIGEST_OPEN:
		return bytes >= sizeof(struct sb_digest_open) &&
		       take_open(h, (const struct sb_digest_open *)at, words);
	case SB_DIGEST_HIST:
		if (bytes < sizeof(struct sb_digest_hist))
			return false;
		take_hist(h, (const struct sb_digest_hist *)at);
		return true;
	default: return true;
	}
}

static void take_chunk(struct heap *h, const struct sb_chunk *chunk, const uint64_t *words, size_t count)
{
	size_t at = 0;

	while (at < count) {
		const struct sb_digest_head *head = (const struct sb_digest_head *)(words + at);

		if (!head->type)
			return;
		if (head->words < 1 || head->words > count - at ||
			!take_entry(h, words + at, head->type, head->words)) {
			sb_reader_damage(h->reader, SB_DAMAGE_DIGEST, (count - at) * 8,
				sb_reader_chunk_offset(h->reader, chunk) + SB_CHUNK_HEADER_BYTES + at * 8);
			return;
		}
		at += head->words;
	}
}

static int compare_buckets(const void *a, const void *b)
{
	const struct sb_folded_bucket *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->bucket < y->bucket ? -1 : x->bucket > y->bucket;
}

/* Node numbers become indices; references to nowhere are dropped, and a parent
 * that does not come before its child cannot make a circle. */
static void link_nodes(struct heap *h)
{
	struct sb_digest *d = h->out;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < d->node_count; i++) {
		uint32_t parent = 0;

		if (d->nodes[i].parent && sb_map_get(&h->index, d->nodes[i].parent, &parent) && parent > i)
			parent = 0;
		d->nodes[i].parent = parent;
	}
	for (uint32_t i = 0; i < d->sum_count; i++)
		if (!d->sums[i].node || sb_map_get(&h->index, d->sums[i].node, &d->sums[i].node))
			d->sums[kept++] = d->sums[i];
	d->sum_count = kept;
	kept = 0;
	for (uint32_t i = 0; i < d->open_count; i++)
		if (sb_map_get(&h->index, d->open[i].node, &d->open[i].node))
			d->open[kept++] = d->open[i];
	d->open_count = kept;
	kept = 0;
	for (uint32_t i = 0; i < d->bucket_count; i++)
		if (sb_map_get(&h->index, d->buckets[i].node, &d->buckets[i].node))
			d->buckets[kept++] = d->buckets[i];
	d->bucket_count = kept;
	if (kept)
		qsort(d->buckets, kept, sizeof *d->buckets, compare_buckets);
	for (uint32_t i = 0; i < kept; i++) {
		struct sb_folded_node *n = &d->nodes[d->buckets[i].node - 1];

		if (!n->bucket_count++)
			n->first_bucket = i;
	}
}

static bool read_root(
	struct sb_reader *r, const struct sb_chunk *chunk, uint64_t *buf, struct sb_digest_root *out_root)
{
	size_t count;
	const uint64_t *words = sb_reader_chunk(r, chunk, buf, &count);

	if (!words || count * 8 < sizeof *out_root)
		return false;
	memcpy(out_root, words, sizeof *out_root);
	return true;
}

/* Reads once; false: the root changed meanwhile, so slots may be newer. */
static bool load_once(struct heap *h, struct sb_chunk_range range, uint64_t *buf)
{
	struct sb_reader *r = h->reader;
	struct sb_digest *d = h->out;
	struct sb_digest_root root, again;

	if (!read_root(r, &r->chunks[range.first], buf, &root))
		return true;
	d->folded_seq = root.folded_seq;
	d->first_ticks = root.first_ticks;
	d->folded_words = root.folded_words;
	for (uint32_t i = range.first; i < range.end; i++) {
		size_t count;
		size_t skip = i == range.first ? sizeof root / 8 : 0;
		const uint64_t *words = sb_reader_chunk(r, &r->chunks[i], buf, &count);

		if (words && count > skip)
			take_chunk(h, &r->chunks[i], words + skip, count - skip);
	}
	if (!r->live)
		return true;
	return read_root(r, &r->chunks[range.first], buf, &again) && again.folded_seq == root.folded_seq;
}

int sb_digest_load(struct sb_reader *r, uint32_t writer, struct sb_digest *out_digest)
{
	struct sb_chunk_range range = sb_reader_range(r, SB_STREAM_DIGEST, writer);
	struct heap h = { .reader = r, .out = out_digest };
	uint64_t *buf;

	memset(out_digest, 0, sizeof *out_digest);
	if (range.first == range.end || r->chunks[range.first].seq != 1)
		return 0;
	buf = malloc(r->head.chunk_bytes);
	if (!buf)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", r->path);
	for (int try = 0; try < LOAD_TRIES; try++) {
		sb_map_clear(&h.index);
		h.node_room = h.sum_room = h.bucket_room = 0;
		sb_digest_done(out_digest);
		if (load_once(&h, range, buf))
			break;
	}
	link_nodes(&h);
	sb_map_done(&h.index);
	free(buf);
	if (h.no_memory) {
		sb_digest_done(out_digest);
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", r->path);
	}
	return 0;
}

void sb_digest_done(struct sb_digest *d)
{
	free(d->nodes);
	free(d->sums);
	free(d->open);
	free(d->buckets);
	memset(d, 0, sizeof *d);
}
