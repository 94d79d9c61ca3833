/* What the sampler samples: one const entry per source, named in SB_SOURCES.
 * A source keeps its state in its own file; open() starts it afresh. */
#ifndef SB_MONITOR_SOURCE_H
#define SB_MONITOR_SOURCE_H

#include "record/settings.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_tick {
	uint64_t ticks; /* the recorder's clock */
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
};

struct sb_source {
	const char *name;
	bool (*wanted)(const struct sb_settings *settings); /* off means off */
	void (*open)(const struct sb_settings *settings);
	void (*sample)(const struct sb_tick *tick);
	void (*close)(const struct sb_tick *tick);
};

/* Every source by its name: sb_source_<name>. */
#define SB_SOURCES(source) source(cpu) source(memory) source(process) source(disk) source(pressure)
#define SB_SOURCE_DECLARE_(name) extern const struct sb_source sb_source_##name;
SB_SOURCES(SB_SOURCE_DECLARE_)

/* When something expensive is due again: the more it cost the last time, the longer it waits,
 * so that it never takes more than a share of one core. */
struct sb_pace {
	uint64_t next_ns;
	uint64_t cost_ns;
};
bool sb_pace_due(const struct sb_pace *pace, uint64_t mono_ns); /* true: do it now */
/* It was done and cost so much; waits at_least_ns. */
void sb_pace_done(struct sb_pace *pace, uint64_t mono_ns, uint64_t cost_ns, uint64_t at_least_ns);

uint64_t sb_mono_ns(void); /* CLOCK_MONOTONIC */

#endif
