/* The opcodes of plain data: numbers, strings, lists, dictionaries, the memo. */
#include "exchange/pickle.h"

#include "base/error.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1 << 18, TEXT_MOST = 1900, STACK_MOST = 1 << 16, FREE = UINT32_MAX };
#define STRINGS_BYTES_MOST (16u << 20)
#define SEARCH_FAR 256u
#define SEARCHED_MOST (1u << 28)
#define MEMO_MOST (1u << 20) /* numbers that are kept; others are read as nothing */

struct reader {
	struct sb_source *source;
	const char *path;
	const struct sb_pickle_handler *handler;
	struct sb_strings *strings;
	uint64_t string_bytes;
	unsigned char *window;
	size_t at, end;
	uint64_t passed; /* bytes before the window */
	struct sb_pickle_value *stack;
	uint32_t depth;
	uint32_t *marks; /* where on the stack they are */
	uint32_t mark_count;
	struct sb_pickle_object *objects;
	uint32_t object_count, free_object; /* free ones are chained through `position` */
	struct sb_map memo; /* number -> index of kept */
	struct sb_pickle_value *kept;
	uint32_t kept_count, kept_room;
	uint64_t next_memo;
	uint64_t searched; /* places on the stack, for what is remembered and not yet put anywhere */
	int err;
};

/* ---- bytes ---- */

static int broken(struct reader *r, const char *what)
{
	if (!r->err)
		r->err = sb_fail(STROBE_EFORMAT, "'%s' byte %llu: %s", r->path,
			(unsigned long long)(r->passed + r->at), what);
	return r->err;
}

/* So many bytes at the window's place; false: the file ends before. */
static bool have(struct reader *r, size_t size)
{
	if (r->end - r->at >= size)
		return true;
	memmove(r->window, r->window + r->at, r->end - r->at);
	r->passed += r->at;
	r->end -= r->at;
	r->at = 0;
	while (r->end < size) {
		ssize_t n = sb_source_read(r->source, (char *)r->window + r->end, WINDOW - r->end);

		if (n < 0)
			r->err = STROBE_EIO;
		if (n <= 0)
			return r->err ? false : (broken(r, "the pickle ends too early"), false);
		r->end += (size_t)n;
	}
	return true;
}

static uint64_t number_of(struct reader *r, size_t size)
{
	uint64_t value = 0;

	if (!have(r, size))
		return 0;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)r->window[r->at + i] << (8 * i);
	r->at += size;
	return value;
}

static void pass(struct reader *r, uint64_t size)
{
	while (size && !r->err) {
		size_t part = size < WINDOW / 2 ? (size_t)size : WINDOW / 2;

		if (!have(r, part))
			return;
		r->at += part;
		size -= part;
	}
}

/* ---- objects ---- */

static struct sb_pickle_object *object_of(struct reader *r, const struct sb_pickle_value *v)
{
	return v->kind == SB_PICKLE_OBJECT ? &r->objects[v->number] : NULL;
}

static void remember(struct reader *r, uint64_t number, const struct sb_pickle_value *v)
{
	uint32_t at;

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

/* What stands for a value where it is put into another: objects are complete then. */
static struct sb_pickle_value settle(
	struct reader *r, const struct sb_pickle_value *v, const struct sb_pickle_object *parent)
{
	struct sb_pickle_object *o = object_of(r, v);
	struct sb_pickle_value made;

	if (!o)
		return *v;
	made = r->handler->finish(r->handler->self, o, parent);
	if (o->memo)
		remember(r, o->memo - 1, &made);
	o->position = r->free_object;
	r->free_object = (uint32_t)v->number;
	return made;
}

/* The first value above the last mark; 0: there is none. */
static uint32_t above_mark(const struct reader *r)
{
	return r->mark_count ? r->marks[r->mark_count - 1] + 1 : 0;
}

/* The list that the value at the top of the stack will be appended to; NULL: not known to be one. */
static struct sb_pickle_object *list_of_top(struct reader *r)
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
static void append_early(struct reader *r)
{
	struct sb_pickle_object *list = r->depth ? list_of_top(r) : NULL;
	struct sb_pickle_object *top = list ? object_of(r, &r->stack[r->depth - 1]) : NULL;
	struct sb_pickle_value made;

	if (!top || !top->filled || top->is_list)
		return;
	made = settle(r, &r->stack[r->depth - 1], list);
	r->handler->append(r->handler->self, list, &made);
	list->filled = true;
	list->count++;
	r->depth--;
}

static void push(struct reader *r, struct sb_pickle_value v)
{
	if (r->depth == STACK_MOST)
		broken(r, "nested too deep");
	else
		r->stack[r->depth++] = v;
}

static void push_mark(struct reader *r)
{
	if (r->depth < STACK_MOST)
		r->marks[r->mark_count++] = r->depth;
	push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_MARK });
}

