/* From sums by path to the rows of the report: indexed names grouped, siblings
 * in order, percentiles. */
#include "analyze/stages.h"

#include "base/error.h"
#include "base/map.h"
#include "format/digest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define GROUP_LEAST 3
#define WORTH_SAYING 1.005 /* more at once than the bins' own error */

/* A row in the making: one or more paths. */
struct node {
	uint32_t parent; /* node */
	uint32_t depth;
	uint32_t name; /* run name of its first path */
	const char *pattern; /* grouped: what they have in common */
	uint32_t first_path; /* linked through next_path */
	uint32_t skip; /* NONE, or an index of skips: never ran */
	int64_t total_ns;
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

bool sb_stage_pattern(const char *name, char *out_pattern, size_t size)
{
	bool indexed = false;
	size_t n = 0;

	while (*name && n + 2 < size) {
		if (!isdigit((unsigned char)*name)) {
			out_pattern[n++] = *name++;
			continue;
		}
		indexed = true;
		out_pattern[n++] = '*';
		while (isdigit((unsigned char)*name))
			name++;
	}
	out_pattern[n] = 0;
	return indexed;
}

static int no_memory(const struct tree *t)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the stages of '%s'", t->run->path);
}

static const struct sb_stage_sum *sum_at(const struct tree *t, uint32_t path)
{
	static const struct sb_stage_sum nothing = { .min_ns = INT64_MAX,
		.max_ns = -1,
		.first_ns = INT64_MAX,
		.end_ns = INT64_MIN,
		.last_end_ns = INT64_MIN,
		.last_ns = -1 };

	return path < t->sums->count ? &t->sums->all[path] : &nothing;
}

/* ---- the tree of paths --------------------------------------------------- */

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
		uint32_t parent = sb_run_path(t->run, p)->parent;

		t->alive[p] |= sum_at(t, p)->count > 0;
		t->alive[parent] |= t->alive[p];
		t->next_sibling[p] = t->first_child[parent];
		t->first_child[parent] = p;
	}
	return 0;
}

static struct node *add_node(struct tree *t, uint32_t parent)
{
	struct node *n;

	if (t->node_count == t->node_room) {
		uint32_t room = t->node_room ? t->node_room * 2 : 64;
		struct node *more = realloc(t->nodes, room * sizeof *more);

		if (!more)
			return NULL;
		t->nodes = more;
		t->node_room = room;
	}
	n = &t->nodes[t->node_count++];
	*n = (struct node){ .parent = parent,
		.first_path = NONE,
		.skip = NONE,
		.depth = parent == NONE || !parent ? 0 : t->nodes[parent].depth + 1 };
	return n;
}

static bool add_kid(struct tree *t, uint32_t path)
{
	if (t->kid_count == t->kid_room) {
		uint32_t room = t->kid_room ? t->kid_room * 2 : 64;
		struct kid *more = realloc(t->kids, room * sizeof *more);

		if (!more)
			return false;
		t->kids = more;
		t->kid_room = room;
	}
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
		n->total_ns += sum_at(t, k->path)->total_ns;
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
	for (uint32_t i = 0; i < t->sums->skip_count; i++) {
		const struct sb_stage_skip *k = &t->sums->skips[i];
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
		if (!err && t->sums->skip_count)
			err = add_skipped(t, i, first);
	}
	return err;
}

/* --combine: one row per name, whatever is around it. */
static int flat_tree(struct tree *t)
{
	int err = 0;

	if (!add_node(t, NONE))
		return no_memory(t);
	for (uint32_t p = 1; p < t->path_count; p++)
		if (sum_at(t, p)->count && !add_kid(t, p))
			return no_memory(t);
	if (t->kid_count)
		err = add_children(t, 0);
	for (uint32_t i = 0; i < t->sums->skip_count; i++)
		t->sums->skips[i].parent = 0;
	t->nodes[0].first_path = 0;
	return err ? err : add_skipped(t, 0, 1);
}

