/* Runs into foreign formats. One exporter per file, streaming: memory does not
 * grow with the recording. */
#ifndef SB_EXCHANGE_EXPORT_H
#define SB_EXCHANGE_EXPORT_H

#include "run/events.h"
#include "exchange/out.h"

#include <stdint.h>

struct sb_export_summary {
	uint64_t zones, gpu, counters, marks, findings;
	uint64_t overlapping; /* spans that a format without overlapping zones cannot take */
	uint64_t folded_zones; /* known by their sums only: not in the export */
	uint64_t bytes;
};

/* What a report found, for a timeline to show: the command hands it over, exporters know no analysis. */
struct sb_markers {
	struct sb_marker {
		const char *id, *priority, *issue, *suggestion; /* "hidden_sync", "high", … */
		int64_t from_ns, to_ns; /* since the run's start; to 0: no time in particular */
	} * all;
	size_t count;
};

struct sb_exporter {
	const char *name; /* --to NAME */
	const char *file_name; /* in a run folder; its ending chooses the format where --to is missing */
	const char *summary; /* one line of `strobe export --help` */
	bool readable; /* text for people: may go to a terminal */
	bool takes_markers;
	int (*write)(struct sb_run *run, const struct sb_markers *markers, struct sb_out *out,
		struct sb_export_summary *summary);
	/* Instead of write: makes the file itself. */
	int (*write_file)(struct sb_run *run, const char *path, struct sb_export_summary *summary);
};

/* Every exporter by its name: sb_<name>_exporter in src/exchange/<name>_out.c. The table,
 * the help and the endings of files follow. */
/* clang-format off */
#define SB_EXPORTERS(exporter) \
	exporter(chrome) \
	exporter(perfetto) \
	exporter(csv) \
	exporter(packed) \
	exporter(speedscope) \
	exporter(pprof) \
	exporter(otlp)
/* clang-format on */

extern const struct sb_exporter *const sb_exporters[]; /* NULL-terminated */
const struct sb_exporter *sb_exporter_find(const char *name);
/* By the ending of a file's name: "trace.json" is a Chrome trace; NULL: it does not say. */
const struct sb_exporter *sb_exporter_of_file(const char *path);

/* path "-": standard output. The file appears whole or not at all. markers NULL: none. */
int sb_export(const struct sb_exporter *exporter, struct sb_run *run, const struct sb_markers *markers,
	const char *path, struct sb_export_summary *out_summary);

/* ---- packed_out.c ---- */
/* Packs every recording of a run into a folder that exists, under their names: a run's folder again. Adds to the
 * summary. What was written before a failure stays. */
int sb_packed_folder_write(struct sb_run *run, const char *folder, struct sb_export_summary *summary);

/* ---- what exporters share ---- */
/* Everything beside zones that a timeline shows. */
#define SB_EXPORT_KINDS                                                                                \
	(1u << SB_EVENT_GPU | 1u << SB_EVENT_SAMPLE | 1u << SB_EVENT_SNAPSHOT | 1u << SB_EVENT_GAUGE | \
		1u << SB_EVENT_COUNT | 1u << SB_EVENT_SKIPPED | 1u << SB_EVENT_MARK | 1u << SB_EVENT_EVENT)
/* Process and thread numbers as foreign tools want them: tasks get numbers far
 * from real threads. */
/* Of a job, whose ranks may share numbers: its own for every process. */
uint32_t sb_export_pid(const struct sb_run *run, uint32_t process);
/* "train", and of a job "node002 rank 17: train": lanes sort by node and rank. */
void sb_export_process_name(const struct sb_run *run, uint32_t process, char *out, size_t size);
/* Where a process stands among the others of a job: by node, then rank. */
uint32_t sb_export_process_order(const struct sb_run *run, uint32_t process);
/* A GPU as a process of its own: its number, and of a job one for every process that used it. */
uint32_t sb_export_gpu_pid(const struct sb_run *run, uint32_t process, uint32_t device);
uint64_t sb_export_tid(const struct sb_run_track *track);
void sb_export_track_name(const struct sb_run *run, uint32_t track, char *out, size_t size);
/* "gpu 0 memory_used_bytes": a column of samples as a counter. */
void sb_export_column_name(const struct sb_run_schema *schema, uint32_t column, char *out, size_t size);
/* The file of a recording in a copy of its run's folder; number: which of the run's it is. */
void sb_export_recording_path(
	const struct sb_reader *reader, uint32_t number, const char *folder, char *out, size_t size);
const char *sb_export_role_name(uint32_t role); /* "" for plain stages */

#endif
