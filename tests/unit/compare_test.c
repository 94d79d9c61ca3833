/* Comparing runs whose facts are made by hand. */
#include "close_within.h"
#include "compare_runs.h"

static void runs_are_named_by_date_host_command_and_tags(void **state)
{
	struct sb_facts *base = run_of("before", 10), *now = run_of("after", 11);
	struct sb_comparison *c;

	base->host = sb_facts_text(base, "node-7");
	base->start_real_ns = 1800000000000000000u;
	assert_int_equal(sb_facts_add_pair(base, SB_FACT_COMMAND, "command", "python wan.py"), 0);
	assert_int_equal(sb_facts_add_pair(base, SB_FACT_TAG, "model", "wan"), 0);
	assert_int_equal(sb_facts_add_pair(base, SB_FACT_SETTING, "interval", "1"), 0);
	assert_int_equal(sb_facts_add_pair(base, SB_FACT_TAG, "seed", "42"), 0);
	c = compare(base, now, NULL);
	assert_int_equal(c->run_count, 2);
	assert_string_equal(c->runs[0].side, "base");
	assert_string_equal(c->runs[0].label, "before");
	assert_string_equal(c->runs[0].host, "node-7");
	assert_string_equal(c->runs[0].command, "python wan.py");
	assert_string_equal(c->runs[0].tags, "model=wan seed=42");
	assert_int_equal(c->runs[0].start_real_ns, 1800000000000000000u);
	assert_string_equal(c->runs[1].side, "new");
	assert_string_equal(c->runs[1].label, "after");
	assert_null(c->runs[1].host);
	assert_null(c->runs[1].tags);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void children_carry_the_change_not_their_parents(void **state)
{
	struct sb_facts *base = run_of("base", 281.96), *now = run_of("new", 299.88);
	struct sb_comparison *c;

	stage(base, "4f", "Main inference", -1, 116.33, 0);
	stage(base, "4f.2", "UNet pipeline", 0, 116.33, 116.33);
	stage(base, "3b", "RAFT optical flow", -1, 14.02, 14.02);
	stage(now, "4f", "Main inference", -1, 129.66, 0.01);
	stage(now, "4f.2", "UNet pipeline", 0, 129.65, 129.65);
	stage(now, "3b", "RAFT optical flow", -1, 10.05, 10.05);
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	c = compare(base, now, "5%");
	assert_int_equal(c->total.verdict, SB_VERDICT_WORSE);
	assert_string_equal(c->stages[0].code, "4f.2");
	assert_int_equal(c->stages[0].verdict, SB_VERDICT_WORSE);
	assert_string_equal(c->stages[1].code, "3b");
	assert_int_equal(c->stages[1].verdict, SB_VERDICT_BETTER);
	assert_true(explains(c, "[4f.2] UNet pipeline took 13.32 s longer"));
	assert_true(explains(c, "against it: [3b] RAFT optical flow took 3.97 s less"));
	assert_int_equal(c->failure_count, 1);
	assert_true(fails(c, "281.96 s -> 299.88 s (+6.4 %)"));
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void parts_and_overlap_add_up_to_the_change(void **state)
{
	struct sb_facts *base = run_of("base", 5), *now = run_of("new", 11);
	struct sb_comparison *c;
	struct sb_buf text = { 0 };

	stage(base, NULL, "decode", -1, 3, 3); /* on two threads, at the same time */
	stage(base, NULL, "encode", -1, 3, 3);
	stage(now, NULL, "decode", -1, 9, 9);
	stage(now, NULL, "encode", -1, 9, 9);
	base->metrics[SB_METRIC_UNATTRIBUTED] = now->metrics[SB_METRIC_UNATTRIBUTED] = 2;
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	c = compare(base, now, NULL);
	close_within(c->stages[0].contribution_s + c->stages[1].contribution_s, 12, 1e-9);
	close_within(c->base_overlap_s, 3, 1e-9);
	close_within(c->now_overlap_s, 9, 1e-9);
	close_within(12 - (c->now_overlap_s - c->base_overlap_s), c->total.now - c->total.base, 1e-9);
	sb_diff_text(c, &(struct sb_diff_options){ 0 }, &text);
	assert_non_null(
		strstr(sb_buf_text(&text), "overlap                    -3.00 s    -9.00 s     -6.00 s\n"));
	sb_buf_done(&text);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void a_code_holds_a_stage_together_when_its_words_change(void **state)
{
	struct sb_facts *base = run_of("base", 10), *now = run_of("new", 10);
	struct sb_comparison *c;

	stage(base, "4d", "Deep copy masks", -1, 0.40, 0.40);
	stage(now, "4d", "Shallow copy masks", -1, NAN, NAN);
	stage(now, NULL, "upscale", -1, 2, 2);
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	c = compare(base, now, NULL);
	assert_int_equal(c->stage_count, 2);
	assert_string_equal(c->stages[0].name, "upscale");
	assert_string_equal(c->stages[0].words, "appeared");
	assert_int_equal(c->stages[0].tone, SB_TONE_WORSE);
	assert_string_equal(c->stages[1].old_name, "Deep copy masks");
	assert_string_equal(c->stages[1].words, "no longer timed");
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void a_disk_collapse_beside_grown_memory_is_told_first(void **state)
{
	struct sb_facts *base = run_of("base", 100), *now = run_of("new", 180);
	struct sb_comparison *c;

	base->metrics[SB_METRIC_DISK_READ] = 2.1e9;
	now->metrics[SB_METRIC_DISK_READ] = 0.03e9;
	base->metrics[SB_METRIC_RSS_PEAK] = 8.2 * SB_GB;
	now->metrics[SB_METRIC_RSS_PEAK] = 23.8 * SB_GB;
	c = compare(base, now, NULL);
	assert_true(c->explanation_count > 0);
	assert_non_null(strstr(c->explanations[0],
		"disk reads fell 2.10 GB/s -> 30.0 MB/s while peak memory rose 8.20 GB -> 23.8 GB"));
	sb_comparison_free(c);
	/* nor where files had as much room as before, or nothing was read */
	base->metrics[SB_METRIC_PAGE_CACHE_PEAK] = now->metrics[SB_METRIC_PAGE_CACHE_PEAK] = 3 * SB_GB;
	c = compare(base, now, NULL);
	assert_false(explains(c, "disk reads"));
	sb_comparison_free(c);
	now->metrics[SB_METRIC_PAGE_CACHE_PEAK] = SB_GB;
	now->metrics[SB_METRIC_DISK_READ] = 0;
	c = compare(base, now, NULL);
	assert_false(explains(c, "disk reads"));
	sb_comparison_free(c);
	now->metrics[SB_METRIC_DISK_READ] = 0.03e9;
	/* the same numbers explain nothing when the run got faster */
	now->metrics[SB_METRIC_WALL] = 60;
	c = compare(base, now, NULL);
	assert_false(explains(c, "disk reads"));
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void changed_attributes_are_configuration(void **state)
{
	struct sb_facts *base = run_of("base", 100), *now = run_of("new", 96);
	struct sb_comparison *c;

	for (int i = 0; i < 2; i++) {
		struct sb_facts *f = i ? now : base;
		struct sb_fact_stage *s = stage(f, "3b", "RAFT", -1, i ? 10.05 : 14.02, i ? 10.05 : 14.02);

		s->attrs = calloc(1, sizeof *s->attrs);
		s->attrs[0] = (struct sb_pair){ .key = "iters", .type = STROBE_TYPE_FLOAT, .f = i ? 6 : 12 };
		s->attr_count = 1;
		sb_facts_key_stages(f);
		assert_int_equal(sb_facts_add_pair(f, SB_FACT_TAG, "model", i ? "wan-14b" : "wan-1.3b"), 0);
		assert_int_equal(sb_facts_add_pair(f, SB_FACT_SETTING, "output_dir", i ? "a" : "b"), 0);
	}
	c = compare(base, now, NULL);
	assert_int_equal(c->setting_count, 2);
	assert_string_equal(c->settings[0].key, "model");
	assert_string_equal(c->settings[1].where, "[3b] RAFT");
	assert_string_equal(c->settings[1].base, "12");
	assert_true(explains(c, "with iters 12 -> 6"));
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void what_moved_inside_an_unchanged_total_is_told(void **state)
{
	struct sb_facts *base = run_of("base", 100), *now = run_of("new", 100);
	struct sb_comparison *c;

	stage(base, NULL, "forward", -1, 40, 40);
	stage(base, NULL, "all_reduce", -1, 20, 20);
	stage(now, NULL, "forward", -1, 55, 55);
	stage(now, NULL, "all_reduce", -1, 5, 5);
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	c = compare(base, now, NULL);
	assert_int_equal(c->total.verdict, SB_VERDICT_SAME);
	assert_int_equal(c->explanation_count, 2);
	assert_true(explains(c, "the total stayed, but inside it forward took 15.00 s longer"));
	assert_false(explains(c, "largest contribution"));
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void different_numbers_of_videos_compare_one_video(void **state)
{
	static const double one[] = { 10 }, three[] = { 10.1, 9.9, 10 };
	struct sb_facts *base = run_of("base", 12), *now = run_of("new", 32);
	struct sb_comparison *c;

	base->metrics[SB_METRIC_GENERATIONS] = 1;
	now->metrics[SB_METRIC_GENERATIONS] = 3;
	base->metrics[SB_METRIC_GENERATION] = now->metrics[SB_METRIC_GENERATION] = 10;
	base->generation_s = one;
	base->generation_count = 1;
	now->generation_s = three;
	now->generation_count = 3;
	c = compare(base, now, "5%");
	assert_true(c->per_generation);
	assert_int_equal(c->total.metric, SB_METRIC_GENERATION);
	assert_int_equal(c->total.verdict, SB_VERDICT_TOO_FEW);
	assert_int_equal(c->failure_count, 0);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

/* However large the difference, and though the totals are one value a side. */
/* A run of so many generations, each with a VAE of vae_s, after one load. */
static struct sb_facts *service(const char *label, int generations, double vae_s, const char *vae)
{
	struct sb_facts *f = run_of(label, 5 + 2.0 * generations);
	struct sb_fact_stage *s;

	f->metrics[SB_METRIC_GENERATIONS] = generations;
	f->metrics[SB_METRIC_GENERATION] = 2;
	stage(f, NULL, "load", -1, 5, 5);
	s = stage(f, NULL, "generation", -1, 2.0 * generations, (2 - vae_s) * generations);
	s->role = STROBE_ROLE_GENERATION;
	s->count = generations;
	s = stage(f, NULL, vae, 1, vae_s * generations, vae_s * generations);
	s->count = generations;
	sb_facts_key_stages(f);
	return f;
}

static void stages_of_unlike_runs_are_compared_per_generation(void **state)
{
	struct sb_facts *base = service("base", 60, 0.5, "vae_decode"),
			*now = service("new", 30, 0.8, "vae_decode");
	struct sb_comparison *c = compare(base, now, NULL);
	const struct sb_stage_change *vae = change_of(c, "vae_decode"), *load = change_of(c, "load");

	assert_true(fabs(vae->base_s - 0.5) < 1e-9 && fabs(vae->now_s - 0.8) < 1e-9);
	assert_int_equal(vae->verdict, SB_VERDICT_WORSE);
	assert_int_equal(change_of(c, "generation")->verdict, SB_VERDICT_SAME);
	assert_true(load->base_s == 5 && load->now_s == 5);
	assert_int_equal(load->verdict, SB_VERDICT_TOO_FEW); /* one call, beside repetitions */
	for (size_t i = 0; i < c->metric_count; i++) /* 60 videos against 30 are no speed-up */
		if (c->metrics[i].metric == SB_METRIC_WALL)
			assert_int_equal(c->metrics[i].verdict, SB_VERDICT_CHANGED);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void totals_of_unlike_runs_become_those_of_one_generation(void **state)
{
	struct sb_facts *base = service("base", 60, 0.5, "vae_decode"),
			*now = service("new", 30, 0.5, "vae_decode");
	struct sb_facts *runs[] = { base, now };
	struct sb_comparison *c;

	for (int i = 0; i < 2; i++) {
		double generations = runs[i]->metrics[SB_METRIC_GENERATIONS];

		runs[i]->metrics[SB_METRIC_UNATTRIBUTED] = 7; /* mostly start-up */
		runs[i]->generation_unattributed_s = 0.1 * generations;
		runs[i]->metrics[SB_METRIC_ENERGY] = 2 * generations;
		runs[i]->metrics[SB_METRIC_OFFLOAD] = 0.2 * generations;
		runs[i]->metrics[SB_METRIC_GPU_IDLE] = generations;
	}
	c = compare(base, now, "unattributed=5%,energy=5%,offload=5%");
	for (size_t i = 0; i < c->metric_count; i++)
		assert_true(c->metrics[i].verdict == SB_VERDICT_SAME ||
			    c->metrics[i].verdict == SB_VERDICT_CHANGED);
	assert_true(fabs(metric_of(c, SB_METRIC_UNATTRIBUTED)->now - 0.1) < 1e-9);
	assert_true(fabs(metric_of(c, SB_METRIC_ENERGY)->base - 2) < 1e-9);
	assert_true(metric_of(c, SB_METRIC_ENERGY)->per_generation);
	assert_int_equal(c->failure_count, 0);
	sb_comparison_free(c);
	c = compare(base, now, "wall_s=5%,gpu_idle=5%");
	assert_int_equal(c->failure_count, 2);
	assert_non_null(strstr(c->failures[0], "cannot be judged"));
	sb_comparison_free(c);
	now->generation_unattributed_s = NAN; /* a run from the history */
	c = compare(base, now, "5%");
	assert_int_equal(c->failure_count, 0);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

/* Frames/s is one number a side; the generations it is of say whether a fall is real. */
static void a_rate_is_judged_on_its_generations(void **state)
{
	static const double before[] = { 1.00, 1.30, 0.90, 1.10, 1.25, 0.95 },
			    noise[] = { 1.05, 0.92, 1.35, 1.12, 1.31, 1.01 },
			    slow[] = { 1.55, 1.62, 1.50, 1.58, 1.66, 1.53 };
	struct sb_facts *base = service("base", 6, 0.5, "vae_decode"),
			*now = service("new", 6, 0.5, "vae_decode");
	struct sb_facts *runs[] = { base, now };
	struct sb_comparison *c;

	for (int i = 0; i < 2; i++) {
		runs[i]->generation_count = 6;
		runs[i]->metrics[SB_METRIC_FRAMES] = 60;
	}
	base->generation_s = before;
	base->metrics[SB_METRIC_FPS] = base->metrics[SB_METRIC_FPS_COMPUTE] = 60 / 6.50;
	now->generation_s = noise;
	now->metrics[SB_METRIC_FPS] = now->metrics[SB_METRIC_FPS_COMPUTE] = 60 / 6.76;
	c = compare(base, now, "fps=2%,compute_fps=2%");
	assert_int_equal(metric_of(c, SB_METRIC_FPS)->verdict, c->total.verdict);
	assert_int_not_equal(c->total.verdict, SB_VERDICT_WORSE);
	assert_int_equal(metric_of(c, SB_METRIC_FPS_COMPUTE)->verdict, SB_VERDICT_UNCERTAIN);
	assert_int_equal(c->failure_count, 0);
	sb_comparison_free(c);
	now->generation_s = slow;
	now->metrics[SB_METRIC_FPS] = now->metrics[SB_METRIC_FPS_COMPUTE] = 60 / 9.44;
	c = compare(base, now, "fps=2%,compute_fps=2%");
	assert_int_equal(metric_of(c, SB_METRIC_FPS)->verdict, SB_VERDICT_WORSE);
	assert_true(metric_of(c, SB_METRIC_FPS)->judgement.shift_ratio < 0.8);
	assert_int_equal(metric_of(c, SB_METRIC_FPS_COMPUTE)->verdict, SB_VERDICT_WORSE);
	assert_int_equal(c->failure_count, 2);
	sb_comparison_free(c);
	/* one very slow generation in BASE: the rate of all rose, the generations are proved slower */
	base->metrics[SB_METRIC_FPS] = 60 / 30.0;
	c = compare(base, now, NULL);
	assert_int_equal(c->total.verdict, SB_VERDICT_WORSE);
	assert_int_equal(metric_of(c, SB_METRIC_FPS)->verdict, SB_VERDICT_UNCERTAIN);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

/* What the first line calls too few, no row below it judges; the total only adds the start-up. */
static void three_generations_are_too_few_everywhere(void **state)
{
	static const double before[] = { 1.0, 1.1, 0.9 }, after[] = { 2.0, 2.1, 1.9 };
	struct sb_facts *base = service("base", 3, 0.5, "vae_decode"),
			*now = service("new", 3, 1.5, "vae_decode");
	struct sb_comparison *c;

	base->metrics[SB_METRIC_WALL] = 5;
	now->metrics[SB_METRIC_WALL] = 8;
	base->metrics[SB_METRIC_FPS] = 10;
	now->metrics[SB_METRIC_FPS] = 5;
	base->generation_s = before;
	now->generation_s = after;
	base->generation_count = now->generation_count = 3;
	c = compare(base, now, NULL);
	assert_int_equal(c->total.verdict, SB_VERDICT_TOO_FEW);
	assert_int_equal(metric_of(c, SB_METRIC_FPS)->verdict, SB_VERDICT_TOO_FEW);
	assert_int_equal(metric_of(c, SB_METRIC_WALL)->verdict, SB_VERDICT_CHANGED);
	for (size_t i = 0; i < c->stage_count; i++)
		assert_int_equal(c->stages[i].verdict, SB_VERDICT_TOO_FEW);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

/* The parts of one generation are means, the headline is a median: the difference has a name. */
static void a_median_less_the_sum_is_no_overlap(void **state)
{
	static const double before[] = { 1.0, 1.0, 1.0, 3.0 }, after[] = { 1.0, 1.0, 1.0, 1.0 };
	struct sb_facts *base = run_of("base", 7), *now = run_of("new", 5), *runs[] = { base, now };
	struct sb_buf text = { 0 };
	struct sb_diff_options options = { 0 };
	struct sb_comparison *c;

	for (int i = 0; i < 2; i++) {
		double all_s = i ? 4 : 6;

		stage(runs[i], NULL, "generation", -1, all_s, 0.4)->role = STROBE_ROLE_GENERATION;
		stage(runs[i], NULL, "denoise", 0, all_s - 0.4, all_s - 0.4)->count = 4;
		runs[i]->stages[0].count = 4;
		sb_facts_key_stages(runs[i]);
		runs[i]->metrics[SB_METRIC_GENERATIONS] = 4;
		runs[i]->metrics[SB_METRIC_GENERATION] = 1;
		runs[i]->metrics[SB_METRIC_UNATTRIBUTED] = 1.4;
		runs[i]->generation_unattributed_s = 0.4;
		runs[i]->generation_s = i ? after : before;
		runs[i]->generation_count = 4;
	}
	c = compare(base, now, NULL);
	close_within(c->base_overlap_s, 0.5, 1e-9); /* 1.4 + 0.1 of a mean generation, 1 in the middle */
	close_within(c->base_at_once_s, 0, 1e-9);
	close_within(c->now_overlap_s, 0, 1e-9);
	sb_diff_text(c, &options, &text);
	assert_null(strstr(sb_buf_text(&text), "overlap"));
	assert_non_null(strstr(sb_buf_text(&text), "median less sum"));
	sb_buf_done(&text);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void a_total_that_a_few_slow_calls_made_proves_nothing(void **state)
{
	static const struct {
		double base_std, now_std;
		enum sb_verdict verdict;
	} cases[] = { { 0.08, 0.005, SB_VERDICT_UNCERTAIN }, { 0.004, 0.005, SB_VERDICT_BETTER },
		{ NAN, NAN, SB_VERDICT_BETTER } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sb_facts *base = run_of("base", 1), *now = run_of("new", 1);
		struct sb_fact_stage *b = stage(base, NULL, "vae_decode", -1, 0.36, 0.36),
				     *n = stage(now, NULL, "vae_decode", -1, 0.066, 0.066);
		struct sb_comparison *c;

		b->count = n->count = 10;
		b->time = (struct sb_stats){ .count = 10, .mean = 0.036, .std = cases[i].base_std };
		n->time = (struct sb_stats){ .count = 10, .mean = 0.0066, .std = cases[i].now_std };
		sb_facts_key_stages(base);
		sb_facts_key_stages(now);
		c = compare(base, now, NULL);
		assert_int_equal(c->stages[0].verdict, cases[i].verdict);
		sb_comparison_free(c);
		sb_facts_free(base);
		sb_facts_free(now);
	}
}

static void different_numbers_of_calls_compare_one_call(void **state)
{
	struct sb_facts *base = run_of("base", 4), *now = run_of("new", 5);
	struct sb_comparison *c;

	stage(base, NULL, "infer", -1, 3.0, 3.0)->count = 30;
	stage(now, NULL, "infer", -1, 4.0, 4.0)->count = 40;
	sb_facts_key_stages(base);
	sb_facts_key_stages(now);
	c = compare(base, now, "infer=5%");
	assert_true(c->stages[0].per_call);
	assert_int_equal(c->stages[0].verdict, SB_VERDICT_SAME);
	assert_int_equal(c->failure_count, 0);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void a_renamed_stage_is_named(void **state)
{
	struct sb_facts *base = service("base", 4, 0.5, "vae"), *now = service("new", 4, 0.52, "vae_decode");
	struct sb_comparison *c = compare(base, now, "vae=5%");

	assert_string_equal(change_of(c, "vae")->counterpart, "vae_decode");
	assert_string_equal(change_of(c, "vae_decode")->counterpart, "vae");
	assert_int_equal(change_of(c, "vae")->tone, SB_TONE_NONE); /* its time is still there */
	assert_int_equal(change_of(c, "vae_decode")->tone, SB_TONE_NONE);
	assert_true(fails(c, "'vae_decode' stands in its place"));
	assert_true(explains(c, "'vae_decode' stands in the place of 'vae', with as many calls"));
	assert_false(explains(c, "is new and took"));
	assert_false(explains(c, "is gone"));
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

static void markup_in_names_stays_text_in_markdown(void **state)
{
	struct sb_facts *base = run_of("base", 10), *now = run_of("new", 10);
	struct sb_diff_options o = { 0 };
	struct sb_buf out = { 0 };
	struct sb_comparison *c;

	stage(now, NULL, "a|b<script>", -1, 1, 1);
	sb_facts_key_stages(now);
	c = compare(base, now, NULL);
	sb_diff_markdown(c, &o, &out);
	assert_non_null(strstr(sb_buf_text(&out), "a\\|b\\<script>"));
	sb_buf_done(&out);
	sb_comparison_free(c);
	sb_facts_free(base);
	sb_facts_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_named_by_date_host_command_and_tags),
		cmocka_unit_test(parts_and_overlap_add_up_to_the_change),
		cmocka_unit_test(children_carry_the_change_not_their_parents),
		cmocka_unit_test(a_code_holds_a_stage_together_when_its_words_change),
		cmocka_unit_test(a_disk_collapse_beside_grown_memory_is_told_first),
		cmocka_unit_test(changed_attributes_are_configuration),
		cmocka_unit_test(what_moved_inside_an_unchanged_total_is_told),
		cmocka_unit_test(different_numbers_of_videos_compare_one_video),
		cmocka_unit_test(stages_of_unlike_runs_are_compared_per_generation),
		cmocka_unit_test(totals_of_unlike_runs_become_those_of_one_generation),
		cmocka_unit_test(a_rate_is_judged_on_its_generations),
		cmocka_unit_test(three_generations_are_too_few_everywhere),
		cmocka_unit_test(a_median_less_the_sum_is_no_overlap),
		cmocka_unit_test(a_total_that_a_few_slow_calls_made_proves_nothing),
		cmocka_unit_test(different_numbers_of_calls_compare_one_call),
		cmocka_unit_test(a_renamed_stage_is_named),
		cmocka_unit_test(markup_in_names_stays_text_in_markdown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
