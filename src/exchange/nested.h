/* Zones and GPU work as nested lines: a thread, a task or a stream at a time, in order, each opened before
 * what is inside it and closed after. For formats that cannot take them as they come. Memory is bounded:
 * what does not fit waits in an unlinked temporary file. */
#ifndef SB_EXCHANGE_NESTED_H
#define SB_EXCHANGE_NESTED_H

#include "run/events.h"

enum sb_nested_kind { SB_NESTED_TRACK, SB_NESTED_STREAM, SB_NESTED_SPANS };

struct sb_nested_line {
	enum sb_nested_kind kind;
	uint32_t process;
	uint32_t track; /* index of run->tracks; of a STREAM 0 */
	uint32_t device, stream; /* of a STREAM */
};

struct sb_nested_zone {
	uint64_t number; /* from 1, the same in every visit of the run */
	uint64_t parent; /* number of the zone around it; 0: none */
	int64_t begin_ns, end_ns;
	uint32_t name, role, flags;
	uint32_t path; /* see sb_path; of GPU work 0 */
	const char *attrs; /* "key":value,… as JSON; valid in open(), "" without with_attrs */
	size_t attrs_size;
};

struct sb_nested_visitor {
	void *self;
	bool with_attrs;
	/* Of SPANS, zones may overlap: none is inside another, and close() comes at once. */
	void (*line)(void *self, const struct sb_nested_line *line);
	void (*open)(void *self, const struct sb_nested_zone *zone);
	void (*close)(void *self, const struct sb_nested_zone *zone); /* NULL: not of interest */
	/* GPU work whose launch is known, inside the line that launched it: its parent is the innermost zone that
	 * was open there, around (NULL: none). NULL: all GPU work comes in the lines of its streams. */
	void (*launched)(void *self, const struct sb_nested_line *stream, const struct sb_nested_zone *work,
		const struct sb_nested_zone *around);
};

int sb_nested_visit(struct sb_run *run, const struct sb_nested_visitor *visitor);

#endif
