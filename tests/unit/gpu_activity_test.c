/* The kernel trace against a CUPTI that does what the test says. */
#include "gpu_trace.h"

/* In a process of its own: a library once loaded stays. */
static int load_with_version(uint32_t version)
{
	int status;
	pid_t child = fork();

	if (!child) {
		fake = ((fake_cupti_function)dlsym(dlopen(FAKE, RTLD_NOW), "fake_cupti"))();
		fake->reset();
		fake->set_version(version);
		_exit(-sb_cupti_load(&cupti));
	}
	waitpid(child, &status, 0);
	return -WEXITSTATUS(status);
}

static void a_result_has_a_name_without_asking_the_library(void **state)
{
	assert_string_equal(sb_cupti_error(15), "CUPTI_ERROR_NOT_INITIALIZED");
	assert_string_equal(
		sb_cupti_error(CUPTI_MULTIPLE_SUBSCRIBERS), "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
	assert_string_equal(sb_cupti_error(-7), "unknown error");
}

static void unknown_versions_are_refused(void **state)
{
	(void)state;
	setenv("STROBE_CUPTI_PATH", FAKE, 1);
	assert_int_equal(load_with_version(130001), 0);
	assert_int_equal(load_with_version(120400), 0);
	assert_int_equal(load_with_version(26), 0);
	assert_int_equal(load_with_version(12), STROBE_ENOTSUP);
	assert_int_equal(load_with_version(140000), STROBE_ENOTSUP);
	setenv("STROBE_CUPTI_PATH", "/nowhere/libcupti.so", 1);
	assert_int_equal(load_with_version(130000), STROBE_ENOENT);
}

static uint64_t us_of(uint64_t ticks)
{
	return (uint64_t)((double)ticks * 1e6 / (double)sb_clock_hz() + 0.5);
}

static void kernel_carries_the_call_that_launched_it(void **state)
{
	uint64_t before, after, t;
	uint32_t id;

	(void)state;
	start();
	before = sb_clock_ticks();
	id = fake->launch();
	after = sb_clock_ticks();
	t = fake->now();
	fake->kernel(id, t, t + 300000, "flash_fwd_kernel");
	sb_activity_drain();
	assert_int_equal(written_count, 1);
	assert_int_equal(written[0].words, 4); /* with its head: 40 bytes */
	assert_int_equal(written_kind(&written[0]), SB_GPU_KERNEL);
	assert_int_equal(written_name(&written[0]), sb_name_intern("flash_fwd_kernel", NULL));
	assert_true(us_of(written[0].payload[1]) >= 290 && us_of(written[0].payload[1]) <= 310);
	assert_true(written[0].payload[2] >= before && written[0].payload[2] <= after);
	assert_int_equal(written_stream(&written[0]), 7);
	assert_int_equal((uint32_t)written[0].payload[3], syscall(SYS_gettid));
	sb_activity_stop(NULL);
}

static void kernels_tell_the_shape_of_their_launch(void **state)
{
	uint64_t t;

	(void)state;
	start();
	t = fake->now();
	fake->sized(64, 256, 32); /* a grid without an extent is none */
	fake->shape(96 << 10, 4);
	fake->kernel(fake->launch(), t, t + 1000, "tiles");
	fake->shape(0, 1);
	fake->kernel(fake->launch(), t, t + 1000, "flat");
	fake->shape(1024, 1);
	fake->kernel(fake->launch(), t, t + 1000, "neither");
	fake->shape(0, 0);
	fake->sized(0, 0, 0);
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 3);
	assert_int_equal(written_flags(&written[0]), SB_GPU_TILED);
	assert_int_equal(written_flags(&written[1]), SB_GPU_FLAT);
	assert_int_equal(written_flags(&written[2]), 0);
}

static void kernel_of_shape(uint32_t shared_bytes, int32_t blocks)
{
	uint64_t t = fake->now();

	fake->shape(shared_bytes, 12);
	fake->sized(blocks, 384, 168);
	fake->kernel(fake->launch(), t, t + 1000, "gemm");
}

