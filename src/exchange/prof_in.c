/* Reads cProfile files: sums per function and per caller become a tree of zones on a
 * made-up clock. A function's time is shared out among its callers as cProfile
 * measured it; what a caller's callees took is shared out in proportion. */
#include "exchange/import.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/filename.h"
#include "base/strings.h"
#include "base/vec.h"
#include "exchange/marshal.h"
#include "format/builder.h"
#include "format/run_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (256u << 20)
#define NUMBER_MAX 1e12 /* calls or seconds: more is not a profile */
#define WHOLE_S_MAX 1e9 /* thirty years: nanoseconds stay within 64 bits */
#define DEPTH_MAX 100u
#define ZONES_MAX 500000u
#define ROOTS_MAX 1000u /* cProfile watches one thread: it has a few */
#define LEAST_SHARE 1e-5 /* of the whole: less stays in the caller's own time */

struct edge { /* a caller and what it called */
	uint32_t caller, callee, next; /* next: of the same caller, 0: none */
	double calls, total_s;
};

struct function {
	uint32_t label; /* number in strings */
	const struct sb_marshal *file;
	double calls, self_s, total_s;
	uint32_t first_edge;
	double root_calls, root_s; /* of the calls that nothing in the file made */
	double again_s; /* of root_s: may be inside another root, too */
	bool open, reached;
	uint32_t name; /* in the recording */
};

struct prof {
	const char *path;
	struct sb_strings labels;
	struct sb_vec functions; /* struct function, [label] */
	struct sb_vec edges; /* [0] unused */
	struct sb_builder *builder;
	struct sb_stream_writer *writer;
	double least_s;
	uint64_t zone_count;
	uint32_t calls_key;
};

static int malformed(const struct prof *p)
{
	return sb_fail(
		STROBE_EFORMAT, "'%s' byte 0: marshalled Python, but not what cProfile writes", p->path);
}

/* ---- reading ---- */

static bool is_tuple(const struct sb_marshal *m, size_t size)
{
	return m->type == SB_MARSHAL_TUPLE && m->size >= size;
}

static bool is_number(const struct sb_marshal *m)
{
	return (m->type == SB_MARSHAL_INT || m->type == SB_MARSHAL_FLOAT) && m->f >= 0 && m->f < NUMBER_MAX;
}

/* (file, line, function) -> "function (file.py:12)" */
static uint32_t label_of(struct prof *p, const struct sb_marshal *key)
{
	char text[600];
	const char *file, *slash;
	int size;

	if (!is_tuple(key, 3) || key->items[0]->type != SB_MARSHAL_TEXT ||
		key->items[1]->type != SB_MARSHAL_INT || key->items[2]->type != SB_MARSHAL_TEXT)
		return 0;
	file = key->items[0]->text;
	slash = memrchr(file, '/', key->items[0]->size);
	slash = slash ? slash + 1 : file;
	size = (int)(key->items[0]->size - (size_t)(slash - file));
	if (key->items[1]->i > 0)
		snprintf(text, sizeof text, "%.*s (%.*s:%lld)",
			(int)(key->items[2]->size < 300 ? key->items[2]->size : 300), key->items[2]->text,
			size < 200 ? size : 200, slash, (long long)key->items[1]->i);
	else
		snprintf(text, sizeof text, "%.*s",
			(int)(key->items[2]->size < 500 ? key->items[2]->size : 500), key->items[2]->text);
	return sb_strings_add(&p->labels, *text ? text : "?", *text ? strlen(text) : 1);
}

static struct function *function_at(struct prof *p, uint32_t label)
{
	while (p->functions.count <= label)
		if (!sb_vec_push(&p->functions, sizeof(struct function)))
			return NULL;
	((struct function *)p->functions.items)[label].label = label;
	return &((struct function *)p->functions.items)[label];
}

/* {caller: (calls, primitive calls, own time, time)} */
static int take_callers(struct prof *p, uint32_t callee, const struct sb_marshal *callers)
{
	for (size_t i = 0; i + 1 < callers->size; i += 2) {
		uint32_t caller = label_of(p, callers->items[i]);
		const struct sb_marshal *sums = callers->items[i + 1];
		struct function *f = caller ? function_at(p, caller) : NULL;
		struct edge *e;

		if (!f || !is_tuple(sums, 4) || !is_number(sums->items[0]) || !is_number(sums->items[3]))
			return malformed(p);
		e = sb_vec_push(&p->edges, sizeof *e);
		if (!e)
			return sb_fail(STROBE_ENOMEM, "no memory to read '%s'", p->path);
		*e = (struct edge){ caller, callee, 0, sums->items[0]->f, sums->items[3]->f };
	}
	return 0;
}

