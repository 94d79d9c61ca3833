/* Ranks from the environment. Knows launchers, not networks. */
#include "record/rank.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct launcher {
	const char *name;
	const char *rank;
	const char *local_rank;
	const char *world_size;
	const char *job[3];
	const char *launch[3]; /* tell one start of the job from the next; equal on all its machines */
};

/* RANK alone may mean anything: it counts only together with WORLD_SIZE. */
static const struct launcher launchers[] = {
	{ "torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE",
		{ "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID" },
		{ "MASTER_PORT", "SLURM_RESTART_COUNT", NULL } },
	{ "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
		{ "SLURM_JOB_ID", "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE" },
		{ "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", NULL } },
	{ "slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", { "SLURM_JOB_ID", "SLURM_JOBID", NULL },
		{ "SLURM_STEP_ID", "SLURM_RESTART_COUNT", NULL } },
	{ "pmi", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", { "SLURM_JOB_ID", "PMI_JOBID", "PMIX_NAMESPACE" },
		{ "PMI_JOBID", "PMIX_NAMESPACE", NULL } },
};

static int number(const char *variable, int absent)
{
	const char *text = secure_getenv(variable);
	char *end;
	long value;

	if (!text || !*text)
		return absent;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || *end || value < 0 || value > INT_MAX)
		return absent;
	return (int)value;
}

/* A job id becomes part of a folder's name: keep what is harmless there. */
static void put_job(struct sb_rank *r, const char *text, size_t size)
{
	size_t n = strlen(r->job);

	for (; size-- && n < sizeof r->job - 1; text++) {
		bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
			     (*text >= '0' && *text <= '9') || *text == '-' || *text == '_' ||
			     (*text == '.' && n);

		r->job[n++] = plain ? *text : '_';
	}
	r->job[n] = 0;
}

/* torchrun without an id: on one machine its workers share a folder whose name
 * is drawn anew for every launch, .../none_k3x_81qa/attempt_0/RANK/error.json. */
static void take_torchrun_folder(struct sb_rank *r)
{
	const char *file = secure_getenv("TORCHELASTIC_ERROR_FILE");
	const char *end = file ? strstr(file, "/attempt_") : NULL, *name = end;

	if (!end || number("LOCAL_WORLD_SIZE", 0) != r->world_size)
		return;
	while (name > file && name[-1] != '/')
		name--;
	if (end - name > 5 && !strncmp(name, "none_", 5)) {
		put_job(r, "torchrun-", 9);
		put_job(r, name + 5, (size_t)(end - name) - 5);
	}
}

static void take_job(struct sb_rank *r, const struct launcher *l)
{
	for (int i = 0; i < 3 && l->job[i]; i++) {
		const char *text = secure_getenv(l->job[i]);

		/* torchrun's default id is "none": no id at all */
		if (!text || !*text || !strcmp(text, "none"))
			continue;
		put_job(r, text, strlen(text));
		return;
	}
	if (!strcmp(l->name, "torchrun"))
		take_torchrun_folder(r);
}

static void put_launch(struct sb_rank *r, const char *variable)
{
	const char *text = secure_getenv(variable);
	size_t used = strlen(r->launch);

	if (!text || !*text)
		return;
	snprintf(r->launch + used, sizeof r->launch - used, " %s=%.40s", variable, text);
	r->launch_told = true;
}

/* torchrun counts restarts on every machine by itself: a number for all only where
 * there is one machine. Elsewhere a restart draws a new MASTER_PORT. */
static void take_launch(struct sb_rank *r, const struct launcher *l)
{
	snprintf(r->launch, sizeof r->launch, "%s of %d", l->name, r->world_size);
	for (int i = 0; i < 3 && l->launch[i]; i++)
		put_launch(r, l->launch[i]);
	if (!strcmp(l->name, "torchrun") && number("LOCAL_WORLD_SIZE", 0) == r->world_size)
		put_launch(r, "TORCHELASTIC_RESTART_COUNT");
	for (char *p = r->launch; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '_';
}

/* A batch script has rank 0 and the number of tasks of the whole allocation without being one of them, and
 * so has an interactive shell, which is a step of one task. */
static bool is_slurm_task(void)
{
	return (secure_getenv("SLURM_STEP_ID") || secure_getenv("SLURM_STEPID")) &&
	       number("SLURM_STEP_NUM_TASKS", 2) > 1;
}

void sb_rank_detect(struct sb_rank *out_rank)
{
	struct sb_rank r = { .rank = -1, .local_rank = -1, .launcher = "" };

	for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
		const struct launcher *l = &launchers[i];
		int rank = number(l->rank, -1);
		int world = number(l->world_size, 0);

		if (rank < 0 || world < 2 || rank >= world)
			continue;
		if (!strcmp(l->name, "slurm") && !is_slurm_task())
			continue;
		r.rank = rank;
		r.world_size = world;
		r.local_rank = number(l->local_rank, -1);
		r.launcher = l->name;
		snprintf(r.entry, sizeof r.entry, "%s=%s", l->rank, secure_getenv(l->rank));
		take_job(&r, l);
		take_launch(&r, l);
		break;
	}
	*out_rank = r;
}
