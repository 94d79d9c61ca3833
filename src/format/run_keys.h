/* Keys of META_RUN records: what `strobe run` writes into run.strobe, and what
 * every recording says. */
#ifndef SB_FORMAT_RUN_KEYS_H
#define SB_FORMAT_RUN_KEYS_H

#define SB_RUN_TOOL "tool" /* int 1: this file is strobe run's own */
#define SB_RUN_COMMAND "command" /* string, quoted for a shell; absent with --no-command */
#define SB_RUN_COMMIT "commit" /* string, hex: of the git tree that it was started in */
#define SB_RUN_PID "pid" /* int: the command's process */
#define SB_RUN_EXIT_CODE "exit_code" /* int, when it ended by itself */
#define SB_RUN_EXIT_SIGNAL "exit_signal" /* int, when a signal ended it */
#define SB_RUN_OUTCOME "outcome" /* string, one line: "exit 0", "killed by SIGKILL (out of memory)" */
#define SB_RUN_LEFT_BEHIND "left_behind" /* string: processes still running when it ended */
#define SB_RUN_PROCESS_COUNT "process_count" /* int: processes seen in its tree */
#define SB_RUN_CPU_S "cpu_s" /* float: CPU time of the tree */
#define SB_RUN_PEAK_RSS_BYTES "peak_rss_bytes" /* int: of the largest process */

#define SB_RUN_IMPORTED_FROM "imported_from" /* string: the file, as it was named */
#define SB_RUN_FILE_DATE "file_date" /* int 1: what was imported has no date; the start is that of its file */
#define SB_RUN_NO_TIMES \
	"no_times" /* int 1: what was imported has no times; those of the recording are made up */
#define SB_RUN_TIME_DIGIT_S "time_digit_s" /* float: what the last digit of imported times stands for */
#define SB_ATTR_TIME_DIGIT_S "time_digit_s" /* the same of one imported stage */
#define SB_RUN_IMPORT_NOTE "import_note" /* string: what an import could not keep or believe */

#define SB_RUN_DEVICE "device" /* string: what an imported benchmark ran on, "cuda", "cpu" */

/* in every recording */
#define SB_RUN_BACKEND "distributed_backend" /* string: "nccl", "gloo"...; absent where it is not known */
#define SB_RUN_JOB "job" /* string: the launcher's id of the job that this rank belongs to */
#define SB_RUN_ATTEMPT \
	"attempt" /* int: which start of the job in its folder, from 1; in the run's main recording */

/* int, ticks; a pair for each GPU trace, the end absent where the process was killed */
#define SB_RUN_GPU_TRACE_BEGIN "gpu_trace_begin_ticks"
#define SB_RUN_GPU_TRACE_END "gpu_trace_end_ticks"
/* int 1, after a pair: it is not a trace of its own but what was kept of one that ran all the time */
#define SB_RUN_GPU_TRACE_KEPT "gpu_trace_kept"
/* string, of each slow moment that was caught: what (step, generation, out_of_memory, asked), judged by (clock, gpu, pause, -),
 * five numbers in ticks (begin, end, begin and end of a normal one or 0, median of its peers or 0), why it was asked for */
#define SB_RUN_SLOW_MOMENT "slow_moment"
/* string, of a slow moment that became more than its first step, the last one said counts: what and begin as slow_moment has them, how
 * many of them there are in a row, the end of the last; of the slowest of them: judged by, begin, end, median of its peers, how much
 * longer than these it took */
#define SB_RUN_SLOW_ROW "slow_row"
/* string: what and begin of a slow moment that gave way to a slower one, or to one that was asked for, which is said next */
#define SB_RUN_SLOW_DISPLACED "slow_displaced"
/* int, where a watch ends: slow moments that were not kept */
#define SB_RUN_SLOW_UNKEPT "slow_unkept"
/* int, where a watch ends: 1: one that is not in the end kept was slower than one that is */
#define SB_RUN_SLOW_LOST "slow_lost"
/* float, where a watch for slow moments begins: the ratio over its peers that is slow */
#define SB_RUN_SLOW_WATCH "slow_watch"
/* string, where it ends: steps that ended, those of them that had peers to be judged by, the same of generations */
#define SB_RUN_SLOW_JUDGED "slow_judged"

/* string, of each time that strobe set up a trace or the sampling of counters: begin and end in ticks */
#define SB_RUN_GPU_SETUP "gpu_setup"

/* int, where a trace ends: the most of CUPTI's buffers that were not free at one time; records of work that had not ended
 * when CUPTI gave back all it had, where there are any */
#define SB_RUN_GPU_TRACE_BUFFERS "gpu_trace_buffers_most_count"
#define SB_RUN_GPU_TRACE_UNFINISHED "gpu_trace_unfinished_count"

/* int; the same of sampled counters, and how many samples were written and lost each time */
#define SB_RUN_GPU_COUNTERS_BEGIN "gpu_counters_begin_ticks"
#define SB_RUN_GPU_COUNTERS_END "gpu_counters_end_ticks"
#define SB_RUN_GPU_COUNTERS_OF_SLOW "gpu_counters_of_slow" /* 1: those around slow moments alone were kept */
#define SB_RUN_GPU_COUNTERS_SAMPLES "gpu_counters_sample_count"
#define SB_RUN_GPU_COUNTERS_LOST "gpu_counters_lost_count"

