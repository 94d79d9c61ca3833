/* What strobe itself writes about several runs, in: of a diff the new side, of a journal its newest step, of an
 * aggregate the mean rank, of a bench its rows. Laid out as a text's stages are (textlog.h). */
#include "base/buf.h"
#include "base/error.h"
#include "base/jsondom.h"
#include "exchange/import.h"
#include "exchange/textlog.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BYTES_MAX (64u << 20)

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

static int take_diff(struct sb_textlog *log, node root)
{
	int err = 0;

	for (sb_jsondom_each(stage, sb_jsondom_get(root, "stages")))
		if (!err)
			err = add(log, stage, number(stage, "new_s"), number(stage, "new_count"));
	log->segment_whole_ns = nanoseconds(number(root, "total.new_value"));
	return err;
}

static int take_journal(struct sb_textlog *log, node root)
{
	node last = NULL;
	int err = 0;

	for (sb_jsondom_each(step, sb_jsondom_get(root, "steps")))
		last = step;
	for (sb_jsondom_each(stage, sb_jsondom_get(last, "stages")))
		if (!err)
			err = add(log, stage, number(stage, "total_s"), 1);
	log->segment_whole_ns = nanoseconds(number(last, "wall_s"));
	return err;
}

static int take_aggregate(struct sb_textlog *log, node root)
{
	double ranks = number(root, "rank_count");
	int err = 0;

	for (sb_jsondom_each(stage, sb_jsondom_get(root, "stages")))
		if (!err)
			err = add(log, stage, number(stage, "total_s.avg_value"),
				ranks > 0 ? number(stage, "count") / ranks : 1);
	log->segment_whole_ns = nanoseconds(number(root, "metrics.wall_s.avg_value"));
	return err;
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

static int import_compared(struct sb_source *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct sb_textlog log = { .banner = SB_TEXTLOG_NONE, .rank = -1, .threads = true };
	struct sb_jsondom_doc *doc = NULL;
	struct sb_buf bytes = { 0 };
	int err = sb_source_read_all(source, path, BYTES_MAX, &bytes);
	const struct form *form = err ? NULL : form_of(bytes.data, bytes.size);

	(void)opts;
	if (!err)
		err = sb_jsondom_parse(path, bytes.data, bytes.size, &doc);
	if (!err && form) {
		out_summary->format = form->format;
		err = form->take(&log, sb_jsondom_root(doc));
	}
	if (!err && !log.count)
		err = sb_fail(STROBE_EFORMAT, "'%s': no stage of it is timed", path);
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
