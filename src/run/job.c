/* Attempts lie side by side (record/jobdir.h makes them) or, where `strobe run` started the
 * launcher, in one folder (members.h tells them apart). */
#include "run/job.h"

#include "base/error.h"
#include "base/filename.h"
#include "run/brief.h"
#include "run/catalogue.h"
#include "run/members.h"
#include "run/nodes.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GAPS_MAX = 8 }; /* how many attempts may be missing between two: removed, or on another disk */

static int no_memory(const char *path)
{
	return sb_fail(STROBE_ENOMEM, "no memory for the ranks of '%s'", path);
}

void sb_job_done(struct sb_job *job)
{
	for (size_t i = 0; i < job->rank_count; i++)
		free(job->ranks[i]);
	for (size_t i = 0; i < job->attempt_count; i++)
		free(job->attempts[i].path);
	free(job->ranks);
	free(job->attempts);
	memset(job, 0, sizeof *job);
}

static int add_rank(struct sb_job *job, const char *path)
{
	if (!(job->rank_count & (job->rank_count - 1))) {
		char **more = realloc(job->ranks, (job->rank_count ? 2 * job->rank_count : 1) * sizeof *more);

		if (!more)
			return no_memory(path);
		job->ranks = more;
	}
	job->ranks[job->rank_count] = strdup(path);
	if (!job->ranks[job->rank_count])
		return no_memory(path);
	job->rank_count++;
	return 0;
}

static struct sb_job_attempt *add_attempt(struct sb_job *job, int number, const char *path)
{
	struct sb_job_attempt *more = realloc(job->attempts, (job->attempt_count + 1) * sizeof *more);

	if (!more)
		return NULL;
	job->attempts = more;
	more += job->attempt_count;
	*more = (struct sb_job_attempt){ .number = number, .path = strdup(path) };
	if (!more->path)
		return NULL;
	job->attempt_count++;
	return more;
}

/* ---- several ranks in one run's folder ---- */

/* named: as the user calls the attempt. */
static int add_inside(
	struct sb_job *job, const char *named, const struct sb_member *all, size_t count, uint32_t attempt)
{
	int err = 0, length = (int)strlen(named) - (sb_ends_with(named, "/.") ? 2 : 0);

	for (size_t i = 0; i < count && !err; i++) {
		char path[PATH_MAX];

		if (all[i].leader && all[i].attempt == attempt &&
			(size_t)snprintf(path, sizeof path, "%.*s/rank_%d", length, named, (int)all[i].rank) <
				sizeof path)
			err = add_rank(job, path);
	}
	return err;
}

static void look_at_members(
	struct sb_job_attempt *a, const struct sb_member *all, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++) {
		if (!all[i].leader || all[i].attempt != number)
			continue;
		a->rank_count++;
		a->closed_count += all[i].closed;
		a->live |= all[i].live;
		a->world_size = all[i].world_size;
		if (!a->start_real_ns || all[i].start_real_ns < a->start_real_ns)
			a->start_real_ns = all[i].start_real_ns;
	}
}

/* The attempt that counts is called as the folder is, the others FOLDER.<N>. */
static int list_attempts(
	struct sb_job *job, const char *folder, const struct sb_member *all, size_t count, uint32_t taken)
{
	int length = (int)strlen(folder) - (sb_ends_with(folder, "/.") ? 2 : 0);
	uint32_t last = 0, counts = sb_members_attempt(all, count);

	for (size_t i = 0; i < count; i++)
		last = all[i].attempt > last ? all[i].attempt : last;
	for (uint32_t number = 1; number <= last; number++) {
		struct sb_job_attempt *a;
		char suffix[16] = "", path[PATH_MAX + 16];

		if (number != counts)
			snprintf(suffix, sizeof suffix, ".%u", number);
		snprintf(path, sizeof path, "%.*s%s", length, folder, suffix);
		a = add_attempt(job, (int)number, path);
		if (!a)
			return no_memory(folder);
		a->taken = number == taken;
		look_at_members(a, all, count, number);
	}
	return 0;
}

