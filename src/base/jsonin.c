/* The streaming JSON reader: a window over the input, a state per position in
 * the grammar, and a NUL after the window's last byte so that no inner loop
 * tests for the end. NUL is never legal in JSON, so finding one means either
 * "read more" or an error. */
#include "base/jsonin.h"

#include "base/jsonin_number.h"
#include "base/jsonin_quick.h"
#include "base/jsonin_string.h"
#include "base/jsonin_window.h"

#include <string.h>

/* Few tokens are longer: with this much unread, the next token lies whole in the window. */
#define LOOKAHEAD_BYTES SB_JSONIN_NUMBER_MAX

SB_JSONIN_INLINE bool in_object(const struct sb_jsonin *p)
{
	unsigned level = p->depth - 1;

	return p->nesting[level / 64] >> (level % 64) & 1;
}

/* Names what was found where something else was expected. */
static enum sb_jsonin_token unexpected(struct sb_jsonin *p, const char *expected)
{
	unsigned char c = (unsigned char)*p->position;

	if (p->position == p->end) {
		p->between_elements = p->depth == 1 && !in_object(p) &&
				      (p->state == SB_JSONIN_AFTER_VALUE || p->state == SB_JSONIN_WANT_VALUE);
		return sb_jsonin_error(p, p->position, "the file ends where %s should be", expected);
	}
	if (c == 'N' || c == 'I' || c == 'n' || c == 'i')
		return sb_jsonin_error(
			p, p->position, "expected %s (NaN and Infinity are not JSON)", expected);
	if (c < 0x20 || c > 0x7e)
		return sb_jsonin_error(p, p->position, "expected %s, found byte 0x%02x", expected, c);
	return sb_jsonin_error(p, p->position, "expected %s, found '%c'", expected, c);
}

/* ---- numbers ---- */

static enum sb_jsonin_token read_number(struct sb_jsonin *p)
{
	struct sb_jsonin_number number;
	const char *end = sb_jsonin_take_number(p->position, &number);

	p->token_offset = sb_jsonin_offset_of(p, p->position);
	if ((!end || end >= p->end) && !p->at_eof) {
		sb_jsonin_look_ahead(p, SB_JSONIN_NUMBER_MAX + 1);
		end = sb_jsonin_take_number(p->position, &number);
	}
	p->number = number;
	if (!end)
		return sb_jsonin_error(p, p->position, "not a number that JSON allows");
	if (end - p->position > (ptrdiff_t)SB_JSONIN_NUMBER_MAX)
		return sb_jsonin_error(
			p, p->position, "a number of more than %u characters", SB_JSONIN_NUMBER_MAX);
	p->text = p->position;
	p->size = (size_t)(end - p->position);
	p->position += p->size;
	p->state = SB_JSONIN_AFTER_VALUE;
	return SB_JSONIN_NUMBER;
}

/* ---- the grammar ---- */

static enum sb_jsonin_token open_container(struct sb_jsonin *p, bool object)
{
	uint64_t bit = 1ull << (p->depth % 64);

	if (p->depth == SB_JSONIN_DEPTH_MAX)
		return sb_jsonin_error(p, p->position, "nested deeper than %u levels", SB_JSONIN_DEPTH_MAX);
	p->token_offset = sb_jsonin_offset_of(p, p->position);
	if (object)
		p->nesting[p->depth / 64] |= bit;
	else
		p->nesting[p->depth / 64] &= ~bit;
	p->depth++;
	p->position++;
	p->state = object ? SB_JSONIN_WANT_KEY_OR_END : SB_JSONIN_WANT_VALUE_OR_END;
	return object ? SB_JSONIN_OBJECT : SB_JSONIN_ARRAY;
}

SB_JSONIN_INLINE enum sb_jsonin_token close_container(struct sb_jsonin *p, bool object)
{
	p->token_offset = sb_jsonin_offset_of(p, p->position);
	p->depth--;
	p->position++;
	p->state = SB_JSONIN_AFTER_VALUE;
	return object ? SB_JSONIN_OBJECT_END : SB_JSONIN_ARRAY_END;
}

static enum sb_jsonin_token read_word(
	struct sb_jsonin *p, const char *word, size_t size, enum sb_jsonin_token token)
{
	sb_jsonin_look_ahead(p, size);
	if ((size_t)(p->end - p->position) < size || memcmp(p->position, word, size))
		return unexpected(p, "a value");
	p->token_offset = sb_jsonin_offset_of(p, p->position);
	p->position += size;
	p->state = SB_JSONIN_AFTER_VALUE;
	return token;
}

static char skip_more_space(struct sb_jsonin *p)
{
	for (;;) {
		sb_bytes16 x = sb_bytes16_load(p->position);
		unsigned n = sb_bytes16_first((x != ' ') & (x != '\n') & (x != '\r') & (x != '\t'));

		p->position += n;
		if (n < 16 && (*p->position || p->position != p->end || !sb_jsonin_refill(p)))
			return *p->position;
	}
}

/* Mostly none, one, or a line's end and what the next line is set in by. */
SB_JSONIN_INLINE char skip_space(struct sb_jsonin *p)
{
	char *s = p->position;

	if ((unsigned char)*s > ' ')
		return *s;
	if (*s == ' ' || *s == '\n') {
		unsigned n = 1 + sb_bytes16_first(sb_bytes16_load(s + 1) != ' ');

		if ((unsigned char)s[n] > ' ') {
			p->position = s + n;
			return s[n];
		}
	}
	return skip_more_space(p);
}

