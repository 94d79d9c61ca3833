/* `--fail-above`: which changes fail a check. */
#include "compare/compare.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_gates_free(struct sb_gate *gates, size_t count)
{
	for (size_t i = 0; i < count && gates; i++)
		free(gates[i].name);
	free(gates);
}

static int parse_gate(const char *text, size_t size, struct sb_gate *out_gate)
{
	const char *number = text;
	char *end;
	double value;
	bool percent;

	/* the last '=': a stage's name may hold one */
	for (const char *p = text; p < text + size; p++)
		if (*p == '=')
			number = p + 1;
	value = strtod(number, &end);
	percent = *end == '%';
	if (end == number || end + percent != text + size || !(value >= 0))
		return sb_fail(
			STROBE_EINVAL, "--fail-above takes 5%% or NAME=10%%, not '%.*s'", (int)size, text);
	if (!percent && value >= 1)
		return sb_fail(STROBE_EINVAL, "--fail-above %.*s would allow %g %%: write %g%%", (int)size,
			text, 100 * value, value);
	out_gate->ratio = percent ? value / 100 : value;
	out_gate->name = strndup(text, number > text ? (size_t)(number - 1 - text) : 0);
	return out_gate->name ? 0 : sb_fail(STROBE_ENOMEM, "no memory for --fail-above");
}

int sb_gates_parse(const char *text, struct sb_gate **out_gates, size_t *out_count)
{
	struct sb_gate *gates = NULL;
	size_t count = 0;
	int err = 0;

	for (const char *p = text; !err; p++) {
		size_t size = strcspn(p, ",");
		struct sb_gate *grown = realloc(gates, (count + 1) * sizeof *gates);

		if (!grown) {
			err = sb_fail(STROBE_ENOMEM, "no memory for --fail-above");
			break;
		}
		gates = grown;
		gates[count] = (struct sb_gate){ 0 };
		err = parse_gate(p, size, &gates[count]);
		count++;
		p += size;
		if (!*p)
			break;
	}
	if (err) {
		sb_gates_free(gates, count);
		return err;
	}
	*out_gates = gates;
	*out_count = count;
	return 0;
}

/* ---- applying ----------------------------------------------------------- */

static const char *change_text(double base, double now, char *text, size_t size)
{
	sb_change_text(base, now, text, size);
	return text;
}

static int fail_metric(
	struct sb_comparison *c, const struct sb_metric_change *m, double limit, const char *note)
{
	char base[32], now[32], change[32];
	const struct sb_metric_info *info = &sb_metric_infos[m->metric];

	sb_metric_text(m->metric, m->base, base, sizeof base);
	sb_metric_text(m->metric, m->now, now, sizeof now);
	return sb_comparison_say(&c->failures, &c->failure_count, "%s %s -> %s (%s), %s than %g %% allowed%s",
		info->words, base, now, change_text(m->base, m->now, change, sizeof change),
		info->sense == SB_HIGHER_IS_BETTER ? "a larger fall" : "more", 100 * limit, note);
}

/* Past the limit; where there are repetitions, the rank test must bear it out: of them, or of the
 * generations that a rate is of. */
static bool regressed(bool higher_is_worse, double limit, const struct sb_judgement *j)
{
	double shift = isnan(j->shift_ratio) ? (j->now > j->base ? INFINITY : 0) : j->shift_ratio - 1;

	if (!((higher_is_worse ? shift : -shift) > limit) || j->now == j->base)
		return false;
	return j->verdict != SB_VERDICT_UNCERTAIN &&
	       (j->basis != SB_BASIS_RANK_TEST || j->verdict != SB_VERDICT_SAME);
}

/* ", but 3 and 3 repetitions are too few…": then it is no verdict. */
static const char *doubt(const struct sb_comparison *c, const struct sb_judgement *j, char *text, size_t size)
{
	*text = 0;
	if (j->basis == SB_BASIS_TOO_FEW)
		snprintf(text, size,
			": not judged, %" PRIu64 " and %" PRIu64
			" repetitions are too few (%zu a side are needed)",
			j->base_count, j->now_count, sb_judge_count_needed(c->tolerance.alpha));
	return text;
}

static int gate_metric(struct sb_comparison *c, const struct sb_metric_change *m, const struct sb_gate *g)
{
	const struct sb_metric_info *info = &sb_metric_infos[m->metric];
	char note[128];

	if (m->unlike)
		return sb_comparison_say(&c->failures, &c->failure_count,
			"%s cannot be judged: the runs made different numbers of generations (name "
			"generation_s)",
			info->words);

	if (m->metric == SB_METRIC_WALL && m->now == 0 && m->base == 0)
		return sb_comparison_say(&c->failures, &c->failure_count,
			"neither run has a total time: nothing to judge (name a metric or stage)");
	if (isnan(m->now) || isnan(m->base))
		return sb_comparison_say(&c->failures, &c->failure_count, "%s is missing in %s", info->words,
			isnan(m->now) ? "NEW" : "BASE");
	if (regressed(info->sense != SB_HIGHER_IS_BETTER, g->ratio, &m->judgement))
		return fail_metric(c, m, g->ratio, doubt(c, &m->judgement, note, sizeof note));
	return 0;
}

