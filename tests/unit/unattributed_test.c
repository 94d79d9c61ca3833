/* Unattributed time by the functions that ran in it; threads without Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "close_within.h"
#include "summary_text.h"

#include "report/text.h"

enum { TID = 1000, OTHER = 78 };

/* `weight_ms` in `function`, seen at its end; called by main, and calling torch where asked. */
static void see(struct synthetic *s, uint64_t at_ms, uint32_t weight_ms, const char *function, bool in_torch)
{
	uint32_t torch = sb_builder_name(s->b, "_tensor.cpu", NULL),
		 own = sb_builder_name(s->b, function, NULL), top = sb_builder_name(s->b, "pipe.main", NULL);
	const uint32_t names[] = { torch, own, top }, lines[] = { 900, 40, 99 };
	struct sb_builder_sample sample = { .tid = TID, .weight_us = weight_ms * 1000 };

	sb_builder_stack_sample(
		s->b, at_ms * MS, &sample, names + !in_torch, lines + !in_torch, 2 + in_torch);
}

static void files(struct synthetic *s)
{
	sb_builder_code_file(s->b, sb_builder_name(s->b, "_tensor.cpu", NULL), "/x/torch/_tensor.py");
	sb_builder_code_file(s->b, sb_builder_name(s->b, "pipe.prepare", NULL), "/srv/pipe.py");
	sb_builder_code_file(s->b, sb_builder_name(s->b, "pipe.main", NULL), "/srv/pipe.py");
}

/* 10 s of a generation: denoise up to 8 s, then 1.74 s of prepare and 0.26 s of finish,
 * seen at unlike times. */
static void record(struct synthetic *s)
{
	files(s);
	synthetic_begin(s, 0, "job", 0); /* around it: covers nothing inside */
	synthetic_begin(s, 1 * SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(s, 1 * SECOND, 9 * SECOND, "denoise", 0);
	synthetic_end(s, 11 * SECOND);
	synthetic_end(s, 11 * SECOND);
	see(s, 4000, 3000, "pipe.denoise", false);
	see(s, 9100, 100, "pipe.prepare", true);
	see(s, 10740, 1640, "pipe.prepare", true);
	for (uint64_t i = 0; i < 13; i++)
		see(s, 10760 + i * 20, 20, "pipe.finish", false);
}

static void a_function_has_the_share_of_the_time_not_of_the_samples(void **state)
{
	const struct sb_place_list *list;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	record(&s);
	m = synthetic_model(&s, 11 * SECOND);
	list = &m->unattributed.generations;
	assert_int_equal(list->sample_count, 15);
	close_within(list->unattributed_s, 2, 1e-6);
	close_within(list->ratio, 0.2, 1e-6);
	assert_int_equal(list->count, 2);
	assert_string_equal(list->all[0].function, "pipe.prepare");
	assert_string_equal(list->all[0].file, "/srv/pipe.py");
	assert_int_equal(list->all[0].line, 40);
	close_within(list->all[0].ratio, 0.87, 1e-6);
	close_within(list->all[0].estimate_s, 1.74, 1e-6);
	assert_string_equal(list->all[0].inside, "_tensor.cpu"); /* torch is not where to look */
	assert_string_equal(list->all[1].function, "pipe.finish");
	assert_null(list->all[1].inside);
	assert_int_equal(m->unattributed.run.count, 0); /* the job covers all of it */
	close_within(m->summary.startup_end_s, 1, 1e-9);
	synthetic_done(&s);
}

static void strobe_itself_is_not_where_to_look(void **state)
{
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 1000 * 1000 };
	const uint32_t lines[] = { 10, 100, 3 };
	const struct sb_place_list *list;
	struct synthetic s;
	uint32_t names[3];

	synthetic_open(&s);
	names[0] = sb_builder_name(s.b, "fromnumeric.sum", NULL);
	names[1] = sb_builder_name(s.b, "_Loader.exec_module", NULL);
	names[2] = sb_builder_name(s.b, "pipe.main", NULL);
	files(&s);
	sb_builder_code_file(s.b, names[0], "/usr/lib/python3/dist-packages/numpy/core/fromnumeric.py");
	sb_builder_code_file(s.b, names[1], "/usr/lib/python3/dist-packages/strobe/_imports.py");
	sb_builder_stack_sample(s.b, SECOND, &sample, names, lines, 3);
	list = &synthetic_model(&s, SECOND)->unattributed.run;
	assert_int_equal(list->count, 1);
	assert_string_equal(list->all[0].function, "pipe.main");
	assert_string_equal(list->all[0].inside, "fromnumeric.sum");
	synthetic_done(&s);
}

