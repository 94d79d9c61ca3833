/* The words of chunks as columns: kind and id, tick deltas, values, payloads, each
 * by byte planes. Similar bytes end up together, for zstd. Knows neither files nor zstd. */
#ifndef SB_FORMAT_PACKED_COLUMNS_H
#define SB_FORMAT_PACKED_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SB_COLUMN_PLANES = 8 }; /* at most, of one column */

struct sb_columns;

/* The columns of chunk_count chunks, one behind the other. NULL: no memory, or
 * words that cannot be kept this way. */
struct sb_columns *sb_columns_split(const char *chunks, uint32_t chunk_count, uint32_t chunk_bytes);
void sb_columns_free(struct sb_columns *c); /* takes NULL */
/* Room that sb_columns_write() may need. */
size_t sb_columns_room(const struct sb_columns *c);
/* The bytes written. */
size_t sb_columns_write(const struct sb_columns *c, char *to);

/* Back into zeroed chunks, all but their headers. Takes any bytes; false when they
 * are no columns. */
bool sb_columns_join(
	const char *from, size_t bytes, char *chunks, uint32_t chunk_count, uint32_t chunk_bytes);

#endif
