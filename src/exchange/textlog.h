/* What a text says about a run, while it is read: stages as a tree, and beside them
 * loops, memory, samples and variants. The forms in text_in.c's table fill it,
 * textlog_write.c writes it as zones on a made-up clock. */
#ifndef SB_EXCHANGE_TEXTLOG_H
#define SB_EXCHANGE_TEXTLOG_H

#include "base/map.h"
#include "base/strings.h"
#include "base/vec.h"
#include "exchange/stagelog.h"

#include <stdbool.h>
#include <stdint.h>

#define SB_TEXTLOG_NONE UINT32_MAX
#define SB_TEXTLOG_NS_MAX ((int64_t)4000000000000000000) /* 126 years: within 64 bits */

struct sb_textlog_node {
	struct sb_stagelog_line *line;
	uint32_t parent, first_child, last_child, next; /* the links are made when a segment ends */
	uint32_t height; /* levels below it, the nearest ones */
	uint32_t earlier_open; /* START lines and headings: the one of its code before it */
	int64_t children_ns;
	int64_t most_ns, least_ns; /* what its printed digits, and its parts', leave open */
	int64_t seen_ns, closed_ns; /* when its line, and its total's, was printed; 0: not known */
	int64_t end_ns; /* on the made-up clock */
	int64_t gap_ns; /* after it: what a segment's TOTAL TIME leaves open */
	uint32_t role; /* enum strobe_role; 0: none */
	uint32_t depth; /* how far a report's row is indented */
	bool ended; /* its TOTAL was seen */
	bool part; /* a line of the TIMING BREAKDOWN */
	bool alone; /* a total that is less than a stage before it: no sum of those */
	bool sums; /* a row of a table: when it ran is not known */
};

/* The turns of one loop; NaN: not given. */
struct sb_textlog_loop {
	char name[128];
	int64_t count;
	double total_s, mean_s, median_s, min_s, max_s, std_s;
	double frames_per_s; /* NaN: not given */
	struct {
		int64_t batch, frames, width, height; /* of one call of a benchmark; 0: not given */
	} clip;
	bool apart; /* a benchmark: not around the stages, but after them */
	bool aside; /* a benchmark of the call whose parts are the stages: no part of the run's time */
	char stage[128]; /* the stage that it ran in; "": not given */
};

/* Where a reading was printed: after so many stages, and which of those between the
 * same two it is; textlog_write.c counts the latter. */
struct sb_textlog_place {
	uint32_t after, index, count;
};

struct sb_textlog_memory { /* MB; NaN: not given */
	char label[128];
	double allocated_mb, reserved_mb, peak_mb;
	double time_s; /* real time; NaN: not given */
	int device; /* -1: memory of the process */
	struct sb_textlog_place place;
};

/* One reading of the machine; NaN: not given. */
struct sb_textlog_sample {
	double gpu_used_mb, gpu_total_mb, gpu_percent, gpu_temperature_c, gpu_power_w;
	double cpu_percent, ram_used_mb, ram_total_mb;
	double read_bytes_per_s;
	int device; /* which GPU's */
	struct sb_textlog_place place;
};

/* A row of the table in strobe's own report: what its stage tree does not say. */
struct sb_textlog_operation {
	struct sb_stagelog_line line;
	double total_s; /* as printed */
};

#define SB_TEXTLOG_GPUS_MAX 64
#define SB_TEXTLOG_COLUMNS_MAX 64
#define SB_TEXTLOG_CELLS_MAX 32

/* Samples with times of their own: rows of a time and the columns' values. */
struct sb_textlog_series {
	char source[32], columns[SB_TEXTLOG_COLUMNS_MAX][48];
	int device;
	uint32_t column_count;
	size_t count;
	double *values;
};

/* One way to run a model: "FP16: 28.45 ms". */
struct sb_textlog_variant {
	char name[64];
	int64_t count;
	double mean_ms, median_ms, std_ms, min_ms, max_ms;
};

/* A row of torch.profiler's table, where the text has the stages of the same work; NaN: not given. */
struct sb_textlog_operator {
	char name[128];
	int64_t calls;
	double self_s, total_s, gpu_s;
};

struct sb_textlog_missing {
	char what[64], why_how[400]; /* "why|how" */
};

/* What a benchmark says of the model before its times. */
struct sb_textlog_header {
	char name[64], type[64]; /* "large", "VideoEncoder" */
	char dtypes[64]; /* "FP32" */
	char device[32], gpu[96]; /* "cuda", "NVIDIA GeForce RTX 4090" */
	int64_t parameters;
	double size_mb; /* 0: not given */
	double input_mb, output_mb; /* of one call; 0: not given */
};

