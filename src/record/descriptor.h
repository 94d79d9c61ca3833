/* Descriptors that the program cannot close or reuse by accident. A thread of strobe can have a descriptor
 * table of its own, which the program neither sees nor closes. In the program's table a descriptor gets a
 * high number and close-on-exec, and its device and inode are checked before each use: the program may
 * have closed it and opened another file with that number. */
#ifndef SB_RECORD_DESCRIPTOR_H
#define SB_RECORD_DESCRIPTOR_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

struct sb_descriptor {
	int number; /* 0: none */
	pid_t owner; /* the thread whose own table it is in; 0: the program's */
	dev_t device;
	ino_t inode;
};

/* Gives the calling thread an empty table of its own. False: the system does not allow
 * it, the thread shares the program's. Only for threads that strobe made. */
bool sb_descriptor_table_make(void);
/* Forgets the calling thread's table before the thread ends: its id may become that of a thread of the program. */
void sb_descriptor_table_leave(void);

/* open(2). False with errno set. */
bool sb_descriptor_open(struct sb_descriptor *out, const char *path, int flags, mode_t mode);
/* Takes over a descriptor that was just opened; -1 with errno set is passed on. */
bool sb_descriptor_adopt(struct sb_descriptor *out, int fd);
/* True if it is in the table that the calling thread uses. */
bool sb_descriptor_in_reach(const struct sb_descriptor *d);
/* True if it can be used here and is still the file that was opened. */
bool sb_descriptor_is_ours(const struct sb_descriptor *d);
/* Closes it if it is still ours. Takes an empty one. */
void sb_descriptor_close(struct sb_descriptor *d);

/* opendir(3) and closedir(3) on one of ours. NULL with errno set. */
DIR *sb_descriptor_opendir(struct sb_descriptor *out, const char *path);
void sb_descriptor_closedir(struct sb_descriptor *d, DIR *folder);

/* Borrows a descriptor of the program; a copy if the calling thread has a table of its own. -1: not
 * possible. Give it back soon: a pipe stays open as long. */
int sb_descriptor_borrow(int number);
void sb_descriptor_give_back(int borrowed, int number); /* number: as it was borrowed */

/* Notes which file standard error is, when the library is loaded. */
void sb_descriptor_remember_stderr(void);
/* True if it still is that file: the program may have put one of its own under the number. fd: standard
 * error, perhaps borrowed. */
bool sb_descriptor_stderr_is_safe(int fd);
/* Writes all of it and never ends the program: a pipe whose reader has gone and the limit on file sizes are
 * errors here, not signals. false with errno set. Not for signal handlers. */
bool sb_descriptor_write(int fd, const void *bytes, size_t size);

/* For tests: behave as if the system refused separate tables. */
extern bool sb_descriptor_refuse_table;

#endif