static const struct sb_metric_change *metric_of(const struct sb_comparison *c, int metric)
{
	if (metric >= 0 && (int)c->total.metric == metric)
		return &c->total;
	for (size_t i = 0; i < c->metric_count; i++)
		if ((int)c->metrics[i].metric == metric)
			return &c->metrics[i];
	return NULL;
}

static bool names_stage(const struct sb_stage_change *s, const char *name)
{
	size_t size = strlen(name);

	if (!strcmp(s->name, name) || (s->old_name && !strcmp(s->old_name, name)))
		return true;
	if (!s->code)
		return false;
	if (size > 2 && name[0] == '[' && name[size - 1] == ']')
		return strlen(s->code) == size - 2 && !strncmp(s->code, name + 1, size - 2);
	return !strcmp(s->code, name);
}

static int gate_stage(struct sb_comparison *c, const struct sb_stage_change *s, const struct sb_gate *g)
{
	const struct sb_judgement *j = &s->judgement;
	char label[256], change[32], note[128], base[32], now[32];

	sb_stage_label(s->code, s->name, label, sizeof label);
	if (isnan(s->now_s) || isnan(s->base_s))
		return sb_comparison_say(&c->failures, &c->failure_count, "%s has no time in %s%s%s%s", label,
			isnan(s->now_s) ? "NEW" : "BASE", s->counterpart ? "; '" : "",
			s->counterpart ? s->counterpart : "",
			s->counterpart ? "' stands in its place: was it renamed?" : "");
	if (!regressed(true, g->ratio, j))
		return 0;
	sb_metric_text(SB_METRIC_WALL, j->base, base, sizeof base);
	sb_metric_text(SB_METRIC_WALL, j->now, now, sizeof now);
	return sb_comparison_say(&c->failures, &c->failure_count,
		"%s%s %s -> %s (%s), more than %g %% allowed%s", label, s->per_call ? " (one call)" : "",
		base, now, change_text(j->base, j->now, change, sizeof change), 100 * g->ratio,
		doubt(c, j, note, sizeof note));
}

static int apply(struct sb_comparison *c, const struct sb_gate *g)
{
	int metric = *g->name ? sb_metric_find(g->name) : (int)c->total.metric, err = 0;
	const struct sb_metric_change *m;
	bool found = false;

	/* a stage may carry a metric's name; both are then checked */
	for (size_t i = 0; *g->name && i < c->stage_count && !err; i++)
		if (names_stage(&c->stages[i], g->name)) {
			found = true;
			err = gate_stage(c, &c->stages[i], g);
		}
	/* "peak_memory" is the GPU's where there is one, else the program's own */
	if (metric == SB_METRIC_GPU_MEMORY_PEAK && !metric_of(c, metric) && strstr(g->name, "memory"))
		metric = SB_METRIC_RSS_PEAK;
	m = metric_of(c, metric);
	if (m && !err) {
		found = true;
		err = gate_metric(c, m, g);
	}
	if (!found && !err)
		err = metric >= 0 ? sb_comparison_say(&c->failures, &c->failure_count,
					    "'%s' is missing in BASE and NEW", g->name)
				  : sb_fail(STROBE_EINVAL,
					    "--fail-above %s: neither a metric nor a stage of BASE or NEW",
					    g->name);
	return err;
}

/* A metric that no gate names but that went missing fails too: what is no longer measured
 * can no longer regress. What the machine did as a whole judges no program, here neither. */
static int gate_missing(struct sb_comparison *c, const struct sb_compare_options *options)
{
	int err = 0;

	for (size_t i = 0; i < c->metric_count && !err; i++) {
		const struct sb_metric_change *m = &c->metrics[i];
		bool named = false;

		for (size_t g = 0; g < options->gate_count; g++)
			named |= *options->gates[g].name &&
				 sb_metric_find(options->gates[g].name) == (int)m->metric;
		if (m->verdict == SB_VERDICT_VANISHED && !named &&
			sb_metric_infos[m->metric].sense != SB_NEUTRAL)
			err = sb_comparison_say(&c->failures, &c->failure_count,
				"%s was measured in BASE and is missing in NEW",
				sb_metric_infos[m->metric].words);
	}
	return err;
}

int sb_compare_gate(struct sb_comparison *c, const struct sb_compare_options *options)
{
	int err = 0;

	c->gate_count = options->gate_count + (options->min_psnr_db > 0);
	for (size_t i = 0; i < options->gate_count && !err; i++)
		err = apply(c, &options->gates[i]);
	if (!err && options->gate_count && !options->allow_missing)
		err = gate_missing(c, options);
	if (!err && options->min_psnr_db > 0)
		err = sb_compare_output_gate(c, options->min_psnr_db);
	return err;
}
