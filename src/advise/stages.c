/* Rules about stages: where the time goes, compiling, loading, moving weights. */
#include "advise/between.h"
#include "advise/hot.h"
#include "advise/rule.h"
#include "advise/weigh.h"

#include "base/filename.h"
#include "base/role.h"

#include <string.h>

#define TOP_STAGES 3
#define KERNELS "Its kernels are in the GPU trace."
#define TENTH 0.1 /* of a stage: what a rule without a computed gain is ranked by */

static bool is_frame(const struct sb_stage *s)
{
	return s->role == STROBE_ROLE_GENERATION || s->role == STROBE_ROLE_STEP ||
	       s->role == STROBE_ROLE_FORWARD || s->role == STROBE_ROLE_LAYER ||
	       s->role == STROBE_ROLE_ITERATION || s->span || sb_role_phase(s->name) >= 0;
}

static bool is_of_generations(const struct sb_model *model, const struct sb_stage *s)
{
	return s->in_generation && !model->generations.whole_run && model->summary.generation_s > 0;
}

/* Of the generations inside of them, as on the first screen; else of the run. */
static double share_of(const struct sb_model *model, const struct sb_stage *s)
{
	return is_of_generations(model, s) ? fmin(1, sb_stage_real_s(s) / model->summary.generation_s)
					   : fmin(1, s->wall_ratio * sb_weigh_own_ratio(s));
}

/* The advice names the innermost stage that still passes the limit, not the stages around it. */
static bool has_inner_above(const struct sb_model *model, size_t outer, double limit)
{
	const struct sb_stage *all = model->stages.stages;

	for (size_t i = outer + 1; i < model->stages.stage_count && all[i].depth > all[outer].depth; i++) {
		if (share_of(model, &all[i]) > limit && !is_frame(&all[i]))
			return true;
	}
	return false;
}

static bool is_around(const struct sb_stages_panel *stages, size_t outer, size_t inner)
{
	int64_t at = (int64_t)inner;

	while (at > (int64_t)outer)
		at = stages->stages[at].parent;
	return at == (int64_t)outer;
}

/* No stage beside it takes longer: none that it is not inside of, and that is not inside of it. */
static bool is_largest(const struct sb_stages_panel *stages, size_t stage)
{
	for (size_t i = 0; i < stages->stage_count; i++)
		if (!stages->stages[i].setup && !is_around(stages, i, stage) &&
			!is_around(stages, stage, i) &&
			sb_stage_real_s(&stages->stages[i]) > sb_stage_real_s(&stages->stages[stage]))
			return false;
	return true;
}

/* Only one finding says where to start. */
static void tell_others(struct sb_advisor *a, size_t first)
{
	struct sb_advice *all = a->found.items, *most = NULL;

	for (size_t i = first; i < a->found.count; i++)
		most = !most || all[i].rank_s > most->rank_s ? &all[i] : most;
	for (size_t i = first; i < a->found.count; i++)
		if (&all[i] != most)
			all[i].suggestion = sb_say(a,
				"After '%s', which can save more: look at its parts "
				"below it in the stage table.",
				most->stage);
}

/* "; mostly '[3b] RAFT' in it, 95.32 s" of a stage around others, "; 77 % of 'DiffuEraser'" of one inside. */
static const char *other_level(struct sb_advisor *a, size_t stage)
{
	const struct sb_stage *all = a->model->stages.stages, *s = &all[stage], *most = NULL;

	for (size_t i = stage + 1; i < a->model->stages.stage_count && all[i].depth > s->depth; i++)
		if (!is_frame(&all[i]) && all[i].self_s > (most ? most->self_s : 0))
			most = &all[i];
	if (most && most->covered_s >= s->covered_s / 4)
		return sb_say(a, "; mostly '%s%s%s%s' in it, %s", most->code ? "[" : "",
			most->code ? most->code : "", most->code ? "] " : "", most->name,
			sb_say_seconds(a, most->covered_s));
	for (int64_t p = s->parent; p >= 0; p = all[p].parent)
		if ((all[p].bottleneck_level == SB_BOTTLENECK_MODEL ||
			    all[p].bottleneck_level == SB_BOTTLENECK_PART) &&
			all[p].covered_s > 0)
			return sb_say(
				a, "; %.0f %% of '%s'", s->covered_s / all[p].covered_s * 100, all[p].name);
	return "";
}

