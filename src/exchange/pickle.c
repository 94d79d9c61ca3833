/* The bytes and opcodes of plain data: numbers, strings, lists, dictionaries. What they do to the stack is in
 * pickle_stack.c. */
#include "exchange/pickle_stack.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1 << 18, TEXT_MOST = 1900 };
#define STRINGS_BYTES_MOST (16u << 20)

/* ---- bytes ---- */

/* Bytes that are not in the window yet. */
static bool fetch(struct sb_pickle_reader *r, size_t size)
{
	memmove(r->window, r->window + r->at, r->end - r->at);
	r->passed += r->at;
	r->end -= r->at;
	r->at = 0;
	while (r->end < size) {
		ssize_t n = sb_foreign_read(r->source, (char *)r->window + r->end, WINDOW - r->end);

		if (n < 0)
			r->err = STROBE_EIO;
		if (n <= 0)
			return r->err ? false : (sb_pickle_broken(r, "the pickle ends too early"), false);
		r->end += (size_t)n;
	}
	return true;
}

/* So many bytes at the window's place; false: the file ends before. */
static inline bool have(struct sb_pickle_reader *r, size_t size)
{
	return r->end - r->at >= size || fetch(r, size);
}

static inline uint64_t number_of(struct sb_pickle_reader *r, size_t size)
{
	uint64_t value = 0;

	if (!have(r, size))
		return 0;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)r->window[r->at + i] << (8 * i);
	r->at += size;
	return value;
}

static void pass(struct sb_pickle_reader *r, uint64_t size)
{
	while (size && !r->err) {
		size_t part = size < WINDOW / 2 ? (size_t)size : WINDOW / 2;

		if (!have(r, part))
			return;
		r->at += part;
		size -= part;
	}
}

/* ---- scalars ---- */

static void push_number(struct sb_pickle_reader *r, int64_t number)
{
	sb_pickle_push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_NUMBER, .number = number });
}

static void push_nothing(struct sb_pickle_reader *r)
{
	sb_pickle_push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_NOTHING });
}

/* Two's complement of any length; what 64 bits do not hold is read as nothing. */
static void push_long(struct sb_pickle_reader *r, uint64_t size)
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

static void push_text(struct sb_pickle_reader *r, uint64_t size)
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
	sb_pickle_push(r, (struct sb_pickle_value){ .kind = SB_PICKLE_TEXT, .number = number });
}

static void push_float(struct sb_pickle_reader *r)
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

/* ---- opcodes ---- */

static void push_bytes(struct sb_pickle_reader *r, uint64_t size)
{
	pass(r, size);
	push_nothing(r);
}

static void refuse(struct sb_pickle_reader *r, unsigned char op)
{
	static const char calls[] = "cRbioP\x81\x82\x83\x84\x92\x93Q";
	char text[120];

	r->at--;
	if (op && strchr(calls, op))
		snprintf(text, sizeof text, "it would run code (opcode 0x%02x): refused", op);
	else
		snprintf(text, sizeof text, "opcode 0x%02x is not of plain data", op);
	sb_pickle_broken(r, text);
}

/* False: STOP, or an error. */
static bool step(struct sb_pickle_reader *r)
{
	unsigned char op;

	if (!have(r, 1))
		return false;
	op = r->window[r->at++];
	switch (op) { /* in one place, so that it is one jump */
	case '.': return false;
	case 0x80: number_of(r, 1); break;
	case 0x95: number_of(r, 8); break;
	case '(': sb_pickle_push_mark(r); break;
	case '}': sb_pickle_push_object(r, false); break;
	case ']': sb_pickle_push_object(r, true); break;
	case 'q': sb_pickle_put_memo(r, number_of(r, 1)); break;
	case 'r': sb_pickle_put_memo(r, number_of(r, 4)); break;
	case 0x94: sb_pickle_put_memo(r, r->next_memo); break;
	case 'h': sb_pickle_get_memo(r, number_of(r, 1)); break;
	case 'j': sb_pickle_get_memo(r, number_of(r, 4)); break;
	case 's': sb_pickle_set_items(r, false); break;
	case 'u': sb_pickle_set_items(r, true); break;
	case 'a': sb_pickle_append_items(r, false); break;
	case 'e': sb_pickle_append_items(r, true); break;
	case 't': sb_pickle_make_tuple(r, true, 0); break;
	case 0x85: sb_pickle_make_tuple(r, false, 1); break;
	case 0x86: sb_pickle_make_tuple(r, false, 2); break;
	case 0x87: sb_pickle_make_tuple(r, false, 3); break;
	case 'N':
	case ')': push_nothing(r); break;
	case 0x88: push_number(r, 1); break;
	case 0x89: push_number(r, 0); break;
	case 'K': push_number(r, (int64_t)number_of(r, 1)); break;
	case 'M': push_number(r, (int64_t)number_of(r, 2)); break;
	case 'J': push_number(r, (int32_t)number_of(r, 4)); break;
	case 0x8a: push_long(r, number_of(r, 1)); break;
	case 0x8b: push_long(r, number_of(r, 4)); break;
	case 'G': push_float(r); break;
	case 0x8c:
	case 'U': push_text(r, number_of(r, 1)); break;
	case 'X':
	case 'T': push_text(r, number_of(r, 4)); break;
	case 0x8d: push_text(r, number_of(r, 8)); break;
	case 'C': push_bytes(r, number_of(r, 1)); break;
	case 'B': push_bytes(r, number_of(r, 4)); break;
	case 0x8e: push_bytes(r, number_of(r, 8)); break;
	default: refuse(r, op);
	}
	return !r->err;
}

static void end(struct sb_pickle_reader *r)
{
	if (r->err)
		return;
	if (r->depth != 1 || r->stack[0].kind == SB_PICKLE_MARK)
		sb_pickle_broken(r, "it ends with something else than one object");
	else
		sb_pickle_settle(r, &r->stack[0], NULL);
}

int sb_pickle_read(struct sb_foreign *source, const char *path, const struct sb_pickle_handler *handler,
	struct sb_strings *strings)
{
	struct sb_pickle_reader r = { .source = source,
		.path = path,
		.handler = handler,
		.strings = strings,
		.free_object = SB_PICKLE_FREE };

	r.window = malloc(WINDOW);
	r.stack = malloc(SB_PICKLE_STACK_MOST * sizeof *r.stack);
	r.objects = malloc(SB_PICKLE_STACK_MOST * sizeof *r.objects);
	r.marks = malloc(SB_PICKLE_STACK_MOST * sizeof *r.marks);
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
	free(r.low);
	sb_map_done(&r.memo);
	return r.err;
}

bool sb_pickle_matches(const char *bytes, size_t size)
{
	return size > 2 && (unsigned char)bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}
