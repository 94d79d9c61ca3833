/* The GPU analysis: against facts computed independently from a real trace, and
 * on small made-up timelines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/jsondom.h"
#include "exchange/import.h"
#include "gpu_timeline.h"

/* ---- a real trace ---- */

/* Names past 1900 bytes are cut and marked: then the beginning has to do. */
static const struct sb_jsondom *find_kernel(const struct sb_jsondom *kernels, const char *name)
{
	const struct sb_jsondom *fact = sb_jsondom_get(kernels, name);
	const char *mark = strstr(name, "... (");

	for (sb_jsondom_each(kernel, kernels))
		if (!fact && mark && !strncmp(kernel->key, name, (size_t)(mark - name)))
			return kernel;
	return fact;
}

static void check_kernels(const struct sb_gpu_panel *gpu, const struct sb_jsondom *kernels)
{
	for (size_t i = 0; i < gpu->top_kernel_count; i++) {
		const struct sb_jsondom *fact = find_kernel(kernels, gpu->top_kernels[i].name);

		assert_non_null(fact);
		assert_int_equal(
			gpu->top_kernels[i].count, sb_jsondom_int(sb_jsondom_get(fact, "count"), -1));
		close_to(gpu->top_kernels[i].total_s,
			sb_jsondom_number(sb_jsondom_get(fact, "total_ns"), -1) * 1e-9);
	}
}

static double share_of(const struct sb_kernel_share *shares, size_t count, const char *family)
{
	return sb_kernel_shares_of_s(shares, count, family) / sb_kernel_shares_total_s(shares, count);
}

/* What one kernel is, is said by its name; nothing of the run is left out or counted twice. */
static void check_families(const struct opened *o)
{
	const struct sb_gpu_panel *gpu = &o->model->gpu;
	const struct sb_stage *denoise = stage(o, "denoise"), *decode = stage(o, "vae_decode");
	double ratios = 0;

	close_to(sb_kernel_shares_total_s(gpu->families, gpu->family_count), gpu->kernel_total_s);
	for (size_t i = 0; i < gpu->family_count; i++)
		ratios += gpu->families[i].ratio;
	close_to(ratios, 1);
	assert_string_equal(gpu->families[0].family, "GEMM");
	assert_string_equal(gpu->families[0].precision, "bf16");
	assert_int_equal(gpu->families[0].count, 1980);
	close_to(sb_kernel_shares_of_s(gpu->families, gpu->family_count, "not recognised"), 0);
	close_to(denoise->kernel_s, sb_kernel_shares_total_s(denoise->kernels, denoise->kernel_share_count));
	assert_true(share_of(denoise->kernels, denoise->kernel_share_count, "attention") > 0.14);
	close_to(sb_kernel_shares_of_s(decode->kernels, decode->kernel_share_count, "GEMM"), 0);
	assert_true(share_of(decode->kernels, decode->kernel_share_count, "copy and layout") > 0.4);
	panel_holds(o, "Kernels by family");
	panel_holds(o, "GEMM bf16");
	panel_holds(o, "denoise, 16.8 ms of kernels: GEMM 56 %, normalisation 17 %, attention 15 %,");
}

