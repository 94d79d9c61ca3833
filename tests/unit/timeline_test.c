/* The timeline of a made-up recording: which lanes, which zones, what is said. */
#include "timeline_bytes.h"

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
	sb_builder_event(b, 5000, "strobe.memory_moment", 0, NULL, 0);
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
	assert_int_equal(sb_jsondom_get(root, "marks")->size, 1); /* strobe's own event is none */
	/* each step once on its thread, once on the steps' lane */
	assert_int_equal(sb_jsondom_get(root, "details")->size, 6);
	sb_jsondom_free(doc);
	sb_buf_done(&bytes);
}

static const char *name_at(const struct sb_jsondom *root, int64_t number)
{
	for (sb_jsondom_each(name, sb_jsondom_get(root, "names")))
		if (!number--)
			return sb_jsondom_string(name, "");
	return "";
}

/* The same function in two threads: of the one beside the main thread it is below a frame of its own. */
static void waits_of_other_threads_are_below_one_frame(void **state)
{
	struct sb_builder *b;
	struct sb_buf bytes = { 0 };
	struct sb_jsondom_doc *doc;
	const struct sb_jsondom *stack;
	uint32_t wait, line = 359;

	(void)state;
	assert_int_equal(sb_builder_open(path, NULL, &b), 0);
	sb_builder_thread(b, 1000, NULL);
	sb_builder_thread(b, 77, NULL);
	wait = sb_builder_name(b, "threading.Condition.wait", NULL);
	sb_builder_code_file(b, wait, "/usr/lib/python3.11/threading.py");
	sb_builder_stack(b, 1000, 1000, 0, &wait, &line, 1);
	sb_builder_stack(b, 2000, 77, 0, &wait, &line, 1);
	assert_int_equal(sb_builder_close(b, 10000), 0);
	doc = timeline_of(&bytes);
	stack = sb_jsondom_children(sb_jsondom_get(sb_jsondom_root(doc), "stacks"));
	assert_int_equal(stack[0].size, 1);
	for (sb_jsondom_each(other, sb_jsondom_get(sb_jsondom_root(doc), "stacks")))
		stack = other;
	assert_int_equal(stack->size, 2);
	assert_string_equal(name_at(sb_jsondom_root(doc), sb_jsondom_int(sb_jsondom_children(stack), -1)),
		"threads that only wait");
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
		cmocka_unit_test(sampled_stacks_come_along),
		cmocka_unit_test(waits_of_other_threads_are_below_one_frame),
		cmocka_unit_test(cpu_time_and_memory_that_came_have_their_lane),
		cmocka_unit_test(spans_that_overlap_get_rows_of_their_own),
		cmocka_unit_test(spans_lie_above_what_they_hold_with_their_attributes),
		cmocka_unit_test(profiles_count_no_time_twice_and_the_gpu_apart),
		cmocka_unit_test(very_many_zones_stay_small_and_are_counted),
		cmocka_unit_test(an_empty_recording_has_an_empty_timeline),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
