/* Several sessions in one folder. */
#include "run/sessions.h"

#include "run/members.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static uint64_t real_end_ns(const struct sb_reader *r)
{
	double seconds = (double)(int64_t)(r->last_ticks - r->head.start_ticks) / (double)r->head.clock_hz;

	return r->head.start_real_ns + (uint64_t)(seconds > 0 ? seconds * 1e9 : 0);
}

static bool related(const struct sb_reader *a, const struct sb_reader *b)
{
	if (!memcmp(a->head.session_uuid, b->head.session_uuid, 16))
		return true;
	if (a->head.ppid == b->head.pid || b->head.ppid == a->head.pid)
		return true;
	return a->head.start_real_ns <= real_end_ns(b) && b->head.start_real_ns <= real_end_ns(a);
}

static uint32_t newest_of(const struct sb_run *run, uint32_t first)
{
	uint32_t newest = first;

	for (uint32_t i = first; i < run->process_count; i++)
		if (run->processes[i].reader->head.start_real_ns >
			run->processes[newest].reader->head.start_real_ns)
			newest = i;
	return newest;
}

/* Keeps every recording that is related to one that is kept. */
static void find_relatives(const struct sb_run *run, uint32_t first, bool *keep, uint32_t *queue)
{
	uint32_t count = 1;

	queue[0] = newest_of(run, first);
	keep[queue[0]] = true;
	for (uint32_t at = 0; at < count; at++)
		for (uint32_t i = first; i < run->process_count; i++)
			if (!keep[i] && related(run->processes[i].reader, run->processes[queue[at]].reader)) {
				keep[i] = true;
				queue[count++] = i;
			}
}

int sb_run_keep_newest(struct sb_run *run, uint32_t first)
{
	bool *keep = calloc(run->process_count, sizeof *keep);
	uint32_t *queue = calloc(run->process_count, sizeof *queue), kept = first;

	if (keep && queue)
		find_relatives(run, first, keep, queue);
	for (uint32_t i = first; keep && queue && i < run->process_count; i++) {
		if (keep[i]) {
			run->processes[kept++] = run->processes[i];
			continue;
		}
		sb_run_warn(run,
			"'%s' is an earlier session in the same folder and left out: report it by its file "
			"name",
			run->processes[i].reader->path);
		sb_reader_close(run->processes[i].reader);
	}
	if (kept > first)
		run->process_count = kept;
	free(keep);
	free(queue);
	return kept > first ? 0 : sb_fail(STROBE_ENOMEM, "no memory to open '%s'", run->path);
}

int sb_run_keep_rank(struct sb_run *run, uint32_t first, int32_t rank, uint32_t attempt)
{
	uint32_t count = run->process_count - first, kept = first;
	struct sb_run_process *p = run->processes + first;
	struct sb_member *all = calloc(count, sizeof *all);

	for (uint32_t i = 0; all && i < count; i++)
		all[i] = sb_member_of(&p[i].reader->head, sb_member_is_tool(p[i].reader->path));
	if (!all || !sb_members_settle(all, count)) {
		free(all);
		return sb_fail(STROBE_ENOMEM, "no memory to open '%s'", run->path);
	}
	if (!attempt)
		attempt = sb_members_attempt(all, count);
	for (uint32_t i = 0; i < count; i++)
		if (all[i].of_rank == rank && all[i].attempt == attempt)
			run->processes[kept++] = p[i];
		else
			sb_reader_close(p[i].reader);
	run->process_count = kept;
	free(all);
	return kept > first ? 0 : sb_fail(STROBE_ENOENT, "'%s' is not there any more", run->path);
}
