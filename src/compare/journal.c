/* Steps of a journal: taken from runs, set against each other, read and written. */
#include "compare/journal.h"

#include "base/buf.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST (16u << 20)

/* ---- key by key ------------------------------------------------------------ */

static const struct sb_field stage_rows[] = {
	SB_FIELD(sb_journal_stage, name, "name", SB_ALWAYS, "name of the stage"),
	SB_FIELD(sb_journal_stage, code, "code", SB_KNOWN, "its code"),
	SB_FIELD(sb_journal_stage, key, "key", SB_ALWAYS, "the same stage in another step has the same one"),
	SB_FIELD(sb_journal_stage, parent, "parent_index", SB_KNOWN,
		"place in the list, from 0, of the stage that it is inside"),
	SB_FIELD(sb_journal_stage, total_s, "total_s", SB_ALWAYS, "time of all calls", .decimals = 9),
};
static SB_FIELDS(stage, sb_journal_stage, "JournalStage", "A stage in one step.");

static const struct sb_field output_rows[] = {
	SB_FIELD(sb_output, path, "path", SB_ALWAYS, "where it was written"),
	SB_FIELD_AS(WHOLE, sb_output, bytes, "size_bytes", SB_KNOWN, "of the file"),
	SB_FIELD(sb_output, sha256, "sha256", SB_KNOWN, "of the file"),
	SB_FIELD_AS(TIME, sb_output, modified_real_ns, "modified_time", SB_SET, "when it was last written"),
	SB_FIELD(sb_output, kept, "kept_path", SB_KNOWN, "a copy in the run's folder"),
	SB_FIELD(sb_output, width, "width_px", SB_KNOWN, "of raw samples"),
	SB_FIELD(sb_output, height, "height_px", SB_KNOWN, "of raw samples"),
	SB_FIELD(sb_output, pixel_format, "pixel_format", SB_KNOWN, "of raw samples"),
};
SB_FIELD_WHEN(has_path, sb_output, it->path != NULL)
static SB_FIELDS(output, sb_output, "JournalOutput", "What a step wrote.", .present = has_path);

static const struct sb_field step_fields_rows[] = {
	SB_FIELD(sb_journal_step, title, "title", SB_ALWAYS, "what was done"),
	SB_FIELD(sb_journal_step, run, "run", SB_ALWAYS, "the run, as it was named"),
	SB_FIELD_AS(TIME, sb_journal_step, start_real_ns, "start_time", SB_SET, "when it was recorded"),
	SB_FIELD(sb_journal_step, commit, "commit", SB_KNOWN, "of the project"),
	SB_FIELD(sb_journal_step, total_s, "total_s", SB_ALWAYS, "of one generation, else of the run",
		.decimals = 9),
	SB_FIELD(sb_journal_step, delta_before_s, "delta_before_s", SB_KNOWN, "against the step before",
		.decimals = 9, .range = SB_SIGNED),
	SB_FIELD(sb_journal_step, delta_base_s, "delta_base_s", SB_KNOWN, "against the baseline",
		.decimals = 9, .range = SB_SIGNED),
	SB_FIELD(sb_journal_step, step_speedup_ratio, "step_speedup_ratio", SB_KNOWN,
		"the step before / this one"),
	SB_FIELD(sb_journal_step, speedup_ratio, "speedup_ratio", SB_KNOWN,
		"the baseline / this one: cumulative"),
	SB_FIELD(sb_journal_step, wall_s, "wall_s", SB_ALWAYS, "of the whole run", .decimals = 9),
	SB_FIELD(sb_journal_step, generation_s, "generation_s", SB_KNOWN, "median of its generations",
		.decimals = 9),
	SB_FIELD(sb_journal_step, digit_s, "time_digit_s", SB_KNOWN,
		"the value of the last digit of the run's times"),
	SB_FIELD(sb_journal_step, fps, "fps", SB_KNOWN, "frames per second end to end"),
	SB_FIELD_AS(WHOLE, sb_journal_step, gpu_memory_peak_bytes, "gpu_memory_peak_bytes", SB_KNOWN,
		"peak GPU memory"),
	SB_FIELD_AS(WHOLE, sb_journal_step, rss_peak_bytes, "rss_peak_bytes", SB_KNOWN,
		"peak memory of the process"),
	SB_FIELD_STRUCT(sb_journal_step, output, "output", SB_KNOWN, output, "the first that it wrote"),
	SB_FIELD(sb_journal_step, output_verdict, "output_verdict", SB_KNOWN,
		"against the baseline's output: identical, same_pixels, changed, unknown"),
	SB_FIELD(sb_journal_step, output_words, "output_words", SB_KNOWN, "the same for people"),
	SB_FIELD(sb_journal_step, psnr_db, "psnr_db", SB_KNOWN, "against the baseline's output",
		.range = SB_SIGNED),
	SB_FIELD(sb_journal_step, ssim_ratio, "ssim_ratio", SB_KNOWN, "against the baseline's output",
		.range = SB_SIGNED),
	SB_FIELD_LIST(sb_journal_step, stages, stage_count, "stages", SB_ALWAYS, stage,
		"in the order in which they began"),
};
static SB_FIELDS(step_fields, sb_journal_step, "JournalStep", "A run of the journal.");

