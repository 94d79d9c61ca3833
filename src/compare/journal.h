/* The journal of an optimisation: a baseline and the steps after it, each a run in a few numbers. Kept in a plain
 * file that people commit; `diff` of more than two runs is the same without a file. */
#ifndef SB_COMPARE_JOURNAL_H
#define SB_COMPARE_JOURNAL_H

#include "base/jsondom.h"
#include "base/vec.h"
#include "compare/facts.h"
#include "compare/outputs.h"

struct sb_journal_stage {
	const char *name, *code; /* code NULL: none */
	const char *key; /* the same stage in another step has the same one */
	int64_t parent; /* index of the step's stages; -1: top level */
	double total_s;
};

struct sb_journal_step {
	const char *title, *run;
	const char *commit; /* of the project; NULL: not known */
	uint64_t start_real_ns; /* 0: not known */
	double wall_s, generation_s; /* generation: median, NAN: none was marked */
	double fps, gpu_memory_peak_bytes, rss_peak_bytes; /* NAN: not known */
	double digit_s; /* what the last digit of its times stands for; NAN: they were measured */
	struct sb_output output; /* the first that it wrote; path NULL: none */
	const char *output_verdict; /* against the baseline's: "identical", "changed"…; NULL: no output */
	const char *output_words; /* the same for people */
	double psnr_db, ssim_ratio; /* NAN: not measured, or nothing differs */
	struct sb_journal_stage *stages; /* in the order in which they began */
	size_t stage_count;
	/* against the others, by sb_journal_settle() */
	double total_s; /* of a generation where every step has them, else of the run */
	double delta_before_s, delta_base_s; /* NAN: the baseline itself */
	double step_speedup_ratio, speedup_ratio; /* of the step before, of the baseline */
};

struct sb_journal {
	struct sb_journal_step *steps; /* the baseline first */
	size_t step_count;
	bool per_generation; /* totals are of one generation */
	/* private */
	struct sb_jsondom_doc *doc;
	struct sb_vec memory; /* void *: what was allocated */
};

struct sb_journal *sb_journal_new(void); /* NULL: no memory */
int sb_journal_read(const char *path, struct sb_journal **out_journal);
int sb_journal_write(struct sb_journal *journal, const char *path);
void sb_journal_free(struct sb_journal *journal); /* takes NULL */

/* A copy of what the journal keeps of a run. title NULL: the run's label; commit may be NULL. */
int sb_journal_add(
	struct sb_journal *journal, const struct sb_facts *run, const char *title, const char *commit);

/* The stage of a step by another one's key; NULL: it has none such. */
const struct sb_journal_stage *sb_journal_stage(const struct sb_journal_step *step, const char *key);

/* The file, and strobe journal --format json: every key. */
extern const struct sb_fields sb_journal_fields;

#endif
