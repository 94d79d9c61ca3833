/* From sums by path to the rows of the report: indexed names grouped, siblings in order. rows.c fills
 * the rows. */
#include "analyze/stages/rows.h"
#include "analyze/stages/split.h"

#include "base/error.h"
#include "base/map.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define GROUP_LEAST 3

/* A row in the making: one or more paths. */
struct node {
	uint32_t parent; /* node */
	uint32_t depth;
	uint32_t name; /* run name of its first path */
	const char *pattern; /* grouped: what they have in common */
	uint32_t first_path; /* linked through next_path */
	uint32_t skip; /* NONE, or an index of skips: never ran */
	int64_t total_ns;
	struct sb_stage_inner inner; /* --combine: not among its paths */
	uint32_t row; /* in the finished order */
};

struct kid {
	uint64_t key; /* sort key: group or name */
	uint32_t name, path;
};

struct tree {
	struct sb_stage_sums *sums;
	struct sb_model *model;
	struct sb_run *run;
	uint32_t path_count;
	uint32_t *first_child, *next_sibling; /* by path */
	uint32_t *next_path; /* by path: the node's list */
	bool *alive;
	struct node *nodes; /* [0]: the root */
	uint32_t node_count, node_room;
	struct kid *kids;
	uint32_t kid_count, kid_room;
	struct sb_strings patterns;
};

static int no_memory(const struct tree *t)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the stages of '%s'", t->run->path);
}

/* ---- the tree of paths --------------------------------------------------- */

static bool is_handed_in(const struct sb_stage_sum *s, uint32_t role)
{
	return s->count && s->span && s->role == role;
}

/* Steps that were handed in with their durations lie in the blocks handed in around
 * them, though both were recorded side by side: a block is known after its steps. A block
 * seems to begin as late as its program was held up between measuring and handing in: up to
 * a step is taken for that. */
static uint32_t block_of_steps(const struct tree *t, uint32_t path)
{
	const struct sb_stage_sum *steps = sb_stage_sum_at(t->sums, path);
	const int64_t slack_ns = 1000000;
	uint32_t parent = sb_run_path(t->run, path)->parent;
	int64_t held_up_ns;

	if (!is_handed_in(steps, STROBE_ROLE_STEP))
		return NONE;
	held_up_ns = steps->total_ns / (int64_t)steps->count;
	if (held_up_ns < slack_ns)
		held_up_ns = slack_ns;
	for (uint32_t p = 1; p < t->path_count; p++) {
		const struct sb_stage_sum *blocks = sb_stage_sum_at(t->sums, p);

		if (p != path && sb_run_path(t->run, p)->parent == parent &&
			is_handed_in(blocks, STROBE_ROLE_BLOCK) &&
			steps->total_ns <= blocks->total_ns + slack_ns &&
			steps->first_ns >= blocks->first_ns - held_up_ns &&
			steps->end_ns <= blocks->end_ns + slack_ns)
			return p;
	}
	return NONE;
}

static uint32_t parent_of(struct tree *t, uint32_t path)
{
	uint32_t block = block_of_steps(t, path);
	struct sb_stage_sum *sum;

	if (block == NONE)
		return sb_run_path(t->run, path)->parent;
	sum = &t->sums->all[block];
	sum->self_ns -= sb_stage_sum_at(t->sums, path)->total_ns;
	if (sum->self_ns < 0)
		sum->self_ns = 0;
	return block;
}

static int link_paths(struct tree *t)
{
	uint32_t n = t->path_count = sb_run_path_count(t->run) ? sb_run_path_count(t->run) : 1;

	t->first_child = malloc(n * sizeof *t->first_child);
	t->next_sibling = malloc(n * sizeof *t->next_sibling);
	t->next_path = malloc(n * sizeof *t->next_path);
	t->alive = calloc(n, sizeof *t->alive);
	if (!t->first_child || !t->next_sibling || !t->next_path || !t->alive)
		return no_memory(t);
	memset(t->first_child, 0xff, n * sizeof *t->first_child);
	memset(t->next_sibling, 0xff, n * sizeof *t->next_sibling);
	memset(t->next_path, 0xff, n * sizeof *t->next_path);
	for (uint32_t p = n; --p > 0;) { /* a parent's number is below its child's */
		uint32_t parent = parent_of(t, p);

		t->alive[p] |= sb_stage_sum_at(t->sums, p)->count > 0;
		t->alive[parent] |= t->alive[p];
		t->next_sibling[p] = t->first_child[parent];
		t->first_child[parent] = p;
	}
	return 0;
}