/* A benchmark's text is about one call: that it takes all the time says nothing, its layers do. */
static bool is_benchmarked_call(const struct sb_model *model, const struct sb_stage *s)
{
	bool benchmark = model->models.summed_blocks;

	for (size_t i = 0; i < model->iterations.count; i++)
		benchmark |= model->iterations.all[i].aside;
	return benchmark && s->parent < 0 && s->wall_ratio > 0.99;
}

void sb_rule_stage_dominates(struct sb_advisor *a)
{
	const struct sb_stages_panel *stages = &a->model->stages;
	size_t first = a->found.count;
	int found = 0;

	for (size_t k = 0; k < stages->stage_count && found < TOP_STAGES; k++) {
		size_t i = stages->by_total[k];
		const struct sb_stage *s = &stages->stages[i];
		double percent = share_of(a->model, s) * 100;
		bool inside = is_of_generations(a->model, s);
		struct sb_advice *f;

		if (is_frame(s) || !(percent > a->limit) || s->setup ||
			has_inner_above(a->model, i, a->limit / 100) || is_benchmarked_call(a->model, s))
			continue;
		found++;
		f = sb_advisor_find(a, percent, NAN,
			sb_say(a, "'%s' takes %.1f %% of the %s", s->name, percent,
				inside ? "generations" : "wall time"),
			sb_say(a, "%s of %s in %lld call%s%s%s; each tenth of it saves %s",
				sb_say_seconds(a, sb_stage_real_s(s)),
				sb_say_seconds(a, inside ? a->model->summary.generation_s : stages->wall_s),
				(long long)sb_stage_calls(s), sb_stage_calls(s) == 1 ? "" : "s",
				sb_stage_at_once(s) ? sb_say(a, ", %.1f at once", s->at_once_mean) : "",
				other_level(a, i),
				sb_say_seconds(a, sb_stage_in_turn_s(a->model, s) * TENTH)));
		if (!f)
			return;
		f->stage = s->name;
		f->rank_s = sb_stage_in_turn_s(a->model, s) * TENTH;
		f->whole_s = sb_stage_real_s(s);
		sb_hot_name_stage(a, f, s);
		if (sb_weigh_traced(a->model))
			f->suggestion = KERNELS;
		if (found == 1 && is_largest(stages, i))
			f->suggestion = sb_say(a,
				"Start here: besides loading and compiling no other stage can save more. %s",
				f->suggestion);
	}
	tell_others(a, first);
}

/* The first that is the program's: no section can be put around what strobe did itself. NULL: there is none. */
static const struct sb_place *first_place(const struct sb_place_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (!list->all[i].file || strcmp(list->all[i].file, "<strobe>") != 0)
			return &list->all[i];
	return NULL;
}

static void name_place(struct sb_advisor *a, struct sb_advice *f, const struct sb_place_list *list)
{
	const struct sb_place *p = first_place(list);
	const char *at;

	if (!p || list->sample_count < SB_SHARE_SAMPLES_LEAST)
		return;
	at = !p->file ? "" : sb_say(a, " (%s:%u)", sb_filename_of(p->file), p->line);
	f->cause = sb_say(a, "about %.0f %% of it ran in '%s'%s%s%s%s (%lld samples)", p->ratio * 100,
		p->function, at, p->inside ? ", inside '" : "", p->inside ? p->inside : "",
		p->inside ? "'" : "", (long long)list->sample_count);
	f->suggestion = sb_say(
		a, "Put a section around '%s'%s: what ran there is listed with it.", p->function, at);
	sb_finding_line(f, p->file, p->file ? p->line : 0);
}

