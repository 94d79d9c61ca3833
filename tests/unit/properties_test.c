/* What holds for the report of every recording: random ones, with threads, tasks, nested, overlapping,
 * open, cut and killed zones. The seeds are fixed; a failure names its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/jsondom.h"
#include "compare/compare.h"
#include "compare/whatif.h"
#include "report/json.h"
#include "report/summary.h"
#include "report/text.h"
#include "random_recording.h"

#define RECORDINGS 300

static uint64_t seed;

/* ---- what holds ---------------------------------------------------------- */

#define holds(what)                                                                 \
	do {                                                                        \
		if (!(what))                                                        \
			fail_msg("seed %llu: %s", (unsigned long long)seed, #what); \
	} while (0)
#define same(a, b, within)                                                                                  \
	do {                                                                                                \
		double same_a = (a), same_b = (b);                                                          \
		if (!(fabs(same_a - same_b) <= (within)))                                                   \
			fail_msg("seed %llu: %s is %.9g, %s is %.9g", (unsigned long long)seed, #a, same_a, \
				#b, same_b);                                                                \
	} while (0)

static bool is_share(double ratio)
{
	return ratio >= 0 && ratio <= 1 + 1e-9;
}

static void statistics_hold(const struct sb_stats *t)
{
	if (!t->count)
		return;
	holds(t->min <= t->p50 && t->p50 <= t->p95 && t->p95 <= t->p99 && t->p99 <= t->max);
	holds(t->mean >= t->min - 1e-12 && t->mean <= t->max + 1e-12);
}

static void stages_hold(const struct sb_model *m)
{
	const struct sb_stages_panel *s = &m->stages;
	double top_s = s->unattributed_s - s->overlap_s, inside_s = 0;

	for (size_t i = 0; i < s->stage_count; i++) {
		const struct sb_stage *row = &s->stages[i];

		if (row->state == SB_STAGE_SKIPPED)
			continue;
		holds(is_share(row->wall_ratio) && is_share(row->self_ratio));
		holds(row->self_ratio <= row->wall_ratio + 1e-9);
		holds(row->covered_s <= row->total_s + 1e-9);
		holds(row->self_s <= row->total_s + 1e-9);
		statistics_hold(&row->time);
		top_s += row->parent < 0 ? row->covered_s : 0;
		inside_s += row->side_by_side ? row->covered_s : 0;
	}
	holds(s->unattributed_s >= 0 && s->unattributed_s <= s->wall_s + 1e-9);
	holds(s->overlap_s >= 0);
	same(top_s, s->wall_s, s->wall_s * 1e-5);
	holds(m->summary.generation_s <= s->wall_s + 1e-9);
	holds(m->summary.unattributed_s >= 0 && m->summary.overlap_s >= 0);
	if (s->stage_count)
		same(inside_s + m->summary.unattributed_s - m->summary.overlap_s, m->summary.generation_s,
			s->wall_s * 1e-5);
}

static void parts_hold(const struct sb_stages_panel *s)
{
	double sum_s = -s->parts_overlap_s;

	for (size_t i = 0; i < s->part_count; i++) {
		holds(is_share(s->parts[i].ratio) && s->parts[i].part_s > 0);
		same(s->parts[i].ratio * s->wall_s, s->parts[i].part_s, s->wall_s * 1e-5);
		sum_s += s->parts[i].part_s;
	}
	holds(s->parts_overlap_s >= 0);
	if (s->part_count)
		same(sum_s, s->wall_s, s->wall_s * 1e-4);
}

static bool is_inside_its_own(const struct sb_stages_panel *s, size_t row)
{
	for (int64_t up = s->stages[row].parent; up >= 0; up = s->stages[up].parent)
		if (!strcmp(s->stages[up].name, s->stages[row].name))
			return true;
	return false;
}

static void same_names_hold(const struct sb_stages_panel *s)
{
	for (size_t i = 0; i < s->same_name_count; i++) {
		const struct sb_same_name *n = &s->same_name[i];
		double total_s = 0, self_s = 0;
		int64_t calls = 0;

		holds(n->stage_count > 1 && is_share(n->all.wall_ratio));
		for (size_t k = 0; k < n->stage_count; k++) {
			const struct sb_stage *row = &s->stages[n->stages[k]];
			bool inside = is_inside_its_own(s, (size_t)n->stages[k]);

			holds(!strcmp(row->name, n->all.name));
			total_s += inside ? 0 : row->total_s;
			calls += inside ? 0 : sb_stage_calls(row);
			self_s += row->self_s;
		}
		same(n->all.total_s, total_s, 1e-7);
		same(n->all.self_s, self_s, 1e-7);
		holds(sb_stage_calls(&n->all) == calls);
		statistics_hold(&n->all.time);
	}
}

/* --combine: a name's row is that of all stages of the name, with what is inside another of them once. */
static void combined_holds(struct synthetic *s)
{
	const struct sb_model_options options = { .now_real_ns = 1, .combine = true, .no_groups = true };
	const struct sb_stages_panel *all = &s->model->stages;
	struct sb_model *m;

	assert_int_equal(sb_report_build(s->run, &options, &m), 0);
	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_stage *row = &m->stages.stages[i];
		double total_s = 0, self_s = 0;
		int64_t calls = 0;

		for (size_t k = 0; k < all->stage_count; k++) {
			bool inside = is_inside_its_own(all, k);

			if (strcmp(all->stages[k].name, row->name))
				continue;
			total_s += inside ? 0 : all->stages[k].total_s;
			calls += inside ? 0 : sb_stage_calls(&all->stages[k]);
			self_s += all->stages[k].self_s;
		}
		same(row->total_s, total_s, 1e-7);
		same(row->self_s, self_s, 1e-7);
		holds(sb_stage_calls(row) == calls);
		holds(row->self_ratio <= row->wall_ratio + 1e-9);
	}
	sb_model_free(m);
}

static void generations_hold(const struct sb_model *m)
{
	double energy_wh = 0, machine_s = 0, split_s = 0;

	for (size_t i = 0; i < m->generations.count; i++) {
		const struct sb_generation *g = &m->generations.all[i];

		holds(g->wall_s >= 0 && g->wall_s <= m->stages.wall_s + 1e-9);
		holds(!(g->denoise_s > g->wall_s + 1e-6));
		energy_wh += isnan(g->energy_wh) ? 0 : g->energy_wh;
		machine_s += g->machine_s;
	}
	same(machine_s, m->generations.union_s, 1e-6);
	holds(!(m->generations.in_turn_ratio * m->generations.total_s >
		m->generations.union_s * (1 + 1e-6))); /* one after the other */
	holds(!(energy_wh > m->summary.run_energy_wh * (1 + 1e-6)));
	statistics_hold(&m->generations.time);
	for (size_t i = 0; i < m->diffusion.split_count; i++) {
		split_s += m->diffusion.split[i].self_s;
		holds(m->diffusion.split[i].wall_ratio <= 1 + 1e-5);
	}
	if (m->stages.stage_count && m->diffusion.split_count)
		same(split_s, m->generations.union_s, m->stages.wall_s * 1e-5);
	for (size_t i = 1; i < m->diffusion.rate_count; i++) /* each scope holds the one before it */
		holds(!(m->diffusion.rates[i - 1].wall_s > m->diffusion.rates[i].wall_s * (1 + 1e-9)) ||
			strcmp(m->diffusion.rates[i].scope, "denoise_vae"));
	for (size_t i = 1; i < m->diffusion.rate_count;
		i++) /* and computes as long, where its time is in it */
		holds(m->diffusion.rates[i - 1].wall_s > m->diffusion.rates[i].wall_s ||
			!(m->diffusion.rates[i - 1].compute_s >
				m->diffusion.rates[i].compute_s * (1 + 1e-9)));
	for (size_t i = 0; i < m->diffusion.rate_count; i++)
		holds(!(m->diffusion.rates[i].wall_s > m->stages.wall_s * (1 + 1e-9)) &&
			!(m->diffusion.rates[i].compute_s > m->diffusion.rates[i].wall_s * (1 + 1e-9)));
}

static void gpu_holds(const struct sb_model *m)
{
	const struct sb_gpu_panel *g = &m->gpu;

	for (size_t i = 0; i < m->stages.stage_count; i++)
		holds(!(m->stages.stages[i].gpu_busy_s >
			m->stages.wall_s * 2 * (1 + 1e-9))); /* two devices */
	holds(!g->present || (g->busy_s >= 0 && g->idle_s >= -1e-9 && g->kernel_busy_s <= g->busy_s + 1e-9));
	if (g->present)
		same(g->busy_s + g->idle_s, g->window_s, 1e-6);
	for (size_t i = 0; g->present && i < g->top_kernel_count; i++)
		holds(g->top_kernels[i].total_s >= 0 && g->top_kernels[i].count > 0);
}

static void functions_hold(const struct sb_functions_panel *f)
{
	double self = 0;

	for (size_t i = 0; i < f->count; i++) {
		holds(is_share(f->all[i].self_ratio) && is_share(f->all[i].total_ratio));
		holds(f->all[i].self_ratio <= f->all[i].total_ratio + 1e-9);
		self += f->all[i].self_ratio;
	}
	holds(self <= 1 + 1e-9);
}

static void advice_holds(const struct sb_model *m)
{
	for (size_t i = 0; i < m->advice.count; i++)
		holds(!(m->advice.all[i].saves_s > m->stages.wall_s * (1 + 1e-9)));
}

/* Neither what fewer nor what more steps and frames are predicted to take leaves what is possible. */
static void prediction_holds(const struct sb_model *m, const struct sb_facts *facts, const char *stage,
	const char *knob, double then)
{
	double wall_s = facts->metrics[SB_METRIC_WALL], ratio;
	struct sb_whatif *w;
	char text[128];
	const char *setting = text;

	snprintf(text, sizeof text, "%s.%s=%.9g", stage, knob, then);
	if (sb_whatif(facts, NULL, 0, &setting, 1, &w))
		return; /* no stage carries it */
	ratio = fmax(1, w->changes[0].then / w->changes[0].now);
	holds(w->changes[0].base_s <= m->stages.stages[w->changes[0].stage_index].covered_s * (1 + 1e-9));
	holds(w->changes[0].base_s <= wall_s * (1 + 1e-9));
	holds(!(w->changes[0].base_s >
		sb_stage_in_turn_s(m, &m->stages.stages[w->changes[0].stage_index]) * (1 + 1e-9)));
	holds(!(w->saved_s > w->changes[0].base_s * (1 + 1e-9)));
	holds(w->predicted_s >= 0 && w->predicted_s <= wall_s * ratio * (1 + 1e-9));
	holds(w->saved_s <= wall_s * (1 + 1e-9));
	holds(w->low_s >= 0 && w->low_s <= w->predicted_s + 1e-9 && w->predicted_s <= w->high_s + 1e-9);
	holds(!(w->predicted_fps <= 0));
	holds(w->changes[0].then < w->changes[0].now ? w->predicted_s <= wall_s + 1e-9
						     : w->predicted_s >= wall_s - 1e-9);
	sb_whatif_free(w);
}

/* A run beside itself changes nothing, and what is too few in the first line is judged in no other. */
static void comparison_holds(const struct sb_facts *facts)
{
	struct sb_compare_options options = { 0 };
	struct sb_comparison *c;
	double sum_s = 0;

	if (sb_compare(&facts, 1, &facts, 1, &options, &c))
		return; /* a run without time */
	holds(c->total.verdict == SB_VERDICT_SAME || c->total.verdict == SB_VERDICT_TOO_FEW);
	for (size_t i = 0; i < c->metric_count; i++)
		holds(c->metrics[i].verdict == SB_VERDICT_SAME ||
			c->metrics[i].verdict == SB_VERDICT_TOO_FEW);
	for (size_t i = 0; i < c->metric_count; i++)
		if (c->total.verdict == SB_VERDICT_TOO_FEW && c->metrics[i].metric == SB_METRIC_FPS)
			holds(c->metrics[i].verdict == SB_VERDICT_TOO_FEW);
	for (size_t i = 0; i < c->stage_count; i++) {
		const struct sb_stage_change *s = &c->stages[i];

		holds(s->verdict == SB_VERDICT_SAME || s->verdict == SB_VERDICT_TOO_FEW);
		holds(c->total.verdict != SB_VERDICT_TOO_FEW || !s->per_generation ||
			s->verdict == SB_VERDICT_TOO_FEW || s->per_call || isnan(s->base_s) ||
			s->judgement.basis == SB_BASIS_TOLERANCE);
		sum_s += s->counted && !isnan(s->now_self_s) ? s->now_self_s : 0;
	}
	for (size_t i = 0; i < c->metric_count; i++)
		if (c->metrics[i].metric == SB_METRIC_UNATTRIBUTED && !isnan(c->now_overlap_s))
			same(sum_s + c->metrics[i].now - c->now_overlap_s, c->total.now, 1e-6);
	sb_comparison_free(c);
}

static void compared_and_predicted_hold(const struct sb_model *m)
{
	struct sb_facts *facts;

	assert_int_equal(sb_facts_of_model(m, "run", &facts), 0);
	if (facts->metrics[SB_METRIC_WALL] > 0) {
		static const double values[] = { 0.01, 1, 3, 1000 };

		for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
			prediction_holds(m, facts, "step", "steps", values[i]);
			prediction_holds(m, facts, "denoise", "steps", values[i]);
			prediction_holds(m, facts, "generation", "frames", values[i]);
		}
		comparison_holds(facts);
	}
	sb_facts_free(facts);
}

