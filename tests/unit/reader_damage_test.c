/* The reader and damaged recordings: what is cut, overwritten or missing is skipped and counted. */
#include "small_recording.h"

static void a_file_cut_at_every_byte_is_read_as_far_as_it_goes(void **state)
{
	struct stat st;
	int64_t next = 600;
	uint64_t damaged;

	write_small(in_root("cut.strobe"));
	assert_int_equal(stat(in_root("cut.strobe"), &st), 0);
	for (off_t size = st.st_size; size-- > 0;) {
		int64_t zones;

		assert_int_equal(truncate(in_root("cut.strobe"), size), 0);
		if (size > 6000 && size % 7) /* the header and the first chunk byte by byte */
			continue;
		zones = zones_of(in_root("cut.strobe"), &damaged);
		if (size < (off_t)sizeof(struct sb_file_header)) {
			assert_int_equal(zones, -1);
			assert_non_null(strstr(sb_error_message(), "cut.strobe"));
			continue;
		}
		/* a cut takes nothing but what it cuts off: open zones stay, so 4 at most */
		assert_true(zones >= 0 && zones <= next + 4);
		next = zones;
	}
}

static void a_chunk_with_a_garbage_header_is_skipped_and_counted(void **state)
{
	struct sb_buf b = { 0 };
	struct sb_chunk_header *h;
	uint64_t damaged;
	int64_t zones;

	write_small(in_root("a.strobe"));
	read_bytes(in_root("a.strobe"), &b);
	h = (struct sb_chunk_header *)(b.data + SB_FILE_HEADER_BYTES);
	h->stream = 77;
	write_bytes(in_root("b.strobe"), b.data, b.size);
	zones = zones_of(in_root("b.strobe"), &damaged);
	assert_int_equal(damaged, 4096);
	assert_true(zones > 300 && zones < 600);
	sb_buf_done(&b);
}

static void garbage_inside_a_chunk_costs_the_rest_of_that_chunk_only(void **state)
{
	uint64_t damaged;
	int64_t zones = zones_with_word(100, 0xff, &damaged); /* kind 15 */

	assert_int_equal(damaged, 4096 - SB_CHUNK_HEADER_BYTES - 100 * 8);
	assert_true(zones > 400 && zones < 600);
	zones_with_word(100, sb_long(SB_EVENT, 4000, 0), &damaged); /* leaves the chunk */
	assert_int_equal(damaged, 4096 - SB_CHUNK_HEADER_BYTES - 100 * 8);
}

static void a_missing_chunk_is_told(void **state)
{
	struct sb_run *run;
	struct sb_buf b = { 0 };

	write_small(in_root("a.strobe"));
	read_bytes(in_root("a.strobe"), &b);
	memset(b.data + SB_FILE_HEADER_BYTES, 0, 4096);
	write_bytes(in_root("b.strobe"), b.data, b.size);
	assert_int_equal(sb_run_open(in_root("b.strobe"), NULL, &run), 0);
	assert_int_equal(sb_run_visit(run, NULL, 0), 0);
	assert_int_equal(run->processes[0].reader->damage[SB_DAMAGE_MISSING].count, 1);
	sb_run_close(run);
	sb_buf_done(&b);
}

/* The model of a file that lost something: not complete, and it says what. */
static void assert_lost(const char *path, int64_t chunks, int64_t bytes, int64_t offset)
{
	struct sb_model_options options = { .now_real_ns = 1 };
	struct sb_model *m;
	struct sb_run *run;
	int64_t count = 0;

	assert_int_equal(sb_run_open(path, NULL, &run), 0);
	assert_int_equal(sb_report_build(run, &options, &m), 0);
	assert_false(m->recording.complete);
	assert_string_equal(m->session.state, "damaged");
	assert_int_equal(m->recording.skipped_bytes, bytes);
	assert_true(m->recording.warning_count > 0);
	for (size_t i = 0; i < m->recording.damage_count; i++)
		count += m->recording.damage[i].count;
	assert_int_equal(count, chunks);
	assert_int_equal(m->recording.damage[0].first_offset, offset);
	sb_model_free(m);
	sb_run_close(run);
}

