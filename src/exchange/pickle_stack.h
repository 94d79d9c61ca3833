/* The stack, the marks and the memo of a pickle that is being read. For pickle.c. */
#ifndef SB_EXCHANGE_PICKLE_STACK_H
#define SB_EXCHANGE_PICKLE_STACK_H

#include "base/map.h"
#include "exchange/pickle.h"

enum { SB_PICKLE_STACK_MOST = 1 << 16, SB_PICKLE_FREE = UINT32_MAX };

struct sb_pickle_reader {
	struct sb_foreign *source;
	const char *path;
	const struct sb_pickle_handler *handler;
	struct sb_strings *strings;
	uint64_t string_bytes;
	unsigned char *window;
	size_t at, end;
	uint64_t passed; /* bytes before the window */
	struct sb_pickle_value *stack;
	uint32_t depth;
	uint32_t *marks; /* where on the stack they are */
	uint32_t mark_count;
	struct sb_pickle_object *objects;
	uint32_t object_count, free_object; /* free ones are chained through `position` */
	uint64_t *
		low; /* the memo's low numbers, which come again and again: a value in eight bytes; 0: none */
	uint64_t low_room;
	struct sb_map memo; /* of the others: number -> index of kept */
	struct sb_pickle_value *kept;
	uint32_t kept_count, kept_room;
	uint64_t next_memo;
	uint64_t searched; /* places on the stack, for what is remembered and not yet put anywhere */
	int err;
};

/* The file is not what it should be: the first error stays. */
int sb_pickle_broken(struct sb_pickle_reader *r, const char *what);

static inline void sb_pickle_push(struct sb_pickle_reader *r, struct sb_pickle_value v)
{
	if (r->depth == SB_PICKLE_STACK_MOST)
		sb_pickle_broken(r, "nested too deep");
	else
		r->stack[r->depth++] = v;
}

void sb_pickle_push_mark(struct sb_pickle_reader *r);
void sb_pickle_push_object(struct sb_pickle_reader *r, bool is_list);

/* The values on top go into the container below them: all above the mark, or one item or pair. */
void sb_pickle_set_items(struct sb_pickle_reader *r, bool marked);
void sb_pickle_append_items(struct sb_pickle_reader *r, bool marked);

/* Values that are of no interest: the last so many, or all above the mark. */
void sb_pickle_make_tuple(struct sb_pickle_reader *r, bool marked, uint32_t values);

/* What stands for an object that is complete. */
struct sb_pickle_value sb_pickle_finish(
	struct sb_pickle_reader *r, const struct sb_pickle_value *v, const struct sb_pickle_object *parent);

/* What stands for a value where it is put into another. */
static inline struct sb_pickle_value sb_pickle_settle(
	struct sb_pickle_reader *r, const struct sb_pickle_value *v, const struct sb_pickle_object *parent)
{
	return v->kind == SB_PICKLE_OBJECT ? sb_pickle_finish(r, v, parent) : *v;
}

/* The value on top gets a number, and comes again by it. */
void sb_pickle_put_memo(struct sb_pickle_reader *r, uint64_t number);
void sb_pickle_get_kept(struct sb_pickle_reader *r, uint64_t number); /* not one of the low ones */

static inline void sb_pickle_get_memo(struct sb_pickle_reader *r, uint64_t number)
{
	uint64_t low = number < r->low_room ? r->low[number] : 0;

	if (low)
		sb_pickle_push(r, (struct sb_pickle_value){ .kind = low >> 48 & 0xff,
					  .tag = (uint32_t)(low >> 32) & 0xffff,
					  .number = (uint32_t)low });
	else
		sb_pickle_get_kept(r, number);
}

#endif
