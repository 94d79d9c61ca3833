/* Reads strobe's own report as text (timing_summary.txt): the stage tree has the totals, the table
 * before it each stage's extremes, and its "wall" row the run's length. All else in the text says
 * the same once more, or cannot be kept. */
#include "base/error.h"
#include "base/filename.h"
#include "exchange/textlog.h"
#include "strobe.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MAX 48
#define NONE SB_TEXTLOG_NONE

enum section { TABLE, TREE, LOOPS, REST };

struct tokens {
	char *at[TOKENS_MAX]; /* into the line, which is cut up */
	size_t offsets[TOKENS_MAX];
	int count;
};

static void split(char *text, struct tokens *out)
{
	char *save = NULL, *begin = text;

	out->count = 0;
	for (char *t = strtok_r(text, " \t\r", &save); t && out->count < TOKENS_MAX;
		t = strtok_r(NULL, " \t\r", &save)) {
		out->offsets[out->count] = (size_t)(t - begin);
		out->at[out->count++] = t;
	}
}

/* "96.0ms", "0s"; NaN: "-" and whatever else. */
static double time_of(const char *number, const char *unit)
{
	char text[64];
	const char *rest;
	double value;

	snprintf(text, sizeof text, "%.40s%.10s", number, unit);
	if (isdigit((unsigned char)*text) && sb_ends_with(text, "ns"))
		return strtod(text, NULL) / 1e9;
	return isdigit((unsigned char)*text) && sb_textlog_seconds(text, &value, &rest) && !*rest ? value
												  : NAN;
}

static int64_t nanoseconds(double s)
{
	return s >= 0 && s < 1e8 ? (int64_t)(s * 1e9 + 0.5) : 0;
}

static bool is_count(const char *token)
{
	return *token && strspn(token, "0123456789") == strlen(token) && strlen(token) < 16;
}

static bool is_share(const char *token)
{
	return (isdigit((unsigned char)*token) || *token == '<') && strchr(token, '%') != NULL;
}

/* "[4c] VAE encode (3 open)" without its remark; the code apart. */
static void take_label(const char *text, size_t size, struct sb_stagelog_line *out)
{
	char label[sizeof out->name + sizeof out->code + 4];
	char *name = label, *end, *remark;

	snprintf(label, sizeof label, "%.*s", (int)size, text);
	for (size_t n = strlen(label); n && label[n - 1] == ' ';)
		label[--n] = 0;
	remark = strrchr(label, '(');
	if (remark && remark > label + 1 &&
		(strstr(remark, " open)") || strstr(remark, " recursive)") || strstr(remark, " names)")))
		remark[-1] = 0;
	end = *label == '[' ? strchr(label, ']') : NULL;
	if (end && end - label - 1 < (ptrdiff_t)sizeof out->code) {
		snprintf(out->code, sizeof out->code, "%.*s", (int)(end - label - 1), label + 1);
		name = end + 1 + strspn(end + 1, " ");
	}
	snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, *name ? name : "?");
}

/* ---- the table: name, count, total (two words), mean, min, max, p50, p95, p99, last, share ---- */

static int take_operation(struct sb_textlog *log, const char *line, const struct tokens *t)
{
	struct sb_textlog_operation *to;
	char *const *last = t->at + t->count;

	if (t->count >= 3 && !strcmp(t->at[0], "unattributed") && !isnan(time_of(t->at[1], t->at[2])))
		log->covered_ns = -nanoseconds(time_of(t->at[1], t->at[2]));
	if (t->count == 3 && !strcmp(t->at[0], "wall")) {
		log->segment_whole_ns = nanoseconds(time_of(t->at[1], t->at[2]));
		log->covered_ns += log->segment_whole_ns;
		return 0;
	}
	if (t->count < 12 || !is_share(last[-1]) || !is_count(last[-11]) ||
		isnan(time_of(last[-10], last[-9])))
		return 0;
	to = sb_vec_push(&log->operations, sizeof *to);
	if (!to)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	take_label(line, t->offsets[t->count - 11], &to->line);
	to->line.calls = strtoll(last[-11], NULL, 10);
	to->total_s = time_of(last[-10], last[-9]);
	to->line.min_s = time_of(last[-7], "");
	to->line.max_s = time_of(last[-6], "");
	to->line.median_s = time_of(last[-5], "");
	return 0;
}

