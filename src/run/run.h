/* A RUN: what the user names on the command line, resolved to a set of
 * recordings on one time axis. Events come through events.h. */
#ifndef SB_RUN_RUN_H
#define SB_RUN_RUN_H

#include "base/strings.h"
#include "format/reader.h"
#include "strobe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a run. Zero-initialised: all of it. */
struct sb_cut {
	int32_t generation; /* from 1; 0: all */
	int64_t last_ns; /* the last so many ns; 0: all */
	bool has_from, has_to;
	int64_t from_ns, to_ns; /* since the run's start; negative: from its end */
};
/* "10m", "90s", "1.5h", "250ms", "30" (seconds), for --last, --from, --to. */
int sb_cut_parse_duration(const char *text, int64_t *out_ns);

#define SB_NO_NAME "(unnamed)" /* for what the program called "" */
#define SB_LOST_NAME "(name " /* how a name begins whose text the file no longer has: "(name 7)" */

/* A name as recorded, with its stage code. Run-wide ids; 0 is "". */
struct sb_run_name {
	const char *text;
	const char *code; /* "" : none */
};

struct sb_run_attr {
	const char *key;
	enum strobe_type type;
	int64_t i; /* INT, BOOL */
	double f;
	const char *s;
};

struct sb_run_meta {
	uint32_t process;
	enum sb_meta_scope scope;
	struct sb_run_attr attr;
};

struct sb_run_schema {
	uint32_t process;
	uint32_t id; /* in its file */
	const char *source; /* "gpu", "cpu", "memory", "disk"... */
	int device; /* -1: none */
	const char **columns;
	uint32_t column_count;
};

/* A line of nested zones: a thread, or a task. */
struct sb_run_track {
	uint32_t process;
	uint32_t tid; /* 0 for tasks */
	uint32_t track; /* 0 for threads */
	const char *name; /* "" : none given */
	bool main; /* the thread that opened the session, in the run's main process */
	bool main_task; /* a task that has run on that thread */
};

/* One file: one recording process, or strobe's own (role tool). */
struct sb_run_process {
	struct sb_reader *reader;
	uint32_t pid, ppid;
	bool tool; /* run.strobe of `strobe run`: samples and process tree */
	int64_t start_ns, end_ns; /* on the run's axis */
	uint32_t *names; /* file name id -> run name id */
	uint32_t name_count;
	double ns_per_tick;
	uint64_t scale; /* ns_per_tick in 1/2^40 */
	int64_t shift_ns; /* of a job: what to add to its host's time of day */
	uint64_t origin_ticks; /* ticks at start_ns */
	bool has_tracks; /* zones on tracks that are not threads */
};

struct sb_run {
	char *path; /* what was opened: folder or file */
	char *folder; /* where reports belong; NULL for a lone file */
	struct sb_run_process *processes;
	uint32_t process_count;
	uint32_t main_process;
	struct sb_run_name *names;
	uint32_t name_count;
	struct sb_run_track *tracks;
	uint32_t track_count;
	struct sb_run_schema *schemas;
	uint32_t schema_count;
	struct sb_run_meta *metas;
	uint32_t meta_count;
	uint64_t start_real_ns;
	int64_t wall_ns; /* of the whole run */
	bool job; /* recordings of several ranks */
	bool many_hosts; /* whose process numbers may coincide */
	bool live; /* a process that records into it is running */
	bool complete; /* the main process closed its file in order */
	uint64_t lost[SB_LOST_REASONS];
	/* The part asked for; all of it: 0, wall_ns. */
	int64_t from_ns, to_ns;
	bool is_cut;
	int32_t generation; /* 0: not cut to one */
	char **warnings; /* one line each: damage, files left out */
	uint32_t warning_count;
	/* private */
	struct sb_run_index *index;
};

/* spec: a run folder, a .strobe file, "last", "last~N", NULL (last), or a trace
 * or stage log to import on the fly. cut may be NULL. */
int sb_run_open(const char *spec, const struct sb_cut *cut, struct sb_run **out_run);
/* The folder itself, whatever its name says in its job. */
int sb_run_open_folder(const char *folder, struct sb_run **out_run);
void sb_run_close(struct sb_run *run); /* takes NULL */

/* One rank of a job that is opened as one run, for a timeline of all. */
struct sb_run_rank {
	const char *path;
	int64_t shift_ns; /* what to add to its host's time of day; hosts' clocks disagree */
};
int sb_run_open_ranks(const char *path, const struct sb_run_rank *ranks, size_t count,
	const struct sb_cut *cut, struct sb_run **out_run);

/* Where runs are: STROBE_OUTPUT_DIR or ./strobe-runs. */
const char *sb_run_root(void);
/* The path of spec without opening it (e.g. to write reports beside it). */
int sb_run_resolve(const char *spec, char *out_path, size_t size);

/* Turns a trace or stage log into a .strobe file for the life of a run. Set once
 * by the program: analyze does not know exchange. out_path is removed when the
 * run closes. */
typedef int sb_run_importer(const char *path, char *out_path, size_t size);
void sb_run_set_importer(sb_run_importer *importer);

/* Unpacks a page that holds a job into a folder of ranks, which lasts as long as the program. Returns 1
 * with the folder; 0 if path is no such page; negative if the page cannot be read. Called by several
 * threads. */
typedef int sb_run_job_opener(const char *path, char *out_folder, size_t size);
void sb_run_set_job_opener(sb_run_job_opener *opener);
/* True if spec is such a page or a rank in it: reports are not written beside it. */
bool sb_run_is_in_page(const char *spec);

/* True for a recording that was not closed and whose process still runs on this machine. */
bool sb_run_is_running(const struct sb_file_header *head);
int64_t sb_run_time_ns(const struct sb_run *run, uint32_t process, uint64_t ticks);
const struct sb_run_meta *sb_run_meta_find(
	const struct sb_run *run, enum sb_meta_scope scope, const char *key);
void sb_run_warn(struct sb_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
