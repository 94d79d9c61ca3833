/* Python inside a model's call: hooks and loops are named, what the model itself computes is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "synthetic.h"

#include <stdlib.h>

enum { TID = 1000, VIDEOS = 5, STEPS = 4 };
#define TORCH "/x/site-packages/torch/nn/modules/"
#define MODULES "/site-packages/torch/nn/modules"
#define LATER 4102444800000000000ull /* 2100: the source that a test writes is older than its run */

/* What line 1, 2… of the program says. */
static const char *const source[] = { "for value in values:", "rows[-1].append(float(value))",
	"x = torch.tanh(x @ weight)", "total += value * value", "kept.append(x @ weight)",
	"counts = np.histogram(values, 64)" };
enum { LOOP = 1, READ, OPERATION, SUM, KEEP, COUNTS };

static char file[32];
static const char *module_file = TORCH "module.py";

static int write_source(void **state)
{
	int fd;

	(void)state;
	strcpy(file, "/tmp/strobe-XXXXXX.py");
	fd = mkstemps(file, 3);
	if (fd < 0)
		return -1;
	for (size_t i = 0; i < sizeof source / sizeof *source; i++)
		if (dprintf(fd, "    %s\n", source[i]) < 0)
			return -1;
	return close(fd);
}

static int remove_source(void **state)
{
	(void)state;
	return unlink(file);
}

/* Videos of a second, of steps of 250 ms that are almost all transformer. */
static void put_videos(struct synthetic *s)
{
	synthetic_open_at(s, LATER);
	for (uint64_t i = 0; i < VIDEOS; i++) {
		synthetic_begin(s, i * SECOND, "video", STROBE_ROLE_GENERATION);
		for (uint64_t k = 0; k < STEPS; k++) {
			uint64_t at = i * SECOND + k * 250 * MS;

			synthetic_begin(s, at, "step", STROBE_ROLE_STEP);
			synthetic_attr(s, "step", (int64_t)k);
			synthetic_stage(s, at + MS, at + 240 * MS, "transformer", STROBE_ROLE_FORWARD);
			synthetic_end(s, at + 250 * MS);
		}
		synthetic_end(s, (i + 1) * SECOND);
	}
}

/* A sample of 100 ms in every transformer call after the first video's: a function that torch's module has called, at a line,
 * in a library's function or in itself. ran: it ran while the sampler had the GIL. */
static void see(
	struct synthetic *s, const char *function, uint32_t line, const char *inner, const char *in, bool ran)
{
	uint32_t names[3], lines[] = { 12, line, 1790 }, skip = inner ? 0 : 1;
	struct sb_builder_sample sample = {
		.tid = TID, .weight_us = 100000, .beside_gil = ran ? SB_STACK_RAN : SB_STACK_STOOD
	};

	names[0] = sb_builder_name(s->b, inner ? inner : "none", NULL);
	names[1] = sb_builder_name(s->b, function, NULL);
	names[2] = sb_builder_name(s->b, "module.Module._call_impl", NULL);
	sb_builder_code_file(s->b, names[0], in ? in : "");
	sb_builder_code_file(s->b, names[1], file);
	sb_builder_code_file(s->b, names[2], module_file);
	for (uint64_t i = STEPS; i < VIDEOS * STEPS; i++)
		sb_builder_stack_sample(
			s->b, i * 250 * MS + 150 * MS, &sample, names + skip, lines + skip, 3 - skip);
}

static bool is_named(const char *function, uint32_t line, const char *inner, const char *in, bool ran)
{
	struct synthetic s;
	const struct sb_advice *f;
	bool named;

	put_videos(&s);
	see(&s, function, line, inner, in, ran);
	f = finding(synthetic_model(&s, VIDEOS * SECOND), "python_in_forward");
	named = f && f->where.file && !strcmp(f->where.file, file) && f->where.line == line;
	synthetic_done(&s);
	return named;
}

