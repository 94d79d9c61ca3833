/* Foreign recordings into .strobe files: traces, stage logs, cProfile. */
#ifndef SB_EXCHANGE_IMPORT_H
#define SB_EXCHANGE_IMPORT_H

#include "exchange/foreign.h"
#include "format/builder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_import_options {
	uint32_t part; /* of a text with several runs, from 1; 0: the last */
	const char *stages_of; /* of a memory snapshot: a run that was recorded meanwhile; NULL: none */
	const char *temporary_folder; /* NULL: $TMPDIR, /var/tmp, /tmp */
	sb_progress_fn *progress; /* NULL: none */
	void *progress_self;
};

struct sb_import_summary {
	const char *format; /* "trace", "stage log", "cProfile", "shared page", "memory snapshot" */
	uint64_t zones, gpu, marks, counters;
	uint64_t skipped, untimed; /* stage logs */
	uint64_t snapshots, samples; /* memory tables, displays */
	uint32_t runs; /* of a text that has several, one after the other */
	uint64_t recording_bytes; /* of a recording that was taken as it is, uncounted */
	char note[512]; /* what could not be kept, one line; "": everything was */
};

/* Reads path and writes a recording to strobe_path, which appears whole or not
 * at all. path may end in "#2": the second run of a text that has several. opts and out_summary may be NULL. */
int sb_import_file(const char *path, const char *strobe_path, const struct sb_import_options *opts,
	struct sb_import_summary *out_summary);

/* How many runs a text has ("BASELINE:", "AFTER …:" begin one); 1 for everything else. */
uint32_t sb_import_run_count(const char *path);

/* Whether path is a file that an import could read: not a folder, not a
 * recording. Says nothing about whether it is well formed. */
bool sb_import_is_candidate(const char *path);

/* Imports into a new temporary .strobe file, whose path the caller unlinks
 * once it is open. */
int sb_import_on_the_fly(const char *path, const struct sb_import_options *opts, char *out_path, size_t size);

/* The start of a recording that does not say when it began, in ns of real time: it ended when its file
 * was written, or now if it came through a pipe. */
uint64_t sb_import_start_real_ns(const char *path, int64_t whole_ns);
/* Notes in the recording that its start is that of a file. */
void sb_import_note_file_date(struct sb_builder *builder);

/* ---- one per format, for import.c ---- */
struct sb_importer {
	const char *format;
	/* Whether the first bytes look like it. */
	bool (*matches)(const char *bytes, size_t size);
	int (*import)(struct sb_foreign *source, const char *path, const char *strobe_path,
		const struct sb_import_options *opts, struct sb_import_summary *out_summary);
};
uint32_t sb_text_run_count(struct sb_foreign *source, const char *path);
extern const struct sb_importer sb_compared_importer, sb_share_importer, sb_share_job_importer,
	sb_speedscope_importer, sb_profile_importer, sb_trace_importer, sb_prof_importer, sb_text_importer,
	sb_snapshot_importer;

#endif
