/* One line of a stage log: which kind, which stage, how long. */
#include "exchange/stagelog.h"

#include "base/filename.h"

#include "exchange/text_clean.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DURATION_NS_MAX 1e17 /* three years: no stage of a video pipeline, and sums stay within 64 bits */

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	*end = 0;
	return s;
}

/* ---- the time at the end of a line ---- */

enum time_found { NO_TIME, BAD_TIME, GOOD_TIME };

/* "16.47s", "812 ms", "4.7 min". A number with a unit that no stage can take ("-1s", "nan s") is a bad time. */
static enum time_found parse_part(const char *s, int64_t *out_ns, double *out_unit_ns, const char **out_rest)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "seconds", 1e9 }, { "second", 1e9 }, { "secs", 1e9 }, { "sec", 1e9 }, { "ms", 1e6 },
		{ "minutes", 6e10 }, { "min", 6e10 }, { "us", 1e3 }, { "s", 1e9 }, { "h", 3.6e12 },
		{ "m", 6e10 } };
	char *end;
	double value;

	while (*s == ' ')
		s++;
	value = strtod(s, &end);
	if (end == s)
		return NO_TIME;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		size_t n = strlen(units[i].unit);

		if (strncasecmp(end, units[i].unit, n) || isalpha((unsigned char)end[n]) ||
			(isdigit((unsigned char)end[n]) && units[i].ns < 6e10))
			continue;
		*out_rest = end + n;
		*out_unit_ns = units[i].ns;
		if (!(value >= 0) || !(value * units[i].ns < DURATION_NS_MAX))
			return BAD_TIME;
		*out_ns = (int64_t)(value * units[i].ns + 0.5);
		return GOOD_TIME;
	}
	return NO_TIME;
}

/* One part or several, each of a smaller unit than the one before: "1h 2m 3.5s", "1m20s". */
static enum time_found parse_duration(const char *s, int64_t *out_ns, const char **out_rest)
{
	double unit_ns, part_unit_ns;
	int64_t part_ns;
	const char *part_rest;
	enum time_found found = parse_part(s, out_ns, &unit_ns, out_rest);

	while (found == GOOD_TIME && unit_ns >= 6e10 &&
		parse_part(*out_rest, &part_ns, &part_unit_ns, &part_rest) == GOOD_TIME &&
		part_unit_ns < unit_ns) {
		*out_ns += part_ns;
		*out_rest = part_rest;
		unit_ns = part_unit_ns;
	}
	return found;
}

bool sb_stagelog_duration(const char *s, int64_t *out_ns, const char **out_rest)
{
	return parse_duration(s, out_ns, out_rest) == GOOD_TIME;
}

/* The time from s to rest with a one in its last place and noughts before. */
int64_t sb_stagelog_last_digit(const char *s, const char *rest)
{
	char text[64];
	size_t size = (size_t)(rest - s), last = 0;
	const char *end;
	int64_t digit_ns;

	if (size >= sizeof text)
		return 0;
	for (size_t i = 0; i < size; i++) {
		text[i] = isdigit((unsigned char)s[i]) ? '0' : s[i];
		last = isdigit((unsigned char)s[i]) ? i : last;
	}
	text[last] = '1';
	text[size] = 0;
	return sb_stagelog_duration(text, &digit_ns, &end) ? digit_ns : 0;
}

/* What may follow a time: nothing, an arrow, a remark in parentheses. */
static bool is_remark(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return !*s || *s == '(' || *s == '<' || *s == '-' || *s == '=' || *s == '#' || *s == '*' ||
	       !strncmp(s, "\xe2\x86\x90", 3) || !strncmp(s, "\xe2\x97\x80", 3) ||
	       !strncmp(s, "\xe2\xac\x85", 3);
}

