/* Reads the same JSON twice, token by token, and compares: as it comes, and by habits from bytes that are lent. */
#ifndef HABIT_WALK_H
#define HABIT_WALK_H

#include "base/error.h"
#include "base/jsonin.h"
#include "base/jsonin_habit.h"
#include "text_source.h"

#include <stdio.h>
#include <string.h>

#define LENT_MAX 512u

/* Lends step bytes at a time, from one place and then from another. */
struct lender {
	struct text_source text;
	char room[2][SB_JSONIN_UNREAD_MAX + LENT_MAX + SB_JSONIN_AFTER];
	unsigned turn;
};

static ssize_t lender_read(void *source, char *to, size_t size)
{
	return text_source_read(&((struct lender *)source)->text, to, size);
}

static bool lender_lend(void *source, const char *unread, size_t unread_size, struct sb_jsonin_lent *out_lent)
{
	struct lender *l = source;
	char *bytes = l->room[l->turn ^= 1] + SB_JSONIN_UNREAD_MAX;
	ssize_t size = text_source_read(&l->text, bytes, LENT_MAX);

	if (size <= 0)
		return false;
	memcpy(bytes - unread_size, unread, unread_size);
	memset(bytes + size, 'x', SB_JSONIN_AFTER); /* what is behind them says nothing */
	*out_lent = (struct sb_jsonin_lent){ bytes, (size_t)size, 0 };
	for (ssize_t i = 0; i < size; i++)
		out_lent->lines += bytes[i] == '\n';
	return true;
}

struct habit_walk {
	struct sb_jsonin_habit habits[8];
	struct sb_jsonin_same same[8];
	bool in_object[SB_JSONIN_DEPTH_MAX + 1];
	bool after_key;
	bool passed; /* the value was the same: there is no token */
};

static enum sb_jsonin_token walk_value(
	struct habit_walk *w, struct sb_jsonin *p, uint64_t expected, bool expected_cut)
{
	struct sb_jsonin_same *same = &w->same[p->depth % 8];
	enum sb_jsonin_token token;

	if (p->depth % 3 == 2)
		return sb_jsonin_next_value(p);
	w->passed = sb_jsonin_pass_same(p, same);
	if (w->passed && expected_cut)
		return SB_JSONIN_STRING;
	if (w->passed)
		return same->meaning == expected ? SB_JSONIN_STRING : SB_JSONIN_ERROR;
	token = sb_jsonin_learn_value(p, same);
	same->meaning = expected;
	return token;
}

static uint64_t meaning_of(const struct sb_jsonin *p, enum sb_jsonin_token token)
{
	uint64_t h = (uint64_t)token;

	for (size_t i = 0; i < p->size; i++)
		h = (h ^ (unsigned char)p->text[i]) * 0x100000001b3u;
	return h;
}

/* expected: the other reader, which is one token ahead. */
static enum sb_jsonin_token walk_next(struct habit_walk *w, struct sb_jsonin *p,
	const struct sb_jsonin *expected, enum sb_jsonin_token token)
{
	bool object = p->depth && w->in_object[p->depth], after_key = w->after_key;

	w->passed = false;
	w->after_key = token == SB_JSONIN_KEY;
	if (token == SB_JSONIN_OBJECT || token == SB_JSONIN_ARRAY)
		w->in_object[expected->depth] = token == SB_JSONIN_OBJECT;
	if (after_key)
		return walk_value(w, p, meaning_of(expected, token), expected->cut);
	if (object)
		return sb_jsonin_next_usual(p, &w->habits[p->depth % 8]);
	return p->depth ? sb_jsonin_next_element(p) : sb_jsonin_next(p);
}

static bool same_token(const struct habit_walk *w, const struct sb_jsonin *a, enum sb_jsonin_token token,
	const struct sb_jsonin *b, enum sb_jsonin_token other)
{
	if (w->passed)
		return other != SB_JSONIN_ERROR && (token == SB_JSONIN_STRING || token == SB_JSONIN_NUMBER);
	if (token != other || a->depth != b->depth || a->token_offset != b->token_offset)
		return token == SB_JSONIN_ERROR && other == SB_JSONIN_ERROR;
	if ((token == SB_JSONIN_KEY || token == SB_JSONIN_STRING) && a->cut)
		return b->cut; /* how much is kept hangs on the reads, by some bytes */
	if (token == SB_JSONIN_KEY || token == SB_JSONIN_STRING || token == SB_JSONIN_NUMBER)
		return a->size == b->size && !memcmp(a->text, b->text, a->size) &&
		       (token == SB_JSONIN_NUMBER || !b->cut);
	return true;
}

/* False: the two differ. step: bytes of one read. */
static bool reads_the_same_by_habit(const char *text, size_t size, size_t step, size_t string_limit)
{
	struct text_source source = { text, size, step };
	struct lender lender = { .text = { text, size, step < LENT_MAX ? step : LENT_MAX } };
	struct habit_walk w = { 0 };
	struct sb_jsonin a, b;
	enum sb_jsonin_token token, other;
	char message[600] = "";
	bool same = !sb_jsonin_init(&a, "in", string_limit, text_source_read, &source) &&
		    !sb_jsonin_init(&b, "in", string_limit, lender_read, &lender);

	b.lend = lender_lend;
	do {
		token = sb_jsonin_next(&a);
		if (token == SB_JSONIN_ERROR)
			snprintf(message, sizeof message, "%s", sb_error_message());
		other = walk_next(&w, &b, &a, token);
		same = same && same_token(&w, &a, token, &b, other);
	} while (same && token > 0);
	if (same && token == SB_JSONIN_ERROR)
		same = !strcmp(message, sb_error_message());
	sb_jsonin_done(&a);
	sb_jsonin_done(&b);
	return same;
}

#endif
