/* Memory that ran out: the event, what was resident, what would have helped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/run_keys.h"
#include "synthetic.h"

#define GIB (1024 * MIB)

static void resident_at(struct synthetic *s, uint64_t t_ns, const char *at, int64_t set,
	const char *component, int64_t bytes, const char *dtype)
{
	struct strobe_attr attrs[] = { TEXT("at", at), TEXT("component", component), INT("bytes", bytes),
		INT("device", 0), INT("set", set), TEXT("dtype", dtype ? dtype : "") };

	sb_builder_event(s->b, t_ns, SB_EVENT_RESIDENT, 0, attrs, dtype ? 6 : 5);
}

static void resident(
	struct synthetic *s, uint64_t t_ns, const char *component, int64_t bytes, const char *dtype)
{
	resident_at(s, t_ns, "out_of_memory", 0, component, bytes, dtype);
}

static void ran_out(struct synthetic *s, uint64_t t_ns, int64_t requested, int64_t slack)
{
	struct strobe_attr attrs[] = { INT("requested_bytes", requested), INT("free_bytes", GIB),
		INT("total_bytes", 80 * GIB), INT("allocated_bytes", 60 * GIB),
		INT("reserved_bytes", 60 * GIB + slack), INT("device", 0), TEXT("file", "/app/vae.py"),
		INT("line", 77) };

	sb_builder_event(s->b, t_ns, SB_EVENT_OUT_OF_MEMORY, 0, attrs, 8);
	resident(s, t_ns + 1000, "weights of text_encoder", 10 * GIB, "bfloat16");
	resident(s, t_ns + 2000, "weights of transformer", 28 * GIB, "bfloat16");
	resident(s, t_ns + 3000, "activations and other tensors", 22 * GIB, NULL);
	if (slack)
		resident(s, t_ns + 4000, "allocator slack", slack, NULL);
}

static void refused(struct synthetic *s, uint64_t t_ns)
{
	struct strobe_attr attrs[] = { INT(SB_ATTR_REFUSED_BY_DRIVER, 1), INT("device", 0),
		INT("requested_bytes", 16 * GIB), INT("free_bytes", 10 * GIB), INT("total_bytes", 80 * GIB) };

	sb_builder_event(s->b, t_ns, SB_EVENT_OUT_OF_MEMORY, 0, attrs, 5);
}

/* The monitor's last sample is of when the run had less: what the others had is as it was. */
static void memory_that_the_driver_refuses_has_its_stage_and_what_was_in_use(void **state)
{
	static const char *const columns[] = { "memory_used_mb", "process_memory_mb" };
	struct synthetic s;
	struct sb_model *m;
	const struct sb_out_of_memory_panel *p;
	uint32_t schema;

	synthetic_open(&s);
	schema = sb_builder_schema(s.b, "gpu", 0, columns, 2);
	sb_builder_sample(s.b, schema, SECOND, (double[]){ 22 * 1024, 20 * 1024 }, 2);
	synthetic_begin(&s, SECOND, "decode", 0);
	refused(&s, 2 * SECOND);
	refused(&s, 2 * SECOND + MS);
	synthetic_end(&s, 3 * SECOND);
	m = synthetic_model(&s, 4 * SECOND);
	p = &m->out_of_memory;
	assert_int_equal(p->count, 2);
	assert_string_equal(p->stage, "decode");
	assert_string_equal(p->residents[0].component, "memory of this run");
	assert_near(p->residents[0].bytes, 68.0 * GIB, 1);
	assert_string_equal(p->residents[1].component, "other processes and the driver");
	assert_near(p->residents[1].bytes, 2.0 * GIB, 1);
	assert_non_null(
		strstr(m->advice.all[0].issue, "GPU memory ran out in 'decode': 16.00 GB were asked for"));
	synthetic_done(&s);
}

/* Its allocator may have got it with its next try, and tells where it did not. */
static void what_the_driver_refuses_torch_is_for_torch_to_tell(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, SECOND, 3 * SECOND, "decode", 0);
	refused(&s, 2 * SECOND);
	sb_builder_snapshot(s.b, 3 * SECOND, SB_MEMORY_READING_DEVICE, 0, 60 * GIB, 61 * GIB, 70 * GIB);
	m = synthetic_model(&s, 4 * SECOND);
	assert_false(m->out_of_memory.present);
	assert_int_equal(m->out_of_memory.count, 0);
	synthetic_done(&s);
}

/* CuPy's error, as the exception says it. */
static void what_an_exception_tells_counts_once(void **state)
{
	struct strobe_attr attrs[] = { INT("device", 0), INT("requested_bytes", 16 * GIB) };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, SECOND, 3 * SECOND, "decode", 0);
	refused(&s, 2 * SECOND);
	sb_builder_event(s.b, 2 * SECOND + MS, SB_EVENT_OUT_OF_MEMORY, 0, attrs, 2);
	m = synthetic_model(&s, 4 * SECOND);
	assert_int_equal(m->out_of_memory.count, 1);
	synthetic_done(&s);
}

