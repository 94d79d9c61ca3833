/* The process that started this rank: it distinguishes two starts of a job if the launcher gives no id. */
#ifndef SB_RECORD_LAUNCHER_H
#define SB_RECORD_LAUNCHER_H

#include <stdbool.h>

struct sb_launcher {
	char machine[64]; /* its processes are numbered together; "" not known */
	char process[48]; /* its number and start */
};

/* The nearest process above this one whose environment has no such entry ("RANK=3"):
 * shells between a launcher and its ranks have it, or are forked off it. False: not known. */
bool sb_launcher_find(const char *entry, struct sb_launcher *out_launcher);

#endif