static void push_object(struct reader *r, bool is_list)
{
	uint32_t at, first;
	struct sb_pickle_object *o, *below;

	if (!is_list)
		append_early(r);
	at = r->free_object;
	if (at != FREE) {
		r->free_object = (uint32_t)r->objects[at].position;
	} else if (r->object_count == STACK_MOST) {
		broken(r, "nested too deep");
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
	push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_OBJECT, .number = at });
}

/* ---- putting together ---- */

static void set_pair(struct reader *r, struct sb_pickle_object *dict, uint32_t at)
{
	struct sb_pickle_value key = settle(r, &r->stack[at], NULL),
			       value = settle(r, &r->stack[at + 1], NULL);

	dict->filled = true;
	if (key.kind == SB_PICKLE_TEXT)
		r->handler->set(r->handler->self, dict, (uint32_t)key.number, &value);
}

static void append_one(struct reader *r, struct sb_pickle_object *list, uint32_t at)
{
	struct sb_pickle_value made = settle(r, &r->stack[at], list);

	r->handler->append(r->handler->self, list, &made);
	list->filled = true;
	list->count++;
}

/* Where the last values begin: all above the mark, or so many. False: they are not there. */
static bool find_first(struct reader *r, bool marked, uint32_t values, uint32_t *out_first)
{
	uint32_t first = marked ? above_mark(r) : r->depth - values;

	if (marked ? !first : r->depth < values || first < above_mark(r)) {
		broken(r, "values without a place");
		return false;
	}
	*out_first = first;
	return true;
}

static void take_off(struct reader *r, uint32_t first, bool marked)
{
	r->depth = first - marked;
	r->mark_count -= marked;
}

/* The container that the last values are for, and where they begin. */
static struct sb_pickle_object *container(struct reader *r, bool marked, uint32_t values, uint32_t *out_first)
{
	uint32_t below = marked ? 2 : 1;
	struct sb_pickle_object *o = NULL;

	if (!find_first(r, marked, values, out_first))
		return NULL;
	if (*out_first >= below)
		o = object_of(r, &r->stack[*out_first - below]);
	if (!o)
		broken(r, "values for what is neither a list nor a dictionary");
	return o;
}

static void set_items(struct reader *r, bool marked)
{
	uint32_t first;
	struct sb_pickle_object *o = container(r, marked, 2, &first);

	if (!o)
		return;
	if (o->is_list || (r->depth - first) % 2) {
		broken(r, "pairs for what is no dictionary");
		return;
	}
	for (uint32_t i = first; i < r->depth; i += 2)
		set_pair(r, o, i);
	take_off(r, first, marked);
}

static void append_items(struct reader *r, bool marked)
{
	uint32_t first;
	struct sb_pickle_object *o = container(r, marked, 1, &first);

	if (!o)
		return;
	if (!o->is_list) {
		broken(r, "items for what is no list");
		return;
	}
	for (uint32_t i = first; i < r->depth; i++)
		append_one(r, o, i);
	take_off(r, first, marked);
}

/* Values that are of no interest: the last so many, or all above the mark. */
static void make_tuple(struct reader *r, bool marked, uint32_t values)
{
	uint32_t first;

	if (!find_first(r, marked, values, &first))
		return;
	for (uint32_t i = first; i < r->depth; i++)
		settle(r, &r->stack[i], NULL);
	take_off(r, first, marked);
	push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_NOTHING });
}

