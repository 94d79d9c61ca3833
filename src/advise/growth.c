/* Rules about what grows and never stops: memory, open files. */
#include "advise/debug.h"
#include "advise/growth.h"
#include "advise/rule.h"
#include "advise/weigh.h"

#include "base/memory_units.h"

#include <string.h>

#define SETTLED_LEAST 16 /* steps or calls */

static const struct sb_pair *attr(const struct sb_event_row *e, const char *key)
{
	for (size_t i = 0; e && i < e->attr_count; i++)
		if (strcmp(e->attrs[i].key, key) == 0)
			return &e->attrs[i];
	return NULL;
}

/* The last event with a name about this kind of memory: what the program itself reported. */
static const struct sb_event_row *event_of(const struct sb_model *model, const char *name, const char *of)
{
	const struct sb_event_row *last = NULL;

	for (size_t i = 0; i < model->events.count; i++) {
		const struct sb_event_row *e = &model->events.rows[i];
		const struct sb_pair *pair = strcmp(e->name, name) == 0 ? attr(e, "of") : NULL;

		if (pair && pair->s && strcmp(pair->s, of) == 0)
			last = e;
	}
	return last;
}

static const struct sb_event_row *holder_of(const struct sb_model *model, const char *of)
{
	const struct sb_event_row *e = event_of(model, "memory_grows", of);

	return attr(e, "holder") ? e : event_of(model, "memory_holder", of);
}

static const struct sb_growth *row_of(const struct sb_model *model, const char *of, const char *per)
{
	for (size_t i = 0; i < model->memory.growth_count; i++)
		if (strcmp(model->memory.growth[i].of, of) == 0 &&
			strcmp(model->memory.growth[i].per, per) == 0)
			return &model->memory.growth[i];
	return NULL;
}

/* The unit for its growth: generations, else steps, else calls, else seconds. What grows is a leak, unless the user raised the limit. */
static const struct sb_growth *leak_of(const struct sb_advisor *a, const char *of)
{
	bool raised = a->limit > a->rule->threshold;

	for (size_t i = 0; i < SB_GROWTH_UNITS; i++) {
		const struct sb_growth *g = row_of(a->model, of, sb_growth_units[i]);
		double limit = i ? a->limit / 8 : a->limit;

		if (g && g->verdict == SB_GROWTH_GROWS && (!raised || g->low > limit * SB_MB))
			return g;
	}
	return NULL;
}

double sb_growth_leaked(const struct sb_model *model, bool on_host)
{
	for (size_t i = 0; i < SB_GROWTH_UNITS; i++) {
		const struct sb_growth *g = row_of(model, on_host ? "host" : "vram", sb_growth_units[i]);

		if (g && g->verdict == SB_GROWTH_GROWS)
			return g->per_unit * (double)g->unit_count;
	}
	return 0;
}

static const char *unit_words(struct sb_advisor *a, const struct sb_growth *g)
{
	return g->stage ? sb_say(a, "call of '%s'", g->stage) : g->per;
}

/* "2400 MB after each of 8 generations, 300 MB with each step (p = 0.001)" */
static const char *evidence_of(struct sb_advisor *a, const struct sb_growth *g)
{
	const struct sb_growth *step = row_of(a->model, g->of, "step");
	const char *too = "";

	if (step && step != g && step->verdict == SB_GROWTH_GROWS)
		too = sb_say(a, ", %.1f MB with each step", step->per_unit / SB_MB);
	return sb_say(a, "%.1f MB more after each of %lld %ss%s, 95 %% between %.1f and %.1f; p = %.2g",
		g->per_unit / SB_MB, (long long)g->unit_count, g->per, too, g->low / SB_MB, g->high / SB_MB,
		g->p);
}

static void add_place(struct sb_advice *f, const struct sb_event_row *e, const char *stage)
{
	const struct sb_pair *file = attr(e, "file"), *line = attr(e, "line");

	if (f && file && file->s && line && line->i > 0)
		sb_finding_line(f, file->s, (uint32_t)line->i);
	if (f && stage)
		f->stage = f->where.stage = stage;
}