/* A table that was printed in part: what is open is in its other rows. */
static bool rows_are_left_out(const struct sb_model *model)
{
	for (size_t i = 0; i < model->missing.count; i++)
		if (!strcmp(model->missing.all[i].what, "rows of the table"))
			return true;
	return false;
}

/* What no stage covers between two generations and after them: the generations do not show it. */
static void find_unattributed_between(struct sb_advisor *a)
{
	double lost_s = sb_between_s(a->model), of_s = sb_between_of_s(a->model),
	       percent = lost_s / of_s * 100;
	const struct sb_line *line = sb_between_line(a->model);
	struct sb_advice *f;

	if (!(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, NAN,
		sb_say(a,
			"%.1f %% of the time from the first generation to the last is in none of them and in "
			"no stage",
			percent),
		sb_say(a, "%s of %s are unattributed, between the generations", sb_say_seconds(a, lost_s),
			sb_say_seconds(a, of_s)));
	if (!f)
		return;
	f->rank_s = lost_s * TENTH;
	f->whole_s = lost_s;
	if (!line)
		return;
	sb_finding_cause(f, sb_say(a, "most was sampled in %s", sb_hot_words(a, line)), SB_GAIN_ESTIMATED,
		SB_POSSIBLE);
	sb_finding_line(f, line->file, line->line);
}

/* A stage that takes longer by itself is what to look at first. */
static bool is_less_than_a_stage(const struct sb_model *model, double lost_s, bool inside)
{
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (!is_frame(s) && !s->setup && s->in_generation == inside &&
			fmin(s->self_s, s->covered_s) > lost_s)
			return true;
	}
	return false;
}

/* Of a run without generations: what comes before the program's own work is the start-up, no place for sections. */
static double lost_in_run_s(const struct sb_stages_panel *stages)
{
	double startup_s = stages->startup_unattributed_s;

	return stages->unattributed_s - (startup_s > 0 ? startup_s : 0);
}

void sb_rule_unattributed(struct sb_advisor *a)
{
	const struct sb_stages_panel *stages = &a->model->stages;
	const struct sb_summary_panel *sum = &a->model->summary;
	bool inside = stages->has_generations &&
		      sum->generation_s > 0; /* the start is not what is waited for */
	double lost_s = inside ? sum->unattributed_s : lost_in_run_s(stages);
	double wall_s = inside ? sum->generation_s : stages->wall_s, percent = lost_s / wall_s * 100;
	struct sb_advice *f;

	if (!stages->on_main)
		return;
	if (inside)
		find_unattributed_between(a);
	if (!(percent > a->limit))
		return;
	f = sb_advisor_find(a, percent, NAN,
		sb_say(a, "%.1f %% of the %s belongs to no stage", percent,
			inside ? "generations" : "wall time"),
		sb_say(a, "%s of %s are unattributed", sb_say_seconds(a, lost_s), sb_say_seconds(a, wall_s)));
	if (!f)
		return;
	f->rank_s = lost_s * TENTH;
	f->whole_s = lost_s;
	if (is_less_than_a_stage(a->model, lost_s, inside))
		f->priority = sb_priority_name(SB_PRIORITY_LOW);
	if (rows_are_left_out(a->model)) {
		f->cause = "the table was printed in part: its other rows are not here";
		f->suggestion = "Print all rows (table(row_limit=-1), print_stats() without a number), or "
				"import the trace or the .prof file.";
		return;
	}
	name_place(a, f, inside ? &a->model->unattributed.generations : &a->model->unattributed.run);
}

/* ---- compiling ---------------------------------------------------------- */

/* Counters and events whose name has the word, e.g. "torch.recompile". */
static double counted(const struct sb_model *model, const char *word)
{
	double sum = 0;

	for (size_t i = 0; i < model->events.counter_count; i++) {
		if (strcasestr(model->events.counters[i].name, word))
			sum += model->events.counters[i].value;
	}
	if (sum > 0)
		return sum;
	for (size_t i = 0; i < model->events.count; i++)
		sum += strcasestr(model->events.rows[i].name, word) != NULL;
	return sum;
}

