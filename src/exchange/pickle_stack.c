/* Values come on the stack, go into lists and dictionaries, and are handed out as these are complete. */
#include "exchange/pickle_stack.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define SEARCH_FAR 256u
#define SEARCHED_MOST (1u << 28)
#define LOW_MOST (1u << 20) /* numbers below are looked up at once */
#define MEMO_MOST (1u << 20) /* higher numbers that are kept; others are read as nothing */

int sb_pickle_broken(struct sb_pickle_reader *r, const char *what)
{
	if (!r->err)
		r->err = sb_fail(STROBE_EFORMAT, "'%s' byte %llu: %s", r->path,
			(unsigned long long)(r->passed + r->at), what);
	return r->err;
}

static struct sb_pickle_object *object_of(struct sb_pickle_reader *r, const struct sb_pickle_value *v)
{
	return v->kind == SB_PICKLE_OBJECT ? &r->objects[v->number] : NULL;
}

static uint64_t packed(const struct sb_pickle_value *v)
{
	bool fits = v->number >= 0 && v->number <= UINT32_MAX && v->tag < 1u << 16;

	return 1ull << 63 |
	       (fits ? (uint64_t)v->kind << 48 | (uint64_t)v->tag << 32 | (uint64_t)v->number : 0);
}

/* False: no memory, and it is read as nothing where it comes again. */
static bool make_low(struct sb_pickle_reader *r, uint64_t number)
{
	uint64_t room = r->low_room ? r->low_room : 1024;
	uint64_t *larger;

	while (room <= number)
		room *= 2;
	larger = room == r->low_room ? r->low : realloc(r->low, room * sizeof *larger);
	if (!larger)
		return false;
	memset(larger + r->low_room, 0, (room - r->low_room) * sizeof *larger);
	r->low = larger;
	r->low_room = room;
	return true;
}

static void remember_low(struct sb_pickle_reader *r, uint64_t number, const struct sb_pickle_value *v)
{
	bool is_known = number < r->low_room && r->low[number];

	if (is_known || ((v->kind == SB_PICKLE_TEXT || v->kind == SB_PICKLE_MADE) && make_low(r, number)))
		r->low[number] = packed(v);
}

static void remember(struct sb_pickle_reader *r, uint64_t number, const struct sb_pickle_value *v)
{
	uint32_t at;

	if (number < LOW_MOST) {
		remember_low(r, number, v);
		return;
	}
	if (sb_map_get(&r->memo, number, &at)) { /* a number may be given again */
		r->kept[at] = *v;
		return;
	}
	if (v->kind != SB_PICKLE_TEXT && v->kind != SB_PICKLE_MADE)
		return;
	if (r->kept_count == r->kept_room) {
		uint32_t room = r->kept_room ? r->kept_room * 2 : 1024;
		struct sb_pickle_value *larger = r->kept_count < MEMO_MOST
							 ? realloc(r->kept, room * sizeof *larger)
							 : NULL;

		if (!larger)
			return; /* read as nothing where it comes again */
		r->kept = larger;
		r->kept_room = room;
	}
	if (sb_map_put(&r->memo, number, r->kept_count))
		r->kept[r->kept_count++] = *v;
}

struct sb_pickle_value sb_pickle_finish(
	struct sb_pickle_reader *r, const struct sb_pickle_value *v, const struct sb_pickle_object *parent)
{
	struct sb_pickle_object *o = &r->objects[v->number];
	struct sb_pickle_value made;

	made = r->handler->finish(r->handler->self, o, parent);
	if (o->memo)
		remember(r, o->memo - 1, &made);
	o->position = r->free_object;
	r->free_object = (uint32_t)v->number;
	return made;
}

/* The first value above the last mark; 0: there is none. */
static uint32_t above_mark(const struct sb_pickle_reader *r)
{
	return r->mark_count ? r->marks[r->mark_count - 1] + 1 : 0;
}

/* The list that the value at the top of the stack will be appended to; NULL: not known to be one. */
static struct sb_pickle_object *list_of_top(struct sb_pickle_reader *r)
{
	uint32_t top = r->depth - 1;
	struct sb_pickle_object *o;

	if (r->depth < 3 || r->stack[top - 1].kind != SB_PICKLE_MARK)
		return NULL;
	o = object_of(r, &r->stack[top - 2]);
	return o && o->is_list ? o : NULL;
}

/* A writer may put a million dictionaries on the stack before it appends them all: a complete one that
 * lies alone on its mark goes into its list when the next begins. */
static void append_early(struct sb_pickle_reader *r)
{
	struct sb_pickle_object *list = r->depth ? list_of_top(r) : NULL;
	struct sb_pickle_object *top = list ? object_of(r, &r->stack[r->depth - 1]) : NULL;
	struct sb_pickle_value made;

	if (!top || !top->filled || top->is_list)
		return;
	made = sb_pickle_settle(r, &r->stack[r->depth - 1], list);
	r->handler->append(r->handler->self, list, &made);
	list->filled = true;
	list->count++;
	r->depth--;
}

void sb_pickle_push_mark(struct sb_pickle_reader *r)
{
	if (r->depth < SB_PICKLE_STACK_MOST)
		r->marks[r->mark_count++] = r->depth;
	sb_pickle_push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_MARK });
}