/* 48 bytes with the record's head: the same shape comes again and again, and is a name. */
static void kernels_keep_grid_block_registers_and_shared_memory(void **state)
{
	struct sb_gpu_shape shape = { { 4, 12, 1 }, { 384, 1, 1 }, 168, 164308 }, back = { 0 };
	uint64_t words[2];
	char name[SB_GPU_SHAPE_TEXT];

	(void)state;
	start();
	kernel_of_shape(164308, 4);
	fake->shape(0, 0);
	fake->sized(0, 0, 0);
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 1);
	assert_int_equal(written[0].words, 5);
	sb_gpu_shape_pack(&shape, words);
	sb_gpu_shape_name(words, name);
	assert_int_equal(written[0].payload[4], sb_name_intern(name, NULL));
	assert_true(sb_gpu_shape_of_name(name, &back));
	assert_memory_equal(&back, &shape, sizeof shape);
}

static void more_shapes_than_names_are_kept_as_they_are(void **state)
{
	(void)state;
	for (int32_t i = 1; i <= 2000; i++) {
		uint64_t words[2];
		uint32_t name;

		sb_gpu_shape_pack(&(struct sb_gpu_shape){ { (uint32_t)i, 1, 1 }, { 32, 1, 1 }, 8, 0 }, words);
		name = sb_kernel_shape(words);
		assert_int_equal(name, sb_kernel_shape(words));
		assert_true(name || i > 700);
	}
	start();
	kernel_of_shape(7, 77);
	fake->shape(0, 0);
	fake->sized(0, 0, 0);
	sb_activity_stop(NULL);
	assert_int_equal(written[0].words, 6);
	assert_int_equal(sb_gpu_shape_unpack(written[0].payload + 4).grid[0], 77);
}

static void copies_have_direction_bytes_and_kind_of_memory(void **state)
{
	uint64_t t;

	(void)state;
	start();
	t = fake->now();
	fake->copy(fake->launch(), t, t + 1000, CUPTI_COPY_HTOD, CUPTI_MEMORY_PAGEABLE, CUPTI_MEMORY_DEVICE,
		1 << 20);
	fake->copy(
		fake->launch(), t, t + 1000, CUPTI_COPY_DTOH, CUPTI_MEMORY_DEVICE, CUPTI_MEMORY_PINNED, 77);
	fake->copy(fake->launch(), t, t + 1000, CUPTI_COPY_DTOD, CUPTI_MEMORY_DEVICE, CUPTI_MEMORY_DEVICE, 5);
	fake->memset(fake->launch(), t, t + 1000, 4096);
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 4);
	assert_int_equal(written_kind(&written[0]), SB_GPU_COPY_H2D);
	assert_int_equal(written_flags(&written[0]), SB_GPU_PAGEABLE);
	assert_int_equal(written_device(&written[0]), 2);
	assert_int_equal(written[0].words, 5);
	assert_int_equal(written[0].payload[4], 1 << 20);
	assert_int_equal(written_kind(&written[1]), SB_GPU_COPY_D2H);
	assert_int_equal(written_flags(&written[1]), SB_GPU_PINNED);
	assert_int_equal(written_kind(&written[2]), SB_GPU_COPY_D2D);
	assert_int_equal(written_flags(&written[2]), 0);
	assert_int_equal(written_kind(&written[3]), SB_GPU_MEMSET);
	assert_int_equal(written[3].payload[4], 4096);
}

static uint64_t waited_from, waited_to;

static void note_the_time(void)
{
	waited_from = waited_to = sb_clock_ticks();
}

/* torch calls the runtime, and that calls the driver: one wait, of the thread that made the call. */
static void waits_for_the_gpu_are_recorded_once(void **state)
{
	uint64_t before, after;

	(void)state;
	start();
	before = sb_clock_ticks();
	fake->synchronize(131, 126, NULL, note_the_time); /* cudaStreamSynchronize */
	after = sb_clock_ticks();
	fake->synchronize(165, 800, NULL, NULL); /* cudaDeviceSynchronize */
	fake->synchronize(0, 121, NULL, NULL); /* cuEventSynchronize, from C */
	sb_activity_stop(NULL);
	assert_int_equal(written_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(written_kind(&written[i]), SB_GPU_SYNC);
		assert_int_equal(written[i].words, 4);
		assert_int_equal(written_device(&written[i]), 3);
		assert_int_equal((uint32_t)written[i].payload[3], syscall(SYS_gettid));
		assert_int_equal(written[i].payload[0], written[i].payload[2]);
	}
	assert_int_equal(written_name(&written[0]), sb_name_intern("Stream Sync", NULL));
	assert_int_equal(written_name(&written[1]), sb_name_intern("Context Sync", NULL));
	assert_int_equal(written_name(&written[2]), sb_name_intern("Event Sync", NULL));
	assert_int_equal(written_stream(&written[0]), 7);
	assert_int_equal(written_stream(&written[1]), 0);
	assert_true(written[0].payload[0] >= before && written[0].payload[0] <= waited_from);
	assert_true(written[0].payload[0] + written[0].payload[1] >= waited_to);
	assert_true(written[0].payload[0] + written[0].payload[1] <= after);
	assert_int_equal(sb_activity_counts().unattributed, 0);
}

