/* The streaming JSON reader: a window over the input, a state per position in
 * the grammar, and a NUL after the window's last byte so that no inner loop
 * tests for the end. NUL is never legal in JSON, so finding one means either
 * "read more" or an error. */
#include "base/jsonin.h"

#include "base/error.h"
#include "base/jsonin_number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES (256u * 1024)
/* A token rarely is longer: with this much unread, it is whole in the window. */
#define LOOKAHEAD_BYTES SB_JSONIN_NUMBER_MAX

/* Eight bytes at a time. */
#define ONES 0x0101010101010101ull
#define HIGHS 0x8080808080808080ull

enum state {
	WANT_VALUE, /* at the start, after ':' and after ',' in an array */
	WANT_VALUE_OR_END, /* after '[' */
	WANT_KEY, /* after ',' in an object */
	WANT_KEY_OR_END, /* after '{' */
	AFTER_VALUE,
	FINISHED,
	FAILED
};

int sb_jsonin_init(
	struct sb_jsonin *p, const char *name, size_t string_limit, sb_jsonin_read_fn *read, void *source)
{
	memset(p, 0, sizeof *p);
	p->buffer = calloc(1, WINDOW_BYTES + 8); /* strings are scanned 8 bytes at a time */
	if (!p->buffer)
		return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", name);
	p->position = p->end = p->buffer;
	*p->end = 0;
	p->name = name;
	p->string_limit = string_limit;
	p->read = read;
	p->source = source;
	return 0;
}

void sb_jsonin_done(struct sb_jsonin *p)
{
	free(p->buffer);
	sb_buf_done(&p->scratch);
	p->buffer = NULL;
}

SB_JSONIN_INLINE bool in_object(const struct sb_jsonin *p)
{
	unsigned level = p->depth - 1;

	return p->nesting[level / 64] >> (level % 64) & 1;
}

/* ---- errors ---- */

static void count_lines(struct sb_jsonin *p, const char *from, const char *to)
{
	for (; to - from >= 8; from += 8) {
		uint64_t x;

		memcpy(&x, from, sizeof x);
		x ^= ONES * '\n';
		/* A byte's high bit stays clear only where the byte is zero. */
		x = ((x & ~HIGHS) + ~HIGHS) | x;
		p->lines_before += (uint64_t)__builtin_popcountll(~x & HIGHS);
	}
	for (; from < to; from++)
		p->lines_before += *from == '\n';
}

static uint64_t offset_of(const struct sb_jsonin *p, const char *at)
{
	return p->buffer_offset + (uint64_t)(at - p->buffer);
}

static int fail_at(struct sb_jsonin *p, uint64_t offset, const char *format, va_list args)
{
	char what[512];
	uint64_t line = p->lines_before + 1;

	vsnprintf(what, sizeof what, format, args);
	if (offset >= p->buffer_offset) {
		const char *at = p->buffer + (offset - p->buffer_offset);

		for (const char *c = p->buffer; c < at && c < p->end; c++)
			line += *c == '\n';
	}
	p->state = FAILED;
	p->err = sb_fail(STROBE_EFORMAT, "'%s' line %llu, byte %llu: %s", p->name, (unsigned long long)line,
		(unsigned long long)offset, what);
	return p->err;
}

int sb_jsonin_fail(struct sb_jsonin *p, const char *format, ...)
{
	va_list args;
	int err;

	va_start(args, format);
	err = fail_at(p, p->token_offset, format, args);
	va_end(args);
	return err;
}

static enum sb_jsonin_token error(struct sb_jsonin *p, const char *at, const char *format, ...)
{
	va_list args;

	if (p->state == FAILED)
		return SB_JSONIN_ERROR;
	va_start(args, format);
	fail_at(p, offset_of(p, at), format, args);
	va_end(args);
	return SB_JSONIN_ERROR;
}

/* What stands at a place where something else was expected. */
static enum sb_jsonin_token unexpected(struct sb_jsonin *p, const char *expected)
{
	unsigned char c = (unsigned char)*p->position;

	if (p->position == p->end) {
		p->between_elements = p->depth == 1 && !in_object(p) &&
				      (p->state == AFTER_VALUE || p->state == WANT_VALUE);
		return error(p, p->position, "the file ends where %s should be", expected);
	}
	if (c == 'N' || c == 'I' || c == 'n' || c == 'i')
		return error(p, p->position, "expected %s (NaN and Infinity are not JSON)", expected);
	if (c < 0x20 || c > 0x7e)
		return error(p, p->position, "expected %s, found byte 0x%02x", expected, c);
	return error(p, p->position, "expected %s, found '%c'", expected, c);
}