/* A row of the table may be "outer/inner" of the tree's "inner". */
static const struct sb_textlog_operation *operation_of(
	const struct sb_textlog *log, const struct sb_stagelog_line *line, double total_s)
{
	const struct sb_textlog_operation *all = log->operations.items;

	for (size_t i = 0; i < log->operations.count; i++) {
		const char *name = all[i].line.name, *inner = strrchr(name, '/');

		if (all[i].line.calls == line->calls && all[i].total_s == total_s &&
			(!strcmp(name, line->name) || (inner && !strcmp(inner + 1, line->name))))
			return &all[i];
	}
	return NULL;
}

/* ---- the tree: name, total, share, self, GPU time where there is any, calls, remarks ---- */

/* Where the calls stand behind the share; 0: this is no row. */
static int calls_after(const struct tokens *t, int share)
{
	int at = share + 3;

	if (at < t->count && !strcmp(t->at[at], "-"))
		at++;
	else if (at + 2 < t->count && !isnan(time_of(t->at[at], t->at[at + 1])))
		at += 2;
	return at < t->count && is_count(t->at[at]) && !isnan(time_of(t->at[share + 1], t->at[share + 2]))
		       ? at
		       : 0;
}

/* The share's place, with a time before it. */
static int find_share(const struct tokens *t, int *out_calls)
{
	for (int i = 3; i + 3 < t->count; i++) {
		*out_calls = is_share(t->at[i]) ? calls_after(t, i) : 0;
		if (*out_calls && !isnan(time_of(t->at[i - 2], t->at[i - 1])))
			return i;
	}
	return -1;
}

/* The row around one of this depth: the last that is less deep. */
static uint32_t around(const struct sb_textlog *log, uint32_t self, uint32_t depth)
{
	for (uint32_t i = self; i-- > log->segment;)
		if (log->nodes[i].depth < depth)
			return i;
	return NONE;
}

/* "[8] inner      SKIPPED (off)", "[4d] Copy   untimed" */
static bool read_without_time(const char *line, struct sb_stagelog_line *out)
{
	const char *word = strstr(line, "  SKIPPED ("), *end = word ? strrchr(word, ')') : NULL;
	const char *untimed = strstr(line, "  untimed");

	if (untimed) {
		out->kind = SB_STAGELOG_UNTIMED;
		take_label(line, (size_t)(untimed - line), out);
		return true;
	}
	if (!end)
		return false;
	out->kind = SB_STAGELOG_SKIPPED;
	take_label(line, (size_t)(word - line), out);
	snprintf(out->reason, sizeof out->reason, "%.*s", (int)(end - word - 11), word + 11);
	return true;
}

static void take_extremes(const struct sb_textlog_operation *op, struct sb_stagelog_line *out)
{
	out->min_s = op ? op->line.min_s : NAN;
	out->max_s = op ? op->line.max_s : NAN;
	out->median_s = op ? op->line.median_s : NAN;
}

static int take_stage(struct sb_textlog *log, const char *line, const struct tokens *t)
{
	struct sb_stagelog_line stage = { .kind = SB_STAGELOG_TIMED, .std_s = NAN };
	uint32_t depth = (uint32_t)strspn(line, " "), self, parent;
	double total_s;
	int calls, at = find_share(t, &calls), err;

	if (at < 0 && !read_without_time(line + depth, &stage))
		return 0;
	if (at >= 0) {
		take_label(line + depth, t->offsets[at - 2] - depth, &stage);
		stage.calls = strtoll(t->at[calls], NULL, 10);
		total_s = time_of(t->at[at - 2], t->at[at - 1]);
		stage.duration_ns = nanoseconds(total_s);
		take_extremes(operation_of(log, &stage, total_s), &stage);
	}
	log->skipped_count += stage.kind == SB_STAGELOG_SKIPPED;
	log->untimed_count += stage.kind == SB_STAGELOG_UNTIMED;
	err = sb_textlog_add(log, &stage, &self);
	if (err)
		return err;
	log->stage_count++;
	log->nodes[self].depth = depth;
	parent = around(log, self, depth);
	if (parent != NONE)
		sb_textlog_set_parent(log, parent, self);
	return 0;
}

