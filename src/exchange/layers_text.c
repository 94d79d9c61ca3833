/* A model layer by layer: "Component timings:", its total, and its slowest blocks. */
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

/* "Component timings (GPU time, mean per call):" */
static void take_clock(struct sb_textlog *log, const char *line)
{
	if (*log->model.device)
		return;
	if (strstr(line, "(GPU time"))
		strcpy(log->model.device, "cuda");
	else if (strstr(line, "(CPU time"))
		strcpy(log->model.device, "cpu");
}

static bool opens(struct sb_textlog *log, const char *line)
{
	struct sb_stagelog_line model = { .kind = SB_STAGELOG_START, .name = "forward" };

	if (!strstr(line, "Component timings"))
		return false;
	take_clock(log, line);
	model.min_s = model.max_s = model.median_s = model.std_s = NAN;
	log->form_count++;
	if (sb_textlog_add(log, &model, &log->form_node))
		return false;
	log->forward = log->form_node + 1;
	return true;
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

/* The part that holds the blocks, "Transformer (tot): 40.12 ms  (24 blocks)": the one of that name, else the last. */
static uint32_t find_blocks(const struct sb_textlog *log, const char *name, size_t size)
{
	uint32_t last = NONE;

	for (uint32_t i = log->form_node; i < log->count; i++) {
		const struct sb_stagelog_line *line = log->nodes[i].line;

		if (!line->calls || log->nodes[i].role != STROBE_ROLE_LAYER)
			continue;
		last = i;
		if (size && strlen(line->name) == size && !strncmp(line->name, name, size))
			return i;
	}
	return last;
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
	if (strlen(line->name) < 200 && !strcasestr(line->name, "block"))
		strcat(line->name, " blocks");
	line->calls = blocks;
}

/* "- Per block (std): 0.12 ms" */
static bool take_per_block(struct sb_textlog *log, const char *line)
{
	uint32_t blocks = find_blocks(log, NULL, 0);
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

/* "Block 23", "blocks 3": how many letters the name has before its number; 0: it has none. */
static size_t block_name(const char *label)
{
	size_t size = strlen(label), digits = 0;

	while (digits < size && isdigit((unsigned char)label[size - digits - 1]))
		digits++;
	return digits && digits + 1 < size && label[size - digits - 1] == ' ' ? size - digits - 1 : 0;
}

/* After the total, only the blocks that are named. */
static bool take_part(
	struct sb_textlog *log, const char *label, double seconds, const char *rest, int *out_err)
{
	struct sb_textlog_sums sums = {
		.name = label, .total_s = seconds, .min_s = NAN, .max_s = NAN, .median_s = NAN
	};
	size_t size = block_name(label);
	uint32_t blocks = size ? find_blocks(log, label, size) : NONE;

	if (log->nodes[log->form_node].ended && blocks == NONE)
		return false;
	*out_err = add_layer(log, blocks == NONE ? log->form_node : blocks, &sums);
	if (!*out_err && blocks == NONE)
		note_blocks(log, rest);
	else if (!*out_err)
		note_slowest(log->nodes[blocks].line, seconds);
	return true;
}

static bool row(struct sb_textlog *log, char *line, int *out_err)
{
	char *colon = strchr(line, ':');
	const char *rest;
	int64_t digit_ns;
	double seconds;

	line += strspn(line, " ");
	if (!colon)
		return false;
	if (!strncmp(line, "Slowest", 7) || take_per_block(log, line))
		return true;
	if (!sb_textlog_seconds(colon + 1, &seconds, &rest))
		return false;
	digit_ns = sb_stagelog_last_digit(colon + 1 + strspn(colon + 1, " "), rest);
	*colon = 0;
	if (!strcmp(line, "Total") && !log->nodes[log->form_node].ended) {
		log->nodes[log->form_node].line->duration_ns = (int64_t)(seconds * 1e9 + 0.5);
		log->nodes[log->form_node].line->digit_ns = digit_ns;
		log->nodes[log->form_node].ended = true;
		return true;
	}
	if (take_part(log, line, seconds, rest, out_err)) {
		log->nodes[log->count - 1].line->digit_ns = digit_ns;
		return true;
	}
	*colon = ':'; /* not a line of this table */
	return false;
}

const struct sb_textform sb_layers_form = { "layers", opens, row };