static void a_function_is_one_row_whatever_it_had_called(void **state)
{
	const char *const leaves[] = { "_tensor.cpu", "_tensor.to", "_tensor.to", "pipe.prepare" };
	const struct sb_place_list *list;
	struct synthetic s;

	synthetic_open(&s);
	files(&s);
	sb_builder_code_file(s.b, sb_builder_name(s.b, "_tensor.to", NULL), "/x/torch/_tensor.py");
	for (uint32_t i = 0; i < 4; i++) {
		struct sb_builder_sample sample = { .tid = TID, .weight_us = 1000 * 1000 };
		const uint32_t names[] = { sb_builder_name(s.b, leaves[i], NULL),
			sb_builder_name(s.b, "pipe.prepare", NULL) };
		const uint32_t lines[] = { i == 3 ? 42 : 900, i == 0 ? 40 : 41 };

		sb_builder_stack_sample(s.b, (i + 1) * SECOND, &sample, names, lines, i == 3 ? 1 : 2);
	}
	list = &synthetic_model(&s, 4 * SECOND)->unattributed.run;
	assert_int_equal(list->count, 1);
	assert_string_equal(list->all[0].function, "pipe.prepare");
	assert_int_equal(list->all[0].line, 41);
	assert_string_equal(list->all[0].inside, "_tensor.to");
	close_within(list->all[0].ratio, 1, 1e-9);
	synthetic_done(&s);
}