static void everything_is_let_go_of_afterwards(void **state)
{
	uint64_t t;

	(void)state;
	start();
	assert_true(fake->enabled(CUPTI_KIND_CONCURRENT_KERNEL));
	assert_true(fake->subscribed());
	t = fake->now();
	fake->kernel(fake->launch(), t, t + 1, "k");
	sb_activity_stop(NULL);
	assert_false(fake->enabled(CUPTI_KIND_CONCURRENT_KERNEL));
	assert_false(fake->enabled(CUPTI_KIND_MEMCPY));
	assert_false(fake->enabled(CUPTI_KIND_MEMSET));
	assert_false(fake->subscribed());
	assert_int_equal(fake->held(), 0);
	assert_int_equal(written_count, 1);
}

static void launch_one_more(void)
{
	uint64_t t = fake->now();

	fake->on(NULL, NULL);
	fake->kernel(fake->launch(), t, t + 1, "between the last look and the end");
}

/* The program goes on launching while a trace ends; a buffer that stayed would take the next client's records. */
static void no_buffer_with_records_is_left_behind(void **state)
{
	(void)state;
	start();
	fake->on("cuptiActivityDisable", launch_one_more);
	sb_activity_stop(NULL);
	assert_false(fake->enabled(CUPTI_KIND_CONCURRENT_KERNEL));
	assert_int_equal(fake->held(), 0);
	assert_int_equal(written_count, 0);
}

static void runtime_records_are_never_enabled(void **state)
{
	(void)state;
	start();
	assert_false(fake->enabled(4)); /* DRIVER */
	assert_false(fake->enabled(5)); /* RUNTIME: 17 records per kernel */
	sb_activity_stop(NULL);
}

static void many_kernels_need_few_buffers_and_get_them_back_clean(void **state)
{
	uint64_t t;

	(void)state;
	start();
	t = fake->now();
	for (uint32_t i = 0; i < 300000; i++) {
		fake->kernel(fake->launch(), t + i, t + i + 1, "k");
		if (i % 4000 == 3999) {
			written_count = 0;
			sb_activity_drain();
			assert_int_equal(written_count, 4000);
		}
	}
	sb_activity_stop(NULL);
	assert_int_equal(sb_activity_counts().kernels, 300000);
	assert_int_equal(sb_activity_counts().unattributed, 0);
	assert_int_equal(fake->unzeroed(), 0);
	assert_int_equal(lost[SB_LOST_CUPTI] + lost[SB_LOST_GPU_BUFFER] + lost[SB_LOST_GPU_TIME], 0);
}

static void another_subscriber_makes_strobe_yield_and_say_who(void **state)
{
	const char *unattributed;

	(void)state;
	fake->refuse("cuptiSubscribe_v2", CUPTI_MULTIPLE_SUBSCRIBERS);
	assert_int_equal(sb_activity_start(cupti, false, NULL, &unattributed), STROBE_EBUSY);
	assert_non_null(strstr(sb_error_message(), "somebody else"));
	assert_int_equal(fake->calls("cuptiActivityRegisterCallbacks"), 0);
	assert_false(fake->enabled(CUPTI_KIND_CONCURRENT_KERNEL));
}

static void missing_permission_is_said_in_words(void **state)
{
	const char *unattributed;

	(void)state;
	fake->refuse("cuptiActivityEnable", CUPTI_NO_PRIVILEGES);
	assert_int_equal(sb_activity_start(cupti, false, NULL, &unattributed), STROBE_EPERM);
	assert_non_null(strstr(sb_error_message(), "permission"));
	assert_false(fake->subscribed());
}

static void a_client_that_takes_over_keeps_what_it_enabled(void **state)
{
	uint64_t t;

	(void)state;
	start();
	t = fake->now();
	fake->kernel(fake->launch(), t, t + 1, "ours");
	sb_activity_drain();
	fake->kernel(fake->launch(), t, t + 1, "in a buffer that will not come back");
	fake->take_over();
	sb_activity_stop(NULL);
	assert_true(sb_activity_counts().taken_over);
	assert_true(fake->enabled(CUPTI_KIND_CONCURRENT_KERNEL));
	assert_false(fake->subscribed());
	assert_int_equal(written_count, 1);
}

