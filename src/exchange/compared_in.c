/* Reads what strobe writes about several runs: of a diff the new side, of a journal its newest step, of an
 * aggregate the mean rank, of a bench its rows. Laid out as a text's stages are (textlog.h). */
#include "base/buf.h"
#include "base/error.h"
#include "base/jsondom.h"
#include "exchange/import.h"
#include "exchange/textlog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (64u << 20)
#define DEPTH_MAX 64

typedef const struct sb_jsondom *node;

static double number(node n, const char *path)
{
	return sb_jsondom_number(sb_jsondom_path(n, path), NAN);
}

static int64_t nanoseconds(double s)
{
	return s > 0 && s < 1e8 ? (int64_t)(s * 1e9 + 0.5) : 0;
}

static int add(struct sb_textlog *log, node stage, double total_s, double calls)
{
	const char *code = sb_jsondom_string(sb_jsondom_get(stage, "code"), "");
	struct sb_stagelog_line line = { .kind = SB_STAGELOG_TIMED,
		.calls = calls >= 1 && calls < 1e15 ? (int64_t)calls : 1,
		.duration_ns = nanoseconds(total_s),
		.min_s = number(stage, "min_s"),
		.max_s = number(stage, "max_s"),
		.median_s = number(stage, "median_s"),
		.std_s = number(stage, "std_s") };
	uint32_t self;

	if (isnan(total_s)) /* not on this side, or not timed */
		return 0;
	snprintf(line.name, sizeof line.name, "%s", sb_jsondom_string(sb_jsondom_get(stage, "name"), "?"));
	if (strlen(code) < sizeof line.code)
		strcpy(line.code, code);
	log->form_count++;
	return sb_textlog_add(log, &line, &self);
}

/* Whether a stage may be put inside another: not one that is inside the stage itself. */
static bool may_hold(const struct sb_textlog *log, uint32_t parent, uint32_t child)
{
	int depth = 0;

	while (parent != SB_TEXTLOG_NONE && parent != child && depth++ < DEPTH_MAX)
		parent = log->nodes[parent].parent;
	return parent == SB_TEXTLOG_NONE;
}

/* node_of: each stage's node, SB_TEXTLOG_NONE where it was left out. */
static void nest(struct sb_textlog *log, node stages, const uint32_t *node_of)
{
	size_t i = 0;

	for (sb_jsondom_each(stage, stages)) {
		int64_t parent = sb_jsondom_int(sb_jsondom_get(stage, "parent_index"), -1);
		uint32_t child = node_of[i++];

		if (parent < 0 || (uint64_t)parent >= stages->size || child == SB_TEXTLOG_NONE)
			continue;
		if (node_of[parent] != SB_TEXTLOG_NONE && may_hold(log, node_of[parent], child))
			sb_textlog_set_parent(log, node_of[parent], child);
	}
}

/* How a form's stages say their time and their calls. */
struct kind {
	double (*total_s)(node stage, double ranks);
	double (*calls)(node stage, double ranks);
};

static int take_stages(struct sb_textlog *log, node stages, const struct kind *kind, double ranks)
{
	uint32_t *node_of = calloc(stages ? stages->size + 1 : 1, sizeof *node_of);
	size_t i = 0;
	int err = node_of ? 0 : sb_fail(STROBE_ENOMEM, "no memory to import");

	for (sb_jsondom_each(stage, stages))
		if (!err) {
			node_of[i] = log->count;
			err = add(log, stage, kind->total_s(stage, ranks), kind->calls(stage, ranks));
			if (node_of[i] == log->count)
				node_of[i] = SB_TEXTLOG_NONE;
			i++;
		}
	if (!err && stages)
		nest(log, stages, node_of);
	free(node_of);
	return err;
}

static double new_s(node stage, double ranks)
{
	(void)ranks;
	return number(stage, "new_s");
}

static double new_count(node stage, double ranks)
{
	(void)ranks;
	return number(stage, "new_count");
}

static int take_diff(struct sb_textlog *log, node root)
{
	log->segment_whole_ns = nanoseconds(number(root, "total.new_value"));
	return take_stages(log, sb_jsondom_get(root, "stages"), &(struct kind){ new_s, new_count }, NAN);
}

