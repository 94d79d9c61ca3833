/*
 * Folding: when the budget is used up, a writer turns its own oldest chunk into
 * digests and reuses it. Detail goes, totals stay exact, also after a kill at
 * any instruction: a fold only ever writes the slot that no reader would take,
 * one store commits it, and only then is the chunk overwritten.
 */
#include "record/fold.h"

#include "record/clock.h"
#include "record/put.h"
#include "record/recorder.h"
#include "strobe.h"

#include <string.h>
#include <sys/mman.h>

static struct sb_fold *fold_new(void)
{
	struct sb_fold *f = mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return f == MAP_FAILED ? NULL : f;
}

void sb_fold_forget(struct sb_fold *f)
{
	memset(f, 0, sizeof *f);
}

/* ---- nodes and their tallies: for every zone, so without a call ---------- */

static __attribute__((noinline, cold)) struct sb_digest_node *find_node(
	struct sb_fold *f, uint32_t parent, uint32_t name, uint32_t flags)
{
	struct sb_digest_node *node = sb_digest_node(f, parent, name, flags);
	struct sb_fold_child *child = sb_fold_child_of(f, sb_fold_under(parent, flags), name);

	if (node->name == name) /* not "(other)", which is asked for again, and counted */
		*child = (struct sb_fold_child){ sb_fold_under(parent, flags), name, node };
	return node;
}

static inline struct sb_digest_node *node_of(
	struct sb_fold *f, uint32_t parent, uint32_t name, uint32_t flags)
{
	uint32_t under = sb_fold_under(parent, flags);
	const struct sb_fold_child *child = sb_fold_child_of(f, under, name);

	if (__builtin_expect(child->node && child->under == under && child->name == name, 1))
		return child->node;
	return find_node(f, parent, name, flags);
}

static inline void add(
	struct sb_fold *f, uint32_t node, uint64_t begin_ticks, uint64_t duration, uint64_t self)
{
	struct sb_fold_tally *t = &f->tallies[node];
	uint32_t bucket = sb_digest_bucket_of(duration);
	uint64_t end = begin_ticks + duration;

	if (__builtin_expect(!t->count, 0)) {
		f->touched[f->touched_count++] = (uint16_t)node;
		t->total_ticks = t->self_ticks = t->max_ticks = t->last_ticks = 0;
		t->min_ticks = t->first_ticks = UINT64_MAX;
	}
	t->count++;
	t->total_ticks += duration;
	t->self_ticks += self;
	t->min_ticks = duration < t->min_ticks ? duration : t->min_ticks;
	t->max_ticks = duration > t->max_ticks ? duration : t->max_ticks;
	t->first_ticks = begin_ticks < t->first_ticks ? begin_ticks : t->first_ticks;
	t->last_ticks = end > t->last_ticks ? end : t->last_ticks;
	if (__builtin_expect(!t->hist || bucket - t->hist->first >= 32, 0))
		t->hist = sb_digest_hist(f, node, bucket);
	if (t->hist)
		t->hist->count[bucket - t->hist->first]++;
}

/* ---- zones --------------------------------------------------------------- */

static inline int innermost(const struct sb_fold *f, uint32_t track)
{
	for (int i = (int)f->depth - 1; i >= 0; i--)
		if (f->open[i].track == track)
			return i;
	return -1;
}

/* The count of a track's open zones that were too deep; the last place serves all
 * tracks past those that have one. */
static uint32_t *skipped_of(struct sb_fold *f, uint32_t track)
{
	uint32_t free = SB_FOLD_SKIPS - 1;

	for (uint32_t i = SB_FOLD_SKIPS - 1; i-- > 0;) {
		if (f->skips[i].count && f->skips[i].track == track)
			return &f->skips[i].count;
		if (!f->skips[i].count)
			free = i;
	}
	f->skips[free].track = track;
	return &f->skips[free].count;
}