static struct node *add_node(struct tree *t, uint32_t parent)
{
	struct node *n;

	if (!SB_MAKE_ROOM(t->nodes, t->node_count, t->node_room))
		return NULL;
	n = &t->nodes[t->node_count++];
	*n = (struct node){ .parent = parent,
		.first_path = NONE,
		.skip = NONE,
		.depth = parent == NONE || !parent ? 0 : t->nodes[parent].depth + 1 };
	return n;
}

static bool add_kid(struct tree *t, uint32_t path)
{
	if (!SB_MAKE_ROOM(t->kids, t->kid_count, t->kid_room))
		return false;
	t->kids[t->kid_count++] = (struct kid){ .name = sb_run_path(t->run, path)->name, .path = path };
	return true;
}

static int by_key(const void *a, const void *b)
{
	const struct kid *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->path < y->path ? -1 : x->path > y->path;
}

/* Names that differ in a number only, three or more of them, are one stage. */
static void group_kids(struct tree *t)
{
	struct sb_map names_of_pattern = { 0 };
	char text[256];
	uint32_t last_name = 0;

	for (uint32_t i = 0; i < t->kid_count; i++)
		t->kids[i].key = t->kids[i].name;
	qsort(t->kids, t->kid_count, sizeof *t->kids, by_key);
	if (t->kid_count < GROUP_LEAST || sb_model_build_options(t->model)->no_groups)
		return;
	for (int counting = 1; counting >= 0; counting--)
		for (uint32_t i = 0; i < t->kid_count; i++) {
			const struct sb_run_name *name = &t->run->names[t->kids[i].name];
			uint32_t pattern, count = 0;

			if (*name->code || strlen(name->text) >= sizeof text ||
				!sb_stage_pattern(name->text, text, sizeof text))
				continue;
			pattern = sb_strings_add(&t->patterns, text, strlen(text));
			sb_map_get(&names_of_pattern, pattern, &count);
			if (counting && (!i || t->kids[i].name != last_name))
				sb_map_put(&names_of_pattern, pattern, count + 1);
			if (!counting && count >= GROUP_LEAST)
				t->kids[i].key = (uint64_t)1 << 32 | pattern;
			last_name = t->kids[i].name;
		}
	sb_map_done(&names_of_pattern);
	qsort(t->kids, t->kid_count, sizeof *t->kids, by_key);
}

static int add_children(struct tree *t, uint32_t parent)
{
	struct node *n = NULL;

	group_kids(t);
	for (uint32_t i = 0; i < t->kid_count; i++) {
		const struct kid *k = &t->kids[i];

		if (!i || k->key != t->kids[i - 1].key) {
			n = add_node(t, parent);
			if (!n)
				return no_memory(t);
			n->name = k->name;
			if (k->key >> 32)
				n->pattern = sb_strings_text(&t->patterns, (uint32_t)k->key);
		}
		t->next_path[k->path] = n->first_path;
		n->first_path = k->path;
		n->total_ns += sb_stage_sum_at(t->sums, k->path)->total_ns;
	}
	return 0;
}

static bool has_child_named(const struct tree *t, uint32_t first, uint32_t name)
{
	for (uint32_t i = first; i < t->node_count; i++)
		if (t->nodes[i].name == name)
			return true;
	return false;
}

/* Skipped stages below any of a node's paths; the root takes what is nowhere. */
static int add_skipped(struct tree *t, uint32_t parent, uint32_t first)
{
	for (uint32_t i = 0; i < t->sums->skips.count; i++) {
		const struct sb_stage_skip *k = &t->sums->skips.all[i];
		uint32_t path = t->nodes[parent].first_path;
		struct node *n;

		while (path != NONE && path != k->parent)
			path = t->next_path[path];
		if (path == NONE || has_child_named(t, first, k->name))
			continue;
		n = add_node(t, parent);
		if (!n)
			return no_memory(t);
		n->name = k->name;
		n->skip = i;
	}
	return 0;
}

