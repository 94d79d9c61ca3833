/* recording: what it cost, why detail was folded, what is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/text.h"
#include "synthetic.h"
#include "report/build.h"

#include <fcntl.h>

/* Writes a field of the closed file's header and builds the model again. */
static struct sb_model *with_field(struct synthetic *s, size_t offset, const void *value, size_t size)
{
	struct sb_model_options options = { .now_real_ns = 1 };
	int fd = open(s->path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, value, size, (off_t)offset), (ssize_t)size);
	close(fd);
	sb_model_free(s->model);
	sb_run_close(s->run);
	s->model = NULL;
	s->run = NULL;
	assert_int_equal(sb_run_open(s->path, NULL, &s->run), 0);
	assert_int_equal(sb_report_build(s->run, &options, &s->model), 0);
	return s->model;
}

#define WITH(s, field, value) with_field(s, offsetof(struct sb_file_header, field), &(value), sizeof(value))

static bool says(const struct sb_model *m, const char *words)
{
	struct sb_buf text = { 0 };
	bool said;

	sb_report_text(m, &(struct sb_text_options){ .columns = 400 }, &text);
	said = strstr(sb_buf_text(&text), words) != NULL;
	sb_buf_done(&text);
	return said;
}

/* 20 ms, eight threads that each waited 30 ms for a core at their first event. */
static void threads_that_wait_are_not_what_recording_costs(void **state)
{
	uint64_t waited_ns = 8 * 30 * MS, own_cpu_ns = 9 * MS;
	uint32_t record_ps = 13000;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	for (uint64_t i = 0; i < 8; i++) {
		struct sb_stream_writer *w = i ? sb_builder_thread(s.b, 100 + (uint32_t)i, NULL) : s.main;

		for (uint64_t k = 0; k < 100; k++) {
			sb_builder_begin(w, k * 200000, sb_builder_name(s.b, "work", NULL));
			sb_builder_end(w, (k + 1) * 200000, 0);
		}
	}
	synthetic_model(&s, 20 * MS);
	WITH(&s, record_ps, record_ps);
	WITH(&s, own_cpu_ns, own_cpu_ns);
	m = WITH(&s, slow_ns, waited_ns);
	assert_true(fabs(m->recording.recording_s - 1600 * 13e-9) < 1e-12);
	assert_true(fabs(m->recording.threads_s - 8 * 0.020) < 1e-9);
	assert_true(fabs(m->recording.overhead_ratio - 1600 * 13e-9 / 0.160) < 1e-12);
	assert_true(fabs(m->recording.waiting_s - 0.240) < 1e-12);
	assert_true(isnan(m->recording.own_cpu_ratio)); /* 9 of 20 ms: the monitors' start, no share */
	assert_true(says(m,
		"recording took 0.01 % of the program's threads' time (20.8 us: 13 ns for every 8 bytes)"));
	assert_true(says(m, "strobe's own threads took 9.00 ms of CPU; moving on to the next piece of the "
			    "recording file took 240 ms, waiting included"));
	synthetic_done(&s);
}

static void an_imported_run_has_no_cost_to_tell(void **state)
{
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "work", 0);
	m = synthetic_model(&s, SECOND);
	assert_true(isnan(m->recording.overhead_ratio) && isnan(m->recording.recording_s));
	assert_true(says(m, "  0 dropped\n"));
	synthetic_done(&s);
}

static void why_detail_was_folded_is_said(void **state)
{
	static const char *const words[] = { NULL, "max_trace_bytes", "disk full", "file size limit",
		"max_run_bytes", NULL };
	struct synthetic s;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "work", 0);
	synthetic_model(&s, SECOND);
	for (uint32_t limit = 0; limit < 6; limit++) {
		const char *said = WITH(&s, limited_by, limit)->recording.limited_by;

		if (words[limit])
			assert_string_equal(said, words[limit]);
		else
			assert_null(said);
	}
	synthetic_done(&s);
}

static bool warns(const struct sb_model *m, const char *words)
{
	for (size_t i = 0; i < m->recording.warning_count; i++)
		if (strstr(m->recording.warnings[i], words))
			return true;
	return false;
}

/* Where the last HOT chunk of a writer lies. */
static uint64_t last_chunk(const struct synthetic *s, uint32_t tid)
{
	const struct sb_reader *r = s->run->processes[0].reader;
	uint64_t offset = 0;

	for (uint32_t i = 0; i < r->chunk_count; i++)
		if (r->chunks[i].stream == SB_STREAM_HOT && r->chunks[i].tid == tid)
			offset = sb_reader_chunk_offset(r, &r->chunks[i]);
	assert_true(offset > 0);
	return offset;
}

static const char nothing[4096];

static void many_zones(struct synthetic *s, struct sb_stream_writer *w)
{
	for (uint64_t k = 0; k < 2000; k++) {
		sb_builder_begin(w, k * 1000, sb_builder_name(s->b, "work", NULL));
		sb_builder_end(w, k * 1000 + 500, 0);
	}
}

static void a_lost_last_chunk_is_noticed_without_an_end(void **state)
{
	uint32_t open = 0;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	many_zones(&s, s.main);
	synthetic_stage(&s, 0, 5, "last", 0);
	sb_builder_begin(sb_builder_thread(s.b, 77, NULL), 5, sb_builder_name(s.b, "one word", NULL));
	m = synthetic_model(&s, SECOND);
	m = WITH(&s, closed, open); /* a crash: nothing is missing */
	assert_false(warns(m, "no other follows"));
	m = with_field(
		&s, last_chunk(&s, s.run->processes[0].reader->head.main_tid), nothing, sizeof nothing);
	assert_true(
		warns(m, "the last chunk of 1 thread is full and no other follows: it was lost, or the end"));
	assert_false(m->recording.complete);
	synthetic_done(&s);
}

static void a_thread_of_which_nothing_is_left_is_noticed_without_an_end(void **state)
{
	uint32_t open = 0, writers = 4, kind = SB_CLOCK_MONOTONIC;
	struct synthetic s;
	struct sb_model *m;

	synthetic_open(&s);
	synthetic_stage(&s, 0, SECOND, "work", 0);
	sb_builder_gpu(s.b, &(struct sb_builder_gpu){ .kind = SB_GPU_KERNEL, .duration_ns = 5 });
	sb_builder_begin(sb_builder_thread(s.b, 77, NULL), 5, sb_builder_name(s.b, "lost", NULL));
	m = synthetic_model(&s, SECOND);
	WITH(&s, writer_count, writers); /* names, GPU records, two threads */
	WITH(&s, clock_kind, kind);
	m = WITH(&s, closed, open);
	assert_false(warns(m, "left nothing"));
	m = with_field(&s, last_chunk(&s, 77), nothing, sizeof nothing);
	assert_true(warns(m, "1 of the 4 threads that recorded left nothing"));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_wait_are_not_what_recording_costs),
		cmocka_unit_test(an_imported_run_has_no_cost_to_tell),
		cmocka_unit_test(why_detail_was_folded_is_said),
		cmocka_unit_test(a_lost_last_chunk_is_noticed_without_an_end),
		cmocka_unit_test(a_thread_of_which_nothing_is_left_is_noticed_without_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
