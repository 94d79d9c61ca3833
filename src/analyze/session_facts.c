/* session_info, system, not_recorded: what the run says about itself. */
#include "analyze/analysis.h"
#include "stats/seconds.h"
#include "base/error.h"
#include "base/map.h"
#include "base/room.h"
#include "format/run_keys.h"
#include "format/started.h"
#include "run/neighbours.h"
#include "run/unrecorded.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAIRS_MAX 1024u /* a key more would be compared with all of them */

struct children {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_system_process *all;
	size_t count, room;
	struct sb_map last_of; /* pid -> the last process that had it */
	bool no_memory;
};

static struct sb_pair pair_of(struct sb_model *m, const struct sb_run_attr *a)
{
	return (struct sb_pair){ sb_model_text(m, a->key), a->type, a->i, a->f,
		a->type == STROBE_TYPE_STRING ? sb_model_text(m, a->s) : NULL };
}

/* Metas of one scope, the last word on each key. */
static struct sb_pair *pairs_of(
	struct sb_run *run, struct sb_model *m, enum sb_meta_scope scope, size_t *out_count)
{
	struct sb_pair *all = sb_model_alloc(m, (run->meta_count + 1) * sizeof *all);

	*out_count = 0;
	for (uint32_t i = 0; all && i < run->meta_count; i++) {
		const struct sb_run_attr *a = &run->metas[i].attr;
		size_t k = 0;

		if (run->metas[i].scope != scope)
			continue;
		while (k < *out_count && strcmp(all[k].key, a->key))
			k++;
		if (k == PAIRS_MAX)
			continue;
		*out_count += k == *out_count;
		all[k] = pair_of(m, a);
	}
	return all;
}

static const char *text_meta(struct sb_run *run, const char *key)
{
	const struct sb_run_meta *meta = sb_run_meta_find(run, SB_META_RUN, key);

	return meta && meta->attr.type == STROBE_TYPE_STRING ? meta->attr.s : NULL;
}

/* A tag is a person's word and goes before the launcher's. */
static const char *job_of(struct sb_run *run)
{
	const struct sb_run_meta *tag = sb_run_meta_find(run, SB_META_TAG, "job");

	return tag && tag->attr.type == STROBE_TYPE_STRING ? tag->attr.s : text_meta(run, SB_RUN_JOB);
}

static double number_meta(struct sb_run *run, const char *key)
{
	const struct sb_run_meta *meta = sb_run_meta_find(run, SB_META_RUN, key);

	if (!meta || meta->attr.type == STROBE_TYPE_STRING)
		return NAN;
	return meta->attr.type == STROBE_TYPE_FLOAT ? meta->attr.f : (double)meta->attr.i;
}

/* -1: unknown, or nonsense of a damaged file. */
static int64_t count_meta(struct sb_run *run, const char *key)
{
	double value = number_meta(run, key);

	return value >= 0 && value < 1e15 ? (int64_t)value : -1;
}

static void exit_of(int64_t status, int64_t *out_code, int64_t *out_signal)
{
	if (status < 0)
		return;
	if (WIFEXITED((int)status))
		*out_code = WEXITSTATUS((int)status);
	else if (WIFSIGNALED((int)status))
		*out_signal = WTERMSIG((int)status);
}

/* Host names alone may be shared: two machines called localhost. An imported trace does not say which machine it
 * is from: its clock is its own. */
static const char *clock_of(struct sb_run *run, struct sb_model *m, const struct sb_file_header *h)
{
	char text[sizeof h->host + sizeof h->boot_id + 2];

	if (sb_run_meta_find(run, SB_META_RUN, SB_RUN_IMPORTED_FROM))
		return m->session.run;
	snprintf(text, sizeof text, "%.*s %.*s", (int)sizeof h->host, h->host, (int)sizeof h->boot_id,
		h->boot_id);
	return *h->host ? sb_model_text(m, text) : NULL;
}

/* Of FOLDER/rank_<N>, a rank of a run of several: `strobe run` has written them beside the ranks' recordings. */
static void take_launched(const struct sb_run *run, struct sb_model *m)
{
	struct sb_session_panel *s = &m->session;
	const char *name = run->path ? strrchr(run->path, '/') : NULL;
	struct sb_started started;
	char path[PATH_MAX];

	if (s->command || s->commit || !name || strncmp(name, "/rank_", 6) != 0 ||
		snprintf(path, sizeof path, "%.*s/run.strobe", (int)(name - run->path), run->path) >=
			(int)sizeof path ||
		!sb_started_read(path, SB_INFILE_LISTED, &started))
		return;
	s->command = *started.command ? sb_model_text(m, started.command) : NULL;
	s->commit = *started.commit ? sb_model_text(m, started.commit) : NULL;
}