/* ---- the window ---- */

/* Moves what is unread to the front and reads more behind it. False at the end
 * of the input, on an error, and when the window is full. */
static bool refill(struct sb_jsonin *p)
{
	size_t size = (size_t)(p->end - p->position);
	size_t gone = (size_t)(p->position - p->buffer);
	ssize_t n;

	if (p->at_eof || p->state == FAILED)
		return false;
	if (gone) {
		count_lines(p, p->buffer, p->position);
		memmove(p->buffer, p->position, size);
		p->buffer_offset += gone;
		p->position = p->buffer;
		p->end = p->buffer + size;
	}
	if (size == WINDOW_BYTES)
		return false;
	n = p->read(p->source, p->end, WINDOW_BYTES - size);
	if (n < 0) {
		p->state = FAILED;
		p->err = STROBE_EIO;
		n = 0;
	}
	p->at_eof = n == 0;
	p->end += n;
	*p->end = 0;
	return n > 0;
}

/* ---- strings ---- */

/* High bits set in bytes that end a run of plain characters: '"', '\\',
 * controls, and everything past ASCII. May also mark bytes after the first. */
SB_JSONIN_INLINE uint64_t special_bytes(uint64_t x)
{
	uint64_t quote = x ^ (ONES * '"');
	uint64_t backslash = x ^ (ONES * '\\');

	return ((quote - ONES) | (backslash - ONES) | (x - ONES * 0x20) | x) & HIGHS;
}

SB_JSONIN_INLINE char *plain_run(char *s)
{
	for (;;) {
		uint64_t x, found;

		memcpy(&x, s, sizeof x);
		found = special_bytes(x);
		if (found)
			return s + (__builtin_ctzll(found) >> 3);
		s += 8;
	}
}

/* Length of the UTF-8 sequence at s: 2..4, or 0 when it is not one. The NUL
 * after the window keeps this inside it. */
static size_t utf8_length(const unsigned char *s)
{
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return (s[1] & 0xc0) == 0x80 ? 2 : 0;
	if ((s[0] & 0xf0) == 0xe0) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80)
			return 0;
		if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
			return 0;
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80 || (s[3] & 0xc0) != 0x80)
			return 0;
		if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

static int hex4(const char *s)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		int c = s[i] | 0x20;

		if (s[i] >= '0' && s[i] <= '9')
			value = value << 4 | (s[i] - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (c - 'a' + 10);
		else
			return -1;
	}
	return value;
}

static size_t put_utf8(char *to, unsigned code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

static void keep_bytes(struct sb_jsonin *p, const char *bytes, size_t size)
{
	size_t room = p->string_limit - p->scratch.size;

	if (p->cut)
		return;
	if (size > room) {
		p->cut = true;
		size = size > 4 ? room : 0; /* never half a character */
	}
	sb_buf_add(&p->scratch, bytes, size);
}

/* Ensures that want bytes can be looked at from the position, if they exist. */
static void look_ahead(struct sb_jsonin *p, size_t want)
{
	while ((size_t)(p->end - p->position) < want && refill(p))
		;
}

/* At a backslash. Half a surrogate pair becomes U+FFFD. */
static bool read_escape(struct sb_jsonin *p)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known;
	char utf8[4];
	int code, low;

	look_ahead(p, 12);
	known = p->position[1] ? strchr(from, p->position[1]) : NULL;
	if (known) {
		keep_bytes(p, &to[known - from], 1);
		p->position += 2;
		return true;
	}
	if (p->position[1] != 'u' || (code = hex4(p->position + 2)) < 0) {
		if (p->end - p->position < (p->position[1] == 'u' ? 6 : 2))
			error(p, p->end, "the file ends inside a string");
		else
			error(p, p->position, "no such escape in a string");
		return false;
	}
	p->position += 6;
	if (code >= 0xd800 && code < 0xdc00 && p->position[0] == '\\' && p->position[1] == 'u' &&
		(low = hex4(p->position + 2)) >= 0xdc00 && low < 0xe000) {
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		p->position += 6;
	} else if (code >= 0xd800 && code < 0xe000) {
		code = 0xfffd;
	}
	keep_bytes(p, utf8, put_utf8(utf8, (unsigned)code));
	return true;
}

/* One character that is not plain, after the run before it was kept. False at
 * an error; *out_end at the closing quote. */
