/* The advice: every rule is silent without its data, fires on it, is documented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advise/advise.h"
#include "base/buf.h"
#include "synthetic.h"

/* ---- docs/advice.md ----------------------------------------------------- */

static void render_table(struct sb_buf *out)
{
	sb_buf_puts(out, "| rule | priority | effort | fires when | threshold (default) | needs |\n");
	sb_buf_puts(out, "|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < sb_rule_count(); i++) {
		const struct sb_rule_info *r = sb_rule_info(i);

		sb_buf_printf(out, "| `%s` | %s%s | %s | %s | ", r->id, sb_priority_name(r->priority),
			r->absolute ? " *" : "", sb_effort_name(r->effort), r->fires);
		if (r->threshold_key)
			sb_buf_printf(out, "`%s` (%.15g %s)", r->threshold_key, r->threshold, r->unit);
		sb_buf_printf(out, " | %s |\n", r->needs);
	}
}

static void the_documentation_lists_the_table_as_it_is(void **state)
{
	const char *path = STROBE_SOURCE_DIR "/docs/advice.md", *begin, *end;
	struct sb_buf text = { 0 }, table = { 0 };

	render_table(&table);
	assert_int_equal(sb_buf_read_file(&text, path, 1 << 20), 0);
	begin = strstr(sb_buf_text(&text), "<!-- rules -->\n");
	end = strstr(sb_buf_text(&text), "<!-- end of rules -->");
	assert_non_null(begin);
	assert_non_null(end);
	begin += strlen("<!-- rules -->\n");
	if (getenv("STROBE_ACCEPT") &&
		(table.size != (size_t)(end - begin) || memcmp(begin, table.data, table.size) != 0)) {
		struct sb_buf fresh = { 0 };

		sb_buf_add(&fresh, text.data, (size_t)(begin - text.data));
		sb_buf_add(&fresh, table.data, table.size);
		sb_buf_puts(&fresh, end);
		assert_int_equal(sb_buf_write_file(&fresh, path, 0644), 0);
		sb_buf_done(&fresh);
	} else if (table.size != (size_t)(end - begin) || memcmp(begin, table.data, table.size) != 0) {
		fail_msg("docs/advice.md is not the table of rules: run with STROBE_ACCEPT=1");
	}
	sb_buf_done(&text);
	sb_buf_done(&table);
}

static void each_cause_has_a_section(void **state)
{
	struct sb_buf text = { 0 };

	assert_int_equal(sb_buf_read_file(&text, STROBE_SOURCE_DIR "/docs/advice.md", 1 << 20), 0);
	for (size_t i = 0; i < sb_rule_count(); i++) {
		char heading[80];

		if (strcmp(sb_rule_info(i)->category, "cause") != 0)
			continue;
		snprintf(heading, sizeof heading, "\n### `%s`\n", sb_rule_info(i)->id);
		if (!strstr(sb_buf_text(&text), heading))
			fail_msg("docs/advice.md has no section on '%s'", sb_rule_info(i)->id);
	}
	sb_buf_done(&text);
}

/* Of the row in whose first cell the finding stands: no real program has shown it. */
static bool is_unseen(const char *table, const char *id, bool *out_row)
{
	char name[80];

	*out_row = false;
	snprintf(name, sizeof name, "`%s`", id);
	for (const char *line = table; (line = strstr(line, "\n| `")); line++) {
		const char *cell = strstr(line, " | "), *next = cell ? strstr(cell + 3, " | ") : NULL;
		const char *at = strstr(line, name), *made = strstr(line, "(made recording)"),
			   *none = strstr(line, "none of a real program");

		if (!next || !at || at > cell)
			continue;
		*out_row = true;
		return (made && made < next) || (none && none < next);
	}
	return false;
}

/* The docs say which findings were never seen: those, and no others, have no example of a real program. */
static void findings_that_no_program_has_shown_are_listed(void **state)
{
	struct sb_buf text = { 0 };
	const char *part, *list, *end;

	assert_int_equal(sb_buf_read_file(&text, STROBE_SOURCE_DIR "/docs/advice.md", 1 << 20), 0);
	part = strstr(sb_buf_text(&text), "## The other findings");
	list = part ? strstr(part, "No real program has shown these yet: ") : NULL;
	end = list ? strstr(list, ". Their rules") : NULL;
	assert_non_null(end);
	for (size_t i = 0; i < sb_rule_count(); i++) {
		const char *id = sb_rule_info(i)->id, *at;
		char name[80];
		bool row, unseen = is_unseen(part, id, &row);

		snprintf(name, sizeof name, "`%s`", id);
		at = strstr(list, name);
		if (row && unseen != (at && at < end))
			fail_msg("docs/advice.md: '%s' %s the list of what no real program has shown", id,
				unseen ? "is missing in" : "is seen, and stands in");
	}
	sb_buf_done(&text);
}