/* out_attempt 0: the folder is one run. */
static int members_of(
	const char *folder, struct sb_member **out_all, size_t *out_count, uint32_t *out_attempt)
{
	int err = sb_members_read(folder, out_all, out_count);

	*out_attempt = err ? 0 : sb_members_attempt(*out_all, *out_count);
	return err;
}

/* attempt 0: the one that counts. */
static int find_in_run(
	const char *folder, const char *named, uint32_t attempt, bool attempts, struct sb_job *job)
{
	struct sb_member *all = NULL;
	size_t count = 0;
	uint32_t taken;
	int err = members_of(folder, &all, &count, &taken);

	if (taken && attempt)
		taken = attempt;
	if (!err && taken)
		err = add_inside(job, named, all, count, taken);
	if (!err && taken && attempts)
		err = list_attempts(job, folder, all, count, taken);
	free(all);
	return err;
}

/* ---- a folder of ranks ---- */

static int find_ranks(const char *folder, struct sb_job *job)
{
	struct sb_catalogue found = { 0 };
	int err = sb_catalogue_list(folder, &found);

	for (size_t i = 0; i < found.count && !err; i++) {
		const struct sb_catalogue_entry *e = &found.entries[i];
		size_t before = job->rank_count;

		if (!sb_catalogue_is_rank(e->name) || e->link)
			continue;
		if (e->kind == SB_CATALOGUE_RUN)
			err = find_in_run(e->path, e->path, 0, false, job);
		/* one without a recording is named later, too */
		if (!err && job->rank_count == before)
			err = add_rank(job, e->path);
	}
	sb_catalogue_done(&found);
	return err;
}

static void look_at_ranks(struct sb_job_attempt *a)
{
	struct sb_catalogue found = { 0 };

	if (sb_catalogue_list(a->path, &found))
		return;
	for (size_t i = 0; i < found.count; i++) {
		struct sb_run_brief brief;

		if (!sb_catalogue_is_rank(found.entries[i].name) ||
			!sb_run_brief_read(found.entries[i].path, &brief))
			continue;
		a->rank_count++;
		a->closed_count += brief.closed && !brief.failed;
		a->live |= brief.live;
		a->world_size = brief.world_size > a->world_size ? brief.world_size : a->world_size;
		if (!a->start_real_ns || brief.start_real_ns < a->start_real_ns)
			a->start_real_ns = brief.start_real_ns;
	}
	sb_catalogue_done(&found);
}

/* Those that a launcher on each node started, too. */
static int64_t count_ranks(const char *folder)
{
	struct sb_job job = { 0 };
	int64_t count = find_ranks(folder, &job) ? 0 : (int64_t)job.rank_count;

	sb_job_done(&job);
	return count;
}

enum sb_job_end sb_job_end_of(const char *folder)
{
	struct sb_catalogue found = { 0 };
	int64_t ranks = 0, world = 0;
	bool live = sb_catalogue_list(folder, &found) != 0;

	/* of many ranks that end one after the other, each looks at few: those that still run are found early */
	for (size_t i = 0; i < found.count && !live; i++) {
		struct sb_run_brief brief;

		if (!sb_catalogue_is_rank(found.entries[i].name) || found.entries[i].link)
			continue;
		live = !sb_run_brief_read(found.entries[i].path, &brief) || brief.live;
		ranks++;
		if (!live && brief.world_size > world)
			world = brief.world_size;
	}
	sb_catalogue_done(&found);
	if (live)
		return SB_JOB_RUNS;
	return ranks > 1 && (ranks >= world || count_ranks(folder) >= world) ? SB_JOB_ENDED : SB_JOB_PARTLY;
}

static bool is_whole(const struct sb_job_attempt *a)
{
	return a->rank_count && a->closed_count == a->rank_count && (int64_t)a->rank_count >= a->world_size;
}

/* The last complete one, or the last that still runs; else the last. */
static struct sb_job_attempt *take_one(struct sb_job *job)
{
	struct sb_job_attempt *taken = &job->attempts[job->attempt_count - 1];

