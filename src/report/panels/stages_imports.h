/* Shows the imports that a program begins with as one row, so that they do not hide the stages
 * that make the video. */
#ifndef SB_REPORT_PANELS_STAGES_IMPORTS_H
#define SB_REPORT_PANELS_STAGES_IMPORTS_H

#include "report/panels/stages.h"

struct sb_imports {
	size_t count; /* stages in the row; 0: there is none */
	bool *gathered; /* by the index of a stage; NULL: none */
	struct sb_stage row; /* calls, total, self and share; the rest is not known of many */
	char name[32];
};

/* Imports under no other stage, with nothing else inside. --no-groups keeps them apart. */
void sb_imports_gather(const struct sb_model *model, struct sb_imports *out);
void sb_imports_done(struct sb_imports *imports);
bool sb_imports_has(const struct sb_imports *imports, size_t stage);

#endif
