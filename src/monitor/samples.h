/* One source's columns over time. Past a share of the allowed points, or of the room for
 * them, samples are merged before they are recorded (2, 4, 8… into one): peaks stay peaks,
 * averages averages, and running totals exact. */
#ifndef SB_MONITOR_SAMPLES_H
#define SB_MONITOR_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_merge {
	SB_MERGE_MEAN,
	SB_MERGE_MAX, /* memory, temperature: the peak counts */
	SB_MERGE_MIN,
	SB_MERGE_LAST, /* running totals */
	SB_MERGE_BITS
};

enum { SB_SAMPLES_COLUMNS_MAX = 384, SB_COLUMN_NAME_MAX = 32 };

struct sb_column {
	char name[SB_COLUMN_NAME_MAX]; /* ends in its unit */
	enum sb_merge merge;
};

struct sb_samples {
	char source[24];
	int device; /* -1: none */
	uint32_t column_count;
	struct sb_column *columns;
	double *latest; /* as sampled, before merging */
	double *merged;
	uint32_t *merged_count; /* values that were known, per column */
	uint32_t pending; /* samples in merged */
	uint32_t stride; /* samples per record */
	uint32_t point_limit;
	uint32_t point_count; /* recorded so far */
	uint32_t level_count; /* still to be recorded at this stride */
	uint32_t scarcest; /* the most scarcity it met */
	uint32_t schema;
	bool open;
};

/* Where samples go: the recorder, unless a test says otherwise. */
struct sb_sink {
	uint32_t (*define)(const char *source, int device, const char *const *columns, uint32_t count);
	void (*put)(uint32_t schema, uint64_t ticks, const double *values, uint32_t count);
	void (*missing)(const char *what, const char *why, const char *how);
	uint32_t (*scarcity)(void); /* of room, as sb_keep_scarcity() has it */
};
extern const struct sb_sink sb_sink_recorder;
void sb_samples_set_sink(const struct sb_sink *sink); /* NULL: the recorder */
/* Says what cannot be sampled, as sb_keep_missing() does. */
void sb_samples_missing(const char *what, const char *why, const char *how);

/* Copies the columns. False when memory is out: the series then stays closed
 * and pushing to it does nothing. */
bool sb_samples_open(struct sb_samples *series, const char *source, int device,
	const struct sb_column *columns, uint32_t column_count, uint32_t point_limit);
/* One value per column, NaN where it is not known. */
void sb_samples_push(struct sb_samples *series, uint64_t ticks, const double *values);
/* Records what is still being merged; takes a closed series. */
void sb_samples_close(struct sb_samples *series, uint64_t ticks);

/* Nothing newer will come: what is still being merged is recorded, then a row in which nothing is known, so that readers do
 * not take the newest values for true. Takes a closed series. */
void sb_samples_end(struct sb_samples *series, uint64_t ticks);
/* The newest value of any open series; false: no such column, or not known. */
bool sb_samples_latest(const char *source, int device, const char *column, double *out_value);
/* How many open series a source has: the number of GPUs. */
uint32_t sb_samples_devices(const char *source, int *out_devices, uint32_t limit);
/* Gives up a source's series: their owner may never come back. */
void sb_samples_forget(const char *source);
/* In a forked child: the parent's series are not ours. */
void sb_samples_forget_all(void);

#endif
