/* The program's source: what a line of it says, and whether it is still the one that ran. */
#ifndef SB_ANALYZE_PYTHON_SOURCE_H
#define SB_ANALYZE_PYTHON_SOURCE_H

#include "analyze/model.h"

/* True if the file was changed after that moment: its lines may not be those that ran. */
bool sb_source_changed(const char *file, uint64_t since_real_ns);
/* The line without its indent; NULL: there is no such file here, or it is not Python. */
const char *sb_source_line(struct sb_model *model, const char *file, uint32_t line);
/* Where the function begins, by its last name ("wan.Ban.__call__"); 0: not there, or there are several of the name. */
uint32_t sb_source_line_of(const char *file, const char *function);

#endif
