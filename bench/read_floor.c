/* read_floor FILE...: what reading recordings costs at least. Every zone is decoded by the reader itself, matched on a
 * stack and added to its name's sum, extremes and histogram; nothing else is asked of it, nothing is printed but the
 * count of zones. */
#include "base/error.h"
#include "format/cursor.h"
#include "format/reader.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 1 << 16, DEEPEST = 256, BINS = 64 };

struct name_sums {
	uint64_t count, sum, least, most, bins[BINS];
};

struct floor {
	struct name_sums *names;
	uint64_t begun[DEEPEST];
	unsigned depth;
	uint64_t zones;
};

static void add(struct name_sums *n, uint64_t ticks)
{
	n->least = !n->count || ticks < n->least ? ticks : n->least;
	n->most = ticks > n->most ? ticks : n->most;
	n->count++;
	n->sum += ticks;
	n->bins[ticks ? 63 - __builtin_clzll(ticks) : 0]++;
}

static void read_chunk(struct floor *f, const uint64_t *words, size_t count, uint64_t base_ticks)
{
	struct sb_cursor c;
	struct sb_record r;

	sb_cursor_init(&c, words, count, base_ticks);
	while (sb_cursor_next(&c, &r)) {
		if (r.kind == SB_BEGIN) {
			if (f->depth < DEEPEST)
				f->begun[f->depth] = r.ticks;
			f->depth++;
		} else if (r.kind == SB_END && f->depth) {
			if (--f->depth < DEEPEST)
				add(&f->names[r.id % NAMES], r.ticks - f->begun[f->depth]);
			f->zones++;
		}
	}
}

static int read_file(struct floor *f, const char *path)
{
	struct sb_reader *r;
	struct sb_chunk_range hot;
	uint64_t *buf;

	if (sb_reader_open(path, &r))
		return -1;
	buf = malloc(r->head.chunk_bytes);
	hot = sb_reader_range(r, SB_STREAM_HOT, 0);
	for (uint32_t i = hot.first; buf && i < hot.end; i++) {
		size_t count;
		const uint64_t *words = sb_reader_chunk(r, &r->chunks[i], buf, &count);

		if (words)
			read_chunk(f, words, count, r->chunks[i].base_ticks);
	}
	free(buf);
	sb_reader_close(r);
	return buf ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct floor f = { .names = calloc(NAMES, sizeof *f.names) };

	for (int i = 1; f.names && i < argc; i++) {
		f.depth = 0;
		if (read_file(&f, argv[i])) {
			fprintf(stderr, "read_floor: %s\n", sb_error_message());
			return 1;
		}
	}
	printf("%llu\n", (unsigned long long)f.zones);
	free(f.names);
	return 0;
}
