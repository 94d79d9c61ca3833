/* What a line of the program's source is inside of. */
#ifndef SB_ANALYZE_ENCLOSING_H
#define SB_ANALYZE_ENCLOSING_H

#include <stdbool.h>
#include <stdint.h>

/* The line is in the body of a `with` whose line has that name, in the same function. False where the file is not here. */
bool sb_source_is_inside_with(const char *file, uint32_t line, const char *name);

#endif
