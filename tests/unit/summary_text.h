/* The one-screen summary of a synthetic run as text, and how wide it is. */
#ifndef SB_TESTS_SUMMARY_TEXT_H
#define SB_TESTS_SUMMARY_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/summary.h"
#include "format/run_keys.h"
#include "report/summary.h"
#include "synthetic.h"

static inline char *summary_of(
	struct synthetic *s, struct sb_model *m, const struct sb_summary_options *options)
{
	struct sb_buf out = { 0 };

	assert_int_equal(sb_report_summary(m, options, &out), 0);
	return out.data;
}

static inline void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static inline size_t columns_of(const char *line, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += ((unsigned char)line[i] & 0xc0) != 0x80;
	return n;
}

static inline void assert_width(const char *text, size_t columns)
{
	for (const char *line = text; *line;) {
		size_t size = strcspn(line, "\n");

		if (columns_of(line, size) > columns)
			fail_msg("wider than %zu: %.*s", columns, (int)size, line);
		line += size + (line[size] == '\n');
	}
}

/* Four short videos on a GPU that mostly waits for a busy process. */
static inline void short_videos(struct synthetic *s)
{
	static const char *const columns[] = { "process_percent" };
	double cpu = 149;

	for (uint64_t t = SECOND; t < 5 * SECOND; t += SECOND) {
		synthetic_begin(s, t, "a pipeline", STROBE_ROLE_GENERATION);
		synthetic_attr(s, "frames", 1234567);
		synthetic_attr(s, "width", 128);
		synthetic_attr(s, "height", 128);
		for (int i = 0; i < 10; i++)
			synthetic_step(s, t + (uint64_t)i * 3 * MS, t + (uint64_t)(i + 1) * 3 * MS, i, 0);
		synthetic_end(s, t + 30 * MS);
	}
	for (uint64_t at = 0; at <= 6 * SECOND; at += 10 * MS) {
		synthetic_gpu_sample(s, synthetic_gpu(s, 0), at, 1000, 13, 288);
		sb_builder_sample(s->b, sb_builder_schema(s->b, "cpu", -1, columns, 1), at, &cpu, 1);
	}
}

#endif
