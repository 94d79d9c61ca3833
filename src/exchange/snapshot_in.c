/* Reads memory snapshots of torch: torch.cuda.memory._dump_snapshot(), or the C++ side's own pickle. The keys
 * of a dictionary say what it is: a frame, a block, a segment, an entry of the history. */
#include "exchange/snapshot.h"

#include "base/error.h"
#include "exchange/pickle.h"

#include <string.h>

/* Strings in the order of their numbers, from 1. */
/* clang-format off */
#define WORDS(X) \
	X(action) X(addr) X(size) X(time_us) X(frames) X(filename) X(line) X(name) X(state) X(address) \
	X(requested_size) X(total_size) X(device) X(device_free) X(alloc) X(free_completed) \
	X(segment_alloc) X(segment_map) X(segment_free) X(segment_unmap) X(oom) X(active_allocated) \
	X(active_pending_free) X(active_awaiting_free) X(segments) X(device_traces)
/* clang-format on */
#define WORD_NUMBER(word) WORD_##word,
#define WORD_TEXT(word) #word,
enum word { WORD_NONE, WORDS(WORD_NUMBER) WORD_COUNT };
static const char *const words[] = { "", WORDS(WORD_TEXT) };

enum tag { FRAME = 1, STACK };

struct shape { /* of a dictionary: its keys that matter */
	uint32_t has; /* 1 << word */
	uint32_t action, state, name, file, stack;
	uint64_t address;
	int64_t size, requested, time_us, line, other; /* other: total_size, device_free */
	uint32_t device;
};
_Static_assert(sizeof(struct shape) <= sizeof((struct sb_pickle_object *)0)->own, "own is too small");

struct items { /* of a list */
	struct sb_snapshot_calls calls;
};
_Static_assert(sizeof(struct items) <= sizeof((struct sb_pickle_object *)0)->own, "own is too small");

struct reading {
	struct sb_snapshot s;
	const struct sb_snapshot_stages *stages; /* they stand in the place of lines; NULL: lines do */
	bool is_snapshot;
};

static void set(void *self, struct sb_pickle_object *dict, uint32_t key, const struct sb_pickle_value *v)
{
	struct reading *r = self;
	struct shape *shape = (struct shape *)dict->own;
	uint32_t text = v->kind == SB_PICKLE_TEXT ? (uint32_t)v->number : 0;
	int64_t number = v->kind == SB_PICKLE_NUMBER ? v->number : -1;

	if (key >= WORD_COUNT)
		return;
	if (key < 32)
		shape->has |= 1u << key;
	switch ((enum word)key) {
	case WORD_action: shape->action = text; break;
	case WORD_state: shape->state = text; break;
	case WORD_name: shape->name = text; break;
	case WORD_filename: shape->file = text; break;
	case WORD_addr:
	case WORD_address: shape->address = (uint64_t)number; break;
	case WORD_size: shape->size = number; break;
	case WORD_requested_size: shape->requested = number; break;
	case WORD_time_us: shape->time_us = number; break;
	case WORD_line: shape->line = number; break;
	case WORD_total_size:
	case WORD_device_free: shape->other = number; break;
	case WORD_device: shape->device = number >= 0 && number < 64 ? (uint32_t)number : 0; break;
	case WORD_frames:
		shape->stack = v->kind == SB_PICKLE_MADE && v->tag == STACK ? (uint32_t)v->number : 0;
		break;
	case WORD_segments:
	case WORD_device_traces: r->is_snapshot = true; break;
	default: break;
	}
}

/* Frames make a stack. */
static void append(void *self, struct sb_pickle_object *list, const struct sb_pickle_value *v)
{
	struct reading *r = self;

	if (v->kind == SB_PICKLE_MADE && v->tag == FRAME)
		sb_snapshot_calls_add(&r->s, &((struct items *)list->own)->calls, (uint32_t)v->number);
}

static bool has(const struct shape *shape, enum word word)
{
	return shape->has >> word & 1;
}

static enum sb_snapshot_action action_of(uint32_t word)
{
	switch ((enum word)word) {
	case WORD_alloc: return SB_SNAPSHOT_ALLOC;
	case WORD_free_completed: return SB_SNAPSHOT_FREE;
	case WORD_segment_alloc:
	case WORD_segment_map: return SB_SNAPSHOT_GROW;
	case WORD_segment_free:
	case WORD_segment_unmap: return SB_SNAPSHOT_SHRINK;
	case WORD_oom: return SB_SNAPSHOT_OOM;
	default: return SB_SNAPSHOT_OTHER;
	}
}