static void strategies_hold(const struct sb_model *m)
{
	for (size_t i = 0; i < m->strategies.count; i++)
		holds(!(m->strategies.all[i].gain_s > m->stages.wall_s * (1 + 1e-9)));
}

/* The number behind the last "unattributed" of a text that begins a line, in seconds. */
static double said(const char *text, const char *after)
{
	const char *at = after ? strstr(text, after) : text;
	char unit[8];
	double value;

	for (; at && (at = strstr(at, "unattributed ")); at++)
		if (sscanf(at + strlen("unattributed "), "%lf %7s", &value, unit) == 2)
			return !strcmp(unit, "ms")   ? value / 1e3
			       : !strcmp(unit, "us") ? value / 1e6
			       : !strcmp(unit, "ns") ? value / 1e9
						     : value;
	return NAN;
}

static void faces_agree(const struct sb_model *m)
{
	const struct sb_text_options options = { .columns = 100 };
	struct sb_buf json = { 0 }, text = { 0 }, screen = { 0 };
	struct sb_jsondom_doc *doc;
	double shown;

	assert_int_equal(sb_report_json(m, &json), 0);
	assert_int_equal(sb_report_text(m, &options, &text), 0);
	assert_int_equal(sb_report_summary(m, NULL, &screen), 0);
	assert_int_equal(sb_jsondom_parse("report", sb_buf_text(&json), json.size, &doc), 0);
	same(sb_jsondom_number(sb_jsondom_path(sb_jsondom_root(doc), "stage_analysis.unattributed_s"), NAN),
		m->stages.unattributed_s, 1e-8);
	same(sb_jsondom_number(sb_jsondom_path(sb_jsondom_root(doc), "summary.unattributed_s"), NAN),
		m->summary.unattributed_s, 1e-8);
	if (m->stages.stage_count)
		same(said(sb_buf_text(&text), "Stage tree"), m->stages.unattributed_s,
			m->stages.unattributed_s * 0.006 + 1e-9);
	shown = said(sb_buf_text(&screen), NULL);
	if (!isnan(shown) && strstr(sb_buf_text(&screen), "share"))
		same(shown, m->summary.unattributed_s, 0.0051);
	sb_jsondom_free(doc);
	sb_buf_done(&json);
	sb_buf_done(&text);
	sb_buf_done(&screen);
}

static void the_report_of_any_recording_adds_up(void **state)
{
	for (seed = 1; seed <= RECORDINGS; seed++) {
		uint64_t end_ns;
		struct synthetic s;
		struct sb_model *m;
		struct sb_cut cut = { .has_from = true, .has_to = true };

		synthetic_open(&s);
		end_ns = random_recording(&s, seed);
		cut.from_ns = (int64_t)chance(end_ns / 2);
		cut.to_ns = cut.from_ns + (int64_t)(end_ns / 4);
		m = synthetic_part(&s, end_ns, chance(4) ? NULL : &cut);
		stages_hold(m);
		same_names_hold(&m->stages);
		combined_holds(&s);
		parts_hold(&m->stages);
		generations_hold(m);
		advice_holds(m);
		strategies_hold(m);
		compared_and_predicted_hold(m);
		gpu_holds(m);
		functions_hold(&m->functions);
		faces_agree(m);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_report_of_any_recording_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
