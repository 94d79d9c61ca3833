/* Pages that hold a job (`strobe share JOB`): unpacked once, for as long as the program runs. */
#ifndef CLI_JOB_PAGE_H
#define CLI_JOB_PAGE_H

#include "compare/aggregate.h"

/* Lets every sb_run_resolve() open such pages; for main. */
void job_page_install(void);
/* Removes what was unpacked; for main, at the end. */
void job_page_done(void);

/* Shows the ranks of pages under the pages' names. */
void job_page_rename(struct sb_aggregate *a);

#endif
