/* What residency.c noted in the pass, for the other files of residency and over_time.c; no other file includes it. */
#ifndef SB_ANALYZE_MEMORY_RESIDENCY_H
#define SB_ANALYZE_MEMORY_RESIDENCY_H

#include "analyze/memory/weights.h"
#include "run/open_stages.h"

struct sb_cache { /* as the program's process said it */
	int64_t t_ns;
	int64_t device; /* -1: on the host */
	const char *component;
	double bytes;
	int64_t until_ns; /* when the next one of its component took its place */
};

#define SB_NO_STAGE UINT32_MAX

struct sb_device_reading { /* of a device's allocator */
	int64_t t_ns;
	int device;
	uint32_t process;
	double allocated, reserved;
	double most; /* that was ever allocated; NAN: not known */
	double context; /* what its processes held beside the allocator, as known then; NAN: not known */
	double context_next; /* what it was when it was known to be another; else the same */
	bool context_later; /* nothing was known of it so far: it is what was known first */
	int64_t before; /* the number of the one before it, of the same device and process; -1: none */
	int64_t raised_ns; /* when the most that was ever allocated rose before it: in the stage that did it, if any; -1: it did not rise */
	int64_t grew_ns; /* what is reserved rose before it: as raised_ns; -1: it did not rise */
	double given_back; /* to the driver, since the reading before */
	uint32_t raised_in; /* the name of the stage that raised either; SB_NO_STAGE: none, or not known */
};

struct sb_host_reading { /* of the program's process */
	int64_t t_ns;
	double anonymous, mapped, most; /* most: that was ever resident; NAN: not known */
};

struct sb_residency_collected {
	struct sb_run *run;
	struct sb_model *model;
	struct sb_weights weights;
	struct sb_vec caches; /* struct sb_cache: each holds until the next one of its component */
	struct sb_vec readings; /* struct sb_device_reading, once prepared by device, then by time */
	struct sb_vec devices; /* of residency_device.c */
	struct sb_vec given_back; /* of given_back.c */
	struct sb_vec host_readings; /* struct sb_host_reading */
	uint32_t host_process; /* whose they are */
	bool several_read; /* they are of several processes */
	struct sb_vec generations; /* struct sb_open_stage */
	struct sb_open_stages stages;
	struct sb_open_stages
		named; /* the same, with the calls of models: what a moment or a peak is said to be in */
	bool failed;
};

/* The last known value of a column up to a moment, else the first one after it, in bytes; NAN: none. s may be NULL. */
double sb_residency_value_at(const struct sb_series *s, const char *column, double t_s);
/* The name of what is allocated beside the weights. listed: these have names of their own. */
const char *sb_residency_tensors(bool listed);
/* The picture of a device (-1: of the host, from its series) by stage; *out_any: there is one. False: no memory. */
bool sb_residency_by_stage(struct sb_residency_collected *c, int64_t device, const struct sb_series *s,
	struct sb_memory_picture *out_picture, bool *out_any);
/* Fills the model's picture of memory over time. False: no memory. */
bool sb_residency_over_time(struct sb_residency_collected *c);
/* Of every picture: what all layers held together, what each held at most, and which are small. False: no memory. */
bool sb_memory_pictures_join_small(struct sb_model *model);

/* ---- stage_calls.c ---- */
struct sb_stage_calls {
	struct sb_vec all;
};
/* The calls of a stage. False: no memory; sb_stage_calls_done() takes it either way. */
bool sb_stage_calls_init(
	struct sb_stage_calls *calls, const struct sb_residency_collected *c, const char *stage);
void sb_stage_calls_done(struct sb_stage_calls *calls);
/* True if the moment is inside a call of the stage, not between two calls. */
bool sb_stage_calls_have(const struct sb_stage_calls *calls, double t_s);
/* From when to when the calls last that lie in a time. False: none does. */
bool sb_stage_calls_within(const struct sb_stage_calls *calls, double from_s, double to_s,
	double *out_begin_s, double *out_end_s);

/* ---- raised.c ---- */
/* Of each reading, once they are linked: what rose before it, and in which stage. */
void sb_residency_find_rises(struct sb_residency_collected *c);

/* ---- residency_caches.c ---- */
/* Once all are there: before the call below. Sets c->failed where there is no memory. */
void sb_residency_caches_prepare(struct sb_residency_collected *c);
/* The next cache of a device that held something at a moment, from *at on; *at moves past it. NULL: no more. What was said
 * last before the moment holds until then: a later one of the same cache takes its place. */
const struct sb_cache *sb_residency_cache_at(
	const struct sb_residency_collected *c, int64_t device, double t_s, size_t *at);

