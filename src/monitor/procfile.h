/* Small files of /proc and /sys, read whole. The roots can be moved, so that
 * tests read a folder of fixtures instead. */
#ifndef SB_MONITOR_PROCFILE_H
#define SB_MONITOR_PROCFILE_H

#include "record/descriptor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Moves the roots, for tests. NULL: the real ones. The strings are kept, not copied. */
void sb_procfile_set_roots(const char *proc, const char *sys);
const char *sb_procfile_proc(void); /* "/proc" */
const char *sb_procfile_sys(void); /* "/sys" */

/* A file that is read again and again: opened once, and again where the program has
 * taken the descriptor. */
struct sb_procfile {
	struct sb_descriptor file;
	bool missing;
};

/* Reads all of /proc/name into out, NUL-terminated; returns the size or -1. */
ssize_t sb_procfile_read_proc(struct sb_procfile *file, const char *name, char *out, size_t size);
void sb_procfile_close(struct sb_procfile *file); /* file may be zeroed */

/* Read a file once; the format makes its path below /proc or /sys. The size or -1; false: not a number. */
ssize_t sb_procfile_proc_text(char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
ssize_t sb_procfile_sys_text(char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool sb_procfile_sys_number(double *out_value, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number after "key" at the start of a line; false when there is none. */
bool sb_procfile_field(const char *text, const char *key, uint64_t *out_value);

#endif
