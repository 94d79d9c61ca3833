/* The history of an allocator: sums, the peak, and which lines held memory then. In one pass: a line's
 * bytes at the peak are put aside when they change for the first time after it. */
#include "exchange/snapshot.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MOST (1u << 18)
#define BLOCKS_MOST (1u << 20)
#define DEVICES_MOST 64u
#define HELD_MOST 200u
#define SIZES_MOST (1u << 16)
enum { NOT_KNOWN, BEFORE, LINES_FIRST }; /* lines with a meaning of their own */

bool sb_snapshot_init(struct sb_snapshot *s)
{
	memset(s, 0, sizeof *s);
	s->live = sb_snapshot_live_new();
	return s->live && sb_vec_push(&s->frames, sizeof(struct sb_snapshot_frame)) &&
	       sb_vec_push(&s->stacks, sizeof(struct sb_snapshot_stack)) &&
	       sb_vec_push(&s->lines, sizeof(struct sb_snapshot_line)) &&
	       sb_vec_push(&s->lines, sizeof(struct sb_snapshot_line));
}

void sb_snapshot_done(struct sb_snapshot *s)
{
	struct sb_snapshot_device *devices = s->devices.items;

	for (size_t i = 0; i < s->devices.count; i++) {
		free(devices[i].bins);
		sb_vec_done(&devices[i].held);
		sb_vec_done(&devices[i].moments);
	}
	sb_vec_done(&s->devices);
	sb_vec_done(&s->frames);
	sb_vec_done(&s->stacks);
	sb_vec_done(&s->lines);
	sb_vec_done(&s->blocks);
	sb_vec_done(&s->failures);
	sb_vec_done(&s->pieces);
	sb_vec_done(&s->segments);
	sb_vec_done(&s->marks);
	sb_map_done(&s->frame_index);
	sb_map_done(&s->stack_index);
	sb_map_done(&s->line_index);
	sb_map_done(&s->stack_of_size);
	sb_strings_done(&s->strings);
	sb_snapshot_live_free(s->live);
}

/* ---- frames, stacks, lines ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return sb_hash64(hash * 31 + value + 1);
}

/* The number of something by the hash of its content; a new one is zeroed. */
static uint32_t numbered(struct sb_snapshot *s, struct sb_map *index, struct sb_vec *all, size_t size,
	uint64_t hash, bool *out_new)
{
	uint32_t number;

	*out_new = false;
	if (sb_map_get(index, hash, &number))
		return number;
	number = (uint32_t)all->count;
	if (number >= FRAMES_MOST)
		return 0;
	if (!sb_vec_push(all, size) || !sb_map_put(index, hash, number)) {
		s->failed = true;
		return 0;
	}
	*out_new = true;
	return number;
}

/* strobe's own, between the program and its modules. A program may lie in a folder of that name, too. */
static bool is_own(const char *file)
{
	static const char *const parts[] = { "/_", "/auto/", "/compat/", "/nn/" };
	const char *at = strstr(file, "/strobe/");
	bool found = false;

	for (; at; at = strstr(at + 1, "/strobe/"))
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			found |= !strncmp(at + strlen("/strobe"), parts[i], strlen(parts[i]));
	return found;
}

static enum sb_snapshot_kind kind_of(const char *file)
{
	size_t size = strlen(file);

	if (!(size > 3 && !strcmp(file + size - 3, ".py")) && file[0] != '<')
		return SB_FRAME_NATIVE;
	return strstr(file, "/torch/") || is_own(file) ? SB_FRAME_TORCH : SB_FRAME_PROGRAM;
}

uint32_t sb_snapshot_frame_add(struct sb_snapshot *s, uint32_t name, uint32_t file, int64_t line)
{
	bool is_new;
	uint32_t number = numbered(s, &s->frame_index, &s->frames, sizeof(struct sb_snapshot_frame),
		mix(mix(mix(1, name), file), (uint64_t)line), &is_new);

	if (is_new)
		((struct sb_snapshot_frame *)s->frames.items)[number] = (struct sb_snapshot_frame){ name,
			file, line > 0 && line < INT32_MAX ? (uint32_t)line : 0,
			kind_of(sb_strings_text(&s->strings, file)) };
	return number;
}

