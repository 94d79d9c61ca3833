/* No packaged tracer on this machine. */
#include "peer.h"

#include <stddef.h>

const char *const peer_name = NULL;

void peer_zone(void)
{
}