/* {function: (primitive calls, calls, own time, time, callers)} */
static int take_functions(struct prof *p, const struct sb_marshal *all)
{
	if (all->type != SB_MARSHAL_DICT || !all->size)
		return malformed(p);
	for (size_t i = 0; i + 1 < all->size; i += 2) {
		uint32_t label = label_of(p, all->items[i]);
		const struct sb_marshal *sums = all->items[i + 1];
		struct function *f = label ? function_at(p, label) : NULL;
		int err;

		if (!f || !is_tuple(sums, 5) || !is_number(sums->items[1]) || !is_number(sums->items[2]) ||
			!is_number(sums->items[3]) || sums->items[4]->type != SB_MARSHAL_DICT)
			return malformed(p);
		f->file = all->items[i]->items[0];
		f->calls += sums->items[1]->f;
		f->self_s += sums->items[2]->f;
		f->total_s += sums->items[3]->f;
		err = take_callers(p, label, sums->items[4]);
		if (err)
			return err;
	}
	return 0;
}

/* ---- callers and callees ---- */

static int larger_first(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->total_s != y->total_s)
		return x->total_s > y->total_s ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* A caller's callees, the largest first: where a recursive one was counted twice,
 * what is left for the small ones is what is missing. */
static void link_edges(struct prof *p)
{
	struct edge *edges = p->edges.items;
	struct function *all = p->functions.items;

	qsort(edges + 1, p->edges.count - 1, sizeof *edges, larger_first);
	for (size_t i = p->edges.count; i-- > 1;) {
		edges[i].next = all[edges[i].caller].first_edge;
		all[edges[i].caller].first_edge = (uint32_t)i;
	}
}

/* Marks what a function calls, directly or not. */
static int reach(struct prof *p, uint32_t from)
{
	struct function *all = p->functions.items;
	const struct edge *edges = p->edges.items;
	uint32_t *waiting = malloc(p->functions.count * sizeof *waiting);
	size_t count = 0;

	if (!waiting)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	for (size_t i = 0; i < p->functions.count; i++)
		all[i].reached = false;
	all[from].reached = true;
	for (waiting[count++] = from; count;)
		for (uint32_t e = all[waiting[--count]].first_edge; e; e = edges[e].next)
			if (!all[edges[e].callee].reached) {
				all[edges[e].callee].reached = true;
				waiting[count++] = edges[e].callee;
			}
	free(waiting);
	return 0;
}

/* The calls of a function that nothing in the file made begin a tree. Their time is what
 * its other callers did not get; a caller that it reaches itself ('exec' of a script that
 * imports something) only calls it again inside such a call. */
static int find_roots(struct prof *p)
{
	struct function *all = p->functions.items;
	const struct edge *edges = p->edges.items;
	unsigned searched = 0;

	for (size_t i = 1; i < p->functions.count; i++)
		all[i].root_calls = all[i].calls;
	for (size_t e = 1; e < p->edges.count; e++)
		all[edges[e].callee].root_calls -= edges[e].calls;
	for (uint32_t i = 1; i < p->functions.count; i++) {
		int err;

		if (all[i].root_calls < 1 || all[i].total_s <= 0 || searched == ROOTS_MAX)
			continue;
		searched++;
		err = reach(p, i);
		if (err)
			return err;
		all[i].root_s = all[i].total_s;
		for (size_t e = 1; e < p->edges.count; e++)
			if (edges[e].callee == i && !all[edges[e].caller].reached)
				all[i].root_s -= edges[e].total_s;
			else if (edges[e].callee == i)
				all[i].again_s += edges[e].total_s;
		if (all[i].root_s < 0)
			all[i].root_s = 0;
		if (all[i].again_s > all[i].root_s)
			all[i].again_s = all[i].root_s;
	}
	return 0;
}

static double whole_of(struct prof *p, bool roots)
{
	const struct function *all = p->functions.items;
	double sum_s = 0;

	for (size_t i = 1; i < p->functions.count; i++)
		sum_s += !roots ? all[i].self_s : all[i].root_s;
	return sum_s;
}

/* The roots together are no more than all functions' own time. What is more was counted twice: 'exec' in a script
 * that also imports something, under the profiler and in the import. It is taken from those that can be both. */
static void count_once(struct prof *p)
{
	struct function *all = p->functions.items;
	double excess_s = whole_of(p, true) - whole_of(p, false), again_s = 0;

	for (size_t i = 1; i < p->functions.count; i++)
		again_s += all[i].again_s;
	if (excess_s <= 0 || again_s <= 0)
		return;
	for (size_t i = 1; i < p->functions.count; i++)
		all[i].root_s -= all[i].again_s * (excess_s < again_s ? excess_s / again_s : 1);
}

/* ---- writing ---- */

static uint32_t name_of(struct prof *p, struct function *f)
{
	char file[1024];

	if (f->name)
		return f->name;
	f->name = sb_builder_name(p->builder, sb_strings_text(&p->labels, f->label), NULL);
	if (f->file && f->file->size > 1 && f->file->text[0] != '~') {
		snprintf(file, sizeof file, "%.*s", (int)(f->file->size < 1000 ? f->file->size : 1000),
			f->file->text);
		sb_builder_code_file(p->builder, f->name, file);
	}
	return f->name;
}

