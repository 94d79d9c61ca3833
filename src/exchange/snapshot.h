/* A snapshot of torch's CUDA allocator, taken apart: lines of the program that hold memory, the history
 * of each device, its peak. Bounded, whatever the file's size. For the files of this import alone:
 * snapshot_in.c reads, snapshot_history.c counts, snapshot_write.c makes the recording. If the stages of a
 * run are known, the file is read a second time: then a block counts for the stage in which it was
 * allocated instead of for its line. */
#ifndef SB_EXCHANGE_SNAPSHOT_H
#define SB_EXCHANGE_SNAPSHOT_H

#include "base/map.h"
#include "base/strings.h"
#include "base/vec.h"
#include "exchange/import.h"

#define SB_SNAPSHOT_FRAMES 8 /* of a stack that are shown */
#define SB_SNAPSHOT_BINS 4096
#define SB_SNAPSHOT_LAYERS 10 /* lines that are followed over time */
#define SB_SNAPSHOT_PARTS 200 /* of a history, for that */
#define SB_SNAPSHOT_SEGMENTS 12 /* of a device, those with the most free memory */
#define SB_SNAPSHOT_SEGMENT_PARTS 80
#define SB_SNAPSHOT_BYTES_MOST (1ll << 50) /* of one allocation: more is no size */
#define SB_SNAPSHOT_FAILURES 64 /* out of memory, listed */

enum sb_snapshot_kind {
	SB_FRAME_NATIVE,
	SB_FRAME_TORCH, /* or strobe's own */
	SB_FRAME_PROGRAM
};

struct sb_snapshot_frame {
	uint32_t name, file; /* texts of the strings */
	uint32_t line;
	uint32_t kind; /* enum sb_snapshot_kind */
};

/* A stack as its frames come, innermost first. */
struct sb_snapshot_calls {
	uint32_t first[3]; /* of each kind */
	uint32_t count;
	uint32_t frames[20]; /* of the program */
};

struct sb_snapshot_stack {
	uint32_t line; /* what it counts as: a number in lines */
	uint32_t count;
	uint32_t frames[SB_SNAPSHOT_FRAMES]; /* Python's, innermost first */
};

/* A line of the program; of the device whose history is being read. */
struct sb_snapshot_line {
	uint32_t frame; /* 0: not known */
	uint32_t stack; /* that of its largest allocation */
	int64_t largest;
	int64_t live, live_count; /* bytes; relative to the beginning of the history */
	int64_t peak, peak_count; /* the same at the peak, where it has changed since */
	uint64_t saved; /* the peak of which it was saved */
	bool by_size; /* some had no stack: their size is that of others of this line */
	int64_t last_us,
		peak_us; /* its last allocation; the last one before the peak. 0: before the history */
	int64_t old; /* bytes that were there before the history, and still are */
	uint32_t mark; /* its last one in marks, from 1; 0: none */
};

/* What a line had when a part of the history ended in which it changed. */
struct sb_snapshot_mark {
	uint32_t line, part;
	int64_t bytes;
};

struct sb_snapshot_block { /* allocated when the snapshot was taken */
	uint64_t address;
	int64_t size;
	uint32_t stack;
	uint32_t device;
};

struct sb_snapshot_bin {
	int64_t time_us, last, most, reserved;
};

struct sb_snapshot_entry { /* of a history */
	uint32_t action; /* enum sb_snapshot_action */
	uint32_t stack;
	uint64_t address;
	int64_t size, time_us, free_bytes; /* time -1, free -1: not known */
	uint32_t device;
};
enum sb_snapshot_action {
	SB_SNAPSHOT_OTHER,
	SB_SNAPSHOT_ALLOC,
	SB_SNAPSHOT_FREE,
	SB_SNAPSHOT_GROW, /* the allocator takes a segment */
	SB_SNAPSHOT_SHRINK,
	SB_SNAPSHOT_OOM
};

/* What a line held, as it goes into the recording. */
struct sb_snapshot_held {
	uint32_t frame, stack;
	int64_t peak, peak_count, end, end_count, peak_us;
	uint32_t line; /* in lines */
	bool by_size;
};

/* What the largest lines held when each part of the history ended, and at its peak. */
struct sb_snapshot_moment {
	int64_t time_us, all;
	int64_t held[SB_SNAPSHOT_LAYERS];
};

struct sb_snapshot_device {
	uint32_t device;
	int64_t base, peak, peak_us, end; /* bytes allocated: when the history begins, at most, at last */
	int64_t reserved_base, reserved_end, reserved_most;
	uint64_t entries;
	int64_t first_us, last_us;
	struct sb_snapshot_bin *bins;
	uint32_t bin_count;
	uint64_t stride; /* entries of a bin */
	struct sb_vec held; /* struct sb_snapshot_held, largest at the peak first */
	struct sb_vec moments; /* struct sb_snapshot_moment; held: the first SB_SNAPSHOT_LAYERS of them */
};

/* A segment with free memory between blocks in use. */
struct sb_snapshot_segment {
	uint32_t device;
	int64_t bytes, free_bytes, largest_free, free_count;
	struct {
		int64_t bytes, used;
	} parts[SB_SNAPSHOT_SEGMENT_PARTS];
	size_t part_count;
};

