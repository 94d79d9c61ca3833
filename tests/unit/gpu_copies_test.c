/* The GPU analysis: copies, memsets, communication, and what the CPU waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu_timeline.h"

static void copies_are_told_apart_by_direction_and_memory(void **state)
{
	struct made m = begin_made();
	struct sb_builder_gpu copy = { .kind = SB_GPU_COPY_H2D,
		.start_ns = 100,
		.duration_ns = 1000,
		.launch_ns = 50,
		.launch_tid = 1000,
		.bytes = 10000,
		.flags = SB_GPU_PAGEABLE };
	struct opened o;

	zone(&m, "offload", 0, 2000);
	put_gpu(&m, "Memcpy HtoD (Pageable -> Device)", copy);
	copy.flags = SB_GPU_PINNED;
	copy.start_ns = 1200;
	copy.duration_ns = 200;
	put_gpu(&m, "Memcpy HtoD (Pinned -> Device)", copy);
	o = end_made(&m, 3000);
	assert_int_equal(o.model->gpu.copy_count, 2);
	assert_string_equal(o.model->gpu.copies[0].memory, "pageable");
	close_to(o.model->gpu.copies[0].gb_per_s, 10);
	assert_string_equal(o.model->gpu.copies[1].memory, "pinned");
	close_to(o.model->gpu.copies[1].gb_per_s, 50);
	assert_string_equal(o.model->gpu.offload[0].name, "offload");
	close_to(o.model->gpu.offload[0].bytes, 20000);
	panel_holds(&o, "   20.0 kB    16.7 GB/s\n"); /* in 1.2 us */
	close_model(&o);
}

/* Two bytes in 2 us: a rate says nothing, and would read 0.0. */
static void a_few_bytes_have_no_rate(void **state)
{
	struct made m = begin_made();
	struct opened o;

	zone(&m, "A", 0, 2000);
	put_gpu(&m, "Memcpy DtoH",
		(struct sb_builder_gpu){ .kind = SB_GPU_COPY_D2H,
			.start_ns = 100,
			.duration_ns = 2000,
			.launch_ns = 50,
			.launch_tid = 1000,
			.bytes = 2,
			.flags = SB_GPU_PINNED });
	o = end_made(&m, 3000);
	panel_holds(&o, "         2 B in 2.00 us\n");
	panel_holds(&o, "  2 B\n");
	close_model(&o);
}

/* Our own traces record them as of another kind, imports as D2D. */
static void copies_from_gpu_to_gpu_are_p2p_however_recorded(void **state)
{
	const enum sb_gpu_kind kinds[] = { SB_GPU_COPY_OTHER, SB_GPU_COPY_D2D };

	for (size_t i = 0; i < 2; i++) {
		struct made m = begin_made();
		struct sb_builder_gpu copy = { .kind = kinds[i],
			.start_ns = 100,
			.duration_ns = 1000,
			.launch_ns = 50,
			.launch_tid = 1000,
			.bytes = 10000 };
		struct opened o;

		zone(&m, "A", 0, 2000);
		put_gpu(&m, "Memcpy PtoP (Device -> Device)", copy);
		o = end_made(&m, 3000);
		assert_int_equal(o.model->gpu.copy_count, 1);
		assert_string_equal(o.model->gpu.copies[0].direction, "P2P");
		close_model(&o);
	}
}

static void memsets_have_a_row_of_their_own(void **state)
{
	struct made m = begin_made();
	struct sb_builder_gpu set = { .kind = SB_GPU_MEMSET,
		.start_ns = 100,
		.duration_ns = 1000,
		.launch_ns = 50,
		.launch_tid = 1000,
		.bytes = 3000000 };
	struct opened o;

	zone(&m, "A", 0, 2000);
	put_gpu(&m, "Memset (Device)", set);
	set.start_ns = 2000;
	put_gpu(&m, "Memset (Device)", set);
	o = end_made(&m, 4000);
	assert_int_equal(o.model->gpu.memset_count, 2);
	close_to(o.model->gpu.memset_bytes, 6000000);
	close_to(o.model->gpu.memset_total_s, 2000e-9);
	panel_holds(&o, "  memsets                      2      6.0 MB in 2.00 us\n");
	close_model(&o);
}

