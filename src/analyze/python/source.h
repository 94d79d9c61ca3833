/* The program's source: whose file it is, and what a line of it says. */
#ifndef SB_ANALYZE_PYTHON_SOURCE_H
#define SB_ANALYZE_PYTHON_SOURCE_H

#include "analyze/model.h"

/* True for code that is not the program's own: torch, numpy, the standard library, strobe itself, or no
 * file. */
bool sb_source_is_library(const char *file);
/* True if the file was changed after that moment: its lines may not be those that ran. */
bool sb_source_changed(const char *file, uint64_t since_real_ns);
/* The line without its indent; NULL: there is no such file here, or it is not Python. */
const char *sb_source_line(struct sb_model *model, const char *file, uint32_t line);

#endif