/* A MemoryError of Python's own says no size. */
static void a_request_of_unknown_size_was_larger_than_what_was_free(void **state)
{
	struct strobe_attr attrs[] = { INT("free_bytes", 2 * GIB), INT("total_bytes", 3 * GIB),
		INT("allocated_bytes", GIB / 2) };
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	sb_builder_event(s.b, SECOND, SB_EVENT_OUT_OF_MEMORY, 0, attrs, 3);
	resident(&s, SECOND + 1000, "other memory of the process", GIB / 2, NULL);
	m = synthetic_model(&s, 4 * SECOND);
	assert_string_equal(m->advice.all[0].id, "out_of_memory");
	assert_string_equal(
		m->advice.all[0].cause, "one request was for more than the 2.0 GB that were free");
	synthetic_done(&s);
}

/* A VAE at full resolution, after a minute of denoising. */
static struct sb_model *vae_fails(struct synthetic *s, int64_t requested, int64_t slack)
{
	synthetic_open(s);
	synthetic_begin(s, SECOND, "video", STROBE_ROLE_GENERATION);
	synthetic_stage(s, 2 * SECOND, 60 * SECOND, "denoise", 0);
	synthetic_begin(s, 60 * SECOND, "vae_decode", 0);
	ran_out(s, 61 * SECOND, requested, slack);
	synthetic_end(s, 62 * SECOND);
	synthetic_end(s, 63 * SECOND);
	return synthetic_model(s, 64 * SECOND);
}

static void it_is_the_first_finding_with_its_place(void **state)
{
	struct synthetic s;
	struct sb_model *m = vae_fails(&s, 8 * GIB, 0);
	const struct sb_advice *f = &m->advice.all[0];

	assert_string_equal(f->id, "out_of_memory");
	assert_string_equal(f->priority, "high");
	assert_string_equal(f->where.stage, "vae_decode");
	assert_string_equal(f->where.file, "/app/vae.py");
	assert_int_equal(f->where.line, 77);
	assert_non_null(strstr(f->issue, "8.00 GB were asked for, 1.00 GB were free"));
	assert_non_null(strstr(f->evidence, "weights of transformer 28.0 GB (bfloat16)"));
	assert_non_null(strstr(f->cause, "without the weights of text_encoder (10.0 GB) it fits"));
	synthetic_done(&s);
}

static void slack_that_would_do_is_fragmentation(void **state)
{
	struct synthetic s;
	struct sb_model *m = vae_fails(&s, 8 * GIB, 9 * GIB);

	assert_near(m->out_of_memory.slack_bytes, 9.0 * GIB, 1);
	assert_string_equal(m->out_of_memory.would_fit[0].free, "allocator slack");
	assert_non_null(strstr(m->advice.all[0].cause, "expandable_segments"));
	synthetic_done(&s);
}

/* 2.5 GB asked of a process that may take 8: 6 are reserved, 3 of them in holes of 64 MB. The device has much more. */
static void fragments_of_a_limited_process_are_named(void **state)
{
	struct strobe_attr attrs[] = { INT("requested_bytes", 5 * GIB / 2), INT("free_bytes", 130 * GIB),
		INT("total_bytes", 140 * GIB), INT("allocated_bytes", 3 * GIB),
		INT("reserved_bytes", 6 * GIB), INT("device", 0), INT("limit_bytes", 8 * GIB),
		INT("fragmented_bytes", 3 * GIB), INT("piece_count", 48),
		INT("largest_piece_bytes", 64 * MIB) };
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_begin(&s, SECOND, "vae_decode", 0);
	sb_builder_event(s.b, 2 * SECOND, SB_EVENT_OUT_OF_MEMORY, 0, attrs, 10);
	resident(&s, 2 * SECOND + 1000, "activations and other tensors", 3 * GIB, NULL);
	resident(&s, 2 * SECOND + 2000, "allocator slack", 3 * GIB, NULL);
	synthetic_end(&s, 3 * SECOND);
	m = synthetic_model(&s, 4 * SECOND);
	f = &m->advice.all[0];
	assert_non_null(
		strstr(f->issue, "2.50 GB were asked for, 2.00 GB were free of the limit of 8.00 GB"));
	assert_non_null(strstr(
		f->cause, "fragmentation: 3.0 GB are reserved and in no use, in 48 pieces of at most 64 MB"));
	synthetic_done(&s);
}

