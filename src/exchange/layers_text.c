/* A model layer by layer, "Component timings:", and its precisions, "FP16: 28.45 ms". */
#include "base/error.h"
#include "exchange/textlog.h"
#include "strobe.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NONE SB_TEXTLOG_NONE

static bool opens(struct sb_textlog *log, const char *line)
{
	struct sb_stagelog_line model = { .kind = SB_STAGELOG_START, .name = "forward" };

	if (!strstr(line, "Component timings"))
		return false;
	model.min_s = model.max_s = model.median_s = model.std_s = NAN;
	log->form_count++;
	return !sb_textlog_add(log, &model, &log->form_node);
}

static int add_layer(struct sb_textlog *log, uint32_t parent, const struct sb_textlog_sums *sums)
{
	uint32_t node;
	int err = sb_textlog_add_sums(log, sums, &node);

	if (err)
		return err;
	sb_textlog_set_parent(log, parent, node);
	log->nodes[node].role = STROBE_ROLE_LAYER;
	return 0;
}

/* The part that holds the blocks: "Transformer (tot): 40.12 ms  (24 blocks)". */
static uint32_t find_blocks(const struct sb_textlog *log)
{
	for (uint32_t i = log->form_node; i < log->count; i++)
		if (log->nodes[i].line->calls && log->nodes[i].role == STROBE_ROLE_LAYER)
			return i;
	return NONE;
}

/* Such a part is one layer that stands for its blocks. */
static void note_blocks(struct sb_textlog *log, const char *rest)
{
	struct sb_stagelog_line *line = log->nodes[log->count - 1].line;
	const char *open = strchr(rest, '(');
	int64_t blocks = open && strstr(open, "blocks") ? strtoll(open + 1, NULL, 10) : 0;
	char *total = strstr(line->name, " (tot)");

	if (blocks < 1 || blocks > 100000)
		return;
	if (total)
		*total = 0;
	if (strlen(line->name) < 200)
		strcat(line->name, " blocks");
	line->calls = blocks;
}

/* "- Per block (std): 0.12 ms" */
static bool take_per_block(struct sb_textlog *log, const char *line)
{
	uint32_t blocks = find_blocks(log);
	const char *colon = strchr(line, ':'), *rest;
	double seconds;

	if (strncasecmp(line, "- per block", 11) || !colon)
		return false;
	if (blocks != NONE && strstr(line, "std") && sb_textlog_seconds(colon + 1, &seconds, &rest))
		log->nodes[blocks].line->std_s = seconds;
	return true;
}

static void note_slowest(struct sb_stagelog_line *blocks, double seconds)
{
	if (!(blocks->max_s >= seconds))
		blocks->max_s = seconds;
}

static bool row(struct sb_textlog *log, char *line, int *out_err)
{
	struct sb_textlog_sums sums = { .min_s = NAN, .max_s = NAN, .median_s = NAN };
	char *colon = strchr(line, ':');
	const char *rest;
	uint32_t blocks;

	line += strspn(line, " ");
	if (!colon)
		return false;
	if (!strncmp(line, "Slowest", 7) || take_per_block(log, line))
		return true;
	if (!sb_textlog_seconds(colon + 1, &sums.total_s, &rest))
		return false;
	if (log->nodes[log->form_node].ended && strncasecmp(line, "Block ", 6))
		return false;
	*colon = 0;
	if (!strcmp(line, "Total")) {
		log->nodes[log->form_node].line->duration_ns = (int64_t)(sums.total_s * 1e9 + 0.5);
		log->nodes[log->form_node].ended = true;
		return true;
	}
	sums.name = line;
	blocks = !strncasecmp(line, "Block ", 6) ? find_blocks(log) : NONE;
	*out_err = add_layer(log, blocks == NONE ? log->form_node : blocks, &sums);
	if (!*out_err && blocks == NONE)
		note_blocks(log, rest);
	else if (!*out_err)
		note_slowest(log->nodes[blocks].line, sums.total_s);
	return true;
}

const struct sb_textform sb_layers_form = { "layers", opens, row };

/* ---- precisions ---- */

static bool opens_precision(struct sb_textlog *log, const char *line)
{
	static const char *const names[] = { "FP32", "TF32", "FP16", "BF16", "FP8", "INT8", "INT4", NULL };

	if (sb_textlog_after(line, "Speedup"))
		return true;
	for (const char *const *name = names; *name; name++) {
		const char *value = sb_textlog_after(line, *name), *rest, *plus_minus;
		struct sb_textlog_variant *v;
		double seconds, std_s;

		if (!value || !sb_textlog_seconds(value, &seconds, &rest))
			continue;
		v = sb_vec_push(&log->variants, sizeof *v);
		if (!v)
			return false;
		*v = (struct sb_textlog_variant){ .count = 1,
			.mean_ms = seconds * 1e3,
			.median_ms = NAN,
			.std_ms = NAN,
			.min_ms = NAN,
			.max_ms = NAN };
		snprintf(v->name, sizeof v->name, "%s", *name);
		plus_minus = strstr(value, "\xc2\xb1");
		if (plus_minus && sb_textlog_seconds(plus_minus + 2, &std_s, &rest))
			v->std_ms = std_s * 1e3;
		log->form_count++;
		return true;
	}
	return false;
}

const struct sb_textform sb_precision_form = { "precision", opens_precision, NULL };
