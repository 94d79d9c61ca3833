/* How much memory a generation and its stages held at most. For sizes.c. */
#ifndef SB_ANALYZE_MEMORY_SIZE_PEAKS_H
#define SB_ANALYZE_MEMORY_SIZE_PEAKS_H

#include "run/open_stages.h"
#include "analyze/model.h"
#include "base/vec.h"
#include "run/events.h"

/* Two memories whose own maximum is read: that of the device's allocator, and the process's resident memory. */
enum sb_size_memory { SB_SIZE_ALLOCATOR, SB_SIZE_HOST, SB_SIZE_MEMORIES };

struct sb_size_peaks { /* zeroed: empty */
	struct sb_vec readings[SB_SIZE_MEMORIES];
	struct sb_open_stages stages;
	bool failed; /* no memory for a reading */
};

struct sb_size_span { /* a generation's zone */
	int64_t begin_ns, end_ns;
	uint32_t track, depth, process;
};

/* Takes readings; they are sorted once all are there. */
void sb_size_peaks_see(struct sb_size_peaks *p, enum sb_size_memory memory, const struct sb_event *e);
void sb_size_peaks_sort(struct sb_size_peaks *p);
void sb_size_peaks_done(struct sb_size_peaks *p);

/* The maximum of a span. It is known if the maximum rose between the last reading before the span and
 * the first one after it. */
double sb_size_risen_peak(const struct sb_size_peaks *p, enum sb_size_memory memory,
	const struct sb_size_span *span, double *out_reserved);

/* The maximum of a stage if it rose inside the stage, else the highest reading in it. */
double sb_size_stage_peak(const struct sb_size_peaks *p, enum sb_size_memory memory,
	const struct sb_size_span *span, const struct sb_open_stage *stage);
bool sb_size_is_stage_of(const struct sb_size_span *span, const struct sb_open_stage *stage);

/* The highest sample of a monitor's column, over its devices; NAN: none. */
double sb_size_sampled(
	const struct sb_model *model, const char *source, const char *column, double from_s, double to_s);

void sb_size_raise(double *peak, double bytes); /* NAN leaves it as it is */

#endif
