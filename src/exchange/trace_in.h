/* Reads Chrome and Kineto (torch.profiler) traces. */
#ifndef SB_EXCHANGE_TRACE_IN_H
#define SB_EXCHANGE_TRACE_IN_H

#include "exchange/foreign.h"
#include "exchange/trace_store.h"

/* Reads the whole source into the trace. name is for messages. */
int sb_trace_read(struct sb_foreign *source, const char *name, struct sb_trace *t);

#endif
