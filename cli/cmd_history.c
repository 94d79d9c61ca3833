/* strobe history: every run on this machine, over time. */
#include "command.h"
#include "facts_arg.h"
#include "history_parts.h"
#include "output.h"

#include "run/run.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "report/label.h"
#include "store/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct command_option options[] = {
	{ "name", 0, "NAME", "only runs of this name", false, false },
	{ "metric", 'm', "METRIC", "trend: wall_s, fps, peak_memory..., or a stage's name or code (wall_s)",
		false, false },
	{ "since", 0, "TIME", "only the last 30d, 12h, 90m", false, false },
	{ "limit", 'n', "N", "at most N runs (list 20, trend 200)", false, false },
	{ "keep", 0, "N", "prune: keep the newest N of each name", false, false },
	{ "older-than", 0, "TIME", "prune: remove runs that are older than 90d, 12h...", false, false },
	{ "gone", 0, NULL, "prune: remove runs whose folder was deleted", false, false },
	{ "dry-run", 0, NULL, "prune: print how many, delete nothing", false, false },
	{ "from", 0, "URL", "trend: from the warehouse clickhouse://HOST:PORT/DB, or https://", false,
		false },
	{ "format", 0, "FORMAT", "text or json (text)", false, false },
	{ "db", 0, "FILE", "use this history, not $STROBE_HISTORY or the default", false, false },
	{ 0 },
};

/* "30d", "2w" besides what a cut takes. */
static bool read_time(const struct args *args, const char *option, uint64_t *out_real_ns)
{
	const char *text = args_value(args, option);
	char *end;
	double days;
	int64_t ns;

	*out_real_ns = 0;
	if (!text)
		return true;
	days = strtod(text, &end);
	if (end != text && (!strcmp(end, "d") || !strcmp(end, "w")) && days >= 0 && days < 36500) {
		ns = (int64_t)(days * (*end == 'w' ? 7 : 1) * 86400e9);
	} else if (sb_cut_parse_duration(text, &ns) || ns < 0) {
		complain("--%s takes 30d, 12h, 90m..., not '%s'", option, text);
		return false;
	}
	*out_real_ns = (uint64_t)time(NULL) * 1000000000u - (uint64_t)ns;
	return true;
}

bool history_filter(const struct args *args, size_t limit, struct sb_history_filter *out_filter)
{
	out_filter->name = args_value(args, "name");
	out_filter->limit = limit;
	return args_count(args, "limit", 1, 1000000, &out_filter->limit) &&
	       read_time(args, "since", &out_filter->since_real_ns);
}

bool history_wants_json(const struct args *args)
{
	const char *format = args_value(args, "format");

	return format && !strcmp(format, "json");
}

void history_time(uint64_t real_ns, char *out, size_t size)
{
	time_t t = (time_t)(real_ns / 1000000000u);
	struct tm local;

	if (!real_ns || !localtime_r(&t, &local) || !strftime(out, size, "%Y-%m-%d %H:%M", &local))
		snprintf(out, size, "-");
}

void history_print(struct sb_buf *out)
{
	output_words(stdout, "%s", sb_buf_text(out));
	sb_buf_done(out);
}

/* --since left nothing: says so, and how old the newest one is. what: "run in the history". */
void history_put_too_old(
	const struct args *args, const char *what, uint64_t newest_real_ns, struct sb_buf *out)
{
	char text[32];

	history_time(newest_real_ns, text, sizeof text);
	sb_buf_printf(out, "no %s began in the last %s: the newest one began %s", what,
		args_value(args, "since"), text);
}

/* ---- list --------------------------------------------------------------- */

static void put_run_text(struct sb_buf *out, const struct sb_history_run *r)
{
	static const enum sb_metric shown[] = { SB_METRIC_WALL, SB_METRIC_GENERATION, SB_METRIC_FPS,
		SB_METRIC_GPU_MEMORY_PEAK };
	char text[32];

	history_time(r->start_real_ns, text, sizeof text);
	sb_buf_printf(out, "%6" PRId64 "  %-16s  ", r->id, text);
	sb_label_put(out, *r->name ? r->name : "-", 24);
	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
		enum sb_metric m = shown[i];

		if (m == SB_METRIC_GPU_MEMORY_PEAK && isnan(r->metrics[m]))
			m = SB_METRIC_RSS_PEAK;
		if (isnan(r->metrics[m]))
			snprintf(text, sizeof text, "-");
		else if (m == SB_METRIC_FPS)
			snprintf(text, sizeof text, "%.2f", r->metrics[m]);
		else
			sb_metric_text(m, r->metrics[m], text, sizeof text);
		sb_buf_printf(out, "%12s", text);
	}
	if (r->rank_count)
		sb_buf_printf(out, "  %" PRId64, r->rank_count);
	else if (r->rank >= 0)
		sb_buf_printf(out, "  %" PRId64 " of %" PRId64, r->rank, r->world_size);
	sb_buf_printf(out, "%s\n", r->complete ? "" : "  incomplete");
}