static void communication_is_exposed_where_nothing_computes(void **state)
{
	struct made m = begin_made();
	struct sb_builder_gpu comm = KERNEL(10, 1000, 1500);
	struct opened o;

	comm.stream = 20;
	zone(&m, "A", 0, 5000);
	put_gpu(&m, "gemm", (struct sb_builder_gpu)KERNEL(5, 1000, 1000));
	put_gpu(&m, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", comm);
	o = end_made(&m, 6000);
	close_to(o.model->gpu.communication_s, 1000e-9);
	close_to(o.model->gpu.exposed_communication_s, 500e-9);
	assert_string_equal(o.model->gpu.collectives[0].name, "AllReduce");
	close_model(&o);
}

static void calls_of_the_runtime_are_seen_through_and_waits_are_not_overlap(void **state)
{
	struct made m = begin_made();
	uint32_t op = sb_builder_name(m.b, "aten::mm", NULL),
		 call = sb_builder_name(m.b, "cudaLaunchKernel", NULL);
	struct opened o;

	sb_builder_begin(m.w, 100, op);
	sb_builder_begin(m.w, 200, call);
	sb_builder_end(m.w, 300, call);
	sb_builder_end(m.w, 400, op);
	zone(&m, "cudaDeviceSynchronize", 1000, 3000);
	put_gpu(&m, "gemm", (struct sb_builder_gpu)KERNEL(250, 2000, 500));
	o = end_made(&m, 4000);
	close_to(stage(&o, "aten::mm")->gpu_busy_s, 2000e-9);
	close_to(o.model->gpu.overlap_ratio, 0.25); /* 1000..2500 of 500..2500 was waiting */
	close_to(o.model->gpu.launch_ahead_s, 250e-9);
	close_model(&o);
}

/* Of a trace of its own: imports have the waiting calls, or nobody waited. */
static void an_overlap_that_is_not_known_is_said_so(void **state)
{
	struct made m = begin_made();
	struct strobe_attr begin = { "gpu_trace_begin_ticks", STROBE_TYPE_INT, { .i = 1000000001 } };
	struct opened o;

	zone(&m, "A", 0, 1000);
	put_gpu(&m, "gemm", (struct sb_builder_gpu)KERNEL(250, 2000, 500));
	sb_builder_meta(m.b, SB_META_RUN, &begin);
	o = end_made(&m, 4000);
	assert_true(isnan(o.model->gpu.overlap_ratio));
	panel_holds(&o, "  CPU/GPU overlap not known: ");
	close_model(&o);
}

static void waiting_counts_on_each_gpu_while_it_is_busy(void **state)
{
	struct made m = begin_made();
	struct sb_builder_gpu one = KERNEL(100, 2000, 500), other = KERNEL(150, 1000, 500);
	struct opened o;

	zone(&m, "A", 0, 1000);
	zone(&m, "cudaDeviceSynchronize", 1000, 3000);
	other.device = 1;
	put_gpu(&m, "gemm", one);
	put_gpu(&m, "gemm", other);
	o = end_made(&m, 3000);
	/* of 500..2500 and 500..1500 what comes after 1000 was waited for */
	close_to(o.model->gpu.overlap_ratio, 1 - 2000 / 3000.0);
	close_model(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_told_apart_by_direction_and_memory),
		cmocka_unit_test(a_few_bytes_have_no_rate),
		cmocka_unit_test(copies_from_gpu_to_gpu_are_p2p_however_recorded),
		cmocka_unit_test(memsets_have_a_row_of_their_own),
		cmocka_unit_test(communication_is_exposed_where_nothing_computes),
		cmocka_unit_test(calls_of_the_runtime_are_seen_through_and_waits_are_not_overlap),
		cmocka_unit_test(an_overlap_that_is_not_known_is_said_so),
		cmocka_unit_test(waiting_counts_on_each_gpu_while_it_is_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