static int grow_tree(struct tree *t)
{
	int err = 0;

	if (!add_node(t, NONE))
		return no_memory(t);
	t->nodes[0].first_path = 0;
	for (uint32_t i = 0; !err && i < t->node_count; i++) {
		uint32_t first = t->node_count;

		t->kid_count = 0;
		for (uint32_t p = t->nodes[i].first_path; p != NONE; p = t->next_path[p])
			for (uint32_t c = t->first_child[p]; c != NONE; c = t->next_sibling[c])
				if (t->alive[c] && !add_kid(t, c))
					return no_memory(t);
		if (t->kid_count)
			err = add_children(t, i);
		if (!err && t->sums->skips.count)
			err = add_skipped(t, i, first);
	}
	return err;
}

/* What is inside another path of its row. */
static int take_out_inner(struct tree *t)
{
	uint32_t *row_of = calloc(t->path_count, sizeof *row_of);

	if (!row_of)
		return no_memory(t);
	for (uint32_t i = 1; i < t->node_count; i++)
		for (uint32_t p = t->nodes[i].first_path; p != NONE; p = t->next_path[p])
			row_of[p] = i;
	for (uint32_t i = 1; i < t->node_count; i++) {
		struct node *n = &t->nodes[i];

		n->inner = sb_stage_take_inner(t->sums, row_of, &n->first_path, t->next_path);
		n->total_ns -= n->inner.total_ns;
	}
	free(row_of);
	return 0;
}

/* --combine: one row per name, whatever is around it. */
static int flat_tree(struct tree *t)
{
	int err = 0;

	if (!add_node(t, NONE))
		return no_memory(t);
	for (uint32_t p = 1; p < t->path_count; p++)
		if (sb_stage_sum_at(t->sums, p)->count && !add_kid(t, p))
			return no_memory(t);
	if (t->kid_count)
		err = add_children(t, 0);
	if (!err)
		err = take_out_inner(t);
	for (uint32_t i = 0; i < t->sums->skips.count; i++)
		t->sums->skips.all[i].parent = 0;
	t->nodes[0].first_path = 0;
	return err ? err : add_skipped(t, 0, 1);
}

/* ---- order --------------------------------------------------------------- */

struct ordered {
	const struct node *node;
	uint32_t index;
};

static int by_parent_and_total(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->node->parent != y->node->parent)
		return x->node->parent < y->node->parent ? -1 : 1;
	if (x->node->total_ns != y->node->total_ns)
		return x->node->total_ns > y->node->total_ns ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* Numbers the nodes so that a parent comes before its children and siblings are
 * sorted by total; out_order[row] is the node. */
