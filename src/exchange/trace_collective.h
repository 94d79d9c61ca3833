/* A collective in a Kineto trace: torch's operator record_param_comms, whose arguments say which one
 * it is. The kernels it launches are matched with it as those of strobe's own traces are. */
#ifndef SB_EXCHANGE_TRACE_COLLECTIVE_H
#define SB_EXCHANGE_TRACE_COLLECTIVE_H

#include "exchange/trace_event.h"

#define SB_TRACE_COLLECTIVE "record_param_comms"

bool sb_trace_collective_wants(const char *argument, size_t size);
/* Name, role and attributes, from the arguments; what is not a collective stays as it is. */
void sb_trace_collective_facts(struct sb_trace *t, struct sb_trace_event *e, struct sb_trace_facts *facts);

#endif
