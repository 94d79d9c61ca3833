/* One message per failing call, kept for the calling thread. */
#ifndef SB_BASE_ERROR_H
#define SB_BASE_ERROR_H

#include "strobe.h"

/* Sets the thread's message and returns code, so that `return sb_fail(...)`
 * reads well. Called once, where the failure is detected. */
int sb_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with ": strerror(errno)" appended; picks the code from errno. */
int sb_fail_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));

const char *sb_error_message(void);

#endif
