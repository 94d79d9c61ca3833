/* Several copies of the library in one process (an extension, an injection, a
 * static one) use the first one's recorder and names. */
#ifndef SB_RECORD_COPIES_H
#define SB_RECORD_COPIES_H

struct sb_recorder;
struct sb_name_table;

/* What this copy uses: its own until sb_copies_join(), then the process's. */
extern struct sb_recorder *sb_recorder_used;
extern struct sb_name_table *sb_names_used;

/* Called once per copy, when it is loaded. */
void sb_copies_join(void);

#endif
