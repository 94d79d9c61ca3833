/* Reads text: whatever hand-made timers and profilers print. Each line is offered to
 * the form whose passage is open, then to the headings of all forms, then to the
 * stage lines. */
#include "base/error.h"
#include "exchange/import.h"
#include "exchange/text_clean.h"
#include "exchange/text_code.h"
#include "exchange/textlog.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINE_MAX_BYTES 4096u
#define PASSAGE_GAP_MAX 12u /* lines of something else inside a passage */

static const struct sb_textform *const forms[] = { &sb_report_form, &sb_summary_form, &sb_iteration_form,
	&sb_memory_form, &sb_benchmark_form, &sb_layers_form, &sb_precision_form, &sb_metrics_form,
	&sb_aggregation_form, &sb_operations_form, &sb_pstats_form, &sb_torch_form, &sb_model_form,
	&sb_call_memory_form, &sb_markdown_form, &sb_journal_form, &sb_cache_form, NULL };

/* ---- small readings for the forms ---- */

bool sb_textlog_seconds(const char *s, double *out_s, const char **out_rest)
{
	int64_t ns;

	if (!sb_stagelog_duration(s, &ns, out_rest))
		return false;
	*out_s = (double)ns / 1e9;
	return true;
}

bool sb_textlog_megabytes(const char *s, double *out_mb, const char **out_rest)
{
	static const struct {
		const char *unit;
		double mb;
	} units[] = { { "GiB", 1024 }, { "GB", 1024 }, { "G", 1024 }, { "MiB", 1 }, { "MB", 1 }, { "M", 1 },
		{ "KB", 1.0 / 1024 }, { "K", 1.0 / 1024 } };
	char *end;
	double value = strtod(s, &end);

	if (end == s || !(value >= 0) || value > 1e12)
		return false;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		size_t n = strlen(units[i].unit);

		if (strncasecmp(end, units[i].unit, n) || isalpha((unsigned char)end[n]))
			continue;
		*out_mb = value * units[i].mb;
		*out_rest = end + n;
		return true;
	}
	return false;
}

bool sb_textlog_take_rule(struct sb_textlog *log, const char *line)
{
	line += strspn(line, " ");
	if ((*line != '=' && *line != '-') || strspn(line, "=- ") != strlen(line))
		return false;
	if (log->form_node && strchr(line, '='))
		log->form = NULL;
	return true;
}

const char *sb_textlog_after(const char *line, const char *label)
{
	size_t n = strlen(label);

	line += strspn(line, " \t-*");
	if (strncasecmp(line, label, n))
		return NULL;
	line += n;
	line += strspn(line, " \t");
	if (*line != ':')
		return NULL;
	return line + 1 + strspn(line + 1, " \t");
}

/* ---- lines ---- */

/* A form that does not open after all leaves the passage at hand as it was. */
static bool open_block(struct sb_textlog *log, const char *line)
{
	uint32_t node = log->form_node;

	for (const struct sb_textform *const *form = forms; *form; form++) {
		if (!(*form)->opens(log, line)) {
			log->form_node = node;
			continue;
		}
		log->form = (*form)->row ? *form : NULL;
		log->form_lines = 0;
		return true;
	}
	return false;
}

/* A text with several runs, one after the other: the log holds the one at hand. */
struct text_runs {
	uint32_t wanted; /* from 1; 0: the last */
	uint32_t count; /* begun so far */
	bool passed; /* the one that is wanted is whole: the rest is only counted */
	struct sb_textlog *log, before; /* before: the run before it */
};

static bool has_content(const struct sb_textlog *log)
{
	return log->stage_count || log->form_count;
}

/* "AFTER OPTIMIZATION 1:". What comes before the first such line may be a run of its own. */
static void begin_run(struct text_runs *runs, const char *name)
{
	struct sb_textlog fresh = { .banner = SB_TEXTLOG_NONE };
	struct sb_textlog *log = runs->log;

	if (has_content(log)) {
		runs->passed |= runs->count == runs->wanted;
		runs->count++;
		if (!runs->passed) {
			sb_textlog_done(&runs->before);
			runs->before = *log;
			*log = fresh;
		}
	}
	if (runs->passed)
		return;
	log->line_count = runs->before.line_count > log->line_count ? runs->before.line_count
								    : log->line_count;
	snprintf(log->session, sizeof log->session, "%.63s", name);
}

/* A heading with nothing below it begins no run. */
static void end_runs(struct text_runs *runs)
{
	struct sb_textlog empty = *runs->log;

	if (runs->count < 2 || runs->passed || has_content(runs->log))
		return;
	*runs->log = runs->before;
	runs->before = empty;
	runs->count--;
}

