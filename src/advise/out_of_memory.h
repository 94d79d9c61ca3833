/* What the rules about memory that ran out tell those that join findings. */
#ifndef SB_ADVISE_OUT_OF_MEMORY_H
#define SB_ADVISE_OUT_OF_MEMORY_H

struct sb_advisor;

/* Memory that ran out because it leaks, and how full it was: one finding says all. */
void sb_out_of_memory_explain(struct sb_advisor *a);

#endif
