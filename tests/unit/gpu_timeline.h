/* Made-up GPU timelines, and what the report says of them. */
#ifndef TESTS_GPU_TIMELINE_H
#define TESTS_GPU_TIMELINE_H

#include "report/build.h"
#include "base/error.h"
#include "format/builder.h"
#include "report/panels/panel.h"
#include "report/panels/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNEL(at, long, start)                                                                 \
	{                                                                                       \
		.kind = SB_GPU_KERNEL, .start_ns = start, .duration_ns = long, .launch_ns = at, \
		.launch_tid = 1000                                                              \
	}

struct opened {
	struct sb_run *run;
	struct sb_model *model;
};

static inline struct opened open_model(const char *path)
{
	struct opened o = { 0 };

	if (sb_run_open(path, NULL, &o.run) || sb_report_build(o.run, NULL, &o.model))
		fail_msg("%s", sb_error_message());
	return o;
}

static inline void close_model(struct opened *o)
{
	sb_model_free(o->model);
	sb_run_close(o->run);
}

static inline void close_to(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-9))
		fail_msg("%.12g is not %.12g", value, expected);
}

static inline const struct sb_gpu_row *find_row(const struct sb_gpu_row *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static inline const struct sb_stage *stage(const struct opened *o, const char *name)
{
	const struct sb_stage *s = sb_model_stage(o->model, name);

	if (!s)
		fail_msg("no stage '%s'", name);
	return s;
}

static inline void panel_holds(const struct opened *o, const char *what)
{
	struct sb_text_options options = { .columns = 100 };
	struct sb_buf text = { 0 };

	for (const struct sb_panel *const *panel = sb_panels; *panel; panel++)
		if (!strcmp((*panel)->name, "gpu"))
			(*panel)->text(o->model, &options, &text);
	if (!strstr(sb_buf_text(&text), what))
		fail_msg("no '%s' in\n%s", what, sb_buf_text(&text));
	sb_buf_done(&text);
}

struct made {
	char path[128];
	struct sb_builder *b;
	struct sb_stream_writer *w;
};

static inline struct made begin_made(void)
{
	struct made m = { .path = "/tmp/strobe-gpu-test-XXXXXX.strobe" };
	int fd = mkstemps(m.path, 7);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sb_builder_open(m.path, NULL, &m.b), 0);
	m.w = sb_builder_thread(m.b, 0, "main");
	return m;
}

static inline void put_gpu(struct made *m, const char *name, struct sb_builder_gpu g)
{
	g.name = sb_builder_name(m->b, name, NULL);
	sb_builder_gpu(m->b, &g);
}

static inline struct opened end_made(struct made *m, uint64_t end_ns)
{
	struct opened o;

	assert_int_equal(sb_builder_close(m->b, end_ns), 0);
	o = open_model(m->path);
	unlink(m->path);
	return o;
}

static inline void zone(struct made *m, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t id = sb_builder_name(m->b, name, NULL);

	sb_builder_begin(m->w, begin_ns, id);
	sb_builder_end(m->w, end_ns, id);
}

static inline void tree_holds(const struct opened *o, const char *what)
{
	struct sb_text_options options = { .columns = 100 };
	struct sb_buf text = { 0 };

	sb_stages_tree(o->model, &options, &text);
	if (!strstr(sb_buf_text(&text), what))
		fail_msg("no '%s' in\n%s", what, sb_buf_text(&text));
	sb_buf_done(&text);
}

#endif