static void put_no_runs(struct sb_buf *out, const char *name)
{
	if (name)
		sb_buf_printf(out, "no run of '%s' in the history", name);
	else
		sb_buf_puts(out, "no runs yet: 'strobe run' adds them, 'strobe history add RUN' too");
}

static int list_nothing_since(const struct args *args, struct sb_history *h, struct sb_history_filter filter)
{
	struct sb_history_run *newest = NULL;
	struct sb_buf out = { 0 };
	size_t count = 0;

	filter.since_real_ns = 0;
	filter.limit = 1;
	if (sb_history_list(h, &filter, &newest, &count))
		return complain_last();
	if (count)
		history_put_too_old(args, "run in the history", newest->start_real_ns, &out);
	else
		put_no_runs(&out, filter.name);
	sb_buf_putc(&out, '\n');
	history_print(&out);
	sb_history_runs_free(newest, count);
	return EXIT_OK;
}

static int list(struct args *args, struct sb_history *h)
{
	struct sb_history_filter filter = { 0 };
	struct sb_history_run *runs = NULL;
	struct sb_buf out = { 0 };
	struct sb_json j;
	size_t count = 0;

	if (!history_filter(args, 20, &filter))
		return EXIT_USAGE;
	if (sb_history_list(h, &filter, &runs, &count))
		return complain_last();
	if (!count && filter.since_real_ns && !history_wants_json(args))
		return list_nothing_since(args, h, filter);
	if (history_wants_json(args)) {
		sb_json_init(&j, &out, true);
		sb_fields_write_list(&sb_history_run_fields, runs, count, NULL, &j);
		sb_buf_putc(&out, '\n');
	} else if (!count) {
		put_no_runs(&out, filter.name);
		sb_buf_putc(&out, '\n');
	} else {
		sb_buf_printf(&out, "%6s  %-16s  %-24s%12s%12s%12s%12s  ranks\n", "id", "started", "name",
			"total", "generation", "frames/s", "peak memory");
		for (size_t i = 0; i < count; i++)
			put_run_text(&out, &runs[i]);
	}
	history_print(&out);
	sb_history_runs_free(runs, count);
	return EXIT_OK;
}

/* ---- show --------------------------------------------------------------- */

static void put_facts(struct sb_buf *out, const struct sb_facts *f)
{
	char text[64];

	history_time(f->start_real_ns, text, sizeof text);
	sb_buf_printf(out, "== %s: %s, started %s on %s%s\n", f->label, *f->name ? f->name : "(no name)",
		text, *f->host ? f->host : "an unknown host", f->complete ? "" : ", incomplete");
	for (int m = 0; m < SB_METRIC_COUNT; m++) {
		if (isnan(f->metrics[m]))
			continue;
		sb_metric_text((enum sb_metric)m, f->metrics[m], text, sizeof text);
		sb_buf_printf(out, "  %-26s%14s\n", sb_metric_infos[m].words, text);
	}
	if (f->stage_count)
		sb_buf_printf(out, "\n  %-50s%12s%12s%8s\n", "stage", "total", "self", "calls");
	for (size_t i = 0; i < f->stage_count; i++) {
		const struct sb_fact_stage *s = &f->stages[i];
		char label[300], total[32] = "-", self[32] = "-";

		snprintf(label, sizeof label, "%*s%s%s%s%s", (int)s->depth * 2, "", s->code ? "[" : "",
			s->code ? s->code : "", s->code ? "] " : "", s->name);
		if (!isnan(s->total_s))
			sb_metric_text(SB_METRIC_WALL, s->total_s, total, sizeof total);
		if (!isnan(s->self_s))
			sb_metric_text(SB_METRIC_WALL, s->self_s, self, sizeof self);
		sb_buf_puts(out, "  ");
		sb_label_put(out, label, 50);
		sb_buf_printf(out, "%12s%12s%8" PRId64 "\n", total, self, s->count);
	}
	for (size_t i = 0; i < f->pair_count; i++)
		if (f->pairs[i].scope == SB_FACT_TAG || f->pairs[i].scope == SB_FACT_COMMAND)
			sb_buf_printf(out, "  %s: %s\n", f->pairs[i].key, f->pairs[i].value);
}

static void put_ranks(struct sb_buf *out, const struct sb_facts *f)
{
	if (!f->rank_count)
		return;
	sb_buf_printf(out, "\n  %6s  %-24s%12s%12s%12s\n", "rank", "host", "total", "work", "behind");
	for (size_t i = 0; i < f->rank_count; i++) {
		const struct sb_fact_rank *r = &f->ranks[i];
		const double values[] = { r->wall_s, r->work_s, r->behind_s };

		sb_buf_printf(out, "  %6" PRId64 "  ", r->rank);
		sb_label_put(out, *r->host ? r->host : "-", 24);
		for (size_t k = 0; k < 3; k++) {
			char text[32] = "-";

			if (!isnan(values[k]))
				sb_metric_text(SB_METRIC_WALL, values[k], text, sizeof text);
			sb_buf_printf(out, "%12s", text);
		}
		if (r->straggler)
			sb_buf_printf(out, "  straggler%s%s", r->slow_stage ? " in " : "",
				r->slow_stage ? r->slow_stage : "");
		sb_buf_printf(out, "%s\n", r->complete ? "" : "  incomplete");
	}
}

