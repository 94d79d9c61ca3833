/* Which `with` block of a Python file a line is in. */
#ifndef SB_BASE_PYTHON_BLOCK_H
#define SB_BASE_PYTHON_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* True if the line is in the body of a `with` statement that contains the name, in the same function.
 * False if the file is not here. */
bool sb_python_is_inside_with(const char *file, uint32_t line, const char *name);

#endif
