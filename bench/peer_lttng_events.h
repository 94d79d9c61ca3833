/* The two tracepoints of a zone, as LTTng-UST wants them declared. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER strobe_peer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./peer_lttng_events.h"

#if !defined(BENCH_PEER_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_PEER_LTTNG_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(strobe_peer, begin, LTTNG_UST_TP_ARGS(int, name),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, name, name)))
LTTNG_UST_TRACEPOINT_EVENT(strobe_peer, end, LTTNG_UST_TP_ARGS(int, name),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, name, name)))

#endif

#include <lttng/tracepoint-event.h>