/* Whether a zone that begins is too deep; its end must be skipped, too. */
static bool skip_begin(struct sb_fold *f)
{
	uint32_t *skipped = skipped_of(f, f->track);

	if (!*skipped && f->depth < SB_FOLD_DEPTH)
		return false;
	++*skipped;
	f->skipping++;
	sb_lost(SB_LOST_DEPTH, 1);
	return true;
}

static inline void zone_begin(struct sb_fold *f, uint32_t name, uint64_t ticks)
{
	struct sb_digest_open_zone *zone = &f->open[f->depth];
	int parent = innermost(f, f->track);
	struct sb_digest_node *node;

	if (__builtin_expect(f->skipping || f->depth >= SB_FOLD_DEPTH, 0) && skip_begin(f))
		return;
	node = node_of(f, parent < 0 ? 0 : f->open[parent].node, name, f->track ? SB_NODE_TRACK : 0);
	zone->track = f->track;
	zone->node = node->node;
	zone->begin_ticks = ticks;
	zone->child_ticks = 0;
	f->depth++;
}

/* Takes a zone out and adds it to its node; returns its duration. */
static inline uint64_t tally_zone(struct sb_fold *f, const struct sb_digest_open_zone *zone, uint64_t ticks)
{
	uint64_t duration = ticks > zone->begin_ticks ? ticks - zone->begin_ticks : 0;

	add(f, zone->node, zone->begin_ticks, duration,
		duration > zone->child_ticks ? duration - zone->child_ticks : 0);
	return duration;
}

static void close_zone(struct sb_fold *f, int index, uint64_t ticks)
{
	struct sb_digest_open_zone zone = f->open[index];
	uint64_t duration = tally_zone(f, &zone, ticks);
	int parent;

	memmove(&f->open[index], &f->open[index + 1], (f->depth - (unsigned)index - 1) * sizeof f->open[0]);
	f->depth--;
	parent = innermost(f, zone.track);
	if (parent >= 0)
		f->open[parent].child_ticks += duration;
}

/* The usual end: of the zone that began last. */
static inline void close_last(struct sb_fold *f, uint64_t ticks)
{
	struct sb_digest_open_zone *zone = &f->open[--f->depth];
	uint64_t duration = tally_zone(f, zone, ticks);
	int parent = innermost(f, zone->track);

	if (parent >= 0)
		f->open[parent].child_ticks += duration;
}

static bool zone_is(const struct sb_fold *f, int index, uint32_t name)
{
	return f->nodes[f->open[index].node]->name == name;
}

/* Whether the zone that ends was one that was skipped. */
static bool skip_end(struct sb_fold *f)
{
	uint32_t *skipped = skipped_of(f, f->track);

	if (!*skipped)
		return false;
	--*skipped;
	f->skipping--;
	return true;
}

/* Of a zone that others of its track, which were left open, or of another track began after. */
static __attribute__((noinline, cold)) void end_further_out(struct sb_fold *f, uint32_t name, uint64_t ticks)
{
	int top = innermost(f, f->track), match = top;

	while (name && match >= 0 && (f->open[match].track != f->track || !zone_is(f, match, name)))
		match--;
	if (match < 0)
		return;
	for (int i = top; i > match; i--)
		if (f->open[i].track == f->track)
			close_zone(f, i, ticks);
	close_zone(f, match, ticks);
}

static inline void zone_end(struct sb_fold *f, uint32_t name, uint64_t ticks)
{
	uint32_t depth = f->depth;

	if (__builtin_expect(f->skipping, 0) && skip_end(f))
		return;
	if (__builtin_expect(depth && f->open[depth - 1].track == f->track, 1) &&
		(!name || zone_is(f, (int)depth - 1, name)))
		close_last(f, ticks);
	else
		end_further_out(f, name, ticks);
}
/* A zone that ends with the next word, which most do: it never opens. */
static inline void whole_zone(struct sb_fold *f, uint32_t name, uint64_t begin, uint64_t end)
{
	int parent = innermost(f, f->track);
	struct sb_digest_node *node = node_of(
		f, parent < 0 ? 0 : f->open[parent].node, name, f->track ? SB_NODE_TRACK : 0);
	uint64_t duration = end > begin ? end - begin : 0;

	f->last_ticks = end;
	add(f, node->node, begin, duration, duration);
	if (parent >= 0)
		f->open[parent].child_ticks += duration;
}

