/* Strings of JSON with escapes, past the string limit, or over the window's edge. */
#include "base/jsonin_string.h"

#include "base/error.h"

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

/* At a backslash. Half a surrogate pair becomes U+FFFD. */
static bool read_escape(struct sb_jsonin *p)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known;
	char utf8[4];
	int code, low;

	sb_jsonin_look_ahead(p, 12);
	known = p->position[1] ? strchr(from, p->position[1]) : NULL;
	if (known) {
		keep_bytes(p, &to[known - from], 1);
		p->position += 2;
		return true;
	}
	if (p->position[1] != 'u' || (code = hex4(p->position + 2)) < 0) {
		if (p->end - p->position < (p->position[1] == 'u' ? 6 : 2))
			sb_jsonin_error(p, p->end, "the file ends inside a string");
		else
			sb_jsonin_error(p, p->position, "no such escape in a string");
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
		if (sb_jsonin_refill(p))
			return true;
		sb_jsonin_error(p, p->position, "the file ends inside a string");
		return false;
	}
	sb_jsonin_look_ahead(p, 4);
	n = c < 0x20 ? 0 : sb_jsonin_utf8_length((const unsigned char *)p->position);
	if (!n && p->any_bytes) {
		p->replaced_bytes++;
		p->position++;
		keep_bytes(p, "\xef\xbf\xbd", 3);
		return true;
	}
	if (c < 0x20) {
		sb_jsonin_error(p, p->position, "control character 0x%02x in a string", c);
		return false;
	}
	if (!n) {
		sb_jsonin_error(p, p->position, "byte 0x%02x is not UTF-8", c);
		return false;
	}
	keep_bytes(p, p->position, n);
	p->position += n;
	return true;
}

bool sb_jsonin_read_string_slowly(struct sb_jsonin *p, char *start)
{
	bool at_end = false;

	sb_buf_clear(&p->scratch);
	p->position = start;
	while (!at_end) {
		char *stop = sb_jsonin_plain_run(p->position);

		if (stop > p->end)
			stop = p->end;
		keep_bytes(p, p->position, (size_t)(stop - p->position));
		p->position = stop;
		if (!read_special(p, &at_end))
			return false;
	}
	if (sb_buf_failed(&p->scratch)) {
		p->state = SB_JSONIN_FAILED;
		p->err = sb_fail(STROBE_ENOMEM, "no memory for a string of '%s'", p->name);
		return false;
	}
	p->text = p->scratch.data ? p->scratch.data : "";
	p->size = p->scratch.size;
	return true;
}
