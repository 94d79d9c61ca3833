/* Stage logs in: the lines of hand-made timers, laid out on a made-up clock.
 * Children follow one another from their parent's begin, so that what the labels
 * leave open shows as the parent's own time. */
#include "exchange/stagelog.h"

#include "base/error.h"
#include "base/filename.h"
#include "base/map.h"
#include "base/strings.h"
#include "exchange/import.h"
#include "format/builder.h"
#include "format/run_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NODES_MAX 1000000u
#define LINE_MAX_BYTES 4096u
#define NONE UINT32_MAX
#define HEIGHT_MAX 64u /* "Total NAME:" lines that hold each other */
#define PENDING_MAX 4096u /* lines back that a total takes from */
#define WHOLE_NS_MAX ((int64_t)4000000000000000000) /* 126 years: within 64 bits */

struct node {
	struct sb_stagelog_line *line;
	uint32_t parent, first_child, last_child, next; /* the links are made when a segment ends */
	uint32_t height; /* levels below it, the nearest ones */
	uint32_t earlier_start; /* START lines: the one of its code before it */
	int64_t children_ns;
	int64_t gap_ns; /* after it: what a segment's TOTAL TIME leaves open */
	bool ended; /* its TOTAL was seen */
};

struct log {
	struct node *nodes;
	uint32_t count, capacity;
	uint32_t segment; /* first node since the last TOTAL TIME */
	uint32_t banner; /* the open banner, NONE */
	bool in_breakdown;
	struct sb_strings codes;
	struct sb_map latest, latest_start; /* code -> its latest node, its latest START */
	int64_t whole_ns; /* of the segments that had a TOTAL TIME */
	int64_t segment_whole_ns; /* 0: none given */
	int64_t frames; /* of all videos */
	bool has_video; /* this segment said its frames itself */
	int64_t most_frames; /* that a stage of this segment had */
	double fps;
	uint64_t bad_count, bad_line; /* times that are none; the first one's line */
	char bad_time[64];
	uint64_t line_count, stage_count, skipped_count, untimed_count;
	uint64_t unended_count;
};

/* ---- the tree ---- */

static int add_node(struct log *log, const struct sb_stagelog_line *line, uint32_t *out_node)
{
	struct node *n;

	if (log->count == NODES_MAX)
		return sb_fail(STROBE_EFORMAT, "more than %u stage lines", NODES_MAX);
	if (log->count == log->capacity) {
		uint32_t capacity = log->capacity ? log->capacity * 2 : 64;
		struct node *nodes = realloc(log->nodes, capacity * sizeof *nodes);

		if (!nodes)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		log->nodes = nodes;
		log->capacity = capacity;
	}
	n = &log->nodes[log->count];
	*n = (struct node){
		.parent = NONE, .first_child = NONE, .last_child = NONE, .next = NONE, .earlier_start = NONE
	};
	n->line = malloc(sizeof *n->line);
	if (!n->line)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	*n->line = *line;
	*out_node = log->count++;
	return 0;
}

static int64_t duration_of(const struct node *n)
{
	return n->line->duration_ns > n->children_ns ? n->line->duration_ns : n->children_ns;
}

static bool set_parent(struct log *log, uint32_t parent, uint32_t child)
{
	struct node *p = &log->nodes[parent];

	if (log->nodes[child].height >= HEIGHT_MAX)
		return false;
	log->nodes[child].parent = parent;
	if (p->height <= log->nodes[child].height)
		p->height = log->nodes[child].height + 1;
	return true;
}

/* Children follow one another as their lines do. */
static void link_children(struct log *log)
{
	for (uint32_t i = log->segment; i < log->count; i++) {
		struct node *p = log->nodes[i].parent == NONE ? NULL : &log->nodes[log->nodes[i].parent];

		if (!p)
			continue;
		if (p->last_child == NONE)
			p->first_child = i;
		else
			log->nodes[p->last_child].next = i;
		p->last_child = i;
	}
}

static uint32_t code_number(struct log *log, const char *code, size_t size)
{
	return sb_strings_add(&log->codes, code, size);
}

