/* A radix sort of (prefix, place) pairs, then one gathering pass over the records. */
#include "base/prefixsort.h"

#include "strobe.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

struct entry {
	uint64_t prefix;
	uint32_t place; /* of the record in the source */
};

/* The span of both words over all records, and how they become one number that orders them. */
struct prefix {
	uint64_t least[2];
	unsigned high_shift; /* of the first word */
	unsigned low_drop; /* bits of the second word that find no room */
	unsigned bits; /* in all */
};

static const uint64_t *key_of(const char *source, size_t record_bytes, size_t i)
{
	return (const uint64_t *)(const void *)(source + i * record_bytes);
}

static unsigned bits_of(uint64_t span)
{
	return span ? 64 - (unsigned)__builtin_clzll(span) : 0;
}

static struct prefix measure(const char *source, size_t record_bytes, size_t count)
{
	struct prefix p = { .least = { UINT64_MAX, UINT64_MAX } };
	uint64_t most[2] = { 0, 0 };
	unsigned high, low;

	for (size_t i = 0; i < count; i++) {
		const uint64_t *key = key_of(source, record_bytes, i);

		for (unsigned w = 0; w < 2; w++) {
			p.least[w] = key[w] < p.least[w] ? key[w] : p.least[w];
			most[w] = key[w] > most[w] ? key[w] : most[w];
		}
	}
	high = bits_of(most[0] - p.least[0]);
	low = bits_of(most[1] - p.least[1]);
	p.low_drop = high + low > 64 ? high + low - 64 : 0;
	p.high_shift = low - p.low_drop;
	p.bits = high + p.high_shift;
	return p;
}

static uint64_t prefix_of(const struct prefix *p, const uint64_t *key)
{
	/* A shift by 64 is none that C knows: then the other word has no bits. */
	uint64_t high = p->high_shift < 64 ? (key[0] - p->least[0]) << p->high_shift : 0;
	uint64_t low = p->low_drop < 64 ? (key[1] - p->least[1]) >> p->low_drop : 0;

	return high | low;
}

/* By one digit, from one array into the other. */
static void pass(const struct entry *from, struct entry *to, size_t count, unsigned shift)
{
	uint32_t start[DIGITS] = { 0 };
	uint32_t sum = 0;

	for (size_t i = 0; i < count; i++)
		start[from[i].prefix >> shift & (DIGITS - 1)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		uint32_t here = start[d];

		start[d] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[start[from[i].prefix >> shift & (DIGITS - 1)]++] = from[i];
}

int sb_prefixsort(const char *source, char *target, size_t record_bytes, size_t count)
{
	struct prefix p = measure(source, record_bytes, count);
	struct entry *entries = count < UINT32_MAX ? malloc(2 * count * sizeof *entries) : NULL;
	struct entry *from = entries, *to = entries + count;

	if (!entries)
		return STROBE_ENOMEM;
	for (size_t i = 0; i < count; i++)
		from[i] = (struct entry){ prefix_of(&p, key_of(source, record_bytes, i)), (uint32_t)i };
	for (unsigned shift = 0; shift < p.bits; shift += DIGIT_BITS) {
		struct entry *swap = from;

		pass(from, to, count, shift);
		from = to;
		to = swap;
	}
	for (size_t i = 0; i < count; i++)
		memcpy(target + i * record_bytes, source + from[i].place * record_bytes, record_bytes);
	free(entries);
	return 0;
}