static const struct sb_field sb_journal_fields_rows[] = {
	SB_FIELD_SCHEMA("strobe.journal/1"),
	SB_FIELD(sb_journal, per_generation, "per_generation", SB_ALWAYS, "totals are of one generation"),
	SB_FIELD_LIST(sb_journal, steps, step_count, "steps", SB_ALWAYS, step_fields, "the baseline first"),
};
SB_FIELDS(sb_journal_fields, sb_journal, "Journal", "A baseline, and the steps after it.");

/* ---- memory ---------------------------------------------------------------- */

static void *take(void *owner, size_t size)
{
	struct sb_journal *j = owner;
	void *memory = calloc(1, size ? size : 1);
	void **slot = memory ? sb_vec_push(&j->memory, sizeof *slot) : NULL;

	if (!slot) {
		free(memory);
		return NULL;
	}
	return *slot = memory;
}

static const char *copy_text(struct sb_journal *j, const char *text)
{
	char *copy = text ? take(j, strlen(text) + 1) : NULL;

	return copy ? strcpy(copy, text) : NULL;
}

struct sb_journal *sb_journal_new(void)
{
	struct sb_journal *j = calloc(1, sizeof *j);

	if (!j)
		sb_fail(STROBE_ENOMEM, "no memory for a journal");
	return j;
}

void sb_journal_free(struct sb_journal *j)
{
	void **all;

	if (!j)
		return;
	all = j->memory.items;
	for (size_t i = 0; i < j->memory.count; i++)
		free(all[i]);
	sb_vec_done(&j->memory);
	sb_jsondom_free(j->doc);
	free(j);
}

/* ---- against each other ---------------------------------------------------- */

static void settle(struct sb_journal *j)
{
	j->per_generation = j->step_count > 0;
	for (size_t i = 0; i < j->step_count; i++)
		j->per_generation &= j->steps[i].generation_s > 0;
	for (size_t i = 0; i < j->step_count; i++) {
		struct sb_journal_step *s = &j->steps[i], *before = i ? &j->steps[i - 1] : NULL;

		s->total_s = j->per_generation ? s->generation_s : s->wall_s;
		s->delta_before_s = before ? s->total_s - before->total_s : NAN;
		s->delta_base_s = before ? s->total_s - j->steps[0].total_s : NAN;
		s->step_speedup_ratio = before && s->total_s > 0 ? before->total_s / s->total_s : NAN;
		s->speedup_ratio = before && s->total_s > 0 ? j->steps[0].total_s / s->total_s : NAN;
	}
}

const struct sb_journal_stage *sb_journal_stage(const struct sb_journal_step *step, const char *key)
{
	for (size_t i = 0; i < step->stage_count; i++)
		if (!strcmp(step->stages[i].key, key))
			return &step->stages[i];
	return NULL;
}

/* ---- from a run ------------------------------------------------------------ */

static int by_begin(const void *a, const void *b, void *stages)
{
	const struct sb_fact_stage *all = stages, *x = &all[*(const size_t *)a],
				   *y = &all[*(const size_t *)b];
	double fx = isnan(x->first_s) ? INFINITY : x->first_s, fy = isnan(y->first_s) ? INFINITY : y->first_s;

	int order = strverscmp(x->code ? x->code : "", y->code ? y->code : "");

	if (fx != fy)
		return fx < fy ? -1 : 1;
	if (order) /* what begins together goes by code, labels that hold others first */
		return order;
	return x < y ? -1 : x > y;
}

/* The nearest stage around it that the step keeps. place: 1 + where each stage stands, 0: it is not kept. */
static int64_t kept_parent(const struct sb_facts *run, const struct sb_fact_stage *s, const size_t *place)
{
	int64_t parent = s->parent;

	while (parent >= 0 && !place[parent])
		parent = run->stages[parent].parent;
	return parent < 0 ? -1 : (int64_t)place[parent] - 1;
}

static int take_stages(struct sb_journal *j, const struct sb_facts *run, struct sb_journal_step *step)
{
	size_t *order = calloc(2 * run->stage_count + 1, sizeof *order);
	size_t *place = order ? order + run->stage_count : NULL;

	step->stages = take(j, (run->stage_count + 1) * sizeof *step->stages);
	if (!order || !step->stages) {
		free(order);
		return sb_fail(STROBE_ENOMEM, "no memory for a journal");
	}
	for (size_t i = 0; i < run->stage_count; i++)
		order[i] = i;
	qsort_r(order, run->stage_count, sizeof *order, by_begin, run->stages);
	for (size_t i = 0; i < run->stage_count; i++) {
		const struct sb_fact_stage *s = &run->stages[order[i]];

		if (isnan(s->total_s) || s->state == SB_STAGE_SKIPPED)
			continue;
		step->stages[step->stage_count++] = (struct sb_journal_stage){ copy_text(j, s->name),
			copy_text(j, s->code), copy_text(j, s->key), -1, s->total_s };
		place[order[i]] = step->stage_count;
	}
	for (size_t i = 0; i < run->stage_count; i++)
		if (place[i])
			step->stages[place[i] - 1].parent = kept_parent(run, &run->stages[i], place);
	free(order);
	return 0;
}