/* ---- rows ---------------------------------------------------------------- */

static double quantile_of(
	const double *low, const double *high, const uint64_t *counts, uint64_t total, double q)
{
	double rank = q * (double)(total - 1), before = 0;

	for (uint32_t b = 0; b < SB_STAGE_BUCKETS; b++) {
		if (counts[b] && before + (double)counts[b] > rank)
			return (low[b] + high[b]) / 2;
		before += (double)counts[b];
	}
	return NAN;
}

void sb_stage_folded_percentiles(const uint64_t *counts, struct sb_stats *s)
{
	double low[SB_STAGE_BUCKETS], high[SB_STAGE_BUCKETS];
	uint64_t total = 0;
	double *out[] = { &s->p50, &s->p95, &s->p99 };
	const double q[] = { 0.50, 0.95, 0.99 };

	for (uint32_t b = 0; b < SB_STAGE_BUCKETS; b++) {
		sb_digest_bucket_range(b, &low[b], &high[b]);
		total += counts[b];
	}
	for (int i = 0; total && i < 3; i++) {
		*out[i] = quantile_of(low, high, counts, total, q[i]) / 1e9;
		if (*out[i] < s->min)
			*out[i] = s->min;
		if (*out[i] > s->max)
			*out[i] = s->max;
	}
	s->percentile_error_ratio = 1.0 / 16;
}

static void count_buckets(uint64_t *counts, const struct sb_stage_sum *sum)
{
	size_t large_at = 0;

	for (uint32_t b = 0; sum->folded && b < SB_STAGE_BUCKETS; b++)
		counts[b] += sum->folded[b];
	for (size_t i = 0; i < sum->durations.count; i++)
		counts[sb_digest_bucket_of(sb_durations_next(&sum->durations, i, &large_at))]++;
}

/* The calls of a node as a histogram that other runs' can be added to. */
static int fill_histogram(struct tree *t, const struct node *n, struct sb_stage *row)
{
	struct sb_histogram h = { 0 }, *kept = sb_model_alloc(t->model, sizeof *kept);
	bool ok = kept != NULL;

	for (uint32_t p = n->first_path; p != NONE && ok; p = t->next_path[p]) {
		const struct sb_stage_sum *sum = sum_at(t, p);
		size_t large_at = 0;

		for (size_t i = 0; i < sum->durations.count && ok; i++)
			ok = sb_histogram_add(&h, sb_durations_next(&sum->durations, i, &large_at), 1);
		for (uint32_t b = 0; sum->folded && b < SB_STAGE_BUCKETS && ok; b++) {
			double low, high;

			sb_digest_bucket_range(b, &low, &high);
			ok = !sum->folded[b] ||
			     sb_histogram_add(&h, (uint64_t)((low + high) / 2), sum->folded[b]);
		}
	}
	if (ok) {
		*kept = h;
		kept->counts = sb_model_alloc(t->model, (h.size + 1) * sizeof *h.counts);
		ok = kept->counts != NULL;
	}
	if (ok && h.size)
		memcpy(kept->counts, h.counts, h.size * sizeof *h.counts);
	sb_histogram_done(&h);
	row->calls = kept;
	return ok ? 0 : no_memory(t);
}

