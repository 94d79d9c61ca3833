/* Packed recordings say the same as the ones they were made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "format/packed.h"
#include "report/json.h"
#include "synthetic.h"
#include "report/build.h"

#include <fcntl.h>

#ifdef STROBE_HAVE_ZSTD

/* Every stream, attributes, strings, samples; durations that look like chance. */
static void write_varied(struct synthetic *s, int zones)
{
	const char *columns[] = { "used_bytes", "utilization_percent" };
	uint32_t schema, names[8];
	uint64_t t = 0, x = 88172645463325252ull;
	char name[16];

	synthetic_open(s);
	schema = sb_builder_schema(s->b, "gpu", 0, columns, 2);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "stage_%c", 'a' + i);
		names[i] = sb_builder_name(s->b, name, NULL);
	}
	for (int i = 0; i < zones; i += 4) {
		sb_builder_begin(s->main, t += 100, names[0]);
		for (int k = 0; k < 3; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			sb_builder_begin(s->main, t += 50 + x % 64, names[1 + x % 7]);
			if (k == 0)
				sb_builder_attr(s->main, SB_NAME_FRAMES, (int64_t)(x % 16));
			sb_builder_end(s->main, t += 1000 + (x >> 32) % 4096, 0);
		}
		sb_builder_end(s->main, t += 80, names[0]);
		if (i % 400 == 0) {
			double values[] = { (double)(x % 1000000), (double)(x % 100) };

			sb_builder_sample(s->b, schema, t, values, 2);
			sb_builder_attr_string(s->main, SB_NAME_STATE, "nobody's");
		}
	}
	assert_int_equal(sb_builder_close(s->b, t + 1000), 0);
}

/* The report, without the lines that name the file and its size. */
static void json_of(const char *path, struct sb_buf *out)
{
	struct sb_model_options options = { .now_real_ns = 1 };
	struct sb_model *m;
	struct sb_run *run;

	assert_int_equal(sb_run_open(path, NULL, &run), 0);
	assert_int_equal(sb_report_build(run, &options, &m), 0);
	m->session.run = "run";
	m->recording.bytes = 0;
	assert_int_equal(sb_report_json(m, out), 0);
	sb_model_free(m);
	sb_run_close(run);
}

static void pack(const char *from, const char *to)
{
	struct sb_reader *r;

	assert_int_equal(sb_reader_open(from, &r), 0);
	assert_int_equal(sb_packed_write(r, to), 0);
	sb_reader_close(r);
}

static void a_packed_recording_gives_the_same_report_in_fewer_bytes(void **state)
{
	struct synthetic s;
	struct sb_buf plain = { 0 }, packed = { 0 };
	struct sb_reader *r;
	char path[80];

	write_varied(&s, 40000);
	snprintf(path, sizeof path, "%s.packed", s.path);
	pack(s.path, path);
	json_of(s.path, &plain);
	json_of(path, &packed);
	assert_string_equal(sb_buf_text(&plain), sb_buf_text(&packed));
	assert_int_equal(sb_reader_open(path, &r), 0);
	assert_true(r->file_bytes <= 40000 * 5.2);
	sb_reader_close(r);
	sb_buf_done(&plain);
	sb_buf_done(&packed);
	unlink(path);
	unlink(s.path);
}

static void packing_twice_changes_nothing(void **state)
{
	struct synthetic s;
	struct sb_buf once = { 0 }, twice = { 0 };
	char a[80], b[80];

	write_varied(&s, 400);
	snprintf(a, sizeof a, "%s.1", s.path);
	snprintf(b, sizeof b, "%s.2", s.path);
	pack(s.path, a);
	pack(a, b);
	json_of(a, &once);
	json_of(b, &twice);
	assert_string_equal(sb_buf_text(&once), sb_buf_text(&twice));
	sb_buf_done(&once);
	sb_buf_done(&twice);
	unlink(a);
	unlink(b);
	unlink(s.path);
}

/* Damage in one group costs that group; a cut file loses its index and says so. */
static void damage_is_found_and_told(void **state)
{
	struct synthetic s;
	struct sb_run *run;
	char path[80];
	struct sb_reader *r;
	uint64_t size;
	int fd;

	write_varied(&s, 4000);
	snprintf(path, sizeof path, "%s.packed", s.path);
	pack(s.path, path);
	assert_int_equal(sb_reader_open(path, &r), 0);
	size = r->file_bytes;
	sb_reader_close(r);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "garbage", 7, (off_t)sizeof(struct sb_file_header) + 500), 7);
	assert_int_equal(sb_run_open(path, NULL, &run), 0);
	assert_int_equal(sb_run_visit(run, NULL, 0), 0);
	assert_true(run->processes[0].reader->damage[SB_DAMAGE_PACKED].count > 0);
	sb_run_close(run);
	assert_int_equal(ftruncate(fd, (off_t)size - 1), 0);
	close(fd);
	assert_int_equal(sb_run_open(path, NULL, &run), STROBE_EFORMAT);
	assert_non_null(strstr(sb_error_message(), "cut off"));
	unlink(path);
	unlink(s.path);
}

static void a_packed_copy_beside_its_recording_does_not_count_twice(void **state)
{
	char folder[] = "/tmp/strobe-packed-XXXXXX", plain[64], packed[64];
	struct synthetic s;
	struct sb_run *run;

	write_varied(&s, 400);
	assert_non_null(mkdtemp(folder));
	snprintf(plain, sizeof plain, "%s/run.strobe", folder);
	snprintf(packed, sizeof packed, "%s/run.packed.strobe", folder);
	assert_int_equal(rename(s.path, plain), 0);
	pack(plain, packed);
	assert_int_equal(sb_run_open(folder, NULL, &run), 0);
	assert_int_equal(run->process_count, 1);
	assert_false(run->processes[0].reader->packed);
	sb_run_close(run);
	unlink(plain);
	unlink(packed);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packed_copy_beside_its_recording_does_not_count_twice),
		cmocka_unit_test(a_packed_recording_gives_the_same_report_in_fewer_bytes),
		cmocka_unit_test(packing_twice_changes_nothing),
		cmocka_unit_test(damage_is_found_and_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