/* "Resize: 2.00s" */
static bool ends_with_a_time(const char *message)
{
	const char *colon = strrchr(message, ':'), *rest;
	int64_t ns;

	return colon && colon > message &&
	       sb_stagelog_duration(colon + 1 + strspn(colon + 1, " "), &ns, &rest) &&
	       rest[strspn(rest, " .")] == 0;
}

static void note_untaken(struct sb_textlog *log, const char *message)
{
	if (log->untaken_count++)
		return;
	log->untaken_line = log->line_count + 1;
	snprintf(log->untaken, sizeof log->untaken, "%.60s", message);
}

static int take_text(struct text_runs *runs, char *line)
{
	struct sb_textlog *log = runs->log;
	struct sb_stagelog_line parsed;
	char *message, kept[61] = "";
	int err = 0;

	sb_text_strip_colours(line);
	message = sb_text_message(line);
	if (sb_stagelog_is_other_run(message, parsed.name, sizeof parsed.name)) {
		begin_run(runs, parsed.name);
		return 0;
	}
	if (runs->passed)
		return 0;
	if (log->form && log->form->row(log, message, &err)) {
		log->form_lines = 0;
		log->form_count++;
		return err;
	}
	if (err || open_block(log, message))
		return err;
	if (log->form && ++log->form_lines > PASSAGE_GAP_MAX)
		log->form = NULL;
	log->code_count += sb_text_is_code(line);
	if (ends_with_a_time(message))
		snprintf(kept, sizeof kept, "%s", message + strspn(message, " \t"));
	sb_stagelog_parse(line, &parsed);
	if (*kept && parsed.kind == SB_STAGELOG_NOTHING)
		note_untaken(log, kept);
	log->timed_count += parsed.kind != SB_STAGELOG_NOTHING && (parsed.duration_ns || *parsed.bad_time);
	return sb_stagelog_take(log, &parsed);
}

static int read_lines(struct sb_foreign *source, const char *path, struct text_runs *runs)
{
	struct sb_textlog *log = runs->log;
	char line[LINE_MAX_BYTES + 1];
	char buffer[65536];
	size_t used = 0;
	uint64_t offset = 0;
	ssize_t n;
	int err = 0;

	while (!err && (n = sb_foreign_read(source, buffer, sizeof buffer)) > 0) {
		for (ssize_t i = 0; i < n && !err; i++, offset++) {
			if (!buffer[i])
				return sb_fail(STROBE_EFORMAT,
					"'%s' line %llu, byte %llu: a NUL byte, this is not text", path,
					(unsigned long long)log->line_count + 1, (unsigned long long)offset);
			if (buffer[i] != '\n' && buffer[i] != '\r') {
				if (used < LINE_MAX_BYTES)
					line[used++] = buffer[i];
				continue;
			}
			line[used] = 0;
			used = 0;
			err = take_text(runs, line);
			log->line_count += buffer[i] == '\n';
		}
	}
	if (err || n < 0)
		return err ? err : STROBE_EIO;
	if (used) {
		line[used] = 0;
		err = take_text(runs, line);
		log->line_count++;
	}
	return err;
}

/* ---- what could not be believed ---- */

static size_t say(char *note, size_t size, size_t used, const char *words)
{
	int n = used < size ? snprintf(note + used, size - used, "%s%s", used ? "; " : "", words) : 0;

	return used + (n > 0 ? (size_t)n : 0);
}

static void say_untaken(const struct sb_textlog *log, char *note, size_t size, size_t used)
{
	char words[320], more[64] = "";

	if (log->untaken_count > 1)
		snprintf(more, sizeof more, ", as %llu more", (unsigned long long)log->untaken_count - 1);
	snprintf(words, sizeof words,
		"line %llu, '%s', has a time and neither a code such as [4c] nor 'total': it is in no "
		"stage%s",
		(unsigned long long)log->untaken_line, log->untaken, more);
	say(note, size, used, words);
}

static void note_doubts(const struct sb_textlog *log, char *note, size_t size)
{
	char words[320];
	size_t used = 0;

	if (log->bad_count == 1)
		snprintf(words, sizeof words,
			"line %llu: '%s' is not a time a stage can take: kept without one",
			(unsigned long long)log->bad_line, log->bad_time);
	else
		snprintf(words, sizeof words,
			"line %llu: '%s' is not a time a stage can take: kept without one, and %llu more "
			"such "
			"line%s",
			(unsigned long long)log->bad_line, log->bad_time,
			(unsigned long long)log->bad_count - 1, log->bad_count == 2 ? "" : "s");
	if (log->bad_count)
		used = say(note, size, used, words);
	if (log->unended_count) {
		snprintf(words, sizeof words, "%llu started stage%s no total: %s parts' sum is taken",
			(unsigned long long)log->unended_count, log->unended_count == 1 ? " has" : "s have",
			log->unended_count == 1 ? "its" : "their");
		used = say(note, size, used, words);
	}
	if (log->doubts.count == 1)
		snprintf(words, sizeof words, "the text contradicts itself: %s", log->doubts.first);
	else
		snprintf(words, sizeof words, "the text contradicts itself: %s (and %llu more such place%s)",
			log->doubts.first, (unsigned long long)log->doubts.count - 1,
			log->doubts.count == 2 ? "" : "s");
	if (log->doubts.count)
		used = say(note, size, used, words);
	if (log->stage_count && log->untaken_count)
		say_untaken(log, note, size, used);
}