/* "Speed: 12.0 FPS, 4.0 BPS, 16.0 steps/s (36 frames, 12 blocks, 48 steps)" of a live display */
struct sb_textlog_speed {
	double fps, bps, steps_per_s, frames, blocks, steps; /* NaN: not given */
	size_t sample; /* the block of the display that it is in */
};

/* "sdpa_overhead   +380s total" */
struct sb_textlog_difference {
	char name[64];
	double more_s;
};

/* What a table says of the GPU: the calls of one kernel, or of one operator's. */
struct sb_textlog_gpu {
	char name[128];
	int64_t calls;
	double total_s;
	bool device; /* the GPU's own row, not that of the operator which launched it */
	bool range; /* a range of the program, from its first kernel to its last */
};

/* Places where a text contradicts itself: the first is kept in words. */
struct sb_textlog_doubts {
	uint64_t count;
	char first[160];
};

struct sb_textform;

struct sb_textlog {
	struct sb_textlog_node *nodes;
	uint32_t count, capacity;
	uint32_t segment; /* first node since the last TOTAL TIME */
	uint32_t banner; /* the open banner, NONE */
	bool in_breakdown;
	struct sb_strings codes;
	struct sb_map latest, latest_open; /* code -> its latest node, its latest START or heading */
	int64_t whole_ns; /* of the segments that had a TOTAL TIME */
	int64_t segment_whole_ns; /* 0: none given */
	int64_t segment_digit_ns; /* of its last printed digit */
	int64_t frames; /* of all videos */
	bool has_video; /* this segment has its own number of frames */
	int64_t most_frames; /* that a stage of this segment had */
	double fps;
	uint64_t bad_count, bad_line; /* times that are none; the first one's line */
	char bad_time[64];
	uint64_t untaken_count,
		untaken_line; /* lines with a time that are none of a stage; the first one's */
	char untaken[61];
	struct sb_textlog_doubts doubts;
	uint64_t line_count, stage_count, skipped_count, untimed_count;
	uint64_t timed_count; /* stage lines with a time */
	int64_t digit_ns; /* the coarsest last digit of their times; 0: not known */
	uint64_t code_count; /* lines of source code */
	uint64_t unended_count;

	struct sb_vec loops, memory, samples, variants, series; /* struct sb_textlog_loop … */
	struct sb_vec operations;
	struct sb_vec differences; /* struct sb_textlog_difference */
	struct sb_vec gpu; /* struct sb_textlog_gpu */
	struct sb_vec operators; /* struct sb_textlog_operator */
	double operators_s; /* of all of them; 0: not given */
	double gpu_s; /* the whole of it, where rows may be left out; 0: not given */
	int64_t now_ns; /* since the start: lines that are taken as they are printed; 0: not known */
	uint64_t start_real_ns; /* 0: not given */
	bool no_times; /* those that it gives were made up */
	struct sb_vec missing; /* struct sb_textlog_missing: what a report says was not recorded */
	bool has_rank;
	int32_t rank, world_size;
	uint64_t form_count; /* lines that another form than the stage lines took */
	bool process_memory; /* the open table of memory is of the process, not of a GPU */
	bool sums_only; /* operations without an order: a summary table */
	bool own_times; /* rows add up to the whole that the table says: what is open are rows left out */
	bool threads; /* the whole is known, and stages of several threads may take longer together */
	int64_t covered_ns; /* of the whole, by at least one stage; 0: not known */
	uint64_t guessed_count; /* loops that were put into a stage because they fit */
	int64_t rank_count, report_count; /* of an aggregation summary; 0: none */
	struct sb_vec caches; /* struct strobe_cache_event, with a name of its own; see cache_times */
	struct sb_vec cache_times; /* double, seconds: of each of them */
	struct sb_vec speeds; /* struct sb_textlog_speed */
	char session[64]; /* the id that a live display names */
	struct sb_textlog_header model;
	struct sb_vec models; /* struct sb_textlog_header: those that a report lists */
	uint32_t forward; /* the call that the layers are of, counted from 1; 0: none */

	const struct sb_textform *form; /* whose passage is being read; NULL: none */
	uint32_t form_node; /* what the passage's rows belong to; the form's own */
	uint32_t form_lines; /* since its heading or its last row */
	double column_s
		[4]; /* seconds of one unit of a table's columns, where its heading says it; 0: its cells do */
	uint8_t cells[SB_TEXTLOG_CELLS_MAX]; /* what a table's columns hold; the form's own */
	uint32_t cell_count;
};

/* One form of text. A heading opens its passage; it is the first that sees the rows after it. A form
 * without rows takes single lines. */
