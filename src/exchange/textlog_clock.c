/* The file that the stages go to, and how one stage begins in it. The writers decide when. */
#include "exchange/textlog_clock.h"

#include "base/error.h"
#include "format/run_keys.h"

#include <math.h>

int sb_textlog_open(
	struct sb_textlog_clock *c, const char *strobe_path, const struct sb_builder_options *options)
{
	int err = sb_builder_open(strobe_path, options, &c->builder);

	if (err)
		return err;
	c->writer = sb_builder_thread(c->builder, 0, NULL);
	if (!c->writer) {
		sb_builder_discard(c->builder);
		return sb_fail(STROBE_ENOMEM, "no memory for the stages");
	}
	return 0;
}

void sb_textlog_put_sums(
	struct sb_textlog_clock *c, int64_t calls, double min_s, double max_s, double median_s, double std_s)
{
	if (calls <= 1)
		return;
	sb_builder_attr(c->writer, SB_NAME_CALLS, calls);
	if (!isnan(min_s))
		sb_builder_attr_float(c->writer, SB_NAME_CALLS_MIN, min_s);
	if (!isnan(max_s))
		sb_builder_attr_float(c->writer, SB_NAME_CALLS_MAX, max_s);
	if (!isnan(median_s))
		sb_builder_attr_float(c->writer, SB_NAME_CALLS_MEDIAN, median_s);
	if (!isnan(std_s))
		sb_builder_attr_float(c->writer, SB_NAME_CALLS_STD, std_s);
}

static void put_attrs(struct sb_textlog_clock *c, const struct sb_textlog_node *n)
{
	const struct sb_stagelog_line *line = n->line;

	for (size_t i = 0; i < line->attr_count; i++) {
		uint32_t key = sb_builder_name(c->builder, line->attrs[i].key, NULL);

		if (line->attrs[i].is_int)
			sb_builder_attr(c->writer, key, line->attrs[i].i);
		else
			sb_builder_attr_float(c->writer, key, line->attrs[i].f);
	}
	if (line->digit_ns > 0 && line->digit_ns < c->log->digit_ns && !c->log->now_ns) /* else the run's */
		sb_builder_attr_float(c->writer, sb_builder_name(c->builder, SB_ATTR_TIME_DIGIT_S, NULL),
			(double)line->digit_ns / 1e9);
	sb_textlog_put_sums(c, line->calls, line->min_s, line->max_s, line->median_s, line->std_s);
	if (line->kind == SB_STAGELOG_UNTIMED)
		sb_builder_attr(c->writer, SB_NAME_UNTIMED, 1);
	/* The children are longer than the total that was printed. */
	if (line->duration_ns && n->children_ns > line->duration_ns)
		sb_builder_attr_float(c->writer, SB_NAME_MEASURED, (double)line->duration_ns / 1e9);
	if (n->role)
		sb_builder_role(c->writer, (enum strobe_role)n->role);
}

bool sb_textlog_begin_stage(
	struct sb_textlog_clock *c, const struct sb_textlog_node *n, int64_t at_ns, uint32_t *out_name)
{
	const char *code = *n->line->code ? n->line->code : NULL;

	if (n->line->kind == SB_STAGELOG_SKIPPED) {
		sb_builder_skip(c->builder, (uint64_t)at_ns, n->line->name, code, n->line->reason);
		return false;
	}
	*out_name = sb_builder_name(c->builder, n->line->name, code);
	sb_builder_begin(c->writer, (uint64_t)at_ns, *out_name);
	put_attrs(c, n);
	return true;
}
