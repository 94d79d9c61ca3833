/* A small recording on disk, its bytes, and how much of it can be read. */
#ifndef SB_TESTS_SMALL_RECORDING_H
#define SB_TESTS_SMALL_RECORDING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "root_folder.h"
#include "synthetic.h"
#include "report/build.h"

#include <fcntl.h>
#include <sys/stat.h>

/* Two threads, a few hundred zones, one of everything in the KEEP stream. */
static inline void write_small(const char *path)
{
	struct sb_builder_options o = { .rank = -1, .local_rank = -1, .chunk_bytes = 4096 };
	struct strobe_attr attr = { .key = "path", .type = STROBE_TYPE_STRING, .value.s = "/data/ckpt" };
	const char *columns[] = { "used_bytes" };
	struct sb_builder *b;
	struct sb_stream_writer *w;
	double value = 5;
	uint32_t a, c, schema;

	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	a = sb_builder_name(b, "outer", NULL);
	c = sb_builder_name(b, "inner", "4c");
	for (uint32_t tid = 1000; tid < 1002; tid++) {
		w = sb_builder_thread(b, tid, "worker");
		for (uint64_t i = 0; i < 150; i++) {
			sb_builder_begin(w, i * 100, a);
			sb_builder_attr(w, SB_NAME_FRAMES, 2);
			sb_builder_begin(w, i * 100 + 10, c);
			sb_builder_end(w, i * 100 + 50, c);
			sb_builder_end(w, i * 100 + 90, 0);
		}
	}
	sb_builder_event(b, 500, "checkpoint", 0, &attr, 1);
	schema = sb_builder_schema(b, "memory", -1, columns, 1);
	sb_builder_sample(b, schema, 600, &value, 1);
	sb_builder_snapshot(b, 700, "after_load", 0, 1, 2, 3);
	assert_int_equal(sb_builder_close(b, 20000), 0);
}

static inline void read_bytes(const char *path, struct sb_buf *b)
{
	assert_int_equal(sb_buf_read_file(b, path, 1 << 24), 0);
}

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static inline void count_zone(void *self, const struct sb_zone *z)
{
	assert_true(z->end_ns >= z->begin_ns);
	++*(uint64_t *)self;
}

/* Zones of a file; -1 when it does not open. Damage comes back in bytes. */
static inline int64_t zones_of(const char *path, uint64_t *out_damaged_bytes)
{
	uint64_t zones = 0;
	struct sb_visitor v = { .self = &zones, .roles = SB_EVERY_ZONE, .zone = count_zone };
	struct sb_run *run;

	if (sb_run_open(path, NULL, &run))
		return -1;
	assert_int_equal(sb_run_visit(run, &v, 1), 0);
	*out_damaged_bytes = 0;
	for (int i = 0; i < SB_DAMAGE_KINDS; i++)
		*out_damaged_bytes += run->processes[0].reader->damage[i].bytes;
	sb_run_close(run);
	return (int64_t)zones;
}

/* Zones of a small recording in which another word stands in its first chunk, so many words from its begin. */
static inline int64_t zones_with_word(size_t at, uint64_t word, uint64_t *out_damaged_bytes)
{
	struct sb_buf b = { 0 };

	write_small(in_root("a.strobe"));
	read_bytes(in_root("a.strobe"), &b);
	memcpy(b.data + SB_FILE_HEADER_BYTES + SB_CHUNK_HEADER_BYTES + at * sizeof word, &word, sizeof word);
	write_bytes(in_root("b.strobe"), b.data, b.size);
	sb_buf_done(&b);
	return zones_of(in_root("b.strobe"), out_damaged_bytes);
}

#define T(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

#endif