static void ids_and_threshold_keys_are_unique(void **state)
{
	for (size_t i = 0; i < sb_rule_count(); i++) {
		const struct sb_rule_info *a = sb_rule_info(i);

		assert_true(strlen(a->suggestion) > 20);
		for (size_t k = i + 1; k < sb_rule_count(); k++) {
			const struct sb_rule_info *b = sb_rule_info(k);

			assert_string_not_equal(a->id, b->id);
			if (a->threshold_key && b->threshold_key)
				assert_string_not_equal(a->threshold_key, b->threshold_key);
		}
	}
}

static void nothing_but_a_stage_gives_no_advice_but_on_the_stage(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "work", 0);
	m = synthetic_model(&s, SECOND);
	assert_int_equal(m->advice.count, 1);
	assert_string_equal(m->advice.all[0].id, "stage_dominates");
	assert_null(m->summary.bound);
	synthetic_done(&s);
}

static void short_runs_are_told_in_units_that_show_something(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 2 * MS, "decode", 0);
	m = synthetic_model(&s, 4 * MS);
	assert_string_equal(finding(m, "stage_dominates")->evidence,
		"2.0 ms of 4.0 ms in 1 call; each tenth of it saves 200.0 us");
	assert_string_equal(finding(m, "unattributed")->evidence, "2.0 ms of 4.0 ms are unattributed");
	synthetic_done(&s);
}

static void an_empty_recording_gives_no_advice(void **state)
{
	struct synthetic s;

	synthetic_open(&s);
	assert_int_equal(synthetic_model(&s, SECOND)->advice.count, 0);
	synthetic_done(&s);
}

/* ---- rules over ranks --------------------------------------------------- */

static void waiting(struct synthetic *s, uint64_t waited_s)
{
	synthetic_open(s);
	sb_builder_meta(
		s->b, SB_META_TAG, &(struct strobe_attr){ "world_size", STROBE_TYPE_INT, { .i = 8 } });
	synthetic_begin(s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(s, 0, (100 - waited_s) * SECOND, "denoise", 0);
	synthetic_stage(s, (100 - waited_s) * SECOND, 100 * SECOND, "all_reduce", STROBE_ROLE_COLLECTIVE);
	synthetic_end(s, 100 * SECOND);
}

static void ranks_that_wait_for_each_other_are_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	waiting(&s, 25);
	m = synthetic_model(&s, 100 * SECOND);
	assert_near(finding(m, "scaling")->value, 75, 1e-6);
	assert_near(finding(m, "scaling")->saves_s, 25, 1e-6);
	assert_string_equal(finding(m, "scaling")->issue, "8 ranks work at 75 % efficiency");
	synthetic_done(&s);
	waiting(&s, 15);
	m = synthetic_model(&s, 100 * SECOND);
	assert_null(finding(m, "scaling")); /* 85 %: above the threshold */
	synthetic_done(&s);
}

/* ---- absolute rules ----------------------------------------------------- */

static void slow_blocks(struct synthetic *s)
{
	for (uint64_t i = 0; i < 4; i++) {
		synthetic_begin(s, i * SECOND, "block", STROBE_ROLE_BLOCK);
		synthetic_attr(s, "frames", 9);
		synthetic_attr(s, "index", (int64_t)i);
		for (uint64_t k = 0; k < 2; k++)
			synthetic_step(
				s, i * SECOND + k * 500 * MS, i * SECOND + (k + 1) * 500 * MS, (int64_t)k, 9);
		synthetic_end(s, (i + 1) * SECOND);
	}
	sb_builder_model(s->b, 0, "dit", 14000000000, "bf16", 28000000000);
}

static const char *const absolute[] = { "step_slow", "block_large", "fps_low", "bps_low", "parameters_many" };

static void absolute_rules_are_low(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	slow_blocks(&s);
	m = synthetic_model(&s, 4 * SECOND);
	for (size_t i = 0; i < 5; i++) {
		assert_non_null(finding(m, absolute[i]));
		assert_string_equal(finding(m, absolute[i])->priority, "low");
	}
	assert_null(finding(m, "target_fps"));
	synthetic_done(&s);
}