/* What the file says of the baseline's output is enough to tell whether another is the same; its frames are read from
 * the baseline's run where that is still there. */
static int compare_output(struct sb_journal *j, const struct sb_output *now, struct sb_journal_step *step)
{
	struct sb_strings strings = { 0 };
	struct sb_output_change change;
	struct sb_output base = j->steps[0].output;
	int err;

	base.state = base.state ? base.state : "written";
	err = sb_output_compare(&base, now, false, &strings, &change);
	if (!err) {
		step->output_verdict = copy_text(j, change.verdict);
		step->output_words = copy_text(j, change.words);
		step->psnr_db = change.psnr_db;
		step->ssim_ratio = change.ssim_ratio;
		sb_output_change_done(&change);
	}
	sb_strings_done(&strings);
	return err;
}

static int take_output(struct sb_journal *j, const struct sb_facts *run, struct sb_journal_step *step)
{
	const struct sb_output *now = run->output_count ? &run->outputs[0] : NULL;

	step->psnr_db = step->ssim_ratio = NAN;
	if (!now)
		return 0;
	step->output = *now;
	step->output.path = copy_text(j, now->path);
	step->output.state = copy_text(j, now->state);
	step->output.why = copy_text(j, now->why);
	step->output.sha256 = copy_text(j, now->sha256);
	step->output.kept = copy_text(j, now->kept);
	step->output.pixel_format = copy_text(j, now->pixel_format);
	return j->step_count && j->steps[0].output.path ? compare_output(j, now, step) : 0;
}

int sb_journal_add(struct sb_journal *j, const struct sb_facts *run, const char *title, const char *commit)
{
	struct sb_journal_step *steps = take(j, (j->step_count + 1) * sizeof *steps), *step;
	int err;

	if (!steps)
		return sb_fail(STROBE_ENOMEM, "no memory for a journal");
	if (j->step_count)
		memcpy(steps, j->steps, j->step_count * sizeof *steps);
	step = &steps[j->step_count];
	*step = (struct sb_journal_step){ .title = copy_text(j, title ? title : run->label),
		.run = copy_text(j, run->label),
		.commit = copy_text(j, commit),
		.start_real_ns = run->start_real_ns,
		.wall_s = run->metrics[SB_METRIC_WALL],
		.generation_s = run->metrics[SB_METRIC_GENERATION],
		.fps = run->metrics[SB_METRIC_FPS],
		.gpu_memory_peak_bytes = run->metrics[SB_METRIC_GPU_MEMORY_PEAK],
		.rss_peak_bytes = run->metrics[SB_METRIC_RSS_PEAK],
		.digit_s = run->digit_s };
	err = take_stages(j, run, step);
	if (!err)
		err = take_output(j, run, step);
	if (err)
		return err;
	j->steps = steps;
	j->step_count++;
	settle(j);
	return 0;
}

/* ---- the file -------------------------------------------------------------- */

static int check(const struct sb_journal *j, const char *path)
{
	for (size_t i = 0; i < j->step_count; i++) {
		const struct sb_journal_step *s = &j->steps[i];

		if (!s->title || !s->run || !(s->wall_s > 0))
			return sb_fail(
				STROBE_EFORMAT, "%s: step %zu lacks its title, run or wall_s", path, i);
		for (size_t k = 0; k < s->stage_count; k++)
			if (!s->stages[k].name || !s->stages[k].key)
				return sb_fail(STROBE_EFORMAT, "%s: a stage of step %zu has no name or key",
					path, i);
	}
	return 0;
}

int sb_journal_read(const char *path, struct sb_journal **out_journal)
{
	struct sb_jsondom_doc *doc = NULL;
	struct sb_journal *j;
	bool ours;
	int err = sb_jsondom_read(path, FILE_MOST, &doc);

	if (err)
		return err;
	ours = !strcmp(
		sb_jsondom_string(sb_jsondom_get(sb_jsondom_root(doc), "schema"), ""), "strobe.journal/1");
	j = ours ? sb_journal_new() : NULL;
	if (!j) {
		sb_jsondom_free(doc);
		return ours ? STROBE_ENOMEM : sb_fail(STROBE_EFORMAT, "'%s' is not a strobe journal", path);
	}
	sb_fields_read(&sb_journal_fields, sb_jsondom_root(doc), take, j, j);
	j->doc = doc;
	err = check(j, path);
	if (err) {
		sb_journal_free(j);
		return err;
	}
	settle(j);
	*out_journal = j;
	return 0;
}

int sb_journal_write(struct sb_journal *j, const char *path)
{
	struct sb_buf out = { 0 };
	struct sb_json json;
	int err;

	sb_json_init(&json, &out, true);
	sb_fields_write(&sb_journal_fields, j, NULL, &json);
	sb_buf_putc(&out, '\n');
	err = sb_buf_write_file(&out, path, 0644);
	sb_buf_done(&out);
	return err;
}
