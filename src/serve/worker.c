/* One thread, one queue in, one queue out. Reading a live recording takes
 * nothing from the process that writes it: plain reads of its file. */
#include "serve/worker.h"

#include "compare/compare.h"
#include "report/build.h"
#include "base/error.h"
#include "base/filename.h"
#include "report/diff/diff.h"
#include "report/page/gzip.h"
#include "report/json.h"
#include "report/timeline/timeline.h"
#include "serve/listing.h"
#include "serve/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct sb_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct sb_job *todo, **todo_end;
	struct sb_job *done, **done_end;
	int fd;
	bool stop, running;
};

void sb_job_free(struct sb_job *job)
{
	if (!job)
		return;
	sb_buf_done(&job->body);
	sb_buf_done(&job->timeline);
	free(job->key);
	free(job->path);
	free(job->other);
	free(job);
}

/* ---- the work ---- */

static int pack_timeline(struct sb_run *run, struct sb_buf *out)
{
	struct sb_buf plain = { 0 };
	int err = sb_timeline_write(run, &plain);

	if (!err && sb_gzip(plain.data, plain.size, out)) {
		sb_buf_clear(out);
		sb_buf_add(out, plain.data, plain.size);
	}
	sb_buf_done(&plain);
	return err;
}

static int do_report(struct sb_job *job)
{
	struct sb_model *model = NULL;
	struct sb_run *run = NULL;
	int err = sb_run_open(job->path, NULL, &run);

	if (!err)
		err = sb_report_build(run, &(struct sb_model_options){ 0 }, &model);
	if (!err)
		err = sb_report_json(model, &job->body);
	if (!err)
		err = pack_timeline(run, &job->timeline);
	if (!err)
		job->live = run->live;
	sb_model_free(model);
	sb_run_close(run);
	return err;
}

/* A run that cannot be read is said and counted; the others still answer. */
static void add_run(struct sb_exposition *e, const struct sb_listed *listed)
{
	struct sb_model_options options = { .histograms = true, .max_data_points = 16 };
	struct sb_model *model = NULL;
	struct sb_run *run = NULL;
	struct sb_buf labels = { 0 };
	int err = sb_run_open(listed->path, NULL, &run);

	if (!err)
		err = sb_report_build(run, &options, &model);
	if (!err)
		sb_metrics_add(e, listed->id, model);
	sb_exposition_label(&labels, "run", listed->id);
	sb_exposition_add(e, "strobe_run_readable", "gauge", "0 where a recording could not be read.", "",
		sb_buf_text(&labels), !err);
	sb_buf_done(&labels);
	sb_model_free(model);
	sb_run_close(run);
}

static int do_metrics(struct sb_job *job)
{
	struct sb_exposition e = { 0 };
	struct sb_listing listing = { 0 };
	size_t live = 0;
	int err = sb_listing_scan(job->path, &listing);

	if (err)
		return err;
	for (size_t i = 0; i < listing.count; i++) {
		if (!listing.runs[i].live)
			continue;
		live++;
		add_run(&e, &listing.runs[i]);
	}
	sb_exposition_add(&e, "strobe_runs_live", "gauge", "Recordings in progress.", "", "", (double)live);
	sb_exposition_add(
		&e, "strobe_runs_listed", "gauge", "Recordings found.", "", "", (double)listing.count);
	sb_exposition_write(&e, &job->body);
	if (e.failed || sb_buf_failed(&job->body))
		err = sb_fail(STROBE_ENOMEM, "no memory for the metrics");
	sb_exposition_done(&e);
	sb_listing_done(&listing);
	return err;
}

static int facts_of(const char *path, struct sb_facts **out_facts)
{
	struct sb_model *model = NULL;
	struct sb_run *run = NULL;
	int err = sb_run_open(path, NULL, &run);

	if (!err)
		err = sb_report_build(run, &(struct sb_model_options){ .histograms = true }, &model);
	if (!err)
		err = sb_facts_of_model(model, sb_filename_of(path), out_facts);
	sb_model_free(model);
	sb_run_close(run);
	return err;
}