/* It ends in running out of memory: more urgent than lost time. */
static void raise(struct sb_advisor *a, struct sb_advice *f)
{
	if (!f)
		return;
	f->rank_s = sb_weigh_work_s(a->model) * 0.25;
	f->priority = sb_priority_name(SB_PRIORITY_HIGH);
}

/* With a history of allocations: the line whose blocks are still there and make up the growth. */
static const struct sb_memory_line *never_freed(const struct sb_model *model, const struct sb_growth *g)
{
	const struct sb_memory_line *most = NULL;
	double growth = g->per_unit * (double)g->unit_count;

	for (size_t i = 0; i < model->memory.line_count; i++) {
		const struct sb_memory_line *l = &model->memory.lines[i];

		if (strcmp(g->of, l->device < 0 ? "host" : "vram") == 0 && l->file &&
			l->end_bytes >= growth / 2 && l->end_count * 2 >= g->unit_count &&
			(!most || l->end_bytes > most->end_bytes))
			most = l;
	}
	return most;
}

static const char *line_words(struct sb_advisor *a, const struct sb_memory_line *l)
{
	const char *name = strrchr(l->file, '/');

	return sb_say(a, "what %s:%lld allocates is never freed: %lld blocks, %.1f MB at the end",
		name ? name + 1 : l->file, (long long)l->line, (long long)l->end_count, l->end_bytes / SB_MB);
}

static bool is_over_time(const struct sb_growth *g)
{
	return strcmp(g->per, "second") == 0;
}

/* malloc keeps what was freed: over so few steps or calls it may still be on its way to what they need at once. */
static bool may_settle(const struct sb_model *model, const struct sb_growth *g)
{
	return !model->out_of_memory.present && strcmp(g->of, "host") == 0 &&
	       strcmp(g->per, "generation") != 0 && (is_over_time(g) || g->unit_count < SETTLED_LEAST);
}

static void doubt(struct sb_advisor *a, struct sb_advice *f, const struct sb_growth *g)
{
	bool grow = sb_weigh_sizes_grow(a->model);

	sb_finding_cause(f,
		grow ? "nothing was found that keeps it; the generations themselves became larger"
		: is_over_time(g)
			? "nothing was found that keeps it; the program may load what it works on"
			: sb_say(a,
				  "nothing was found that keeps it; in %lld %ss the allocator may not "
				  "have settled",
				  (long long)g->unit_count, g->per),
		SB_GAIN_ESTIMATED, SB_POSSIBLE);
	f->suggestion = grow ? "Record several generations of one size: a leak goes on."
			: is_over_time(g)
				? "Record a longer run, with --memory-history=host: the line whose memory "
				  "stays is named then."
				: "Record a longer run: a leak goes on, an allocator stops.";
	f->priority = sb_priority_name(SB_PRIORITY_LOW);
}

static const char *graph_words(struct sb_advisor *a, const char *name)
{
	return sb_say(a,
		"'%s' is called while gradients are recorded: a result that is kept for the next call keeps "
		"the whole graph that made it",
		name);
}

static void find_leak(struct sb_advisor *a, const struct sb_growth *g, const char *words, const char *of)
{
	const struct sb_event_row *e = holder_of(a->model, of);
	const struct sb_pair *holder = attr(e, "holder");
	const char *in = g->where ? sb_say(a, " in '%s'", g->where) : "";
	const struct sb_memory_line *line = never_freed(a->model, g);
	const char *freed = line ? line_words(a, line) : NULL;
	struct sb_advice *f = sb_advisor_find(a, g->per_unit / SB_MB, NAN,
		sb_say(a, "%s grows by %.1f MB with every %s", words, g->per_unit / SB_MB, unit_words(a, g)),
		freed ? sb_say(a, "%s; %s", evidence_of(a, g), freed) : evidence_of(a, g));
	const char *graph = sb_debug_gradients(a->model, NULL);
	bool known = (holder && holder->s) || freed || graph;

	sb_finding_cause(f,
		holder && holder->s ? holder->s
		: freed             ? freed
		: graph             ? graph_words(a, graph)
		: is_over_time(g)   ? "something keeps what the program makes"
				    : sb_say(a, "something keeps what each %s makes%s", unit_words(a, g), in),
		SB_GAIN_ESTIMATED, known ? SB_LIKELY : SB_POSSIBLE);
	if (f && line)
		sb_finding_line(f, line->file, (uint32_t)line->line);
	if (f && graph && !freed && !(holder && holder->s))
		f->suggestion =
			"Call the model under torch.inference_mode(); what is kept for the next call, "
			".detach() first.";
	add_place(f, e, g->where);
	if (f && !known && (may_settle(a->model, g) || sb_weigh_sizes_grow(a->model)))
		doubt(a, f, g);
	else
		raise(a, f);
}

