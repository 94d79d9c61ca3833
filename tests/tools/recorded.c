/* Shows what a run recorded outside its zones, one line per fact, for tests:
 *   meta SCOPE KEY VALUE
 *   sample SOURCE DEVICE COLUMN COUNT FIRST LAST MAX
 *   process PID start|end STATUS */
#include "run/events.h"
#include "run/run.h"
#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct column {
	uint64_t count;
	double first, last, max;
};

struct tally {
	struct sb_run *run;
	struct column (*columns)[400]; /* by schema */
};

static void see(void *self, const struct sb_event *e)
{
	struct tally *t = self;
	size_t schema;

	if (e->kind == SB_EVENT_PROCESS) {
		printf("process %" PRIu32 " %s %" PRId64 "\n", e->child.pid,
			e->child.started ? "start" : "end", e->child.status);
		return;
	}
	if (e->kind == SB_EVENT_EVENT) {
		printf("event %s\n", t->run->names[e->name].text);
		return;
	}
	schema = (size_t)(e->sample.schema - t->run->schemas);
	for (uint32_t i = 0; i < e->sample.schema->column_count; i++) {
		struct column *c = &t->columns[schema][i];
		double v = e->sample.values[i];

		if (isnan(v))
			continue;
		c->first = c->count ? c->first : v;
		c->max = c->count ? fmax(c->max, v) : v;
		c->last = v;
		c->count++;
	}
}

static void print_metas(const struct sb_run *run)
{
	static const char *const scopes[] = { "?", "tag", "system", "setting", "run", "missing" };

	for (uint32_t i = 0; i < run->meta_count; i++) {
		const struct sb_run_attr *a = &run->metas[i].attr;

		printf("meta %s %s ", scopes[run->metas[i].scope % 6], a->key);
		if (a->type == STROBE_TYPE_STRING)
			printf("%s\n", a->s);
		else if (a->type == STROBE_TYPE_FLOAT)
			printf("%.17g\n", a->f);
		else
			printf("%" PRId64 "\n", a->i);
	}
}

int main(int argc, char **argv)
{
	struct tally tally = { 0 };
	struct sb_visitor visitor = { .self = &tally,
		.event = see,
		.kinds = 1u << SB_EVENT_SAMPLE | 1u << SB_EVENT_PROCESS | 1u << SB_EVENT_EVENT };

	if (argc != 2 || sb_run_open(argv[1], NULL, &tally.run)) {
		fprintf(stderr, "recorded: %s\n", sb_error_message());
		return 2;
	}
	print_metas(tally.run);
	tally.columns = calloc(tally.run->schema_count + 1, sizeof *tally.columns);
	if (!tally.columns || sb_run_visit(tally.run, &visitor, 1))
		return 2;
	for (uint32_t s = 0; s < tally.run->schema_count; s++)
		for (uint32_t i = 0; i < tally.run->schemas[s].column_count; i++) {
			const struct column *c = &tally.columns[s][i];

			printf("sample %s %d %s %" PRIu64 " %.17g %.17g %.17g\n",
				tally.run->schemas[s].source, tally.run->schemas[s].device,
				tally.run->schemas[s].columns[i], c->count, c->first, c->last, c->max);
		}
	free(tally.columns);
	sb_run_close(tally.run);
	return 0;
}
