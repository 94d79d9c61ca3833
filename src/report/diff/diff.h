/* A comparison of runs, for people, programs and pull requests. */
#ifndef SB_REPORT_DIFF_DIFF_H
#define SB_REPORT_DIFF_DIFF_H

#include "compare/compare.h"
#include "base/buf.h"

struct sb_diff_options {
	int columns; /* 0: 100 */
	bool colour;
	size_t top; /* stages shown; 0: 20 */
};

void sb_diff_text(const struct sb_comparison *c, const struct sb_diff_options *options, struct sb_buf *out);
void sb_diff_json(const struct sb_comparison *c, struct sb_buf *out);
void sb_diff_markdown(
	const struct sb_comparison *c, const struct sb_diff_options *options, struct sb_buf *out);

/* ---- of two jobs: jobs.c; nothing where they are runs ---- */
void sb_diff_jobs_text(const struct sb_comparison *c, size_t top, size_t name_columns, struct sb_buf *out);
void sb_diff_jobs_markdown(const struct sb_comparison *c, size_t top, struct sb_buf *out);

/* ---- words every form shares ---- */
/* "before.txt", "3 runs: a, b, c" */
void sb_diff_side(const struct sb_facts *const *runs, size_t count, struct sb_buf *out);
/* "+17.92 s", "-3.1 GB"; "" when a side is absent */
void sb_diff_delta(enum sb_metric metric, double base, double now, char *out, size_t size);
/* "+6.4 %"; "new" or "gone" where a side is absent, "-" from nothing */
void sb_diff_percent(double base, double now, char *out, size_t size);
/* "116.33 s", "98.41 s", "-17.92 s", "-15.4 %"; a difference that is not known is "n/a". */
struct sb_diff_words {
	char base[32], now[32], delta[40], percent[24];
};
void sb_diff_words(const struct sb_metric_change *change, struct sb_diff_words *out);
/* Whether a line is worth it: what came or went, or what stays and is not of low priority. */
bool sb_diff_shows_finding(const struct sb_finding_change *f);
/* "HIGH memory_leak, gpu.py:95: VRAM grows by 300.0 MB with every step (could save 1.20 s)" */
void sb_diff_finding(const struct sb_finding_change *f, struct sb_buf *out);
#define SB_DIFF_FINDINGS_UNLIKE "one side has a trace of the GPU and the other none: it finds more"
/* What stands for a side that has none: "(none)"; every run had a command, so that one was "not recorded". */
const char *sb_setting_absent(const struct sb_setting_change *s);
/* "rank test p = 0.003, 20 and 20 values" */
void sb_diff_basis(const struct sb_judgement *j, const struct sb_tolerance *tolerance, struct sb_buf *out);

#endif
