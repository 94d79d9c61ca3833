/* Which line holds the lock that another line waits for: `with lock:` without CPU time, while a line of
 * another thread is in the body of a `with` of the same name. */
#include "advise/locks.h"

#include "base/python_block.h"

#include <ctype.h>
#include <string.h>

#define COMPUTES 0.5 /* of the time on a core, in what a sample weighs: other lines are in it too */
#define SAMPLES_LEAST 2
enum { NAME_BYTES = 64 };

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The last part of a dotted name that ends there: "lock" of "self.lock". False: it is no plain name. */
static bool take_name(const char *begin, const char *end, char *out)
{
	const char *from = end;

	while (from > begin && is_of_name(from[-1]))
		from--;
	for (const char *c = begin; c < from; c++)
		if (!is_of_name(*c) && *c != '.')
			return false;
	if (from == end || end - from >= NAME_BYTES)
		return false;
	memcpy(out, from, (size_t)(end - from));
	out[end - from] = 0;
	return true;
}

/* "lock" of `with self.lock:` and of `lock.acquire()`. */
static bool lock_of(const char *text, char *out)
{
	const char *end = text ? strstr(text, ".acquire(") : NULL, *begin;

	if (end) {
		for (begin = end; begin > text && (is_of_name(begin[-1]) || begin[-1] == '.');)
			begin--;
		return take_name(begin, end, out);
	}
	if (!text || strncmp(text, "with ", 5) != 0)
		return false;
	end = text + 5 + strcspn(text + 5, ":, ");
	return (*end == ':' || *end == ',') && take_name(text + 5, end, out);
}

static bool waits(const struct sb_line *l)
{
	return l->cpu_of_s > 0 && l->cpu_s < COMPUTES * l->cpu_of_s;
}

static bool is_meanwhile(const struct sb_line *a, const struct sb_line *b)
{
	return a->from_s < b->to_s && b->from_s < a->to_s;
}

const struct sb_line *sb_lock_holder(const struct sb_model *model, const struct sb_line *line)
{
	const struct sb_line *most = NULL;
	char name[NAME_BYTES];

	if (!waits(line) || !lock_of(line->text, name))
		return NULL;
	for (size_t i = 0; i < model->lines.count; i++) {
		const struct sb_line *l = &model->lines.all[i];

		if (l->track != line->track && l->text && !l->changed && l->sample_count >= SAMPLES_LEAST &&
			is_meanwhile(l, line) && (!most || l->total_s > most->total_s) &&
			sb_python_is_inside_with(l->file, l->line, name))
			most = l;
	}
	return most;
}
