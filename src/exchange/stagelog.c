/* Stage lines into the tree: which line opens, times, closes or holds which stage.
 * The same code is the same stage. */
#include "exchange/stagelog.h"

#include "base/error.h"
#include "exchange/textlog.h"

#include <stdio.h>
#include <string.h>

#define NONE SB_TEXTLOG_NONE
#define PENDING_MAX 4096u /* lines back that a part is looked for in */

/* ---- codes ---- */

static uint32_t code_number(struct sb_textlog *log, const char *code, size_t size)
{
	return sb_strings_add(&log->codes, code, size);
}

/* The latest node of this segment that a map has for a code. */
static uint32_t latest_of(const struct sb_textlog *log, const struct sb_map *map, uint32_t code)
{
	uint32_t node = NONE;

	return sb_map_get(map, code, &node) && node != NONE && node >= log->segment ? node : NONE;
}

static uint32_t latest_of_code(struct sb_textlog *log, const char *code)
{
	return latest_of(log, &log->latest, code_number(log, code, strlen(code)));
}

/* "4f.2" belongs to "4f": the latest one of this segment. */
static uint32_t find_code_parent(struct sb_textlog *log, const char *code)
{
	const char *dot = strrchr(code, '.');

	return dot ? latest_of(log, &log->latest, code_number(log, code, (size_t)(dot - code))) : NONE;
}

/* A line that says a stage begins: "Starting…", or a heading without a time. */
bool sb_stagelog_is_opening(const struct sb_stagelog_line *line)
{
	return line->kind == SB_STAGELOG_START || (line->kind == SB_STAGELOG_UNTIMED && !*line->bad_time);
}

/* The latest opening of a code that has no time yet; the next time takes the one before. */
static uint32_t take_open(struct sb_textlog *log, const char *code)
{
	uint32_t number = code_number(log, code, strlen(code));
	uint32_t open = latest_of(log, &log->latest_open, number);

	if (open != NONE)
		sb_map_put(&log->latest_open, number, log->nodes[open].earlier_open);
	return open;
}

static int remember_code(struct sb_textlog *log, uint32_t node)
{
	const struct sb_stagelog_line *line = log->nodes[node].line;
	uint32_t number = code_number(log, line->code, strlen(line->code));
	bool ok = sb_map_put(&log->latest, number, node);

	if (sb_stagelog_is_opening(line)) {
		log->nodes[node].earlier_open = latest_of(log, &log->latest_open, number);
		ok = ok && sb_map_put(&log->latest_open, number, node);
	}
	return ok ? 0 : sb_fail(STROBE_ENOMEM, "no memory to import");
}

/* "[4f]" after its parts: those since the last "[4f]" that stand beside it. */
static void adopt_parts(struct sb_textlog *log, uint32_t node, uint32_t before)
{
	const char *code = log->nodes[node].line->code;
	size_t size = strlen(code);
	uint32_t first = sb_stagelog_first_pending(log, node);

	if (before != NONE && before >= first)
		first = before + 1;
	for (uint32_t i = first; i < node; i++)
		if (sb_stagelog_is_pending(log, i) && !strncmp(log->nodes[i].line->code, code, size) &&
			log->nodes[i].line->code[size] == '.')
			sb_textlog_set_parent(log, node, i);
}

/* "[4f] TOTAL" holds the timed lines of its own code before it. */
static void adopt_same_code(struct sb_textlog *log, uint32_t total)
{
	const char *code = log->nodes[total].line->code;

	for (uint32_t i = sb_stagelog_first_pending(log, total); i < total; i++) {
		struct sb_textlog_node *n = &log->nodes[i];

		if (n->line->kind == SB_STAGELOG_TIMED && !n->ended && !strcmp(n->line->code, code) &&
			n->parent == log->nodes[total].parent)
			n->ended = sb_textlog_set_parent(log, total, i);
	}
}

/* ---- coded lines ---- */

static void take_frames(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	for (size_t i = 0; i < line->attr_count; i++)
		if (!strcmp(line->attrs[i].key, "frames") && line->attrs[i].is_int &&
			line->attrs[i].i > log->most_frames)
			log->most_frames = line->attrs[i].i;
}

static bool has_time(const struct sb_stagelog_line *line)
{
	return line->kind == SB_STAGELOG_TOTAL || line->kind == SB_STAGELOG_TIMED;
}

/* "[3b]" once more in the breakdown, or a TOTAL that repeats the one timed line of its code. */
static bool repeats_code(struct sb_textlog *log, const struct sb_stagelog_line *line, uint32_t before)
{
	const struct sb_stagelog_line *first = before == NONE ? NULL : log->nodes[before].line;

	if (!first || !first->duration_ns || !has_time(line))
		return false;
	if (log->in_breakdown && !sb_stagelog_nearly(line->duration_ns, first->duration_ns))
		sb_textlog_doubt(log,
			"[%s] took %.2f s in its line, %.2f s in the breakdown; the line counts", line->code,
			(double)first->duration_ns / 1e9, (double)line->duration_ns / 1e9);
	return log->in_breakdown ||
	       (line->kind == SB_STAGELOG_TOTAL && sb_stagelog_nearly(line->duration_ns, first->duration_ns));
}

static int take_coded(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	uint32_t before = latest_of_code(log, line->code);
	uint32_t open = has_time(line) ? take_open(log, line->code) : NONE;
	uint32_t node, parent;
	int err;

	take_frames(log, line);
	if (open != NONE) {
		sb_stagelog_close(log, open, line);
		return 0;
	}
	if (repeats_code(log, line, before))
		return 0;
	parent = find_code_parent(log, line->code);
	err = sb_textlog_add(log, line, &node);
	if (!err)
		err = remember_code(log, node);
	if (err)
		return err;
	if (parent == NONE)
		parent = log->banner;
	if (parent != NONE)
		sb_textlog_set_parent(log, parent, node);
	if (has_time(line))
		adopt_parts(log, node, before);
	if (line->kind == SB_STAGELOG_TOTAL)
		adopt_same_code(log, node);
	return 0;
}