static void an_empty_buffer_that_stays_is_no_take_over(void **state)
{
	uint64_t t;

	(void)state;
	start();
	t = fake->now();
	fake->kernel(fake->launch(), t, t + 1, "ours");
	sb_activity_drain();
	fake->hold_empty();
	sb_activity_stop(NULL);
	assert_false(sb_activity_counts().taken_over);
	assert_false(fake->enabled(CUPTI_KIND_CONCURRENT_KERNEL));
}

static void names_are_demangled_where_that_is_possible(void **state)
{
	bool possible;

	(void)state;
	possible = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL) != NULL;
	assert_int_equal(sb_kernel_name("_Z6kernelIfEvPT_"),
		sb_name_intern(possible ? "void kernel<float>(float*)" : "_Z6kernelIfEvPT_", NULL));
	assert_int_equal(sb_kernel_name("plain"), sb_name_intern("plain", NULL));
	assert_int_equal(sb_kernel_name(NULL), SB_NAME_OTHER);
}

/* Two that differ at their ends only stay two. */
static void names_of_any_length_stay_apart(void **state)
{
	static char one[5000], other[5000];

	(void)state;
	memset(one, 'k', sizeof one - 1);
	memcpy(other, one, sizeof other);
	other[sizeof other - 2] = 'x';
	assert_int_not_equal(sb_kernel_name(one), sb_kernel_name(other));
	assert_int_not_equal(sb_kernel_name(one), SB_NAME_OTHER);
}

static void name_at_a_reused_address_is_not_confused(void **state)
{
	char text[32] = "first";
	uint32_t first = sb_kernel_name(text);

	(void)state;
	strcpy(text, "second");
	assert_int_not_equal(sb_kernel_name(text), first);
	strcpy(text, "first");
	assert_int_equal(sb_kernel_name(text), first);
}

static void stamps_follow_a_clock_of_any_rate(void **state)
{
	struct sb_stamps s = { .count = 0 };

	(void)state;
	sb_stamps_add(&s, 1000, 50000);
	sb_stamps_add(&s, 2000, 53000);
	sb_stamps_add(&s, 4000, 60000);
	assert_int_equal(sb_stamps_ticks(&s, 1500), 51500);
	assert_int_equal(sb_stamps_ticks(&s, 3000), 56500);
	assert_int_equal(sb_stamps_ticks(&s, 5000), 63500);
	assert_int_equal(sb_stamps_ticks(&s, 900), 49700);
	sb_stamps_add(&s, 3999, 70000); /* went backwards: not believed */
	assert_int_equal(s.count, 3);
}

static void stamps_stay_bounded(void **state)
{
	struct sb_stamps s = { .count = 0 };

	(void)state;
	for (uint64_t i = 1; i < 10000; i++)
		sb_stamps_add(&s, i * 1000, i * 2000);
	assert_true(s.count <= SB_STAMPS_MAX);
	assert_int_equal(sb_stamps_ticks(&s, 5000500), 10001000);
	assert_int_equal(sb_stamps_ticks(&s, 9998500), 19997000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_versions_are_refused), /* first: nothing is loaded yet */
		cmocka_unit_test(a_result_has_a_name_without_asking_the_library),
		TEST(kernel_carries_the_call_that_launched_it), TEST(kernels_tell_the_shape_of_their_launch),
		TEST(kernels_keep_grid_block_registers_and_shared_memory),
		TEST(more_shapes_than_names_are_kept_as_they_are),
		TEST(copies_have_direction_bytes_and_kind_of_memory),
		TEST(waits_for_the_gpu_are_recorded_once), TEST(everything_is_let_go_of_afterwards),
		TEST(no_buffer_with_records_is_left_behind), TEST(runtime_records_are_never_enabled),
		TEST(many_kernels_need_few_buffers_and_get_them_back_clean),
		TEST(another_subscriber_makes_strobe_yield_and_say_who),
		TEST(missing_permission_is_said_in_words), TEST(an_empty_buffer_that_stays_is_no_take_over),
		TEST(names_are_demangled_where_that_is_possible), TEST(names_of_any_length_stay_apart),
		TEST(name_at_a_reused_address_is_not_confused), TEST(stamps_follow_a_clock_of_any_rate),
		TEST(stamps_stay_bounded),
		TEST(a_client_that_takes_over_keeps_what_it_enabled), /* last: leaves a buffer behind */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
