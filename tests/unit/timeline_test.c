/* The timeline of a made-up recording: which lanes, which zones, what is said. */
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

static struct sb_jsondom_doc *timeline_of(struct sb_buf *bytes)
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

static int64_t entries_of(const struct sb_jsondom *lane, int row)
{
	for (sb_jsondom_each(r, sb_jsondom_get(lane, "rows")))
		if (!row--)
			return sb_jsondom_int(sb_jsondom_get(r, "entries"), -1);
	return -1;
}

static void lanes_are_threads_streams_steps_and_blocks(void **state)
{
	struct sb_builder *b;
	struct sb_stream_writer *main_thread, *loader;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *root, *lane;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	main_thread = sb_builder_thread(b, 0, NULL);
	loader = sb_builder_thread(b, 77, "loader");
	sb_builder_begin(main_thread, 1000, sb_builder_name(b, "denoise", "4e"));
	for (uint64_t i = 0; i < 3; i++) {
		sb_builder_begin(main_thread, 2000 + i * 1000, sb_builder_name(b, "step", NULL));
		sb_builder_role(main_thread, STROBE_ROLE_STEP);
		sb_builder_attr(main_thread, SB_NAME_STEP, (int64_t)i);
		sb_builder_end(main_thread, 2900 + i * 1000, 0);
	}
	sb_builder_end(main_thread, 9000, 0);
	sb_builder_begin(loader, 100, sb_builder_name(b, "read", NULL));
	sb_builder_end(loader, 5100, 0);
	sb_builder_begin(loader, 6000, sb_builder_name(b, "cudaStreamSynchronize", NULL));
	sb_builder_end(loader, 6100, 0);
	sb_builder_gpu(b, &(struct sb_builder_gpu){ .name = sb_builder_name(b, "gemm", NULL),
				  .kind = SB_GPU_KERNEL,
				  .device = 1,
				  .start_ns = 3000,
				  .duration_ns = 500,
				  .launch_ns = UINT64_MAX,
				  .stream = 7 });
	sb_builder_gpu(b, &(struct sb_builder_gpu){ .name = sb_builder_name(b, "H2D", NULL),
				  .kind = SB_GPU_COPY_H2D,
				  .device = 1,
				  .start_ns = 1000,
				  .duration_ns = 500,
				  .launch_ns = UINT64_MAX,
				  .stream = 7,
				  .bytes = 9 });
	sb_builder_event(b, 4000, "ckpt", 0, NULL, 0);
	assert_int_equal(sb_builder_close(b, 10000), 0);

	doc = timeline_of(&bytes);
	root = sb_jsondom_root(doc);
	assert_int_equal(sb_jsondom_int(sb_jsondom_get(root, "end_ns"), 0), 10000);
	assert_int_equal(sb_jsondom_int(sb_jsondom_get(root, "zones"), 0), 8);
	lane = lane_named(root, "thread", "main");
	assert_non_null(lane);
	assert_int_equal(entries_of(lane, 0), 1);
	assert_int_equal(entries_of(lane, 1), 3);
	assert_int_equal(entries_of(lane_named(root, "thread", "loader"), 0), 2);
	assert_int_equal(entries_of(lane_named(root, "step", "Steps"), 0), 3);
	lane = lane_named(root, "stream", "GPU 1 stream 7");
	assert_int_equal(entries_of(lane, 0), 1);
	assert_int_equal(entries_of(lane, 1), 1);
	assert_null(lane_named(root, "block", NULL));
	assert_int_equal(sb_jsondom_get(root, "wait_names")->size, 1);
	assert_int_equal(sb_jsondom_get(root, "marks")->size, 1);
	/* each step once on its thread, once on the steps' lane */
	assert_int_equal(sb_jsondom_get(root, "details")->size, 6);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

static uint64_t number_at(const struct sb_buf *bytes, size_t *at)
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

static size_t body_at(const struct sb_buf *bytes, const struct sb_jsondom *object, const char *key)
{
	uint32_t size;

	memcpy(&size, bytes->data + 6, sizeof size);
	return HEAD + size + (size_t)sb_jsondom_int(sb_jsondom_get(object, key), 0);
}

/* Main thread, GPU, then the workers; a kernel knows the lane that launched it, and when. */
static void gpus_stand_above_workers_and_kernels_know_their_launch(void **state)
{
	static const char *const order[] = { "main", "GPU 0 stream 7", "loader" };
	struct sb_builder *b;
	struct sb_stream_writer *main_thread, *loader;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *root, *row;
	size_t at, n = 0;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	main_thread = sb_builder_thread(b, 0, NULL);
	loader = sb_builder_thread(b, 77, "loader");
	sb_builder_begin(main_thread, 1000, sb_builder_name(b, "denoise", NULL));
	sb_builder_end(main_thread, 2000, 0);
	sb_builder_begin(loader, 100, sb_builder_name(b, "read", NULL));
	sb_builder_end(loader, 9100, 0);
	for (uint64_t i = 0; i < 3; i++)
		sb_builder_gpu(b, &(struct sb_builder_gpu){ .name = sb_builder_name(b, "gemm", NULL),
					  .kind = SB_GPU_KERNEL,
					  .start_ns = 3000 + i * 1000,
					  .duration_ns = 500,
					  .launch_ns = i == 1 ? UINT64_MAX : 1500 + i * 100,
					  .launch_tid = i ? 77 : 5,
					  .stream = 7 });
	assert_int_equal(sb_builder_close(b, 10000), 0);
	doc = timeline_of(&bytes);
	root = sb_jsondom_root(doc);
	for (sb_jsondom_each(lane, sb_jsondom_get(root, "lanes")))
		assert_string_equal(sb_jsondom_string(sb_jsondom_get(lane, "name"), ""), order[n++]);
	row = sb_jsondom_children(sb_jsondom_get(lane_named(root, "stream", NULL), "rows"));
	at = body_at(&bytes, row, "launches_at");
	assert_int_equal(number_at(&bytes, &at), 1); /* a thread that recorded nothing */
	assert_int_equal(number_at(&bytes, &at), 1500 * 2);
	assert_int_equal(number_at(&bytes, &at), 0); /* not known */
	assert_int_equal(number_at(&bytes, &at), 2 + 2); /* the loader's lane */
	assert_int_equal(number_at(&bytes, &at), (5000 - 1700) * 2);
	assert_null(sb_jsondom_get(
		sb_jsondom_children(sb_jsondom_get(lane_named(root, "thread", "main"), "rows")),
		"launches_at"));
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

/* Two threads wait at the same time: each has its row, and the lane of the thread that called. */
static void waits_for_a_gpu_have_a_lane_and_know_their_thread(void **state)
{
	struct sb_builder *b;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *root, *lane;
	size_t at;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	for (uint32_t tid = 0; tid <= 77; tid += 77) {
		struct sb_stream_writer *thread = sb_builder_thread(b, tid, tid ? "loader" : NULL);

		sb_builder_begin(thread, 1000, sb_builder_name(b, "denoise", NULL));
		sb_builder_end(thread, 9000, 0);
	}
	for (uint64_t i = 0; i < 2; i++)
		sb_builder_gpu(b, &(struct sb_builder_gpu){ .name = sb_builder_name(b, "Stream Sync", NULL),
					  .kind = SB_GPU_SYNC,
					  .device = 1,
					  .start_ns = 3000 + i * 500,
					  .duration_ns = 2000,
					  .launch_ns = 3000 + i * 500,
					  .launch_tid = 77,
					  .stream = 7 });
	assert_int_equal(sb_builder_close(b, 10000), 0);
	doc = timeline_of(&bytes);
	root = sb_jsondom_root(doc);
	lane = lane_named(root, "wait", "Waits for GPU 1");
	assert_non_null(lane);
	assert_int_equal(sb_jsondom_int(sb_jsondom_get(lane, "device"), -1), 1);
	assert_int_equal(entries_of(lane, 0), 1);
	assert_int_equal(entries_of(lane, 1), 1);
	at = body_at(&bytes, sb_jsondom_children(sb_jsondom_get(lane, "rows")), "launches_at");
	assert_int_equal(number_at(&bytes, &at), 2 + 2); /* main, the waits, the loader */
	assert_int_equal(sb_jsondom_int(sb_jsondom_get(root, "zones"), -1), 2);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

/* Equal shapes are written once; a copy has its bytes; a kernel's name says its family. */
static void kernels_have_shapes_and_families_and_copies_bytes(void **state)
{
	struct sb_builder *b;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *root, *row;
	struct sb_builder_gpu work = {
		.kind = SB_GPU_KERNEL, .duration_ns = 500, .launch_ns = UINT64_MAX, .stream = 7
	};
	size_t at;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	work.name = sb_builder_name(b, "ampere_bf16_s16816gemm_bf16_128x64", NULL);
	for (uint64_t i = 0; i < 4; i++) {
		work.start_ns = 1000 + i * 1000;
		work.shape = (struct sb_gpu_shape){ { i == 3 ? 0 : 4 + (uint32_t)(i == 2), 12, 1 },
			{ 384, 1, 1 }, 168, 164308 };
		sb_builder_gpu(b, &work);
	}
	work = (struct sb_builder_gpu){ .name = sb_builder_name(b, "H2D", NULL),
		.kind = SB_GPU_COPY_H2D,
		.start_ns = 6000,
		.duration_ns = 100,
		.launch_ns = UINT64_MAX,
		.stream = 7,
		.bytes = 4096 };
	sb_builder_gpu(b, &work);
	assert_int_equal(sb_builder_close(b, 10000), 0);
	doc = timeline_of(&bytes);
	root = sb_jsondom_root(doc);
	assert_int_equal(sb_jsondom_get(root, "shapes")->size, 2);
	assert_int_equal(sb_jsondom_get(root, "kernels")->size, 2);
	row = sb_jsondom_children(sb_jsondom_get(root, "kernels"));
	assert_string_equal(sb_jsondom_children(row)->next->text, "GEMM");
	assert_string_equal(sb_jsondom_children(row->next)->next->text, "copies and fills");
	row = sb_jsondom_children(sb_jsondom_get(lane_named(root, "stream", NULL), "rows"));
	at = body_at(&bytes, row, "more_at");
	assert_int_equal(number_at(&bytes, &at), 1);
	assert_int_equal(number_at(&bytes, &at), 1);
	assert_int_equal(number_at(&bytes, &at), 2);
	assert_int_equal(number_at(&bytes, &at), 0); /* not known */
	at = 0;
	for (sb_jsondom_each(one, sb_jsondom_get(lane_named(root, "stream", NULL), "rows")))
		at = body_at(&bytes, one, "more_at"); /* of the copies */
	assert_int_equal(number_at(&bytes, &at), 4096 + 1);
	assert_null(sb_jsondom_get(root, "traced")); /* it does not say when it was traced */
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

/* Equal stacks are written once, the outermost function first. */
static void sampled_stacks_come_along(void **state)
{
	struct sb_builder *b;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *root, *names, *frame;
	uint32_t deep[2], lines[2] = { 7, 3 };
	int64_t first;

	(void)state;
	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	sb_builder_thread(b, 0, NULL);
	deep[0] = sb_builder_name(b, "inner", NULL);
	deep[1] = sb_builder_name(b, "outer", NULL);
	for (uint64_t i = 0; i < 3; i++)
		sb_builder_stack(b, 1000 + i * 1000, 0, 0, deep, lines, 2);
	sb_builder_stack(b, 5000, 0, 0, deep + 1, lines, 1);
	assert_int_equal(sb_builder_close(b, 10000), 0);
	doc = timeline_of(&bytes);
	root = sb_jsondom_root(doc);
	assert_int_equal(sb_jsondom_get(root, "samples")->size, 4);
	assert_int_equal(sb_jsondom_get(root, "stacks")->size, 2);
	frame = sb_jsondom_children(sb_jsondom_children(sb_jsondom_get(root, "stacks")));
	first = sb_jsondom_int(frame, -1);
	names = sb_jsondom_children(sb_jsondom_get(root, "names"));
	for (sb_jsondom_each(name, sb_jsondom_get(root, "names")))
		if (!first--)
			names = name;
	assert_string_equal(sb_jsondom_string(names, ""), "outer");
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

static int64_t number_in(const struct sb_jsondom *list, int at)
{
	for (sb_jsondom_each(one, list))
		if (!at--)
			return sb_jsondom_int(one, -99);
	return -99;
}

/* What is shared out to zones: CPU time of a thread between two looks, memory between two readings. */
static void cpu_time_and_memory_that_came_have_their_lane(void **state)
{
	static const uint64_t held[] = { 1000, 5000, 3000, 3500 };
	struct sb_builder_sample sample = { .weight_us = 50, .cpu_us_and_one = 31 };
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *memory, *first;
	struct sb_stream_writer *w;
	struct sb_builder *b;
	uint32_t name;

	(void)state;
	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	name = sb_builder_name(b, "work", NULL);
	sb_builder_begin(w, 100, name);
	sb_builder_end(w, 9000, 0);
	sb_builder_stack_sample(b, 1000, &sample, &name, NULL, 1);
	for (uint64_t i = 0; i < 4; i++)
		sb_builder_snapshot(b, 1000 + i * 1000, "any", 0, (int64_t)held[i], -1, -1);
	assert_int_equal(sb_builder_close(b, 10000), 0);
	doc = timeline_of(&bytes);
	first = sb_jsondom_children(sb_jsondom_get(sb_jsondom_root(doc), "samples"));
	assert_int_equal(number_in(first, 2), 50000);
	assert_int_equal(number_in(first, 3), 30000);
	memory = sb_jsondom_get(sb_jsondom_root(doc), "memory");
	assert_int_equal(memory->size, 2); /* what was freed is no rise */
	first = sb_jsondom_children(memory);
	assert_int_equal(number_in(first, 0), 1000);
	assert_int_equal(number_in(first, 1), 2000);
	assert_int_equal(number_in(first, 2), 0); /* the only lane */
	assert_int_equal(number_in(first, 3), 0);
	assert_int_equal(number_in(first, 4), 4000);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

static void spans_that_overlap_get_rows_of_their_own(void **state)
{
	struct sb_builder *b;
	struct sb_stream_writer *w;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *lane;
	uint32_t name;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	name = sb_builder_name(b, "request", NULL);
	sb_builder_span(w, name, 1, 1000, 5000, 0, NULL, 0);
	sb_builder_span(w, name, 2, 2000, 5000, 0, NULL, 0);
	sb_builder_span(w, name, 3, 6500, 1000, 0, NULL, 0);
	assert_int_equal(sb_builder_close(b, 10000), 0);
	doc = timeline_of(&bytes);
	lane = lane_named(sb_jsondom_root(doc), "track", NULL);
	assert_non_null(lane);
	assert_int_equal(entries_of(lane, 0), 2);
	assert_int_equal(entries_of(lane, 1), 1);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

static void gpu_span(struct sb_builder *b, const char *name, uint64_t start_ns, uint64_t duration_ns)
{
	sb_builder_gpu(b, &(struct sb_builder_gpu){ .name = sb_builder_name(b, name, NULL),
				  .kind = SB_GPU_ZONE,
				  .start_ns = start_ns,
				  .duration_ns = duration_ns,
				  .launch_ns = UINT64_MAX,
				  .stream = 7 });
}

/* As a device reports them: the inner ones are complete first, and where they
 * begin is known to a few µs, so that the second seems to begin inside the first. */
static void gpu_spans_lie_above_what_they_hold(void **state)
{
	struct sb_builder *b;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *root, *lane;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	gpu_span(b, "attention", 120000, 60000);
	gpu_span(b, "step", 110000, 100000);
	gpu_span(b, "step", 206000, 100000);
	gpu_span(b, "step", 302000, 100000);
	gpu_span(b, "denoise", 100000, 310000);
	gpu_span(b, "norm", 501000, 6000); /* shorter than what is not known: inside all the same */
	gpu_span(b, "decode", 500000, 8000);
	sb_builder_gpu(b, &(struct sb_builder_gpu){ .name = sb_builder_name(b, "gemm", NULL),
				  .kind = SB_GPU_KERNEL,
				  .start_ns = 120000,
				  .duration_ns = 500,
				  .launch_ns = UINT64_MAX,
				  .stream = 7 });
	assert_int_equal(sb_builder_close(b, 1000000), 0);
	doc = timeline_of(&bytes);
	root = sb_jsondom_root(doc);
	lane = sb_jsondom_children(sb_jsondom_get(root, "lanes"));
	assert_string_equal(sb_jsondom_string(sb_jsondom_get(lane, "kind"), ""), "span");
	assert_ptr_equal(lane, lane_named(root, "span", "GPU 0 stream 7 spans"));
	assert_int_equal(sb_jsondom_get(lane, "rows")->size, 3);
	assert_int_equal(entries_of(lane, 0), 2); /* denoise, decode */
	assert_int_equal(entries_of(lane, 1), 4); /* the steps, norm */
	assert_int_equal(entries_of(lane, 2), 1);
	assert_non_null(lane_named(root, "stream", "GPU 0 stream 7"));
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

static void spans_lie_above_what_they_hold_with_their_attributes(void **state)
{
	struct sb_builder *b;
	struct sb_stream_writer *w;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *root, *lane, *detail;
	struct strobe_attr frames = { .key = "frames", .type = STROBE_TYPE_INT, .value.i = 16 };
	uint32_t name;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	name = sb_builder_name(b, "request", NULL);
	sb_builder_span(w, name, 2, 2000, 1000, 0, &frames, 1);
	sb_builder_span(w, name, 1, 1000, 5000, 0, NULL, 0);
	assert_int_equal(sb_builder_close(b, 10000), 0);
	doc = timeline_of(&bytes);
	root = sb_jsondom_root(doc);
	lane = lane_named(root, "track", NULL);
	assert_int_equal(entries_of(lane, 0), 1);
	assert_int_equal(entries_of(lane, 1), 1);
	detail = sb_jsondom_children(sb_jsondom_children(sb_jsondom_get(root, "details")));
	assert_int_equal(sb_jsondom_int(detail->next, -1), 1);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

/* The time of the first name of a profile whose zones all lie in one bin. */
static uint64_t profiled_ns(const struct sb_buf *bytes, const struct sb_jsondom *profile)
{
	size_t at = body_at(bytes, profile, "at");

	assert_int_equal(number_at(bytes, &at), 1); /* bins */
	number_at(bytes, &at); /* where */
	assert_int_equal(number_at(bytes, &at), 1); /* zones */
	return number_at(bytes, &at);
}

static void profiles_count_no_time_twice_and_the_gpu_apart(void **state)
{
	struct sb_builder *b;
	struct sb_stream_writer *w;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *root;
	uint32_t name;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	name = sb_builder_name(b, "denoise", NULL);
	sb_builder_begin(w, 1000, name);
	sb_builder_begin(w, 1100, name);
	sb_builder_end(w, 1700, 0);
	sb_builder_end(w, 1800, 0);
	gpu_span(b, "denoise", 1200, 500);
	sb_builder_gpu(b, &(struct sb_builder_gpu){ .name = name,
				  .kind = SB_GPU_KERNEL,
				  .start_ns = 1300,
				  .duration_ns = 70,
				  .launch_ns = UINT64_MAX,
				  .stream = 7 });
	assert_int_equal(sb_builder_close(b, 10000000), 0);
	doc = timeline_of(&bytes);
	root = sb_jsondom_root(doc);
	assert_int_equal(profiled_ns(&bytes, sb_jsondom_get(root, "profile")), 800);
	assert_int_equal(profiled_ns(&bytes, sb_jsondom_get(root, "gpu_profile")), 70);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

static void very_many_zones_stay_small_and_are_counted(void **state)
{
	struct sb_builder *b;
	struct sb_stream_writer *w;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *root, *row;
	uint32_t name;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	name = sb_builder_name(b, "tiny", NULL);
	for (uint64_t i = 0; i < 1200000; i++) {
		sb_builder_begin(w, 1000 + i * 100, name);
		sb_builder_end(w, 1000 + i * 100 + 60, name);
	}
	assert_int_equal(sb_builder_close(b, 130000000), 0);
	doc = timeline_of(&bytes);
	root = sb_jsondom_root(doc);
	assert_int_equal(sb_jsondom_int(sb_jsondom_get(root, "zones"), 0), 1200000);
	row = sb_jsondom_children(sb_jsondom_get(lane_named(root, "thread", "main"), "rows"));
	assert_true(sb_jsondom_int(sb_jsondom_get(row, "merge_ns"), 0) > 0);
	assert_true(sb_jsondom_int(sb_jsondom_get(row, "entries"), 0) < 1000000);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

static void an_empty_recording_has_an_empty_timeline(void **state)
{
	struct sb_builder *b;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;

	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	assert_int_equal(sb_builder_close(b, 1000), 0);
	doc = timeline_of(&bytes);
	assert_int_equal(sb_jsondom_get(sb_jsondom_root(doc), "lanes")->size, 0);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_are_threads_streams_steps_and_blocks),
		cmocka_unit_test(gpus_stand_above_workers_and_kernels_know_their_launch),
		cmocka_unit_test(waits_for_a_gpu_have_a_lane_and_know_their_thread),
		cmocka_unit_test(kernels_have_shapes_and_families_and_copies_bytes),
		cmocka_unit_test(sampled_stacks_come_along),
		cmocka_unit_test(cpu_time_and_memory_that_came_have_their_lane),
		cmocka_unit_test(spans_that_overlap_get_rows_of_their_own),
		cmocka_unit_test(gpu_spans_lie_above_what_they_hold),
		cmocka_unit_test(spans_lie_above_what_they_hold_with_their_attributes),
		cmocka_unit_test(profiles_count_no_time_twice_and_the_gpu_apart),
		cmocka_unit_test(very_many_zones_stay_small_and_are_counted),
		cmocka_unit_test(an_empty_recording_has_an_empty_timeline),
	};
	int fd = mkstemps(path, 7), failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