/* ---- scalars ---- */

static void push_number(struct reader *r, int64_t number)
{
	push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_NUMBER, .number = number });
}

static void push_nothing(struct reader *r)
{
	push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_NOTHING });
}

/* Two's complement of any length; what 64 bits do not hold is read as nothing. */
static void push_long(struct reader *r, uint64_t size)
{
	uint64_t value = 0;
	unsigned char sign = 0;

	if (size > 9) {
		pass(r, size);
		push_nothing(r);
		return;
	}
	if (!have(r, (size_t)size))
		return;
	for (size_t i = 0; i < size; i++) {
		if (i < 8)
			value |= (uint64_t)r->window[r->at + i] << (8 * i);
		sign = r->window[r->at + i];
	}
	r->at += (size_t)size;
	if (size && size < 8 && sign & 0x80)
		value |= ~0ull << (8 * size);
	/* Addresses of the upper half take nine bytes; they stay what they are. */
	push_number(r, (int64_t)value);
}

static void push_text(struct reader *r, uint64_t size)
{
	size_t kept = size < TEXT_MOST ? (size_t)size : TEXT_MOST;
	uint32_t number = 0, before = r->strings->count;

	if (!have(r, kept))
		return;
	if (r->string_bytes < STRINGS_BYTES_MOST)
		number = sb_strings_add(r->strings, (const char *)r->window + r->at, kept);
	else
		number = sb_strings_find(r->strings, (const char *)r->window + r->at, kept);
	if (r->strings->count > before)
		r->string_bytes += kept + sizeof(struct sb_string) + 8;
	r->at += kept;
	pass(r, size - kept);
	push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_TEXT, .number = number });
}

static void push_float(struct reader *r)
{
	uint64_t bits = 0;
	double value;

	if (!have(r, 8))
		return;
	for (size_t i = 0; i < 8; i++)
		bits = bits << 8 | r->window[r->at + i];
	r->at += 8;
	memcpy(&value, &bits, sizeof value);
	push_number(r, value > -9e18 && value < 9e18 ? (int64_t)value : 0);
}

/* ---- the memo ---- */

static void put_memo(struct reader *r, uint64_t number)
{
	struct sb_pickle_value *top = r->depth ? &r->stack[r->depth - 1] : NULL;
	struct sb_pickle_object *o = top ? object_of(r, top) : NULL;

	if (!top || top->kind == SB_PICKLE_MARK)
		broken(r, "nothing to remember");
	else if (o && number < UINT32_MAX)
		o->memo = (uint32_t)number + 1;
	else
		remember(r, number, top);
	if (number >= r->next_memo)
		r->next_memo = number + 1;
}

/* Complete, and still waiting on the stack to be put into something: what stands for it takes its place. What
 * is being filled has a mark above it. */
static bool get_waiting(struct reader *r, uint64_t number)
{
	uint32_t least = r->depth > SEARCH_FAR ? r->depth - SEARCH_FAR : 0;

	for (uint32_t i = r->depth; i-- > least && r->searched < SEARCHED_MOST;) {
		struct sb_pickle_object *o = object_of(r, &r->stack[i]);

		r->searched++;
		if (!o || o->memo != number + 1)
			continue;
		if (!o->filled || (i + 1 < r->depth && r->stack[i + 1].kind == SB_PICKLE_MARK))
			return false;
		r->stack[i] = settle(r, &r->stack[i], NULL);
		push(r, r->stack[i]);
		return true;
	}
	return false;
}

static void get_memo(struct reader *r, uint64_t number)
{
	uint32_t at;

	if (number >= r->next_memo)
		broken(r, "a reference to what was never there");
	else if (sb_map_get(&r->memo, number, &at))
		push(r, r->kept[at]);
	else if (!get_waiting(r, number))
		push_nothing(r);
}

/* ---- opcodes ---- */

