/* Launchers leave the rank in the environment of what they start; what a rank starts has it too. */
#include "run/members.h"

#include "base/error.h"
#include "base/filename.h"
#include "format/head.h"
#include "run/catalogue.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64 /* processes above a recording that are looked at */
#define NONE ((size_t)-1)

/* FNV-1a over boot and host. */
static uint64_t machine_of(const struct sb_file_header *head)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < sizeof head->boot_id && head->boot_id[i]; i++)
		hash = (hash ^ (unsigned char)head->boot_id[i]) * 1099511628211u;
	hash *= 1099511628211u;
	for (size_t i = 0; i < sizeof head->host && head->host[i]; i++)
		hash = (hash ^ (unsigned char)head->host[i]) * 1099511628211u;
	return hash;
}

struct sb_member sb_member_of(const struct sb_file_header *head, bool tool)
{
	return (struct sb_member){ .pid = head->pid,
		.ppid = head->ppid,
		.machine = machine_of(head),
		.rank = head->rank,
		.world_size = head->world_size,
		.start_real_ns = head->start_real_ns,
		.closed = head->closed == SB_CLOSED_IN_ORDER,
		.live = sb_run_is_running(head),
		.tool = tool,
		.of_rank = -1 };
}

bool sb_member_is_tool(const char *path)
{
	return !strcmp(sb_filename_of(path), "run.strobe");
}

/* ---- processes and those above them ---- */

struct numbered {
	uint64_t machine;
	uint32_t pid;
	size_t index;
};

static int by_pid(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static bool stands_before(const struct numbered *a, uint64_t machine, uint32_t pid)
{
	return a->machine != machine ? a->machine < machine : a->pid < pid;
}

static size_t index_of(const struct numbered *sorted, size_t count, uint64_t machine, uint32_t pid)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stands_before(&sorted[middle], machine, pid))
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && sorted[low].machine == machine && sorted[low].pid == pid ? sorted[low].index
										       : NONE;
}

/* The recording of each one's parent process; NONE: it has none. */
static void find_parents(const struct sb_member *all, size_t count, struct numbered *sorted, size_t *parents)
{
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct numbered){ all[i].machine, all[i].pid, i };
	qsort(sorted, count, sizeof *sorted, by_pid);
	for (size_t i = 0; i < count; i++) {
		parents[i] = index_of(sorted, count, all[i].machine, all[i].ppid);
		if (parents[i] == i)
			parents[i] = NONE;
	}
}

static bool same_rank(const struct sb_member *a, const struct sb_member *b)
{
	return a->rank == b->rank && a->world_size == b->world_size;
}

/* A process with other ranks below it is their launcher. */
static void find_launchers(struct sb_member *all, size_t count, const size_t *parents)
{
	for (size_t i = 0; i < count; i++) {
		size_t above = parents[i];

		for (int depth = 0; all[i].rank >= 0 && !all[i].tool && above != NONE && depth < DEPTH_MAX;
			depth++, above = parents[above])
			all[above].launcher |= !same_rank(&all[above], &all[i]);
	}
}

static void find_rank(struct sb_member *all, size_t i, const size_t *parents)
{
	size_t at = i, owner = NONE;

	all[i].of_rank = -1;
	if (all[i].tool || all[i].launcher)
		return;
	for (int depth = 0; at != NONE && depth < DEPTH_MAX; depth++, at = parents[at]) {
		if (all[at].rank < 0 || all[at].tool || all[at].launcher)
			continue;
		if (owner != NONE && !same_rank(&all[at], &all[owner]))
			break;
		owner = at;
	}
	all[i].of_rank = owner == NONE ? -1 : all[owner].rank;
	all[i].leader = owner == i;
}

/* ---- attempts ---- */

static int by_start(const void *a, const void *b)
{
	const struct sb_member *x = *(struct sb_member *const *)a, *y = *(struct sb_member *const *)b;

	if (x->start_real_ns != y->start_real_ns)
		return x->start_real_ns < y->start_real_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static bool has_leader(
	struct sb_member *const *leaders, size_t before, uint32_t attempt, const struct sb_member *like)
{
	for (size_t i = before; i-- > 0 && leaders[i]->attempt == attempt;)
		if (leaders[i]->rank == like->rank || leaders[i]->world_size != like->world_size)
			return true;
	return false;
}

/* The next attempt begins where a rank appears again or the world size changes. */
static void number_attempts(struct sb_member *all, size_t count, struct sb_member **leaders)
{
	size_t found = 0;
	uint32_t attempt = 1;

	for (size_t i = 0; i < count; i++)
		if (all[i].leader)
			leaders[found++] = &all[i];
	qsort(leaders, found, sizeof *leaders, by_start);
	for (size_t i = 0; i < found; i++) {
		attempt += has_leader(leaders, i, attempt, leaders[i]);
		leaders[i]->attempt = attempt;
	}
}

static void follow_leaders(struct sb_member *all, size_t count, const size_t *parents)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = i;

		for (int depth = 0;
			all[i].of_rank >= 0 && !all[at].leader && parents[at] != NONE && depth < DEPTH_MAX;
			depth++)
			at = parents[at];
		if (all[i].of_rank >= 0)
			all[i].attempt = all[at].attempt;
	}
}

