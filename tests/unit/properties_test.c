/* What holds for the report of every recording: random ones, with threads, tasks, nested, overlapping,
 * open, cut and killed zones. The seeds are fixed; a failure names its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/jsondom.h"
#include "report/json.h"
#include "report/summary.h"
#include "report/text.h"
#include "synthetic.h"

#define RECORDINGS 300
#define THREADS_MOST 5
#define DEPTH_MOST 4

/* ---- random recordings --------------------------------------------------- */

static uint64_t seed, state_of_chance;

static uint64_t chance(uint64_t below)
{
	state_of_chance = state_of_chance * 6364136223846793005ull + 1442695040888963407ull;
	return (state_of_chance >> 33) % below;
}

static void begin_one(struct synthetic *s, struct sb_stream_writer *w, uint64_t t, int depth)
{
	static const char *const names[] = { "denoise", "vae_decode", "text_encode", "load", "offload",
		"step", "read_shards", "export" };
	bool generation = depth == 0 && chance(3) == 0;
	const char *name = generation ? "generation" : names[chance(8)];

	sb_builder_begin(w, t, sb_builder_name(s->b, name, NULL));
	if (generation)
		sb_builder_role(w, STROBE_ROLE_GENERATION);
	else if (!strcmp(name, "step"))
		sb_builder_role(w, STROBE_ROLE_STEP);
	if (generation && chance(2))
		sb_builder_attr(w, sb_builder_name(s->b, "frames", NULL), (int64_t)chance(90) + 1);
}

static void one_span(struct synthetic *s, struct sb_stream_writer *w, uint64_t t)
{
	uint64_t start = chance(t + 1);

	sb_builder_span(w, sb_builder_name(s->b, "copy", NULL), 1 + chance(1u << 20), start,
		chance(t - start + 1), 0, NULL, 0);
}

/* Zones of one thread, now and then switching between its tasks; some stay open. */
static void one_thread(struct synthetic *s, struct sb_stream_writer *w, uint64_t end_ns)
{
	uint32_t tracks[3] = { 0 };
	int depth[3] = { 0 }, at = 0, tasks = chance(3) == 0 ? 3 : 1;
	uint64_t t = chance(end_ns / 4), steps = 5 + chance(60);

	for (int i = 1; i < tasks; i++)
		tracks[i] = sb_builder_track(s->b, "task");
	for (uint64_t i = 0; i < steps && t < end_ns; i++) {
		if (tasks > 1 && chance(3) == 0) {
			at = (int)chance(3);
			sb_builder_switch(w, t, tracks[at]);
		}
		if (chance(12) == 0)
			one_span(s, w, t);
		if (depth[at] && (depth[at] == DEPTH_MOST || chance(2))) {
			sb_builder_end(w, t, 0);
			depth[at]--;
		} else {
			begin_one(s, w, t, depth[at]++);
		}
		t += chance(4) ? chance(end_ns / steps * 2 + 1) : 0;
	}
	for (; at == 0 && depth[0] && chance(4) && t < end_ns; depth[0]--)
		sb_builder_end(w, t, 0);
}

static void make(struct synthetic *s, uint64_t end_ns)
{
	int threads = (int)chance(THREADS_MOST);
	uint32_t gpu = chance(2) ? synthetic_gpu(s, 0) : 0;

	if (chance(5))
		one_thread(s, s->main, end_ns);
	for (int i = 0; i < threads; i++)
		one_thread(s, sb_builder_thread(s->b, 2001 + (uint32_t)i, "worker"), end_ns);
	for (uint64_t t = 0; gpu && t <= end_ns; t += end_ns / 40 + 1)
		synthetic_gpu_sample(s, gpu, t, 14000, (double)chance(101), 100 + (double)chance(600));
}

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
	holds(!(energy_wh > m->summary.run_energy_wh * (1 + 1e-6)));
	statistics_hold(&m->generations.time);
	for (size_t i = 0; i < m->diffusion.split_count; i++)
		split_s += m->diffusion.split[i].self_s;
	if (m->stages.stage_count && m->diffusion.split_count)
		same(split_s, m->generations.union_s, m->stages.wall_s * 1e-5);
	for (size_t i = 0; i < m->diffusion.rate_count; i++)
		holds(!(m->diffusion.rates[i].wall_s > m->stages.wall_s * (1 + 1e-9)) &&
			!(m->diffusion.rates[i].compute_s > m->stages.wall_s * (1 + 1e-9)));
}

static void advice_holds(const struct sb_model *m)
{
	for (size_t i = 0; i < m->advice.count; i++)
		holds(!(m->advice.all[i].saves_s > m->stages.wall_s * (1 + 1e-9)));
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

		state_of_chance = seed * 7919;
		end_ns = (1 + chance(20)) * SECOND;
		synthetic_open(&s);
		make(&s, end_ns);
		cut.from_ns = (int64_t)chance(end_ns / 2);
		cut.to_ns = cut.from_ns + (int64_t)(end_ns / 4);
		m = synthetic_part(&s, end_ns, chance(4) ? NULL : &cut);
		stages_hold(m);
		generations_hold(m);
		advice_holds(m);
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
