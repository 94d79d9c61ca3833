/* The rule by which a signal to strobe is passed on or not. */
#include "run_group.h"

#include "monitor/procfile.h"
#include "monitor/source.h"
#include "monitor/tree.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Who signals all processes one by one (Slurm, systemd, pkill), or strobe first and then the group (timeout), needs
 * this long at most from one to the next. */
#define MOMENT_NS 2000000
/* And this much of the processor for all of them, for which it may have to wait. */
#define WORK_NS 20000000u
#define PATIENCE_NS 1000000000u
enum { SENDER_THREADS_MAX = 64 };

static void leave_out(const struct run_group *group)
{
	const pid_t pids[] = { group->in_group.pid, group->with_program.pid };

	sb_tree_leave_out(pids, sizeof pids / sizeof pids[0]);
}

void run_group_begin(struct run_group *group, char **command)
{
	*group = (struct run_group){ command, { 0, -1, RUN_IN_GROUP }, { 0, -1, RUN_IN_GROUP } };
	run_witness_begin(&group->in_group, RUN_IN_GROUP, command);
	leave_out(group);
}

enum run_place run_group_place(pid_t pid)
{
	pid_t its = getpgid(pid);

	if (its < 0 || its == getpgrp())
		return RUN_IN_GROUP;
	return getsid(pid) == getsid(0) ? RUN_IN_SESSION : RUN_APART;
}

void run_group_follow(struct run_group *group, pid_t program)
{
	enum run_place place = run_group_place(program);

	if (place == group->with_program.place || !group->in_group.pid)
		return;
	run_witness_end(&group->with_program);
	group->with_program.place = place;
	if (place != RUN_IN_GROUP)
		run_witness_begin(&group->with_program, place, group->command);
	leave_out(group);
}

void run_group_look(struct run_group *group)
{
	run_witness_look(&group->in_group);
	run_witness_look(&group->with_program);
	leave_out(group);
}

void run_group_end(struct run_group *group)
{
	run_witness_end(&group->in_group);
	run_witness_end(&group->with_program);
	leave_out(group);
}

/* The kernel signals the members of a group one after another, holding a lock that this call has to wait for:
 * afterwards all of them have it, or none. */
static void let_delivery_finish(void)
{
	setpgid(0, getpgrp());
}

static bool is_from(const struct run_answer *answer, const siginfo_t *info)
{
	return answer->got == info->si_signo && answer->pid == info->si_pid && answer->uid == info->si_uid;
}

/* Takes the signal from the witnesses. next: another one that waits to be dealt with, or NULL. */
static void ask(struct run_group *group, struct run_heard *heard, struct run_heard *next)
{
	struct run_witness *witnesses[] = { &group->in_group, &group->with_program };

	let_delivery_finish();
	for (size_t i = 0; i < sizeof witnesses / sizeof witnesses[0]; i++) {
		struct run_answer answer;

		if (!run_witness_ask(witnesses[i], heard->info.si_signo, &answer))
			continue;
		if (is_from(&answer, &heard->info))
			heard->places |= 1u << witnesses[i]->place;
		else if (next && is_from(&answer, &next->info))
			next->places |= 1u << witnesses[i]->place;
	}
	let_delivery_finish();
}

static bool take(int signal_number, long patience_ns, struct run_heard *out_heard)
{
	struct timespec patience = { 0, patience_ns };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal_number);
	out_heard->places = 0;
	return sigtimedwait(&set, &out_heard->info, &patience) == signal_number;
}

struct sender {
	bool busy; /* runs, or would if it had the processor: it may not be through with its list of processes */
	uint64_t run_ns; /* of the processor, so far */
};

static void look_at_thread(struct sender *sender, pid_t pid, const char *thread)
{
	char text[512];
	const char *after;
	unsigned long long run_ns = 0;

	if (sb_procfile_proc_text(text, sizeof text, "%d/task/%s/stat", (int)pid, thread) <= 0)
		return;
	after = strrchr(text, ')');
	sender->busy |= after && (after[2] == 'R' || after[2] == 'D');
	if (sb_procfile_proc_text(text, sizeof text, "%d/task/%s/schedstat", (int)pid, thread) > 0 &&
		sscanf(text, "%llu", &run_ns) == 1)
		sender->run_ns += run_ns;
}

static struct sender look_at_sender(pid_t pid)
{
	struct sender sender = { false, 0 };
	struct dirent *entry;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	folder = pid > 0 ? opendir(path)
			 : NULL; /* 0: the kernel, or a process that cannot be seen from here */
	if (!folder)
		return sender;
	for (int i = 0; i < SENDER_THREADS_MAX && (entry = readdir(folder)); i++)
		if (entry->d_name[0] != '.')
			look_at_thread(&sender, pid, entry->d_name);
	closedir(folder);
	return sender;
}

static bool same_sender(const siginfo_t *a, const siginfo_t *b)
{
	return a->si_pid == b->si_pid && a->si_uid == b->si_uid;
}

bool run_group_hear(
	struct run_group *group, unsigned matter, struct run_heard *heard, struct run_heard *out_next)
{
	const struct sender first = look_at_sender(heard->info.si_pid);
	uint64_t end_ns = sb_mono_ns() + PATIENCE_NS;
	bool busy = group->in_group.pid > 0;

	while (busy) {
		struct sender now = look_at_sender(heard->info.si_pid);

		ask(group, heard, NULL);
		busy = now.busy && now.run_ns - first.run_ns < WORK_NS && sb_mono_ns() < end_ns;
		while (take(
			heard->info.si_signo, busy || matter & ~heard->places ? MOMENT_NS : 0, out_next)) {
			ask(group, heard, out_next);
			if (!heard->places || !same_sender(&heard->info, &out_next->info) ||
				sb_mono_ns() >= end_ns)
				return true;
		}
	}
	ask(group, heard, NULL);
	return false;
}
