/* What the file of a Python function says about it: whose it is, and whether it only waits. */
#ifndef SB_BASE_PYTHON_FILE_H
#define SB_BASE_PYTHON_FILE_H

#include <stdbool.h>

/* True for code that is not the program's own: torch, numpy, the standard library, strobe itself, or no
 * file. */
bool sb_python_is_library(const char *file);
/* True for what was installed and not written for this program: what a package manager laid down, also the frameworks'
 * files in a folder of another name (pip install --target). */
bool sb_python_is_package(const char *file);
/* True for strobe's own files. */
bool sb_python_is_strobe(const char *file);
/* True if a thread in this function waits for another thread, a queue, a socket or a process, and does nothing else.
 * function: "threading.Condition.wait"; file: where it is written, NULL: not known, the name alone decides. */
bool sb_python_waits(const char *function, const char *file);

#endif
