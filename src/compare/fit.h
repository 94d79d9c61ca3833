/* Whether a size fits: peak memory and time as functions of what generations are asked for, over runs of
 * the same model on the same device. Predicts nothing if the runs do not suffice. */
#ifndef SB_COMPARE_FIT_H
#define SB_COMPARE_FIT_H

#include "compare/facts.h"

struct sb_fit_request {
	const char *const *keys; /* "frames" */
	const double *values;
	size_t count;
	double capacity_bytes; /* NAN: the run's own device has it */
	const char *capacity_of; /* "RTX 4090"; NULL: the run's own device */
	bool of_gpu; /* it is a GPU's, which the host's memory says nothing about */
};

enum sb_fit_verdict { SB_FIT_UNKNOWN, SB_FIT_FITS, SB_FIT_TIGHT, SB_FIT_TOO_LARGE };
extern const char *const sb_fit_verdict_names[];

struct sb_fit {
	const char *model, *device;
	int64_t run_count, size_count; /* that it rests on; sizes are different ones */
	int64_t other_count; /* runs that are left out: of another model, device or host */
	const char *other_model; /* of the latest of these; NULL: none */
	int64_t summed_count; /* sizes that are left out: their frames are added up over videos */
	int64_t more_count; /* sizes that are still needed; 0: there are enough */
	const char *more; /* which, in words; NULL: none */
	struct sb_fit_axis {
		const char *key;
		double value;
		bool asked; /* else it is as in the run */
		double least, most; /* that was measured */
		int64_t seen_count; /* different values */
	} * axes;
	size_t axis_count;
	double extrapolates_ratio; /* the asked size over the largest that was measured, where that is above 1; NAN */
	struct sb_fit_value {
		double predicted, low, high; /* NAN: not known */
		double error_ratio, worst_ratio; /* of leave-one-out */
		bool by_stage; /* the stages' own functions told more than one of the whole */
	} memory, time;
	const char *time_of; /* "warm", "first": which generations time is of; NULL: not known */
	struct sb_fit_first {
		double extra_s, low_s, high_s; /* median and range of what was seen; NAN: not known */
		int64_t count; /* sizes that tell */
	} first; /* what a process's first generation takes more than a warm one */
	const char *memory_of; /* "allocated", "process", "host": what memory means; NULL: not known */
	double context_bytes; /* on the device and not of the allocator: added to the peak; 0: none */
	double capacity_bytes; /* NAN: not known, or a GPU's where memory is the host's */
	const char *capacity_of;
	enum sb_fit_verdict verdict;
	const char *ran_out; /* a size no larger than this one ran out of memory; NULL: none did */
	struct sb_fit_stage {
		const char *stage;
		double memory_bytes, time_s; /* predicted; NAN: not known */
	} * stages; /* those that need most memory first */
	size_t stage_count;
	struct sb_fit_largest {
		const char *key; /* "frames"; "width x height": both grow alike */
		double value, other_value; /* other: the height; NAN */
		bool open; /* it may be larger: further than four times what was measured is not given */
	} * largest; /* with all else as asked for */
	size_t largest_count;
};

#define SB_FIT_FARTHEST 4 /* times what was measured: further no error is known, and no largest size given */

/* others: runs of any model; those of the run's own model and device count. run is among the points, too. */
int sb_fit(const struct sb_facts *run, const struct sb_facts *const *others, size_t other_count,
	const struct sb_fit_request *request, struct sb_fit **out_fit);
void sb_fit_free(struct sb_fit *fit); /* takes NULL */

/* strobe fit --format json: every key. */
extern const struct sb_fields sb_fit_fields;

#endif