/* Python starts after 2 s of 4: what ran before belongs to no function. */
static void what_no_sample_stands_for_is_not_shared_out(void **state)
{
	struct sb_text_options options = { 0 };
	const struct sb_place_list *list;
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	files(&s);
	for (uint64_t i = 1; i <= 20; i++)
		see(&s, 2000 + i * 100, 100, "pipe.prepare", false);
	m = synthetic_model(&s, 4 * SECOND);
	list = &m->unattributed.run;
	close_within(list->unattributed_s, 4, 1e-6);
	close_within(list->all[0].estimate_s, 2, 1e-6);
	close_within(list->all[0].ratio, 0.5, 1e-6);
	close_within(list->unsampled_s, 2, 1e-6);
	assert_int_equal(sb_report_text(m, &options, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "50.0 %     2.00 s  prepare (pipe.py:40)"));
	assert_non_null(strstr(sb_buf_text(&out), "50.0 %     2.00 s  not sampled (as before Python began)"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void the_text_names_the_functions(void **state)
{
	struct sb_text_options options = { 0 };
	struct sb_buf out = { 0 };
	struct synthetic s;

	synthetic_open(&s);
	record(&s);
	assert_int_equal(sb_report_text(synthetic_model(&s, 11 * SECOND), &options, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "87.0 %     1.74 s  prepare (pipe.py:40), in _tensor.cpu"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void little_unattributed_time_is_not_listed(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 0, 9600 * MS, "denoise", 0);
	synthetic_end(&s, 10 * SECOND);
	see(&s, 9800, 50, "pipe.finish", false);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->unattributed.generations.count, 0);
	assert_int_equal(m->unattributed.run.count, 0);
	synthetic_done(&s);
}

/* One look at a function is no share of the time: neither the advice nor a table says one. */
/* Most of the time: it is listed with its share, and the advice names the program's own function. */
static void what_strobe_did_itself_has_a_row_and_is_no_cause(void **state)
{
	struct sb_text_options options = { 0 };
	struct sb_builder_sample sample = { .tid = TID, .weight_us = 150 * 1000 };
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;
	uint32_t own, line = 0;

	synthetic_open(&s);
	files(&s);
	synthetic_stage(&s, 0, 5 * SECOND, "load", 0);
	for (uint64_t i = 0; i < 10; i++)
		see(&s, 5100 + i * 100, 100, "pipe.prepare", false);
	own = sb_builder_name(s.b, "strobe itself", NULL);
	sb_builder_code_file(s.b, own, "<strobe>");
	for (uint64_t i = 0; i < 20; i++)
		sb_builder_stack_sample(s.b, (6200 + i * 150) * MS, &sample, &own, &line, 1);
	m = synthetic_model(&s, 10 * SECOND);
	assert_string_equal(m->unattributed.run.all[0].function, "strobe itself");
	assert_non_null(strstr(finding(m, "unattributed")->cause, "'pipe.prepare'"));
	assert_null(strstr(finding(m, "unattributed")->suggestion, "strobe itself"));
	for (size_t i = 0; i < m->advice.count; i++)
		assert_null(m->advice.all[i].cause ? strstr(m->advice.all[i].cause, "strobe itself") : NULL);
	assert_int_equal(sb_report_text(m, &options, &out), 0);
	assert_non_null(strstr(sb_buf_text(&out), "strobe itself"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

static void few_samples_tell_no_share(void **state)
{
	struct sb_text_options options = { 0 };
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 5 * SECOND, "load", 0);
	see(&s, 7000, 50, "pipe.serve", false);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->unattributed.run.count, 1);
	assert_null(strstr(finding(m, "unattributed")->cause, "100 %"));
	assert_int_equal(sb_report_text(m, &options, &out), 0);
	assert_null(strstr(sb_buf_text(&out), "100.0 %"));
	assert_non_null(strstr(sb_buf_text(&out), "seen in 1 sampled stack: too few for shares"));
	assert_non_null(strstr(sb_buf_text(&out), "of 1 sampled stack, too few for shares"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* What was sampled and saw nothing is not helped by sampling. */
static void a_sampled_run_is_not_told_to_sample(void **state)
{
	struct strobe_attr hz = { "sample_hz", STROBE_TYPE_FLOAT, { .f = 20 } };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_meta(s.b, SB_META_SETTING, &hz);
	synthetic_stage(&s, 0, 5 * SECOND, "load", 0);
	m = synthetic_model(&s, 10 * SECOND);
	assert_null(strstr(finding(m, "unattributed")->cause, "--sample"));
	assert_null(strstr(finding(m, "unattributed")->suggestion, "--sample"));
	synthetic_done(&s);
}

static void without_generations_the_run_is_asked(void **state)
{
	const struct sb_advice *advice;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, 5 * SECOND, "load", 0);
	see(&s, 2000, 50, "pipe.load", false);
	for (uint64_t i = 0; i < 10; i++)
		see(&s, 7000 + 50 * i, 50, "pipe.serve", false);
	sb_builder_code_file(s.b, sb_builder_name(s.b, "pipe.serve", NULL), "/srv/serve.py");
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->unattributed.generations.count, 0);
	assert_int_equal(m->unattributed.run.count, 1);
	assert_string_equal(m->unattributed.run.all[0].function, "pipe.serve");
	advice = finding(m, "unattributed");
	assert_non_null(strstr(advice->suggestion, "'pipe.serve'"));
	assert_non_null(strstr(advice->cause, "about 10 % of it ran in 'pipe.serve'"));
	assert_non_null(strstr(advice->suggestion, "(serve.py:"));
	assert_string_equal(advice->where.file, "/srv/serve.py");
	assert_int_equal(advice->where.line, m->unattributed.run.all[0].line);
	assert_true(isnan(m->summary.startup_end_s));
	synthetic_done(&s);
}

/* 4 s of imports, 2 s of reading in no stage, a stage, then 2 s in which 'pipe.serve' runs for half the time: the row below which
 * it stands has these 2 s. */
static void a_share_on_the_first_screen_is_of_the_seconds_beside_it(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	files(&s);
	synthetic_stage(&s, 0, 4 * SECOND, "import torch", STROBE_ROLE_IMPORT);
	synthetic_stage(&s, 6 * SECOND, 8 * SECOND, "denoise", 0);
	for (uint64_t i = 1; i <= 40; i++)
		see(&s, 4000 + 50 * i, 50, "pipe.read", false);
	for (uint64_t i = 1; i <= 40; i++)
		see(&s, 8000 + 50 * i, 50, i > 20 ? "pipe.serve" : "pipe.close", false);
	synthetic_model(&s, 10 * SECOND);
	text = summary_of(&s, s.model, NULL);
	assert_has(text, "unattributed                            2.00 s   20.0 %");
	assert_has(text, "50 % of it in pipe.serve");
	assert_null(strstr(text, "pipe.read"));
	free(text);
	synthetic_done(&s);
}

static void a_native_thread_is_no_function(void **state)
{
	struct sb_builder_sample sample = { .tid = OTHER, .weight_us = 250000, .native = true };
	struct synthetic s;
	struct sb_model *m;
	uint32_t name;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "load", 0);
	name = sb_builder_name(s.b, "av:h264:df0", NULL);
	sb_builder_stack_sample(s.b, SECOND, &sample, &name, NULL, 1);
	sb_builder_stack_sample(s.b, 2 * SECOND, &sample, &name, NULL, 1);
	m = synthetic_model(&s, 3 * SECOND);
	assert_int_equal(m->functions.sample_count, 0);
	assert_int_equal(m->functions.native_count, 1);
	assert_string_equal(m->functions.natives[0].name, "av:h264:df0");
	close_within(m->functions.natives[0].cpu_s, 0.5, 1e-9);
	assert_int_equal(m->unattributed.run.count, 0);
	synthetic_done(&s);
}

/* A stage around the steps is the generation's own loop: its functions are told, without those of a stage inside it. */
static void the_functions_around_the_steps_are_told(void **state)
{
	const struct sb_place_list *list;
	struct sb_text_options options = { 0 };
	struct sb_buf out = { 0 };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	files(&s);
	synthetic_begin(&s, 0, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(&s, 0, 4 * SECOND, "denoise", STROBE_ROLE_STEP);
	synthetic_begin(&s, 4 * SECOND, "between_steps", 0);
	synthetic_stage(&s, 6 * SECOND, 7 * SECOND, "preview", 0);
	synthetic_end(&s, 7 * SECOND);
	synthetic_stage(&s, 7 * SECOND, 10 * SECOND, "denoise", STROBE_ROLE_STEP);
	synthetic_end(&s, 10 * SECOND);
	see(&s, 3000, 1000, "pipe.denoise", false);
	see(&s, 5000, 1000, "pipe.prepare", true);
	see(&s, 6500, 1000, "pipe.preview", false);
	m = synthetic_model(&s, 10 * SECOND);
	assert_int_equal(m->unattributed.generations.count, 0);
	assert_int_equal(m->unattributed.around[0].count, 0);
	assert_int_equal(m->unattributed.around[2].count, 0);
	list = &m->unattributed.around[1];
	assert_int_equal(list->count, 1);
	close_within(list->unattributed_s, 2, 1e-6);
	close_within(list->ratio, 0.2, 1e-6);
	assert_string_equal(list->all[0].function, "pipe.prepare");
	for (size_t i = 0; i < m->lines.count; i++) /* what python_between_steps may blame */
		assert_int_equal(m->lines.all[i].between, strcmp(m->lines.all[i].stage, "preview") != 0);
	assert_int_equal(sb_report_text(m, &options, &out), 0);
	assert_non_null(strstr(
		sb_buf_text(&out), "between the steps: 2.00 s (20.0 %) of the generations; there ran"));
	sb_buf_done(&out);
	synthetic_done(&s);
}

/* Four samples of a program of a moment name the function, three quarters in it, and no share. */
static void few_samples_name_a_function_on_the_first_screen(void **state)
{
	struct synthetic s;
	char *text;

	synthetic_open(&s);
	files(&s);
	for (uint64_t i = 0; i < 3; i++)
		see(&s, 200 + i * 100, 100, "pipe.prepare", false);
	see(&s, 500, 100, "pipe.finish", false);
	text = summary_of(&s, synthetic_model(&s, 500 * MS), NULL);
	assert_has(text, "    seen most in prepare (pipe.py:40), in 4 samples: too few for shares\n");
	assert_null(strstr(text, "% of the run"));
	free(text);
	synthetic_done(&s);
}

/* Two seconds in `function` of `file`, on the main thread. */
static void see_in(struct sb_builder *b, uint64_t at_ns, uint32_t tid, const char *function, const char *file)
{
	uint32_t name = sb_builder_name(b, function, NULL), line = 7;
	struct sb_builder_sample sample = { .tid = tid, .weight_us = 100 * 1000 };

	sb_builder_code_file(b, name, file);
	for (uint64_t i = 0; i < 20; i++)
		sb_builder_stack_sample(b, at_ns + i * 100 * MS, &sample, &name, &line, 1);
}

static struct sb_builder *process_at(char *path, const char *folder, uint32_t pid, uint32_t ppid)
{
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	struct sb_builder *b;

	o.pid = pid;
	o.ppid = ppid;
	snprintf(path, 96, "%s/run.%u.strobe", folder, pid);
	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	sb_builder_thread(b, 0, NULL);
	return b;
}

/* What torchrun and accelerate do: the main process waits, those that it started work. A worker of one of them waits, too. */
static void a_launcher_waits_and_its_processes_have_the_causes(void **state)
{
	char folder[] = "/tmp/strobe-launcher-XXXXXX", paths[4][96];
	struct sb_model_options options = { .now_real_ns = 1 };
	struct sb_buf text = { 0 };
	struct sb_model *m;
	struct sb_builder *b;
	struct sb_run *run;

	(void)state;
	assert_non_null(mkdtemp(folder));
	b = process_at(paths[0], folder, 50, 1);
	see_in(b, SECOND, 50, "Popen._try_wait", "/usr/lib/python3.11/subprocess.py");
	assert_int_equal(sb_builder_close(b, 3 * SECOND), 0);
	for (uint32_t i = 0; i < 2; i++) {
		b = process_at(paths[1 + i], folder, 60 + i, 50);
		see_in(b, SECOND, 60 + i, "prepare", "/srv/rank.py");
		assert_int_equal(sb_builder_close(b, 3 * SECOND), 0);
	}
	b = process_at(paths[3], folder, 70, 60);
	see_in(b, SECOND, 70, "get", "/srv/worker.py");
	assert_int_equal(sb_builder_close(b, 3 * SECOND), 0);
	assert_int_equal(sb_run_open(folder, NULL, &run), 0);
	assert_int_equal(sb_report_build(run, &options, &m), 0);
	assert_true(m->unattributed.run.launcher);
	assert_int_equal(m->unattributed.run.count, 1);
	assert_string_equal(m->unattributed.run.all[0].function, "prepare");
	assert_true(m->unattributed.run.unsampled_s > 0.9); /* each was sampled for two of three seconds */
	assert_int_equal(sb_report_text(m, NULL, &text), 0);
	assert_has(sb_buf_text(&text), "the launcher waited for its processes, in which ran\n");
	assert_null(
		strstr(sb_buf_text(&text), "_try_wait (")); /* no cause; among the sampled functions it is */
	sb_buf_done(&text);
	sb_model_free(m);
	sb_run_close(run);
	for (int i = 0; i < 4; i++)
		unlink(paths[i]);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_samples_name_a_function_on_the_first_screen),
		cmocka_unit_test(a_function_has_the_share_of_the_time_not_of_the_samples),
		cmocka_unit_test(strobe_itself_is_not_where_to_look),
		cmocka_unit_test(a_function_is_one_row_whatever_it_had_called),
		cmocka_unit_test(what_no_sample_stands_for_is_not_shared_out),
		cmocka_unit_test(the_text_names_the_functions),
		cmocka_unit_test(little_unattributed_time_is_not_listed),
		cmocka_unit_test(what_strobe_did_itself_has_a_row_and_is_no_cause),
		cmocka_unit_test(few_samples_tell_no_share),
		cmocka_unit_test(a_sampled_run_is_not_told_to_sample),
		cmocka_unit_test(without_generations_the_run_is_asked),
		cmocka_unit_test(a_share_on_the_first_screen_is_of_the_seconds_beside_it),
		cmocka_unit_test(a_native_thread_is_no_function),
		cmocka_unit_test(the_functions_around_the_steps_are_told),
		cmocka_unit_test(a_launcher_waits_and_its_processes_have_the_causes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