bool sb_members_settle(struct sb_member *all, size_t count)
{
	struct numbered *sorted = malloc((count + 1) * sizeof *sorted);
	size_t *parents = malloc((count + 1) * sizeof *parents);
	struct sb_member **leaders = malloc((count + 1) * sizeof *leaders);
	bool done = sorted && parents && leaders;

	if (done) {
		find_parents(all, count, sorted, parents);
		find_launchers(all, count, parents);
		for (size_t i = 0; i < count; i++)
			find_rank(all, i, parents);
		number_attempts(all, count, leaders);
		follow_leaders(all, count, parents);
	}
	free(sorted);
	free(parents);
	free(leaders);
	return done;
}

/* Ended in order, and as many ranks as any other attempt of that world had. */
static bool is_complete(const struct sb_member *all, size_t count, uint32_t attempt)
{
	size_t here = 0, most = 0;
	int32_t world = 0;

	for (size_t i = 0; i < count; i++)
		if (all[i].leader && all[i].attempt == attempt) {
			if (!all[i].closed)
				return false;
			world = all[i].world_size;
			here++;
		}
	for (uint32_t other = 1; here && other <= attempt; other++) {
		size_t there = 0;

		for (size_t i = 0; i < count; i++)
			there += all[i].leader && all[i].attempt == other && all[i].world_size == world;
		most = there > most ? there : most;
	}
	return here && here >= most;
}

/* A single rank is a run of its own, unless its launcher has another rank. */
static bool are_several(const struct sb_member *all, size_t count, uint32_t attempt)
{
	const struct sb_member *leader = NULL;
	size_t leaders = 0;

	for (size_t i = 0; i < count; i++)
		if (all[i].leader && all[i].attempt == attempt) {
			leader = &all[i];
			leaders++;
		}
	for (size_t i = 0; leaders == 1 && i < count; i++)
		if ((all[i].tool || all[i].launcher) && all[i].rank >= 0 && !same_rank(&all[i], leader))
			return true;
	return leaders > 1;
}

uint32_t sb_members_attempt(const struct sb_member *all, size_t count)
{
	uint32_t last = 0, taken = 0;
	bool live = false;

	for (size_t i = 0; i < count; i++) {
		last = all[i].attempt > last ? all[i].attempt : last;
		live |= all[i].live && all[i].leader;
	}
	for (uint32_t attempt = last; attempt && !taken && !live; attempt--)
		taken = is_complete(all, count, attempt) ? attempt : 0;
	taken = taken ? taken : last;
	return are_several(all, count, taken) ? taken : 0;
}

/* ---- of a folder ---- */

struct reading {
	struct sb_member *all;
	size_t count, room;
	bool tool, no_memory;
};

static void take_head(const struct sb_file_header *head, void *context)
{
	struct reading *r = context;

	if (r->count == r->room) {
		size_t room = r->room ? 2 * r->room : 32;
		struct sb_member *more = realloc(r->all, room * sizeof *more);

		r->no_memory |= !more;
		if (!more)
			return;
		r->all = more;
		r->room = room;
	}
	r->all[r->count++] = sb_member_of(head, r->tool);
}

int sb_members_read(const char *folder, struct sb_member **out_all, size_t *out_count)
{
	struct sb_recording_paths files = { 0 };
	struct reading r = { 0 };
	int err = sb_catalogue_recordings(folder, &files);

	for (size_t i = 0; i < files.count; i++) {
		uint64_t bytes;

		r.tool = sb_member_is_tool(files.paths[i]);
		sb_head_read(files.paths[i], SB_INFILE_LISTED, take_head, &r, &bytes);
	}
	sb_recording_paths_done(&files);
	if (!err && (r.no_memory || !sb_members_settle(r.all, r.count)))
		err = sb_fail(STROBE_ENOMEM, "no memory to list '%s'", folder);
	if (err) {
		free(r.all);
		return err;
	}
	*out_all = r.all;
	*out_count = r.count;
	return 0;
}