	for (size_t i = job->attempt_count; i-- > 0 && !taken->live;)
		if (is_whole(&job->attempts[i])) {
			taken = &job->attempts[i];
			break;
		}
	taken->taken = true;
	return taken;
}

static bool is_job(const char *path)
{
	size_t ranks = 0;

	sb_catalogue_kind(path, &ranks);
	return ranks > 0;
}

/* "train-7.2": 2 and the length of "train-7"; 0: it is no such name. */
static int number_of(const char *path, size_t *out_length)
{
	size_t length = strlen(path), digits = length;
	long number;

	while (digits && isdigit((unsigned char)path[digits - 1]))
		digits--;
	if (digits == length || digits < 2 || path[digits - 1] != '.' || length - digits > 5)
		return 0;
	number = strtol(path + digits, NULL, 10);
	*out_length = digits - 1;
	return number > 1 ? (int)number : 0;
}

bool sb_job_is_later_attempt(const char *path, char *out_first, size_t size)
{
	size_t length;

	if (!number_of(path, &length) || length >= size)
		return false;
	snprintf(out_first, size, "%.*s", (int)length, path);
	return is_job(out_first);
}

static int list_folders(const char *first, struct sb_job *job)
{
	int missing = 0;

	for (int number = 1; missing < GAPS_MAX; number++) {
		char path[PATH_MAX];
		int n = number == 1 ? snprintf(path, sizeof path, "%s", first)
				    : snprintf(path, sizeof path, "%s.%d", first, number);
		struct sb_job_attempt *a;

		if (n < 0 || (size_t)n >= sizeof path || !is_job(path)) {
			missing++;
			continue;
		}
		missing = 0;
		a = add_attempt(job, number, path);
		if (!a)
			return no_memory(first);
		look_at_ranks(a);
	}
	return 0;
}

/* True if only this folder is meant: FOLDER/., FOLDER.2. */
static bool is_one_attempt(const char *path)
{
	char first[PATH_MAX];

	return !strcmp(sb_filename_of(path), ".") || sb_job_is_later_attempt(path, first, sizeof first);
}

/* Where a link ("last") leads, if that is an attempt after the first: its own name has no number. */
static void follow_link(char *path, size_t size)
{
	char led[PATH_MAX], target[PATH_MAX], first[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof target - 1);
	int folder = length > 0 && target[0] != '/' ? (int)(sb_filename_of(path) - path) : 0;

	if (length <= 0)
		return;
	target[length] = 0;
	if ((size_t)snprintf(led, sizeof led, "%.*s%s", folder, path, target) < size &&
		sb_job_is_later_attempt(led, first, sizeof first))
		snprintf(path, size, "%s", led);
}

/* The folder itself, without what stands after its name: "/", "/.". */
static void clean_folder(const char *path, char *out, size_t size)
{
	size_t length = strlen(path);

	if (length > 2 && !strcmp(path + length - 2, "/."))
		length -= 2;
	while (length > 1 && path[length - 1] == '/')
		length--;
	snprintf(out, size, "%.*s", (int)length, path);
	follow_link(out, size);
}

static struct sb_job_attempt *attempt_at(const struct sb_job *job, const char *folder)
{
	for (size_t i = 0; i < job->attempt_count; i++)
		if (!strcmp(job->attempts[i].path, folder))
			return &job->attempts[i];
	return NULL;
}

static int find_in_job(const char *folder, struct sb_job *job)
{
	char clean[PATH_MAX], first[PATH_MAX];
	struct sb_job_attempt *taken;
	int err;

	clean_folder(folder, clean, sizeof clean);
	if (!sb_job_is_later_attempt(clean, first, sizeof first))
		snprintf(first, sizeof first, "%s", clean);
	err = list_folders(first, job);
	if (err || !job->attempt_count) /* gone meanwhile */
		return err;
	taken = is_one_attempt(folder) ? attempt_at(job, clean) : take_one(job);
	if (!taken)
		return find_ranks(folder, job);
	taken->taken = true;
	return find_ranks(taken->path, job);
}