static void absolute_rules_count_in_full_with_a_target(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_meta_string(s.b, SB_META_SETTING, "target_fps", "16");
	slow_blocks(&s);
	m = synthetic_model(&s, 4 * SECOND);
	for (size_t i = 0; i < 5; i++)
		assert_string_not_equal(finding(m, absolute[i])->priority, "low");
	assert_non_null(finding(m, "target_fps"));
	assert_near(m->summary.fps_wall, 9, 1e-9);
	synthetic_done(&s);
}

static void streaming_makes_absolute_rules_count_and_drops_are_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	slow_blocks(&s);
	for (uint64_t i = 0; i < 10; i++)
		sb_builder_stream(s.b, i * 400 * MS, &(struct strobe_batch){ 9, 3, 10, i == 9 ? 0.02 : 0.5 });
	sb_builder_count(s.main, SB_NAME_DROPPED, 10);
	m = synthetic_model(&s, 4 * SECOND);
	assert_string_equal(finding(m, "fps_low")->priority, "high");
	assert_near(finding(m, "dropped_frames")->value, 10, 1e-9); /* 10 of 90 + 10 */
	assert_near(finding(m, "buffer_low")->value, 2, 1e-9);
	synthetic_done(&s);
}

/* ---- layers, caches, memory --------------------------------------------- */

static void layers_that_stand_out_are_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;
	uint64_t t = 0;

	synthetic_open(&s);
	synthetic_stage(&s, t, t + 20 * MS, "patch_embed", STROBE_ROLE_LAYER);
	t += 20 * MS;
	for (int i = 0; i < 4; i++) {
		uint64_t took = (uint64_t)(10 + 10 * (i == 3)) * MS;

		synthetic_begin(&s, t, "blocks", STROBE_ROLE_LAYER);
		synthetic_attr(&s, "index", i);
		synthetic_stage(&s, t, t + took - MS / 2, "attn1", STROBE_ROLE_LAYER);
		synthetic_end(&s, t += took);
	}
	synthetic_stage(&s, t, t + 40 * MS, "head", STROBE_ROLE_LAYER);
	m = synthetic_model(&s, SECOND);
	assert_near(m->models.layers_total_s, 0.11, 1e-9);
	assert_near(finding(m, "patch_embedding")->value, 20 / 1.1, 1e-6);
	assert_near(finding(m, "block_variance")->value, 5, 1e-6);
	assert_string_equal(finding(m, "layer_dominates")->stage, "head");
	assert_null(finding(m, "blocks_dominate"));
	assert_null(finding(m, "attention")); /* 48 of 110 ms */
	synthetic_done(&s);
}

static void layers_of(struct synthetic *s, uint64_t block_ms, uint64_t attention_ms)
{
	uint64_t t = 0;

	synthetic_open(s);
	synthetic_stage(s, t, t + 4 * MS, "patch_embed", STROBE_ROLE_LAYER);
	t += 4 * MS;
	for (int i = 0; i < 4; i++) {
		synthetic_begin(s, t, "blocks", STROBE_ROLE_LAYER);
		synthetic_attr(s, "index", i);
		synthetic_stage(s, t, t + attention_ms * MS, "attn1", STROBE_ROLE_LAYER);
		synthetic_end(s, t += block_ms * MS);
	}
	synthetic_stage(s, t, t + 4 * MS, "head", STROBE_ROLE_LAYER);
}

static void blocks_and_attention_that_fill_the_model_are_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	layers_of(&s, 48, 36); /* 192 of 200 ms in blocks, 144 in attention */
	m = synthetic_model(&s, SECOND);
	assert_near(finding(m, "blocks_dominate")->value, 96, 1e-6);
	assert_string_equal(finding(m, "blocks_dominate")->evidence, "4 blocks, 48.00 ms each");
	assert_near(finding(m, "attention")->value, 72, 1e-6);
	assert_string_equal(finding(m, "attention")->evidence, "0.144 s of 0.200 s");
	synthetic_done(&s);
	layers_of(&s, 17, 11); /* 68 of 76 ms: 89.5 %, and 44 of 76 */
	m = synthetic_model(&s, SECOND);
	assert_null(finding(m, "blocks_dominate"));
	assert_null(finding(m, "attention"));
	synthetic_done(&s);
}