void sb_pickle_push_object(struct sb_pickle_reader *r, bool is_list)
{
	uint32_t at, first;
	struct sb_pickle_object *o, *below;

	if (!is_list)
		append_early(r);
	at = r->free_object;
	if (at != SB_PICKLE_FREE) {
		r->free_object = (uint32_t)r->objects[at].position;
	} else if (r->object_count == SB_PICKLE_STACK_MOST) {
		sb_pickle_broken(r, "nested too deep");
		return;
	} else {
		at = r->object_count++;
	}
	o = &r->objects[at];
	memset(o, 0, sizeof *o);
	o->is_list = is_list;
	first = above_mark(r);
	below = first >= 2 ? object_of(r, &r->stack[first - 2]) : NULL;
	if (below && below->is_list)
		o->position = below->count + (r->depth - first);
	sb_pickle_push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_OBJECT, .number = at });
}

/* ---- putting together ---- */

static void set_pair(struct sb_pickle_reader *r, struct sb_pickle_object *dict, uint32_t at)
{
	struct sb_pickle_value key = sb_pickle_settle(r, &r->stack[at], NULL),
			       value = sb_pickle_settle(r, &r->stack[at + 1], NULL);

	dict->filled = true;
	if (key.kind == SB_PICKLE_TEXT)
		r->handler->set(r->handler->self, dict, (uint32_t)key.number, &value);
}

static void append_one(struct sb_pickle_reader *r, struct sb_pickle_object *list, uint32_t at)
{
	struct sb_pickle_value made = sb_pickle_settle(r, &r->stack[at], list);

	r->handler->append(r->handler->self, list, &made);
	list->filled = true;
	list->count++;
}

/* Where the last values begin: all above the mark, or so many. False: they are not there. */
static bool find_first(struct sb_pickle_reader *r, bool marked, uint32_t values, uint32_t *out_first)
{
	uint32_t first = marked ? above_mark(r) : r->depth - values;

	if (marked ? !first : r->depth < values || first < above_mark(r)) {
		sb_pickle_broken(r, "values without a place");
		return false;
	}
	*out_first = first;
	return true;
}

static void take_off(struct sb_pickle_reader *r, uint32_t first, bool marked)
{
	r->depth = first - marked;
	r->mark_count -= marked;
}

/* The container that the last values are for, and where they begin. */
static struct sb_pickle_object *container(
	struct sb_pickle_reader *r, bool marked, uint32_t values, uint32_t *out_first)
{
	uint32_t below = marked ? 2 : 1;
	struct sb_pickle_object *o = NULL;

	if (!find_first(r, marked, values, out_first))
		return NULL;
	if (*out_first >= below)
		o = object_of(r, &r->stack[*out_first - below]);
	if (!o)
		sb_pickle_broken(r, "values for what is neither a list nor a dictionary");
	return o;
}

void sb_pickle_set_items(struct sb_pickle_reader *r, bool marked)
{
	uint32_t first;
	struct sb_pickle_object *o = container(r, marked, 2, &first);

	if (!o)
		return;
	if (o->is_list || (r->depth - first) % 2) {
		sb_pickle_broken(r, "pairs for what is no dictionary");
		return;
	}
	for (uint32_t i = first; i < r->depth; i += 2)
		set_pair(r, o, i);
	take_off(r, first, marked);
}

void sb_pickle_append_items(struct sb_pickle_reader *r, bool marked)
{
	uint32_t first;
	struct sb_pickle_object *o = container(r, marked, 1, &first);

	if (!o)
		return;
	if (!o->is_list) {
		sb_pickle_broken(r, "items for what is no list");
		return;
	}
	for (uint32_t i = first; i < r->depth; i++)
		append_one(r, o, i);
	take_off(r, first, marked);
}

void sb_pickle_make_tuple(struct sb_pickle_reader *r, bool marked, uint32_t values)
{
	uint32_t first;

	if (!find_first(r, marked, values, &first))
		return;
	for (uint32_t i = first; i < r->depth; i++)
		sb_pickle_settle(r, &r->stack[i], NULL);
	take_off(r, first, marked);
	sb_pickle_push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_NOTHING });
}

/* ---- the memo ---- */

void sb_pickle_put_memo(struct sb_pickle_reader *r, uint64_t number)
{
	struct sb_pickle_value *top = r->depth ? &r->stack[r->depth - 1] : NULL;
	struct sb_pickle_object *o = top ? object_of(r, top) : NULL;

	if (!top || top->kind == SB_PICKLE_MARK)
		sb_pickle_broken(r, "nothing to remember");
	else if (o && number < UINT32_MAX)
		o->memo = (uint32_t)number + 1;
	else
		remember(r, number, top);
	if (number >= r->next_memo)
		r->next_memo = number + 1;
}

/* Complete, and still waiting on the stack to be put into something: what stands for it takes its place. What
 * is being filled has a mark above it. */
static bool get_waiting(struct sb_pickle_reader *r, uint64_t number)
{
	uint32_t least = r->depth > SEARCH_FAR ? r->depth - SEARCH_FAR : 0, i = r->depth;
	const struct sb_pickle_object *o = NULL;

	while (i > least && r->searched < SEARCHED_MOST) {
		o = object_of(r, &r->stack[--i]);
		if (o && o->memo == number + 1)
			break;
		o = NULL;
	}
	r->searched += r->depth - i;
	if (!o || !o->filled || (i + 1 < r->depth && r->stack[i + 1].kind == SB_PICKLE_MARK))
		return false;
	r->stack[i] = sb_pickle_settle(r, &r->stack[i], NULL);
	sb_pickle_push(r, r->stack[i]);
	return true;
}

void sb_pickle_get_kept(struct sb_pickle_reader *r, uint64_t number)
{
	uint32_t at;

	if (number >= r->next_memo)
		sb_pickle_broken(r, "a reference to what was never there");
	else if (number >= LOW_MOST && sb_map_get(&r->memo, number, &at))
		sb_pickle_push(r, r->kept[at]);
	else if (!get_waiting(r, number))
		sb_pickle_push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_NOTHING });
}