/* Cuts ": 16.47s <- BOTTLENECK" off the end; a bad time is cut off and kept apart. */
static bool cut_duration(char *s, struct sb_stagelog_line *line)
{
	const char *rest;
	int64_t duration_ns = 0;

	for (char *colon = s + strlen(s); colon > s; colon--) {
		enum time_found found = colon[-1] == ':' ? parse_duration(colon, &duration_ns, &rest)
							 : NO_TIME;

		if (found == NO_TIME || !is_remark(rest))
			continue;
		if (found == BAD_TIME) {
			while (*colon == ' ')
				*colon++ = 0;
			snprintf(line->bad_time, sizeof line->bad_time, "%.*s", (int)(rest - colon), colon);
			while (*--colon != ':')
				;
			*colon = 0;
			return false;
		}
		colon[-1] = 0;
		line->duration_ns = duration_ns;
		line->digit_ns = sb_stagelog_last_digit(colon, rest);
		return true;
	}
	return false;
}

/* ---- "(1339 frames, batch=4)" ---- */

/* One key however it was written. */
static const struct {
	const char *written;
	char kept[8];
} plurals[] = { { "iterations", "iters" }, { "iter", "iters" }, { "frame", "frames" }, { "step", "steps" } };

static bool parse_item(char *item, struct sb_stagelog_attr *out_attr)
{
	char *equals = strchr(item, '='), *number = equals ? equals + 1 : item, *key = item, *end;
	size_t size;

	if (equals)
		*equals = 0;
	number = trim(number);
	if (!isdigit((unsigned char)*number) && *number != '-')
		goto no;
	out_attr->f = strtod(number, &end);
	if (end == number)
		goto no;
	out_attr->is_int = strcspn(number, ".eE") >= (size_t)(end - number) && fabs(out_attr->f) < 9e15;
	out_attr->i = out_attr->is_int ? (int64_t)out_attr->f : 0;
	if (!equals)
		key = trim(end);
	else if (*trim(end))
		goto no;
	key = trim(key);
	size = strlen(key);
	if (!size || size >= sizeof out_attr->key || strpbrk(key, " /"))
		goto no;
	memcpy(out_attr->key, key, size + 1);
	for (size_t i = 0; i < sizeof plurals / sizeof plurals[0]; i++)
		if (!strcmp(key, plurals[i].written))
			strcpy(out_attr->key, plurals[i].kept);
	return true;
no:
	if (equals)
		*equals = '=';
	return false;
}

