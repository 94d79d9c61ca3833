/* Lines of the program's source that a run's folder keeps: a later report needs no file of the program's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/python/source.h"
#include "base/buf.h"
#include "report/source_lines.h"
#include "run/folder_files.h"
#include "synthetic.h"

#include <sys/stat.h>
#include <unistd.h>

/* A program of three lines, and the folder of its run, which began after the program was written. */
struct desk {
	char program[32], folder[32], kept[64];
	struct sb_run run;
	struct synthetic s;
	struct sb_model *model;
};

static void write_text(const char *path, const char *text, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void take_model(struct desk *d)
{
	synthetic_open(&d->s);
	d->model = synthetic_model(&d->s, SECOND);
}

static void open_desk(struct desk *d)
{
	static const char text[] = "def wait(until):\n\ttime.sleep(until - now())  # nothing is due\n\n";
	int fd;

	*d = (struct desk){ .program = "/tmp/strobe-XXXXXX.py", .folder = "/tmp/strobe-XXXXXX" };
	fd = mkstemps(d->program, 3);
	assert_true(fd >= 0);
	close(fd);
	write_text(d->program, text, sizeof text - 1);
	assert_non_null(mkdtemp(d->folder));
	snprintf(d->kept, sizeof d->kept, "%s/" SB_SOURCE_LINES_FILE, d->folder);
	d->run = (struct sb_run){ .folder = d->folder, .start_real_ns = UINT64_MAX };
	take_model(d);
}

/* As a report of another day. */
static void report_again(struct desk *d)
{
	synthetic_done(&d->s);
	take_model(d);
}

static void close_desk(struct desk *d)
{
	synthetic_done(&d->s);
	unlink(d->program);
	unlink(d->kept);
	assert_int_equal(rmdir(d->folder), 0);
}

static void keep_all(struct desk *d)
{
	assert_string_equal(sb_source_line(&d->run, d->model, d->program, 2), "time.sleep(until - now())");
	assert_null(sb_source_line(&d->run, d->model, d->program, 3));
	assert_int_equal(sb_source_line_of(&d->run, d->model, d->program, "loop.wait"), 1);
	assert_int_equal(sb_report_source_lines_keep(&d->run, d->model), 0);
}

static void kept_lines_need_no_source(void **state)
{
	struct stat st;
	struct desk d;

	open_desk(&d);
	keep_all(&d);
	assert_int_equal(stat(d.kept, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	unlink(d.program);
	report_again(&d);
	assert_string_equal(sb_source_line(&d.run, d.model, d.program, 2), "time.sleep(until - now())");
	assert_int_equal(sb_source_line_of(&d.run, d.model, d.program, "loop.wait"), 1);
	assert_null(sb_source_line(&d.run, d.model, d.program, 1));
	assert_null(sb_source_line(&d.run, d.model, "/srv/other.py", 2));
	close_desk(&d);
}

static void kept_lines_go_before_an_edited_source(void **state)
{
	struct desk d;

	open_desk(&d);
	keep_all(&d);
	write_text(d.program, "\nimport due\ndue.wait()\n", 22);
	d.run.start_real_ns = 1; /* the edit is later */
	report_again(&d);
	assert_string_equal(sb_source_line(&d.run, d.model, d.program, 2), "time.sleep(until - now())");
	assert_null(sb_source_line(&d.run, d.model, d.program, 1));
	assert_int_equal(sb_source_line_of(&d.run, d.model, d.program, "loop.now"), 0);
	close_desk(&d);
}

static void lines_of_a_later_report_are_added(void **state)
{
	struct desk d;

	open_desk(&d);
	keep_all(&d);
	report_again(&d);
	assert_string_equal(sb_source_line(&d.run, d.model, d.program, 1), "def wait(until):");
	assert_int_equal(sb_report_source_lines_keep(&d.run, d.model), 0);
	unlink(d.program);
	report_again(&d);
	assert_string_equal(sb_source_line(&d.run, d.model, d.program, 1), "def wait(until):");
	assert_string_equal(sb_source_line(&d.run, d.model, d.program, 2), "time.sleep(until - now())");
	close_desk(&d);
}

static void a_link_in_the_folder_is_not_written_through(void **state)
{
	struct sb_buf program = { 0 };
	struct stat st;
	struct desk d;

	open_desk(&d);
	assert_int_equal(symlink(d.program, d.kept), 0);
	keep_all(&d);
	assert_int_equal(lstat(d.kept, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(sb_buf_read_regular(&program, d.program, 1000), 0);
	assert_memory_equal(sb_buf_text(&program), "def wait", 8);
	sb_buf_done(&program);
	close_desk(&d);
}

static void a_damaged_file_is_none(void **state)
{
	static const char *const texts[] = {
		"", "[]", "{", "\xff\xfe{}", "{\"lines\": 7}",
		"{\"lines\": [7, null, {}, {\"file\": null, \"line\": 2}, {\"file\": \"x\", \"line\": -2}]}"
	};
	struct desk d;

	open_desk(&d);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		write_text(d.kept, texts[i], strlen(texts[i]));
		report_again(&d);
		assert_string_equal(
			sb_source_line(&d.run, d.model, d.program, 2), "time.sleep(until - now())");
	}
	close_desk(&d);
}

static void more_lines_than_there_is_room_for_are_left_out(void **state)
{
	struct sb_buf text = { 0 };
	struct desk d;

	open_desk(&d);
	sb_buf_puts(&text, "{\"lines\": [");
	for (int i = 0; i < 2000; i++)
		sb_buf_printf(&text, "%s{\"file\": \"/srv/x.py\", \"line\": %d, \"text\": \"%0300d\"}",
			i ? "," : "", i + 1, i);
	sb_buf_puts(&text, "]}");
	write_text(d.kept, sb_buf_text(&text), text.size);
	sb_buf_done(&text);
	assert_int_equal(strlen(sb_source_line(&d.run, d.model, "/srv/x.py", 1)), SB_SOURCE_LINE_MOST);
	assert_int_equal(d.model->source.count, SB_SOURCE_LINES_MOST);
	assert_null(sb_source_line(&d.run, d.model, "/srv/x.py", 1999));
	assert_string_equal(sb_source_line(&d.run, d.model, d.program, 2), "time.sleep(until - now())");
	assert_int_equal(d.model->source.count, SB_SOURCE_LINES_MOST);
	close_desk(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_lines_need_no_source),
		cmocka_unit_test(kept_lines_go_before_an_edited_source),
		cmocka_unit_test(lines_of_a_later_report_are_added),
		cmocka_unit_test(a_link_in_the_folder_is_not_written_through),
		cmocka_unit_test(a_damaged_file_is_none),
		cmocka_unit_test(more_lines_than_there_is_room_for_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