static void a_loop_over_values_in_a_hook_is_named_with_its_stage_and_share(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;
	struct sb_model *m;
	uint32_t gpu;

	put_videos(&s);
	see(&s, "probe.hook", READ, NULL, NULL, true);
	gpu = synthetic_gpu(&s, 0);
	for (uint64_t i = 0; i < VIDEOS * STEPS; i++)
		synthetic_gpu_sample(&s, gpu, i * 250 * MS + 100 * MS, 4000, 30, 200);
	m = synthetic_model(&s, VIDEOS * SECOND);
	f = finding(m, "python_in_forward");
	assert_non_null(f);
	assert_ptr_equal(f, &m->advice.all[0]);
	assert_string_equal(f->where.stage, "transformer");
	assert_int_equal(f->where.line, READ);
	assert_non_null(strstr(f->issue, "Python inside 'transformer' takes 42 % of it"));
	assert_non_null(strstr(f->cause, "hook ("));
	assert_non_null(strstr(f->cause, source[READ - 1]));
	assert_near(f->saves_s, 1.6, 1e-6);
	assert_null(finding(m, "gpu_utilization")); /* it explains that */
	assert_non_null(strstr(f->evidence, "GPU utilisation"));
	synthetic_done(&s);
}

static void it_is_named_in_a_model_too(void **state)
{
	assert_true(is_named("wan.Own.forward", READ, NULL, NULL, false));
	assert_true(is_named("wan.Own.forward", LOOP, "_tensor.Tensor.__iter__",
		"/x/site-packages/torch/_tensor.py", true));
	assert_true(is_named("wan.Own.forward", COUNTS, "_histograms.histogram",
		"/x/site-packages/numpy/lib/_histograms.py", true));
	assert_true(is_named("probe.hook", SUM, NULL, NULL, false));
}