static uint32_t line_of(struct sb_snapshot *s, uint32_t frame)
{
	bool is_new;
	uint32_t number = frame ? numbered(s, &s->line_index, &s->lines, sizeof(struct sb_snapshot_line),
					  frame, &is_new)
				: NOT_KNOWN;

	if (number >= LINES_FIRST)
		((struct sb_snapshot_line *)s->lines.items)[number].frame = frame;
	return number;
}

void sb_snapshot_calls_add(const struct sb_snapshot *s, struct sb_snapshot_calls *calls, uint32_t frame)
{
	uint32_t kind = ((const struct sb_snapshot_frame *)s->frames.items)[frame].kind;

	if (!calls->first[kind])
		calls->first[kind] = frame;
	if (kind == SB_FRAME_PROGRAM && calls->count < sizeof calls->frames / sizeof *calls->frames)
		calls->frames[calls->count++] = frame;
}

/* It counts as its innermost line outside of torch itself; inside, where there is no other. */
uint32_t sb_snapshot_stack_add(struct sb_snapshot *s, const struct sb_snapshot_calls *calls)
{
	uint32_t place = 0, number;
	struct sb_snapshot_stack *stack;
	uint64_t hash = 2;
	bool is_new;

	for (int kind = SB_FRAME_PROGRAM; kind >= 0 && !place; kind--)
		place = calls->first[kind];
	hash = mix(hash, place);
	for (size_t i = 0; i < calls->count; i++)
		hash = mix(hash, calls->frames[i]);
	number = numbered(s, &s->stack_index, &s->stacks, sizeof(struct sb_snapshot_stack), hash, &is_new);
	if (!is_new)
		return number;
	stack = &((struct sb_snapshot_stack *)s->stacks.items)[number];
	stack->line = line_of(s, place);
	stack->count = calls->count < SB_SNAPSHOT_FRAMES ? calls->count : SB_SNAPSHOT_FRAMES;
	memcpy(stack->frames, calls->frames, stack->count * sizeof *stack->frames);
	if (!stack->count && place)
		stack->frames[stack->count++] = place;
	return number;
}

/* ---- what is there at last ---- */

void sb_snapshot_block_add(struct sb_snapshot *s, const struct sb_snapshot_block *block)
{
	struct sb_snapshot_block *b;

	s->block_count++;
	if (block->size <= 0 || block->size > SB_SNAPSHOT_BYTES_MOST)
		return;
	if (s->blocks.count == BLOCKS_MOST) {
		s->untracked_count++;
		return;
	}
	b = sb_vec_push(&s->blocks, sizeof *b);
	if (b)
		*b = *block;
	else
		s->failed = true;
}

void sb_snapshot_segment_add(struct sb_snapshot *s, uint32_t device, int64_t size)
{
	struct sb_snapshot_block *blocks =
		s->blocks.items; /* those that came since the last segment are this one's */

	if (device < DEVICES_MOST && size > 0 && size < SB_SNAPSHOT_BYTES_MOST)
		s->reserved[device] += size;
	for (size_t i = s->blocks.count; i > 0 && blocks[i - 1].device == UINT32_MAX; i--)
		blocks[i - 1].device = device;
	sb_snapshot_pieces_close(s, device);
}

/* ---- the history ---- */

static struct sb_snapshot_device *start_device(struct sb_snapshot *s, uint32_t device)
{
	struct sb_snapshot_device *d = s->devices.count < DEVICES_MOST ? sb_vec_push(&s->devices, sizeof *d)
								       : NULL;