static inline bool is_whole(const struct sb_fold *f, uint64_t begin, uint64_t next)
{
	return sb_word_kind(next) == SB_END && (!sb_word_id(next) || sb_word_id(next) == sb_word_id(begin)) &&
	       !f->skipping && f->depth < SB_FOLD_DEPTH;
}

static void owner_changes(struct sb_fold *f, uint64_t ticks)
{
	while (f->depth)
		close_zone(f, (int)f->depth - 1, ticks);
	f->track = 0;
	f->skipping = 0;
	memset(f->skips, 0, sizeof f->skips);
}

static void attribute(struct sb_fold *f, uint32_t key, int64_t i, double d)
{
	int top = innermost(f, f->track);

	if (top < 0)
		return;
	if (key == SB_NAME_ROLE) {
		f->nodes[f->open[top].node]->role = (uint32_t)i;
		f->nodes[f->open[top].node]->flags |= SB_NODE_ROLE;
		return;
	}
	sb_digest_sum(f, f->open[top].node, key, i, d);
}

/* ---- whole records ------------------------------------------------------- */

static double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof d);
	return d;
}

/* A measured duration (span id 0) belongs into the zone that was open all the
 * while; a span that wanders between threads belongs into none. */
static int zone_around(const struct sb_fold *f, const uint64_t *span)
{
	for (int i = (int)f->depth - 1; !span[0] && i >= 0; i--)
		if (f->open[i].track == f->track && f->open[i].begin_ticks <= span[1])
			return i;
	return -1;
}

static void fold_span(struct sb_fold *f, uint32_t name, const uint64_t *p, uint32_t words)
{
	int around = zone_around(f, p);
	struct sb_digest_node *node = node_of(f, around < 0 ? 0 : f->open[around].node, name, SB_NODE_SPAN);

	if (around >= 0)
		f->open[around].child_ticks += p[2];
	add(f, node->node, p[1], p[2], p[2]);
	for (uint32_t i = 4; i + 1 < words;) {
		uint32_t key = p[i] & SB_ID_MAX, type = (p[i] >> 20) & 15, bytes = (uint32_t)(p[i] >> 32);

		if (key == SB_NAME_ROLE) {
			node->role = (uint32_t)p[i + 1];
			node->flags |= SB_NODE_ROLE;
		} else if (type == STROBE_TYPE_INT) {
			sb_digest_sum(f, node->node, key, (int64_t)p[i + 1], (double)(int64_t)p[i + 1]);
		} else if (type == STROBE_TYPE_FLOAT) {
			sb_digest_sum(f, node->node, key, 0, double_of(p[i + 1]));
		}
		i += 1 + (bytes + 7) / 8;
	}
}

static void fold_stream(struct sb_fold *f, const uint64_t *p)
{
	sb_digest_sum(f, 0, SB_NAME_STREAM_FRAMES, (int64_t)p[1], (double)(int64_t)p[1]);
	sb_digest_sum(f, 0, SB_NAME_STREAM_ENCODE, 0, double_of(p[2]));
	sb_digest_sum(f, 0, SB_NAME_STREAM_NETWORK, 0, double_of(p[3]));
	sb_digest_sum(f, 0, SB_NAME_STREAM_BUFFER, 0, double_of(p[4]));
}

static void fold_alloc(struct sb_fold *f, uint32_t allocator, int64_t bytes)
{
	uint32_t what = bytes < 0 ? SB_SUM_FREE : SB_SUM_ALLOC;

	bytes = bytes < 0 ? -bytes : bytes;
	sb_digest_sum(f, 0, allocator | what << SB_ID_BITS, bytes, (double)bytes);
}