static int do_diff(struct sb_job *job)
{
	struct sb_facts *base = NULL, *now = NULL;
	struct sb_comparison *comparison = NULL;
	int err = facts_of(job->path, &base);

	if (!err)
		err = facts_of(job->other, &now);
	if (!err)
		err = sb_compare((const struct sb_facts *const *)&base, 1,
			(const struct sb_facts *const *)&now, 1, &(struct sb_compare_options){ 0 },
			&comparison);
	if (!err)
		sb_diff_json(comparison, &job->body);
	sb_comparison_free(comparison);
	sb_facts_free(base);
	sb_facts_free(now);
	return err;
}

static void do_job(struct sb_job *job)
{
	switch (job->kind) {
	case SB_JOB_REPORT: job->err = do_report(job); break;
	case SB_JOB_METRICS: job->err = do_metrics(job); break;
	case SB_JOB_DIFF: job->err = do_diff(job); break;
	}
	if (job->err)
		snprintf(job->message, sizeof job->message, "%s", sb_error_message());
}

/* ---- the thread ---- */

static struct sb_job *next_job(struct sb_worker *w)
{
	struct sb_job *job;

	pthread_mutex_lock(&w->lock);
	while (!w->todo && !w->stop)
		pthread_cond_wait(&w->wake, &w->lock);
	job = w->stop ? NULL : w->todo;
	if (job) {
		w->todo = job->next;
		if (!w->todo)
			w->todo_end = &w->todo;
		job->next = NULL;
	}
	pthread_mutex_unlock(&w->lock);
	return job;
}

static void *work(void *argument)
{
	struct sb_worker *w = argument;
	struct sb_job *job;

	while ((job = next_job(w))) {
		uint64_t one = 1;

		do_job(job);
		pthread_mutex_lock(&w->lock);
		*w->done_end = job;
		w->done_end = &job->next;
		pthread_mutex_unlock(&w->lock);
		if (write(w->fd, &one, sizeof one) < 0)
			continue; /* the counter is full: the reader will wake anyway */
	}
	return NULL;
}

int sb_worker_start(struct sb_worker **out_worker)
{
	struct sb_worker *w = calloc(1, sizeof *w);

	if (!w)
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->todo_end = &w->todo;
	w->done_end = &w->done;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0 || pthread_create(&w->thread, NULL, work, w)) {
		int err = sb_fail_errno("cannot start the thread that reads runs");

		sb_worker_stop(w);
		return err;
	}
	w->running = true;
	*out_worker = w;
	return 0;
}

static void free_all(struct sb_job *job)
{
	while (job) {
		struct sb_job *next = job->next;

		sb_job_free(job);
		job = next;
	}
}

void sb_worker_stop(struct sb_worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	if (w->running)
		pthread_join(w->thread, NULL);
	free_all(w->todo);
	free_all(w->done);
	if (w->fd >= 0)
		close(w->fd);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int sb_worker_fd(const struct sb_worker *w)
{
	return w->fd;
}

int sb_worker_ask(
	struct sb_worker *w, enum sb_job_kind kind, const char *key, const char *path, const char *other)
{
	struct sb_job *job = calloc(1, sizeof *job);

	if (!job)
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	job->kind = kind;
	job->key = strdup(key);
	job->path = strdup(path);
	job->other = other ? strdup(other) : NULL;
	if (!job->key || !job->path || (other && !job->other)) {
		sb_job_free(job);
		return sb_fail(STROBE_ENOMEM, "no memory to serve");
	}
	pthread_mutex_lock(&w->lock);
	*w->todo_end = job;
	w->todo_end = &job->next;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

struct sb_job *sb_worker_take(struct sb_worker *w)
{
	struct sb_job *job;

	pthread_mutex_lock(&w->lock);
	job = w->done;
	if (job) {
		w->done = job->next;
		if (!w->done)
			w->done_end = &w->done;
		job->next = NULL;
	}
	pthread_mutex_unlock(&w->lock);
	return job;
}