struct sb_snapshot_failure {
	int64_t time_us, size, free_bytes, allocated; /* allocated: relative until the device is closed */
	uint32_t device, stack;
};

struct sb_snapshot {
	struct sb_strings strings;
	struct sb_vec frames, stacks, lines; /* [0] is what is not known */
	struct sb_map frame_index, stack_index, line_index; /* by hashes of their content */
	struct sb_map stack_of_size; /* of the open device: what allocated this many bytes last */
	struct sb_vec blocks; /* struct sb_snapshot_block */
	struct sb_vec devices; /* struct sb_snapshot_device, as they come */
	struct sb_vec failures;
	struct sb_vec pieces; /* of the open segment: snapshot_segments.c's */
	struct sb_vec segments; /* struct sb_snapshot_segment */
	int64_t reserved[64]; /* of the segments, by device */
	uint64_t block_count, untracked_count;
	struct sb_snapshot_live *live; /* what the history has allocated and not freed */
	uint64_t peak_number;
	int64_t sum, reserved_sum, before,
		before_count; /* of the open device; before: freed, never seen allocated */
	struct sb_vec marks; /* struct sb_snapshot_mark: of the open device, ascending */
	struct {
		int64_t time_us, all;
	} parts[SB_SNAPSHOT_PARTS];
	uint32_t part_count;
	uint64_t part_stride; /* entries of a part */
	bool failed; /* memory is out */
};

/* ---- snapshot_history.c ---- */
bool sb_snapshot_init(struct sb_snapshot *s);
void sb_snapshot_done(struct sb_snapshot *s);
/* Numbers of what was put together from its parts; 0: not known, or too many. */
uint32_t sb_snapshot_frame_add(struct sb_snapshot *s, uint32_t name, uint32_t file, int64_t line);
void sb_snapshot_calls_add(const struct sb_snapshot *s, struct sb_snapshot_calls *calls, uint32_t frame);
uint32_t sb_snapshot_stack_add(struct sb_snapshot *s, const struct sb_snapshot_calls *calls);
void sb_snapshot_block_add(struct sb_snapshot *s, const struct sb_snapshot_block *block);
void sb_snapshot_segment_add(struct sb_snapshot *s, uint32_t device, int64_t size);
void sb_snapshot_entry_add(struct sb_snapshot *s, const struct sb_snapshot_entry *e);
void sb_snapshot_close_all(struct sb_snapshot *s); /* also devices without a history */

/* ---- snapshot_live.c: allocations by their address ---- */
struct sb_snapshot_live;
struct sb_snapshot_alloc {
	uint64_t address; /* never 0 */
	int64_t size;
	uint32_t line, stack;
};
struct sb_snapshot_live *sb_snapshot_live_new(void);
void sb_snapshot_live_free(struct sb_snapshot_live *l); /* takes NULL */
bool sb_snapshot_live_add(
	struct sb_snapshot_live *l, const struct sb_snapshot_alloc *a); /* false: too many */
bool sb_snapshot_live_take(struct sb_snapshot_live *l, uint64_t address, struct sb_snapshot_alloc *out);
bool sb_snapshot_live_has(const struct sb_snapshot_live *l, uint64_t address);
void sb_snapshot_live_clear(struct sb_snapshot_live *l);

/* ---- snapshot_layers.c: lines over time, of the open device ---- */
void sb_snapshot_layers_begin(struct sb_snapshot *s); /* an entry of a history comes */
void sb_snapshot_layers_change(struct sb_snapshot *s, uint32_t line); /* its bytes have changed */
void sb_snapshot_layers_end(struct sb_snapshot *s, const struct sb_snapshot_device *d); /* of the entry */
void sb_snapshot_layers_close(struct sb_snapshot *s, struct sb_snapshot_device *d); /* its lines are listed */

/* ---- snapshot_segments.c: blocks of the segments ---- */
void sb_snapshot_piece_add(struct sb_snapshot *s, int64_t size, bool used); /* a block of the open segment */
void sb_snapshot_pieces_close(struct sb_snapshot *s, uint32_t device); /* those were all of it */

/* ---- snapshot_stages.c: which stage was open ---- */
struct sb_snapshot_stages;
int sb_snapshot_stages_open(const char *run, struct sb_snapshot_stages **out_stages);
void sb_snapshot_stages_close(struct sb_snapshot_stages *stages); /* takes NULL */
/* The stack that stands for the stage open at that time; -1: for what was there before the history. */
uint32_t sb_snapshot_stages_stack(
	const struct sb_snapshot_stages *stages, struct sb_snapshot *s, int64_t time_us);
/* The stage's name; NULL: none was open, or the time is not known. */
const char *sb_snapshot_stages_name(const struct sb_snapshot_stages *stages, int64_t time_us);

/* ---- snapshot_write.c ---- */
/* by_stage: the same with stages in the place of lines, and these; both NULL: none are known. */
int sb_snapshot_write(struct sb_snapshot *s, struct sb_snapshot *by_stage,
	const struct sb_snapshot_stages *stages, const char *path, const char *strobe_path,
	struct sb_import_summary *out_summary);

#endif