static void what_nothing_gives_is_said(void **state)
{
	struct synthetic s;
	struct sb_model *m = vae_fails(&s, 70 * GIB, 0);

	assert_int_equal(m->out_of_memory.would_fit_count, 2);
	assert_false(m->out_of_memory.would_fit[0].fits);
	assert_non_null(strstr(
		m->advice.all[0].cause, "even without all weights and the slack (38.0 GB) it does not fit"));
	synthetic_done(&s);
}

/* Nothing that is freed or offloaded helps then. */
static void a_request_larger_than_the_device_is_told_as_that(void **state)
{
	struct synthetic s;
	struct sb_model *m = vae_fails(&s, 100 * GIB, 0);
	const struct sb_advice *f = &m->advice.all[0];

	assert_non_null(strstr(f->cause, "the request alone is larger than the device: 100.0 GB of 80.0 GB"));
	assert_non_null(strstr(f->cause, "tiles"));
	assert_null(strstr(f->cause, "offload"));
	assert_non_null(strstr(f->suggestion, "tiles"));
	assert_null(strstr(f->suggestion, "ffload"));
	synthetic_done(&s);
}

static void of_several_times_the_last_is_told(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	ran_out(&s, SECOND, 16 * GIB, 0);
	ran_out(&s, 2 * SECOND, 4 * GIB, 0);
	m = synthetic_model(&s, 3 * SECOND);
	assert_int_equal(m->out_of_memory.count, 2);
	assert_near(m->out_of_memory.requested_bytes, 4.0 * GIB, 1);
	assert_int_equal(m->out_of_memory.resident_count, 3);
	assert_near(m->out_of_memory.residents[0].bytes, 28.0 * GIB, 1);
	assert_int_equal(m->out_of_memory.time_count, 2); /* and each has its row */
	assert_near(m->out_of_memory.times[0].requested_bytes, 16.0 * GIB, 1);
	assert_near(m->out_of_memory.times[0].t_s, 1, 0.001);
	assert_near(finding(m, "out_of_memory")->where.to_s, 2, 0.001);
	synthetic_done(&s);
}

/* ---- the allocator asks again, and gets it ---- */

/* A reading of the memory; retries of the allocator since the one before are said first. */
static void read_memory(struct synthetic *s, uint64_t t_ns, uint64_t within_ns, int64_t retries)
{
	struct strobe_attr attrs[] = { INT("count", retries), INT("device", 0),
		INT("within_ns", (int64_t)within_ns), INT("allocated_bytes", 70 * GIB),
		INT("reserved_bytes", 71 * GIB), INT("before_allocated_bytes", 61 * GIB),
		INT("before_reserved_bytes", 78 * GIB), INT("given_back_bytes", retries * 4 * GIB),
		INT("total_bytes", 79 * GIB) };

	if (retries)
		sb_builder_event(s->b, t_ns, SB_EVENT_ALLOC_RETRIES, 0, attrs, 9);
	sb_builder_snapshot(s->b, t_ns + 50000, SB_MEMORY_READING_DEVICE, 0, 70 * GIB, 71 * GIB, 70 * GIB);
}

static void list_residents(struct synthetic *s, uint64_t t_ns, int64_t set, int64_t transformer_bytes)
{
	resident_at(s, t_ns, "alloc_retries", set, "weights of transformer", transformer_bytes, "bfloat16");
	resident_at(s, t_ns + 1000, "alloc_retries", set, "activations and other tensors", 33 * GIB, NULL);
}

/* Videos of one second of denoising, a decoder of 0.2 s in which the allocator asks again twice, and an export. Memory is read in the
 * middle of the denoising, near its end, and in the export: the third reading sees it, and does not tell which of the three it was. What
 * held the memory is listed by two threads, one after the other in the recording, and not for the last times. */
static void put_retries(struct synthetic *s, int64_t retries)
{
	synthetic_open(s);
	for (uint64_t video = 0; video < 4; video++) {
		uint64_t t = (1 + 2 * video) * SECOND;

		synthetic_begin(s, t, "video", STROBE_ROLE_GENERATION);
		synthetic_stage(s, t + 10 * MS, t + 1010 * MS, "denoise", 0);
		synthetic_stage(s, t + 1020 * MS, t + 1220 * MS, "vae_decode", 0);
		synthetic_stage(s, t + 1230 * MS, t + 1630 * MS, "export", 0);
		synthetic_end(s, t + 1700 * MS);
		read_memory(s, t + 500 * MS, SECOND, 0);
		read_memory(s, t + 900 * MS, 400 * MS, 0);
		read_memory(s, t + 1300 * MS, 400 * MS, retries);
		read_memory(s, t + 1500 * MS, 200 * MS, 0);
	}
	for (uint64_t video = 2; retries && video-- > 0;)
		list_residents(s, (2310 + 2000 * video) * MS, 1 + (int64_t)video, (video ? 28 : 5) * GIB);
}