	if (!d)
		return NULL;
	*d = (struct sb_snapshot_device){
		.device = device, .stride = 1, .bins = calloc(SB_SNAPSHOT_BINS, sizeof *d->bins)
	};
	s->failed |= !d->bins;
	return d->bins ? d : NULL;
}

static void close_device(struct sb_snapshot *s);
static struct sb_snapshot_device *open_device(struct sb_snapshot *s, uint32_t device)
{
	struct sb_snapshot_device *d = s->devices.items;

	if (s->devices.count && d[s->devices.count - 1].device == device)
		return d[s->devices.count - 1].bins ? &d[s->devices.count - 1] : NULL;
	close_device(s);
	return start_device(s, device);
}

static void merge_bins(struct sb_snapshot_device *d)
{
	for (uint32_t i = 0; i < SB_SNAPSHOT_BINS / 2; i++) {
		const struct sb_snapshot_bin *a = &d->bins[2 * i], *b = a + 1;

		d->bins[i] = (struct sb_snapshot_bin){ b->time_us, b->last,
			a->most > b->most ? a->most : b->most, b->reserved };
	}
	d->bin_count = SB_SNAPSHOT_BINS / 2;
	d->stride *= 2;
}

static void put_bin(struct sb_snapshot *s, struct sb_snapshot_device *d)
{
	struct sb_snapshot_bin *bin;

	if (d->entries % d->stride == 0) {
		if (d->bin_count == SB_SNAPSHOT_BINS)
			merge_bins(d);
		d->bins[d->bin_count++].most = INT64_MIN;
	}
	bin = &d->bins[d->bin_count - 1];
	bin->time_us = d->last_us;
	bin->last = s->sum;
	bin->most = s->sum > bin->most ? s->sum : bin->most;
	bin->reserved = s->reserved_sum;
}

/* Bytes of a line change; what it had at the peak is put aside first. */
static void change(struct sb_snapshot *s, uint32_t number, int64_t bytes)
{
	struct sb_snapshot_line *line = &((struct sb_snapshot_line *)s->lines.items)[number];

	if (line->saved != s->peak_number) {
		line->saved = s->peak_number;
		line->peak = line->live;
		line->peak_count = line->live_count;
		line->peak_us = line->last_us;
	}
	line->live += bytes;
	line->live_count += bytes > 0 ? 1 : -1;
	s->sum += bytes;
	sb_snapshot_layers_change(s, number);
}

/* The stack of an allocation. Histories leave stacks out where they cost too much: then what allocated that much last. */
static uint32_t stack_of(struct sb_snapshot *s, const struct sb_snapshot_entry *e)
{
	uint32_t stack = e->stack;

	if (stack && s->stack_of_size.count < SIZES_MOST)
		s->failed |= !sb_map_put(&s->stack_of_size, (uint64_t)e->size, stack);
	else if (!stack && !sb_map_get(&s->stack_of_size, (uint64_t)e->size, &stack))
		stack = 0;
	return stack;
}

static void see_alloc(struct sb_snapshot *s, struct sb_snapshot_device *d, const struct sb_snapshot_entry *e)
{
	uint32_t stack = stack_of(s, e);
	struct sb_snapshot_alloc a = { e->address, e->size,
		((struct sb_snapshot_stack *)s->stacks.items)[stack].line, stack };
	struct sb_snapshot_line *line;
	struct sb_snapshot_alloc lost;

	if (!a.address)
		return;
	if (sb_snapshot_live_take(s->live, a.address, &lost)) /* its free is not in the history */
		change(s, lost.line, -lost.size);
	if (!sb_snapshot_live_add(s->live, &a)) {
		s->untracked_count++;
		return;
	}
	change(s, a.line, a.size);
	line = &((struct sb_snapshot_line *)s->lines.items)[a.line];
	line->by_size |= stack != e->stack;
	line->last_us = d->last_us;
	if (a.size > line->largest) {
		line->largest = a.size;
		line->stack = a.stack;
	}
	if (s->sum > d->peak) {
		d->peak = s->sum;
		d->peak_us = d->last_us;
		s->peak_number++;
	}
}

