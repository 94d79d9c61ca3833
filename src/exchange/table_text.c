/* Tables that strobe writes: its report and its journal in Markdown, the journal in the terminal, and the timeline of
 * strobe.compat's CacheEventRecorder. */
#include "base/error.h"
#include "exchange/textlog.h"
#include "strobe.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE SB_TEXTLOG_NONE
#define CELLS_MAX 64
#define CACHE_EVENTS_MAX 1000000

/* "| a | b |": cut in place. */
static size_t cut_cells(char *line, char **cells)
{
	size_t count = 0;

	if (*line != '|')
		return 0;
	for (char *at = line + 1; *at && count < CELLS_MAX;) {
		char *end = at;

		while (*end && (*end != '|' || end[-1] == '\\'))
			end++;
		if (!*end)
			break;
		*end = 0;
		at += strspn(at, " ");
		cells[count++] = at;
		for (char *last = end; last > at && last[-1] == ' ';)
			*--last = 0;
		at = end + 1;
	}
	return count;
}

static bool is_rule(const char *line)
{
	return *line == '|' && strspn(line, "|-: ") == strlen(line);
}

static int64_t nanoseconds(double s)
{
	return s > 0 && s < 1e8 ? (int64_t)(s * 1e9 + 0.5) : 0;
}

/* "[1b] Denoise", without what marks it. */
static void take_label(char *label, struct sb_stagelog_line *out)
{
	char *mark = strstr(label, " **"), *end = *label == '[' ? strchr(label, ']') : NULL;

	if (mark)
		*mark = 0;
	if (end && end - label - 1 < (ptrdiff_t)sizeof out->code) {
		snprintf(out->code, sizeof out->code, "%.*s", (int)(end - label - 1), label + 1);
		label = end + 1 + strspn(end + 1, " ");
	}
	snprintf(out->name, sizeof out->name, "%.200s", *label ? label : "?");
}

static int add_stage(struct sb_textlog *log, char *label, const char *time, const char *calls, uint32_t depth)
{
	struct sb_stagelog_line line = { .kind = SB_STAGELOG_TIMED, .calls = strtoll(calls, NULL, 10) };
	const char *rest;
	double seconds;
	uint32_t self, parent = NONE;
	int err;

	line.min_s = line.max_s = line.median_s = line.std_s = NAN;
	if (!sb_textlog_seconds(time, &seconds, &rest))
		return 0;
	line.duration_ns = nanoseconds(seconds);
	take_label(label, &line);
	err = sb_textlog_add(log, &line, &self);
	if (err)
		return err;
	log->stage_count++;
	log->timed_count++;
	log->nodes[self].depth = depth;
	for (uint32_t i = self; depth && parent == NONE && i-- > log->segment;)
		if (log->nodes[i].depth < depth)
			parent = i;
	if (parent != NONE)
		sb_textlog_set_parent(log, parent, self);
	return 0;
}

/* ---- the report in Markdown ---- */

/* "# strobe: a.log, exit 0, 4.00 s" has the run's length. */
static bool opens_markdown(struct sb_textlog *log, const char *line)
{
	const char *comma = strrchr(line, ','), *rest;
	double seconds;

	if (strncmp(line, "# strobe: ", 10) || !comma)
		return false;
	if (sb_textlog_seconds(comma + 1 + strspn(comma + 1, " "), &seconds, &rest) && !*rest)
		log->segment_whole_ns = nanoseconds(seconds);
	log->threads = true;
	log->form_node = 0; /* 1: in the table of the stages */
	return true;
}

/* To the end of the text: every line is the report's own. */
static bool markdown_row(struct sb_textlog *log, char *line, int *out_err)
{
	char *cells[CELLS_MAX];
	size_t count;
	uint32_t depth = 0;

	if (!strncmp(line, "| Stage (", 9) || *line != '|') {
		log->form_node = *line == '|';
		return true;
	}
	if (!log->form_node || is_rule(line))
		return true;
	count = cut_cells(line, cells);
	if (count < 5)
		return true;
	for (; !strncmp(cells[0], "\xe2\x80\xba ", 4); cells[0] += 4)
		depth++;
	*out_err = add_stage(log, cells[0], cells[1], cells[4], depth);
	return true;
}

const struct sb_textform sb_markdown_form = { "report in Markdown", opens_markdown, markdown_row };

/* ---- the journal: its newest step ---- */

enum { STEPS, STAGES };

static bool opens_journal(struct sb_textlog *log, const char *line)
{
	const char *text = line + strspn(line, " ");

	if (strncmp(text, "#  step ", 8) && strncmp(text, "| # | step | total |", 20))
		return false;
	log->threads = true;
	log->form_node = STEPS;
	return true;
}