static double step_s(node stage, double ranks)
{
	(void)ranks;
	return number(stage, "total_s");
}

static double one_call(node stage, double ranks)
{
	(void)stage;
	(void)ranks;
	return 1;
}

static int take_journal(struct sb_textlog *log, node root)
{
	node last = NULL;

	for (sb_jsondom_each(step, sb_jsondom_get(root, "steps")))
		last = step;
	log->segment_whole_ns = nanoseconds(number(last, "wall_s"));
	return take_stages(log, sb_jsondom_get(last, "stages"), &(struct kind){ step_s, one_call }, NAN);
}

/* Of the mean rank: a stage of one rank in four counts a quarter. */
static double mean_of(node stage, double ranks)
{
	double sum_s = number(stage, "total_s.sum_value");

	return isnan(sum_s) || !(ranks > 0) ? number(stage, "total_s.avg_value") : sum_s / ranks;
}

static double mean_count(node stage, double ranks)
{
	return ranks > 0 ? number(stage, "count") / ranks : 1;
}

static int take_aggregate(struct sb_textlog *log, node root)
{
	log->segment_whole_ns = nanoseconds(number(root, "metrics.wall_s.avg_value"));
	return take_stages(log, sb_jsondom_get(root, "stages"), &(struct kind){ mean_of, mean_count },
		number(root, "rank_count"));
}

static int take_bench(struct sb_textlog *log, node root)
{
	double whole_s = 0;
	int err = 0;

	for (sb_jsondom_each(row, sb_jsondom_get(root, "rows")))
		if (!err) {
			double count = number(row, "count"), total_s = number(row, "mean_s") * count;

			err = add(log, row, total_s, count);
			whole_s += total_s > 0 ? total_s : 0;
		}
	log->segment_whole_ns = nanoseconds(whole_s);
	return err;
}

static const struct form {
	const char *key, *format;
	int (*take)(struct sb_textlog *log, node root);
} forms[] = {
	{ "\"strobe.diff/1\"", "diff (its new side)", take_diff },
	{ "\"strobe.journal/1\"", "journal (its newest step)", take_journal },
	{ "\"strobe.aggregate/1\"", "aggregate (its mean rank)", take_aggregate },
	{ "\"warmup_count\"", "bench", take_bench },
};

static const struct form *form_of(const char *bytes, size_t size)
{
	size = size < 512 ? size : 512; /* it is the first key, or one of the first */
	for (size_t f = 0; size && *bytes == '{' && f < sizeof forms / sizeof forms[0]; f++)
		if (memmem(bytes, size, forms[f].key, strlen(forms[f].key)))
			return &forms[f];
	return NULL;
}

static bool matches(const char *bytes, size_t size)
{
	const struct form *form = form_of(bytes, size);

	return form && (form->take != take_bench || memmem(bytes, size, "\"rows\"", 6));
}

static int import_compared(struct sb_foreign *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct sb_textlog log = { .banner = SB_TEXTLOG_NONE, .rank = -1, .threads = true };
	struct sb_jsondom_doc *doc = NULL;
	struct sb_buf bytes = { 0 };
	int err = sb_foreign_read_all(source, path, BYTES_MAX, &bytes);
	const struct form *form = err ? NULL : form_of(bytes.data, bytes.size);

	(void)opts;
	if (!err)
		err = sb_jsondom_parse(path, bytes.data, bytes.size, &doc);
	if (!err && form) {
		out_summary->format = form->format;
		err = form->take(&log, sb_jsondom_root(doc));
	}
	if (!err && !log.count)
		err = sb_fail(STROBE_EFORMAT, "'%s' has no stage with a time", path);
	if (!err) {
		sb_textlog_end_segment(&log);
		log.doubts.count = 0;
		err = sb_textlog_write(&log, path, strobe_path, "");
	}
	out_summary->zones = log.count;
	sb_textlog_done(&log);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
	return err;
}

const struct sb_importer sb_compared_importer = { "comparison", matches, import_compared };