static void see_free(struct sb_snapshot *s, const struct sb_snapshot_entry *e)
{
	struct sb_snapshot_alloc a;

	if (e->address && sb_snapshot_live_take(s->live, e->address, &a)) {
		change(s, a.line, -a.size);
		return;
	}
	change(s, BEFORE, -e->size);
	s->before += e->size;
	s->before_count++;
}

static void see_failure(
	struct sb_snapshot *s, const struct sb_snapshot_device *d, const struct sb_snapshot_entry *e)
{
	struct sb_snapshot_failure *f = s->failures.count < SB_SNAPSHOT_FAILURES
						? sb_vec_push(&s->failures, sizeof *f)
						: NULL;

	if (f)
		*f = (struct sb_snapshot_failure){ d->last_us, e->size, e->free_bytes, s->sum, e->device,
			e->stack };
}

void sb_snapshot_entry_add(struct sb_snapshot *s, const struct sb_snapshot_entry *e)
{
	struct sb_snapshot_device *d = open_device(s, e->device);

	if (!d || e->size < 0 || e->size > SB_SNAPSHOT_BYTES_MOST)
		return;
	if (!d->entries)
		d->first_us = d->peak_us = e->time_us >= 0 ? e->time_us : 0;
	/* Without times an entry takes a microsecond; a clock that was set back stands. */
	d->last_us = e->time_us < 0 ? (int64_t)d->entries : e->time_us > d->last_us ? e->time_us : d->last_us;
	sb_snapshot_layers_begin(s);
	switch (e->action) {
	case SB_SNAPSHOT_ALLOC: see_alloc(s, d, e); break;
	case SB_SNAPSHOT_FREE: see_free(s, e); break;
	case SB_SNAPSHOT_GROW: s->reserved_sum += e->size; break;
	case SB_SNAPSHOT_SHRINK: s->reserved_sum -= e->size; break;
	case SB_SNAPSHOT_OOM: see_failure(s, d, e); break;
	default: break;
	}
	put_bin(s, d);
	sb_snapshot_layers_end(s, d);
	d->entries++;
}

/* ---- closing ---- */

static int by_peak(const void *a, const void *b)
{
	const struct sb_snapshot_held *x = a, *y = b;
	int64_t p = x->peak > x->end ? x->peak : x->end, q = y->peak > y->end ? y->peak : y->end;

	return p > q ? -1 : p < q;
}

/* Allocated before the history and there to this day: at the peak too. */
static int64_t add_old_blocks(struct sb_snapshot *s, const struct sb_snapshot_device *d)
{
	const struct sb_snapshot_block *blocks = s->blocks.items;
	int64_t sum = 0;

	for (size_t i = 0; i < s->blocks.count; i++) {
		const struct sb_snapshot_block *b = &blocks[i];
		struct sb_snapshot_line *line;

		if (b->device != d->device || (b->address && sb_snapshot_live_has(s->live, b->address)))
			continue;
		line = &((struct sb_snapshot_line *)s->lines
				 .items)[((struct sb_snapshot_stack *)s->stacks.items)[b->stack].line];
		line->live += b->size;
		line->live_count++;
		line->old += b->size;
		line->peak += b->size;
		line->peak_count++;
		if (b->size > line->largest) {
			line->largest = b->size;
			line->stack = b->stack;
		}
		sum += b->size;
	}
	return sum;
}

static void settle_peaks(struct sb_snapshot *s)
{
	struct sb_snapshot_line *lines = s->lines.items;

	for (size_t i = 0; i < s->lines.count; i++)
		if (lines[i].saved != s->peak_number) {
			lines[i].peak = lines[i].live;
			lines[i].peak_count = lines[i].live_count;
			lines[i].peak_us = lines[i].last_us;
		}
	lines[BEFORE].old += s->before;
	lines[BEFORE].peak += s->before;
	lines[BEFORE].peak_count += s->before_count;
	lines[BEFORE].live += s->before;
	lines[BEFORE].live_count += s->before_count;
}

