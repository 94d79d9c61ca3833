/* Where memory rose: between two readings of a device's allocator or of the host's memory, and where the
 * program itself reported an allocation. */
#ifndef SB_REPORT_TIMELINE_RISES_H
#define SB_REPORT_TIMELINE_RISES_H

#include "base/json.h"
#include "base/vec.h"
#include "run/events.h"

enum { SB_RISE_HOST = -1, SB_RISE_TOLD = -2 }; /* else the device */

struct sb_timeline_rises {
	struct sb_vec readings; /* struct sb_timeline_reading */
};

void sb_timeline_rises_done(struct sb_timeline_rises *r);
/* A snapshot or an allocation. Past a bound they are left out. */
void sb_timeline_rises_add(struct sb_timeline_rises *r, const struct sb_run *run, const struct sb_event *e);
/* "memory": [from_ns, to_ns, lane or -1, device, bytes]. lane_of: track -> lane, UINT32_MAX: none. Sorts the readings. */
void sb_timeline_rises_write(
	struct sb_timeline_rises *r, const struct sb_run *run, const uint32_t *lane_of, struct sb_json *j);

#endif
