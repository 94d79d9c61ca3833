/* LTTng-UST: two tracef-free tracepoints per zone, counted only while an LTTng
 * session records this process; without one they are disabled tracepoints. */
#include "peer.h"

#include <lttng/tracef.h>

const char *const peer_name = "LTTng-UST tracef";

void peer_zone(void)
{
	lttng_ust_tracef("b");
	lttng_ust_tracef("e");
}
