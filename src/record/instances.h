/* Several instances of the library in one process (an extension, an injection, a
 * static one) use the first one's recorder and names. */
#ifndef SB_RECORD_INSTANCES_H
#define SB_RECORD_INSTANCES_H

struct sb_recorder;
struct sb_name_table;

/* What this instance uses: its own until sb_instances_join(), then the process's. */
extern struct sb_recorder *sb_recorder_used;
extern struct sb_name_table *sb_names_used;

/* Makes this instance use the process's recorder and names. Called once per instance, when it is loaded. */
void sb_instances_join(void);

#endif
