/* Writes a .strobe file from code, with times the caller makes up: synthetic
 * recordings for tests, and imports. Not the recorder: plain file writes, one
 * thread, no mapping. Memory is one chunk per thread plus the names.
 *
 * Every t_ns is nanoseconds since the session's start. Failures stick: check
 * sb_builder_close() once. */
#ifndef SB_FORMAT_BUILDER_H
#define SB_FORMAT_BUILDER_H

#include "format/gpu_shape.h"
#include "format/wire.h"
#include "strobe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_builder;
struct sb_stream_writer;

struct sb_builder_options {
	const char *name; /* NULL: "synthetic" */
	const char *host; /* NULL: "synthetic" */
	uint32_t chunk_bytes; /* 0: the default; 4096 for small files */
	uint32_t pid, ppid; /* 0: 1000, 1 */
	uint32_t main_tid; /* 0: pid */
	int32_t rank; /* as in the file: -1 none; see SB_BUILDER_DEFAULTS */
	int32_t local_rank;
	int32_t world_size;
	uint64_t start_mono_ns; /* 0: 1 s */
	uint64_t start_real_ns; /* 0: 2026-01-01 00:00:00 UTC */
	uint64_t session; /* the uuid's low bytes: files of one run share it */
	enum sb_clock_kind clock_kind; /* 0: SB_CLOCK_SYNTHETIC */
	uint64_t clock_hz; /* 0: 1e9; t_ns are then ticks at this rate */
};
#define SB_BUILDER_DEFAULTS                  \
	{                                    \
		.rank = -1, .local_rank = -1 \
	}

/* opts may be NULL. */
int sb_builder_open(const char *path, const struct sb_builder_options *opts, struct sb_builder **out_builder);
/* Writes what is buffered and the end of the session; frees. Takes NULL. */
int sb_builder_close(struct sb_builder *b, uint64_t end_ns);
/* Leaves the file as a killed process would: everything written so far, without an end. */
int sb_builder_abandon(struct sb_builder *b);
/* Closes and removes the file. */
void sb_builder_discard(struct sb_builder *b);

/* The id of a name; code may be NULL. The same pair has the same id. */
uint32_t sb_builder_name(struct sb_builder *b, const char *name, const char *code);
/* A new line of nested zones that is not a thread; for sb_builder_switch(). */
uint32_t sb_builder_track(struct sb_builder *b, const char *name);

/* A writer for a thread; valid until the builder closes. tid 0: the main
 * thread. A second call with the same tid is a second writer of that thread. */
struct sb_stream_writer *sb_builder_thread(struct sb_builder *b, uint32_t tid, const char *name);
/* Writes a thread's chunk and frees the writer: for imports with very many threads. */
void sb_builder_thread_done(struct sb_stream_writer *w);

/* ---- zones: names are ids from sb_builder_name() ---- */
void sb_builder_begin(struct sb_stream_writer *w, uint64_t t_ns, uint32_t name);
void sb_builder_end(struct sb_stream_writer *w, uint64_t t_ns, uint32_t name); /* 0: innermost */
void sb_builder_attr(struct sb_stream_writer *w, uint32_t key, int64_t value);
void sb_builder_attr_float(struct sb_stream_writer *w, uint32_t key, double value);
void sb_builder_attr_string(struct sb_stream_writer *w, uint32_t key, const char *value);
void sb_builder_role(struct sb_stream_writer *w, enum strobe_role role);
void sb_builder_count(struct sb_stream_writer *w, uint32_t counter, int64_t delta);
void sb_builder_mark(struct sb_stream_writer *w, uint64_t t_ns, uint32_t name);
void sb_builder_switch(struct sb_stream_writer *w, uint64_t t_ns, uint32_t track);
void sb_builder_span(struct sb_stream_writer *w, uint32_t name, uint64_t id, uint64_t start_ns,
	uint64_t duration_ns, uint32_t track, const struct strobe_attr *attrs, size_t attr_count);
