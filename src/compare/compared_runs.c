/* Names the runs of a diff: date, host, command, commit, tags. Not what changed between them. */
#include "compare/compare.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

static const char *known(const char *text)
{
	return text && *text ? text : NULL;
}

/* "command" or "commit" */
static const char *started_as(const struct sb_facts *run, const char *key)
{
	for (size_t i = 0; i < run->pair_count; i++)
		if (run->pairs[i].scope == SB_FACT_COMMAND && !strcmp(run->pairs[i].key, key))
			return run->pairs[i].value;
	return NULL;
}

static char *tags_of(const struct sb_facts *run)
{
	struct sb_buf text = { 0 };
	char *out;

	for (size_t i = 0; i < run->pair_count; i++)
		if (run->pairs[i].scope == SB_FACT_TAG)
			sb_buf_printf(&text, "%s%s=%s", text.size ? " " : "", run->pairs[i].key,
				run->pairs[i].value);
	out = text.size && !sb_buf_failed(&text) ? strdup(sb_buf_text(&text)) : NULL;
	sb_buf_done(&text);
	return out;
}

static void name_side(
	struct sb_comparison *c, const char *side, const struct sb_facts *const *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		c->runs[c->run_count++] = (struct sb_compared_run){ .side = side,
			.label = runs[i]->label,
			.id = known(runs[i]->id),
			.name = known(runs[i]->name),
			.host = known(runs[i]->host),
			.command = started_as(runs[i], "command"),
			.commit = started_as(runs[i], "commit"),
			.tags = tags_of(runs[i]),
			.start_real_ns = runs[i]->start_real_ns,
			.median_begin_s = runs[i]->median_begin_s };
}

int sb_compare_name_runs(struct sb_comparison *c)
{
	c->runs = calloc(c->base_count + c->now_count + 1, sizeof *c->runs);
	if (!c->runs)
		return sb_compare_no_memory();
	name_side(c, "base", c->base, c->base_count);
	name_side(c, "new", c->now, c->now_count);
	return 0;
}
