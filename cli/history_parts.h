/* What cmd_history.c and history_trend.c share. */
#ifndef CLI_HISTORY_PARTS_H
#define CLI_HISTORY_PARTS_H

#include "command.h"

#include "base/buf.h"
#include "store/history.h"

/* --name, --since and --limit (or the default); false: one is wrong, and was complained about. */
bool history_filter(const struct args *args, size_t limit, struct sb_history_filter *out_filter);
bool history_wants_json(const struct args *args);
void history_time(uint64_t real_ns, char *out, size_t size); /* "2026-03-01 12:30"; "-": not known */
void history_print(struct sb_buf *out); /* and frees it */
/* For --since that left nothing: says so, and how old the newest one is. what: "run in the history". */
void history_put_too_old(
	const struct args *args, const char *what, uint64_t newest_real_ns, struct sb_buf *out);

/* strobe history trend */
int history_trend(struct args *args, struct sb_history *h);

#endif