/* What takes something off the stack. False: none of these. */
static bool combine(struct reader *r, unsigned char op)
{
	switch (op) {
	case 's': set_items(r, false); return true;
	case 'u': set_items(r, true); return true;
	case 'a': append_items(r, false); return true;
	case 'e': append_items(r, true); return true;
	case 't': make_tuple(r, true, 0); return true;
	case 0x85: make_tuple(r, false, 1); return true;
	case 0x86: make_tuple(r, false, 2); return true;
	case 0x87: make_tuple(r, false, 3); return true;
	default: return false;
	}
}

static bool scalar(struct reader *r, unsigned char op)
{
	switch (op) {
	case 'N':
	case ')': push_nothing(r); return true;
	case 0x88: push_number(r, 1); return true;
	case 0x89: push_number(r, 0); return true;
	case 'K': push_number(r, (int64_t)number_of(r, 1)); return true;
	case 'M': push_number(r, (int64_t)number_of(r, 2)); return true;
	case 'J': push_number(r, (int32_t)number_of(r, 4)); return true;
	case 0x8a: push_long(r, number_of(r, 1)); return true;
	case 0x8b: push_long(r, number_of(r, 4)); return true;
	case 'G': push_float(r); return true;
	case 0x8c:
	case 'U': push_text(r, number_of(r, 1)); return true;
	case 'X':
	case 'T': push_text(r, number_of(r, 4)); return true;
	case 0x8d: push_text(r, number_of(r, 8)); return true;
	case 'C': pass(r, number_of(r, 1)); break;
	case 'B': pass(r, number_of(r, 4)); break;
	case 0x8e: pass(r, number_of(r, 8)); break;
	default: return false;
	}
	push_nothing(r); /* bytes */
	return true;
}

static void refuse(struct reader *r, unsigned char op)
{
	static const char calls[] = "cRbioP\x81\x82\x83\x84\x92\x93Q";
	char text[120];

	r->at--;
	if (op && strchr(calls, op))
		snprintf(text, sizeof text, "it would run code (opcode 0x%02x): refused", op);
	else
		snprintf(text, sizeof text, "opcode 0x%02x is not of plain data", op);
	broken(r, text);
}

/* False: STOP, or an error. */
static bool step(struct reader *r)
{
	unsigned char op;

	if (!have(r, 1))
		return false;
	op = r->window[r->at++];
	switch (op) {
	case '.': return false;
	case 0x80: number_of(r, 1); break;
	case 0x95: number_of(r, 8); break;
	case '(': push_mark(r); break;
	case '}': push_object(r, false); break;
	case ']': push_object(r, true); break;
	case 'q': put_memo(r, number_of(r, 1)); break;
	case 'r': put_memo(r, number_of(r, 4)); break;
	case 0x94: put_memo(r, r->next_memo); break;
	case 'h': get_memo(r, number_of(r, 1)); break;
	case 'j': get_memo(r, number_of(r, 4)); break;
	default:
		if (!scalar(r, op) && !combine(r, op))
			refuse(r, op);
	}
	return !r->err;
}

static void end(struct reader *r)
{
	if (r->err)
		return;
	if (r->depth != 1 || r->stack[0].kind == SB_PICKLE_MARK)
		broken(r, "it ends with something else than one object");
	else
		settle(r, &r->stack[0], NULL);
}

int sb_pickle_read(struct sb_source *source, const char *path, const struct sb_pickle_handler *handler,
	struct sb_strings *strings)
{
	struct reader r = {
		.source = source, .path = path, .handler = handler, .strings = strings, .free_object = FREE
	};

	r.window = malloc(WINDOW);
	r.stack = malloc(STACK_MOST * sizeof *r.stack);
	r.objects = malloc(STACK_MOST * sizeof *r.objects);
	r.marks = malloc(STACK_MOST * sizeof *r.marks);
	if (!r.window || !r.stack || !r.objects || !r.marks)
		r.err = sb_fail(STROBE_ENOMEM, "no memory to read '%s'", path);
	while (!r.err && step(&r))
		continue;
	end(&r);
	free(r.window);
	free(r.stack);
	free(r.objects);
	free(r.marks);
	free(r.kept);
	sb_map_done(&r.memo);
	return r.err;
}

bool sb_pickle_matches(const char *bytes, size_t size)
{
	return size > 2 && (unsigned char)bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}