/* Every compile of a name after the first is a recompile. */
static int64_t compiled_again(const struct sb_model *model, double *out_s)
{
	int64_t again = 0;

	*out_s = 0;
	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (s->role != STROBE_ROLE_COMPILE || sb_stage_calls(s) < 2)
			continue;
		again += sb_stage_calls(s) - 1;
		*out_s += fmax(0, s->covered_s - s->time.max); /* the first one is the longest */
	}
	return again;
}

static const struct sb_pair *attr_of(const struct sb_event_row *e, const char *key)
{
	for (size_t i = 0; i < e->attr_count; i++)
		if (strcmp(e->attrs[i].key, key) == 0)
			return &e->attrs[i];
	return NULL;
}

/* The guard that failed last, as dynamo gave it. */
static void say_guard(struct sb_advisor *a, struct sb_advice *f)
{
	const struct sb_event_row *e = NULL;
	const struct sb_pair *reason, *file, *line, *function;

	for (size_t i = 0; i < a->model->events.count; i++)
		e = strcmp(a->model->events.rows[i].name, "torch.recompile") == 0 ? &a->model->events.rows[i]
										  : e;
	reason = e ? attr_of(e, "reason") : NULL;
	if (!f || !reason || !reason->s)
		return;
	function = attr_of(e, "function");
	file = attr_of(e, "file");
	line = attr_of(e, "line");
	sb_finding_cause(f,
		sb_say(a, "the guard of '%s' that failed: %s",
			function && function->s ? function->s : "the function", reason->s),
		SB_GAIN_MEASURED, SB_CERTAIN);
	if (file && line && file->s)
		sb_finding_line(f, file->s, (uint32_t)line->i);
}

void sb_rule_recompiles(struct sb_advisor *a)
{
	double again_s, count = counted(a->model, "recompile");
	int64_t again = compiled_again(a->model, &again_s);

	if ((double)again > count)
		count = (double)again;
	if (count > a->limit)
		say_guard(a, sb_advisor_find(a, count, again_s, sb_say(a, "compiled again %.0f times", count),
				     again_s > 0 ? sb_say(a, "%.0f recompiles took %s", count,
							   sb_say_seconds(a, again_s))
						 : sb_say(a, "%.0f recompiles", count)));
}

void sb_rule_graph_breaks(struct sb_advisor *a)
{
	double count = counted(a->model, "graph_break");

	if (count > a->limit)
		sb_advisor_find(a, count, NAN, sb_say(a, "%.0f graph breaks", count),
			sb_say(a, "%.0f graph breaks were counted; each one returns to Python", count));
}

/* ---- a kind of work over the whole run ---------------------------------- */

struct work_sum {
	double wall_s; /* calls at the same time count once, stages at the same time do not */
	double total_s; /* of all calls: what rates are of */
	double bytes;
	int64_t count;
	const char *largest;
};

/* torch's data loader asks its sampler for each batch, and its workers once more at the end: neither is a batch read. */
static bool reads_no_batch(const char *name)
{
	return strcmp(name, "data_loading_sampler") == 0 || strcmp(name, "data_loading_end") == 0;
}

static struct work_sum sum_work(const struct sb_model *model, enum strobe_role work)
{
	struct work_sum sum = { .bytes = NAN };
	double largest_s = 0;