static void list_held(struct sb_snapshot *s, struct sb_snapshot_device *d)
{
	struct sb_snapshot_line *lines = s->lines.items;

	for (size_t i = 0; i < s->lines.count; i++) {
		struct sb_snapshot_held *held = lines[i].peak > 0 || lines[i].live > 0
							? sb_vec_push(&d->held, sizeof *held)
							: NULL;

		if (held)
			*held = (struct sb_snapshot_held){ lines[i].frame, lines[i].stack, lines[i].peak,
				lines[i].peak_count, lines[i].live, lines[i].live_count, lines[i].peak_us,
				(uint32_t)i, lines[i].by_size };
	}
	if (d->held.count)
		qsort(d->held.items, d->held.count, sizeof(struct sb_snapshot_held), by_peak);
	if (d->held.count > HELD_MOST) {
		struct sb_snapshot_held *all = d->held.items, rest = { 0 };

		for (size_t i = HELD_MOST - 1; i < d->held.count; i++) {
			rest.peak += all[i].peak;
			rest.peak_count += all[i].peak_count;
			rest.end += all[i].end;
			rest.end_count += all[i].end_count;
		}
		all[HELD_MOST - 1] = rest;
		d->held.count = HELD_MOST;
	}
}

/* The next device begins with none. */
static void forget_lines(struct sb_snapshot *s)
{
	struct sb_snapshot_line *lines = s->lines.items;

	for (size_t i = 0; i < s->lines.count; i++)
		lines[i] = (struct sb_snapshot_line){ .frame = lines[i].frame };
}

static void close_failures(struct sb_snapshot *s, const struct sb_snapshot_device *d)
{
	struct sb_snapshot_failure *all = s->failures.items;

	for (size_t i = 0; i < s->failures.count; i++)
		if (all[i].device == d->device)
			all[i].allocated += d->base;
}

static void close_device(struct sb_snapshot *s)
{
	struct sb_snapshot_device *d;

	if (!s->devices.count)
		return;
	d = &((struct sb_snapshot_device *)s->devices.items)[s->devices.count - 1];
	settle_peaks(s);
	d->base = s->before + add_old_blocks(s, d);
	d->reserved_base = d->device < DEVICES_MOST ? s->reserved[d->device] - s->reserved_sum : 0;
	d->peak += d->base;
	d->end = d->base + s->sum;
	d->reserved_end = d->reserved_base + s->reserved_sum;
	for (uint32_t i = 0; i < d->bin_count; i++)
		if (d->bins[i].reserved + d->reserved_base > d->reserved_most)
			d->reserved_most = d->bins[i].reserved + d->reserved_base;
	close_failures(s, d);
	list_held(s, d);
	sb_snapshot_layers_close(s, d);
	forget_lines(s);
	sb_snapshot_live_clear(s->live);
	sb_map_clear(&s->stack_of_size);
	s->sum = s->reserved_sum = s->before = s->before_count = s->peak_number = 0;
}

/* Devices of which only the present state is in the file. */
void sb_snapshot_close_all(struct sb_snapshot *s)
{
	const struct sb_snapshot_block *blocks = s->blocks.items;
	uint64_t seen = 0;

	close_device(s);
	for (size_t i = 0; i < s->devices.count; i++)
		seen |= 1ull << ((struct sb_snapshot_device *)s->devices.items)[i].device % 64;
	for (size_t i = 0; i < s->blocks.count; i++) {
		if (blocks[i].device >= DEVICES_MOST || seen >> blocks[i].device & 1)
			continue;
		seen |= 1ull << blocks[i].device;
		if (start_device(s, blocks[i].device))
			close_device(s);
	}
}
