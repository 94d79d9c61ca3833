/* A build without SQLite: history commands say so; everything else works. */
#include "store/history.h"

#include "base/error.h"

static int none(void)
{
	return sb_fail(STROBE_ENOTSUP, "this strobe was built without SQLite: history is switched off");
}

bool sb_history_path(char *out_path, size_t size)
{
	if (size)
		*out_path = 0;
	return false;
}

int sb_history_open(const char *path, struct sb_history **out_history)
{
	return none();
}

void sb_history_close(struct sb_history *h)
{
}

int sb_history_add(const struct sb_model *model, const char *run_dir)
{
	return 0;
}

int sb_history_add_job(const struct sb_facts *job, const char *run_dir)
{
	return 0;
}

int sb_history_add_facts(
	struct sb_history *h, const struct sb_facts *facts, const char *run_dir, int64_t *out_id)
{
	return none();
}

int sb_history_list(struct sb_history *h, const struct sb_history_filter *filter,
	struct sb_history_run **out_runs, size_t *out_count)
{
	return none();
}

void sb_history_runs_free(struct sb_history_run *runs, size_t count)
{
}

int sb_history_find(struct sb_history *h, const char *spec, const char *name, int64_t *out_id)
{
	return none();
}

int sb_history_facts(struct sb_history *h, int64_t id, struct sb_facts **out_facts)
{
	return none();
}

int sb_history_trend(struct sb_history *h, const char *metric, const struct sb_history_filter *filter,
	struct sb_history_point **out_points, size_t *out_count)
{
	return none();
}

void sb_history_points_free(struct sb_history_point *points, size_t count)
{
}

int sb_history_prune(struct sb_history *h, const struct sb_history_prune *what, size_t *out_count)
{
	return none();
}

int sb_history_sizes(struct sb_history *h, size_t limit, struct sb_facts ***out_runs, size_t *out_count)
{
	return none();
}
