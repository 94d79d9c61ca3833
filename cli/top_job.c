/* The ranks of a job in the terminal, read anew at every look. */
#include "top_job.h"
#include "job_arg.h"
#include "top_screen.h"
#include "top_view.h"

#include "base/error.h"
#include "report/ranks/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COST_FACTOR = 20 }; /* reading takes at most a twentieth of one core */

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int read_screen(const char *spec, struct sb_buf *out)
{
	struct sb_aggregate *a = NULL;
	int err = job_arg_read(spec, 0, &a);

	sb_buf_clear(out);
	if (!err)
		sb_ranks_screen(a, spec, out);
	sb_aggregate_free(a);
	return err;
}

/* The view draws lines: those of the text, and a last one with the key. */
static bool split_lines(struct top_view *v)
{
	size_t count = 2, at = 0;

	sb_buf_puts(&v->text, "q quit\n");
	for (size_t i = 0; i < v->text.size; i++)
		count += v->text.data[i] == '\n';
	free(v->lines);
	v->lines = calloc(count, sizeof *v->lines);
	v->line_count = 0;
	while (v->lines && at < v->text.size) {
		const char *end = memchr(v->text.data + at, '\n', v->text.size - at);
		size_t size = end ? (size_t)(end - v->text.data) - at : v->text.size - at;

		v->lines[v->line_count] = (struct top_line){ v->line_count ? TOP_PLAIN : TOP_TITLE, at,
			size };
		v->line_count++;
		at += size + 1;
	}
	return v->lines;
}

static int watch(const char *spec, double interval_s, struct top_view *v)
{
	int code = top_screen_open(), err = 0;
	enum top_key key = TOP_KEY_NONE;

	if (code)
		return code;
	while (key != TOP_KEY_QUIT && !err) {
		double before_s = cpu_s(), pause_s;

		err = read_screen(spec, &v->text);
		if (!err && split_lines(v))
			top_screen_draw(v);
		pause_s = (cpu_s() - before_s) * COST_FACTOR;
		pause_s = pause_s < interval_s ? interval_s : pause_s > 60 ? 60 : pause_s;
		key = err ? key : top_screen_key((int)(pause_s * 1000));
	}
	top_screen_close();
	return err ? complain_last() : EXIT_OK;
}

int top_job(const char *spec, bool once, double interval_s)
{
	struct top_view v = { 0 };
	int code = 0;

	if (!once)
		code = watch(spec, interval_s, &v);
	else if (read_screen(spec, &v.text))
		code = complain_last();
	else
		fputs(sb_buf_text(&v.text), stdout);
	top_view_done(&v);
	return code;
}