/* Numbers in the last parentheses become attributes, other words stay in the name. */
static void take_attrs(char *name, struct sb_stagelog_line *line)
{
	char *open = strrchr(name, '('), *save = NULL;
	char inside[256], left[256] = "";

	if (!open || !sb_ends_with(name, ")"))
		return;
	snprintf(inside, sizeof inside, "%.*s", (int)(strlen(open) - 2), open + 1);
	for (char *item = strtok_r(inside, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		char copy[256];

		snprintf(copy, sizeof copy, "%s", item);
		if (line->attr_count < SB_STAGELOG_ATTRS_MAX &&
			parse_item(copy, &line->attrs[line->attr_count])) {
			line->attr_count++;
			continue;
		}
		if (*left)
			strncat(left, ", ", sizeof left - strlen(left) - 1);
		strncat(left, trim(item), sizeof left - strlen(left) - 1);
	}
	if (!line->attr_count)
		return;
	*open = 0;
	trim(name);
	for (char *end = name + strlen(name); end > name && isspace((unsigned char)end[-1]);)
		*--end = 0;
	if (*left) {
		size_t used = strlen(name), room = used < 250 ? 250 - used : 0;

		if (room > 4)
			snprintf(name + used, room, " (%.*s)", (int)room - 4, left);
	}
}

/* ---- the bracket in front ---- */

/* "[4f.2]": digits, at most two letters, dotted numbers. */
static bool is_code(const char *s, size_t size)
{
	size_t i = 0;

	if (!size || size >= SB_STAGELOG_CODE_MAX || !isdigit((unsigned char)s[0]))
		return false;
	while (i < size && isdigit((unsigned char)s[i]))
		i++;
	for (size_t letters = 0; i < size && islower((unsigned char)s[i]) && letters < 2; letters++)
		i++;
	while (i + 1 < size && s[i] == '.' && isalnum((unsigned char)s[i + 1]))
		for (i++; i < size && isalnum((unsigned char)s[i]);)
			i++;
	return i == size;
}

/* "[3/5]" */
static bool is_banner(const char *s, size_t size)
{
	size_t slash = strspn(s, "0123456789");

	return slash && slash < 4 && slash + 1 < size && s[slash] == '/' &&
	       slash + 1 + strspn(s + slash + 1, "0123456789") == size;
}

/* A code with a letter somewhere behind a bracket: that one is a process or a rank, "[42] [3b] RAFT". */
static bool has_letter_code(const char *s)
{
	for (const char *open = strchr(s, '['); open; open = strchr(open + 1, '[')) {
		size_t size = strcspn(open + 1, "]");

		if (open[size + 1] == ']' && is_code(open + 1, size) && strspn(open + 1, "0123456789") < size)
			return true;
	}
	return false;
}

/* "frames[0]", "\"[3b]", "size()[1]" are code; a logger's "[INFO][3b]" and "root:[3b]" are not. */
static bool follows_code(const char *line, const char *open)
{
	while (open > line && open[-1] == ']') {
		const char *before = open - 1;

		while (before > line && *before != '[')
			before--;
		if (before == line || *before != '[')
			return *before != '[';
		open = before;
	}
	return open > line && (isalnum((unsigned char)open[-1]) || strchr("_)\"'`", open[-1]));
}

/* "[0] = 1", "[1], [2]", "[0]->count": no name begins so. */
static bool is_code_after(const char *text)
{
	return *text && (strchr("=,;.)]}+*/<>!&|?%\"'`\\", *text) || (*text == '-' && text[1] != ' '));
}

/* The text after the bracket, NULL when the line has none. */
static char *cut_bracket(char *line, struct sb_stagelog_line *out)
{
	for (char *open = strchr(line, '['); open; open = strchr(open + 1, '[')) {
		size_t size = strcspn(open + 1, "]");

		if (open[size + 1] != ']')
			return NULL;
		if (follows_code(line, open) ||
			is_code_after(open + size + 2 + strspn(open + size + 2, " \t")))
			continue;
		if (is_code(open + 1, size) && strspn(open + 1, "0123456789") == size &&
			has_letter_code(open + 1))
			continue;
		if (is_code(open + 1, size)) {
			memcpy(out->code, open + 1, size);
			out->code[size] = 0;
			return trim(open + size + 2);
		}
		if (is_banner(open + 1, size)) {
			out->kind = SB_STAGELOG_BANNER;
			snprintf(out->code, sizeof out->code, "%.*s", (int)strspn(open + 1, "0123456789"),
				open + 1);
			return trim(open + size + 2);
		}
	}
	return NULL;
}

static void set_name(struct sb_stagelog_line *out, const char *text)
{
	snprintf(out->name, sizeof out->name, "%s", text);
}

static void strip_dots(char *s)
{
	size_t n = strlen(s);

	while (n && (s[n - 1] == '.' || s[n - 1] == ':' || isspace((unsigned char)s[n - 1])))
		s[--n] = 0;
	if (n >= 3 && !strcmp(s + n - 3, "\xe2\x80\xa6"))
		s[n - 3] = 0;
}

static void parse_skipped(char *text, char *word, struct sb_stagelog_line *out)
{
	char *open = strchr(word, '('), *close = strrchr(word, ')');

	if (open && close > open)
		snprintf(out->reason, sizeof out->reason, "%.*s", (int)(close - open - 1), open + 1);
	*word = 0;
	strip_dots(text);
	out->kind = SB_STAGELOG_SKIPPED;
	set_name(out, trim(text));
}

/* The last word of a text, when it is that and not the only one. */
static bool cut_word(char *text, const char *word)
{
	size_t size = strlen(text), n = strlen(word);

	if (!sb_ends_with(text, word) || size == n || text[size - n - 1] != ' ')
		return false;
	text[size - n] = 0;
	for (size -= n; size && isspace((unsigned char)text[size - 1]);)
		text[--size] = 0;
	return true;
}

/* Cuts ":   ___s (Δ: ___)" off: the line of a sheet that is not filled in. */
static void cut_blank(char *text)
{
	for (char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':'))
		if (!strncmp(colon + 1 + strspn(colon + 1, " \t"), "__", 2)) {
			*colon = 0;
			return;
		}
}

