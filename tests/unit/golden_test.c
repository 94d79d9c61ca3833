/* Recordings of every released format version stay readable, and say what they
 * said then. STROBE_ACCEPT=1 takes what is said now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "synthetic.h"
#include "report/build.h"

#include <glob.h>

static void facts_of(const char *path, struct sb_buf *out)
{
	static const char *const states[] = { "", " open", " skipped", " untimed" };
	struct sb_model_options options = { .now_real_ns = 1 };
	struct sb_model *m;
	struct sb_run *run;

	assert_int_equal(sb_run_open(path, NULL, &run), 0);
	assert_int_equal(sb_report_build(run, &options, &m), 0);
	sb_buf_printf(out,
		"wall %.0f unattributed %.0f complete %d zones %lld open %lld folded %lld dropped %lld "
		"skipped %.0f\n",
		m->stages.wall_s * 1e9, m->stages.unattributed_s * 1e9, m->recording.complete,
		(long long)m->recording.zones, (long long)m->recording.open_zones,
		(long long)m->recording.folded_zones, (long long)m->recording.dropped_count,
		m->recording.skipped_bytes);
	for (size_t i = 0; i < m->stages.stage_count; i++) {
		const struct sb_stage *s = &m->stages.stages[i];

		sb_buf_printf(out, "%*s%s%s%s%s count %lld total %.0f self %.0f%s\n", (int)s->depth * 2, "",
			s->code ? "[" : "", s->code ? s->code : "", s->code ? "] " : "", s->name,
			(long long)s->count, s->total_s * 1e9, s->self_s * 1e9, states[s->state]);
	}
	for (size_t i = 0; i < m->events.count; i++)
		sb_buf_printf(out, "%s %s %.0f\n", m->events.rows[i].kind, m->events.rows[i].name,
			m->events.rows[i].t_s * 1e9);
	sb_model_free(m);
	sb_run_close(run);
}

static void every_golden_recording_says_what_it_said(void **state)
{
	glob_t found;

	assert_int_equal(glob(STROBE_SOURCE_DIR "/tests/golden/*.strobe", 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 4);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct sb_buf now = { 0 }, then = { 0 };
		char expected[512];

#ifndef STROBE_HAVE_ZSTD
		if (strstr(found.gl_pathv[i], "packed"))
			continue;
#endif
		snprintf(expected, sizeof expected, "%s.expected", found.gl_pathv[i]);
		facts_of(found.gl_pathv[i], &now);
		if (getenv("STROBE_ACCEPT"))
			assert_int_equal(sb_buf_write_file(&now, expected, 0644), 0);
		assert_int_equal(sb_buf_read_file(&then, expected, 1 << 20), 0);
		assert_string_equal(sb_buf_text(&now), sb_buf_text(&then));
		sb_buf_done(&now);
		sb_buf_done(&then);
	}
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_golden_recording_says_what_it_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