/* Mean, min, max, percentiles of the whole calls, over all the node's paths. */
static int fill_time(struct tree *t, const struct node *n, struct sb_stage *row, int64_t whole_ns)
{
	uint64_t counts[SB_STAGE_BUCKETS] = { 0 };
	const struct sb_stage_sum *only = sum_at(t, n->first_path);
	struct sb_durations joined = { 0 };
	int64_t min_ns = INT64_MAX, max_ns = -1;
	bool folded = false;
	int err;

	for (uint32_t p = n->first_path; p != NONE; p = t->next_path[p]) {
		const struct sb_stage_sum *sum = sum_at(t, p);

		folded |= sum->folded != NULL;
		min_ns = sum->min_ns < min_ns ? sum->min_ns : min_ns;
		max_ns = sum->max_ns > max_ns ? sum->max_ns : max_ns;
		if (t->next_path[n->first_path] != NONE && !sb_durations_append(&joined, &sum->durations)) {
			sb_durations_done(&joined);
			return no_memory(t);
		}
	}
	err = sb_durations_stats(joined.count ? &joined : &only->durations, &row->time);
	sb_durations_done(&joined);
	row->time.count = row->count;
	row->time.total = (double)whole_ns / 1e9;
	row->time.mean = row->count ? (double)whole_ns / 1e9 / (double)row->count : NAN;
	row->time.min = max_ns < 0 ? NAN : (double)min_ns / 1e9;
	row->time.max = max_ns < 0 ? NAN : (double)max_ns / 1e9;
	if (folded) {
		for (uint32_t p = n->first_path; p != NONE; p = t->next_path[p])
			count_buckets(counts, sum_at(t, p));
		row->time.std = NAN;
		sb_stage_folded_percentiles(counts, &row->time);
	}
	if (!err && sb_model_build_options(t->model)->histograms)
		err = fill_histogram(t, n, row);
	return err;
}

static void merge_attr(struct sb_model *m, struct sb_stage_attr *to, const struct sb_stage_sum_attr *from)
{
	to->min = to->count && to->min < from->min ? to->min : from->min;
	to->max = to->count && to->max > from->max ? to->max : from->max;
	to->sum += from->sum;
	to->last = from->last;
	to->count += (int64_t)from->count;
	if (*from->text)
		to->text = sb_model_text(m, from->text);
}

static void fill_attrs(struct tree *t, const struct node *n, struct sb_stage *row)
{
	struct sb_stage_attr *all = NULL;
	size_t count = 0;

	for (uint32_t p = n->first_path; p != NONE; p = t->next_path[p])
		count += sum_at(t, p)->attr_count;
	if (!count || !(all = sb_model_alloc(t->model, (count < 64 ? count : 64) * sizeof *all)))
		return;
	for (uint32_t p = n->first_path; p != NONE; p = t->next_path[p])
		for (uint32_t i = 0; i < sum_at(t, p)->attr_count; i++) {
			const struct sb_stage_sum_attr *from = &sum_at(t, p)->attrs[i];
			size_t k = 0;

			while (k < row->attr_count && strcmp(all[k].key, from->key))
				k++;
			if (k == 64)
				continue;
			if (k == row->attr_count) {
				all[k].key = sb_model_text(t->model, from->key);
				row->attr_count++;
			}
			merge_attr(t->model, &all[k], from);
		}
	row->attrs = all;
}

