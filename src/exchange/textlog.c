/* The tree of stages that a text tells of. */
#include "exchange/textlog.h"

#include "base/error.h"
#include "base/room.h"
#include "strobe.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 1000000u
#define NONE SB_TEXTLOG_NONE
#define HEIGHT_MAX 64u /* "Total NAME:" lines that hold each other */

int sb_textlog_add(struct sb_textlog *log, const struct sb_stagelog_line *line, uint32_t *out_node)
{
	struct sb_textlog_node *n;

	if (log->count == NODES_MAX)
		return sb_fail(STROBE_EFORMAT, "more than %u stage lines", NODES_MAX);
	if (!SB_MAKE_ROOM(log->nodes, log->count, log->capacity))
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	n = &log->nodes[log->count];
	*n = (struct sb_textlog_node){
		.parent = NONE, .first_child = NONE, .last_child = NONE, .next = NONE, .earlier_open = NONE
	};
	n->line = malloc(sizeof *n->line);
	if (!n->line)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	*n->line = *line;
	n->seen_ns = log->now_ns;
	*out_node = log->count++;
	return 0;
}

int sb_textlog_add_sums(struct sb_textlog *log, const struct sb_textlog_sums *sums, uint32_t *out_node)
{
	struct sb_stagelog_line line = { .kind = SB_STAGELOG_TIMED,
		.calls = sums->calls,
		.min_s = sums->min_s,
		.max_s = sums->max_s,
		.median_s = sums->median_s,
		.std_s = NAN };
	int err;

	snprintf(line.name, sizeof line.name, "%s", *sums->name ? sums->name : "?");
	if (sums->total_s >= 0 && sums->total_s < 1e8)
		line.duration_ns = (int64_t)(sums->total_s * 1e9 + 0.5);
	else
		line.kind = SB_STAGELOG_UNTIMED;
	log->form_count++;
	err = sb_textlog_add(log, &line, out_node);
	if (!err)
		log->nodes[*out_node].sums = true;
	return err;
}

int64_t sb_textlog_duration(const struct sb_textlog_node *n)
{
	return n->line->duration_ns > n->children_ns ? n->line->duration_ns : n->children_ns;
}

bool sb_textlog_set_parent(struct sb_textlog *log, uint32_t parent, uint32_t child)
{
	struct sb_textlog_node *p = &log->nodes[parent];

	/* What a segment before this one has is summed up and linked already. */
	if (parent == child || parent < log->segment || child < log->segment)
		return false;
	if (log->nodes[child].height >= HEIGHT_MAX)
		return false;
	log->nodes[child].parent = parent;
	if (p->height <= log->nodes[child].height)
		p->height = log->nodes[child].height + 1;
	return true;
}

void sb_textlog_add_frames(struct sb_textlog *log, int64_t frames)
{
	if (frames > 0 && log->frames < INT64_MAX / 4 && frames < INT64_MAX / 4)
		log->frames += frames;
}

void sb_textlog_doubt(struct sb_textlog *log, const char *words, ...)
{
	va_list args;

	if (log->doubts.count++)
		return;
	va_start(args, words);
	vsnprintf(log->doubts.first, sizeof log->doubts.first, words, args);
	va_end(args);
}

/* ---- the end of a segment ---- */

/* Past SB_TEXTLOG_NS_MAX everything is that: the import is refused then. */
static int64_t plus(int64_t a_ns, int64_t b_ns)
{
	return a_ns > SB_TEXTLOG_NS_MAX - b_ns ? SB_TEXTLOG_NS_MAX : a_ns + b_ns;
}

/* Children follow one another as their lines do. */
static void link_children(struct sb_textlog *log)
{
	for (uint32_t i = log->segment; i < log->count; i++) {
		struct sb_textlog_node *n = &log->nodes[i];

		n->first_child = n->last_child = n->next = NONE;
	}
	for (uint32_t i = log->segment; i < log->count; i++) {
		uint32_t parent = log->nodes[i].parent;
		struct sb_textlog_node *p = parent == NONE ? NULL : &log->nodes[parent];

		if (!p)
			continue;
		if (p->last_child == NONE)
			p->first_child = i;
		else
			log->nodes[p->last_child].next = i;
		p->last_child = i;
	}
}

/* Children before parents: nodes of a parent may stand before or after it. */
static int64_t sum_children(struct sb_textlog *log, uint32_t node)
{
	struct sb_textlog_node *n = &log->nodes[node];

	n->children_ns = 0;
	for (uint32_t c = n->first_child; c != NONE; c = log->nodes[c].next)
		n->children_ns = plus(n->children_ns, sum_children(log, c));
	return sb_textlog_duration(n);
}

static int64_t sum_roots(struct sb_textlog *log)
{
	int64_t sum = 0;

	for (uint32_t i = log->segment; i < log->count; i++)
		if (log->nodes[i].parent == NONE)
			sum = plus(sum, sum_children(log, i));
	return sum;
}

/* More than printed digits explain: half a percent, or a hundredth of a second for each. */
static bool exceeds(int64_t sum_ns, int64_t whole_ns, uint32_t summands)
{
	int64_t slack_ns = whole_ns / 200, digits_ns = 10000000 * (int64_t)(summands + 1);

	return sum_ns > plus(whole_ns, slack_ns > digits_ns ? slack_ns : digits_ns);
}

static uint32_t child_count(const struct sb_textlog *log, uint32_t node)
{
	uint32_t count = 0;

	for (uint32_t c = log->nodes[node].first_child; c != NONE; c = log->nodes[c].next)
		count++;
	return count;
}