static bool read_special(struct sb_jsonin *p, bool *out_end)
{
	unsigned char c = (unsigned char)*p->position;
	size_t n;

	if (c == '"') {
		p->position++;
		*out_end = true;
		return true;
	}
	if (c == '\\')
		return read_escape(p);
	if (p->position == p->end) {
		if (refill(p))
			return true;
		error(p, p->position, "the file ends inside a string");
		return false;
	}
	if (c < 0x20) {
		error(p, p->position, "control character 0x%02x in a string", c);
		return false;
	}
	look_ahead(p, 4);
	n = utf8_length((const unsigned char *)p->position);
	if (!n) {
		error(p, p->position, "byte 0x%02x is not UTF-8", c);
		return false;
	}
	keep_bytes(p, p->position, n);
	p->position += n;
	return true;
}

/* From where the quick scan stopped; start is the first byte not yet kept. */
static bool read_string_slowly(struct sb_jsonin *p, char *start)
{
	bool at_end = false;

	sb_buf_clear(&p->scratch);
	p->position = start;
	while (!at_end) {
		char *stop = plain_run(p->position);

		if (stop > p->end)
			stop = p->end;
		keep_bytes(p, p->position, (size_t)(stop - p->position));
		p->position = stop;
		if (!read_special(p, &at_end))
			return false;
	}
	if (sb_buf_failed(&p->scratch)) {
		p->state = FAILED;
		p->err = sb_fail(STROBE_ENOMEM, "no memory for a string of '%s'", p->name);
		return false;
	}
	p->text = p->scratch.data ? p->scratch.data : "";
	p->size = p->scratch.size;
	return true;
}

/* At the opening quote. */
SB_JSONIN_INLINE bool read_string(struct sb_jsonin *p)
{
	char *start = p->position + 1;
	char *s = plain_run(start);

	p->token_offset = offset_of(p, p->position);
	p->cut = false;
	while ((unsigned char)*s >= 0x80) {
		size_t n = utf8_length((const unsigned char *)s);

		if (!n)
			break;
		s = plain_run(s + n);
	}
	if (*s != '"' || s >= p->end || (size_t)(s - start) > p->string_limit)
		return read_string_slowly(p, start);
	p->text = start;
	p->size = (size_t)(s - start);
	p->position = s + 1;
	return true;
}

/* ---- numbers ---- */

static enum sb_jsonin_token read_number(struct sb_jsonin *p)
{
	const char *end = sb_jsonin_take_number(p->position, &p->number);

	p->token_offset = offset_of(p, p->position);
	if ((!end || end >= p->end) && !p->at_eof) {
		look_ahead(p, SB_JSONIN_NUMBER_MAX + 1);
		end = sb_jsonin_take_number(p->position, &p->number);
	}
	if (!end)
		return error(p, p->position, "not a number that JSON allows");
	if (end - p->position > (ptrdiff_t)SB_JSONIN_NUMBER_MAX)
		return error(p, p->position, "a number of more than %u characters", SB_JSONIN_NUMBER_MAX);
	p->text = p->position;
	p->size = (size_t)(end - p->position);
	p->position += p->size;
	p->state = AFTER_VALUE;
	return SB_JSONIN_NUMBER;
}

/* ---- the grammar ---- */

static enum sb_jsonin_token open_container(struct sb_jsonin *p, bool object)
{
	uint64_t bit = 1ull << (p->depth % 64);

	if (p->depth == SB_JSONIN_DEPTH_MAX)
		return error(p, p->position, "nested deeper than %u levels", SB_JSONIN_DEPTH_MAX);
	p->token_offset = offset_of(p, p->position);
	if (object)
		p->nesting[p->depth / 64] |= bit;
	else
		p->nesting[p->depth / 64] &= ~bit;
	p->depth++;
	p->position++;
	p->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
	return object ? SB_JSONIN_OBJECT : SB_JSONIN_ARRAY;
}

SB_JSONIN_INLINE enum sb_jsonin_token close_container(struct sb_jsonin *p, bool object)
{
	p->token_offset = offset_of(p, p->position);
	p->depth--;
	p->position++;
	p->state = AFTER_VALUE;
	return object ? SB_JSONIN_OBJECT_END : SB_JSONIN_ARRAY_END;
}

static enum sb_jsonin_token read_word(
	struct sb_jsonin *p, const char *word, size_t size, enum sb_jsonin_token token)
{
	look_ahead(p, size);
	if ((size_t)(p->end - p->position) < size || memcmp(p->position, word, size))
		return unexpected(p, "a value");
	p->token_offset = offset_of(p, p->position);
	p->position += size;
	p->state = AFTER_VALUE;
	return token;
}

SB_JSONIN_INLINE char skip_space(struct sb_jsonin *p)
{
	for (;;) {
		char c = *p->position;

		if (c > ' ')
			return c;
		if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
			p->position++;
		else if (c || p->position != p->end || !refill(p))
			return c;
	}
}

