/* GPU counters: which stage a reading belongs to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/build.h"
#include "base/error.h"
#include "format/builder.h"
#include "report/panels/panel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000000ull

struct made {
	char path[64];
	struct sb_builder *b;
	struct sb_stream_writer *w;
	struct sb_run *run;
	struct sb_model *model;
};

static struct made begin_made(void)
{
	struct made m = { .path = "/tmp/strobe-counters-XXXXXX.strobe" };
	int fd = mkstemps(m.path, 7);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sb_builder_open(m.path, NULL, &m.b), 0);
	m.w = sb_builder_thread(m.b, 0, "main");
	return m;
}

static void zone(struct made *m, const char *name, enum strobe_role role, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t id = sb_builder_name(m->b, name, NULL);

	sb_builder_begin(m->w, begin_ns, id);
	if (role)
		sb_builder_role(m->w, role);
	sb_builder_end(m->w, end_ns, id);
}

static void end_made(struct made *m, uint64_t end_ns)
{
	assert_int_equal(sb_builder_close(m->b, end_ns), 0);
	if (sb_run_open(m->path, NULL, &m->run) || sb_report_build(m->run, NULL, &m->model))
		fail_msg("%s", sb_error_message());
	unlink(m->path);
}

static void done(struct made *m)
{
	sb_model_free(m->model);
	sb_run_close(m->run);
}

static void close_to(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-6))
		fail_msg("%.9g is not %.9g", value, expected);
}

/* A row every second: SM i x 10 %, tensor a percent less; of device 1 nothing. */
static void readings(struct made *m, int rows)
{
	static const char *const columns[] = { "sm_active_percent", "tensor_active_percent" };
	uint32_t idle = sb_builder_schema(m->b, "gpu_counters", 1, columns, 2);
	uint32_t busy = sb_builder_schema(m->b, "gpu_counters", 0, columns, 2);

	for (int i = 0; i < rows; i++) {
		double nothing[] = { 0, 0 }, some[] = { i * 10, i * 10 - 1 };

		sb_builder_sample(m->b, idle, (uint64_t)i * SECOND, nothing, 2);
		sb_builder_sample(m->b, busy, (uint64_t)i * SECOND, some, 2);
	}
}

static void text_holds(const struct made *m, const char *what)
{
	struct sb_text_options options = { .columns = 100 };
	struct sb_buf text = { 0 };

	for (const struct sb_panel *const *panel = sb_panels; *panel; panel++)
		(*panel)->text(m->model, &options, &text);
	if (!strstr(sb_buf_text(&text), what))
		fail_msg("no '%s' in\n%s", what, sb_buf_text(&text));
	sb_buf_done(&text);
}

static void a_stage_has_the_readings_wholly_inside_it(void **state)
{
	struct made m = begin_made();
	const struct sb_stage *denoise, *decode;

	(void)state;
	readings(&m, 10);
	zone(&m, "denoise", 0, SECOND / 2, 4 * SECOND + SECOND / 2); /* readings 2, 3 and 4 */
	zone(&m, "decode", 0, 5 * SECOND, 5 * SECOND + SECOND / 2); /* none */
	end_made(&m, 9 * SECOND);
	denoise = sb_model_stage(m.model, "denoise");
	decode = sb_model_stage(m.model, "decode");
	close_to(denoise->counters.percent[SB_COUNTER_SM], 30);
	close_to(denoise->counters.percent[SB_COUNTER_TENSOR], 29);
	assert_true(isnan(denoise->counters.percent[SB_COUNTER_DRAM]));
	close_to(denoise->counters.covered_ratio, 0.75);
	assert_string_equal(denoise->counters.source, "gpm");
	assert_null(decode->counters.source);
	close_to(m.model->gpu_counters.percent[SB_COUNTER_SM], 50); /* rows 1 to 9: 10 % to 90 % */
	text_holds(&m, "Hardware");
	text_holds(&m, "denoise                        30.0 %   29.0 %      n/a      n/a   75.0 %");
	done(&m);
}

static void calls_add_up(void **state)
{
	struct made m = begin_made();

	(void)state;
	readings(&m, 10);
	zone(&m, "step", 0, 0, 2 * SECOND); /* readings 1 and 2 */
	zone(&m, "step", 0, 6 * SECOND, 8 * SECOND); /* 7 and 8 */
	end_made(&m, 9 * SECOND);
	close_to(sb_model_stage(m.model, "step")->counters.percent[SB_COUNTER_SM], 45);
	close_to(sb_model_stage(m.model, "step")->counters.covered_ratio, 1);
	done(&m);
}

static void a_generation_has_its_share_of_each_reading(void **state)
{
	struct made m = begin_made();

	(void)state;
	readings(&m, 10);
	zone(&m, "generation", STROBE_ROLE_GENERATION, SECOND + SECOND / 2, 3 * SECOND); /* half of 2, 3 */
	end_made(&m, 9 * SECOND);
	assert_int_equal(m.model->generations.count, 1);
	close_to(m.model->generations.all[0].counters.percent[SB_COUNTER_SM], (20 * 0.5 + 30) / 1.5);
	close_to(m.model->generations.all[0].counters.covered_ratio, 1);
	done(&m);
}

static void a_run_without_counters_says_nothing(void **state)
{
	struct made m = begin_made();

	(void)state;
	zone(&m, "denoise", 0, 0, SECOND);
	end_made(&m, SECOND);
	assert_null(m.model->gpu_counters.source);
	assert_null(sb_model_stage(m.model, "denoise")->counters.source);
	done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stage_has_the_readings_wholly_inside_it),
		cmocka_unit_test(calls_add_up),
		cmocka_unit_test(a_generation_has_its_share_of_each_reading),
		cmocka_unit_test(a_run_without_counters_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