/* A byte order mark, which some editors put at the start of a file. */
static char skip_mark(struct sb_jsonin *p)
{
	sb_jsonin_look_ahead(p, 3);
	if (!sb_jsonin_offset_of(p, p->position) && p->end - p->position >= 3 &&
		!memcmp(p->position, "\xef\xbb\xbf", 3))
		p->position += 3;
	return skip_space(p);
}

SB_JSONIN_INLINE enum sb_jsonin_token read_value(struct sb_jsonin *p, char c)
{
	switch (c) {
	case '"':
		if (!sb_jsonin_read_string(p))
			return SB_JSONIN_ERROR;
		p->state = SB_JSONIN_AFTER_VALUE;
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
	if (!sb_jsonin_read_string(p))
		return SB_JSONIN_ERROR;
	if (*p->position != ':' && !find_colon(p))
		return SB_JSONIN_ERROR;
	p->position++;
	p->state = SB_JSONIN_WANT_VALUE;
	return SB_JSONIN_KEY;
}

static enum sb_jsonin_token at_the_end(struct sb_jsonin *p)
{
	if (p->state == SB_JSONIN_FAILED)
		return SB_JSONIN_ERROR;
	if (p->state == SB_JSONIN_FINISHED)
		return SB_JSONIN_END;
	if (skip_space(p) || p->position != p->end)
		return unexpected(p, "the end of the file");
	if (p->state == SB_JSONIN_FAILED)
		return SB_JSONIN_ERROR;
	p->state = SB_JSONIN_FINISHED;
	return SB_JSONIN_END;
}

SB_JSONIN_INLINE enum sb_jsonin_token next(struct sb_jsonin *p)
{
	char c;

	if (p->end - p->position < (ptrdiff_t)LOOKAHEAD_BYTES && !p->at_eof)
		sb_jsonin_refill(p);
	switch (p->state) {
	case SB_JSONIN_AFTER_VALUE:
		if (!p->depth)
			return at_the_end(p);
		c = skip_space(p);
		if (in_object(p)) {
			if (c == '}')
				return close_container(p, true);
			if (c != ',')
				return unexpected(p, "',' or '}'");
			p->position++;
			p->state = SB_JSONIN_WANT_KEY;
			return read_key(p, skip_space(p));
		}
		if (c == ']')
			return close_container(p, false);
		if (c != ',')
			return unexpected(p, "',' or ']'");
		p->position++;
		p->state = SB_JSONIN_WANT_VALUE;
		return read_value(p, skip_space(p));
	case SB_JSONIN_WANT_KEY_OR_END:
		c = skip_space(p);
		return c == '}' ? close_container(p, true) : read_key(p, c);
	case SB_JSONIN_WANT_KEY: return read_key(p, skip_space(p));
	case SB_JSONIN_WANT_VALUE_OR_END:
		c = skip_space(p);
		return c == ']' ? close_container(p, false) : read_value(p, c);
	case SB_JSONIN_WANT_VALUE:
		c = skip_space(p);
		return read_value(p, (unsigned char)c == 0xef ? skip_mark(p) : c);
	default: return at_the_end(p);
	}
}

enum sb_jsonin_token sb_jsonin_next(struct sb_jsonin *p)
{
	return next(p);
}

enum sb_jsonin_token sb_jsonin_next_member(struct sb_jsonin *p)
{
	enum sb_jsonin_token token;

	return sb_jsonin_quick_member(p, &token) ? token : next(p);
}

SB_JSONIN_INLINE enum sb_jsonin_token value_at(struct sb_jsonin *p, char *s)
{
	if (*s == '"' ? sb_jsonin_quick_string(p, s) : sb_jsonin_quick_number(p, s))
		return *s == '"' ? SB_JSONIN_STRING : SB_JSONIN_NUMBER;
	if (*s != '{' && *s != '[')
		return next(p);
	p->position = s;
	return open_container(p, *s == '{');
}

enum sb_jsonin_token sb_jsonin_next_value(struct sb_jsonin *p)
{
	return p->state == SB_JSONIN_WANT_VALUE ? value_at(p, p->position + (*p->position == ' ')) : next(p);
}

enum sb_jsonin_token sb_jsonin_pass_value(struct sb_jsonin *p)
{
	char *s = p->position + (*p->position == ' ');

	return p->state == SB_JSONIN_WANT_VALUE && sb_jsonin_quick_pass(p, s) ? SB_JSONIN_NUMBER
									      : sb_jsonin_next_value(p);
}

enum sb_jsonin_token sb_jsonin_next_element(struct sb_jsonin *p)
{
	if (p->state == SB_JSONIN_AFTER_VALUE && *p->position == ',')
		return value_at(p, sb_jsonin_quick_space(p->position + 1));
	return p->state == SB_JSONIN_WANT_VALUE_OR_END ? value_at(p, sb_jsonin_quick_space(p->position))
						       : next(p);
}

SB_JSONIN_INLINE enum sb_jsonin_token next_of_any(struct sb_jsonin *p)
{
	if (!in_object(p))
		return sb_jsonin_next_element(p);
	return p->state == SB_JSONIN_WANT_VALUE ? sb_jsonin_next_value(p) : sb_jsonin_next_member(p);
}

int sb_jsonin_skip_container(struct sb_jsonin *p, enum sb_jsonin_token token)
{
	unsigned depth = p->depth;

	if (token == SB_JSONIN_ERROR)
		return p->err;
	if (token != SB_JSONIN_OBJECT && token != SB_JSONIN_ARRAY)
		return 0;
	while (p->depth >= depth)
		if (next_of_any(p) == SB_JSONIN_ERROR)
			return p->err;
	return 0;
}

bool sb_jsonin_ended_between_elements(const struct sb_jsonin *p)
{
	return p->state == SB_JSONIN_FAILED && p->between_elements;
}
