/* The process tree being watched: which processes belong to it, and what they have used so far. CPU time
 * and disk bytes of children that ended are kept by the kernel in the parent that waited for them; those
 * that we wait for ourselves are added by sb_tree_reaping(). So the totals never lose a short-lived child.
 * */
#ifndef SB_MONITOR_TREE_H
#define SB_MONITOR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sb_tree_totals {
	uint32_t process_count;
	uint32_t thread_count;
	uint64_t rss_bytes;
	double cpu_s; /* since the processes began */
	uint64_t read_bytes; /* from disks */
	uint64_t write_bytes;
	bool io_known;
	bool io_refused; /* the disk bytes of a running process could not be read */
};

/* Begins to watch. outside: not root itself, only what is below it. */
void sb_tree_open(pid_t root, bool outside);
/* Processes that are never a part of any tree: helpers of strobe's own, instead of those named before. At most 2; 0: none. */
void sb_tree_leave_out(const pid_t *pids, size_t count);
void sb_tree_close(void); /* forgets the tree */
/* Looks at the known processes and their children, and at all of /proc when that is due: the more it
 * costs, the longer the next time waits. */
void sb_tree_update(uint64_t mono_ns, bool with_io);
void sb_tree_totals(struct sb_tree_totals *out_totals); /* as of the last update */
/* What further files of /proc say, added up over all processes; NaN: not known. */
struct sb_tree_details {
	double anon_mb, file_mb, shared_mb; /* of the resident memory */
	double pinned_mb; /* locked or pinned: never swapped out */
	double open_file_count;
};
void sb_tree_details(struct sb_tree_details *out_details); /* reads these files now */
/* Proportional set size, expensive; NaN: not known. */
double sb_tree_pss_mb(void);
bool sb_tree_contains(pid_t pid); /* as of the last update */
/* The processes alive at the last update; returns how many were written. */
uint32_t sb_tree_members(pid_t *out_pids, uint32_t limit);
/* Looks at all of /proc at the next update, whatever that costs. */
void sb_tree_rescan(void);
/* Before a child is waited for: what it used is kept. */
void sb_tree_reaping(pid_t pid);
/* In a forked child: the parent's tree is not ours. */
void sb_tree_forked(void);
/* Processes ever seen. */
uint32_t sb_tree_seen_count(void);

#endif
