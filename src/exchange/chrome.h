/* What the files of the Chrome exporter share: the state of one export. Only chrome_*.c
 * include it. */
#ifndef SB_EXCHANGE_CHROME_H
#define SB_EXCHANGE_CHROME_H

#include "exchange/export.h"
#include "exchange/sample_values.h"

#include <string.h>

#define NAME_LIMIT 2048u
#define TEXT_LIMIT 1024u

struct sb_chrome_fragment {
	char *text;
	size_t size;
	bool runtime; /* a name of the CUDA or HIP runtime's calls */
};

#define SB_CHROME_WAITS (1ull << 30)

struct sb_chrome {
	struct sb_run *run;
	struct sb_out *out;
	struct sb_export_summary *summary;
	struct sb_chrome_fragment *names; /* per run name: {"ph":"X","cat":…,"name":… */
	uint32_t name_room;
	struct sb_chrome_fragment *tracks; /* per track: ,"pid":…,"tid":…,"ts": */
	uint32_t track_room;
	uint64_t correlation;
	int64_t step_count;
	bool runtime_zones; /* the run holds the launch calls themselves */
	bool seen_iteration;
	bool failed;
	struct sb_chrome_stream {
		uint32_t pid, process, device; /* pid: the GPU's in the trace */
		uint64_t line; /* a stream, or SB_CHROME_WAITS and the thread that waits for the GPU */
	} * streams;
	uint32_t stream_count, stream_room;
	double *totals; /* of counters, per run name */
	uint32_t total_room;
	struct sb_sample_values samples;
};

/* The number that links a launch call to what it launched, made from place and time. Small enough for
 * every JSON reader to keep exact. */
static inline uint64_t sb_chrome_correlation(uint32_t track, int64_t launch_ns)
{
	return (((uint64_t)launch_ns + ((uint64_t)1 << 44)) & (((uint64_t)1 << 46) - 1)) << 7 | (track & 127);
}

/* ,"pid":…,"tid":…,"ts":… */
static inline char *sb_chrome_place(char *at, uint64_t pid, uint64_t tid, int64_t t_ns)
{
	at = SB_PUT(at, ",\"pid\":");
	at = sb_put_u64(at, pid);
	at = SB_PUT(at, ",\"tid\":");
	at = sb_put_u64(at, tid);
	at = SB_PUT(at, ",\"ts\":");
	return sb_put_us(at, t_ns);
}

/* ---- chrome_gpu.c ---- */
/* A piece of GPU work under its device and stream, and the arrow from its launch. */
void sb_chrome_gpu(struct sb_chrome *c, const struct sb_event *ev);

/* ---- chrome_frame.c ---- */
void sb_chrome_put_head(struct sb_chrome *c);
void sb_chrome_put_markers(struct sb_chrome *c, const struct sb_markers *markers);
void sb_chrome_put_tail(struct sb_chrome *c); /* after all events: the names of what they used */

#endif