static void a_page_overwritten_with_zeros_or_ones_makes_the_run_incomplete(void **state)
{
	struct sb_buf b = { 0 };

	write_small(in_root("a.strobe"));
	read_bytes(in_root("a.strobe"), &b);
	for (size_t at = SB_FILE_HEADER_BYTES; at < b.size; at += 4096) {
		char kept[4096];

		memcpy(kept, b.data + at, sizeof kept);
		for (int fill = 0; fill < 256; fill += 255) {
			memset(b.data + at, fill, sizeof kept);
			write_bytes(in_root("b.strobe"), b.data, b.size);
			assert_lost(in_root("b.strobe"), 1, 4096, (int64_t)at);
		}
		memcpy(b.data + at, kept, sizeof kept);
	}
	sb_buf_done(&b);
}

static void a_sector_of_zeros_inside_a_chunk_is_damage(void **state)
{
	struct sb_buf b = { 0 };

	write_small(in_root("a.strobe"));
	read_bytes(in_root("a.strobe"), &b);
	memset(b.data + SB_FILE_HEADER_BYTES + 1024, 0, 1024);
	write_bytes(in_root("b.strobe"), b.data, b.size);
	assert_lost(in_root("b.strobe"), 1, 3072, SB_FILE_HEADER_BYTES + 1024);
	sb_buf_done(&b);
}

static void a_recording_cut_short_is_not_complete(void **state)
{
	struct sb_buf b = { 0 };

	write_small(in_root("a.strobe"));
	read_bytes(in_root("a.strobe"), &b);
	write_bytes(in_root("b.strobe"), b.data, b.size - 2 * 4096);
	assert_lost(in_root("b.strobe"), 2, 2 * 4096, (int64_t)b.size - 2 * 4096);
	sb_buf_done(&b);
}

static void an_unused_rest_of_a_killed_recording_is_no_damage(void **state)
{
	struct sb_builder *b;
	struct sb_stream_writer *w;
	struct sb_run *run;
	struct stat st;

	assert_int_equal(sb_builder_open(in_root("a.strobe"), NULL, &b), 0);
	w = sb_builder_thread(b, 0, NULL);
	sb_builder_begin(w, 100, sb_builder_name(b, "killed", NULL));
	assert_int_equal(sb_builder_abandon(b), 0);
	assert_int_equal(stat(in_root("a.strobe"), &st), 0);
	assert_int_equal(truncate(in_root("a.strobe"), st.st_size + 4096), 0);
	assert_int_equal(sb_run_open(in_root("a.strobe"), NULL, &run), 0);
	for (int k = 0; k < SB_DAMAGE_KINDS; k++)
		assert_int_equal(run->processes[0].reader->damage[k].count, 0);
	sb_run_close(run);
}

/* No signal and no endless reading: the missing part is damage. */
static void a_recording_cut_while_it_is_read_is_damaged(void **state)
{
	struct sb_model_options options = { .now_real_ns = 1 };
	struct sb_model *m;
	struct sb_run *run;

	write_small(in_root("a.strobe"));
	assert_int_equal(sb_run_open(in_root("a.strobe"), NULL, &run), 0);
	assert_int_equal(truncate(in_root("a.strobe"), SB_FILE_HEADER_BYTES + 4096 + 100), 0);
	assert_int_equal(sb_report_build(run, &options, &m), 0);
	assert_false(m->recording.complete);
	assert_true(run->processes[0].reader->damage[SB_DAMAGE_TRUNCATED].count > 0);
	sb_model_free(m);
	sb_run_close(run);
}

/* A hole of a tebibyte: every chunk of it looked at would take minutes and gigabytes. */
static void a_hole_in_a_file_is_skipped_at_once(void **state)
{
	uint64_t damaged;
	struct sb_buf b = { 0 };
	struct sb_file_header *h;

	write_small(in_root("a.strobe"));
	read_bytes(in_root("a.strobe"), &b);
	h = (struct sb_file_header *)b.data;
	h->chunk_count = 1u << 28;
	write_bytes(in_root("a.strobe"), b.data, b.size);
	if (truncate(in_root("a.strobe"), 1ll << 40))
		skip();
	assert_int_equal(zones_of(in_root("a.strobe"), &damaged), 600);
	assert_true(damaged >= (1ll << 40) - (1 << 20));
	sb_buf_done(&b);
}