/* Which of several runs this is, before everything else that is said of it. */
static void note_runs(const struct text_runs *runs, const char *path, char *note, size_t size)
{
	char rest[201];

	if (runs->count < 2)
		return;
	snprintf(rest, sizeof rest, "%.200s", note);
	snprintf(note, size,
		"the text has %u runs: this is number %u, '%s'; 'strobe diff %.120s' compares them%s%s",
		runs->count, runs->wanted ? runs->wanted : runs->count, runs->log->session, path,
		*rest ? "; " : "", rest);
}

/* A heading and rules that no row followed are nothing either. */
static bool holds_nothing(const struct sb_textlog *log)
{
	return !log->stage_count &&
	       (!log->form_count ||
		       (!log->count && !log->loops.count && !log->memory.count && !log->samples.count &&
			       !log->variants.count && !log->series.count && !log->gpu.count &&
			       !log->rank_count && !log->model.parameters && !log->operators.count &&
			       !log->caches.count));
}

/* A log may show a line or two of a program; a program may have stage lines in its strings. */
static bool is_source_code(const struct sb_textlog *log)
{
	return log->code_count >= 2 && log->code_count * 4 > log->timed_count;
}

static int check_log(const struct text_runs *runs, const char *path)
{
	const struct sb_textlog *log = runs->log;

	if (runs->wanted > runs->count)
		return sb_fail(STROBE_EINVAL, "'%s' has %u run%s, not %u", path, runs->count,
			runs->count == 1 ? "" : "s", runs->wanted);
	if (holds_nothing(log))
		return sb_fail(STROBE_EFORMAT,
			"'%s': none of its %llu lines is a stage line such as "
			"'[4c] VAE encode (16 frames): 1.25s', and it is not JSON",
			path, (unsigned long long)log->line_count);
	if (is_source_code(log))
		return sb_fail(STROBE_EFORMAT,
			"'%s' is source code, not a log: record the program with 'strobe run -- COMMAND', or "
			"name what it printed",
			path);
	if (!log->form_count && !log->timed_count && !log->skipped_count)
		return sb_fail(STROBE_EFORMAT,
			"'%s': none of its %llu lines is a stage with a time, such as "
			"'[4c] VAE encode (16 frames): 1.25s'",
			path, (unsigned long long)log->line_count);
	if (log->whole_ns >= SB_TEXTLOG_NS_MAX)
		return sb_fail(STROBE_EFORMAT, "'%s': its times add up to more than a century", path);
	return 0;
}

static int import_text(struct sb_foreign *source, const char *path, const char *strobe_path,
	const struct sb_import_options *opts, struct sb_import_summary *out_summary)
{
	struct sb_textlog log = { .banner = SB_TEXTLOG_NONE };
	struct text_runs runs = { .wanted = opts->part, .count = 1, .log = &log };
	int err = read_lines(source, path, &runs);

	end_runs(&runs);
	if (!err)
		err = sb_textlog_settle_benchmarks(&log);
	if (!err) {
		sb_textlog_end_segment(&log);
		if (log.threads)
			log.doubts.count = 0;
		err = check_log(&runs, path);
	}
	note_doubts(&log, out_summary->note, sizeof out_summary->note);
	note_runs(&runs, path, out_summary->note, sizeof out_summary->note);
	out_summary->runs = runs.count;
	if (!err)
		err = sb_textlog_write(&log, path, strobe_path, out_summary->note);
	out_summary->zones = log.count + log.loops.count - log.skipped_count;
	out_summary->skipped = log.skipped_count;
	out_summary->untimed = log.untimed_count;
	out_summary->snapshots = log.memory.count;
	out_summary->samples = log.samples.count;
	sb_textlog_done(&runs.before);
	sb_textlog_done(&log);
	return err;
}

uint32_t sb_text_run_count(struct sb_foreign *source, const char *path)
{
	struct sb_textlog log = { .banner = SB_TEXTLOG_NONE };
	struct text_runs runs = { .count = 1, .log = &log };
	int err = read_lines(source, path, &runs);

	end_runs(&runs);
	sb_textlog_done(&runs.before);
	sb_textlog_done(&log);
	return err ? 1 : runs.count;
}

static bool looks_like_text(const char *bytes, size_t size)
{
	return !memchr(bytes, 0, size);
}

const struct sb_importer sb_text_importer = { "stage log", looks_like_text, import_text };
