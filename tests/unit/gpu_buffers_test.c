/* Buffers for CUPTI: the first free one, no more than there are, and pages that are there in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/buffers.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int setup(void **state)
{
	(void)state;
	assert_true(sb_gpu_buffers_init());
	sb_gpu_buffers_forget();
	sb_gpu_buffers_clear();
	sb_gpu_buffers_count_anew();
	return 0;
}

static void first_free_one_is_taken_again(void **state)
{
	uint8_t *first = sb_gpu_buffer_take(), *second = sb_gpu_buffer_take();

	(void)state;
	assert_ptr_equal(second, first + SB_GPU_BUFFER_BYTES);
	sb_gpu_buffer_give(first);
	assert_ptr_equal(sb_gpu_buffer_take(), first);
	sb_gpu_buffer_give(second);
	sb_gpu_buffer_give(first);
	assert_ptr_equal(sb_gpu_buffer_take(), first);
	assert_int_equal(sb_gpu_buffers_most(), 2);
}

static void no_more_than_there_are(void **state)
{
	uint8_t *last = NULL, *one;
	uint32_t count = 0;

	(void)state;
	while ((one = sb_gpu_buffer_take())) {
		memset(one, 0xff, 64);
		last = one;
		count++;
	}
	assert_int_equal(count, SB_GPU_BUFFERS);
	assert_int_equal(sb_gpu_buffers_most(), SB_GPU_BUFFERS);
	sb_gpu_buffer_give(last);
	sb_gpu_buffers_count_anew(); /* those that are out still count */
	assert_int_equal(sb_gpu_buffers_most(), SB_GPU_BUFFERS - 1);
	assert_ptr_equal(sb_gpu_buffer_take(), last);
}

static uint32_t pages_there(const uint8_t *buffer)
{
	unsigned char there[SB_GPU_BUFFER_BYTES / 4096];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t count = 0;

	assert_int_equal(mincore((void *)buffer, SB_GPU_BUFFER_BYTES, there), 0);
	for (size_t i = 0; i < SB_GPU_BUFFER_BYTES / page; i++)
		count += there[i] & 1;
	return count;
}

/* Else the program's threads would make them, one page fault for every twenty kernels. */
static void pages_of_the_next_two_are_there(void **state)
{
	uint32_t all = SB_GPU_BUFFER_BYTES / (uint32_t)sysconf(_SC_PAGESIZE);
	uint8_t *first;

	(void)state;
	sb_gpu_buffers_ready();
	first = sb_gpu_buffer_take();
	if (!pages_there(first))
		skip(); /* a kernel before 5.14 */
	assert_int_equal(pages_there(first), all);
	assert_int_equal(pages_there(first + SB_GPU_BUFFER_BYTES), all);
	assert_int_equal(pages_there(first + 2 * SB_GPU_BUFFER_BYTES), 0);
	sb_gpu_buffers_ready();
	assert_int_equal(pages_there(first + 2 * SB_GPU_BUFFER_BYTES), all);
	sb_gpu_buffer_give(first);
	sb_gpu_buffers_clear();
	assert_int_equal(pages_there(first), 0);
	sb_gpu_buffers_ready();
	assert_int_equal(pages_there(first), all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(first_free_one_is_taken_again, setup),
		cmocka_unit_test_setup(no_more_than_there_are, setup),
		cmocka_unit_test_setup(pages_of_the_next_two_are_there, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