static void retries_of_the_allocator_are_a_finding_of_their_stage(void **state)
{
	const struct sb_alloc_retries_panel *p;
	const struct sb_advice *f;
	struct synthetic s;
	struct sb_model *m;

	put_retries(&s, 2);
	m = synthetic_model(&s, 10 * SECOND);
	p = &m->alloc_retries;
	assert_int_equal(p->count, 8);
	assert_int_equal(p->reading_count, 4);
	assert_string_equal(p->stage, "vae_decode");
	assert_near(p->slack_bytes, 17.0 * GIB, 1);
	assert_near(p->given_back_bytes, 32.0 * GIB, 1);
	assert_int_equal(p->resident_count, 2);
	assert_string_equal(p->residents[0].component, "activations and other tensors");
	f = finding(m, "allocator_retries");
	assert_non_null(f);
	assert_string_equal(f->priority, "medium");
	assert_string_equal(f->where.stage, "vae_decode");
	assert_true(isnan(f->saves_s));
	assert_non_null(strstr(f->issue,
		"in 'vae_decode': torch's allocator had to ask again 8 times, and gave 32.0 GB back"));
	assert_non_null(strstr(f->evidence,
		"61.0 GB of the 79.0 GB that the GPU has were allocated, and 17.0 GB more reserved"));
	assert_non_null(strstr(f->evidence, "weights of transformer 28.0 GB (bfloat16)"));
	assert_non_null(strstr(f->cause, "the largest model there is transformer (28.0 GB)"));
	assert_non_null(strstr(f->suggestion, "expandable_segments"));
	synthetic_done(&s);
}

static void without_retries_there_is_no_such_finding(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	put_retries(&s, 0);
	m = synthetic_model(&s, 10 * SECOND);
	assert_false(m->alloc_retries.present);
	assert_null(finding(m, "allocator_retries"));
	synthetic_done(&s);
}

/* One in minutes of work says that memory is short, and costs nothing. */
static void a_single_retry_is_low(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, SECOND, 60 * SECOND, "denoise", 0);
	read_memory(&s, 2 * SECOND, SECOND, 1);
	m = synthetic_model(&s, 64 * SECOND);
	assert_string_equal(finding(m, "allocator_retries")->priority, "low");
	assert_string_equal(m->alloc_retries.stage, "denoise");
	assert_non_null(strstr(finding(m, "allocator_retries")->issue, "ask again once"));
	synthetic_done(&s);
}

static void an_error_in_the_same_stage_says_the_retries_itself(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	put_retries(&s, 2);
	ran_out(&s, (7 * 1000 + 1200) * MS, 8 * GIB, 0);
	m = synthetic_model(&s, 10 * SECOND);
	assert_null(finding(m, "allocator_retries"));
	assert_non_null(strstr(finding(m, "out_of_memory")->evidence,
		"; 8 times the allocator got memory by giving its cache back"));
	synthetic_done(&s);
	put_retries(&s, 2);
	ran_out(&s, (7 * 1000 + 500) * MS, 8 * GIB, 0); /* in another one */
	m = synthetic_model(&s, 10 * SECOND);
	assert_non_null(finding(m, "allocator_retries"));
	assert_null(strstr(finding(m, "out_of_memory")->evidence, "giving its cache back"));
	synthetic_done(&s);
}

static void nothing_is_said_where_memory_sufficed(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, SECOND, 2 * SECOND, "denoise", 0);
	m = synthetic_model(&s, 3 * SECOND);
	assert_false(m->out_of_memory.present);
	assert_null(finding(m, "out_of_memory"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_of_unknown_size_was_larger_than_what_was_free),
		cmocka_unit_test(memory_that_the_driver_refuses_has_its_stage_and_what_was_in_use),
		cmocka_unit_test(what_the_driver_refuses_torch_is_for_torch_to_tell),
		cmocka_unit_test(what_an_exception_tells_counts_once),
		cmocka_unit_test(it_is_the_first_finding_with_its_place),
		cmocka_unit_test(slack_that_would_do_is_fragmentation),
		cmocka_unit_test(fragments_of_a_limited_process_are_named),
		cmocka_unit_test(what_nothing_gives_is_said),
		cmocka_unit_test(a_request_larger_than_the_device_is_told_as_that),
		cmocka_unit_test(of_several_times_the_last_is_told),
		cmocka_unit_test(retries_of_the_allocator_are_a_finding_of_their_stage),
		cmocka_unit_test(without_retries_there_is_no_such_finding),
		cmocka_unit_test(a_single_retry_is_low),
		cmocka_unit_test(an_error_in_the_same_stage_says_the_retries_itself),
		cmocka_unit_test(nothing_is_said_where_memory_sufficed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
