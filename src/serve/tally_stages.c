/* The stages of a tally: one per path of names, and a shared one where there are too many. */
#include "serve/tally_parts.h"

#include <ctype.h>
#include <string.h>

#define SEARCH_MAX (1ull << 24)

void sb_tally_refresh(struct sb_tally *t)
{
	t->search_left = SEARCH_MAX;
}

/* "block 12" -> "block *"; false: there is no number in it. */
static bool pattern_of(const char *name, char *out, size_t size)
{
	bool found = false;
	size_t used = 0;

	while (*name && used + 2 < size) {
		bool digit = isdigit((unsigned char)*name);

		out[used++] = digit ? '*' : *name++;
		while (digit && isdigit((unsigned char)*name))
			name++;
		found |= digit;
	}
	out[used] = '\0';
	return found;
}

uint32_t sb_tally_add_stage(struct sb_tally *t, uint32_t parent, uint32_t name, uint32_t text)
{
	struct sb_tally_stage *s = sb_vec_push(&t->stages, sizeof *s);

	if (!s) {
		t->no_memory = true;
		return 0;
	}
	s->parent = parent;
	s->name = name;
	s->text = text;
	for (size_t i = 0; i <= SB_TALLY_BOUNDS; i++)
		s->latest[i].ns = -1;
	return (uint32_t)t->stages.count - 1;
}

/* The stage that stands for many; made when first needed. */
static uint32_t shared_stage(struct sb_tally *t, uint32_t parent, const char *text)
{
	uint32_t number = sb_strings_add(&t->texts, text, strlen(text)), stage;
	uint64_t key = (uint64_t)parent << 32 | number | SB_TALLY_RECURSIVE; /* no name has that bit */

	if (sb_map_get(&t->children, key, &stage))
		return stage;
	stage = sb_tally_add_stage(t, parent, 0, number);
	sb_map_put(&t->children, key, stage);
	return stage;
}

static bool is_one_of_many(struct sb_tally *t, uint32_t parent, const char *name, char *pattern, size_t size)
{
	uint32_t number, count = 0;
	uint64_t key;

	if (!pattern_of(name, pattern, size))
		return false;
	number = sb_strings_add(&t->texts, pattern, strlen(pattern));
	key = (uint64_t)parent << 32 | number;
	sb_map_get(&t->patterns, key, &count);
	if (count >= SB_TALLY_SIBLINGS_MAX)
		return true;
	sb_map_put(&t->patterns, key, count + 1);
	return false;
}

static uint32_t new_stage(struct sb_tally *t, uint32_t parent, uint32_t name, bool own)
{
	char pattern[256];
	uint32_t far = 1;

	for (uint32_t up = own ? 0 : parent; up && sb_tally_may_look(t, far++);
		up = sb_tally_stage_at(t, up)->parent)
		if (sb_tally_stage_at(t, up)->name == name && name)
			return up | SB_TALLY_RECURSIVE;
	if (t->stages.count >= SB_TALLY_STAGES_MAX)
		return shared_stage(t, 0, "(other)");
	if (is_one_of_many(t, parent, sb_tally_name(t, name), pattern, sizeof pattern))
		return shared_stage(t, parent, pattern);
	return sb_tally_add_stage(t, parent, name, 0);
}

static uint32_t stage_of(struct sb_tally *t, uint32_t parent, uint32_t name, bool own)
{
	uint64_t key = (uint64_t)own << 63 | (uint64_t)(parent & ~SB_TALLY_RECURSIVE) << 32 | name;
	uint32_t stage;

	if (sb_map_get(&t->children, key, &stage))
		return stage;
	stage = new_stage(t, parent & ~SB_TALLY_RECURSIVE, name, own);
	if (!sb_map_put(&t->children, key, stage))
		t->no_memory = true;
	return stage;
}

uint32_t sb_tally_make_stage(struct sb_tally *t, uint32_t parent, uint32_t name)
{
	return stage_of(t, parent, name, false);
}

uint32_t sb_tally_stage_of_role(struct sb_tally *t, uint32_t parent, uint32_t name)
{
	return stage_of(t, parent, name, true);
}
