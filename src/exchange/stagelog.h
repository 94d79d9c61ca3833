/* One line of a stage log, taken apart: stagelog_line.c reads it, stagelog.c puts
 * it into the tree of textlog.h. */
#ifndef SB_EXCHANGE_STAGELOG_H
#define SB_EXCHANGE_STAGELOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_STAGELOG_ATTRS_MAX 6
#define SB_STAGELOG_CODE_MAX 16

enum sb_stagelog_kind {
	SB_STAGELOG_NOTHING, /* the line is not about a stage */
	SB_STAGELOG_TIMED, /* [4c] VAE encode (1339 frames, batch=4): 16.47s */
	SB_STAGELOG_START, /* [4f] Main inference: Starting full video pass... */
	SB_STAGELOG_TOTAL, /* [4f] Main inference TOTAL: 116.33s */
	SB_STAGELOG_SKIPPED, /* [4e] Pre-inference: SKIPPED (keyframe pass disabled) */
	SB_STAGELOG_UNTIMED, /* [4d] Shallow copy masks/frames (no copy needed) */
	SB_STAGELOG_GROUP, /* ProPainter total: 52.34s */
	SB_STAGELOG_SUM, /* Total inpainting: 207.09s */
	SB_STAGELOG_WHOLE, /* TOTAL TIME: 281.96s (4.7 min) */
	SB_STAGELOG_BANNER, /* [3/5] Inpainting... */
	SB_STAGELOG_BREAKDOWN, /* TIMING BREAKDOWN: the coded lines after it are whole parts */
	SB_STAGELOG_VIDEO, /* Video: 1339 frames, 30.00 fps */
	SB_STAGELOG_OTHER_RUN /* BASELINE: the lines after it are another run's */
};

struct sb_stagelog_attr {
	char key[24];
	bool is_int;
	int64_t i;
	double f;
};

struct sb_stagelog_line {
	enum sb_stagelog_kind kind;
	char code[SB_STAGELOG_CODE_MAX]; /* "" : none */
	char name[256];
	char reason[256]; /* SKIPPED */
	int64_t duration_ns;
	int64_t digit_ns; /* what its last printed digit stands for: 10 ms of "16.47s"; 0: not known */
	char bad_time[32]; /* what stood where the time should, and is none; "": nothing of that kind */
	struct sb_stagelog_attr attrs[SB_STAGELOG_ATTRS_MAX];
	size_t attr_count;
	/* a line that sums up several calls; calls 0: it is one */
	int64_t calls;
	double min_s, max_s, median_s, std_s; /* NaN: not given */
};

/* line is NUL-terminated, without its newline; it is taken apart in place. */
/* Whether a line begins another run of the same stages: "BASELINE:", "AFTER OPTIMIZATION 1:",
 * "BEFORE BetterTransformer:", and as the tracking sheet has it, "AFTER: opt8.log". */
bool sb_stagelog_is_other_run(const char *text, char *out_name, size_t size);
void sb_stagelog_parse(char *line, struct sb_stagelog_line *out_line);

/* A time at the start of s, "16.47s", "812 ms", "1m 20.5s"; false: there is none, or one that no stage can take. */
bool sb_stagelog_duration(const char *s, int64_t *out_ns, const char **out_rest);
/* What the last printed digit of that time stands for; 0: not known. */
int64_t sb_stagelog_last_digit(const char *s, const char *rest);

#endif
