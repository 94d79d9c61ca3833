/* What a run would take with other settings of its stages: per-unit costs of the run, fitted over other
 * runs of the same stage where there are any. */
#ifndef SB_COMPARE_WHATIF_H
#define SB_COMPARE_WHATIF_H

#include "compare/facts.h"

/* How a stage's time follows from its knob. */
enum sb_whatif_basis {
	SB_WHATIF_PROPORTIONAL, /* one value of the knob is known: nothing is taken to be fixed */
	SB_WHATIF_STEPS, /* single steps were timed: theirs scale, the rest stays */
	SB_WHATIF_FITTED, /* a fixed and a per-unit part, over runs with several values */
	SB_WHATIF_RANGE /* only the limits are known */
};
extern const char *const sb_whatif_basis_names[];

struct sb_whatif {
	const char *label;
	double wall_s, predicted_s, low_s, high_s;
	double saved_s, change_ratio; /* of the prediction; negative: it takes longer */
	double fps, predicted_fps; /* NAN: no frames, or their number is changed */
	double digit_s; /* to which the times are printed, in low_s and high_s; NAN: they were measured */
	double noise_s,
		noise_ratio; /* how far two runs of the same settings may be apart, in low_s and high_s */
	double others_cpu_ratio; /* of a CPU that was full, by other programs: noise_s is larger; 0: none */
	int64_t noise_run_count; /* runs of equal settings that tell it; 0: what runs differ by usually is taken */
	int64_t noise_generation_count; /* generations of the run that tell a part of it; 0: none */
	bool extrapolates;
	struct sb_whatif_change {
		const char *stage, *code, *key; /* code NULL: none; key: of the attribute */
		int64_t stage_index; /* of the facts */
		double now, then; /* the knob's */
		double base_s, predicted_s, low_s, high_s; /* the stage's time in all */
		double fixed_s, each_s; /* of one call; NAN: not fitted */
		enum sb_whatif_basis basis;
		int64_t point_count; /* runs it was fitted over */
		bool extrapolates; /* outside of the values that were seen */
		const char *note; /* what to know before believing it; NULL: nothing */
	} * changes;
	size_t change_count;
};

/* settings: "3b.iters=8", "vae.batch=8": a stage by its code, its name or a part of that, and what it
 * carries. others: runs of the same pipeline with other values; may be NULL. */
int sb_whatif(const struct sb_facts *run, const struct sb_facts *const *others, size_t other_count,
	const char *const *settings, size_t setting_count, struct sb_whatif **out_whatif);
void sb_whatif_free(struct sb_whatif *w); /* takes NULL */

/* strobe whatif --format json: every key. */
extern const struct sb_fields sb_whatif_fields;

#endif