int sb_job_find_itself(const char *path, struct sb_job *out_job)
{
	struct sb_job job = { 0 };
	char folder[PATH_MAX];
	uint32_t attempt;
	size_t ranks = 0;
	enum sb_catalogue_kind kind = sb_catalogue_kind(path, &ranks);
	int err = 0;

	if (ranks)
		err = find_in_job(path, &job);
	else if (kind == SB_CATALOGUE_RUN)
		err = find_in_run(path, path, 0, true, &job);
	else if (sb_job_attempt_inside(path, folder, sizeof folder, &attempt))
		err = find_in_run(folder, path, attempt, true, &job);
	if (err) {
		sb_job_done(&job);
		return err;
	}
	*out_job = job;
	return 0;
}

/* ---- nodes side by side ---- */

/* An attempt of the job is that attempt on every node. */
static int merge_attempts(struct sb_job *job, const struct sb_job *node)
{
	for (size_t i = 0; i < node->attempt_count; i++) {
		const struct sb_job_attempt *from = &node->attempts[i];
		struct sb_job_attempt *to = NULL;

		for (size_t k = 0; k < job->attempt_count && !to; k++)
			to = job->attempts[k].number == from->number ? &job->attempts[k] : NULL;
		if (!to)
			to = add_attempt(job, from->number, from->path);
		if (!to)
			return no_memory(from->path);
		to->rank_count += from->rank_count;
		to->closed_count += from->closed_count;
		to->world_size = from->world_size > to->world_size ? from->world_size : to->world_size;
		to->live |= from->live;
		to->taken |= from->taken;
		if (!to->start_real_ns || from->start_real_ns < to->start_real_ns)
			to->start_real_ns = from->start_real_ns;
	}
	return 0;
}

static int add_node(struct sb_job *job, const char *path)
{
	struct sb_job node = { 0 };
	int err = sb_job_find_itself(path, &node);

	for (size_t i = 0; i < node.rank_count && !err; i++)
		err = add_rank(job, node.ranks[i]);
	if (!err && !node.rank_count)
		err = add_rank(job, path);
	if (!err)
		err = merge_attempts(job, &node);
	sb_job_done(&node);
	return err;
}

static int find_in_nodes(const struct sb_nodes *nodes, struct sb_job *out_job)
{
	struct sb_job job = { 0 };
	int err = 0;

	for (size_t i = 0; i < nodes->count && !err; i++)
		err = add_node(&job, nodes->all[i].path);
	if (err) {
		sb_job_done(&job);
		return err;
	}
	*out_job = job;
	return 0;
}

/* Ranks of its world are missing: they may be those of another node. */
static bool is_one_node(const char *path, const struct sb_job *job)
{
	const struct sb_job_attempt *a = job->attempt_count ? &job->attempts[job->attempt_count - 1] : NULL;

	return a && a->world_size > (int64_t)job->rank_count && strcmp(sb_filename_of(path), ".") != 0 &&
	       sb_catalogue_kind(path, NULL) == SB_CATALOGUE_RUN;
}

int sb_job_find_nodes(const char *path, struct sb_nodes *out_nodes)
{
	struct sb_job job = { 0 };
	int err = 0;

	memset(out_nodes, 0, sizeof *out_nodes);
	if (sb_catalogue_kind(path, NULL) == SB_CATALOGUE_RUNS)
		return sb_nodes_find(path, out_nodes);
	err = sb_job_find_itself(path, &job);
	if (!err && is_one_node(path, &job))
		err = sb_nodes_find_beside(path, out_nodes);
	sb_job_done(&job);
	return err;
}

int sb_job_find(const char *path, struct sb_job *out_job)
{
	struct sb_nodes nodes = { 0 };
	int err = sb_job_find_nodes(path, &nodes);

	if (!err)
		err = nodes.count ? find_in_nodes(&nodes, out_job) : sb_job_find_itself(path, out_job);
	sb_nodes_done(&nodes);
	return err;
}
