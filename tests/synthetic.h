/* A recording described in a few lines, and the model it becomes. For tests. */
#ifndef TESTS_SYNTHETIC_H
#define TESTS_SYNTHETIC_H

#include "report/build.h"
#include "format/builder.h"
#include "format/builder_stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000ull
#define SECOND 1000000000ull
#define MIB (1024ll * 1024)
/* Attributes of an event. */
#define INT(key, value)               \
	{                             \
		key, STROBE_TYPE_INT, \
		{                     \
			.i = (value)  \
		}                     \
	}
#define TEXT(key, value)                 \
	{                                \
		key, STROBE_TYPE_STRING, \
		{                        \
			.s = (value)     \
		}                        \
	}

struct synthetic {
	char path[64];
	struct sb_builder *b;
	struct sb_stream_writer *main;
	struct sb_run *run;
	struct sb_model *model;
};

/* start_real_ns: when the run began; 0: at the beginning of 2026 */
static inline void synthetic_open_at(struct synthetic *s, uint64_t start_real_ns)
{
	struct sb_builder_options options = SB_BUILDER_DEFAULTS;
	int fd;

	memset(s, 0, sizeof *s);
	strcpy(s->path, "/tmp/strobe-synthetic-XXXXXX.strobe");
	fd = mkstemps(s->path, 7);
	assert_true(fd >= 0);
	close(fd);
	options.chunk_bytes = 4096;
	options.start_real_ns = start_real_ns;
	assert_int_equal(sb_builder_open(s->path, &options, &s->b), 0);
	s->main = sb_builder_thread(s->b, 0, "main");
}

static inline void synthetic_open(struct synthetic *s)
{
	synthetic_open_at(s, 0);
}

/* Ends the recording and builds the model of a part of it (NULL: all). */
static inline struct sb_model *synthetic_part(struct synthetic *s, uint64_t end_ns, const struct sb_cut *cut)
{
	struct sb_model_options options = { .now_real_ns = 1 };

	assert_int_equal(sb_builder_close(s->b, end_ns), 0);
	s->b = NULL;
	assert_int_equal(sb_run_open(s->path, cut, &s->run), 0);
	assert_int_equal(sb_report_build(s->run, &options, &s->model), 0);
	return s->model;
}

static inline struct sb_model *synthetic_model(struct synthetic *s, uint64_t end_ns)
{
	return synthetic_part(s, end_ns, NULL);
}

static inline void synthetic_done(struct synthetic *s)
{
	sb_model_free(s->model);
	sb_run_close(s->run);
	unlink(s->path);
}

static inline uint32_t synthetic_begin(struct synthetic *s, uint64_t t_ns, const char *name, int role)
{
	uint32_t id = sb_builder_name(s->b, name, NULL);

	sb_builder_begin(s->main, t_ns, id);
	if (role)
		sb_builder_role(s->main, (enum strobe_role)role);
	return id;
}

static inline void synthetic_attr(struct synthetic *s, const char *key, int64_t value)
{
	sb_builder_attr(s->main, sb_builder_name(s->b, key, NULL), value);
}

static inline void synthetic_text(struct synthetic *s, const char *key, const char *value)
{
	sb_builder_attr_string(s->main, sb_builder_name(s->b, key, NULL), value);
}

static inline void synthetic_end(struct synthetic *s, uint64_t t_ns)
{
	sb_builder_end(s->main, t_ns, 0);
}

/* A whole stage. */
static inline void synthetic_stage(
	struct synthetic *s, uint64_t begin_ns, uint64_t end_ns, const char *name, int role)
{
	synthetic_begin(s, begin_ns, name, role);
	synthetic_end(s, end_ns);
}

static inline void synthetic_step(
	struct synthetic *s, uint64_t begin_ns, uint64_t end_ns, int64_t step, int64_t block_size)
{
	synthetic_begin(s, begin_ns, "step", STROBE_ROLE_STEP);
	synthetic_attr(s, "step", step);
	if (block_size)
		synthetic_attr(s, "block_size", block_size);
	synthetic_end(s, end_ns);
}

/* One GPU's samples: power and utilisation, memory in MB. */
static inline uint32_t synthetic_gpu(struct synthetic *s, int device)
{
	static const char *const columns[] = { "memory_used_mb", "memory_total_mb", "utilization_percent",
		"temperature_c", "power_w", "sm_clock_mhz", "throttle_bits_count", "process_memory_mb",
		"other_process_count" };

	return sb_builder_schema(s->b, "gpu", device, columns, 9);
}

static inline void synthetic_gpu_sample(struct synthetic *s, uint32_t schema, uint64_t t_ns, double memory_mb,
	double utilization, double power_w)
{
	double values[9] = { memory_mb, 24564, utilization, 60, power_w, 1900, 0, memory_mb, 0 };

	sb_builder_sample(s->b, schema, t_ns, values, 9);
}

/* A kernel on stream 7 that the main thread launches as it begins. */
static inline void synthetic_kernel(struct synthetic *s, const char *name, uint64_t t_ns, uint64_t took_ns)
{
	sb_builder_gpu(s->b, &(struct sb_builder_gpu){ .name = sb_builder_name(s->b, name, NULL),
				     .kind = SB_GPU_KERNEL,
				     .start_ns = t_ns,
				     .duration_ns = took_ns,
				     .launch_ns = t_ns,
				     .launch_tid = 1000,
				     .stream = 7 });
}

/* strobe traced the GPU from one time to the other. */
static inline void synthetic_gpu_trace(struct synthetic *s, uint64_t begin_ns, uint64_t end_ns)
{
	struct strobe_attr begin = { "gpu_trace_begin_ticks", STROBE_TYPE_INT,
		{ .i = (int64_t)sb_builder_ticks_at(s->b, begin_ns) } };
	struct strobe_attr end = { "gpu_trace_end_ticks", STROBE_TYPE_INT,
		{ .i = (int64_t)sb_builder_ticks_at(s->b, end_ns) } };

	sb_builder_meta(s->b, SB_META_RUN, &begin);
	sb_builder_meta(s->b, SB_META_RUN, &end);
}

static inline const struct sb_advice *finding(const struct sb_model *model, const char *id)
{
	for (size_t i = 0; i < model->advice.count; i++) {
		if (strcmp(model->advice.all[i].id, id) == 0)
			return &model->advice.all[i];
	}
	return NULL;
}

#define assert_near(a, b, within)                                             \
	do {                                                                  \
		double near_a = (a), near_b = (b);                            \
		if (!(fabs(near_a - near_b) <= (within)))                     \
			fail_msg("%s is %.9g, not %.9g", #a, near_a, near_b); \
	} while (0)

#endif
