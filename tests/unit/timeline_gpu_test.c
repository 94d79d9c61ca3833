/* The timeline's lanes of GPUs: streams, kernels, spans and waits. */
#include "timeline_bytes.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpus_stand_above_workers_and_kernels_know_their_launch),
		cmocka_unit_test(waits_for_a_gpu_have_a_lane_and_know_their_thread),
		cmocka_unit_test(kernels_have_shapes_and_families_and_copies_bytes),
		cmocka_unit_test(gpu_spans_lie_above_what_they_hold),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
