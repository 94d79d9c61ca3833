/* How far the gate can be trusted: recordings with realistic noise, compared as
 * `strobe diff --fail-above 5%` compares them. A false alarm is a failed gate between two
 * runs of one distribution; a catch is a failed gate where NEW is 10 % slower. */
#include "row.h"

#include "compare/compare.h"
#include "format/builder.h"
#include "format/builder_stream.h"
#include "report/build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAIRS 300
#define LIMIT "5%"
#define STAGE_LIMIT "vae_decode=5%"
#define STAGE_SHARE 0.3 /* of a generation, with noise of its own */

static uint64_t seed = 1;

static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(seed >> 11) / 9007199254740992.0;
}

static double gaussian(void)
{
	double radius = sqrt(-2 * log(uniform() + 1e-300));

	return radius * cos(6.283185307179586 * uniform());
}

enum noise { LOG_NORMAL, OUTLIERS, TREND, WANDERING, NOISE_COUNT };
static const char *const noise_words[] = { "log-normal", "outliers", "trend", "wandering" };

/* Durations around 1. spread: from 2 to 5 %, drawn anew for each pair. */
static void draw(enum noise noise, double spread, double *out, size_t count)
{
	double trend = 0.04 * (uniform() - 0.5), wander = gaussian();

	for (size_t i = 0; i < count; i++) {
		out[i] = exp(spread * gaussian());
		if (noise == OUTLIERS && uniform() < 0.05)
			out[i] *= 1 - 0.5 * log(uniform() + 1e-300);
		if (noise == TREND)
			out[i] *= exp(trend * (double)i / (double)count);
		if (noise == WANDERING) {
			out[i] = exp(spread * wander);
			wander = 0.6 * wander + 0.8 * gaussian();
		}
	}
}

static void die(const char *what)
{
	fprintf(stderr, "gate_bench: %s: %s\n", what, strobe_error());
	exit(1);
}

/* Generations after half a second of start-up that itself varies by a tenth. stage: a part of each. */
static void write_run(
	const char *path, const double *durations, const double *stage, size_t count, double seconds)
{
	struct sb_builder_options options = SB_BUILDER_DEFAULTS;
	uint64_t t = (uint64_t)(5e8 * (1 + 0.1 * uniform()));
	struct sb_stream_writer *main_thread;
	struct sb_builder *b;
	uint32_t name, part;

	options.chunk_bytes = 4096;
	if (sb_builder_open(path, &options, &b))
		die("cannot write a recording");
	main_thread = sb_builder_thread(b, 0, "main");
	name = sb_builder_name(b, "generation", NULL);
	part = sb_builder_name(b, "vae_decode", NULL);
	for (size_t i = 0; i < count; i++) {
		sb_builder_begin(main_thread, t, name);
		sb_builder_role(main_thread, STROBE_ROLE_GENERATION);
		t += (uint64_t)(durations[i] * seconds * (1 - STAGE_SHARE) * 1e9);
		sb_builder_begin(main_thread, t, part);
		t += (uint64_t)(stage[i] * seconds * STAGE_SHARE * 1e9);
		sb_builder_end(main_thread, t, part);
		sb_builder_end(main_thread, t, name);
		t += 1000;
	}
	if (sb_builder_close(b, t + 1000))
		die("cannot end a recording");
}

static struct sb_facts *facts_of(const char *path)
{
	struct sb_model_options options = { .calls = true, .now_real_ns = 1 };
	struct sb_run *run = NULL;
	struct sb_model *model = NULL;
	struct sb_facts *facts = NULL;

	if (sb_run_open(path, NULL, &run) || sb_report_build(run, &options, &model) ||
		sb_facts_of_model(model, path, &facts))
		die("cannot read a recording");
	sb_model_free(model);
	sb_run_close(run);
	return facts;
}

/* How two runs are to differ, and what is asked of their comparison. */
struct trial {
	enum noise noise;
	size_t count; /* generations a side */
	double seconds; /* of one */
	double factor; /* how much slower NEW is: all of it, or its stage alone */
	bool stage;
};

static void write_side(const char *path, const struct trial *t, double spread, double factor)
{
	double all[32], stage[32];

	draw(t->noise, spread, all, t->count);
	draw(t->noise, spread, stage, t->count);
	for (size_t i = 0; i < t->count; i++) {
		if (!t->stage)
			stage[i] = all[i]; /* one noise for the generation as a whole */
		all[i] *= t->stage ? 1 : factor;
		stage[i] *= factor;
	}
	write_run(path, all, stage, t->count, t->seconds);
}

static bool gate_fails(const struct trial *t, enum sb_verdict *out_verdict)
{
	double spread = 0.02 + 0.03 * uniform();
	const struct sb_facts *before, *after;
	struct sb_compare_options o = { 0 };
	struct sb_comparison *c;
	struct sb_gate *gates;
	bool fails;

	write_side("gate-base.strobe", t, spread, 1);
	write_side("gate-new.strobe", t, spread, t->factor);
	before = facts_of("gate-base.strobe");
	after = facts_of("gate-new.strobe");
	if (sb_gates_parse(t->stage ? STAGE_LIMIT : LIMIT, &gates, &o.gate_count))
		die("gate");
	o.gates = gates;
	if (sb_compare(&before, 1, &after, 1, &o, &c))
		die("compare");
	fails = c->failure_count > 0;
	*out_verdict = c->total.verdict;
	sb_comparison_free(c);
	sb_gates_free(gates, o.gate_count);
	sb_facts_free((struct sb_facts *)before);
	sb_facts_free((struct sb_facts *)after);
	return fails;
}

static double share_failing(struct trial t, double factor)
{
	enum sb_verdict verdict;
	int failed = 0;

	t.factor = factor;
	for (int i = 0; i < PAIRS; i++)
		failed += gate_fails(&t, &verdict);
	return 100.0 * failed / PAIRS;
}

static void measure(struct trial t)
{
	/* ten values of which neighbours resemble each other are worth two and a half: no bar */
	bool bar = t.noise != WANDERING;
	char what[96], start[64];

	snprintf(start, sizeof start, "%zu x %s, %s%s", t.count, t.seconds < 1 ? "5 ms" : "5 s",
		noise_words[t.noise], t.stage ? ", one stage" : "");
	snprintf(what, sizeof what, "%s: false alarms", start);
	row_most(what, share_failing(t, 1), "%", bar ? 2 : 0);
	snprintf(what, sizeof what, "%s: +10 %% caught", start);
	row_least(what, share_failing(t, 1.1), "%", bar ? 95 : 0);
}

/* Three repetitions prove nothing, however large the difference. */
static void measure_few(void)
{
	struct trial t = { LOG_NORMAL, 3, 5, 1.3, false };
	int told = 0;

	for (int i = 0; i < PAIRS; i++) {
		enum sb_verdict verdict;

		gate_fails(&t, &verdict);
		told += verdict == SB_VERDICT_TOO_FEW;
	}
	row_least("3 x 5 s, +30 %: said to be too few", 100.0 * told / PAIRS, "%", 100);
}

int main(void)
{
	row_head("the gate at 5 %: generations with 2-5 % of noise");
	for (int noise = 0; noise < NOISE_COUNT; noise++)
		for (size_t count = 10; count <= 30; count += 20)
			for (int slow = 0; slow < 2; slow++)
				for (int stage = 0; stage < 2; stage++)
					measure((struct trial){
						(enum noise)noise, count, slow ? 5 : 0.005, 1, stage });
	measure_few();
	unlink("gate-base.strobe");
	unlink("gate-new.strobe");
	return 0;
}