/* ---- residency_device.c ---- */
void sb_residency_device_see(struct sb_residency_collected *c, const struct sb_event *e);
/* Once all readings are there: before the calls below. Sets c->failed where there is no memory. */
void sb_residency_device_prepare(struct sb_residency_collected *c);
void sb_residency_device_done(struct sb_residency_collected *c); /* frees what it has prepared */
bool sb_residency_is_used_gpu(const struct sb_series *s);
struct sb_device_values {
	const struct sb_device_reading *reading; /* of its allocator; NULL: none */
	double allocated,
		reserved; /* what the reading says; at its raised_ns the most, and no less reserved */
	double used, process, context; /* NAN: not known */
	bool raised; /* the moment is the reading's raised_ns */
	bool between; /* the driver's sample says how much the allocator had reserved between two readings */
};
/* The time of which the values are: of the allocator's reading, if they are what it says. */
double sb_residency_device_time(const struct sb_device_values *v, double t_s);
/* What is known of a device at a moment: of the reading and the driver's sample before it and those after it, two that agree.
 * Whatever shows a moment shows this. s: its series, one of a used GPU. */
struct sb_device_values sb_residency_device_at(
	const struct sb_residency_collected *c, const struct sb_series *s, double t_s);
/* The moment of a stage's peak: that of the picture over time, if it lies in the stage and is as high. False: neither a reading nor
 * a sample lies in it. */
bool sb_residency_device_peak(const struct sb_residency_collected *c, const struct sb_series *s,
	const struct sb_stage_calls *calls, double begin_s, double end_s, double *out_t_s);
/* The reading with the allocator's maximum, of one device or of all (-1); NULL: not known. */
const struct sb_device_reading *sb_residency_most(const struct sb_residency_collected *c, int device);
/* When that maximum was reached. */
double sb_residency_most_at(const struct sb_device_reading *most);

/* ---- given_back.c ---- */
/* Takes an event SB_EVENT_GIVEN_BACK. */
void sb_residency_given_back_see(struct sb_residency_collected *c, const struct sb_event *e);
void sb_residency_given_back_prepare(struct sb_residency_collected *c); /* once the readings are in order */
/* What the allocator had reserved and allocated between two of a device's readings: v has the driver's sample of that time and what
 * lies beside the allocator. Leaves v alone where the allocator changed nothing then. */
void sb_residency_between(
	const struct sb_device_reading *all, size_t count, double t_s, struct sb_device_values *v);

/* ---- device_peaks.c ---- */
/* Of a device, as drawn over time by what held it; NULL: none, or not yet. */
const struct sb_memory_picture *sb_residency_picture(const struct sb_model *m, int64_t device);
/* Of the GPUs' the one with the highest peak; NULL: none is drawn. Once they are joined. */
const struct sb_memory_picture *sb_residency_highest_picture(const struct sb_model *m);
/* Peaks of the memory panel, as the pictures and the stages' residency have them: of the run, and of each stage in the
 * generation from from_s to to_s. After the pictures. False: no memory. */
bool sb_residency_device_peaks(struct sb_residency_collected *c, double from_s, double to_s);

/* Of a stage in which nothing was read, its begin or its end: where the device held more. NAN: not known. */
double sb_residency_device_edge(
	const struct sb_residency_collected *c, const struct sb_series *s, double begin_s, double end_s);

/* ---- residency_host.c ---- */
void sb_residency_host_see(struct sb_residency_collected *c, const struct sb_event *e);
void sb_residency_host_sort(struct sb_residency_collected *c); /* by time: before the calls below */
struct sb_host_values {
	double total, anonymous, mapped, shared; /* NAN: not known */
	double t_s; /* when it was so */
};
/* Takes what has names of its own out of the anonymous memory, and what is beyond it out of mapped files and shared memory: weights
 * that are read from their file, and those that are pinned. False: more has names than there is. */
bool sb_residency_host_name(struct sb_host_values *v, double named);
/* What the host's memory held at a moment: from the nearer of a reading and a sample of the series.
 * most: the resident size, if it is known more exactly; else NAN. */
struct sb_host_values sb_residency_host_at(
	const struct sb_residency_collected *c, const struct sb_series *s, double t_s, double most);
/* The peak of a stage: *peak_s has that of the samples, or NAN, and is changed where readings or the kernel saw more. */
void sb_residency_host_peak(const struct sb_residency_collected *c, const struct sb_series *s,
	const struct sb_stage_calls *calls, double begin_s, double end_s, double *peak_s, double *out_most);

#endif