static void a_real_trace_matches_facts_computed_elsewhere(void **state)
{
	const char *folder = STROBE_SOURCE_DIR "/tests/data";
	char path[600], imported[600];
	struct sb_jsondom_doc *doc = NULL;
	const struct sb_jsondom *facts;
	const struct sb_gpu_panel *gpu;
	double bytes = 0, expected_bytes = 0, zones_s = 0;
	struct opened o;

	snprintf(path, sizeof path, "%s/kineto-h200.facts.json", folder);
	assert_int_equal(sb_jsondom_read(path, 1 << 20, &doc), 0);
	facts = sb_jsondom_root(doc);
	snprintf(path, sizeof path, "%s/kineto-h200.json.gz", folder);
	if (sb_import_on_the_fly(path, NULL, imported, sizeof imported) == STROBE_ENOTSUP)
		skip(); /* built without zlib */
	o = open_model(imported);
	unlink(imported);
	gpu = &o.model->gpu;
	assert_true(gpu->present);
	assert_int_equal(gpu->kernel_count, sb_jsondom_int(sb_jsondom_get(facts, "kernel_count"), -1));
	close_to(gpu->kernel_total_s, sb_jsondom_number(sb_jsondom_get(facts, "kernel_total_ns"), -1) * 1e-9);
	close_to(gpu->kernel_busy_s, sb_jsondom_number(sb_jsondom_get(facts, "kernel_busy_ns"), -1) * 1e-9);
	close_to(gpu->busy_s, sb_jsondom_number(sb_jsondom_get(facts, "device_busy_ns"), -1) * 1e-9);
	close_to(gpu->window_s, sb_jsondom_number(sb_jsondom_get(facts, "device_span_ns"), -1) * 1e-9);
	check_kernels(gpu, sb_jsondom_get(facts, "kernels"));
	check_families(&o);
	for (sb_jsondom_each(copy, sb_jsondom_get(facts, "copies")))
		expected_bytes += sb_jsondom_number(sb_jsondom_get(copy, "bytes"), 0);
	for (size_t i = 0; i < gpu->copy_count; i++)
		bytes += gpu->copies[i].bytes;
	close_to(bytes, expected_bytes);
	for (sb_jsondom_each(zone, sb_jsondom_get(facts, "user_annotations"))) {
		const struct sb_stage *s = stage(&o, zone->key);

		assert_int_equal(s->count, sb_jsondom_int(sb_jsondom_get(zone, "count"), -1));
		close_to(s->total_s, sb_jsondom_number(sb_jsondom_get(zone, "total_ns"), -1) * 1e-9);
	}
	/* What the zones launched and what nobody launched is all the GPU did. */
	for (size_t i = 0; i < o.model->stages.stage_count; i++)
		if (o.model->stages.stages[i].parent < 0 && o.model->stages.stages[i].gpu_busy_s > 0)
			zones_s += o.model->stages.stages[i].gpu_busy_s;
	close_to(zones_s + gpu->unattributed_busy_s, gpu->busy_s);
	assert_true(stage(&o, "denoise")->gpu_busy_s > 0.5 * gpu->busy_s);
	assert_string_equal(gpu->attention[0].name, "cuDNN");
	close_model(&o);
	sb_jsondom_free(doc);
}

/* ---- made-up timelines ---- */

/* Zone A launches a second of kernels, zone B synchronizes. */
static void gpu_time_belongs_to_the_zone_that_launched_it(void **state)
{
	struct made m = begin_made();
	struct opened o;

	zone(&m, "A", 0, 10000000);
	zone(&m, "B", 10000000, 1000000000);
	for (uint64_t i = 0; i < 10; i++)
		put_gpu(&m, "gemm",
			(struct sb_builder_gpu)KERNEL(i * 1000000, 99000000, 1000000 + i * 99000000));
	o = end_made(&m, 1000000000);
	close_to(stage(&o, "A")->gpu_busy_s, 0.99);
	assert_true(isnan(stage(&o, "B")->gpu_busy_s));
	close_to(stage(&o, "B")->total_s, 0.99);
	close_to(o.model->gpu.unattributed_busy_s, 0);
	close_model(&o);
}

static void waits_are_counted_by_kind_and_are_no_work(void **state)
{
	struct made m = begin_made();
	struct opened o;

	put_gpu(&m, "gemm", (struct sb_builder_gpu)KERNEL(0, 99000000, 1000000));
	for (uint64_t i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof name, i < 3 ? "Stream Sync" : "kind %d", (int)i);
		put_gpu(&m, name,
			(struct sb_builder_gpu){ .kind = SB_GPU_SYNC,
				.start_ns = 200000000,
				.duration_ns = (i + 1) * 1000000,
				.launch_ns = 200000000,
				.launch_tid = 1000 });
	}
	o = end_made(&m, 1000000000);
	assert_int_equal(o.model->gpu.wait_count, 16); /* the rest together, and that is the most time */
	assert_string_equal(o.model->gpu.waits[0].name, "other");
	assert_int_equal(o.model->gpu.waits[0].count, 3);
	for (size_t i = 0; i < 16; i++) {
		const struct sb_gpu_wait *w = &o.model->gpu.waits[i];

		if (strcmp(w->name, "Stream Sync") != 0)
			continue;
		assert_int_equal(w->count, 3);
		close_to(w->total_s, 0.006);
		close_to(w->max_s, 0.003);
	}
	close_to(o.model->gpu.busy_s, 0.099);
	close_model(&o);
}

