/* The threads of a trace: which is the main one, their numbers and names. */
#include "exchange/trace_store.h"

#include <inttypes.h>
#include <stdio.h>

#define FOREIGN_TID 0x80000000u /* for threads without a usable number of their own */

static bool is_main_process_tid(const struct sb_trace_thread *thread)
{
	int64_t pid, tid;

	return sb_trace_key_number(thread->pid_key, &pid) && sb_trace_key_number(thread->tid_key, &tid) &&
	       pid == tid;
}

uint32_t sb_trace_pick_main_thread(const struct sb_trace *t)
{
	uint32_t best = 0;
	uint64_t best_score = 0;

	for (uint32_t i = 0; i < t->thread_count; i++) {
		const struct sb_trace_thread *thread = &t->threads[i];
		uint64_t score = thread->zone_count;

		if (!score)
			continue;
		score += thread->has_steps ? 1ull << 62 : 0;
		score += is_main_process_tid(thread) ? 1ull << 61 : 0;
		if (score > best_score) {
			best_score = score;
			best = i;
		}
	}
	return best;
}

void sb_trace_give_tids(struct sb_trace *t, uint32_t main_thread)
{
	for (uint32_t i = 0; i < t->thread_count; i++) {
		struct sb_trace_thread *thread = &t->threads[i];
		int64_t tid;

		if (thread->pid_key == t->threads[main_thread].pid_key &&
			sb_trace_key_number(thread->tid_key, &tid) && tid > 0 && tid < (int64_t)FOREIGN_TID)
			thread->tid = (uint32_t)tid;
		else
			thread->tid = FOREIGN_TID + i;
	}
}

static void key_text(const struct sb_trace *t, uint64_t key, char *out, size_t size)
{
	int64_t number;

	if (sb_trace_key_number(key, &number))
		snprintf(out, size, "%" PRId64, number);
	else
		snprintf(out, size, "%s", sb_strings_text(&t->names, (uint32_t)(key >> 1)));
}

/* "thread 7": a number alone says nothing. */
static void numbered(const struct sb_trace *t, const char *what, uint64_t key, char *out, size_t size)
{
	int64_t number;
	size_t used = sb_trace_key_number(key, &number) ? (size_t)snprintf(out, size, "%s ", what) : 0;

	key_text(t, key, out + used, size - used);
}

void sb_trace_thread_name(const struct sb_trace *t, uint32_t main_thread,
	const struct sb_trace_thread *thread, char *out, size_t size)
{
	bool foreign = thread->pid_key != t->threads[main_thread].pid_key;
	char process[256] = "", own[320] = "";
	uint32_t process_name;
	int64_t pid;

	if (!thread->name && thread->has_overhead && sb_trace_key_number(thread->pid_key, &pid) && pid < 0) {
		snprintf(out, size, "profiler overhead");
		return;
	}
	if (foreign && sb_map_get(&t->process_names, thread->pid_key, &process_name))
		snprintf(process, sizeof process, "%.250s", sb_strings_text(&t->names, process_name));
	else if (foreign)
		numbered(t, "process", thread->pid_key, process, sizeof process);
	if (thread->name)
		snprintf(own, sizeof own, "%.300s", sb_strings_text(&t->names, thread->name));
	else if (foreign || thread->tid >= FOREIGN_TID)
		numbered(t, "thread", thread->tid_key, own, 256);
	snprintf(out, size, "%s%s%s", process, *process && *own ? ", " : "", own);
}
