/* Writing protobuf by hand: varints, tags, and messages whose length is known
 * only when they are done. A generated encoder would have to exist in every
 * build and allocates per message. */
#ifndef SB_EXCHANGE_PROTOBUF_H
#define SB_EXCHANGE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SB_PB_VARINT = 0, SB_PB_FIXED64 = 1, SB_PB_BYTES = 2 };

static inline uint8_t *sb_pb_varint(uint8_t *to, uint64_t value)
{
	while (value >= 128) {
		*to++ = (uint8_t)(value | 128);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

static inline uint8_t *sb_pb_tag(uint8_t *to, uint32_t field, uint32_t type)
{
	return sb_pb_varint(to, (uint64_t)field << 3 | type);
}

static inline uint8_t *sb_pb_uint(uint8_t *to, uint32_t field, uint64_t value)
{
	return sb_pb_varint(sb_pb_tag(to, field, SB_PB_VARINT), value);
}

static inline uint8_t *sb_pb_fixed64(uint8_t *to, uint32_t field, uint64_t value)
{
	to = sb_pb_tag(to, field, SB_PB_FIXED64);
	memcpy(to, &value, sizeof value);
	return to + sizeof value;
}

static inline uint8_t *sb_pb_double(uint8_t *to, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return sb_pb_fixed64(to, field, bits);
}

static inline uint8_t *sb_pb_bytes(uint8_t *to, uint32_t field, const void *bytes, size_t size)
{
	to = sb_pb_varint(sb_pb_tag(to, field, SB_PB_BYTES), size);
	memcpy(to, bytes, size);
	return to + size;
}

/* A message inside: its length is kept free as two bytes (up to 16 383) and
 * filled in at the end. */
static inline uint8_t *sb_pb_begin(uint8_t *to, uint32_t field, uint8_t **out_start)
{
	to = sb_pb_tag(to, field, SB_PB_BYTES) + 2;
	*out_start = to;
	return to;
}

static inline void sb_pb_end(uint8_t *start, const uint8_t *end)
{
	size_t size = (size_t)(end - start);

	start[-2] = (uint8_t)(size | 128);
	start[-1] = (uint8_t)(size >> 7);
}

#endif