static int order_nodes(struct tree *t, uint32_t *out_order)
{
	uint32_t count = t->node_count - 1, rows = 0, depth = 0;
	struct ordered *sorted = malloc((count + 1) * sizeof *sorted);
	uint32_t *first = malloc((t->node_count + 1) * sizeof *first);
	uint32_t *todo = malloc((t->node_count + 1) * sizeof *todo);

	if (!sorted || !first || !todo) {
		free(sorted);
		free(first);
		free(todo);
		return no_memory(t);
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (struct ordered){ &t->nodes[i + 1], i + 1 };
	qsort(sorted, count, sizeof *sorted, by_parent_and_total);
	memset(first, 0xff, (t->node_count + 1) * sizeof *first);
	for (uint32_t i = count; i-- > 0;)
		first[sorted[i].node->parent] = i;
	/* todo: places in sorted to visit; a sibling comes after the one before it */
	if (count)
		todo[depth++] = 0;
	while (depth) {
		uint32_t at = todo[--depth];
		uint32_t node = sorted[at].index;

		t->nodes[node].row = rows;
		out_order[rows++] = node;
		if (at + 1 < count && sorted[at + 1].node->parent == sorted[at].node->parent)
			todo[depth++] = at + 1;
		if (first[node] != NONE)
			todo[depth++] = first[node];
	}
	free(sorted);
	free(first);
	free(todo);
	return 0;
}

static int fill_row(struct tree *t, const struct node *n, struct sb_stage *row)
{
	const struct sb_stage_paths paths = { t->sums, t->model, n->first_path, t->next_path };
	const struct sb_run_name *name = &t->run->names[n->name];

	sb_stage_row_clear(row);
	row->name = sb_model_text(t->model, n->pattern ? n->pattern : name->text);
	row->code = *name->code ? sb_model_text(t->model, name->code) : NULL;
	row->parent = n->parent && n->parent != NONE ? (int64_t)t->nodes[n->parent].row : -1;
	row->depth = n->depth;
	if (n->skip == NONE) {
		int err = sb_stage_row_fill(&paths, n->pattern != NULL, row);

		sb_stage_row_add_inner(row, (double)n->inner.self_ns / 1e9, n->inner.count);
		return err;
	}
	sb_stage_row_skip(t->sums, n->skip, t->model, row);
	return 0;
}

/* What needs every row: their shares, their order, those of one name. */
static int finish_rows(struct tree *t, const uint32_t *order)
{
	size_t count = t->model->stages.stage_count;
	struct sb_stage_paths *paths = malloc((count + 1) * sizeof *paths);
	int err;

	if (!paths)
		return no_memory(t);
	for (size_t i = 0; i < count; i++) {
		const struct node *n = &t->nodes[order[i]];

		paths[i] = (struct sb_stage_paths){ t->sums, t->model, n->skip == NONE ? n->first_path : NONE,
			t->next_path };
	}
	err = sb_stages_split(paths, t->sums, t->model);
	if (!err && !t->model->stages.combined)
		err = sb_stages_take_shares(paths, t->path_count, t->sums, t->model);
	if (!err) {
		sb_stages_find_gaps(t->sums, t->model);
		sb_stages_move(t->model);
		sb_stages_tell_kinds(t->model);
		sb_stages_find_startup(paths, t->sums, t->model);
		sb_stages_find_once(&t->model->stages);
		sb_stages_rank(t->model);
		sb_stages_part(t->model);
		sb_stages_choose_largest(t->model);
		sb_stage_attributes_fill(t->model);
		err = sb_stages_merge_names(paths, t->path_count, t->model);
	}
	free(paths);
	return err;
}

static int make_rows(struct tree *t)
{
	struct sb_stages_panel *s = &t->model->stages;
	uint32_t *order = malloc((t->node_count + 1) * sizeof *order);
	int err = order ? order_nodes(t, order) : no_memory(t);

	s->stage_count = t->node_count - 1;
	s->stages = sb_model_alloc(t->model, (s->stage_count + 1) * sizeof *s->stages);
	if (!err && !s->stages)
		err = no_memory(t);
	for (uint32_t i = 0; !err && i < s->stage_count; i++)
		err = fill_row(t, &t->nodes[order[i]], &s->stages[i]);
	for (uint32_t i = 0; !err && i < s->stage_count; i++)
		if (s->stages[i].parent >= 0) {
			struct sb_stage *parent = &s->stages[s->stages[i].parent];

			parent->child_count++;
			parent->unattributed_s = parent->self_s;
		}
	if (!err)
		err = finish_rows(t, order);
	free(order);
	return err;
}

int sb_stage_tree_build(struct sb_stage_sums *sums, struct sb_model *model)
{
	struct tree t = { .sums = sums, .model = model, .run = sums->run };
	int64_t wall_ns = sums->run->to_ns - sums->run->from_ns;
	int err;

	model->stages.wall_s = (double)wall_ns / 1e9;
	model->stages.combined = sb_model_build_options(model)->combine;
	err = link_paths(&t);
	if (!err)
		err = model->stages.combined ? flat_tree(&t) : grow_tree(&t);
	if (!err)
		err = make_rows(&t);
	free(t.first_child);
	free(t.next_sibling);
	free(t.next_path);
	free(t.alive);
	free(t.nodes);
	free(t.kids);
	sb_strings_done(&t.patterns);
	return err;
}
