/* Stage logs in: the lines of hand-made timers, laid out on a made-up clock.
 * Children follow one another from their parent's begin, so that what the labels
 * leave open shows as the parent's own time. */
#include "exchange/stagelog.h"

#include "base/error.h"
#include "exchange/import.h"
#include "format/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NODES_MAX 1000000u
#define LINE_MAX_BYTES 4096u
#define NONE UINT32_MAX

struct node {
	struct sb_stagelog_line *line;
	uint32_t parent, first_child, last_child, next;
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
	int64_t whole_ns; /* of the segments that had a TOTAL TIME */
	int64_t segment_whole_ns; /* 0: none given */
	int64_t frames;
	double fps;
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
	*n = (struct node){ .parent = NONE, .first_child = NONE, .last_child = NONE, .next = NONE };
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

static void attach(struct log *log, uint32_t parent, uint32_t child)
{
	struct node *p = &log->nodes[parent];

	log->nodes[child].parent = parent;
	if (p->last_child == NONE)
		p->first_child = child;
	else
		log->nodes[p->last_child].next = child;
	p->last_child = child;
}

/* "4f.2" belongs to "4f": the latest one of this segment. */
static uint32_t find_code_parent(const struct log *log, const char *code)
{
	const char *dot = strrchr(code, '.');
	size_t size = dot ? (size_t)(dot - code) : 0;

	for (uint32_t i = log->count; size && i-- > log->segment;) {
		const char *other = log->nodes[i].line->code;

		if (strlen(other) == size && !strncmp(other, code, size))
			return i;
	}
	return NONE;
}

static uint32_t find_open(const struct log *log, const char *code)
{
	for (uint32_t i = log->count; i-- > log->segment;)
		if (log->nodes[i].line->kind == SB_STAGELOG_START && !log->nodes[i].ended &&
			!strcmp(log->nodes[i].line->code, code))
			return i;
	return NONE;
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

	for (uint32_t i = group; i-- > first && !number;)
		if (is_pending(log, i) && *log->nodes[i].line->code)
			number = log->nodes[i].line->code;
	if (log->banner != NONE)
		log->nodes[log->banner].first_child = log->nodes[log->banner].last_child = NONE;
	for (uint32_t i = first; i < group; i++) {
		bool take;

		if (!is_pending(log, i))
			continue;
		take = everything || (number && same_number(log->nodes[i].line->code, number));
		log->nodes[i].next = NONE;
		if (take)
			attach(log, group, i);
		else if (log->banner != NONE)
			attach(log, log->banner, i);
	}
	if (log->banner != NONE)
		attach(log, log->banner, group);
}

/* ---- lines ---- */

static int take_coded(struct log *log, const struct sb_stagelog_line *line)
{
	uint32_t open = line->kind == SB_STAGELOG_TOTAL ? find_open(log, line->code) : NONE;
	uint32_t node, parent;
	int err;

	if (open != NONE) {
		log->nodes[open].line->duration_ns = line->duration_ns;
		log->nodes[open].ended = true;
		return 0;
	}
	err = add_node(log, line, &node);
	if (err)
		return err;
	parent = find_code_parent(log, line->code);
	if (parent == node)
		parent = NONE;
	if (parent == NONE)
		parent = log->banner;
	if (parent != NONE)
		attach(log, parent, node);
	return 0;
}

/* "[3] Inpainting: 207.52s" gives the banner [3/5] its time, or is a part itself. */
static int take_breakdown(struct log *log, const struct sb_stagelog_line *line)
{
	uint32_t node, best = NONE;
	int err;

	for (uint32_t i = log->segment; i < log->count; i++) {
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
	for (uint32_t i = log->segment; i < node; i++) {
		const struct node *n = &log->nodes[i];

		if (n->parent == NONE && n->line->kind == SB_STAGELOG_SUM &&
			n->line->duration_ns <= line->duration_ns &&
			n->line->duration_ns >= line->duration_ns - line->duration_ns / 20)
			best = i;
	}
	if (best != NONE)
		attach(log, node, best);
	return 0;
}

static void end_segment(struct log *log);

static int take_line(struct log *log, const struct sb_stagelog_line *line)
{
	uint32_t node;
	int err = 0;

	switch (line->kind) {
	case SB_STAGELOG_NOTHING: return 0;
	case SB_STAGELOG_VIDEO:
		for (size_t i = 0; i < line->attr_count; i++) {
			if (!strcmp(line->attrs[i].key, "frames") && log->frames < INT64_MAX / 4)
				log->frames += line->attrs[i].i;
			else if (!strcmp(line->attrs[i].key, "fps"))
				log->fps = line->attrs[i].f;
		}
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

/* Children before parents: nodes of a parent may stand before or after it. */
static int64_t sum_children(struct log *log, uint32_t node)
{
	struct node *n = &log->nodes[node];

	n->children_ns = 0;
	for (uint32_t c = n->first_child; c != NONE; c = log->nodes[c].next)
		n->children_ns += sum_children(log, c);
	return duration_of(n);
}

static void end_segment(struct log *log)
{
	int64_t sum = 0;

	for (uint32_t i = log->segment; i < log->count; i++) {
		const struct node *n = &log->nodes[i];

		if (n->parent == NONE)
			sum += sum_children(log, i);
		if (n->line->kind == SB_STAGELOG_START && !n->ended)
			log->unended_count++;
	}
	log->whole_ns += log->segment_whole_ns > sum ? log->segment_whole_ns : sum;
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
			log->line_count += block[i] == '\n';
			line[used] = 0;
			used = 0;
			sb_stagelog_parse(line, &parsed);
			err = take_line(log, &parsed);
			if (err)
				return err;
		}
	}
	if (n == 0 && used) {
		struct sb_stagelog_line parsed;

		line[used] = 0;
		log->line_count++;
		sb_stagelog_parse(line, &parsed);
		return take_line(log, &parsed);
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

static int write_log(const struct log *log, const char *path, const char *strobe_path)
{
	struct clock c = { .log = log };
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	const char *slash = strrchr(path, '/');
	int64_t at_ns = 0;
	struct stat st;
	int err;

	o.name = slash ? slash + 1 : path;
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

static int import_log(struct sb_source *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct log log = { .banner = NONE };
	int err = read_lines(source, path, &log);

	(void)opts;
	if (!err) {
		end_segment(&log);
		if (!log.stage_count)
			err = sb_fail(STROBE_EFORMAT,
				"'%s': none of its %llu lines is a stage line such as "
				"'[4c] VAE encode (16 frames): 1.25s', and it is not JSON",
				path, (unsigned long long)log.line_count);
	}
	if (!err)
		err = write_log(&log, path, strobe_path);
	out_summary->zones = log.count - log.skipped_count;
	out_summary->skipped = log.skipped_count;
	out_summary->untimed = log.untimed_count;
	if (log.unended_count)
		snprintf(out_summary->note, sizeof out_summary->note,
			"%llu started stages have no total: their parts' sum is taken",
			(unsigned long long)log.unended_count);
	for (uint32_t i = 0; i < log.count; i++)
		free(log.nodes[i].line);
	free(log.nodes);
	return err;
}

static bool looks_like_text(const char *bytes, size_t size)
{
	return !memchr(bytes, 0, size);
}

const struct sb_importer sb_stagelog_importer = { "stage log", looks_like_text, import_log };