/* A GPU trace, zones and measured durations on two threads. */
static size_t write_traced(const char *path, struct sb_buf *out)
{
	struct sb_builder_options o = { .rank = -1, .local_rank = -1, .chunk_bytes = 4096 };
	struct sb_builder_gpu kernel = { .kind = SB_GPU_KERNEL,
		.start_ns = 200,
		.duration_ns = 50,
		.launch_ns = 120,
		.launch_tid = 1000 };
	struct sb_builder *b;
	struct sb_stream_writer *w;
	uint32_t name;

	assert_int_equal(sb_builder_open(path, &o, &b), 0);
	kernel.name = name = sb_builder_name(b, "step", NULL);
	for (uint32_t tid = 1000; tid < 1002; tid++) {
		w = sb_builder_thread(b, tid, "worker");
		sb_builder_begin(w, 100, name);
		sb_builder_attr_string(w, SB_NAME_STATE, "warm");
		sb_builder_end(w, 300, name);
		sb_builder_span(w, name, 0, 400, 50, 0, NULL, 0);
		sb_builder_span_open(w, name, 5, 500, 0);
		sb_builder_begin(w, 600, name);
		sb_builder_end(w, 700, name);
	}
	sb_builder_snapshot(b, 700, "after_load", 0, 1, 2, 3);
	for (int i = 0; i < 100; i++) /* more than one chunk */
		sb_builder_gpu(b, &kernel);
	assert_int_equal(sb_builder_close(b, 20000), 0);
	read_bytes(path, out);
	return out->size;
}

static void expect_model(const char *path, const struct sb_buf *bytes, bool damaged)
{
	struct sb_model_options options = { .now_real_ns = 1 };
	struct sb_model *m;
	struct sb_run *run;

	write_bytes(path, bytes->data, bytes->size);
	assert_int_equal(sb_run_open(path, NULL, &run), 0);
	assert_int_equal(sb_report_build(run, &options, &m), 0);
	if (damaged)
		assert_true(run->processes[0].reader->damage[SB_DAMAGE_STREAM].count > 0);
	sb_model_free(m);
	sb_run_close(run);
}

static void a_record_that_became_one_of_the_gpu_is_skipped_and_counted(void **state)
{
	struct sb_buf b = { 0 };
	int changed = 0;

	write_traced(in_root("a.strobe"), &b);
	for (size_t at = SB_FILE_HEADER_BYTES; at + 8 <= b.size; at += 8) {
		uint64_t *word = (uint64_t *)(b.data + at), was = *word;

		if (sb_word_kind(was) != SB_LONG || sb_long_type(was) != SB_SPAN || sb_long_words(was) != 4)
			continue;
		*word = sb_long(SB_GPU, 4, sb_long_aux(was) | SB_GPU_KERNEL << 20);
		expect_model(in_root("b.strobe"), &b, true);
		*word = was;
		changed++;
	}
	assert_int_equal(changed, 2);
	sb_buf_done(&b);
}

/* Every record as every type, every chunk in every stream: nothing relies on their order. */
static void records_in_any_order_are_read(void **state)
{
	struct sb_buf b = { 0 };

	write_traced(in_root("a.strobe"), &b);
	for (size_t at = SB_FILE_HEADER_BYTES; at + 4096 <= b.size; at += 4096) {
		struct sb_chunk_header *h = (struct sb_chunk_header *)(b.data + at);
		uint16_t stream = h->stream;

		for (h->stream = SB_STREAM_HOT; h->stream <= SB_STREAM_DIGEST; h->stream++)
			expect_model(in_root("b.strobe"), &b, false);
		h->stream = stream;
		for (size_t i = SB_CHUNK_HEADER_BYTES; i < 4096 && stream != SB_STREAM_KEEP; i += 8) {
			uint64_t *word = (uint64_t *)(b.data + at + i), was = *word;

			if (sb_word_kind(was) != SB_LONG)
				continue;
			for (uint64_t type = 0; type < 32 && i < 1024; type++) {
				*word = (was & ~(uint64_t)0xff0) | type << 4;
				expect_model(in_root("b.strobe"), &b, false);
			}
			*word = was;
		}
	}
	sb_buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_file_cut_at_every_byte_is_read_as_far_as_it_goes),
		T(a_chunk_with_a_garbage_header_is_skipped_and_counted),
		T(garbage_inside_a_chunk_costs_the_rest_of_that_chunk_only),
		T(a_missing_chunk_is_told),
		T(a_page_overwritten_with_zeros_or_ones_makes_the_run_incomplete),
		T(a_sector_of_zeros_inside_a_chunk_is_damage),
		T(a_recording_cut_short_is_not_complete),
		T(an_unused_rest_of_a_killed_recording_is_no_damage),
		T(a_record_that_became_one_of_the_gpu_is_skipped_and_counted),
		T(records_in_any_order_are_read),
		T(a_recording_cut_while_it_is_read_is_damaged),
		T(a_hole_in_a_file_is_skipped_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