static int show(struct args *args, struct sb_history *h)
{
	const char *spec = args->count > 1 ? args->values[1] : "last";
	struct sb_facts *f = NULL;
	struct sb_buf out = { 0 };
	int64_t id;

	if (sb_history_find(h, spec, args_value(args, "name"), &id) || sb_history_facts(h, id, &f))
		return complain_last();
	put_facts(&out, f);
	put_ranks(&out, f);
	history_print(&out);
	sb_facts_free(f);
	return EXIT_OK;
}

/* ---- add, prune --------------------------------------------------------- */

static void print_added(int64_t id, const char *name, size_t rank_count)
{
	if (rank_count)
		output_words(stdout, "run %" PRId64 ": %s, %zu rank%s\n", id, name, rank_count,
			rank_count == 1 ? "" : "s");
	else
		output_words(stdout, "run %" PRId64 ": %s\n", id, name);
}

static int add(struct args *args, struct sb_history *h)
{
	int code = EXIT_OK;

	if (args->count < 2)
		return complain("nothing to add: name a RUN or a report");
	for (int i = 1; i < args->count && !code; i++) {
		struct sb_facts *f = NULL;
		char path[4096] = "", *full;
		int64_t id;

		if (!sb_run_is_in_page(args->values[i]))
			sb_run_resolve(args->values[i], path, sizeof path);
		full = realpath(*path ? path : args->values[i], NULL);
		if (facts_arg_load(args->values[i], NULL, false, &f) ||
			sb_history_add_facts(h, f, full ? full : args->values[i], &id))
			code = complain_last();
		else
			print_added(id, *f->name ? f->name : args->values[i], f->rank_count);
		sb_facts_free(f);
		free(full);
	}
	return code;
}

static int prune(struct args *args, struct sb_history *h)
{
	struct sb_history_prune what = { .gone = args_has(args, "gone"), .dry = args_has(args, "dry-run") };
	size_t count;

	if (!args_count(args, "keep", 1, 1000000000, &what.keep) ||
		!read_time(args, "older-than", &what.before_real_ns))
		return EXIT_USAGE;
	if (!what.keep && !what.before_real_ns && !what.gone)
		return complain("nothing to prune: give --keep N, --older-than 90d or --gone");
	if (sb_history_prune(h, &what, &count))
		return complain_last();
	printf("%zu run%s %s; folders stay where they are\n", count, count == 1 ? "" : "s",
		what.dry ? "would be forgotten" : "forgotten");
	return EXIT_OK;
}

/* ---- the command -------------------------------------------------------- */

static int run(struct args *args)
{
	static const struct {
		const char *name;
		int (*run)(struct args *args, struct sb_history *h);
	} parts[] = { { "list", list }, { "show", show }, { "trend", history_trend }, { "add", add },
		{ "prune", prune } };
	const char *name = args->count ? args->values[0] : "list", *format = args_value(args, "format");
	struct sb_history *h = NULL;
	int code;

	if (format && strcmp(format, "text") && strcmp(format, "json"))
		return complain("--format takes text or json, not '%s'", format);
	if (args_has(args, "from") && strcmp(name, "trend"))
		return complain("--from is for 'history trend'");
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		if (strcmp(parts[i].name, name))
			continue;
		if (args_has(args, "db") && strcmp(name, "add") && access(args_value(args, "db"), F_OK))
			return complain("there is no history '%s'", args_value(args, "db"));
		if (!args_has(args, "from") && sb_history_open(args_value(args, "db"), &h))
			return complain_last();
		code = parts[i].run(args, h);
		sb_history_close(h);
		return code;
	}
	return complain("history takes list, show, trend, add or prune, not '%s'", name);
}

const struct command cmd_history = {
	.name = "history",
	.usage = "[list|show RUN|trend METRIC|add RUN...|prune] [OPTIONS]",
	.summary = "the numbers of every run on this machine, over time",
	.description =
		"Lists the runs of this machine, shows the numbers of one, and draws one number over time.\n"
		"'strobe run' adds every run to one SQLite file: $STROBE_HISTORY, else strobe/history.db in\n"
		"$XDG_DATA_HOME (~/.local/share). STROBE_HISTORY=off turns this off.\n"
		"RUN is an id from the list, the start of a session id, 'last', 'last~2' or 'best'.\n"
		"A job is one row; 'strobe history show' lists its ranks.\n"
		"'strobe diff best last' and 'strobe diff history:12 last' compare with what is stored "
		"here,\n"
		"even if the run's folder was deleted.",
	.examples = "  strobe history\n"
		    "  strobe history trend fps --name wan_t2v --since 30d\n"
		    "  strobe history trend vae_decode\n"
		    "  strobe history prune --keep 100 --gone",
	.options = options,
	.run = run,
};