static void overlapping_kernels_are_busy_once(void **state)
{
	struct made m = begin_made();
	struct sb_builder_gpu other = KERNEL(10, 500, 1500);
	struct opened o;

	other.stream = 9;
	zone(&m, "A", 0, 5000);
	put_gpu(&m, "late", (struct sb_builder_gpu)KERNEL(30, 1000, 4000));
	put_gpu(&m, "one", (struct sb_builder_gpu)KERNEL(5, 1000, 1000));
	put_gpu(&m, "two", other);
	o = end_made(&m, 6000);
	close_to(o.model->gpu.kernel_total_s, 2500e-9);
	close_to(o.model->gpu.busy_s, 2000e-9);
	close_to(o.model->gpu.window_s, 4000e-9);
	close_to(o.model->gpu.idle_s, 2000e-9);
	assert_int_equal(o.model->gpu.gap_count, 1);
	close_to(o.model->gpu.gaps[0].t_s, 2000e-9);
	close_to(o.model->gpu.gaps[0].duration_s, 2000e-9);
	assert_string_equal(o.model->gpu.gaps[0].cpu_did, "A");
	close_model(&o);
}

static void a_gap_is_explained_by_what_the_cpu_did(void **state)
{
	struct made m = begin_made();
	struct opened o;

	zone(&m, "launch", 0, 100000);
	zone(&m, "sleep", 100000, 900000);
	zone(&m, "launch", 900000, 1000000);
	put_gpu(&m, "k", (struct sb_builder_gpu)KERNEL(50000, 10000, 60000));
	put_gpu(&m, "k", (struct sb_builder_gpu)KERNEL(950000, 10000, 960000));
	o = end_made(&m, 1000000);
	assert_int_equal(o.model->gpu.gap_count, 1);
	assert_string_equal(o.model->gpu.gaps[0].cpu_did, "sleep");
	close_to(
		find_row(o.model->gpu.idle_zones, o.model->gpu.idle_zone_count, "sleep")->total_s, 800000e-9);
	close_to(
		find_row(o.model->gpu.idle_zones, o.model->gpu.idle_zone_count, "launch")->total_s, 90000e-9);
	close_model(&o);
}