void sb_builder_span_open(
	struct sb_stream_writer *w, uint32_t name, uint64_t id, uint64_t start_ns, uint32_t track);

/* ---- GPU ---- */
struct sb_builder_gpu {
	uint32_t name;
	enum sb_gpu_kind kind;
	uint32_t device;
	uint32_t flags;
	uint64_t start_ns, duration_ns;
	uint64_t launch_ns; /* UINT64_MAX: not known */
	uint32_t stream;
	uint32_t launch_tid; /* 0: not known */
	uint64_t bytes; /* copies and sets */
	struct sb_gpu_shape shape; /* kernels */
};
void sb_builder_gpu(struct sb_builder *b, const struct sb_builder_gpu *g);

/* ---- everything else ---- */
uint32_t sb_builder_schema(struct sb_builder *b, const char *source, int device, const char *const *columns,
	uint32_t column_count);
void sb_builder_sample(
	struct sb_builder *b, uint32_t schema, uint64_t t_ns, const double *values, uint32_t count);
void sb_builder_snapshot(struct sb_builder *b, uint64_t t_ns, const char *label, int device,
	int64_t allocated, int64_t reserved, int64_t peak);
void sb_builder_event(struct sb_builder *b, uint64_t t_ns, const char *name, uint32_t track,
	const struct strobe_attr *attrs, size_t attr_count);
void sb_builder_skip(
	struct sb_builder *b, uint64_t t_ns, const char *name, const char *code, const char *reason);
void sb_builder_cache(struct sb_builder *b, uint64_t t_ns, const struct strobe_cache_event *e);
void sb_builder_stream(struct sb_builder *b, uint64_t t_ns, const struct strobe_batch *batch);
void sb_builder_model(struct sb_builder *b, uint64_t t_ns, const char *name, int64_t parameters,
	const char *type, int64_t bytes);
void sb_builder_alloc(
	struct sb_builder *b, uint64_t t_ns, const char *allocator, int64_t bytes, const char *context);
void sb_builder_gauge(struct sb_builder *b, uint64_t t_ns, const char *name, double value);
void sb_builder_meta(struct sb_builder *b, enum sb_meta_scope scope, const struct strobe_attr *attr);
void sb_builder_meta_string(
	struct sb_builder *b, enum sb_meta_scope scope, const char *key, const char *value);
void sb_builder_lost(struct sb_builder *b, enum sb_lost_reason reason, uint64_t count, uint64_t first_ns,
	uint64_t last_ns);
void sb_builder_anchor(
	struct sb_builder *b, uint64_t ticks, uint64_t mono_ns, uint64_t real_ns, uint64_t width_ns);
void sb_builder_process(struct sb_builder *b, uint64_t t_ns, uint32_t pid, uint32_t ppid, int started,
	int64_t status, const char *command);
void sb_builder_stack(struct sb_builder *b, uint64_t t_ns, uint32_t tid, uint32_t track,
	const uint32_t *names, const uint32_t *lines, uint32_t frame_count);
struct sb_builder_sample {
	uint32_t tid, track, weight_us; /* weight 0: not known */
	bool native;
	uint32_t cpu_us_and_one; /* CPU time + 1; 0: not known */
	uint32_t beside_gil; /* SB_STACK_STOOD, SB_STACK_RAN; 0: not known */
};
void sb_builder_stack_sample(struct sb_builder *b, uint64_t t_ns, const struct sb_builder_sample *sample,
	const uint32_t *names, const uint32_t *lines, uint32_t frame_count); /* leaf first */
void sb_builder_code_file(struct sb_builder *b, uint32_t function_name, const char *file);

/* Any LONG record into KEEP, e.g. of a type this version does not know. */
void sb_builder_record(
	struct sb_builder *b, uint32_t type, uint64_t aux, const uint64_t *payload, uint32_t words);
/* A whole chunk, for tests of digests and of damage; words follow the header. */
void sb_builder_chunk(
	struct sb_builder *b, const struct sb_chunk_header *header, const void *bytes, size_t size);

#endif
