/* The shape of a launch in two words: what fits comes back, what does not is cut to the most. */
#include "format/gpu_shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct sb_gpu_shape there_and_back(struct sb_gpu_shape shape)
{
	uint64_t words[2];

	sb_gpu_shape_pack(&shape, words);
	return sb_gpu_shape_unpack(words);
}

static void the_largest_launch_comes_back(void **state)
{
	struct sb_gpu_shape most = { { 0x7fffffff, 65535, 65535 }, { 1024, 1024, 64 }, 255, 233472 };
	struct sb_gpu_shape back = there_and_back(most);

	(void)state;
	assert_memory_equal(&back, &most, sizeof most);
}

static void what_no_gpu_has_is_cut_and_spoils_nothing_else(void **state)
{
	struct sb_gpu_shape back = there_and_back(
		(struct sb_gpu_shape){ { UINT32_MAX, UINT32_MAX, 3 }, { 9000, 2, 500 }, 9999, UINT32_MAX });

	(void)state;
	assert_int_equal(back.grid[0], 0x7fffffff);
	assert_int_equal(back.grid[1], 0xffff);
	assert_int_equal(back.grid[2], 3);
	assert_int_equal(back.block[0], 0x7ff);
	assert_int_equal(back.block[1], 2);
	assert_int_equal(back.block[2], 0x7f);
	assert_int_equal(back.registers, 0x1ff);
	assert_int_equal(back.shared_bytes, 0x3ffffff);
}

static void a_launch_is_flat_tiled_or_neither(void **state)
{
	struct sb_gpu_shape flat = { { 4096, 1, 1 }, { 256, 1, 1 }, 32, 0 }, tiled = flat, small = flat,
			    deep = flat, unknown = { { 0 }, { 0 }, 0, 0 };

	(void)state;
	tiled.shared_bytes = SB_GPU_TILED_BYTES;
	small.shared_bytes = 1024;
	deep.grid[1] = 2;
	assert_int_equal(sb_gpu_shape_flags(&flat), SB_GPU_FLAT);
	assert_int_equal(sb_gpu_shape_flags(&tiled), SB_GPU_TILED);
	assert_int_equal(sb_gpu_shape_flags(&small), 0);
	assert_int_equal(sb_gpu_shape_flags(&deep), 0);
	assert_int_equal(sb_gpu_shape_flags(&unknown), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_is_flat_tiled_or_neither),
		cmocka_unit_test(the_largest_launch_comes_back),
		cmocka_unit_test(what_no_gpu_has_is_cut_and_spoils_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
