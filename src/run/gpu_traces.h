/* When strobe traced the GPU: each trace's begin and end, as the recording says.
 * Imports do not say it: they count as one trace from begin to end. */
#ifndef SB_RUN_GPU_TRACES_H
#define SB_RUN_GPU_TRACES_H

#include "run/run.h"
#include "base/vec.h"

struct sb_gpu_trace {
	uint32_t process;
	int64_t begin_ns, end_ns; /* of a trace never ended: of its process */
	bool ended;
	bool kept; /* of a trace that ran all the time: its begin and end took no time */
};

/* Adds the traces (struct sb_gpu_trace) of each process to out, in order. Kept ones that overlap become
 * one. */
int sb_gpu_traces_find(const struct sb_run *run, struct sb_vec *out);

/* True if a trace of the process begins or ends in [begin, end]: that takes time, which is strobe's and
 * not the program's. UINT32_MAX: of any process. */
bool sb_gpu_traces_edge(const struct sb_vec *traces, uint32_t process, int64_t begin_ns, int64_t end_ns);

/* True if a trace other than the process's first begins in (begin, end]: what lies between two traces
 * was not seen. */
bool sb_gpu_traces_apart(const struct sb_vec *traces, uint32_t process, int64_t begin_ns, int64_t end_ns);

/* Of an int META that traces end with: the largest of all traces and their sum. -1, 0: none has it. */
void sb_gpu_traces_number(const struct sb_run *run, const char *key, int64_t *out_most, int64_t *out_sum);

struct sb_gpu_setup {
	uint32_t process;
	int64_t begin_ns, end_ns;
};

/* Adds each time (struct sb_gpu_setup) that strobe set up a trace or the sampling of counters to out. */
int sb_gpu_setups_find(const struct sb_run *run, struct sb_vec *out);
/* True if one of the process ran in [begin, end]: the driver kept the program waiting. UINT32_MAX: of any
 * process. */
bool sb_gpu_setups_meet(const struct sb_vec *setups, uint32_t process, int64_t begin_ns, int64_t end_ns);

#endif
