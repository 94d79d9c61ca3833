/* The private part of struct sb_run, shared by the files of src/run. */
#ifndef SB_RUN_INDEX_H
#define SB_RUN_INDEX_H

#include "run/gpu_spans.h"
#include "format/reader_files.h"
#include "run/resolve.h"
#include "base/map.h"
#include "base/vec.h"

#define SB_PATHS_RECENT 256u

struct sb_run_index {
	struct sb_recordings recordings;
	struct sb_reader_files files;
	struct sb_strings names; /* "text\0code": numbers are run name ids */
	struct sb_strings texts; /* keys, values, track names */
	uint32_t process_room, name_room, track_room, meta_room, schema_room;
	struct sb_map tracks; /* process, tid or task -> index of run->tracks */
	struct sb_map schemas; /* process, schema -> index of run->schemas */
	struct sb_map metas; /* hash of scope and key -> the last such meta */
	/* paths */
	struct sb_path *paths;
	uint32_t path_count, path_room;
	struct sb_map children; /* parent << 32 | name -> path | recursive bit */
	struct sb_path_recent { /* of children, the ones looked up last */
		uint64_t key; /* + 1; 0: none */
		uint32_t path;
	} recent[SB_PATHS_RECENT];
	struct sb_pass pass;
	struct sb_vec writers; /* of struct sb_writer_use */
	struct sb_gpu_spans gpu_spans; /* of the last pass that wanted them */
	int64_t attributed_ns;
	uint32_t visits; /* passes so far: damage is counted in the first */
};
#define SB_PATH_RECURSIVE (1u << 31)

/* ---- tables.c ---- */
bool sb_run_file_name_set(struct sb_run_process *p, uint32_t file_id, uint32_t id);
const char *sb_run_text_keep(struct sb_run *run, const char *text, size_t size);
/* The run's id of a file's name id. */
uint32_t sb_run_name_of_any(struct sb_run *run, uint32_t process, uint32_t file_id);
static inline uint32_t sb_run_name_of(struct sb_run *run, uint32_t process, uint32_t file_id)
{
	const struct sb_run_process *p = &run->processes[process];

	return file_id < p->name_count && p->names[file_id] ? p->names[file_id]
							    : sb_run_name_of_any(run, process, file_id);
}
/* Its text. Never index run->names with a call that may add a name: it moves. */
const char *sb_run_text_of(struct sb_run *run, uint32_t process, uint32_t file_id);
uint32_t sb_run_name_add(
	struct sb_run *run, const char *text, size_t size, const char *code, size_t code_size);
/* The index of a thread (task 0) or task; made when new. */
uint32_t sb_run_track_of(struct sb_run *run, uint32_t process, uint32_t tid, uint32_t task);
/* The path of a name below a parent; the recursive bit is set when the name is
 * its own ancestor: the path is then the ancestor's. */
uint32_t sb_run_path_of_any(struct sb_run *run, uint32_t parent, uint32_t name);
static inline struct sb_path_recent *sb_path_recent(struct sb_run_index *x, uint32_t parent, uint32_t name)
{
	return &x->recent[(parent * 7 + name) % SB_PATHS_RECENT];
}
static inline uint32_t sb_run_path_of(struct sb_run *run, uint32_t parent, uint32_t name)
{
	const struct sb_path_recent *recent = sb_path_recent(run->index, parent, name);

	return recent->key == ((uint64_t)parent << 32 | name) + 1 ? recent->path
								  : sb_run_path_of_any(run, parent, name);
}
/* The same for a zone whose role is not that of its ancestor of the same name (a section "denoise"
 * around steps "denoise"): a stage inside another one, not a recursion. */
uint32_t sb_run_path_of_role(struct sb_run *run, uint32_t parent, uint32_t name);
const struct sb_run_schema *sb_run_schema_of(const struct sb_run *run, uint32_t process, uint32_t schema);

/* ---- scan.c, cut.c ---- */
int sb_run_scan(struct sb_run *run, uint32_t process);
/* Names threads of a process that have no name yet. After the scan. */
int sb_run_thread_names(struct sb_run *run, uint32_t process);
/* cut may be NULL: the whole run. */
int sb_run_apply_cut(struct sb_run *run, const struct sb_cut *cut);

static inline int64_t sb_process_ns(const struct sb_run_process *p, uint64_t ticks)
{
	int64_t delta = (int64_t)(ticks - p->origin_ticks);

	return p->start_ns + (int64_t)((__int128)delta * (int64_t)p->scale >> 40);
}

static inline int64_t sb_process_duration_ns(const struct sb_run_process *p, uint64_t ticks)
{
	return (int64_t)((unsigned __int128)ticks * p->scale >> 40);
}

uint64_t sb_run_meta_hash(enum sb_meta_scope scope, const char *key);

#endif
