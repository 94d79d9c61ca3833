/* What a line of a Python file is inside of. */
#ifndef SB_BASE_PYTHON_BLOCK_H
#define SB_BASE_PYTHON_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The line is in the body of a `with` whose line has that name, in the same function. False where the file is not here. */
bool sb_python_is_inside_with(const char *file, uint32_t line, const char *name);

#endif
