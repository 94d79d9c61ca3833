/* What held the memory, from the recording of a run that had too little of it. */
#include "bench_held.h"
#include "bench_marks.h"

#include "base/buf.h"
#include "base/memory_units.h"
#include "report/build.h"
#include "report/label.h"
#include "run/run.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 3 };

static void put_residents(const struct sb_out_of_memory_panel *p, struct sb_buf *out)
{
	for (size_t i = 0; i < p->resident_count && i < SHOWN; i++)
		sb_label_printf(out, "%s%.60s %.1f MB", i ? ", " : "; held: ", p->residents[i].component,
			p->residents[i].bytes / SB_MB);
}

/* "asked for 2560.0 MB in vae_decode; held: weights of transformer 28000.0 MB, …" */
static void put_words(const struct sb_out_of_memory_panel *p, struct sb_buf *out)
{
	if (!isnan(p->requested_bytes))
		sb_buf_printf(out, "asked for %.1f MB", p->requested_bytes / SB_MB);
	else
		sb_buf_puts(out, p->killed ? "killed by the kernel" : "memory ran out");
	if (p->stage)
		sb_label_printf(out, " in %.60s", p->stage);
	put_residents(p, out);
}

char *bench_held_words(const char *folder)
{
	char path[PATH_MAX];
	struct sb_model *model = NULL;
	struct sb_run *run = NULL;
	struct sb_buf out = { 0 };
	char *words;

	snprintf(path, sizeof path, "%s/last", folder);
	if (!sb_run_open(path, NULL, &run) && !sb_report_build(run, NULL, &model) &&
		model->out_of_memory.present)
		put_words(&model->out_of_memory, &out);
	words = out.size && !sb_buf_failed(&out) ? strdup(sb_buf_text(&out)) : NULL;
	sb_buf_done(&out);
	sb_model_free(model);
	sb_run_close(run);
	return words;
}

/* What is set for a recording that is thrown away is not for the runs that are measured. */
static void put_back(const char *name, char *before)
{
	if (before)
		setenv(name, before, 1);
	else
		unsetenv(name);
	free(before);
}

static char *kept(const char *name)
{
	const char *value = getenv(name);

	return value ? strdup(value) : NULL;
}

char *bench_held_again(const struct bench_child *child, char **command)
{
	char folder[512] = "", **recorded = NULL, *words = NULL;
	char *history = kept("STROBE_HISTORY"), *report = kept("STROBE_GENERATE_FINAL_REPORT");
	struct bench_run run;

	if (!bench_marks_begin(folder, sizeof folder))
		recorded = bench_marks_command(command, folder);
	if (recorded && !bench_child_run(child, recorded, &run))
		words = bench_held_words(folder);
	free(recorded);
	bench_marks_done(folder);
	put_back("STROBE_HISTORY", history);
	put_back("STROBE_GENERATE_FINAL_REPORT", report);
	return words;
}