/* The latest node of this segment that a map has for a code. */
static uint32_t latest_of(const struct log *log, const struct sb_map *map, uint32_t code)
{
	uint32_t node = NONE;

	return sb_map_get(map, code, &node) && node != NONE && node >= log->segment ? node : NONE;
}

/* "4f.2" belongs to "4f": the latest one of this segment. */
static uint32_t find_code_parent(struct log *log, const char *code)
{
	const char *dot = strrchr(code, '.');

	return dot ? latest_of(log, &log->latest, code_number(log, code, (size_t)(dot - code))) : NONE;
}

/* The latest START of a code that has no TOTAL yet; the next TOTAL takes the one before. */
static uint32_t take_open(struct log *log, const char *code)
{
	uint32_t number = code_number(log, code, strlen(code));
	uint32_t start = latest_of(log, &log->latest_start, number);

	if (start != NONE)
		sb_map_put(&log->latest_start, number, log->nodes[start].earlier_start);
	return start;
}

static int remember_code(struct log *log, uint32_t node)
{
	const struct sb_stagelog_line *line = log->nodes[node].line;
	uint32_t number = code_number(log, line->code, strlen(line->code));
	bool ok = sb_map_put(&log->latest, number, node);

	if (line->kind == SB_STAGELOG_START) {
		log->nodes[node].earlier_start = latest_of(log, &log->latest_start, number);
		ok = ok && sb_map_put(&log->latest_start, number, node);
	}
	return ok ? 0 : sb_fail(STROBE_ENOMEM, "no memory to import");
}

static bool same_number(const char *a, const char *b)
{
	size_t n = strspn(a, "0123456789");

	return n && n == strspn(b, "0123456789") && !strncmp(a, b, n);
}

static bool is_pending(const struct log *log, uint32_t i)
{
	return log->nodes[i].parent == log->banner && i != log->banner;
}

/* "ProPainter total:" takes the coded stages of the last number before it;
 * "Total inpainting:" takes all that stands before it. */
static void adopt(struct log *log, uint32_t group, bool everything)
{
	const char *number = NULL;
	uint32_t first = log->banner == NONE ? log->segment : log->banner + 1;

	if (group - first > PENDING_MAX)
		first = group - PENDING_MAX;
	for (uint32_t i = group; i-- > first && !number;)
		if (is_pending(log, i) && *log->nodes[i].line->code)
			number = log->nodes[i].line->code;
	for (uint32_t i = first; i < group; i++)
		if (is_pending(log, i) &&
			(everything || (number && same_number(log->nodes[i].line->code, number))))
			set_parent(log, group, i);
	if (log->banner != NONE)
		set_parent(log, log->banner, group);
}

/* ---- lines ---- */