/* ---- loops: name, count, mean, median, std (each two words) ---- */

static void take_loop(struct sb_textlog *log, const char *line, const struct tokens *t)
{
	struct sb_stagelog_line loop = { 0 };
	int at = 1;

	while (at < t->count && !is_count(t->at[at]))
		at++;
	if (at + 2 >= t->count || isnan(time_of(t->at[at + 1], t->at[at + 2])))
		return;
	take_label(line + strspn(line, " "), t->offsets[at] - strspn(line, " "), &loop);
	loop.calls = strtoll(t->at[at], NULL, 10);
	for (uint32_t i = log->segment; i < log->count; i++) {
		struct sb_textlog_node *n = &log->nodes[i];

		if (strcmp(n->line->name, loop.name) || n->line->calls != loop.calls)
			continue;
		n->role = STROBE_ROLE_ITERATION;
		if (at + 6 < t->count)
			n->line->std_s = time_of(t->at[at + 5], t->at[at + 6]);
	}
}

/* ---- the form ---- */

static bool opens(struct sb_textlog *log, const char *line)
{
	if (strncmp(line, "Operation ", 10) || !strstr(line, " Count ") || !strstr(line, " p99 ") ||
		!strstr(line, " share"))
		return false;
	log->form_node = TABLE;
	log->threads = true;
	return true;
}

static bool begins_section(struct sb_textlog *log, const char *line)
{
	static const struct {
		const char *words;
		enum section section;
	} headings[] = { { "Stage tree ", TREE }, { "Iterations ", LOOPS } };

	if (!*line || *line == ' ')
		return false;
	for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++)
		if (!strncmp(line, headings[i].words, strlen(headings[i].words))) {
			log->form_node = headings[i].section;
			return true;
		}
	if (log->form_node != TABLE)
		log->form_node = REST;
	return false;
}

/* "16 frames (the generations' own number)" */
static void take_frames(struct sb_textlog *log, const struct tokens *t)
{
	if (t->count < 3 || !is_count(t->at[0]) || strcmp(t->at[1], "frames") || t->at[2][0] != '(' ||
		log->has_video)
		return;
	sb_textlog_add_frames(log, strtoll(t->at[0], NULL, 10));
	log->has_video = true;
}

/* "  [3b] RAFT optical flow (12 iters): 95.32s": what the tree does not say of a stage. */
static void take_numbers(struct sb_textlog *log, const char *line)
{
	struct sb_stagelog_line parsed;
	char copy[4097];

	if (line[strspn(line, " ")] != '[')
		return;
	snprintf(copy, sizeof copy, "%s", line);
	sb_stagelog_parse(copy, &parsed);
	for (uint32_t i = log->segment; *parsed.code && parsed.attr_count && i < log->count; i++) {
		struct sb_stagelog_line *to = log->nodes[i].line;

		if (strcmp(to->code, parsed.code) || to->attr_count)
			continue;
		memcpy(to->attrs, parsed.attrs, sizeof to->attrs);
		to->attr_count = parsed.attr_count;
		return;
	}
}

/* To the end of the text: every line of the report is its own. */
static bool row(struct sb_textlog *log, char *line, int *out_err)
{
	char copy[4097];
	struct tokens t;

	if (begins_section(log, line))
		return true;
	snprintf(copy, sizeof copy, "%s", line);
	split(copy, &t);
	switch (log->form_node) {
	case TABLE: *out_err = take_operation(log, line, &t); break;
	case TREE: *out_err = take_stage(log, line, &t); break;
	case LOOPS: take_loop(log, line, &t); break;
	default:
		take_frames(log, &t);
		take_numbers(log, line);
		break;
	}
	return true;
}

const struct sb_textform sb_report_form = { "report", opens, row };