/* A breakdown's parts are the whole. Stages timed in detail outside them lie in one
 * of them: in the shortest that can hold them. */
static void put_details_into_a_part(struct sb_textlog *log)
{
	int64_t details_ns = 0, best_ns = INT64_MAX;
	uint32_t best = NONE;

	for (uint32_t i = log->segment; i < log->count; i++)
		if (log->nodes[i].parent == NONE && !log->nodes[i].part)
			details_ns = plus(details_ns, sb_textlog_duration(&log->nodes[i]));
	for (uint32_t i = log->segment; i < log->count; i++) {
		const struct sb_textlog_node *n = &log->nodes[i];

		if (n->part && n->parent == NONE && n->first_child == NONE &&
			n->line->duration_ns >= details_ns && n->line->duration_ns < best_ns) {
			best = i;
			best_ns = n->line->duration_ns;
		}
	}
	for (uint32_t i = log->segment; best != NONE && i < log->count; i++)
		if (log->nodes[i].parent == NONE && !log->nodes[i].part)
			sb_textlog_set_parent(log, best, i);
	link_children(log);
}

/* A heading whose parts have times is a stage that has the time of its parts. */
static void end_headings(struct sb_textlog *log)
{
	for (uint32_t i = log->segment; i < log->count; i++) {
		struct sb_textlog_node *n = &log->nodes[i];

		if (n->line->kind == SB_STAGELOG_UNTIMED && n->children_ns > 0) {
			n->line->kind = SB_STAGELOG_START;
			log->untimed_count -= log->untimed_count > 0;
		}
		if (n->line->kind == SB_STAGELOG_START && !n->ended)
			log->unended_count++;
	}
}

static void say_contradictions(struct sb_textlog *log, int64_t sum_ns)
{
	uint32_t roots = 0;

	for (uint32_t i = log->segment; i < log->count; i++) {
		const struct sb_textlog_node *n = &log->nodes[i];
		const struct sb_stagelog_line *line = n->line;

		roots += n->parent == NONE;
		if (line->duration_ns && exceeds(n->children_ns, line->duration_ns, child_count(log, i)))
			sb_textlog_doubt(log,
				"the parts of %s%s%s%.60s take %.2f s, its total says %.2f s; "
				"the longer is taken",
				*line->code ? "[" : "", line->code, *line->code ? "] " : "", line->name,
				(double)n->children_ns / 1e9, (double)line->duration_ns / 1e9);
		if (n->alone && !(log->segment_whole_ns && sb_stagelog_nearly(sum_ns, log->segment_whole_ns)))
			sb_textlog_doubt(log,
				"the total of %.60s, %.2f s, is less than a stage before it; it is taken as "
				"a "
				"stage of its own",
				line->name, (double)line->duration_ns / 1e9);
	}
	if (log->segment_whole_ns && exceeds(sum_ns, log->segment_whole_ns, roots))
		sb_textlog_doubt(log,
			"the stages take %.2f s together, TOTAL TIME says %.2f s; the longer is "
			"taken",
			(double)sum_ns / 1e9, (double)log->segment_whole_ns / 1e9);
}

void sb_textlog_end_segment(struct sb_textlog *log)
{
	int64_t sum_ns;

	link_children(log);
	sum_ns = sum_roots(log);
	if (log->in_breakdown && log->segment_whole_ns && exceeds(sum_ns, log->segment_whole_ns, 0)) {
		put_details_into_a_part(log);
		sum_ns = sum_roots(log);
	}
	if (!log->threads && !log->now_ns) { /* lines taken as they were printed have times of their own */
		sb_textlog_fit_digits(log);
		sum_ns = sum_roots(log);
	}
	if (!log->has_video) /* a video's stages all have its frames: the most is what it has */
		sb_textlog_add_frames(log, log->most_frames);
	log->has_video = false;
	log->most_frames = 0;
	end_headings(log);
	say_contradictions(log, sum_ns);
	if (log->threads && log->segment_whole_ns)
		log->whole_ns = plus(log->whole_ns, log->segment_whole_ns);
	else
		log->whole_ns = plus(
			log->whole_ns, log->segment_whole_ns > sum_ns ? log->segment_whole_ns : sum_ns);
	if (log->count > log->segment && log->segment_whole_ns > sum_ns)
		log->nodes[log->count - 1].gap_ns = log->segment_whole_ns - sum_ns;
	log->segment = log->count;
	log->segment_whole_ns = log->segment_digit_ns = 0;
	log->banner = NONE;
	log->in_breakdown = false;
}

void sb_textlog_done(struct sb_textlog *log)
{
	for (uint32_t i = 0; i < log->count; i++)
		free(log->nodes[i].line);
	free(log->nodes);
	sb_strings_done(&log->codes);
	sb_map_done(&log->latest);
	sb_map_done(&log->latest_open);
	sb_vec_done(&log->loops);
	sb_vec_done(&log->memory);
	sb_vec_done(&log->samples);
	sb_vec_done(&log->variants);
	sb_vec_done(&log->operations);
	sb_vec_done(&log->differences);
	sb_vec_done(&log->missing);
	sb_vec_done(&log->speeds);
	sb_vec_done(&log->models);
	sb_vec_done(&log->gpu);
	sb_vec_done(&log->operators);
	for (size_t i = 0; i < log->caches.count; i++)
		free((char *)((struct strobe_cache_event *)log->caches.items)[i].cache);
	sb_vec_done(&log->caches);
	sb_vec_done(&log->cache_times);
	for (size_t i = 0; i < log->series.count; i++)
		free(((struct sb_textlog_series *)log->series.items)[i].values);
	sb_vec_done(&log->series);
}