/* A byte order mark, which editors of another system put before everything. */
static char skip_mark(struct sb_jsonin *p)
{
	look_ahead(p, 3);
	if (!offset_of(p, p->position) && p->end - p->position >= 3 &&
		!memcmp(p->position, "\xef\xbb\xbf", 3))
		p->position += 3;
	return skip_space(p);
}

SB_JSONIN_INLINE enum sb_jsonin_token read_value(struct sb_jsonin *p, char c)
{
	switch (c) {
	case '"':
		if (!read_string(p))
			return SB_JSONIN_ERROR;
		p->state = AFTER_VALUE;
		return SB_JSONIN_STRING;
	case '{': return open_container(p, true);
	case '[': return open_container(p, false);
	case 't': return read_word(p, "true", 4, SB_JSONIN_TRUE);
	case 'f': return read_word(p, "false", 5, SB_JSONIN_FALSE);
	case 'n': return read_word(p, "null", 4, SB_JSONIN_NULL);
	default:
		if (c == '-' || sb_jsonin_is_digit(c))
			return read_number(p);
		return unexpected(p, "a value");
	}
}

/* The colon is not right after the key: keep the key, the window may move. */
static bool find_colon(struct sb_jsonin *p)
{
	if (p->text != p->scratch.data) {
		sb_buf_clear(&p->scratch);
		sb_buf_add(&p->scratch, p->text, p->size);
		p->text = sb_buf_text(&p->scratch);
	}
	if (skip_space(p) == ':')
		return true;
	unexpected(p, "':'");
	return false;
}

SB_JSONIN_INLINE enum sb_jsonin_token read_key(struct sb_jsonin *p, char c)
{
	if (c != '"')
		return unexpected(p, "a name in quotes");
	if (!read_string(p))
		return SB_JSONIN_ERROR;
	if (*p->position != ':' && !find_colon(p))
		return SB_JSONIN_ERROR;
	p->position++;
	p->state = WANT_VALUE;
	return SB_JSONIN_KEY;
}

static enum sb_jsonin_token at_the_end(struct sb_jsonin *p)
{
	if (p->state == FAILED)
		return SB_JSONIN_ERROR;
	if (p->state == FINISHED)
		return SB_JSONIN_END;
	if (skip_space(p) || p->position != p->end)
		return unexpected(p, "the end of the file");
	if (p->state == FAILED)
		return SB_JSONIN_ERROR;
	p->state = FINISHED;
	return SB_JSONIN_END;
}

SB_JSONIN_INLINE enum sb_jsonin_token next(struct sb_jsonin *p)
{
	char c;

	if (p->end - p->position < (ptrdiff_t)LOOKAHEAD_BYTES && !p->at_eof)
		refill(p);
	if (p->state >= FINISHED || (p->state == AFTER_VALUE && !p->depth))
		return at_the_end(p);
	c = skip_space(p);
	switch (p->state) {
	case AFTER_VALUE:
		if (in_object(p)) {
			if (c == '}')
				return close_container(p, true);
			if (c != ',')
				return unexpected(p, "',' or '}'");
			p->position++;
			p->state = WANT_KEY;
			return read_key(p, skip_space(p));
		}
		if (c == ']')
			return close_container(p, false);
		if (c != ',')
			return unexpected(p, "',' or ']'");
		p->position++;
		p->state = WANT_VALUE;
		return read_value(p, skip_space(p));
	case WANT_KEY_OR_END:
		if (c == '}')
			return close_container(p, true);
		return read_key(p, c);
	case WANT_KEY: return read_key(p, c);
	case WANT_VALUE_OR_END:
		if (c == ']')
			return close_container(p, false);
		return read_value(p, c);
	default: return read_value(p, (unsigned char)c == 0xef ? skip_mark(p) : c);
	}
}

enum sb_jsonin_token sb_jsonin_next(struct sb_jsonin *p)
{
	return next(p);
}

int sb_jsonin_skip(struct sb_jsonin *p, enum sb_jsonin_token token)
{
	unsigned depth = p->depth;

	if (token == SB_JSONIN_ERROR)
		return p->err;
	if (token != SB_JSONIN_OBJECT && token != SB_JSONIN_ARRAY)
		return 0;
	while (p->depth >= depth)
		if (next(p) == SB_JSONIN_ERROR)
			return p->err;
	return 0;
}

bool sb_jsonin_ended_between_elements(const struct sb_jsonin *p)
{
	return p->state == FAILED && p->between_elements;
}
