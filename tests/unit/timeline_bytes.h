/* The timeline of a made-up recording, taken apart: lanes, rows, numbers. */
#ifndef SB_TESTS_TIMELINE_BYTES_H
#define SB_TESTS_TIMELINE_BYTES_H

#include "report/timeline/timeline.h"
#include "base/jsondom.h"
#include "format/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define HEAD 10 /* magic and size */

static char path[] = "/tmp/strobe-timeline-test-XXXXXX.strobe";

/* Around a group of tests. */
static inline int make_path(void **state)
{
	int fd = mkstemps(path, 7);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static inline int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static inline struct sb_jsondom_doc *timeline_of(struct sb_buf *bytes)
{
	struct sb_jsondom_doc *doc;
	struct sb_run *run;
	uint32_t size;

	assert_int_equal(sb_run_open(path, NULL, &run), 0);
	assert_int_equal(sb_timeline_write(run, bytes), 0);
	sb_run_close(run);
	assert_memory_equal(bytes->data, "SBTL1\n", 6);
	memcpy(&size, bytes->data + 6, sizeof size);
	assert_true(size < bytes->size);
	assert_int_equal(sb_jsondom_parse("header", bytes->data + HEAD, size, &doc), 0);
	return doc;
}

static const struct sb_jsondom *lane_named(const struct sb_jsondom *root, const char *kind, const char *name)
{
	for (sb_jsondom_each(lane, sb_jsondom_get(root, "lanes")))
		if (!strcmp(sb_jsondom_string(sb_jsondom_get(lane, "kind"), ""), kind) &&
			(!name || !strcmp(sb_jsondom_string(sb_jsondom_get(lane, "name"), ""), name)))
			return lane;
	return NULL;
}

static inline int64_t entries_of(const struct sb_jsondom *lane, int row)
{
	for (sb_jsondom_each(r, sb_jsondom_get(lane, "rows")))
		if (!row--)
			return sb_jsondom_int(sb_jsondom_get(r, "entries"), -1);
	return -1;
}

static inline uint64_t number_at(const struct sb_buf *bytes, size_t *at)
{
	uint64_t v = 0;
	unsigned char byte;

	for (unsigned shift = 0;; shift += 7) {
		byte = (unsigned char)bytes->data[(*at)++];
		v |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return v;
	}
}

static inline size_t body_at(const struct sb_buf *bytes, const struct sb_jsondom *object, const char *key)
{
	uint32_t size;

	memcpy(&size, bytes->data + 6, sizeof size);
	return HEAD + size + (size_t)sb_jsondom_int(sb_jsondom_get(object, key), 0);
}

static inline void gpu_span(struct sb_builder *b, const char *name, uint64_t start_ns, uint64_t duration_ns)
{
	sb_builder_gpu(b, &(struct sb_builder_gpu){ .name = sb_builder_name(b, name, NULL),
				  .kind = SB_GPU_ZONE,
				  .start_ns = start_ns,
				  .duration_ns = duration_ns,
				  .launch_ns = UINT64_MAX,
				  .stream = 7 });
}

#endif
