/* Marks inside a recorded process, as measurements. */
#include "bench_marks.h"
#include "facts_arg.h"

#include "base/error.h"
#include "base/scratch.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int bench_marks_begin(char *out_folder, size_t size)
{
	/* these recordings are read once and thrown away */
	setenv("STROBE_HISTORY", "off", 1);
	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	return sb_scratch_make(NULL, "bench", out_folder, size);
}

void bench_marks_done(const char *folder)
{
	sb_scratch_remove(folder);
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

/* What was measured: durations in order, what each of them is, and its frames. */
struct marks {
	const double *values;
	size_t count;
	const char *counted; /* "steps", "calls"; NULL: clips */
	double frames; /* of one; NaN: not known */
};

static bool is_called(const struct sb_fact_stage *s, const char *name)
{
	return !strcmp(s->name, name) || (s->code && !strcmp(s->code, name));
}

static const struct sb_fact_stage *marked(const struct sb_facts *f, const char *name, uint32_t role)
{
	const struct sb_fact_stage *most = NULL;

	for (size_t i = 0; i < f->stage_count; i++) {
		const struct sb_fact_stage *s = &f->stages[i];
		bool wanted = *name ? is_called(s, name) : s->role == role;

		if (wanted && s->value_count && (!most || s->value_count > most->value_count))
			most = s;
	}
	return most;
}

/* All frames of the run, shared out; NaN: none were counted. */
static double frames_each(const struct sb_facts *f, double count)
{
	return f->metrics[SB_METRIC_FRAMES] > 0 && count > 0 ? f->metrics[SB_METRIC_FRAMES] / count : NAN;
}

/* Blocks outside every generation make frames that are none of theirs. */
static bool made_elsewhere(const struct sb_facts *f)
{
	for (size_t i = 0; i < f->stage_count; i++) {
		int64_t at = f->stages[i].role == STROBE_ROLE_BLOCK ? (int64_t)i : -1;
		bool block = at >= 0;

		while (at >= 0 && f->stages[at].role != STROBE_ROLE_GENERATION)
			at = f->stages[at].parent;
		if (block && at < 0)
			return true;
	}
	return false;
}

/* A step or a call of a stage makes no clip: the run's frames are not its own. */
static double own_frames(const struct sb_fact_stage *s)
{
	for (size_t i = 0; i < s->attr_count; i++)
		if (!strcmp(s->attrs[i].key, "frames") && s->attrs[i].type == STROBE_TYPE_FLOAT)
			return s->attrs[i].f;
	return NAN;
}

static struct marks marks_of_stage(const struct sb_facts *f, const struct sb_fact_stage *s)
{
	bool clips = s->role == STROBE_ROLE_ITERATION || s->role == STROBE_ROLE_GENERATION;

	return (struct marks){ .values = s->values,
		.count = s->value_count,
		.counted = clips                         ? NULL
			   : s->role == STROBE_ROLE_STEP ? "steps"
							 : "calls",
		.frames = clips ? frames_each(f, (double)s->count) : own_frames(s) };
}

static struct marks choose(const struct sb_facts *f, const char *name)
{
	const struct sb_fact_stage *s;

	if (!*name && f->generation_count)
		return (struct marks){ .values = f->generation_s,
			.count = f->generation_count,
			.frames = made_elsewhere(f) ? NAN : frames_each(f, (double)f->generation_count) };
	s = marked(f, name, STROBE_ROLE_ITERATION);
	if (!s && !*name)
		s = marked(f, name, STROBE_ROLE_STEP);
	return s ? marks_of_stage(f, s) : (struct marks){ .frames = NAN };
}

/* A clip has given frames: a step, or a call of a stage, has its share of a clip's. */
static double share_of_clip(const struct sb_facts *f, const struct marks *marks, double given)
{
	double clips = f->generation_count ? (double)f->generation_count : 1;

	return marks->counted && marks->count ? given * clips / (double)marks->count : given;
}

int bench_marks_read(const char *folder, const char *name, size_t warmup, double frames,
	struct sb_bench_row *row, size_t *out_added)
{
	struct sb_facts *f = NULL;
	struct marks marks;
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof path, "%s/last", folder);
	err = facts_arg_load(path, NULL, true, &f); /* with the durations of every stage's calls */
	if (err)
		return err;
	marks = choose(f, name);
	*out_added = 0;
	for (size_t i = warmup; i < marks.count && !err; i++, ++*out_added)
		err = sb_bench_add(row, marks.values[i]);
	if (!isnan(frames))
		row->frames_per_clip = share_of_clip(f, &marks, frames);
	else if (isnan(row->frames_per_clip))
		row->frames_per_clip = marks.frames;
	row->counted = marks.counted;
	sb_facts_free(f);
	return err;
}