static void parse_coded(char *text, struct sb_stagelog_line *out)
{
	char *word = strstr(text, "SKIPPED");

	cut_blank(text);
	if (word) {
		parse_skipped(text, word, out);
		return;
	}
	if (cut_duration(text, out)) {
		out->kind = SB_STAGELOG_TIMED;
	} else if (*out->bad_time) {
		out->kind = SB_STAGELOG_UNTIMED;
	} else if ((word = strstr(text, "Starting")) || sb_ends_with(text, "...") ||
		   sb_ends_with(text, "\xe2\x80\xa6")) {
		out->kind = SB_STAGELOG_START;
		if (word && word > text)
			*word = 0;
		strip_dots(text);
	} else {
		out->kind = SB_STAGELOG_UNTIMED;
	}
	/* "NAME (16 frames) TOTAL" and "NAME TOTAL (16 frames)" */
	text = trim(text);
	take_attrs(text, out);
	if ((cut_word(text, "TOTAL") || cut_word(text, "Total") || cut_word(text, "total")) &&
		out->kind == SB_STAGELOG_TIMED) {
		out->kind = SB_STAGELOG_TOTAL;
		take_attrs(text, out);
	}
	set_name(out, trim(text));
	if (!*out->name)
		set_name(out, out->code);
}

/* ---- lines without a code ---- */

static void parse_video(char *text, struct sb_stagelog_line *out)
{
	char *save = NULL;

	for (char *item = strtok_r(text, ",", &save); item; item = strtok_r(NULL, ",", &save))
		if (out->attr_count < SB_STAGELOG_ATTRS_MAX && parse_item(item, &out->attrs[out->attr_count]))
			out->attr_count++;
	if (out->attr_count)
		out->kind = SB_STAGELOG_VIDEO;
}

static void parse_plain(char *text, struct sb_stagelog_line *out)
{
	char *colon;
	bool timed;

	if ((*text == '-' || *text == '*') && text[1] == ' ') /* a list's bullet */
		text = trim(text + 1);
	if (sb_stagelog_is_other_run(text, out->name, sizeof out->name)) {
		out->kind = SB_STAGELOG_OTHER_RUN;
		return;
	}

	if (!strncmp(text, "Video:", 6)) {
		parse_video(text + 6, out);
		return;
	}
	if (strstr(text, "TIMING BREAKDOWN")) {
		out->kind = SB_STAGELOG_BREAKDOWN;
		return;
	}
	timed = cut_duration(text, out);
	text = trim(text);
	colon = text + strlen(text);
	if (!timed) { /* what is no total may say what it likes */
		if (strncasecmp(text, "TOTAL", 5) && (colon - text <= 6 || strcasecmp(colon - 6, " total")))
			out->bad_time[0] = 0;
		return;
	}
	if (!strcasecmp(text, "TOTAL TIME") || !strcasecmp(text, "TOTAL")) {
		out->kind = SB_STAGELOG_WHOLE;
	} else if (colon - text > 6 && !strcasecmp(colon - 6, " total")) {
		colon[-6] = 0;
		if (strncmp(text, "Self ", 5)) /* "Self CUDA time total": torch.profiler's foot */
			out->kind = SB_STAGELOG_GROUP;
	} else if (!strncasecmp(text, "Total ", 6)) {
		text += 6;
		out->kind = SB_STAGELOG_SUM;
	}
	set_name(out, trim(text));
}

static bool is_no_stage(const char *line, const struct sb_stagelog_line *out)
{
	bool untimed = out->kind == SB_STAGELOG_UNTIMED && !*out->bad_time;

	return (untimed && sb_text_is_prose(line)) || sb_text_is_reference(out->code, out->name);
}

void sb_stagelog_parse(char *line, struct sb_stagelog_line *out_line)
{
	char *text;

	memset(out_line, 0, sizeof *out_line);
	out_line->min_s = out_line->max_s = out_line->median_s = out_line->std_s = NAN;
	line = sb_text_message(line);
	text = cut_bracket(line, out_line);
	if (!text) {
		parse_plain(trim(line), out_line);
	} else if (out_line->kind == SB_STAGELOG_BANNER) {
		strip_dots(text);
		set_name(out_line, text);
	} else {
		parse_coded(text, out_line);
		if (is_no_stage(line, out_line))
			out_line->kind = SB_STAGELOG_NOTHING;
	}
}
