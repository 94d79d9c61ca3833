/* Python pickles of plain data, read from front to back and never executed: an opcode that would
 * import or call something is an error. Nothing is built: objects are handed to a handler piece by
 * piece, and are forgotten when they are complete. Memory does not depend on the file's size. */
#ifndef SB_EXCHANGE_PICKLE_H
#define SB_EXCHANGE_PICKLE_H

#include "base/strings.h"
#include "exchange/foreign.h"

#include <stdbool.h>
#include <stdint.h>

enum sb_pickle_kind {
	SB_PICKLE_NOTHING, /* None, and what is of no interest: bytes, tuples, numbers beyond 64 bits */
	SB_PICKLE_NUMBER,
	SB_PICKLE_TEXT, /* a number in the reader's strings */
	SB_PICKLE_MADE, /* what the handler made of an object */
	SB_PICKLE_OBJECT, /* inside the reader only */
	SB_PICKLE_MARK
};

struct sb_pickle_value {
	uint32_t kind; /* enum sb_pickle_kind */
	uint32_t tag; /* MADE: the handler's */
	int64_t number; /* NUMBER; TEXT; MADE: the handler's */
};

struct sb_pickle_object { /* a dictionary or a list */
	bool is_list;
	bool filled; /* something was put into it */
	uint32_t memo; /* 1 + its number in the memo; 0: none */
	uint64_t position; /* in the list it lies in */
	uint64_t count; /* lists: items so far */
	uint64_t own[12]; /* the handler's, zeroed */
};

struct sb_pickle_handler {
	void *self;
	void (*set)(void *self, struct sb_pickle_object *dict, uint32_t key_text,
		const struct sb_pickle_value *value);
	void (*append)(void *self, struct sb_pickle_object *list, const struct sb_pickle_value *value);
	/* The object is complete. Returns what stands for it from now on. parent: the list it lies in, or NULL. */
	struct sb_pickle_value (*finish)(
		void *self, struct sb_pickle_object *object, const struct sb_pickle_object *parent);
};

/* Strings get numbers in `strings`, which may hold some already; past a limit they are cut or become 0. */
int sb_pickle_read(struct sb_foreign *source, const char *path, const struct sb_pickle_handler *handler,
	struct sb_strings *strings);

/* Whether the first bytes are a pickle of protocol 2 or later. */
bool sb_pickle_matches(const char *bytes, size_t size);

#endif