static void take_frames(struct log *log, const struct sb_stagelog_line *line)
{
	for (size_t i = 0; i < line->attr_count; i++)
		if (!strcmp(line->attrs[i].key, "frames") && line->attrs[i].is_int &&
			line->attrs[i].i > log->most_frames)
			log->most_frames = line->attrs[i].i;
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

static int take_coded(struct log *log, const struct sb_stagelog_line *line)
{
	uint32_t open = line->kind == SB_STAGELOG_TOTAL ? take_open(log, line->code) : NONE;
	uint32_t node, parent;
	int err;

	take_frames(log, line);
	if (open != NONE) {
		log->nodes[open].line->duration_ns = line->duration_ns;
		merge_attrs(log->nodes[open].line, line);
		log->nodes[open].ended = true;
		return 0;
	}
	parent = find_code_parent(log, line->code);
	err = add_node(log, line, &node);
	if (!err)
		err = remember_code(log, node);
	if (err)
		return err;
	if (parent == NONE)
		parent = log->banner;
	if (parent != NONE)
		set_parent(log, parent, node);
	return 0;
}

/* "[3] Inpainting: 207.52s" gives the banner [3/5] its time, or is a part itself. */
static int take_breakdown(struct log *log, const struct sb_stagelog_line *line)
{
	uint32_t first = log->count - log->segment > PENDING_MAX ? log->count - PENDING_MAX : log->segment;
	uint32_t node, best = NONE;
	int err;

	for (uint32_t i = first; i < log->count; i++) {
		struct node *n = &log->nodes[i];

		if (n->line->kind == SB_STAGELOG_BANNER && !n->ended && !strcmp(n->line->code, line->code)) {
			n->line->duration_ns = line->duration_ns;
			n->ended = true;
			return 0;
		}
	}
	log->banner = NONE;
	err = add_node(log, line, &node);
	if (err)
		return err;
	/* No banners: what was timed in detail lies in the part that is just as long. */
	for (uint32_t i = first; i < node; i++) {
		const struct node *n = &log->nodes[i];

		if (n->parent == NONE && n->line->kind == SB_STAGELOG_SUM &&
			n->line->duration_ns <= line->duration_ns &&
			n->line->duration_ns >= line->duration_ns - line->duration_ns / 20)
			best = i;
	}
	if (best != NONE)
		set_parent(log, node, best);
	return 0;
}

static void end_segment(struct log *log);

static void add_frames(struct log *log, int64_t frames)
{
	if (frames > 0 && log->frames < INT64_MAX / 4 && frames < INT64_MAX / 4)
		log->frames += frames;
}

static void note_bad_time(struct log *log, const struct sb_stagelog_line *line)
{
	if (log->bad_count++)
		return;
	log->bad_line = log->line_count + 1;
	snprintf(log->bad_time, sizeof log->bad_time, "%s%s%s%s", *line->code ? "[" : "", line->code,
		*line->code ? "] " : "", line->bad_time);
}

static int take_line(struct log *log, const struct sb_stagelog_line *line)
{
	uint32_t node;
	int err = 0;

	if (*line->bad_time)
		note_bad_time(log, line);

	switch (line->kind) {
	case SB_STAGELOG_NOTHING: return 0;
	case SB_STAGELOG_VIDEO:
		for (size_t i = 0; i < line->attr_count; i++) {
			if (!strcmp(line->attrs[i].key, "frames"))
				add_frames(log, line->attrs[i].i);
			else if (!strcmp(line->attrs[i].key, "fps"))
				log->fps = line->attrs[i].f;
		}
		log->has_video = true;
		return 0;
	case SB_STAGELOG_BREAKDOWN: log->in_breakdown = true; return 0;
	case SB_STAGELOG_WHOLE:
		log->segment_whole_ns = line->duration_ns;
		log->stage_count++;
		end_segment(log);
		return 0;
	case SB_STAGELOG_BANNER:
		if (log->in_breakdown)
			return 0;
		log->banner = NONE;
		err = add_node(log, line, &node);
		if (!err)
			log->banner = node;
		return err;
	case SB_STAGELOG_GROUP:
	case SB_STAGELOG_SUM:
		log->stage_count++;
		if (log->in_breakdown)
			return 0;
		err = add_node(log, line, &node);
		if (!err)
			adopt(log, node, line->kind == SB_STAGELOG_SUM);
		return err;
	default: break;
	}
	log->stage_count++;
	log->skipped_count += line->kind == SB_STAGELOG_SKIPPED;
	log->untimed_count += line->kind == SB_STAGELOG_UNTIMED;
	if (log->in_breakdown && line->kind == SB_STAGELOG_TIMED &&
		!strpbrk(line->code, "abcdefghijklmnopqrstuvwxyz."))
		return take_breakdown(log, line);
	return take_coded(log, line);
}

/* Past WHOLE_NS_MAX everything is that: the import is refused then. */
static int64_t plus(int64_t a_ns, int64_t b_ns)
{
	return a_ns > WHOLE_NS_MAX - b_ns ? WHOLE_NS_MAX : a_ns + b_ns;
}

/* Children before parents: nodes of a parent may stand before or after it. */
static int64_t sum_children(struct log *log, uint32_t node)
{
	struct node *n = &log->nodes[node];

	n->children_ns = 0;
	for (uint32_t c = n->first_child; c != NONE; c = log->nodes[c].next)
		n->children_ns = plus(n->children_ns, sum_children(log, c));
	return duration_of(n);
}

static void end_segment(struct log *log)
{
	int64_t sum = 0;

	link_children(log);
	if (!log->has_video) /* a video's stages all have its frames: the most is what it has */
		add_frames(log, log->most_frames);
	log->has_video = false;
	log->most_frames = 0;
	for (uint32_t i = log->segment; i < log->count; i++) {
		const struct node *n = &log->nodes[i];

		if (n->parent == NONE)
			sum = plus(sum, sum_children(log, i));
		if (n->line->kind == SB_STAGELOG_START && !n->ended)
			log->unended_count++;
	}
	log->whole_ns = plus(log->whole_ns, log->segment_whole_ns > sum ? log->segment_whole_ns : sum);
	if (log->count > log->segment && log->segment_whole_ns > sum)
		log->nodes[log->count - 1].gap_ns = log->segment_whole_ns - sum;
	log->segment = log->count;
	log->segment_whole_ns = 0;
	log->banner = NONE;
	log->in_breakdown = false;
}

/* ---- reading ---- */

static int read_lines(struct sb_source *source, const char *path, struct log *log)
{
	char line[LINE_MAX_BYTES + 1];
	char block[65536];
	size_t used = 0;
	uint64_t offset = 0;
	ssize_t n;

	while ((n = sb_source_read(source, block, sizeof block)) > 0) {
		for (ssize_t i = 0; i < n; i++, offset++) {
			struct sb_stagelog_line parsed;
			int err;

			if (!block[i])
				return sb_fail(STROBE_EFORMAT,
					"'%s' line %llu, byte %llu: a NUL byte, this is not text", path,
					(unsigned long long)log->line_count + 1, (unsigned long long)offset);
			if (block[i] != '\n' && block[i] != '\r') {
				if (used < LINE_MAX_BYTES)
					line[used++] = block[i];
				continue;
			}
			line[used] = 0;
			used = 0;
			sb_stagelog_parse(line, &parsed);
			err = take_line(log, &parsed);
			log->line_count += block[i] == '\n';
			if (err)
				return err;
		}
	}
	if (n == 0 && used) {
		struct sb_stagelog_line parsed;

		int err;

		line[used] = 0;
		sb_stagelog_parse(line, &parsed);
		err = take_line(log, &parsed);
		log->line_count++;
		return err;
	}
	return n < 0 ? STROBE_EIO : 0;
}

/* ---- writing ---- */

struct clock {
	struct sb_builder *builder;
	struct sb_lane_writer *writer;
	const struct log *log;
};

static void put_attrs(struct clock *c, const struct node *n)
{
	const struct sb_stagelog_line *line = n->line;

	for (size_t i = 0; i < line->attr_count; i++) {
		uint32_t key = sb_builder_name(c->builder, line->attrs[i].key, NULL);

		if (line->attrs[i].is_int)
			sb_builder_attr(c->writer, key, line->attrs[i].i);
		else
			sb_builder_attr_float(c->writer, key, line->attrs[i].f);
	}
	if (line->kind == SB_STAGELOG_UNTIMED)
		sb_builder_attr(c->writer, SB_NAME_UNTIMED, 1);
	/* The children are longer than the total that was printed. */
	if (line->duration_ns && n->children_ns > line->duration_ns)
		sb_builder_attr_float(c->writer, SB_NAME_MEASURED, (double)line->duration_ns / 1e9);
}

static int64_t put_node(struct clock *c, uint32_t node, int64_t at_ns)
{
	const struct node *n = &c->log->nodes[node];
	const char *code = *n->line->code ? n->line->code : NULL;
	int64_t end_ns = at_ns + duration_of(n);
	int64_t child_ns = at_ns;
	uint32_t name;

	if (n->line->kind == SB_STAGELOG_SKIPPED) {
		sb_builder_skip(c->builder, (uint64_t)at_ns, n->line->name, code, n->line->reason);
		return at_ns;
	}
	name = sb_builder_name(c->builder, n->line->name, code);
	sb_builder_begin(c->writer, (uint64_t)at_ns, name);
	put_attrs(c, n);
	for (uint32_t child = n->first_child; child != NONE; child = c->log->nodes[child].next)
		child_ns = put_node(c, child, child_ns);
	sb_builder_end(c->writer, (uint64_t)end_ns, name);
	return end_ns;
}

static int write_log(const struct log *log, const char *path, const char *strobe_path, const char *note)
{
	struct clock c = { .log = log };
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	int64_t at_ns = 0;
	struct stat st;
	int err;

	o.name = sb_filename_of(path);
	o.host = "imported";
	o.chunk_bytes = SB_CHUNK_BYTES_SMALL;
	if (!stat(path, &st) && st.st_mtime > log->whole_ns / 1000000000)
		o.start_real_ns = (uint64_t)st.st_mtime * 1000000000u - (uint64_t)log->whole_ns;
	err = sb_builder_open(strobe_path, &o, &c.builder);
	if (err)
		return err;
	c.writer = sb_builder_thread(c.builder, 0, NULL);
	if (!c.writer) {
		sb_builder_discard(c.builder);
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	}
	sb_builder_meta_string(c.builder, SB_META_RUN, "imported_from", path);
	if (*note)
		sb_builder_meta_string(c.builder, SB_META_RUN, SB_RUN_IMPORT_NOTE, note);
	sb_builder_meta_string(c.builder, SB_META_MISSING, "monitors",
		"a stage log has times only|record with 'strobe run -- COMMAND'");
	if (log->frames)
		sb_builder_count(c.writer, SB_NAME_FRAMES, log->frames);
	for (uint32_t i = 0; i < log->count; i++) {
		if (log->nodes[i].parent == NONE)
			at_ns = put_node(&c, i, at_ns);
		at_ns += log->nodes[i].gap_ns;
	}
	return sb_builder_close(c.builder, (uint64_t)(log->whole_ns > at_ns ? log->whole_ns : at_ns));
}

static void note_doubts(const struct log *log, char *note, size_t size)
{
	size_t used = 0;

	if (log->bad_count)
		used = (size_t)snprintf(note, size,
			"line %llu: '%s' is not a time a stage can take: kept without one",
			(unsigned long long)log->bad_line, log->bad_time);
	if (log->bad_count > 1)
		used += (size_t)snprintf(note + used, size - used, ", and %llu more such line%s",
			(unsigned long long)log->bad_count - 1, log->bad_count == 2 ? "" : "s");
	if (log->unended_count)
		snprintf(note + used, size - used, "%s%llu started stage%s no total: %s parts' sum is taken",
			used ? "; " : "", (unsigned long long)log->unended_count,
			log->unended_count == 1 ? " has" : "s have",
			log->unended_count == 1 ? "its" : "their");
}

static int check_log(const struct log *log, const char *path)
{
	if (!log->stage_count)
		return sb_fail(STROBE_EFORMAT,
			"'%s': none of its %llu lines is a stage line such as "
			"'[4c] VAE encode (16 frames): 1.25s', and it is not JSON",
			path, (unsigned long long)log->line_count);
	if (log->whole_ns >= WHOLE_NS_MAX)
		return sb_fail(STROBE_EFORMAT, "'%s': its times add up to more than a century", path);
	return 0;
}

static int import_log(struct sb_source *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct log log = { .banner = NONE };
	int err = read_lines(source, path, &log);

	(void)opts;
	if (!err) {
		end_segment(&log);
		err = check_log(&log, path);
	}
	note_doubts(&log, out_summary->note, sizeof out_summary->note);
	if (!err)
		err = write_log(&log, path, strobe_path, out_summary->note);
	out_summary->zones = log.count - log.skipped_count;
	out_summary->skipped = log.skipped_count;
	out_summary->untimed = log.untimed_count;
	for (uint32_t i = 0; i < log.count; i++)
		free(log.nodes[i].line);
	free(log.nodes);
	sb_strings_done(&log.codes);
	sb_map_done(&log.latest);
	sb_map_done(&log.latest_start);
	return err;
}

static bool looks_like_text(const char *bytes, size_t size)
{
	return !memchr(bytes, 0, size);
}

const struct sb_importer sb_stagelog_importer = { "stage log", looks_like_text, import_log };