/* "run > call" by two ways holds two of the three gaps; twenty launches are no gaps. */
static void idle_rows_count_gaps_and_places_that_read_alike_are_one(void **state)
{
	struct made m = begin_made();
	uint32_t run = sb_builder_name(m.b, "run", NULL), call = sb_builder_name(m.b, "call", NULL);
	const struct sb_gpu_panel *gpu;
	struct opened o;

	sb_builder_begin(m.w, 0, run);
	for (uint64_t i = 0; i < 3; i++) {
		uint32_t way = sb_builder_name(m.b, i % 2 ? "by A" : "by B", NULL);

		sb_builder_begin(m.w, i * 100000 + 1000, way);
		sb_builder_begin(m.w, i * 100000 + 2000, call);
		sb_builder_end(m.w, i * 100000 + 80000, call);
		sb_builder_end(m.w, i * 100000 + 81000, way);
	}
	sb_builder_end(m.w, 400000, run);
	for (uint64_t i = 0; i < 4; i++)
		for (uint64_t k = 0; k < 5; k++)
			put_gpu(&m, "k",
				(struct sb_builder_gpu)KERNEL(
					i * 100000 + 90000, 1000, i * 100000 + 95000 + k * 1000));
	o = end_made(&m, 400000);
	gpu = &o.model->gpu;
	assert_int_equal(gpu->gap_total, 3);
	assert_int_equal(find_row(gpu->idle_zones, gpu->idle_zone_count, "run > call")->count, 2);
	close_to(find_row(gpu->idle_zones, gpu->idle_zone_count, "run > call")->total_s, 2 * 78000e-9);
	for (size_t i = 1; i < gpu->idle_zone_count; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(gpu->idle_zones[i].name, gpu->idle_zones[k].name);
	panel_holds(&o, " gaps\n");
	close_model(&o);
}

/* Nobody looked between 3000 and 7000. */
static void time_between_two_traces_is_not_idle(void **state)
{
	static const uint64_t begins[] = { 1000000000, 1000007000 }, ends[] = { 1000003000, 1000010000 };
	struct made m = begin_made();
	struct opened o;

	zone(&m, "A", 0, 10000);
	for (uint64_t i = 0; i < 2; i++) {
		struct strobe_attr begin = { "gpu_trace_begin_ticks", STROBE_TYPE_INT,
			{ .i = (int64_t)begins[i] } };
		struct strobe_attr end = { "gpu_trace_end_ticks", STROBE_TYPE_INT,
			{ .i = (int64_t)ends[i] } };

		sb_builder_meta(m.b, SB_META_RUN, &begin);
		sb_builder_meta(m.b, SB_META_RUN, &end);
		put_gpu(&m, "k", (struct sb_builder_gpu)KERNEL(i * 7000 + 100, 500, i * 7000 + 500));
		put_gpu(&m, "k", (struct sb_builder_gpu)KERNEL(i * 7000 + 200, 500, i * 7000 + 2000));
	}
	o = end_made(&m, 10000);
	close_to(o.model->gpu.window_s, 4000e-9);
	close_to(o.model->gpu.busy_s, 2000e-9);
	close_to(o.model->gpu.idle_s, 2000e-9);
	close_to(o.model->gpu.devices[0].window_s, 4000e-9);
	assert_int_equal(o.model->gpu.gap_total, 2);
	panel_holds(&o, "= 4.00 us in 2 traces, added up\n");
	close_model(&o);
}

/* Ten gaps of 500 ns that no zone is asked for, and one of 5000. */
static void the_shortest_gaps_are_a_row_of_the_idle_time(void **state)
{
	struct made m = begin_made();
	const struct sb_gpu_row *rest;
	struct opened o;

	zone(&m, "A", 0, 100000);
	for (uint64_t i = 0; i < 11; i++)
		put_gpu(&m, "k", (struct sb_builder_gpu)KERNEL(10 + i, 500, 1000 + i * 1000));
	put_gpu(&m, "k", (struct sb_builder_gpu)KERNEL(30, 500, 16500));
	o = end_made(&m, 100000);
	rest = find_row(o.model->gpu.idle_zones, o.model->gpu.idle_zone_count,
		"(the shortest gaps, from kernel to kernel)");
	assert_int_equal(rest->count, 10);
	close_to(rest->total_s, 5000e-9);
	close_to(rest->ratio, 0.5);
	close_to(find_row(o.model->gpu.idle_zones, o.model->gpu.idle_zone_count, "A")->ratio, 0.5);
	panel_holds(&o, "total  of idle      gaps\n");
	panel_holds(&o, "total   of all     count\n");
	close_model(&o);
}

/* The name says nothing: the shape of the launch does, or nothing. */
static void a_kernel_without_a_telling_name_goes_by_its_launch_shape(void **state)
{
	static const struct {
		uint32_t flags;
		const char *family;
	} shapes[] = { { SB_GPU_TILED, "GEMM" }, { SB_GPU_FLAT, "element-wise" }, { 0, "not recognised" } };
	struct made m = begin_made();
	struct opened o;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		struct sb_builder_gpu g = KERNEL(i * 1000, 100 << i, i * 1000);

		g.flags = shapes[i].flags;
		put_gpu(&m, "kernel_0", g);
	}
	o = end_made(&m, 10000);
	assert_int_equal(o.model->gpu.family_count, 3);
	for (int i = 0; i < 3; i++) {
		const struct sb_kernel_share *k = &o.model->gpu.families[2 - i];

		assert_string_equal(k->family, shapes[i].family);
		close_to(k->total_s, (100 << i) * 1e-9);
		assert_true(i == 2 ? !k->kind : !strcmp(k->kind, "by launch shape"));
	}
	close_model(&o);
}

/* Two microseconds of a stage that took a second. */
static void busy_time_of_a_short_trace_is_not_shown_as_the_stages(void **state)
{
	struct made m = begin_made();
	struct sb_builder_gpu span = {
		.kind = SB_GPU_ZONE, .launch_tid = 1000, .start_ns = 20, .duration_ns = 900000000
	};
	struct opened o;

	zone(&m, "A", 0, 1000000000);
	put_gpu(&m, "gemm", (struct sb_builder_gpu)KERNEL(10, 2000, 500));
	o = end_made(&m, 1000000000);
	tree_holds(&o, "GPU busy: of the 2.00 us that were traced\n");
	close_model(&o);
	m = begin_made();
	zone(&m, "A", 0, 1000000000);
	put_gpu(&m, "gemm", (struct sb_builder_gpu)KERNEL(10, 2000, 500));
	span.launch_ns = 10;
	put_gpu(&m, "A", span);
	o = end_made(&m, 1000000000);
	tree_holds(&o, "GPU span");
	tree_holds(&o, "900 ms");
	close_model(&o);
}