/* The first cell from the left that is a time, behind the step's title. */
static void take_total(struct sb_textlog *log, const char *line)
{
	const char *rest;
	double seconds;

	for (const char *gap = strstr(line, "  "); gap; gap = strstr(gap + 2, "  ")) {
		const char *cell = gap + strspn(gap, " ");

		if (!isdigit((unsigned char)*cell) || !sb_textlog_seconds(cell, &seconds, &rest))
			continue;
		log->segment_whole_ns = nanoseconds(seconds);
		return;
	}
}

/* "[1b] Denoise    3.000s   4.000s (+1.000)": the last column. */
static int take_last_column(struct sb_textlog *log, char *line)
{
	char *paren = strrchr(line, '('), *end, *time, *name_end;

	if (paren && paren[strlen(paren) - 1] == ')' && (paren[1] == '+' || paren[1] == '-'))
		*paren = 0;
	for (end = line + strlen(line); end > line && end[-1] == ' ';)
		*--end = 0;
	time = strrchr(line, ' ');
	name_end = strstr(line, "  ");
	if (!time || !name_end || name_end > time)
		return 0;
	*name_end = 0;
	return add_stage(log, line, time + 1, "1", 0);
}

static int take_last_cell(struct sb_textlog *log, char *line)
{
	char *cells[CELLS_MAX];
	size_t count = cut_cells(line, cells);
	const char *rest;
	double seconds;

	if (count < 2)
		return 0;
	if (log->form_node == STAGES)
		return add_stage(log, cells[0], cells[count - 1], "1", 0);
	if (count > 2 && sb_textlog_seconds(cells[2], &seconds, &rest))
		log->segment_whole_ns = nanoseconds(seconds);
	return 0;
}

static bool journal_row(struct sb_textlog *log, char *line, int *out_err)
{
	bool table = *line == '|';

	if (!strncmp(line, "Stage  ", 7) || !strncmp(line, "| stage | step 0", 16))
		log->form_node = STAGES;
	else if (is_rule(line) || !*line)
		return true;
	else if (table)
		*out_err = take_last_cell(log, line);
	else if (log->form_node == STEPS && isdigit((unsigned char)line[strspn(line, " ")]))
		take_total(log, line + strspn(line, " "));
	else if (log->form_node == STAGES)
		*out_err = take_last_column(log, line);
	return true;
}

const struct sb_textform sb_journal_form = { "journal", opens_journal, journal_row };

/* ---- "| Time (s) | Frame | Cache | Details |" ---- */

static bool opens_cache(struct sb_textlog *log, const char *line)
{
	(void)log;
	return !strncmp(line, "| Time (s) | Frame | Cache | Details |", 38);
}

/* NaN: no number, or none that a cache could have. */
static double number_at(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	return end != text && fabs(value) < 1e15 ? value : NAN;
}

static double number_in(const char *details, const char *key)
{
	const char *at = strstr(details, key);

	return at ? number_at(at + strlen(key)) : NAN;
}

static bool ends_in_miss(const char *details)
{
	size_t size = strlen(details);

	return size >= 4 && !strcmp(details + size - 4, "miss") && (size == 4 || details[size - 5] == ' ');
}

static bool cache_row(struct sb_textlog *log, char *line, int *out_err)
{
	char *cells[CELLS_MAX], *end;
	struct strobe_cache_event *e;
	double time_s, *at;

	if (is_rule(line))
		return true;
	if (cut_cells(line, cells) != 4)
		return false;
	time_s = strtod(cells[0], &end);
	if (end == cells[0] || !(time_s >= 0 && time_s < 1e8) || log->caches.count == CACHE_EVENTS_MAX)
		return true;
	e = sb_vec_push(&log->caches, sizeof *e);
	at = e ? sb_vec_push(&log->cache_times, sizeof *at) : NULL;
	if (!at) {
		log->caches.count -= e != NULL;
		*out_err = sb_fail(STROBE_ENOMEM, "no memory to import");
		return true;
	}
	*at = time_s;
	*e = (struct strobe_cache_event){ .cache = strdup(*cells[2] ? cells[2] : "cache"),
		.kind = ends_in_miss(cells[3]) ? STROBE_CACHE_MISS : STROBE_CACHE_HIT,
		.count = 1,
		.size_bytes = -1,
		.score = number_in(cells[3], "score="),
		.threshold = number_in(cells[3], "threshold="),
		.frame = number_at(cells[1]),
		.chunk = -1 };
	if (!e->cache)
		*out_err = sb_fail(STROBE_ENOMEM, "no memory to import");
	log->form_count++;
	return true;
}

const struct sb_textform sb_cache_form = { "cache timeline", opens_cache, cache_row };
