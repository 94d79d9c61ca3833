/* The digest heap of one writer: entries with two slots each, in DIGEST chunks
 * of the recording. fold.c decides what goes in; this file keeps it consistent. */
#include "record/fold.h"

#include "record/clock.h"
#include "record/put.h"
#include "record/recorder.h"

#include <string.h>

static bool open_chunk(struct sb_fold *f)
{
	struct sb_position p = { .seq = f->digest_seq };
	uint32_t chunk = sb_chunk_take(&REC->extent, SB_STREAM_DIGEST, f->digest_seq == 0);

	if (!chunk)
		return false;
	sb_writer_open_chunk(f->writer, &p, SB_STREAM_DIGEST, chunk, sb_clock_ticks());
	f->digest_seq = p.seq;
	f->cur = p.cur;
	f->limit = p.limit;
	return true;
}

/* Zeroed space for an entry of so many bytes; NULL: no room. */
static void *allocate(struct sb_fold *f, size_t bytes)
{
	size_t words = bytes / 8;
	void *at;

	if (f->cur + words > f->limit) {
		if (words > (REC->extent.chunk_bytes - SB_CHUNK_HEADER_BYTES) / 8 || !open_chunk(f))
			return NULL;
	}
	at = f->cur;
	f->cur += words;
	return at;
}

/* Publishes the entry to readers. */
static void publish(struct sb_digest_head *head, enum sb_digest_type type, size_t bytes)
{
	head->words = (uint32_t)(bytes / 8);
	__atomic_store_n(&head->type, type, __ATOMIC_RELEASE);
}

static struct sb_fold_entry *find(struct sb_fold *f, uint64_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15u;

	for (uint32_t i = (uint32_t)(h >> 40);; i++) {
		struct sb_fold_entry *e = &f->index[i % SB_FOLD_INDEX];

		if (e->key == key || !e->key)
			return e;
	}
}

static bool index_full(const struct sb_fold *f)
{
	return f->index_count > SB_FOLD_INDEX * 3 / 4;
}

static void remember(struct sb_fold *f, struct sb_fold_entry *e, uint64_t key, void *entry)
{
	e->key = key;
	e->entry = entry;
	f->index_count++;
}

/* Keys: bits 62-63 say what, so that no key is 0. */
static uint64_t key_of(unsigned what, uint32_t a, uint32_t b)
{
	return (uint64_t)(what + 1) << 62 | (uint64_t)a << 32 | b;
}

/* ---- nodes --------------------------------------------------------------- */

static struct sb_digest_node *make_node(struct sb_fold *f, uint32_t parent, uint32_t name, uint32_t flags)
{
	struct sb_digest_node *node;

	if (f->node_count >= SB_FOLD_NODES || index_full(f))
		return NULL;
	node = allocate(f, sizeof *node);
	if (!node)
		return NULL;
	node->node = ++f->node_count;
	node->parent = parent;
	node->name = name;
	node->flags = flags;
	f->nodes[node->node] = node;
	publish(&node->head, SB_DIGEST_NODE, sizeof *node);
	return node;
}

struct sb_digest_node *sb_digest_node(struct sb_fold *f, uint32_t parent, uint32_t name, uint32_t flags)
{
	uint64_t key = key_of(0, sb_fold_under(parent, flags), name);
	struct sb_fold_entry *e = find(f, key);
	struct sb_digest_node *node;

	if (e->key)
		return e->entry;
	node = make_node(f, parent, name, flags);
	if (!node) {
		sb_lost(SB_LOST_DIGEST_FULL, 1);
		return f->nodes[1];
	}
	remember(f, e, key, node);
	return node;
}

struct sb_digest_hist *sb_digest_hist(struct sb_fold *f, uint32_t node, uint32_t bucket)
{
	uint32_t first = bucket & ~31u;
	uint64_t key = key_of(1, node, first);
	struct sb_fold_entry *e = find(f, key);
	struct sb_digest_hist *hist = e->entry;

	if (e->key)
		return hist;
	hist = index_full(f) ? NULL : allocate(f, sizeof *hist);
	if (!hist)
		return NULL; /* percentiles are estimates; totals are elsewhere */
	hist->node = node;
	hist->first = first;
	publish(&hist->head, SB_DIGEST_HIST, sizeof *hist);
	remember(f, e, key, hist);
	return hist;
}

/* What the chunk added, into the slot that no reader takes yet. */
static void write_tally(struct sb_digest_node *node, struct sb_fold_tally *t, uint64_t seq)
{
	struct sb_digest_node_slot *a = &node->slot[0], *b = &node->slot[1];
	struct sb_digest_node_slot *newer = a->stamp >= b->stamp ? a : b, *older = newer == a ? b : a;
	bool first = !newer->count;

	__atomic_store_n(&older->stamp, seq, __ATOMIC_RELEASE);
	older->count = newer->count + t->count;
	older->total_ticks = newer->total_ticks + t->total_ticks;
	older->self_ticks = newer->self_ticks + t->self_ticks;
	older->min_ticks = first || t->min_ticks < newer->min_ticks ? t->min_ticks : newer->min_ticks;
	older->max_ticks = t->max_ticks > newer->max_ticks ? t->max_ticks : newer->max_ticks;
	older->first_ticks = first || t->first_ticks < newer->first_ticks ? t->first_ticks
									  : newer->first_ticks;
	older->last_ticks = t->last_ticks > newer->last_ticks ? t->last_ticks : newer->last_ticks;
	t->count = 0;
}