/* Four GPUs, each busy for 1 us of 3, in a run of 4 us. */
static void gpus_side_by_side_are_not_added_up_for_people(void **state)
{
	struct made m = begin_made();
	struct opened o;

	zone(&m, "A", 0, 4000);
	zone(&m, "cudaDeviceSynchronize", 4000, 4200);
	for (uint32_t device = 0; device < 4; device++) {
		struct sb_builder_gpu first = KERNEL(100, 500, 1000), last = KERNEL(100, 500, 3500);

		first.device = last.device = device;
		put_gpu(&m, "gemm", first);
		put_gpu(&m, "gemm", last);
	}
	o = end_made(&m, 4200);
	close_to(o.model->gpu.window_s, 12000e-9);
	close_to(o.model->gpu.busy_s + o.model->gpu.idle_s, o.model->gpu.window_s);
	assert_int_equal(o.model->gpu.device_count, 4);
	assert_int_equal(o.model->gpu.process_count, 1);
	assert_int_equal(o.model->gpu.devices[3].device, 3);
	close_to(o.model->gpu.devices[3].t_s, 1000e-9);
	close_to(o.model->gpu.devices[3].window_s, 3000e-9);
	close_to(o.model->gpu.devices[3].busy_s, 1000e-9);
	close_to(o.model->gpu.devices[3].idle_s, 2000e-9);
	panel_holds(&o, "4 GPUs, each from its first work to its last\n");
	panel_holds(&o, "mean   busy 1.00 us (33.3 %) + idle 2.00 us = 3.00 us\n");
	panel_holds(&o, "GPU 3  busy 1.00 us (33.3 %) + idle 2.00 us = 3.00 us\n");
	panel_holds(&o, " s on GPU 0: A\n");
	tree_holds(&o, "GPU busy: 4 GPUs added up\n");
	tree_holds(&o, "GPU busy: of the 3.00 us that were traced\n");
	close_model(&o);
}

static void gpu_time_of_some_calls_is_marked(void **state)
{
	struct made m = begin_made();
	struct sb_builder_gpu span = {
		.kind = SB_GPU_ZONE, .launch_tid = 1000, .start_ns = 20, .duration_ns = 40000000
	};
	struct opened o;

	zone(&m, "A", 0, 100000000);
	zone(&m, "A", 100000000, 200000000);
	span.launch_ns = 10;
	put_gpu(&m, "A", span);
	o = end_made(&m, 1000000000);
	assert_int_equal(stage(&o, "A")->gpu_span_count, 1);
	tree_holds(&o, " >40.0 ms ");
	tree_holds(&o, "GPU span >: of some calls");
	close_model(&o);
}

/* Two kinds of a family, each shorter than another family: together they are the longest. */
static void families_are_listed_by_what_their_kinds_take_together(void **state)
{
	struct made m = begin_made();
	struct opened o;

	zone(&m, "A", 0, 100000000);
	put_gpu(&m, "sm90_xmma_gemm_bf16bf16_bf16f32", (struct sb_builder_gpu)KERNEL(10, 3000000, 1000000));
	put_gpu(&m, "transpose_kernel", (struct sb_builder_gpu)KERNEL(20, 2000000, 5000000));
	put_gpu(&m, "at::native::CatArrayBatchedCopy", (struct sb_builder_gpu)KERNEL(30, 2000000, 8000000));
	o = end_made(&m, 1000000000);
	assert_int_equal(o.model->gpu.family_count, 3);
	panel_holds(&o, "count\n  copy and layout ");
	panel_holds(&o, "A, 7.00 ms of kernels: copy and layout 57 %, GEMM 43 %\n");
	close_model(&o);
}

static void a_run_without_gpu_records_has_no_panel(void **state)
{
	struct made m = begin_made();
	struct opened o;

	zone(&m, "A", 0, 100);
	o = end_made(&m, 200);
	assert_false(o.model->gpu.present);
	close_model(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_real_trace_matches_facts_computed_elsewhere),
		cmocka_unit_test(gpu_time_belongs_to_the_zone_that_launched_it),
		cmocka_unit_test(waits_are_counted_by_kind_and_are_no_work),
		cmocka_unit_test(overlapping_kernels_are_busy_once),
		cmocka_unit_test(a_gap_is_explained_by_what_the_cpu_did),
		cmocka_unit_test(idle_rows_count_gaps_and_places_that_read_alike_are_one),
		cmocka_unit_test(time_between_two_traces_is_not_idle),
		cmocka_unit_test(the_shortest_gaps_are_a_row_of_the_idle_time),
		cmocka_unit_test(busy_time_of_a_short_trace_is_not_shown_as_the_stages),
		cmocka_unit_test(gpus_side_by_side_are_not_added_up_for_people),
		cmocka_unit_test(gpu_time_of_some_calls_is_marked),
		cmocka_unit_test(a_kernel_without_a_telling_name_goes_by_its_launch_shape),
		cmocka_unit_test(families_are_listed_by_what_their_kinds_take_together),
		cmocka_unit_test(a_run_without_gpu_records_has_no_panel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