struct sb_textform {
	const char *name;
	bool (*opens)(struct sb_textlog *log, const char *line);
	/* Whether the line was a row. Errors are written to *out_err. */
	bool (*row)(struct sb_textlog *log, char *line, int *out_err);
};
extern const struct sb_textform sb_report_form, sb_summary_form, sb_iteration_form, sb_memory_form,
	sb_benchmark_form, sb_layers_form, sb_precision_form, sb_metrics_form, sb_aggregation_form,
	sb_operations_form, sb_pstats_form, sb_torch_form, sb_model_form, sb_call_memory_form,
	sb_markdown_form, sb_journal_form, sb_cache_form;

/* ---- the tree ---- */
int sb_textlog_add(struct sb_textlog *log, const struct sb_stagelog_line *line, uint32_t *out_node);
/* False: not in this segment, or too deep. */
bool sb_textlog_set_parent(struct sb_textlog *log, uint32_t parent, uint32_t child);
int64_t sb_textlog_duration(const struct sb_textlog_node *n);
/* Links the segment's nodes, adds up, and says what contradicts its TOTAL TIME. */
void sb_textlog_end_segment(struct sb_textlog *log);
/* Makes parts fit into their totals, and the segment's stages into its TOTAL TIME, where rounding to the printed
 * digits explains what is too much. The links must be made. */
void sb_textlog_fit_digits(struct sb_textlog *log);
void sb_textlog_add_frames(struct sb_textlog *log, int64_t frames);
__attribute__((format(printf, 2, 3))) void sb_textlog_doubt(struct sb_textlog *log, const char *words, ...);
void sb_textlog_done(struct sb_textlog *log);

/* A stage without a code. total_s and calls as a summary gave them; NaN: not given. */
struct sb_textlog_sums {
	const char *name;
	double total_s, min_s, max_s, median_s;
	int64_t calls;
};
int sb_textlog_add_sums(struct sb_textlog *log, const struct sb_textlog_sums *sums, uint32_t *out_node);

int64_t sb_textlog_loop_ns(const struct sb_textlog_loop *loop);
/* Makes a stage of a loop, inside the one that it ran in. Not nested where none can hold it. */
int sb_textlog_nest_loop(struct sb_textlog *log, const struct sb_textlog_loop *loop, bool *out_nested);
/* As a stage of its own, at the top. */
int sb_textlog_stage_of_loop(struct sb_textlog *log, const struct sb_textlog_loop *loop, uint32_t *out_node);

/* A text about one call of a model, benchmarked: that call is the run, the benchmark's calls stand aside. */
int sb_textlog_settle_benchmarks(struct sb_textlog *log);

/* A stage line of the guides; see stagelog.h. */
int sb_stagelog_take(struct sb_textlog *log, const struct sb_stagelog_line *line);

/* Between stagelog.c and stagelog_totals.c. */
bool sb_stagelog_nearly(int64_t a_ns, int64_t b_ns);
bool sb_stagelog_is_opening(const struct sb_stagelog_line *line);
bool sb_stagelog_is_pending(const struct sb_textlog *log, uint32_t node); /* no total has it yet */
uint32_t sb_stagelog_first_pending(const struct sb_textlog *log, uint32_t before);
/* The time of a stage that a START or a heading opened. */
void sb_stagelog_close(struct sb_textlog *log, uint32_t open, const struct sb_stagelog_line *line);
/* Puts the stages that a total sums up below it. everything: all that stand before it. */
void sb_stagelog_adopt(struct sb_textlog *log, uint32_t group, bool everything);
/* True for a total that is known already: a stage of that name has it, or the same total stands above. */
bool sb_stagelog_says_again(struct sb_textlog *log, const struct sb_stagelog_line *line);

int sb_textlog_write(struct sb_textlog *log, const char *path, const char *strobe_path, const char *note);

/* A recording of lines that were taken as they were printed: each stage ended then. The
 * process is the one that printed them. */
int sb_textlog_write_live(struct sb_textlog *log, const char *name, uint32_t pid, const char *strobe_path);

/* ---- for forms ---- */
/* The number behind a label, with its unit made seconds ("3.102s", "45.23 ms"); false: none. */
bool sb_textlog_seconds(const char *s, double *out_s, const char **out_rest);
/* "1024.5M", "8420MB", "8.2 GB" as MB. */
bool sb_textlog_megabytes(const char *s, double *out_mb, const char **out_rest);
/* Whether the line is a rule ("=====", "-----"). One of '=' below the first row ends the passage. */
bool sb_textlog_take_rule(struct sb_textlog *log, const char *line);
/* The text behind "label:", past spaces; NULL: the line is not of that label. */
const char *sb_textlog_after(const char *line, const char *label);

#endif