#define STOPPED_LEAST 5 /* generations that came after the growth */
#define SLOPE_LEAST 10 /* readings: their slope is believed */

/* It grew, and then no more: a cache that filled up. */
static bool has_stopped(const struct sb_model *m, const struct sb_event_row *e, const struct sb_growth *g)
{
	size_t after = 0;

	if (!e || !g || g->verdict == SB_GROWTH_GROWS || g->reading_count < SLOPE_LEAST)
		return false;
	for (size_t i = 0; i < m->generations.count; i++)
		after += m->generations.all[i].begin_s > e->t_s;
	return after >= STOPPED_LEAST;
}

/* Too few readings for a slope, but each of five generations in a row left more memory in use. */
static void find_seen(struct sb_advisor *a, const char *of, const char *kind, const char *words)
{
	const struct sb_event_row *e = event_of(a->model, "memory_grows", of);
	const struct sb_pair *bytes = attr(e, "bytes"), *holder = attr(e, "holder");
	const struct sb_growth *g = row_of(a->model, kind, "generation");
	double mb = bytes ? (double)bytes->i / SB_MB : 0;
	struct sb_advice *f;

	if (!(mb > a->limit) || (g && g->verdict == SB_GROWTH_SETTLES) || has_stopped(a->model, e, g) ||
		(!holder && sb_weigh_sizes_grow(a->model)))
		return;
	f = sb_advisor_find(a, mb, NAN, sb_say(a, "%s grows with every generation", words),
		sb_say(a, "%.0f MB more after each of five generations in a row", mb));
	sb_finding_cause(f,
		holder && holder->s
			? holder->s
			: sb_say(a, "something keeps what each generation makes: %.0f MB of %s each time", mb,
				  words),
		SB_GAIN_ESTIMATED, holder && holder->s ? SB_LIKELY : SB_POSSIBLE);
	add_place(f, e, NULL);
	raise(a, f);
}

void sb_rule_memory_leak(struct sb_advisor *a)
{
	static const struct {
		const char *kind, *event, *words;
	} all[] = {
		{ "vram", "device", "GPU memory" },
		{ "pinned", "host", "pinned memory" },
		{ "host", "host", "the process's memory" },
	};
	size_t before = a->found.count;

	for (size_t i = 0; i < 3 && a->found.count == before; i++) {
		const struct sb_growth *g = leak_of(a, all[i].kind);

		if (g)
			find_leak(a, g, all[i].words, all[i].event);
		else if (i != 1)
			find_seen(a, all[i].event, all[i].kind, all[i].words);
	}
}

void sb_rule_open_files(struct sb_advisor *a)
{
	for (size_t i = 0; i < SB_GROWTH_UNITS; i++) {
		const struct sb_growth *g = row_of(a->model, "open_files", sb_growth_units[i]);
		const struct sb_event_row *e = event_of(a->model, "memory_holder", "files");
		const struct sb_pair *holder = attr(e, "holder"), *target = attr(e, "target");
		struct sb_advice *f;

		if (!g || g->verdict != SB_GROWTH_GROWS || !(g->per_unit > a->limit))
			continue;
		f = sb_advisor_find(a, g->per_unit, NAN,
			sb_say(a, "%.1f more files are open after every %s", g->per_unit, unit_words(a, g)),
			sb_say(a, "over %lld %ss; p = %.2g", (long long)g->unit_count, g->per, g->p));
		sb_finding_cause(f,
			holder && holder->s   ? holder->s
			: target && target->s ? sb_say(a, "they are opened and not closed: %s", target->s)
					      : "something opens files and does not close them",
			SB_GAIN_ESTIMATED, e ? SB_LIKELY : SB_POSSIBLE);
		add_place(f, e, g->where);
		return;
	}
}
