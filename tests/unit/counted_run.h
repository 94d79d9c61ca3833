/* Made-up runs whose GPU was counted, and their reports. */
#ifndef TESTS_COUNTED_RUN_H
#define TESTS_COUNTED_RUN_H

#include "base/error.h"
#include "format/builder.h"
#include "report/build.h"
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

static inline struct made begin_made(void)
{
	struct made m = { .path = "/tmp/strobe-counters-XXXXXX.strobe" };
	int fd = mkstemps(m.path, 7);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sb_builder_open(m.path, NULL, &m.b), 0);
	m.w = sb_builder_thread(m.b, 0, "main");
	return m;
}

static inline void zone(
	struct made *m, const char *name, enum strobe_role role, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t id = sb_builder_name(m->b, name, NULL);

	sb_builder_begin(m->w, begin_ns, id);
	if (role)
		sb_builder_role(m->w, role);
	sb_builder_end(m->w, end_ns, id);
}

static inline void end_made(struct made *m, uint64_t end_ns)
{
	assert_int_equal(sb_builder_close(m->b, end_ns), 0);
	if (sb_run_open(m->path, NULL, &m->run) || sb_report_build(m->run, NULL, &m->model))
		fail_msg("%s", sb_error_message());
	unlink(m->path);
}

static inline void done(struct made *m)
{
	sb_model_free(m->model);
	sb_run_close(m->run);
}

static inline void close_to(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-6))
		fail_msg("%.9g is not %.9g", value, expected);
}

/* A row every second: SM i x 10 %, tensor a percent less; of device 1 nothing. */
static inline void readings(struct made *m, int rows)
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

static inline double beside(struct made *m, const char *stage, enum sb_gpu_beside which)
{
	return sb_model_stage(m->model, stage)->counters.beside[which];
}

static inline void text_holds(const struct made *m, const char *what)
{
	struct sb_text_options options = { .columns = 100 };
	struct sb_buf text = { 0 };

	for (const struct sb_panel *const *panel = sb_panels; *panel; panel++)
		(*panel)->text(m->model, &options, &text);
	if (!strstr(sb_buf_text(&text), what))
		fail_msg("no '%s' in\n%s", what, sb_buf_text(&text));
	sb_buf_done(&text);
}

#endif