/* ---- the breakdown ---- */

/* "[3] Inpainting: 207.52s" gives the banner [3/5] its time. */
static bool time_banner(struct sb_textlog *log, const struct sb_stagelog_line *line, uint32_t first)
{
	for (uint32_t i = first; i < log->count; i++) {
		struct sb_textlog_node *n = &log->nodes[i];

		if (n->line->kind != SB_STAGELOG_BANNER || n->ended || strcmp(n->line->code, line->code))
			continue;
		n->line->duration_ns = line->duration_ns;
		n->line->digit_ns = line->digit_ns;
		if (*line->name && strcmp(line->name, line->code))
			snprintf(n->line->name, sizeof n->line->name, "%s", line->name);
		n->ended = n->part = true;
		return true;
	}
	return false;
}

static int take_breakdown(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	uint32_t first = log->count - log->segment > PENDING_MAX ? log->count - PENDING_MAX : log->segment;
	uint32_t node, best = NONE;
	int err;

	if (time_banner(log, line, first))
		return 0;
	err = sb_textlog_add(log, line, &node);
	if (err)
		return err;
	log->nodes[node].part = true;
	/* No banners: what was timed in detail lies in the part that is just as long. */
	for (uint32_t i = first; i < node; i++) {
		const struct sb_textlog_node *n = &log->nodes[i];

		if (n->parent == NONE && n->line->kind == SB_STAGELOG_SUM &&
			n->line->duration_ns <= line->duration_ns &&
			n->line->duration_ns >= line->duration_ns - line->duration_ns / 20)
			best = i;
	}
	if (best != NONE)
		sb_textlog_set_parent(log, node, best);
	return 0;
}

/* ---- one function per kind of line ---- */

static int take_nothing(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	(void)log;
	(void)line;
	return 0;
}

static int take_stage(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	log->stage_count++;
	log->skipped_count += line->kind == SB_STAGELOG_SKIPPED;
	log->untimed_count += line->kind == SB_STAGELOG_UNTIMED;
	if (log->in_breakdown && line->kind == SB_STAGELOG_TIMED &&
		!strpbrk(line->code, "abcdefghijklmnopqrstuvwxyz."))
		return take_breakdown(log, line);
	return take_coded(log, line);
}

static int take_video(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	for (size_t i = 0; i < line->attr_count; i++) {
		if (!strcmp(line->attrs[i].key, "frames"))
			sb_textlog_add_frames(log, line->attrs[i].i);
		else if (!strcmp(line->attrs[i].key, "fps"))
			log->fps = line->attrs[i].f;
	}
	log->has_video = true;
	return 0;
}

static int take_breakdown_heading(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	(void)line;
	log->in_breakdown = true;
	log->banner = NONE;
	return 0;
}

static int take_whole(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	log->segment_whole_ns = line->duration_ns;
	log->segment_digit_ns = line->digit_ns;
	log->stage_count++;
	sb_textlog_end_segment(log);
	return 0;
}

static int take_banner(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	uint32_t node;
	int err;

	if (log->in_breakdown)
		return 0;
	log->banner = NONE;
	err = sb_textlog_add(log, line, &node);
	if (!err)
		log->banner = node;
	return err;
}

static int take_total(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	uint32_t node;
	int err;

	log->stage_count++;
	if (log->in_breakdown || sb_stagelog_says_again(log, line))
		return 0;
	err = sb_textlog_add(log, line, &node);
	if (!err)
		sb_stagelog_adopt(log, node, line->kind == SB_STAGELOG_SUM);
	return err;
}

/* "BASELINE:", "AFTER OPTIMIZATION 1:": what follows is another run of the same stages. */
static int take_other_run(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	(void)line;
	sb_textlog_end_segment(log);
	return 0;
}

typedef int take_fn(struct sb_textlog *log, const struct sb_stagelog_line *line);
static take_fn *const takers[] = {
	[SB_STAGELOG_NOTHING] = take_nothing,
	[SB_STAGELOG_TIMED] = take_stage,
	[SB_STAGELOG_START] = take_stage,
	[SB_STAGELOG_TOTAL] = take_stage,
	[SB_STAGELOG_SKIPPED] = take_stage,
	[SB_STAGELOG_UNTIMED] = take_stage,
	[SB_STAGELOG_GROUP] = take_total,
	[SB_STAGELOG_SUM] = take_total,
	[SB_STAGELOG_WHOLE] = take_whole,
	[SB_STAGELOG_BANNER] = take_banner,
	[SB_STAGELOG_BREAKDOWN] = take_breakdown_heading,
	[SB_STAGELOG_VIDEO] = take_video,
	[SB_STAGELOG_OTHER_RUN] = take_other_run,
};

static void note_bad_time(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	if (log->bad_count++)
		return;
	log->bad_line = log->line_count + 1;
	snprintf(log->bad_time, sizeof log->bad_time, "%s%s%s%s", *line->code ? "[" : "", line->code,
		*line->code ? "] " : "", line->bad_time);
}

int sb_stagelog_take(struct sb_textlog *log, const struct sb_stagelog_line *line)
{
	if (*line->bad_time)
		note_bad_time(log, line);
	if (line->digit_ns > log->digit_ns && line->kind != SB_STAGELOG_NOTHING)
		log->digit_ns = line->digit_ns;
	return takers[line->kind](log, line);
}