static void fold_long(struct sb_fold *f, uint64_t head, const uint64_t *p, uint64_t *base)
{
	uint64_t aux = sb_long_aux(head);
	uint32_t id = aux & SB_ID_MAX, type = (uint32_t)(aux >> SB_ID_BITS) & 15;

	switch (sb_long_type(head)) {
	case SB_REBASE: *base = p[0]; break;
	case SB_ATTR64:
		if (type == STROBE_TYPE_FLOAT)
			attribute(f, id, 0, double_of(p[0]));
		else
			attribute(f, id, (int64_t)p[0], (double)(int64_t)p[0]);
		break;
	case SB_SPAN: fold_span(f, id, p, sb_long_words(head)); break;
	case SB_CACHE: sb_digest_sum(f, 0, (uint32_t)aux, (int64_t)p[1], (double)(int64_t)p[1]); break;
	case SB_STREAMING: fold_stream(f, p); break;
	case SB_ALLOC: fold_alloc(f, id, (int64_t)p[1]); break;
	case SB_GAUGE: sb_digest_sum(f, 0, id | SB_SUM_GAUGE << SB_ID_BITS, 0, double_of(p[1])); break;
	case SB_COUNT64: sb_digest_sum(f, 0, id, (int64_t)p[0], (double)(int64_t)p[0]); break;
	case SB_OWNER: owner_changes(f, f->last_ticks); break;
	default: break;
	}
}

static void fold_words(struct sb_fold *f, const uint64_t *at, const uint64_t *end, uint64_t base)
{
	uint64_t words = 0;

	for (; at < end && *at; at++) {
		uint64_t word = *at, ticks = base + sb_word_ticks(word);
		uint32_t id = sb_word_id(word);

		words++;
		switch (sb_word_kind(word)) {
		case SB_BEGIN:
			if (at + 1 < end && is_whole(f, word, at[1])) {
				whole_zone(f, id, ticks, base + sb_word_ticks(*++at));
				words++;
			} else {
				zone_begin(f, id, f->last_ticks = ticks);
			}
			break;
		case SB_END: zone_end(f, id, f->last_ticks = ticks); break;
		case SB_MARK: sb_digest_sum(f, 0, id | SB_SUM_MARK << SB_ID_BITS, 1, 1); break;
		case SB_SWITCH: f->track = id; break;
		case SB_ATTR: attribute(f, id, sb_word_signed(word), (double)sb_word_signed(word)); break;
		case SB_COUNT:
			sb_digest_sum(f, 0, id, sb_word_signed(word), (double)sb_word_signed(word));
			break;
		case SB_LONG:
			fold_long(f, word, at + 1, &base);
			at += sb_long_words(word);
			break;
		default: end = at; break; /* PAD */
		}
	}
	f->root->folded_words += words;
}

uint32_t sb_fold_oldest(struct sb_writer *w)
{
	struct sb_extent *x = &REC->extent;
	uint32_t chunk = w->oldest;
	struct sb_chunk_header *h;

	if (!chunk)
		return 0;
	if (!w->fold && !(w->fold = fold_new()))
		return 0;
	if (!w->fold->root && !sb_digest_open(w->fold, w))
		return 0;
	h = sb_chunk_at(x, chunk);
	w->fold->seq = h->seq;
	if (!w->fold->root->first_ticks)
		w->fold->root->first_ticks = h->base_ticks;
	fold_words(w->fold, (uint64_t *)(h + 1), (uint64_t *)((char *)h + x->chunk_bytes), h->base_ticks);
	sb_digest_commit(w->fold);
	w->oldest = x->next_of[chunk];
	__atomic_fetch_add(&sb_header()->fold_count, 1, __ATOMIC_RELAXED);
	return chunk;
}
