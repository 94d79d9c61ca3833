/* Totals of a stage log: what "ProPainter total:" takes from the lines before it, and what only says again
 * how long a stage took. */
#include "exchange/stagelog.h"

#include "base/filename.h"

#include "exchange/textlog.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NONE SB_TEXTLOG_NONE
#define PENDING_MAX 4096u /* lines back that a total takes from */
#define NUMBERS_TRIED 8 /* of the coded stages before a total */

static bool same_number(const char *a, const char *b)
{
	size_t n = strspn(a, "0123456789");

	return n && n == strspn(b, "0123456789") && !strncmp(a, b, n);
}

bool sb_stagelog_nearly(int64_t a_ns, int64_t b_ns)
{
	int64_t apart_ns = a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;

	return apart_ns <= 10000000 || apart_ns <= b_ns / 200;
}

bool sb_stagelog_is_pending(const struct sb_textlog *log, uint32_t i)
{
	return log->nodes[i].parent == log->banner && i != log->banner;
}

uint32_t sb_stagelog_first_pending(const struct sb_textlog *log, uint32_t before)
{
	uint32_t first = log->banner == NONE ? log->segment : log->banner + 1;

	return before - first > PENDING_MAX ? before - PENDING_MAX : first;
}

/* "Total upscaling: 10s" cannot hold "Total inpainting: 207s": it takes what came after that. */
static uint32_t first_that_fits(const struct sb_textlog *log, uint32_t first, uint32_t sum)
{
	int64_t pending_ns = 0, whole_ns = log->nodes[sum].line->duration_ns;
	uint32_t after_sum = first;

	for (uint32_t i = first; i < sum; i++) {
		if (!sb_stagelog_is_pending(log, i))
			continue;
		pending_ns += log->nodes[i].line->duration_ns;
		if (log->nodes[i].line->kind == SB_STAGELOG_SUM)
			after_sum = i + 1;
	}
	return pending_ns > whole_ns && !sb_stagelog_nearly(pending_ns, whole_ns) ? after_sum : first;
}

static int64_t pending_of_number(
	const struct sb_textlog *log, uint32_t first, uint32_t group, const char *number)
{
	int64_t sum_ns = 0;

	for (uint32_t i = first; i < group; i++)
		if (sb_stagelog_is_pending(log, i) && same_number(log->nodes[i].line->code, number))
			sum_ns += log->nodes[i].line->duration_ns;
	return sum_ns;
}

static int64_t longest_of_number(
	const struct sb_textlog *log, uint32_t first, uint32_t group, const char *number)
{
	int64_t longest_ns = 0;

	for (uint32_t i = first; i < group; i++)
		if (sb_stagelog_is_pending(log, i) && same_number(log->nodes[i].line->code, number) &&
			log->nodes[i].line->duration_ns > longest_ns)
			longest_ns = log->nodes[i].line->duration_ns;
	return longest_ns;
}

/* The number whose stages a group holds: the last one that is as long, else the last one that fits into it, else
 * the last one, unless one of its stages is longer than the group. NULL: none. */
static const char *number_of_group(struct sb_textlog *log, uint32_t first, uint32_t group)
{
	int64_t whole_ns = log->nodes[group].line->duration_ns;
	const char *last = NULL, *fits = NULL, *number = NULL;
	int tried = 0;

	for (uint32_t i = group; i-- > first && tried < NUMBERS_TRIED;) {
		int64_t sum_ns;

		if (!sb_stagelog_is_pending(log, i) || !*log->nodes[i].line->code ||
			(number && same_number(log->nodes[i].line->code, number)))
			continue;
		number = log->nodes[i].line->code;
		last = last ? last : number;
		sum_ns = pending_of_number(log, first, group, number);
		if (sb_stagelog_nearly(sum_ns, whole_ns))
			return number;
		fits = !fits && sum_ns < whole_ns ? number : fits;
		tried++;
	}
	if (!fits && last) {
		int64_t longest_ns = longest_of_number(log, first, group, last);

		log->nodes[group].alone = longest_ns > whole_ns && !sb_stagelog_nearly(longest_ns, whole_ns);
	}
	return fits ? fits : log->nodes[group].alone ? NULL : last;
}

/* "ProPainter total:" takes the coded stages of one number before it;
 * "Total inpainting:" takes all that stands before it. */
void sb_stagelog_adopt(struct sb_textlog *log, uint32_t group, bool everything)
{
	const char *number = NULL;
	uint32_t first = sb_stagelog_first_pending(log, group);

	if (everything)
		first = first_that_fits(log, first, group);
	else
		number = number_of_group(log, first, group);
	for (uint32_t i = first; i < group; i++)
		if (sb_stagelog_is_pending(log, i) &&
			(everything || (number && same_number(log->nodes[i].line->code, number))))
			sb_textlog_set_parent(log, group, i);
	if (log->banner != NONE)
		sb_textlog_set_parent(log, log->banner, group);
}

