/*
 * The recorder's insides: what zone.c, put.c, fold.c, extent.c, helper_thread.c and
 * session.c share. One recorder per process, however many instances of the library
 * are loaded; one writer per thread and instance.
 */
#ifndef SB_RECORD_RECORDER_H
#define SB_RECORD_RECORDER_H

#include "base/folder.h"
#include "format/wire.h"
#include "record/cancel.h"
#include "record/descriptor.h"
#include "record/instances.h"
#include "record/settings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_fold;

/* A writer's position in one stream. */
struct sb_position {
	uint64_t *cur; /* the next word */
	uint64_t *_Atomic end; /* past the last; NULL: look at the slow path first */
	uint64_t base; /* ticks the words count from */
	uint64_t *limit; /* what end is while no attention is asked for */
	uint32_t chunk; /* index + 1; 0: none */
	uint32_t reserved;
	uint64_t seq;
};

/* Lives in memory that a forked child finds zeroed, so that a child never
 * writes into its parent's chunks, even after a raw clone(). */
struct sb_writer {
	struct sb_position hot; /* first: the fast path touches one cache line */
	_Atomic uint32_t session; /* which session has these chunks; 0: none */
	uint32_t track;
	uint32_t id;
	uint32_t tid;
	struct sb_position keep;
	struct sb_position device;
	_Atomic uint32_t state; /* enum sb_writer_state */
	_Atomic bool busy; /* off the fast path: signal handlers keep out, closing waits */
	bool in_block; /* the zone that began last is a block whose size is not known yet */
	uint32_t oldest; /* HOT chunks of this writer, oldest first: index + 1 */
	uint32_t starved_count; /* events since the last vain search for a chunk */
	uint64_t words_lost; /* not yet told by a chunk header */
	struct sb_fold *fold;
	struct sb_stage_log *stage_log; /* NULL: off, or nothing yet */
	char name[16]; /* the thread's, as the system has it */
};

enum sb_writer_state { SB_WRITER_FREE = 0, SB_WRITER_LIVE = 1, SB_WRITER_ENDED = 2 };

/* The mapped file of one session. */
struct sb_extent {
	struct sb_descriptor file;
	int error; /* errno of what stopped the growing */
	char *base;
	size_t reserved_bytes;
	uint32_t chunk_bytes;
	_Atomic uint32_t total_chunks; /* budget; shrinks when the disk is full */
	uint32_t bound_by; /* enum sb_limit: what the budget comes from */
	_Atomic uint32_t ready_chunks; /* mapped, reserved on disk, faulted in */
	_Atomic uint32_t next_chunk;
	_Atomic uint32_t stream_used[5];
	uint32_t *next_of; /* per chunk: the same writer's next HOT chunk */
	size_t next_of_bytes;
	_Atomic uint32_t grow_lock;
	_Atomic uint32_t asked_chunks; /* a writer needs more than these to be ready */
	bool small;
	uint64_t run_most_bytes; /* of all recordings of the run together; 0: no bound */
	bool run_full; /* that is why it did not grow */
	bool closed; /* under grow_lock */
	size_t mapped_bytes; /* under grow_lock */
	_Atomic size_t private_from; /* the file was cut: private memory from here; SIZE_MAX: nowhere */
	_Atomic uint32_t refault_count;
	uint64_t dropped_bytes; /* helper only: pages given back up to here */
	_Atomic uint32_t recycled; /* chunks reused since pages were last given back */
};

/* One at a time: see errand.h. */
struct sb_errand {
	_Atomic uint32_t state; /* enum sb_errand_state; futex word */
	int (*run)(void *argument);
	void *argument;
	int result;
	char message[768];
};
enum sb_errand_state { SB_ERRAND_NONE = 0, SB_ERRAND_TAKEN = 1, SB_ERRAND_ASKED = 2, SB_ERRAND_DONE = 3 };

enum sb_recorder_state {
	SB_IDLE = 0,
	SB_ARMED = 1, /* the first event opens the session */
	SB_OPENING = 2,
	SB_OPEN = 3,
	SB_CLOSING = 4
};

#define SB_WRITERS_MAX 8192u
#define SB_INSTANCES_MAX 32u
#define SB_TABLES_MAX 8u

