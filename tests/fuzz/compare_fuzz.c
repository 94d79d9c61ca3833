/* libFuzzer: a recording set beside a sound one and beside itself: facts, diff in every
 * form, many ranks in one report, a row of the history. What
 * is JSON must be well formed. */
#include "recording_input.h"

#include "base/jsondom.h"
#include "compare/aggregate.h"
#include "compare/compare.h"
#include "report/diff/diff.h"
#include "report/ranks/ranks.h"
#include "store/history.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct sb_facts *sound; /* of the first seed that was read */
static struct sb_history *history;
static char history_path[64];

static void remove_history(void)
{
	char path[80];

	sb_history_close(history);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s%s", history_path, i ? i == 1 ? "-wal" : "-shm" : "");
		unlink(path);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	snprintf(history_path, sizeof history_path, "%s/strobe-fuzz-%ld.db",
		access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long)getpid());
	if (sb_history_open(history_path, &history))
		history = NULL; /* built without SQLite */
	atexit(remove_history);
	return 0;
}

static void check_json(struct sb_buf *out)
{
	struct sb_jsondom_doc *doc = NULL;

	if (!out->failed && sb_jsondom_parse("fuzz", out->data, out->size, &doc))
		abort();
	sb_jsondom_free(doc);
	sb_buf_done(out);
}

static void compare(const struct sb_facts *base, const struct sb_facts *now)
{
	struct sb_gate gates[] = { { (char *)"", 0.05 }, { (char *)"step", 0.1 } };
	struct sb_compare_options options = { .gates = gates, .gate_count = 2 };
	const struct sb_facts *const sides[2] = { base, now };
	struct sb_diff_options wide = { 0 };
	struct sb_comparison *c;
	struct sb_buf out = { 0 };

	if (sb_compare(&sides[0], 1, &sides[1], 1, &options, &c))
		return;
	sb_diff_text(c, &wide, &out);
	sb_diff_markdown(c, &wide, &out);
	sb_buf_done(&out);
	sb_diff_json(c, &out);
	check_json(&out);
	sb_comparison_free(c);
}

static void aggregate(const struct sb_facts *one, const struct sb_facts *other)
{
	struct sb_aggregate *a = sb_aggregate_new();
	struct sb_aggregate_options options = { 0 };
	struct sb_buf out = { 0 };

	if (!a || sb_aggregate_add(a, one) || sb_aggregate_add(a, other) ||
		sb_aggregate_broken(a, "third", "is missing") || sb_aggregate_finish(a)) {
		sb_aggregate_free(a);
		return;
	}
	sb_aggregate_text(a, &options, &out);
	sb_buf_done(&out);
	sb_aggregate_json(a, &out);
	check_json(&out);
	sb_aggregate_free(a);
}

static void remember(const struct sb_facts *facts)
{
	struct sb_history_prune all = { .before_real_ns = UINT64_MAX / 2 };
	struct sb_facts *again = NULL;
	static unsigned added;
	size_t pruned;
	int64_t id;

	if (!history || sb_history_add_facts(history, facts, NULL, &id))
		return;
	if (sb_history_facts(history, id, &again))
		abort(); /* what was taken can be read */
	sb_facts_free(again);
	if (++added % 64 == 0)
		(void)sb_history_prune(history, &all, &pruned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sb_run *run = input_run(0, data, size);
	struct sb_model *model = input_model(run);
	struct sb_facts *facts = NULL;

	if (model && !sb_facts_of_model(model, "fuzz", &facts)) {
		compare(facts, facts);
		aggregate(facts, facts);
		if (sound) {
			compare(sound, facts);
			compare(facts, sound);
			aggregate(sound, facts);
		}
		remember(facts);
		if (!sound && facts->stage_count > 1) {
			sound = facts;
			facts = NULL;
		}
	}
	sb_facts_free(facts);
	sb_model_free(model);
	sb_run_close(run);
	return 0;
}