static int by_member_total(const void *a, const void *b)
{
	const struct sb_stage_member *x = a, *y = b;

	if (x->total_s != y->total_s)
		return x->total_s > y->total_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Who is inside a group, by name. A node's paths of one name are neighbours. */
static int fill_members(struct tree *t, const struct node *n, struct sb_stage *row)
{
	struct sb_stage_member *all;
	size_t count = 0;
	uint32_t last = 0;

	for (uint32_t p = n->first_path; p != NONE; p = t->next_path[p])
		count++;
	all = calloc(count, sizeof *all);
	if (!all)
		return no_memory(t);
	count = 0;
	for (uint32_t p = n->first_path; p != NONE; p = t->next_path[p]) {
		uint32_t name = sb_run_path(t->run, p)->name;

		if (!count || name != last)
			all[count++].name = t->run->names[name].text;
		last = name;
		all[count - 1].count += (int64_t)sb_stage_sum_whole(sum_at(t, p));
		all[count - 1].total_s += (double)sum_at(t, p)->total_ns / 1e9;
	}
	qsort(all, count, sizeof *all, by_member_total);
	row->member_total = count;
	row->member_count = count < SB_MEMBERS_MAX ? count : SB_MEMBERS_MAX;
	row->members = sb_model_alloc(t->model, row->member_count * sizeof *all);
	for (size_t i = 0; row->members && i < row->member_count; i++) {
		row->members[i] = all[i];
		row->members[i].name = sb_model_text(t->model, all[i].name);
	}
	free(all);
	return 0;
}

static void fill_skipped(struct tree *t, const struct node *n, struct sb_stage *row)
{
	row->state = SB_STAGE_SKIPPED;
	row->skip_reason = sb_model_text(t->model, t->sums->skips[n->skip].reason);
	row->first_s = row->end_s = (double)t->sums->skips[n->skip].t_ns / 1e9;
	row->total_s = row->self_s = 0;
	row->wall_ratio = row->self_ratio = row->covered_s = 0;
	row->at_once_mean = NAN;
	row->time = (struct sb_stats){ .total = NAN,
		.mean = NAN,
		.min = NAN,
		.max = NAN,
		.p50 = NAN,
		.p95 = NAN,
		.p99 = NAN,
		.last = NAN,
		.std = NAN };
}

/* Calls on one thread follow one another; those of several, or of tasks, may not. */
static int fill_covered(struct tree *t, const struct node *n, struct sb_stage *row, int64_t total_ns)
{
	struct sb_coverage all = { 0 };
	bool several = row->thread_count > 1 || row->span;
	uint32_t track = UINT32_MAX;

	for (uint32_t p = n->first_path; p != NONE; p = t->next_path[p]) {
		const struct sb_stage_sum *s = sum_at(t, p);

		several |= s->count && track != UINT32_MAX && track != s->last_track;
		track = s->count ? s->last_track : track;
		if (!sb_coverage_join(&all, &s->coverage)) {
			sb_coverage_done(&all);
			return no_memory(t);
		}
	}
	row->covered_s = row->total_s;
	row->at_once_mean = NAN;
	if (several && all.filled_ns) {
		int64_t covered_ns = sb_coverage_ns(&all, &t->sums->span);

		row->covered_s = (double)(covered_ns < total_ns ? covered_ns : total_ns) / 1e9;
		row->before_run = row->first_s < (double)t->sums->span.from_ns / 1e9;
		if (covered_ns > 0 && !row->before_run &&
			(double)total_ns > WORTH_SAYING * (double)covered_ns)
			row->at_once_mean = (double)total_ns / (double)covered_ns;
	}
	sb_coverage_done(&all);
	return 0;
}

static int fill_row(struct tree *t, const struct node *n, struct sb_stage *row)
{
	const struct sb_run_name *name = &t->run->names[n->name];
	double wall_s = t->model->stages.wall_s;
	int64_t total_ns = 0, self_ns = 0, unfinished_ns = 0, gpu_ns = 0;
	int64_t first_ns = INT64_MAX, end_ns = INT64_MIN, last_end_ns = INT64_MIN, last_ns = -1;
	uint64_t untimed = 0, zones = 0;
	double busy_s = 0;

	row->name = sb_model_text(t->model, n->pattern ? n->pattern : name->text);
	row->code = *name->code ? sb_model_text(t->model, name->code) : NULL;
	row->parent = n->parent && n->parent != NONE ? (int64_t)t->nodes[n->parent].row : -1;
	row->depth = n->depth;
	row->gpu_span_s = row->gpu_busy_s = row->unattributed_s = NAN;
	if (n->skip != NONE) {
		fill_skipped(t, n, row);
		return 0;
	}
	for (uint32_t p = n->first_path; p != NONE; p = t->next_path[p]) {
		const struct sb_stage_sum *s = sum_at(t, p);

		zones += s->count;
		row->count += (int64_t)sb_stage_sum_whole(s);
		row->recursive_count += (int64_t)s->recursive_count;
		row->open_count += (int64_t)s->open_count;
		row->cut_count += (int64_t)s->cut_count;
		row->folded_count += (int64_t)s->folded_count;
		row->gpu_span_count += (int64_t)s->gpu_span_count;
		row->thread_count = row->thread_count > s->track_count ? row->thread_count : s->track_count;
		row->main_thread |= s->main;
		row->span |= s->span;
		row->role = s->role ? s->role : row->role;
		untimed += s->untimed_count;
		total_ns += s->total_ns;
		self_ns += s->self_ns;
		unfinished_ns += s->unfinished_ns;
		gpu_ns += s->gpu_span_ns;
		busy_s += p < t->model->gpu.path_count ? t->model->gpu.path_busy_s[p] : 0;
		first_ns = s->first_ns < first_ns ? s->first_ns : first_ns;
		end_ns = s->end_ns > end_ns ? s->end_ns : end_ns;
		if (s->last_end_ns > last_end_ns) {
			last_end_ns = s->last_end_ns;
			last_ns = s->last_ns;
		}
	}
	if (row->thread_count > t->run->track_count)
		row->thread_count = t->run->track_count;
	row->total_s = (double)total_ns / 1e9;
	row->unfinished_s = (double)unfinished_ns / 1e9;
	row->self_s = (double)(self_ns > 0 ? self_ns : 0) / 1e9;
	row->first_s = (double)first_ns / 1e9;
	row->end_s = (double)end_ns / 1e9;
	if (fill_covered(t, n, row, total_ns))
		return STROBE_ENOMEM;
	row->wall_ratio = wall_s > 0 ? row->covered_s / wall_s : 0;
	row->self_ratio = row->total_s > 0 ? row->wall_ratio * row->self_s / row->total_s : 0;
	if (row->gpu_span_count)
		row->gpu_span_s = (double)gpu_ns / 1e9;
	if (busy_s > 0)
		row->gpu_busy_s = busy_s;
	row->state = row->open_count               ? SB_STAGE_OPEN
		     : untimed && untimed == zones ? SB_STAGE_UNTIMED
						   : SB_STAGE_NORMAL;
	fill_attrs(t, n, row);
	if (n->pattern && fill_members(t, n, row))
		return STROBE_ENOMEM;
	if (fill_time(t, n, row, total_ns - unfinished_ns))
		return STROBE_ENOMEM;
	row->time.last = last_ns < 0 ? NAN : (double)last_ns / 1e9;
	return 0;
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
	/* todo: places in sorted to visit; a sibling follows its elder */
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

static int make_rows(struct tree *t)
{
	struct sb_stages_section *s = &t->model->stages;
	uint32_t *order = malloc((t->node_count + 1) * sizeof *order);
	int err = order ? order_nodes(t, order) : no_memory(t);

	s->stage_count = t->node_count - 1;
	s->stages = sb_model_alloc(t->model, (s->stage_count + 1) * sizeof *s->stages);
	if (!err && !s->stages)
		err = no_memory(t);
	for (uint32_t i = 0; !err && i < s->stage_count; i++)
		err = fill_row(t, &t->nodes[order[i]], &s->stages[i]);
	free(order);
	for (uint32_t i = 0; !err && i < s->stage_count; i++)
		if (s->stages[i].parent >= 0) {
			struct sb_stage *parent = &s->stages[s->stages[i].parent];

			parent->child_count++;
			parent->unattributed_s = parent->self_s;
		}
	if (!err)
		sb_stages_rank(t->model);
	return err;
}

int sb_stage_tree_build(struct sb_stage_sums *sums, struct sb_model *model)
{
	struct tree t = { .sums = sums, .model = model, .run = sums->run };
	int64_t wall_ns = sums->run->to_ns - sums->run->from_ns;
	int64_t left_ns = wall_ns - sb_run_attributed_ns(sums->run);
	int err;

	model->stages.wall_s = (double)wall_ns / 1e9;
	model->stages.unattributed_s = left_ns > 0 ? (double)left_ns / 1e9 : 0;
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