static void fill_session(struct sb_run *run, struct sb_model *m)
{
	struct sb_session_panel *s = &m->session;
	const struct sb_file_header *h = &run->processes[run->main_process].reader->head;
	char id[33], duration[32];
	struct timespec now;

	for (int i = 0; i < 16; i++)
		snprintf(id + 2 * i, 3, "%02x", h->session_uuid[i]);
	s->id = sb_model_text(m, id);
	s->name = sb_model_text(m, h->name);
	s->host = *h->host ? sb_model_text(m, h->host) : NULL;
	s->job = sb_model_text(m, job_of(run));
	s->attempt = count_meta(run, SB_RUN_ATTEMPT);
	s->run = sb_model_text(m, run->path);
	s->command = sb_model_text(m, text_meta(run, SB_RUN_COMMAND));
	s->commit = sb_model_text(m, text_meta(run, SB_RUN_COMMIT));
	take_launched(run, m);
	s->outcome = sb_model_text(m, text_meta(run, SB_RUN_OUTCOME));
	s->left_behind = sb_model_text(m, text_meta(run, SB_RUN_LEFT_BEHIND));
	s->cpu_s = number_meta(run, SB_RUN_CPU_S);
	s->peak_rss_bytes = number_meta(run, SB_RUN_PEAK_RSS_BYTES);
	s->process_count = count_meta(run, SB_RUN_PROCESS_COUNT);
	s->state = run->live ? "live" : run->complete ? "complete" : "ended without a stop";
	s->start_real_ns = run->start_real_ns;
	s->end_real_ns = run->start_real_ns + (uint64_t)run->wall_ns;
	clock_gettime(CLOCK_REALTIME, &now);
	s->generated_real_ns = sb_model_build_options(m)->now_real_ns;
	if (!s->generated_real_ns)
		s->generated_real_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	s->duration_s = (double)run->wall_ns / 1e9;
	s->digit_s = number_meta(run, SB_RUN_TIME_DIGIT_S);
	if (!(s->digit_s > 0 && s->digit_s < 1e6))
		s->digit_s = NAN;
	s->no_times = count_meta(run, SB_RUN_NO_TIMES) == 1;
	s->file_date = count_meta(run, SB_RUN_FILE_DATE) == 1;
	s->import_note = sb_model_text(m, text_meta(run, SB_RUN_IMPORT_NOTE));
	if (s->no_times)
		snprintf(duration, sizeof duration, "no times");
	else
		sb_text_seconds(duration, sizeof duration, s->duration_s);
	s->duration = sb_model_text(m, duration);
	s->clock = clock_of(run, m, h);
	s->pid = h->pid;
	s->rank = h->rank;
	s->local_rank = h->local_rank;
	s->world_size = h->world_size > 0 ? h->world_size : -1;
	sb_rank_neighbours(s->rank < 0 || sb_model_build_options(m)->no_neighbours ? NULL : run->folder,
		&s->previous_rank, &s->next_rank);
	s->exit_code = s->exit_signal = -1;
	s->failed = h->closed == SB_CLOSED_FAILED;
	s->tags = pairs_of(run, m, SB_META_TAG, &s->tag_count);
	s->cut_from_s = run->is_cut ? (double)run->from_ns / 1e9 : NAN;
	s->cut_to_s = run->is_cut ? (double)run->to_ns / 1e9 : NAN;
	s->cut_generation = run->generation ? run->generation : -1;
}

/* A process that had nothing to trace (a worker that compiles) says nothing of a run in which another one was traced. */
static bool is_elsewhere(const struct sb_run *run, const char *why)
{
	if (!strcmp(why, SB_NEVER_CUDA) || !strcmp(why, SB_FEW_TRACED))
		return sb_run_meta_find(run, SB_META_SYSTEM, "cupti_path"); /* it was traced, or watched */
	if (!strcmp(why, SB_NEVER_GPU) || !strcmp(why, SB_FEW_SAMPLED) || !strcmp(why, SB_NO_SIGNAL) ||
		!strcmp(why, SB_SIGNAL_THEIRS))
		return sb_run_meta_find(run, SB_META_RUN, SB_RUN_GPU_COUNTERS_BEGIN);
	return false;
}

/* META_MISSING: the key says what, the value "why|how". */
static void fill_missing(struct sb_run *run, struct sb_model *m)
{
	for (uint32_t i = 0; i < run->meta_count; i++) {
		const struct sb_run_meta *meta = &run->metas[i];
		char why[SB_STRING_MAX];
		char *how;

		if (meta->scope != SB_META_MISSING || meta->attr.type != STROBE_TYPE_STRING)
			continue;
		snprintf(why, sizeof why, "%s", meta->attr.s);
		how = strchr(why, '|');
		if (how)
			*how++ = 0;
		if (!is_elsewhere(run, why))
			sb_model_missing(m, meta->attr.key, why, how ? how : "");
	}
}

