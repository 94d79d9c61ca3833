/* Lines that were taken as they were printed: each stage ended when its line came. */
#include "exchange/textlog_clock.h"

#include <unistd.h>

#define NONE SB_TEXTLOG_NONE

static bool is_opening(const struct sb_textlog_node *n)
{
	return n->line->kind == SB_STAGELOG_START || n->line->kind == SB_STAGELOG_BANNER ||
	       n->line->kind == SB_STAGELOG_UNTIMED;
}

/* When the stage ended: when its time was printed, or with its last part. */
static int64_t live_end(const struct sb_textlog *log, const struct sb_textlog_node *n)
{
	int64_t end_ns = n->closed_ns ? n->closed_ns : n->seen_ns;

	for (uint32_t c = n->first_child; c != NONE; c = log->nodes[c].next) {
		int64_t child_ns = live_end(log, &log->nodes[c]);

		end_ns = child_ns > end_ns ? child_ns : end_ns;
	}
	return end_ns;
}

static int64_t live_begin(const struct sb_textlog *log, const struct sb_textlog_node *n)
{
	int64_t begin_ns = is_opening(n) && !n->line->duration_ns ? n->seen_ns
								  : live_end(log, n) - n->line->duration_ns;

	for (uint32_t c = n->first_child; c != NONE; c = log->nodes[c].next) {
		int64_t child_ns = live_begin(log, &log->nodes[c]);

		begin_ns = child_ns < begin_ns ? child_ns : begin_ns;
	}
	return begin_ns;
}

static int64_t put_live(struct sb_textlog_clock *c, uint32_t node, int64_t from_ns)
{
	const struct sb_textlog_node *n = &c->log->nodes[node];
	int64_t begin_ns = live_begin(c->log, n), end_ns = live_end(c->log, n);
	uint32_t name;

	begin_ns = begin_ns < from_ns ? from_ns : begin_ns;
	if (!sb_textlog_begin_stage(c, n, begin_ns, &name))
		return begin_ns;
	for (uint32_t child = n->first_child; child != NONE; child = c->log->nodes[child].next)
		begin_ns = put_live(c, child, begin_ns);
	end_ns = end_ns < begin_ns ? begin_ns : end_ns;
	sb_builder_end(c->writer, (uint64_t)end_ns, name);
	return end_ns;
}

int sb_textlog_write_live(struct sb_textlog *log, const char *name, uint32_t pid, const char *strobe_path)
{
	struct sb_textlog_clock c = { .log = log };
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	char host[256] = "";
	int64_t at_ns = 0;
	int err;

	o.name = name;
	if (!gethostname(host, sizeof host - 1))
		o.host = host;
	o.chunk_bytes = SB_CHUNK_BYTES_SMALL;
	o.pid = o.main_tid = pid;
	o.start_real_ns = log->start_real_ns;
	err = sb_textlog_open(&c, strobe_path, &o);
	if (err)
		return err;
	if (log->frames)
		sb_builder_count(c.writer, SB_NAME_FRAMES, log->frames);
	for (uint32_t i = 0; i < log->count; i++)
		if (log->nodes[i].parent == NONE)
			at_ns = put_live(&c, i, at_ns);
	return sb_builder_close(c.builder, (uint64_t)(log->now_ns > at_ns ? log->now_ns : at_ns));
}
