/* See jsonin_window.h. */
#include "base/jsonin_window.h"

#include "base/bytes16.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES (256u * 1024)

int sb_jsonin_init(
	struct sb_jsonin *p, const char *name, size_t string_limit, sb_jsonin_read_fn *read, void *source)
{
	memset(p, 0, sizeof *p);
	p->own = p->buffer = calloc(1, WINDOW_BYTES + SB_JSONIN_AFTER);
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
	free(p->own);
	sb_buf_done(&p->scratch);
	p->own = p->buffer = NULL;
}

static bool borrow(struct sb_jsonin *p)
{
	size_t unread = (size_t)(p->end - p->position);
	struct sb_jsonin_lent lent;

	if (!p->lend || unread > SB_JSONIN_UNREAD_MAX || !p->lend(p->source, p->position, unread, &lent))
		return false;
	p->buffer_offset += (uint64_t)(p->position - p->buffer);
	p->buffer = p->position = lent.bytes - unread;
	p->end = lent.bytes + lent.size;
	p->lines += lent.lines;
	*p->end = 0;
	return true;
}

/* The unread bytes go to the front of the reader's own. */
static void make_room(struct sb_jsonin *p)
{
	size_t unread = (size_t)(p->end - p->position);

	if (p->position == p->own)
		return;
	memmove(p->own, p->position, unread);
	p->buffer_offset += (uint64_t)(p->position - p->buffer);
	p->buffer = p->position = p->own;
	p->end = p->own + unread;
}

bool sb_jsonin_refill(struct sb_jsonin *p)
{
	ssize_t n;

	if (p->at_eof || p->state == SB_JSONIN_FAILED)
		return false;
	if (borrow(p))
		return true;
	make_room(p);
	if (p->end == p->own + WINDOW_BYTES)
		return false;
	n = p->read(p->source, p->end, (size_t)(p->own + WINDOW_BYTES - p->end));
	if (n < 0) {
		p->state = SB_JSONIN_FAILED;
		p->err = STROBE_EIO;
		n = 0;
	}
	p->at_eof = n == 0;
	p->lines += sb_bytes16_count(p->end, p->end + n, '\n');
	p->end += n;
	*p->end = 0;
	return n > 0;
}

void sb_jsonin_look_ahead(struct sb_jsonin *p, size_t want)
{
	while ((size_t)(p->end - p->position) < want && sb_jsonin_refill(p))
		;
}

/* ---- errors ---- */

static int fail_at(struct sb_jsonin *p, uint64_t offset, const char *format, va_list args)
{
	char what[512];
	const char *at = p->buffer;
	uint64_t line;

	vsnprintf(what, sizeof what, format, args);
	if (offset > p->buffer_offset)
		at += offset - p->buffer_offset;
	line = p->lines + 1 - (at < p->end ? sb_bytes16_count(at, p->end, '\n') : 0);
	p->state = SB_JSONIN_FAILED;
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

enum sb_jsonin_token sb_jsonin_error(struct sb_jsonin *p, const char *at, const char *format, ...)
{
	va_list args;

	if (p->state == SB_JSONIN_FAILED)
		return SB_JSONIN_ERROR;
	va_start(args, format);
	fail_at(p, sb_jsonin_offset_of(p, at), format, args);
	va_end(args);
	return SB_JSONIN_ERROR;
}