	for (size_t i = 0; i < model->stages.stage_count; i++) {
		const struct sb_stage *s = &model->stages.stages[i];

		if (sb_role_work(s->name, s->role) != work || isnan(s->total_s) || s->span)
			continue;
		if (s->parent >= 0 && sb_role_work(model->stages.stages[s->parent].name,
					      model->stages.stages[s->parent].role) == work)
			continue;
		sum.total_s += s->total_s;
		sum.wall_s += s->covered_s;
		sum.count += reads_no_batch(s->name) ? 0 : sb_stage_calls(s);
		if (s->total_s > largest_s) {
			largest_s = s->total_s;
			sum.largest = s->name;
		}
		for (size_t k = 0; k < s->attr_count; k++) {
			if (strcmp(s->attrs[k].key, "bytes") == 0)
				sum.bytes = (isnan(sum.bytes) ? 0 : sum.bytes) + s->attrs[k].sum;
		}
	}
	sum.wall_s = fmin(sum.wall_s, model->stages.wall_s);
	return sum;
}

static struct sb_advice *find_work(
	struct sb_advisor *a, enum strobe_role work, const char *what, double saved_share)
{
	struct work_sum sum = sum_work(a->model, work);
	double percent = sum.wall_s / a->model->stages.wall_s * 100;
	struct sb_advice *f;

	if (!(percent > a->limit))
		return NULL;
	f = sb_advisor_find(a, percent, sum.wall_s * saved_share,
		sb_say(a, "%s takes %.1f %% of the wall time", what, percent),
		sum.bytes > 0 ? sb_say(a, "%s in %lld call%s, %.1f GB at %.2f GB/s; mostly '%s'",
					sb_say_seconds(a, sum.wall_s), (long long)sum.count,
					sum.count == 1 ? "" : "s", sum.bytes / 1e9,
					sum.bytes / sum.total_s / 1e9, sum.largest)
			      : sb_say(a, "%s in %lld call%s; mostly '%s'", sb_say_seconds(a, sum.wall_s),
					(long long)sum.count, sum.count == 1 ? "" : "s", sum.largest));
	if (f)
		f->stage = sum.largest;
	return f;
}

void sb_rule_compile_time(struct sb_advisor *a)
{
	const struct sb_advice *all;
	struct sb_advice *f = find_work(a, STROBE_ROLE_COMPILE, "compiling", 1);

	all = a->found.items;
	for (size_t i = 0; f && i < a->found.count; i++)
		if (!strcmp(all[i].id, "recompiles") && all[i].saves_s > 0) {
			f->saves_s = fmax(0, f->saves_s - all[i].saves_s);
			f->evidence = sb_say(a, "%s; %s of it compiles again", f->evidence,
				sb_say_seconds(a, all[i].saves_s));
		}
}

#define SAMPLES_LEAST 3

static bool reads_input(const struct sb_model *model, const struct sb_line *l)
{
	const struct sb_stage *s = l->stage && !l->library ? sb_model_stage(model, l->stage) : NULL;

	return s && sb_role_work(s->name, s->role) == STROBE_ROLE_DATA;
}

void sb_rule_data_loading(struct sb_advisor *a)
{
	struct sb_advice *f = find_work(a, STROBE_ROLE_DATA, "reading and preparing input", 1);
	struct sb_hot hot = sb_hot_find(a->model, reads_input);

	if (!f || !hot.line || hot.sample_count < SAMPLES_LEAST)
		return;
	sb_finding_cause(f, sb_hot_words(a, hot.line), SB_GAIN_BOUNDED, SB_LIKELY);
	sb_finding_line(f, hot.line->file, hot.line->line);
}

void sb_rule_offload(struct sb_advisor *a)
{
	struct sb_advice *f = find_work(a, STROBE_ROLE_OFFLOAD, "moving weights", 1);
	double moves_s = sb_weigh_moves_s(a->model), alone_s = sb_weigh_moves_alone_s(a->model);

	if (!f || !(moves_s > 0))
		return;
	f->rank_s = alone_s + fmax(0, f->saves_s - moves_s) * TENTH; /* the rest is mostly the start-up's */
	f->saves_s -= moves_s - alone_s;
}

void sb_rule_model_load(struct sb_advisor *a)
{
	struct sb_advice *f = find_work(a, STROBE_ROLE_LOAD, "loading weights", 0);

	if (f)
		f->rank_s = sum_work(a->model, STROBE_ROLE_LOAD).wall_s * TENTH;
}
