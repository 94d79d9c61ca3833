/* Perfetto's packets: text that is UTF-8, names that are written once. */
#include "exchange/perfetto.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_LIMIT 1000u

enum { FLAG_NEEDS_STATE = 2 };

static size_t cut_text(const char *text, size_t limit)
{
	size_t size = strnlen(text, limit);

	while (size && size == limit && (text[size] & 0xc0) == 0x80)
		size--;
	return size;
}

/* protobuf strings are UTF-8; anything else becomes U+FFFD by way of JSON's rule. */
uint8_t *sb_perfetto_text(uint8_t *at, uint32_t field, const char *text)
{
	size_t size = cut_text(text, TEXT_LIMIT);
	char clean[TEXT_LIMIT * 3];
	size_t used = 0;

	for (size_t i = 0; i < size;) {
		size_t n = sb_utf8_length(text + i, size - i);

		if (n) {
			memcpy(clean + used, text + i, n);
			used += n;
			i += n;
		} else {
			memcpy(clean + used, "\xef\xbf\xbd", 3);
			used += 3;
			i++;
		}
	}
	return sb_pb_bytes(at, field, clean, used);
}

/* Names may be new during the pass. */
static bool is_new_name(struct sb_perfetto *p, uint32_t name)
{
	if (name / 64 >= p->name_words) {
		uint32_t words = name / 32 + 1;
		uint64_t *more = realloc(p->name_seen, words * sizeof *more);

		if (!more) {
			p->failed = true;
			return false;
		}
		memset(more + p->name_words, 0, (words - p->name_words) * sizeof *more);
		p->name_seen = more;
		p->name_words = words;
	}
	if (p->name_seen[name / 64] >> name % 64 & 1)
		return false;
	p->name_seen[name / 64] |= 1ull << name % 64;
	return true;
}

uint8_t *sb_perfetto_event_head(struct sb_perfetto *p, uint8_t *at, int64_t t_ns, uint32_t name)
{
	at = sb_pb_uint(at, PACKET_TIMESTAMP, (uint64_t)(t_ns < 0 ? 0 : t_ns) + 1);
	at = sb_pb_uint(at, PACKET_SEQUENCE, 1);
	at = sb_pb_uint(at, PACKET_FLAGS, FLAG_NEEDS_STATE);
	if (name != UINT32_MAX && is_new_name(p, name)) {
		uint8_t *interned, *entry;

		at = sb_pb_begin(at, PACKET_INTERNED, &interned);
		at = sb_pb_begin(at, 2, &entry);
		at = sb_pb_uint(at, 1, (uint64_t)name + 1);
		at = sb_perfetto_text(at, 2, p->run->names[name].text);
		sb_pb_end(entry, at);
		sb_pb_end(interned, at);
	}
	return at;
}