static void useless_and_strict_caches_are_told_apart(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 20; i++) {
		struct strobe_cache_event rarely = { .cache = "first_block",
			.kind = i ? STROBE_CACHE_MISS : STROBE_CACHE_HIT,
			.size_bytes = 100 * MIB,
			.score = i ? 0.9 : 0.05,
			.threshold = 0.1,
			.frame = NAN,
			.chunk = -1 };
		struct strobe_cache_event nearly = { .cache = "teacache",
			.kind = i % 2 ? STROBE_CACHE_MISS : STROBE_CACHE_HIT,
			.size_bytes = -1,
			.score = i % 2 ? 0.11 : 0.09,
			.threshold = 0.1,
			.frame = NAN,
			.chunk = -1 };

		sb_builder_cache(s.b, i * MS, &rarely);
		sb_builder_cache(s.b, i * MS, &nearly);
	}
	m = synthetic_model(&s, SECOND);
	assert_string_equal(finding(m, "cache_useless")->stage, "first_block");
	assert_string_equal(finding(m, "cache_strict")->stage, "teacache");
	synthetic_done(&s);
}

/* "Loosen the threshold" and "switch it off" contradict each other. */
static void a_cache_that_never_hits_is_one_finding(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 40; i++) {
		struct strobe_cache_event never = { .cache = "semantic",
			.kind = STROBE_CACHE_MISS,
			.size_bytes = -1,
			.score = 0.9,
			.threshold = 0.95,
			.frame = NAN,
			.chunk = -1 };
		struct strobe_cache_event nearly = never;

		nearly.cache = "teacache";
		nearly.kind = i % 2 ? STROBE_CACHE_MISS : STROBE_CACHE_HIT;
		sb_builder_cache(s.b, i * MS, &never);
		sb_builder_cache(s.b, i * MS, &nearly);
	}
	m = synthetic_model(&s, SECOND);
	assert_string_equal(finding(m, "cache_idle")->stage, "semantic");
	assert_non_null(strstr(finding(m, "cache_idle")->cause, "too strict"));
	assert_int_equal(finding(m, "cache_idle")->explain_count, 2);
	assert_null(finding(m, "cache_useless"));
	assert_string_equal(finding(m, "cache_strict")->stage, "teacache"); /* another one's stays */
	synthetic_done(&s);
}

static void memory_that_is_kept_fragmented_or_too_much_is_named(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_model(s.b, 0, "vjepa", 300000000, "fp32", 1200 * MIB);
	sb_builder_snapshot(s.b, 1 * SECOND, "before", 0, 1000 * MIB, 1100 * MIB, 1000 * MIB);
	synthetic_stage(&s, 2 * SECOND, 4 * SECOND, "encode", 0);
	sb_builder_snapshot(s.b, 5 * SECOND, "after_encode", 0, 4000 * MIB, 10000 * MIB, 9000 * MIB);
	synthetic_stage(&s, 6 * SECOND, 8 * SECOND, "decode", 0);
	sb_builder_snapshot(s.b, 9 * SECOND, "after_decode", 0, 4010 * MIB, 10000 * MIB, 9000 * MIB);
	m = synthetic_model(&s, 10 * SECOND);
	assert_string_equal(finding(m, "memory_kept")->stage, "encode");
	assert_near(finding(m, "memory_kept")->value, 3000, 1e-6);
	assert_near(finding(m, "fragmentation")->value, 60, 1e-6);
	assert_near(finding(m, "memory_over_model")->value, 9000, 1e-6);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documentation_lists_the_table_as_it_is),
		cmocka_unit_test(each_cause_has_a_section),
		cmocka_unit_test(findings_that_no_program_has_shown_are_listed),
		cmocka_unit_test(ids_and_threshold_keys_are_unique),
		cmocka_unit_test(nothing_but_a_stage_gives_no_advice_but_on_the_stage),
		cmocka_unit_test(short_runs_are_told_in_units_that_show_something),
		cmocka_unit_test(an_empty_recording_gives_no_advice),
		cmocka_unit_test(ranks_that_wait_for_each_other_are_named),
		cmocka_unit_test(absolute_rules_are_low),
		cmocka_unit_test(absolute_rules_count_in_full_with_a_target),
		cmocka_unit_test(streaming_makes_absolute_rules_count_and_drops_are_named),
		cmocka_unit_test(layers_that_stand_out_are_named),
		cmocka_unit_test(blocks_and_attention_that_fill_the_model_are_named),
		cmocka_unit_test(useless_and_strict_caches_are_told_apart),
		cmocka_unit_test(a_cache_that_never_hits_is_one_finding),
		cmocka_unit_test(memory_that_is_kept_fragmented_or_too_much_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
