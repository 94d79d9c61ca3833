/* The program's source as it ran: what a line of it says. What is read is noted in model->source, so that the run's
 * folder can keep it; what that folder keeps goes before the files, which may be elsewhere or changed by now. */
#ifndef SB_ANALYZE_PYTHON_SOURCE_H
#define SB_ANALYZE_PYTHON_SOURCE_H

#include "analyze/model.h"
#include "run/run.h"

/* True if the file is here and was changed since the run began: its lines may not be those that ran. */
bool sb_source_changed(const struct sb_run *run, const char *file);
/* The line without its indent; NULL: nothing is kept of it and no such file is here, or it was changed. The names
 * have to stay as long as the model. */
const char *sb_source_line(const struct sb_run *run, struct sb_model *model, const char *file, uint32_t line);
/* Where the function begins, by its last name ("wan.Ban.__call__"); 0: not there, or there are several of the name. */
uint32_t sb_source_line_of(
	const struct sb_run *run, struct sb_model *model, const char *file, const char *function);

#endif