struct sb_recorder {
	_Atomic uint32_t state;
	_Atomic uint32_t session; /* counts sessions; odd numbers never repeat in a process */
	uint32_t *mode_words[SB_INSTANCES_MAX]; /* strobe_mode_ of every instance */
	_Atomic uint32_t instance_count; /* entries of mode_words in use */
	_Atomic uint32_t opener; /* the thread that opens, in SB_OPENING */
	_Atomic bool opening_hangs; /* threads no longer wait for it */
	_Atomic uint32_t *_Atomic canary; /* see fork.c */
	_Atomic bool unwiped; /* this system cannot wipe pages in children */
	_Atomic uint32_t settler; /* after a fork: the thread that makes the recorder the child's own */
	_Atomic uint64_t lost_early[SB_LOST_REASONS]; /* before there was a header to count in */
	pthread_mutex_t control; /* start and stop, never taken by recording calls */
	struct sb_extent extent; /* only between sb_writer_enter() and sb_writer_leave() */
	struct sb_file_header *_Atomic header; /* the open session's, or the last one's */
	struct sb_writer *_Atomic writers[SB_WRITERS_MAX];
	_Atomic uint32_t writer_count;
	_Atomic uint32_t file_writer_count;
	_Atomic uint32_t track_count;
	_Atomic uint32_t schema_count;
	_Atomic uint64_t span_count;
	struct sb_settings settings;
	char run_dir[1024];
	struct sb_folder run_folder; /* proves that run_dir is still the same folder */
	char file_path[1200];
	char spool_path[1200]; /* "" unless the run folder cannot be mapped */
	bool run_full; /* the run has no room for this process: `strobe run` says so */
	int attempt; /* which start of its job; 0: none, or another process knows */
	bool under_run; /* strobe run owns the folder */
	bool forked; /* this session's process was forked off a recording one */
	bool explicit_start;
	uint32_t file_count;
	pthread_t helper;
	bool helper_runs;
	_Atomic uint32_t helper_wakes; /* futex word */
	_Atomic uint32_t helper_quit;
	_Atomic bool helper_beats; /* the session is open: grow, give back, leave signs of life */
	_Atomic pid_t own_tables[SB_TABLES_MAX]; /* threads with descriptors of their own */
	struct sb_errand errand;
	_Atomic bool stage_log; /* zones print their lines */
	bool stage_log_elsewhere; /* a binding prints them itself */
	char stage_log_path[256]; /* "": standard error */
	_Atomic(void (*)(void)) step_hook, step_counting_hook;
	_Atomic(void (*)(void)) closing[SB_INSTANCES_MAX]; /* see sb_session_on_close() */
	_Atomic(const struct sb_watcher *) watcher; /* see record/watcher.h */
};

/* One for all instances of the library in the process. */
#define REC sb_recorder_used

/* The calling thread's writer, attached to the open session; opens an armed
 * session. NULL: nothing records. */
struct sb_writer *sb_writer_here(void);
/* The calling thread's writer without attaching it: never NULL, but perhaps of no session. */
extern _Thread_local struct sb_writer *sb_here __attribute__((tls_model("initial-exec")));

/* ---- extent.c ---- */
/* Takes the file over, also when it fails. small: takes 64 KiB of disk first, for a
 * process that may end after a few zones. */
int sb_extent_open(struct sb_extent *x, const struct sb_descriptor *file, uint64_t budget_bytes,
	uint64_t run_most_bytes, bool small);
void sb_extent_close(struct sb_extent *x); /* writers may still hold addresses */
bool sb_extent_grow(struct sb_extent *x); /* or waits a little for the thread that does it */
/* True if a writer needs more chunks than are ready. For the thread that may touch the file. */
bool sb_extent_is_asked(const struct sb_extent *x);
/* index + 1, or 0. first: a writer's first chunk of the stream. */
uint32_t sb_chunk_take(struct sb_extent *x, enum sb_stream stream, bool first);
uint32_t sb_extent_keep_share(const struct sb_extent *x); /* chunks that the KEEP stream may take */
struct sb_chunk_header *sb_chunk_at(const struct sb_extent *x, uint32_t chunk); /* chunk: index + 1 */
static inline struct sb_file_header *sb_header(void)
{
	return atomic_load_explicit(&REC->header, memory_order_acquire);
}

/* ---- writer.c ---- */
/* The calling thread's writer, its own until sb_writer_leave(): the session will
 * not go away meanwhile. NULL: nothing records, or a signal handler interrupted
 * the slow path. */
struct sb_writer *sb_writer_enter(void);
static inline void sb_writer_leave(struct sb_writer *w)
{
	atomic_store_explicit(&w->busy, false, memory_order_release);
}
/* Waits until no thread is between enter and leave. After the state has left SB_OPEN. */
void sb_writers_quiesce(void);
/* Writes the chunk's header and makes it the position's. ticks: what its words count from. */
void sb_writer_open_chunk(
	struct sb_writer *w, struct sb_position *p, enum sb_stream stream, uint32_t chunk, uint64_t ticks);
/* Makes room for `words` words in the HOT stream at this time; writes REBASE where
 * needed. False: counted as lost. Between enter and leave. */
bool sb_writer_room(struct sb_writer *w, uint32_t words, uint64_t ticks);
/* Sends every writer to the slow path at its next event: it has to look at the state again. */
void sb_writers_poison(void);

/* ---- fold.c: the owner folds its oldest HOT chunk and gets it back ---- */
uint32_t sb_fold_oldest(struct sb_writer *w); /* index + 1, unlinked; 0: nothing to fold */
void sb_fold_forget(struct sb_fold *f); /* the writer begins a new file */

/* ---- put.c ---- */
void sb_lost_early_tell(void); /* what was lost while the session opened, into its header */

/* ---- names.c ---- */
void sb_names_init(void); /* gives the fixed names their ids; cheap to repeat */
void sb_names_write_all(void); /* into the session that was just opened */
/* The text and the code of a name: "" where there is none, cut to what fits. */
void sb_name_text(uint32_t id, char *out_name, size_t name_size, char *out_code, size_t code_size);

/* ---- helper_thread.c: the helper thread ---- */
void sb_helper_start(void); /* once; if no thread can be started, errands run on the calling thread */
void sb_helper_stop(void); /* returns when the thread has ended */
void sb_helper_beat(bool on); /* whether it grows the file from now on; returns when nothing is under way */
void sb_helper_wake(void); /* ends its sleep */

/* ---- errand.c ---- */
void sb_errand_serve(void); /* does what is asked, on the helper thread */
void sb_errand_forget(void); /* in a forked child */

/* ---- session.c ---- */
void sb_session_open_armed(void); /* the first event of an armed process */
void sb_session_forked(void); /* forgets the parent's session and arms the child; see fork.c */

#endif
