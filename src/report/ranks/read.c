/* Reading is what costs; adding is short and done one at a time. */
#include "report/ranks/read.h"

#include "base/error.h"
#include "report/build.h"
#include "run/job.h"
#include "run/run.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct reading {
	struct sb_aggregate *aggregate;
	char *const *paths;
	size_t count, next, done;
	const struct sb_ranks_reading *how;
	pthread_mutex_t lock;
	int err;
	char message[512]; /* of err: messages belong to their thread */
};

static const char *take_next(struct reading *r)
{
	const char *path = NULL;

	pthread_mutex_lock(&r->lock);
	if (r->next < r->count && !r->err)
		path = r->paths[r->next++];
	pthread_mutex_unlock(&r->lock);
	return path;
}

static void add(struct reading *r, const char *path, struct sb_facts *facts, int err)
{
	pthread_mutex_lock(&r->lock);
	err = err ? sb_aggregate_broken(r->aggregate, path, sb_error_message())
		  : sb_aggregate_add(r->aggregate, facts);
	if (err && !r->err) {
		r->err = err;
		snprintf(r->message, sizeof r->message, "%s", sb_error_message());
	}
	r->done++;
	if (r->how->progress)
		r->how->progress(r->how->self, r->done, r->count);
	pthread_mutex_unlock(&r->lock);
}

static void *work(void *context)
{
	struct reading *r = context;
	const char *path;

	while ((path = take_next(r))) {
		struct sb_facts *facts = NULL;
		int err = r->how->load(path, &facts);

		add(r, path, facts, err);
		sb_facts_free(facts);
	}
	return NULL;
}

static size_t threads_of(const struct sb_ranks_reading *how)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (how->threads)
		return how->threads < SB_RANKS_THREADS_MAX ? how->threads : SB_RANKS_THREADS_MAX;
	return cores > 8 ? 8 : cores > 0 ? (size_t)cores : 1;
}

int sb_ranks_read(
	struct sb_aggregate *a, char *const *paths, size_t count, const struct sb_ranks_reading *how)
{
	struct reading r = { .aggregate = a, .paths = paths, .count = count, .how = how };
	pthread_t threads[SB_RANKS_THREADS_MAX];
	size_t wanted = threads_of(how), started = 0;

	pthread_mutex_init(&r.lock, NULL);
	while (started + 1 < wanted && started + 1 < count &&
		!pthread_create(&threads[started], NULL, work, &r))
		started++;
	work(&r);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&r.lock);
	if (r.err)
		return sb_fail(r.err, "%s", r.message);
	if (!a->rank_count)
		return sb_fail(STROBE_EFORMAT,
			"nothing to aggregate: none of %zu inputs could be read%s%s%s%s", count,
			a->problem_count ? ": " : "", a->problem_count ? a->problems[0].label : "",
			a->problem_count ? ": " : "", a->problem_count ? a->problems[0].what : "");
	return sb_aggregate_finish(a);
}

int sb_rank_facts(const char *path, struct sb_facts **out_facts)
{
	struct sb_model_options options = { .calls = true, .no_neighbours = true };
	struct sb_model *model = NULL;
	struct sb_run *run = NULL;
	int err = sb_run_open(path, NULL, &run);

	if (!err)
		err = sb_report_build(run, &options, &model);
	if (!err)
		err = sb_facts_of_model(model, path, out_facts);
	sb_model_free(model);
	sb_run_close(run);
	return err;
}

int sb_ranks_add_attempts(struct sb_aggregate *a, const struct sb_job_attempt *attempts, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		const struct sb_job_attempt *t = &attempts[i];
		size_t world = t->world_size > (int64_t)t->rank_count ? (size_t)t->world_size : t->rank_count;
		char what[96];

		if (t->live)
			snprintf(what, sizeof what, "still runs");
		else
			snprintf(
				what, sizeof what, "%zu of %zu ranks ended in order", t->closed_count, world);
		err = sb_aggregate_add_attempt(a, t->number, t->path, what, t->taken);
	}
	return err;
}

int sb_job_read(const char *path, struct sb_aggregate **out_aggregate)
{
	struct sb_ranks_reading how = { .load = sb_rank_facts };
	struct sb_aggregate *a = NULL;
	struct sb_job job = { 0 };
	int err = sb_job_find(path, &job);

	if (!err && job.rank_count && !(a = sb_aggregate_new()))
		err = STROBE_ENOMEM;
	if (!err && a && job.attempt_count > 1)
		err = sb_ranks_add_attempts(a, job.attempts, job.attempt_count);
	if (!err && a)
		err = sb_ranks_read(a, job.ranks, job.rank_count, &how);
	sb_job_done(&job);
	if (err) {
		sb_aggregate_free(a);
		return err;
	}
	*out_aggregate = a;
	return 0;
}
