/* What is written byte by byte as it was the last time is known without being read: programs that write
 * JSON repeat themselves. Members, and values of few kinds. */
#ifndef SB_BASE_JSONIN_HABIT_H
#define SB_BASE_JSONIN_HABIT_H

#include "base/jsonin.h"

#define SB_JSONIN_HABIT_BYTES 48u

/* How a member begins, at one place in objects that are alike. Of one reader. Zeroed: not known yet. */
struct sb_jsonin_habit {
	char bytes[SB_JSONIN_HABIT_BYTES]; /* from the end of the value before the member to its own value */
	uint8_t size, text_at, text_size;
	uint8_t state; /* the reader's, before them */
	uint8_t token; /* KEY or OBJECT_END */
	int64_t meaning; /* of the key, the caller's own word for it; 0: the key is new */
};

/* As sb_jsonin_next_member. */
enum sb_jsonin_token sb_jsonin_next_usual(struct sb_jsonin *p, struct sb_jsonin_habit *h);

/* A scalar. Of one reader. Zeroed: none yet. */
struct sb_jsonin_same {
	char bytes[32]; /* of the value, and the one behind a number, where it ends */
	uint8_t size; /* of the value */
	uint8_t compared;
	uint64_t meaning; /* the caller's own */
};

/* Passes over the next value if it is the same; false: it must be read. There is no token then. */
bool sb_jsonin_pass_same(struct sb_jsonin *p, const struct sb_jsonin_same *v);
/* As sb_jsonin_next_value, and keeps how it is written where it can, for a meaning that the caller sets. */
enum sb_jsonin_token sb_jsonin_learn_value(struct sb_jsonin *p, struct sb_jsonin_same *v);

#endif
