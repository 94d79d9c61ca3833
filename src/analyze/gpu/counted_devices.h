/* The GPUs whose counters were read, and the busiest of some of them. */
#ifndef SB_ANALYZE_GPU_COUNTED_DEVICES_H
#define SB_ANALYZE_GPU_COUNTED_DEVICES_H

#include "analyze/gpu/counter_readings.h"
#include "analyze/touched_devices.h"
#include "base/vec.h"
#include "run/events.h"

#define SB_COUNTED_DEVICES_MAX 64
#define SB_ANY_PROCESS UINT32_MAX

struct sb_counted_device {
	enum sb_counter_source source;
	int device; /* by the monitors' number */
	uint32_t process; /* whose zones samples belong to; readings of the driver are everybody's */
	double last[SB_BESIDES]; /* what the driver said last */
	double beside[SB_BESIDES]; /* the same, summed up since the last reading */
	uint32_t beside_count[SB_BESIDES];
	struct sb_vec readings; /* struct sb_counter_reading */
};

struct sb_counted_devices {
	struct sb_device_numbers numbers; /* the caller sets its run */
	struct sb_counted_device all[SB_COUNTED_DEVICES_MAX];
	size_t count;
	struct sb_counted_links { /* what the driver said of NVLink, for samples: they come after all that it said */
		int device;
		struct sb_vec rates; /* struct sb_link_rates */
	} links[SB_COUNTED_DEVICES_MAX];
	size_t link_count;
};

/* False: other samples are in such rows. */
bool sb_counted_source_of(const struct sb_run_schema *schema, enum sb_counter_source *out);
/* Of a sample, of whatever source. */
int sb_counted_devices_take(struct sb_counted_devices *c, const struct sb_event *e);
/* Of the devices with a bit each (0: of all) the one whose SMs had most to do in that time; NULL: none of them has readings.
 * process: whose samples; readings of the driver are everybody's. */
const struct sb_counted_device *sb_counted_busiest(const struct sb_counted_devices *c,
	enum sb_counter_source source, uint32_t process, uint64_t devices, int64_t from_ns, int64_t to_ns);
void sb_counted_devices_done(struct sb_counted_devices *c);

#endif