static void see_entry(struct reading *r, const struct shape *shape, const struct sb_pickle_object *list)
{
	struct sb_snapshot_entry e = { action_of(shape->action), shape->stack, shape->address, shape->size,
		has(shape, WORD_time_us) ? shape->time_us : -1,
		has(shape, WORD_device_free) ? shape->other : -1,
		list && list->position < 64 ? (uint32_t)list->position : 0 };

	if (r->stages && e.action == SB_SNAPSHOT_ALLOC)
		e.stack = sb_snapshot_stages_stack(r->stages, &r->s, e.time_us);
	sb_snapshot_entry_add(&r->s, &e);
}

static void see_block(struct reading *r, const struct shape *shape)
{
	struct sb_snapshot_block b = { shape->address,
		has(shape, WORD_requested_size) && shape->requested > 0 ? shape->requested : shape->size,
		shape->stack, UINT32_MAX };

	bool used = shape->state == WORD_active_allocated || shape->state == WORD_active_pending_free ||
		    shape->state == WORD_active_awaiting_free;

	if (r->stages)
		b.stack = sb_snapshot_stages_stack(r->stages, &r->s, -1);
	sb_snapshot_piece_add(&r->s, shape->size, used);
	if (used)
		sb_snapshot_block_add(&r->s, &b);
}

static struct sb_pickle_value made(enum tag tag, uint32_t number)
{
	return (struct sb_pickle_value){ .kind = SB_PICKLE_MADE, .tag = tag, .number = number };
}

static struct sb_pickle_value finish_list(struct reading *r, const struct sb_pickle_object *list)
{
	const struct sb_snapshot_calls *calls = &((const struct items *)list->own)->calls;

	if (!calls->first[SB_FRAME_NATIVE] && !calls->first[SB_FRAME_TORCH] && !calls->count)
		return (struct sb_pickle_value){ 0 };
	return made(STACK, sb_snapshot_stack_add(&r->s, calls));
}

static struct sb_pickle_value finish(
	void *self, struct sb_pickle_object *o, const struct sb_pickle_object *parent)
{
	struct reading *r = self;
	const struct shape *shape = (const struct shape *)o->own;

	if (o->is_list)
		return finish_list(r, o);
	if (has(shape, WORD_action))
		see_entry(r, shape, parent);
	else if (has(shape, WORD_filename))
		return made(FRAME, sb_snapshot_frame_add(&r->s, shape->name, shape->file, shape->line));
	else if (has(shape, WORD_state))
		see_block(r, shape);
	else if (has(shape, WORD_total_size))
		sb_snapshot_segment_add(&r->s, shape->device, shape->other);
	return (struct sb_pickle_value){ 0 };
}

static int read_snapshot(struct reading *r, struct sb_foreign *source, const char *path)
{
	struct sb_pickle_handler handler = { r, set, append, finish };
	int err;

	for (uint32_t i = 1; i < WORD_COUNT; i++)
		if (sb_strings_add(&r->s.strings, words[i], strlen(words[i])) != i)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
	err = sb_pickle_read(source, path, &handler, &r->s.strings);
	if (err)
		return err;
	sb_snapshot_close_all(&r->s);
	if (r->s.failed)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	if (!r->is_snapshot || !r->s.devices.count)
		return sb_fail(STROBE_EFORMAT,
			"'%s' is a pickle, but not a torch memory snapshot with allocations", path);
	return 0;
}

/* The file once more, by stage. */
static int read_by_stage(struct reading *r, const char *path, const struct sb_snapshot_stages *stages)
{
	struct sb_foreign *source = NULL;
	int err = sb_snapshot_init(&r->s) ? 0 : sb_fail(STROBE_ENOMEM, "no memory to import");

	if (!err)
		err = sb_foreign_open(path, &source);
	r->stages = stages;
	if (!err)
		err = read_snapshot(r, source, path);
	sb_foreign_close(source);
	return err;
}

static int import_snapshot(struct sb_foreign *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct reading r = { 0 }, by_stage = { 0 };
	struct sb_snapshot_stages *stages = NULL;
	int err = sb_snapshot_init(&r.s) ? 0 : sb_fail(STROBE_ENOMEM, "no memory to import");

	if (!err)
		err = read_snapshot(&r, source, path);
	if (!err && opts->stages_of)
		err = sb_snapshot_stages_open(opts->stages_of, &stages);
	if (!err && stages)
		err = read_by_stage(&by_stage, path, stages);
	if (!err)
		err = sb_snapshot_write(
			&r.s, stages ? &by_stage.s : NULL, stages, path, strobe_path, out_summary);
	sb_snapshot_stages_close(stages);
	sb_snapshot_done(&r.s);
	sb_snapshot_done(&by_stage.s);
	return err;
}

const struct sb_importer sb_snapshot_importer = { "memory snapshot", sb_pickle_matches, import_snapshot };