/* A total printed a second time, in a list at the end: nothing came between. */
static bool is_repeated(const struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	for (uint32_t i = log->count; i-- > sb_stagelog_first_pending(log, log->count);) {
		const struct sb_textlog_node *n = &log->nodes[i];

		if ((n->line->kind == SB_STAGELOG_GROUP || n->line->kind == SB_STAGELOG_SUM) &&
			!strcmp(n->line->name, line->name) &&
			sb_stagelog_nearly(n->line->duration_ns, line->duration_ns))
			return true;
		if (sb_stagelog_is_pending(log, i) && *n->line->code)
			return false;
	}
	return false;
}

/* What a TOTAL says in parentheses belongs to the stage as what its START said. */
static void merge_attrs(struct sb_stagelog_line *to, const struct sb_stagelog_line *from)
{
	for (size_t i = 0; i < from->attr_count; i++) {
		size_t at = 0;

		while (at < to->attr_count && strcmp(to->attrs[at].key, from->attrs[i].key))
			at++;
		if (at == SB_STAGELOG_ATTRS_MAX)
			continue;
		to->attrs[at] = from->attrs[i];
		if (at == to->attr_count)
			to->attr_count++;
	}
}

/* "[2a]" and "[2b]" are parts of a "[2]" around them that is as long or longer. */
static void adopt_lettered(struct sb_textlog *log, uint32_t node, uint32_t first)
{
	const struct sb_stagelog_line *line = log->nodes[node].line;
	size_t size = strlen(line->code);
	int64_t sum_ns = 0;

	if (strspn(line->code, "0123456789") != size)
		return;
	for (int adopting = 0; adopting < 2; adopting++) {
		for (uint32_t i = first; i < log->count; i++) {
			const char *code = log->nodes[i].line->code;

			if (i == node || !sb_stagelog_is_pending(log, i) || strncmp(code, line->code, size) ||
				!islower((unsigned char)code[size]))
				continue;
			if (adopting)
				sb_textlog_set_parent(log, node, i);
			else
				sum_ns += log->nodes[i].line->duration_ns;
		}
		if (sum_ns > line->duration_ns && !sb_stagelog_nearly(sum_ns, line->duration_ns))
			return;
	}
}

/* The time of a stage that a START or a heading opened, and its parts. */
void sb_stagelog_close(struct sb_textlog *log, uint32_t open, const struct sb_stagelog_line *line)
{
	struct sb_textlog_node *n = &log->nodes[open];

	if (n->line->kind == SB_STAGELOG_UNTIMED) { /* "[4f] Main inference: Full video pass" */
		log->untimed_count -= log->untimed_count > 0;
		snprintf(n->line->name, sizeof n->line->name, "%s", line->name);
	}
	n->line->kind = SB_STAGELOG_START;
	n->line->duration_ns = line->duration_ns;
	n->line->digit_ns = line->digit_ns;
	merge_attrs(n->line, line);
	n->ended = true;
	n->closed_ns = log->now_ns;
	adopt_lettered(log, open, open + 1);
}

/* "Denoising total:" of a list at the end, where "[3] Denoising" stands above: it says once more how long that took.
 * A stage of that name which was opened and has no time gets it. */
static bool totals_a_stage(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	uint32_t open = NONE, found = 0;
	int64_t sum_ns = 0;

	for (uint32_t i = sb_stagelog_first_pending(log, log->count); i < log->count; i++) {
		const struct sb_stagelog_line *one = log->nodes[i].line;

		if (!*one->code || one->kind == SB_STAGELOG_BANNER || strcasecmp(one->name, line->name))
			continue;
		if (sb_stagelog_is_opening(one) && !one->duration_ns && !log->nodes[i].ended)
			open = i;
		found += one->duration_ns > 0;
		sum_ns += one->duration_ns;
	}
	if (!found && open != NONE) {
		sb_stagelog_close(log, open, line);
		return true;
	}
	if (found && !sb_stagelog_nearly(sum_ns, line->duration_ns))
		sb_textlog_doubt(log, "%.60s took %.2f s in its line%s, its total says %.2f s; the line%s",
			line->name, (double)sum_ns / 1e9, found > 1 ? "s" : "",
			(double)line->duration_ns / 1e9, found > 1 ? "s count" : " counts");
	return found > 0;
}

bool sb_stagelog_says_again(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	return is_repeated(log, line) || totals_a_stage(log, line);
}

bool sb_stagelog_is_other_run(const char *text, char *out_name, size_t size)
{
	static const char *const words[] = { "BASELINE", "BEFORE", "AFTER" };
	bool ends = sb_ends_with(text, ":");

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t length = strlen(words[i]);
		const char *rest;
		int64_t ns;

		if (strncmp(text, words[i], length))
			continue;
		if (text[length] != ':' && !(text[length] == ' ' && ends && strlen(text) <= 80))
			continue;
		if (!ends &&
			sb_stagelog_duration(text + length + 1 + strspn(text + length + 1, " "), &ns, &rest))
			continue; /* a stage of that name */
		snprintf(out_name, size, "%.*s", (int)strlen(text) - ends, text);
		return true;
	}
	return false;
}