static void add_missing(void *self, const char *what, const char *why, const char *how)
{
	sb_model_missing(self, what, why, how);
}

/* Notes of processes that are still there: the run was not started by `strobe run`, or that was killed. */
static void fill_unrecorded(struct sb_run *run, struct sb_model *m)
{
	int folder = open(run->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	struct sb_unrecorded u;

	if (folder < 0)
		return; /* one file */
	u = sb_unrecorded_count(folder, false);
	close(folder);
	sb_unrecorded_say(&u, add_missing, m);
}

static struct sb_system_process *child_of(struct children *c, int64_t pid, bool started)
{
	uint32_t last;

	if (sb_map_get(&c->last_of, (uint64_t)pid, &last) && (!started || isnan(c->all[last].start_s)))
		return &c->all[last];
	if (!SB_MAKE_ROOM(c->all, c->count, c->room)) {
		c->no_memory = true;
		return NULL;
	}
	if (!sb_map_put(&c->last_of, (uint64_t)pid, (uint32_t)c->count)) {
		c->no_memory = true;
		return NULL;
	}
	c->all[c->count] = (struct sb_system_process){
		.pid = pid, .ppid = -1, .start_s = NAN, .end_s = NAN, .exit_code = -1, .exit_signal = -1
	};
	return &c->all[c->count++];
}

static void see_event(void *self, const struct sb_event *e)
{
	struct children *c = self;
	struct sb_system_process *p = child_of(c, e->child.pid, e->child.started);

	if (!p)
		return;
	p->ppid = e->child.ppid;
	if (*e->text)
		p->command = sb_model_text(c->model, e->text);
	if (e->child.started)
		p->start_s = (double)e->t_ns / 1e9;
	else
		p->end_s = (double)e->t_ns / 1e9;
	if (!e->child.started)
		exit_of(e->child.status, &p->exit_code, &p->exit_signal);
}

static int begin(struct sb_run *run, struct sb_model *model, struct sb_visitor *v)
{
	struct children *c = calloc(1, sizeof *c);

	if (!c)
		return sb_fail(STROBE_ENOMEM, "no memory for the report of '%s'", run->path);
	c->run = run;
	c->model = model;
	fill_session(run, model);
	model->system.facts = pairs_of(run, model, SB_META_SYSTEM, &model->system.fact_count);
	model->system.settings = pairs_of(run, model, SB_META_SETTING, &model->system.setting_count);
	fill_missing(run, model);
	fill_unrecorded(run, model);
	v->self = c;
	v->kinds = 1u << SB_EVENT_PROCESS;
	v->event = see_event;
	return 0;
}

/* The exit status of the command itself: META exit_code, or the root's end. */
static void fill_exit(struct children *c)
{
	struct sb_session_panel *s = &c->model->session;
	const struct sb_run_meta *code = sb_run_meta_find(c->run, SB_META_RUN, SB_RUN_EXIT_CODE);
	const struct sb_run_meta *status = sb_run_meta_find(c->run, SB_META_RUN, "exit_status");
	const struct sb_run_meta *killed = sb_run_meta_find(c->run, SB_META_RUN, SB_RUN_EXIT_SIGNAL);

	if (status && status->attr.type == STROBE_TYPE_INT)
		exit_of(status->attr.i, &s->exit_code, &s->exit_signal);
	if (code && code->attr.type == STROBE_TYPE_INT)
		s->exit_code = code->attr.i;
	if (killed && killed->attr.type == STROBE_TYPE_INT)
		s->exit_signal = killed->attr.i;
	if (s->exit_code < 0 && s->exit_signal < 0 && c->count) {
		s->exit_code = c->all[0].exit_code;
		s->exit_signal = c->all[0].exit_signal;
	}
}

static int finish(void *self, struct sb_run *run, struct sb_model *model)
{
	struct children *c = self;
	struct sb_system_panel *s = &model->system;

	if (c->no_memory)
		return sb_fail(STROBE_ENOMEM, "no memory for the report of '%s'", run->path);
	fill_exit(c);
	s->processes = sb_model_alloc(model, (c->count + 1) * sizeof *s->processes);
	if (!s->processes)
		return 0;
	if (c->count)
		memcpy(s->processes, c->all, c->count * sizeof *s->processes);
	s->process_count = c->count;
	for (size_t i = 0; i < s->process_count; i++)
		for (uint32_t k = 0; k < run->process_count; k++)
			s->processes[i].recorded |= run->processes[k].pid == s->processes[i].pid &&
						    !run->processes[k].tool;
	return 0;
}

static void done(void *self)
{
	struct children *c = self;

	if (c) {
		free(c->all);
		sb_map_done(&c->last_of);
	}
	free(c);
}

const struct sb_analysis sb_analysis_session = {
	.name = "session",
	.begin = begin,
	.finish = finish,
	.done = done,
};