/* an event: what a line of the program held on a device. device, peak_bytes, peak_count, end_bytes, end_count, function, file,
 * line, stack; without a file: allocated before the history. by_stage: function is the stage in which it was allocated */
#define SB_EVENT_MEMORY_HELD "strobe.memory_held"
#define SB_EVENT_MEMORY_MOMENT "strobe.memory_moment" /* what the first ten of those lines held at a time */
/* an event: a segment of torch's allocator with free memory between blocks in use. device, bytes, free_bytes, free_count,
 * largest_free_bytes; parts: "bytes:thousandths in use", one after the other */
#define SB_EVENT_MEMORY_SEGMENT "strobe.memory_segment"

/* an event: a part of what memory held. at, component, bytes, dtype, device (negative, or none: the host). at: "generation" (a list
 * of all models), "out_of_memory", "alloc_retries" (set: the number of the list), "cache"; "move": from now on the component has so many bytes there, before_bytes until
 * then (none: not known of the time before), after a move that took took_ns */
#define SB_EVENT_RESIDENT "strobe.resident"
/* an event: strobe's own counting at the end is done. before_bytes, after_bytes (the process's highest resident memory until
 * then), duration_s */
#define SB_EVENT_OWN_MEMORY "strobe.own_memory"
/* an event: memory ran out. requested_bytes, free_bytes, total_bytes, allocated_bytes, reserved_bytes, device, file, line;
 * SB_ATTR_REFUSED_BY_DRIVER: the driver refused it, and an allocator above it may have got it with its next try */
#define SB_ATTR_REFUSED_BY_DRIVER "refused_by_driver"
#define SB_EVENT_OUT_OF_MEMORY "out_of_memory"
/* an event: within within_ns until then torch's allocator got no memory count times, gave its cache back and got it then. device,
 * allocated_bytes, reserved_bytes, both before_ (at the reading before), given_back_bytes, total_bytes, limit_bytes */
#define SB_EVENT_ALLOC_RETRIES "strobe.alloc_retries"

/* an event: torch's allocator gave bytes back to the driver since the last reading of this device */
#define SB_EVENT_GIVEN_BACK "strobe.given_back"

/* labels of snapshots that the Python package takes by itself: the allocator of a device, and of device -1 as the
 * allocated bytes the host's memory, pinned memory, and how many files are open */
#define SB_MEMORY_READING "strobe.memory." /* what all of them begin with */
#define SB_MEMORY_READING_DEVICE SB_MEMORY_READING "device"
#define SB_MEMORY_READING_HOST SB_MEMORY_READING "host"
#define SB_MEMORY_READING_PINNED SB_MEMORY_READING "pinned"
#define SB_MEMORY_READING_FILES SB_MEMORY_READING "files"

/* what a run says under "Not recorded" of processes that have no recording: "recordings of 3 processes" */
#define SB_MISSING_RECORDINGS "recordings of "
/* what a process says that had nothing to trace or to sample; another one of the run may have */
#define SB_NOT_ASKED_TRACE "no GPU trace was asked for"
#define SB_NEVER_CUDA "the program never initialised CUDA"
#define SB_NEVER_GPU "the program never used a GPU"
#define SB_FEW_TRACED "too few steps were seen to trace any"
#define SB_FEW_SAMPLED "too few steps were seen to sample any"
#define SB_NO_SIGNAL "no SIGUSR2 came"
#define SB_SIGNAL_THEIRS "the program handles SIGUSR2 itself"
/* what a run without a stage says under "Not recorded" */
#define SB_NO_STAGES "no program recorded any"
#define SB_NO_STAGES_HOW                                                                        \
	"--labels, where it prints stage lines such as '[3b] RAFT: 9.5s'; else import strobe, " \
	"link libstrobe or use --stage"

/* attributes of a zone that sums up several calls; SB_NAME_CALLS and its like */
#define SB_ATTR_CALLS "strobe.calls"
#define SB_ATTR_CALLS_MIN "strobe.calls_min_s"
#define SB_ATTR_CALLS_MAX "strobe.calls_max_s"
#define SB_ATTR_CALLS_MEDIAN "strobe.calls_median_s"
#define SB_ATTR_CALLS_STD "strobe.calls_std_s"

/* an event of an import: the turns of a loop that is no part of the run's time. loop, count, mean_s, median_s, std_s, min_s,
 * max_s, frames_per_s */
#define SB_EVENT_LOOP "strobe.loop"
/* an event of an import: an operator of torch.profiler's table. operator, calls, self_s, total_s, gpu_s, of_s (all of
 * them) */
#define SB_EVENT_OPERATOR "strobe.operator"

/* an event: what one shape of a model's inputs takes. shape, model, precision, flops or why it is not known */
#define SB_EVENT_FLOPS "strobe.flops_shape"

/* an event: the program wrote a result. Attributes: path; of raw samples width, height, pixel_format */
#define SB_EVENT_OUTPUT "strobe.output"

/* Notes in the run's folder, of processes without a recording. */
#define SB_RUN_REFUSED "unrecorded.txt" /* a line per process that had no room */
#define SB_RUN_DISK_FULL "unrecorded." /* and the number of a process that found the disk full */

#endif
