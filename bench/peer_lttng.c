/* LTTng-UST: a tracepoint at each end of a zone. They record only while an LTTng
 * session traces this process: tools/bench starts one. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "peer_lttng_events.h"

#include "peer.h"

const char *const peer_name = "LTTng-UST";

void peer_zone(void)
{
	lttng_ust_tracepoint(strobe_peer, begin, 1);
	lttng_ust_tracepoint(strobe_peer, end, 1);
}
