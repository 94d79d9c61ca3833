/* The report in Markdown: bounded, whatever the run holds; names start no markup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/markdown/markdown.h"
#include "report/markdown/words.h"
#include "synthetic.h"

#define MANY 3000

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

/* As much of everything as a model can hold. */
static void fill(struct sb_model *m)
{
	m->stages.stage_count = MANY;
	m->stages.by_total = NULL;
	m->stages.stages = sb_model_alloc(m, MANY * sizeof *m->stages.stages);
	m->advice.count = m->missing.count = m->session.tag_count = MANY;
	m->advice.all = sb_model_alloc(m, MANY * sizeof *m->advice.all);
	m->missing.all = sb_model_alloc(m, MANY * sizeof *m->missing.all);
	m->session.tags = sb_model_alloc(m, MANY * sizeof *m->session.tags);
	m->devices.count = m->iterations.count = m->gpu.top_kernel_count = MANY;
	m->devices.all = sb_model_alloc(m, MANY * sizeof *m->devices.all);
	m->iterations.all = sb_model_alloc(m, MANY * sizeof *m->iterations.all);
	m->gpu.top_kernels = sb_model_alloc(m, MANY * sizeof *m->gpu.top_kernels);
	m->gpu.family_count = m->gpu.copy_count = m->recording.warning_count = MANY;
	m->gpu.families = sb_model_alloc(m, MANY * sizeof *m->gpu.families);
	m->gpu.copies = sb_model_alloc(m, MANY * sizeof *m->gpu.copies);
	m->recording.warnings = sb_model_alloc(m, MANY * sizeof *m->recording.warnings);
	m->recording.drop_count = m->summary.leave_alone_count = MANY;
	m->recording.drops = sb_model_alloc(m, MANY * sizeof *m->recording.drops);
	m->summary.leave_alone = sb_model_alloc(m, MANY * sizeof *m->summary.leave_alone);
	m->unattributed.generations.count = MANY;
	m->unattributed.generations.all = sb_model_alloc(m, MANY * sizeof *m->unattributed.generations.all);
	m->gpu.present = true;
	for (size_t i = 0; i < MANY; i++) {
		const char *name = sb_model_printf(m, "stage\n# %zu | *x*", i);

		m->stages.stages[i] =
			(struct sb_stage){ .name = name, .side_by_side = true, .wall_ratio = 1 };
		m->advice.all[i] = (struct sb_advice){ .id = "x",
			.priority = "high",
			.issue = name,
			.cause = name,
			.evidence = name,
			.suggestion = name,
			.effort = "< 1 day",
			.saves_s = 1,
			.where = { .stage = name, .file = name, .line = 7, .to_s = 2 } };
		m->missing.all[i] = (struct sb_missing){ name, name, name };
		m->session.tags[i] = (struct sb_pair){ .key = name, .type = STROBE_TYPE_STRING, .s = name };
		m->devices.all[i] = (struct sb_device){ .name = name, .used = true };
		m->iterations.all[i].name = m->gpu.top_kernels[i].name = name;
		m->gpu.families[i].family = m->gpu.copies[i].direction = "x";
		m->recording.warnings[i] = m->summary.leave_alone[i].name = name;
		m->recording.drops[i].text = "lost";
		m->unattributed.generations.all[i] = (struct sb_place){ .function = name, .ratio = 1 };
	}
}

static void a_run_with_too_much_of_everything_takes_at_most_200_lines(void **state)
{
	struct synthetic s;
	struct sb_buf out = { 0 };
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "a", 0);
	m = synthetic_model(&s, SECOND);
	fill(m);
	m->recording.folded_zones = 5;
	m->summary.generation_count = m->summary.frames = 7;
	m->summary.overlap_s = m->summary.generation_s = m->summary.outside_s = 1;
	m->summary.bound = m->summary.bound_reason = "GPU";
	m->session.command = "python\nwan.py";
	assert_int_equal(sb_report_markdown(m, &out), 0);
	assert_in_range(lines_of(out.data), 150, SB_MARKDOWN_LINES);
	assert_in_range(out.size, 1000, 100000);
	assert_null(strstr(out.data, "\n# stage")); /* a name begins no line */
	assert_null(strstr(out.data, "\n# 1"));
	assert_has(out.data, "stage # 0 \\| \\*x\\*");
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void many_flat_stages_take_the_lines_that_are_left(void **state)
{
	struct synthetic s;
	struct sb_buf out = { 0 };
	char name[32];
	size_t shown = 0;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 400; i++) { /* each 0.025 % of the run, the later the longer */
		snprintf(name, sizeof name, "flat %c%c", (char)('a' + i / 20), (char)('a' + i % 20));
		synthetic_stage(&s, i * SECOND / 100, i * SECOND / 100 + SECOND / 1000 + i * 1000, name, 0);
	}
	assert_int_equal(sb_report_markdown(synthetic_model(&s, 4 * SECOND), &out), 0);
	for (const char *at = out.data; (at = strstr(at, "\n| flat ")); at++)
		shown++;
	assert_in_range(shown, 140, 200);
	assert_in_range(lines_of(out.data), 190, SB_MARKDOWN_LINES);
	assert_has(out.data, "| flat tt |");
	assert_has(out.data, " smaller stages, ");
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void an_empty_run_says_that_nothing_was_recorded(void **state)
{
	struct synthetic s;
	struct sb_buf out = { 0 };

	synthetic_open(&s);
	assert_int_equal(sb_report_markdown(synthetic_model(&s, SECOND), &out), 0);
	assert_has(out.data, "No stage was recorded.");
	assert_has(out.data, "## What was not recorded");
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void words_start_no_markup_and_stay_greppable(void **state)
{
	static const char *const words[][2] = { { "vae_decode", "vae_decode" }, { "_x_", "\\_x\\_" },
		{ "a|b", "a\\|b" }, { "<script>", "\\<script>" }, { "[4f.2] blend", "[4f.2] blend" },
		{ "[x](y)", "[x\\](y)" }, { "`a*b\\", "\\`a\\*b\\\\" }, { "a\nb\r", "a b " },
		{ "\x1b[2J\xc2\x9b\xc3\xa9\xff", "?[2J?\xc3\xa9?" } };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		struct sb_buf out = { 0 };

		sb_markdown_put(&out, words[i][0]);
		assert_string_equal(sb_buf_text(&out), words[i][1]);
		sb_buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_with_too_much_of_everything_takes_at_most_200_lines),
		cmocka_unit_test(many_flat_stages_take_the_lines_that_are_left),
		cmocka_unit_test(an_empty_run_says_that_nothing_was_recorded),
		cmocka_unit_test(words_start_no_markup_and_stay_greppable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