/* Torch's module.py as the line 1790 of it that calls; the test's own. */
static void with_torch(const char *calls, void (*test)(void))
{
	char folder[] = "/tmp/strobe-XXXXXX", path[160], command[200];
	FILE *out;

	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof command, "mkdir -p %s" MODULES, folder);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof path, "%s" MODULES "/module.py", folder);
	out = fopen(path, "w");
	assert_non_null(out);
	for (int i = 1; i < 1790; i++)
		fputs("\n", out);
	fprintf(out, "            %s\n", calls);
	assert_int_equal(fclose(out), 0);
	module_file = path;
	test();
	module_file = TORCH "module.py";
	snprintf(command, sizeof command, "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void operations_are_named(void)
{
	assert_true(is_named("probe.Recorder.__call__", OPERATION, NULL, NULL, false));
	assert_true(is_named("probe.hook", SUM, NULL, NULL, false));
}

static void only_loops_are_named(void)
{
	assert_false(is_named("probe.hook", OPERATION, NULL, NULL, false));
	assert_false(is_named("probe.hook", SUM, NULL, NULL, false));
	assert_true(is_named("probe.hook", READ, NULL, NULL, false));
}

/* What a hook computes, the model does not ask for; a function that wraps a forward is no hook. */
static void torchs_own_line_says_what_is_a_hook(void **state)
{
	with_torch("hook_result = hook(self, args, result)", operations_are_named);
	with_torch("result = forward_call(*args, **kwargs)", only_loops_are_named);
}

/* At a loop's way back to its begin Python has no line. */
static void samples_without_a_line_count_as_the_functions_line(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;

	put_videos(&s);
	see(&s, "probe.hook", READ, NULL, NULL, true);
	see(&s, "probe.hook", 0, NULL, NULL, true);
	f = finding(synthetic_model(&s, VIDEOS * SECOND), "python_in_forward");
	assert_non_null(f);
	assert_int_equal(f->where.line, READ);
	assert_non_null(strstr(f->evidence, "32 samples"));
	synthetic_done(&s);
}

static void what_the_model_computes_is_not(void **state)
{
	assert_false(is_named("wan.Own.forward", OPERATION, NULL, NULL, false));
	assert_false(is_named("wan.Own.forward", OPERATION, "functional.silu",
		"/x/site-packages/torch/nn/functional.py", false));
	assert_false(is_named("wan.Own.forward", SUM, NULL, NULL, false)); /* it may add tensors */
	assert_false(is_named("wan.Own.forward", KEEP, NULL, NULL, true)); /* without the GIL */
	assert_false(is_named("probe.hook", OPERATION, NULL, NULL, false));
}

static bool explains(const struct sb_advice *f, const char *id)
{
	for (size_t i = 0; f && i < f->explain_count; i++)
		if (!strcmp(f->explains[i], id))
			return true;
	return false;
}

/* The objects that a hook makes are collected: taking the hook out saves both. */
static void collections_that_it_sets_off_are_part_of_it(void **state)
{
	struct strobe_attr took = { "duration_s", STROBE_TYPE_FLOAT, { .f = 0.08 } };
	struct synthetic s;
	const struct sb_advice *f;
	struct sb_model *m;

	put_videos(&s);
	see(&s, "probe.hook", READ, NULL, NULL, true);
	for (uint64_t i = 0; i < VIDEOS; i++)
		sb_builder_event(s.b, i * SECOND + 500 * MS, "garbage collection", 0, &took, 1);
	m = synthetic_model(&s, VIDEOS * SECOND);
	assert_null(finding(m, "garbage_collection"));
	f = finding(m, "python_in_forward");
	assert_true(explains(f, "garbage_collection"));
	assert_near(f->saves_s, 1.6 + 4 * 0.08, 1e-6);
	synthetic_done(&s);
}

static void launched(struct synthetic *s, const char *name, enum sb_gpu_kind kind, uint64_t launch,
	uint64_t at, uint64_t took, uint64_t bytes)
{
	sb_builder_gpu(s->b, &(struct sb_builder_gpu){ .name = sb_builder_name(s->b, name, NULL),
				     .kind = kind,
				     .start_ns = at,
				     .duration_ns = took,
				     .launch_ns = launch,
				     .launch_tid = TID,
				     .stream = 7,
				     .bytes = bytes });
}

/* On a GPU the loop waits at each value, which the trace counts: one finding says so, with the line. */
static void values_that_a_traced_loop_reads_are_one_finding(void **state)
{
	struct synthetic s;
	const struct sb_advice *f;
	struct sb_model *m;

	put_videos(&s);
	sb_builder_meta_string(s.b, SB_META_SETTING, "gpu_trace", "steps:3");
	for (uint64_t k = 0; k < 3; k++)
		for (uint64_t c = 0; c < 16; c++) {
			uint64_t at = SECOND + k * 250 * MS + 2 * MS + c * 10 * MS;

			launched(&s, "gemm", SB_GPU_KERNEL, at, at, 1000, 0);
			launched(&s, "Memcpy DtoH", SB_GPU_COPY_D2H, at + 2000, at + 7 * MS, 1000, 2);
		}
	synthetic_gpu_trace(&s, SECOND, 1750 * MS);
	see(&s, "probe.hook", READ, NULL, NULL, true);
	m = synthetic_model(&s, VIDEOS * SECOND);
	f = finding(m, "hidden_sync");
	assert_non_null(f);
	assert_non_null(strstr(f->issue, "16 values"));
	assert_int_equal(f->where.line, READ);
	assert_null(finding(m, "python_in_forward"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_over_values_in_a_hook_is_named_with_its_stage_and_share),
		cmocka_unit_test(it_is_named_in_a_model_too),
		cmocka_unit_test(torchs_own_line_says_what_is_a_hook),
		cmocka_unit_test(samples_without_a_line_count_as_the_functions_line),
		cmocka_unit_test(what_the_model_computes_is_not),
		cmocka_unit_test(collections_that_it_sets_off_are_part_of_it),
		cmocka_unit_test(values_that_a_traced_loop_reads_are_one_finding),
	};

	return cmocka_run_group_tests(tests, write_source, remove_source);
}
