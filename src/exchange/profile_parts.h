/* The parts of a JSON report: stages, loops, memory, series. Each adds to the log what it says; NULL says nothing. */
#ifndef SB_EXCHANGE_PROFILE_PARTS_H
#define SB_EXCHANGE_PROFILE_PARTS_H

#include "base/jsondom.h"
#include "exchange/textlog.h"

/* strobe's list, or an object with a key for each name. */
int sb_profile_take_stages(struct sb_textlog *log, const struct sb_jsondom *stages);
/* A loop beside the stages. name "": "iterations". */
int sb_profile_add_loop(struct sb_textlog *log, const struct sb_jsondom *loop, const char *name);
/* A loop that is one of the stages, where one has its name. */
int sb_profile_take_loop(struct sb_textlog *log, const struct sb_jsondom *loop);
int sb_profile_take_snapshots(struct sb_textlog *log, const struct sb_jsondom *snapshots);
/* {"t_s": [...], "memory_used_mb": [...]}: columns as long as the times. device: -1: none. */
int sb_profile_take_series(
	struct sb_textlog *log, const struct sb_jsondom *from, const char *source, int device);

#endif
