/* Marks inside a recorded process, as measurements. */
#include "bench_marks.h"
#include "facts_arg.h"

#include "base/error.h"

#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int bench_marks_begin(char *out_folder, size_t size)
{
	const char *place = getenv("TMPDIR");

	snprintf(out_folder, size, "%s/strobe-bench-XXXXXX", place && *place ? place : "/tmp");
	/* these recordings are read once and thrown away */
	setenv("STROBE_HISTORY", "off", 1);
	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	return mkdtemp(out_folder) ? 0 : sb_fail_errno("cannot make '%s'", out_folder);
}

static int forget(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	return remove(path);
}

void bench_marks_done(const char *folder)
{
	if (*folder)
		nftw(folder, forget, 16, FTW_DEPTH | FTW_PHYS);
}

char **bench_marks_command(char **command, const char *folder)
{
	static char self[PATH_MAX];
	const char *before[] = { self, "run", "-q", "--output-dir", folder, "--" };
	size_t count = 0, own = sizeof before / sizeof before[0];
	ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
	char **words;

	while (command[count])
		count++;
	words = malloc((own + count + 1) * sizeof *words);
	if (!words || size < 0) {
		free(words);
		sb_fail(STROBE_EIO, "cannot start strobe itself to record the command");
		return NULL;
	}
	self[size] = 0;
	memcpy(words, before, sizeof before);
	memcpy(words + own, command, (count + 1) * sizeof *words);
	return words;
}

static const struct sb_fact_stage *marked(const struct sb_facts *f, const char *name, uint32_t role)
{
	const struct sb_fact_stage *most = NULL;

	for (size_t i = 0; i < f->stage_count; i++) {
		const struct sb_fact_stage *s = &f->stages[i];
		bool wanted = *name ? !strcmp(s->name, name) : s->role == role;

		if (wanted && s->value_count && (!most || s->value_count > most->value_count))
			most = s;
	}
	return most;
}

static void choose(const struct sb_facts *f, const char *name, const double **out_values, size_t *out_count)
{
	const struct sb_fact_stage *s;

	if (!*name && f->generation_count) {
		*out_values = f->generation_s;
		*out_count = f->generation_count;
		return;
	}
	s = marked(f, name, STROBE_ROLE_ITERATION);
	if (!s && !*name)
		s = marked(f, name, STROBE_ROLE_STEP);
	*out_values = s ? s->values : NULL;
	*out_count = s ? s->value_count : 0;
}

int bench_marks_read(
	const char *folder, const char *name, size_t warmup, struct sb_bench_row *row, size_t *out_added)
{
	struct sb_facts *f = NULL;
	const double *values;
	size_t count;
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof path, "%s/last", folder);
	err = facts_arg_load(path, NULL, false, &f);
	if (err)
		return err;
	choose(f, name, &values, &count);
	*out_added = 0;
	for (size_t i = warmup; i < count && !err; i++, ++*out_added)
		err = sb_bench_add(row, values[i]);
	if (isnan(row->frames_per_clip) && f->metrics[SB_METRIC_FRAMES] > 0 && count)
		row->frames_per_clip = f->metrics[SB_METRIC_FRAMES] / (double)count;
	sb_facts_free(f);
	return err;
}