/* A call of f that took so long: its callees' shares first, the rest is its own. */
static void put_call(
	struct prof *p, struct function *f, double calls, double begin_s, double total_s, unsigned depth)
{
	/* A file may contradict itself: no call is more than the whole of its function. */
	double share = f->total_s > total_s ? total_s / f->total_s : 1, at_s = begin_s,
	       end_s = begin_s + total_s;
	uint32_t name = name_of(p, f);
	const struct edge *edges = p->edges.items;

	p->zone_count++;
	sb_builder_begin(p->writer, (uint64_t)(begin_s * 1e9), name);
	sb_builder_attr(p->writer, p->calls_key, (int64_t)(calls + 0.5));
	if (calls >= 1.5)
		sb_builder_attr(p->writer, SB_NAME_CALLS, (int64_t)(calls + 0.5));
	f->open = true;
	for (uint32_t i = f->first_edge; i; i = edges[i].next) {
		struct function *callee = &((struct function *)p->functions.items)[edges[i].callee];
		double part_s = edges[i].total_s * share;

		if (part_s > end_s - at_s)
			part_s = end_s - at_s;
		if (callee->open || part_s < p->least_s || depth == DEPTH_MAX || p->zone_count >= ZONES_MAX)
			continue;
		put_call(p, callee, edges[i].calls * share, at_s, part_s, depth + 1);
		at_s += part_s;
	}
	f->open = false;
	sb_builder_end(p->writer, (uint64_t)(end_s * 1e9), name);
}

static int write_prof(struct prof *p, const char *strobe_path)
{
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	double at_s = 0;
	int err;

	if (whole_of(p, true) > WHOLE_S_MAX)
		return malformed(p);
	o.name = sb_filename_of(p->path);
	o.host = "imported";
	o.start_real_ns = sb_import_start_real_ns(p->path, (int64_t)(whole_of(p, true) * 1e9));
	err = sb_builder_open(strobe_path, &o, &p->builder);
	if (err)
		return err;
	p->writer = sb_builder_thread(p->builder, 0, NULL);
	if (!p->writer) {
		sb_builder_discard(p->builder);
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	}
	p->calls_key = sb_builder_name(p->builder, "calls", NULL);
	p->least_s = whole_of(p, false) * LEAST_SHARE;
	sb_builder_meta_string(p->builder, SB_META_RUN, SB_RUN_IMPORTED_FROM, p->path);
	sb_import_note_file_date(p->builder);
	sb_builder_meta_string(p->builder, SB_META_MISSING, "order of calls",
		"cProfile keeps sums per function, not when each call was; the clock is made up|record with "
		"'strobe run --sample=100'");
	for (size_t i = 1; i < p->functions.count; i++) {
		struct function *f = &((struct function *)p->functions.items)[i];

		if (f->root_s <= 0)
			continue;
		put_call(p, f, f->root_calls, at_s, f->root_s, 0);
		at_s += f->root_s;
	}
	return sb_builder_close(p->builder, (uint64_t)(at_s * 1e9) + 1);
}

static int read_all(struct sb_foreign *source, const char *path, struct sb_buf *out)
{
	for (;;) {
		char *to = sb_buf_reserve(out, 65536);
		ssize_t n = to ? sb_foreign_read(source, to, 65536) : -1;

		if (!to || out->size > FILE_BYTES_MAX)
			return sb_fail(STROBE_ENOMEM, "'%s' is too large for a profile", path);
		if (n < 0)
			return STROBE_EIO;
		if (n == 0)
			return 0;
		out->size += (size_t)n;
	}
}

static int import_prof(struct sb_foreign *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct prof p = { .path = path };
	struct sb_marshal_doc *doc = NULL;
	struct sb_buf bytes = { 0 };
	int err = read_all(source, path, &bytes);

	(void)opts;
	if (!err)
		err = sb_marshal_parse(path, bytes.data, bytes.size, &doc);
	if (!err && !sb_vec_push(&p.edges, sizeof(struct edge)))
		err = sb_fail(STROBE_ENOMEM, "no memory to import");
	if (!err)
		err = take_functions(&p, sb_marshal_root(doc));
	if (!err)
		link_edges(&p);
	if (!err)
		err = find_roots(&p);
	if (!err)
		count_once(&p);
	if (!err && whole_of(&p, true) <= 0)
		err = sb_fail(STROBE_EFORMAT, "'%s' holds no time: nothing was profiled", path);
	if (!err)
		err = write_prof(&p, strobe_path);
	out_summary->zones = p.zone_count;
	sb_vec_done(&p.functions);
	sb_vec_done(&p.edges);
	sb_strings_done(&p.labels);
	sb_marshal_free(doc);
	sb_buf_done(&bytes);
	return err;
}

/* A dictionary whose first key is a tuple. */
static bool looks_like_prof(const char *bytes, size_t size)
{
	return size > 2 && (bytes[0] & 0x7f) == '{' && ((bytes[1] & 0x7f) == '(' || (bytes[1] & 0x7f) == ')');
}

const struct sb_importer sb_prof_importer = { "cProfile", looks_like_prof, import_prof };
