/* Python's marshal format, as far as cProfile files use it. */
#ifndef SB_EXCHANGE_MARSHAL_H
#define SB_EXCHANGE_MARSHAL_H

#include <stddef.h>
#include <stdint.h>

enum sb_marshal_type {
	SB_MARSHAL_NONE,
	SB_MARSHAL_INT,
	SB_MARSHAL_FLOAT,
	SB_MARSHAL_TEXT,
	SB_MARSHAL_TUPLE,
	SB_MARSHAL_DICT
};

struct sb_marshal {
	enum sb_marshal_type type;
	int64_t i;
	double f; /* of INT too */
	const char *text; /* into the file, not NUL-terminated */
	size_t size; /* TEXT: bytes; TUPLE: items; DICT: keys and values, alternating */
	const struct sb_marshal **items;
};

struct sb_marshal_doc;

/* bytes must outlive the document. name is for messages, which tell the offset. */
int sb_marshal_parse(const char *name, const char *bytes, size_t size, struct sb_marshal_doc **out_doc);
void sb_marshal_free(struct sb_marshal_doc *doc); /* takes NULL */
const struct sb_marshal *sb_marshal_root(const struct sb_marshal_doc *doc);

#endif