/* ---- sums ---------------------------------------------------------------- */

static struct sb_digest_sum *find_sum(struct sb_fold *f, uint32_t node, uint32_t key)
{
	uint64_t k = key_of(2, node, key);
	struct sb_fold_entry *e = find(f, k);
	struct sb_digest_sum *sum;

	if (e->key)
		return e->entry;
	sum = index_full(f) ? NULL : allocate(f, sizeof *sum);
	if (!sum)
		return NULL;
	sum->node = node;
	sum->key = key;
	publish(&sum->head, SB_DIGEST_SUM, sizeof *sum);
	remember(f, e, k, sum);
	return sum;
}

void sb_digest_sum(struct sb_fold *f, uint32_t node, uint32_t key, int64_t i, double d)
{
	struct sb_digest_sum *sum = find_sum(f, node, key);
	struct sb_digest_sum_slot *newer, *older;

	if (!sum) {
		sb_lost(SB_LOST_DIGEST_FULL, 1);
		return;
	}
	newer = sum->slot[0].stamp >= sum->slot[1].stamp ? &sum->slot[0] : &sum->slot[1];
	older = newer == &sum->slot[0] ? &sum->slot[1] : &sum->slot[0];
	if (newer->stamp != f->seq) {
		__atomic_store_n(&older->stamp, f->seq, __ATOMIC_RELEASE);
		older->count = newer->count;
		older->sum_int = newer->sum_int;
		older->sum_float = newer->sum_float;
		newer = older;
	}
	newer->count++;
	newer->sum_int += i;
	newer->sum_float += d;
	newer->last = d;
}

/* ---- open zones, and the commit ------------------------------------------ */

static struct sb_digest_open_zone *zones_of(struct sb_digest_open *stack, int slot)
{
	return (struct sb_digest_open_zone *)(stack + 1) + (size_t)slot * stack->capacity;
}

static struct sb_digest_open *make_stack(struct sb_fold *f, uint32_t capacity)
{
	size_t bytes = sizeof(struct sb_digest_open) + 2 * capacity * sizeof(struct sb_digest_open_zone);
	struct sb_digest_open *stack = allocate(f, bytes);

	if (!stack)
		return NULL;
	stack->capacity = capacity;
	publish(&stack->head, SB_DIGEST_OPEN, bytes);
	return stack;
}

static struct sb_digest_open *stack_for(struct sb_fold *f)
{
	static const uint32_t capacities[] = { 16, 64, SB_FOLD_DEPTH };

	for (int i = 0; i < 3; i++) {
		struct sb_digest_open *stack;

		if (capacities[i] < f->depth || (f->stack && capacities[i] <= f->stack->capacity))
			continue;
		stack = make_stack(f, capacities[i]);
		if (stack)
			return stack;
	}
	return f->stack;
}

static void write_stack(struct sb_fold *f)
{
	int slot;

	if (!f->stack || f->depth > f->stack->capacity)
		f->stack = stack_for(f);
	if (!f->stack)
		return;
	if (f->depth > f->stack->capacity) {
		sb_lost(SB_LOST_DEPTH, f->depth - f->stack->capacity);
		f->depth = f->stack->capacity;
	}
	slot = f->stack->slot[0].stamp <= f->stack->slot[1].stamp ? 0 : 1;
	__atomic_store_n(&f->stack->slot[slot].stamp, f->seq, __ATOMIC_RELEASE);
	f->stack->slot[slot].depth = f->depth;
	f->stack->slot[slot].track = f->track;
	memcpy(zones_of(f->stack, slot), f->open, f->depth * sizeof f->open[0]);
}

bool sb_digest_open(struct sb_fold *f, struct sb_writer *w)
{
	f->writer = w;
	if (!open_chunk(f))
		return false;
	f->root = (struct sb_digest_root *)f->cur;
	f->cur += sizeof *f->root / 8;
	f->seq = 0;
	sb_digest_node(f, 0, SB_NAME_OTHER, 0); /* node 1: where the rest goes */
	return true;
}

void sb_digest_commit(struct sb_fold *f)
{
	for (uint32_t i = 0; i < f->touched_count; i++)
		write_tally(f->nodes[f->touched[i]], &f->tallies[f->touched[i]], f->seq);
	f->touched_count = 0;
	write_stack(f);
	atomic_thread_fence(memory_order_release);
	__atomic_store_n(&f->root->folded_seq, f->seq, __ATOMIC_RELEASE);
}
